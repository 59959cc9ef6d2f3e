//! Tests how the run of a thread stands, as its newest checkpoint and the writes on it say.

use bytes::Bytes;
use serde_json::{Value as Expected, json};

use super::states::{ASK, NULL_TASK, asking, found, value, write};
use crate::decode::run_state::READ_STATE;
use crate::domain::checkpoints::checkpoint::{PendingWrite, Value, WriteCall};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::names::Tag;
use crate::domain::threads::run_state::RunState;

fn of(found: &CheckpointTuple) -> RunState {
    (READ_STATE.state)(found)
}

/// It has no value that can be opened, because none is to be.
fn unread(task: &str, channel: &str, call: Option<(&str, i64)>) -> PendingWrite {
    let opaque = Value::new(Tag::new("msgpack").unwrap(), Bytes::from_static(b"\xc1"));
    let call = call.map(|(writer, seq)| WriteCall { writer: writer.into(), seq });
    PendingWrite { value: opaque, call, ..write(task, channel, &Expected::Null) }
}

fn with_metadata(metadata: &str, writes: Vec<PendingWrite>) -> RunState {
    let mut found = asking(writes);
    found.view.as_mut().unwrap().metadata = Bytes::copy_from_slice(metadata.as_bytes());
    of(&found)
}

#[test]
fn a_task_that_is_left_is_pending_unless_a_person_left_it() {
    assert_eq!(of(&CheckpointTuple::default()), RunState::Idle);
    for (source, state) in [
        ("loop", RunState::Pending),
        ("input", RunState::Pending),
        ("update", RunState::Interrupted),
        ("fork", RunState::Interrupted),
    ] {
        let metadata = format!(r#"{{"step":1,"source":"{source}"}}"#);
        assert_eq!(with_metadata(&metadata, Vec::new()), state, "{source}");
        for channel in ["title", "__no_writes__"] {
            let ended = vec![unread(ASK, channel, None)];
            assert_eq!(with_metadata(&metadata, ended), RunState::Idle, "{source} {channel}");
        }
    }
    // Of another task, which ends nothing of this one.
    assert_eq!(of(&asking(vec![unread("another", "title", None)])), RunState::Pending);
    assert_eq!(of(&asking(vec![unread(NULL_TASK, "title", None)])), RunState::Pending);
}

#[test]
fn an_error_fails_the_thread_unless_a_node_handles_it() {
    let error = || unread(ASK, "__error__", Some(("w", 1)));
    assert_eq!(of(&asking(vec![error()])), RunState::Failed);
    // Another task's handler is none of this one.
    let other = unread("another", "__error_source_node__", None);
    assert_eq!(of(&asking(vec![error(), other])), RunState::Failed);
    let handled = unread(ASK, "__error_source_node__", None);
    assert_eq!(of(&asking(vec![error(), handled])), RunState::Pending);
    // It goes before a question.
    let question = unread("another", "__interrupt__", Some(("w", 1)));
    assert_eq!(of(&asking(vec![question, error()])), RunState::Failed);
}

#[test]
fn a_question_waits_until_its_answer_is_there() {
    let question = |seq| unread(ASK, "__interrupt__", Some(("first", seq)));
    let answer = |writer: &str, seq| unread(NULL_TASK, "__resume__", Some((writer, seq)));
    for (writes, state) in [
        (vec![question(3)], RunState::Interrupted),
        (vec![question(3), answer("second", 0)], RunState::Pending),
        (vec![question(3), answer("first", 4)], RunState::Pending),
        // The second question of a node, after the answer to the first.
        (vec![question(3), answer("first", 3)], RunState::Interrupted),
        (vec![question(3), answer("first", 2)], RunState::Interrupted),
        // Only the null task answers all questions.
        (vec![question(3), unread(ASK, "__resume__", Some(("second", 9)))], RunState::Interrupted),
        (vec![question(3), unread(ASK, "title", None)], RunState::Idle),
    ] {
        let reversed: Vec<_> = writes.iter().rev().cloned().collect();
        assert_eq!(of(&asking(writes.clone())), state, "{writes:?}");
        assert_eq!(of(&asking(reversed)), state, "{writes:?}, the other way round");
    }
}

#[test]
fn every_trigger_of_a_task_counts() {
    let one = |channel: &str, held: Expected| {
        let mut versions = serde_json::Map::new();
        versions.insert(channel.to_owned(), json!("2.0"));
        let skeleton = json!({"channel_versions": versions, "versions_seen": {}});
        of(&found(skeleton, &[(channel, held), ("large", json!("x"))], Vec::new()))
    };
    for (channel, held, state) in [
        ("__start__", json!({"messages": []}), RunState::Pending),
        ("__pregel_tasks", json!([{"node": "w", "args": {"k": 1}}]), RunState::Pending),
        ("__pregel_tasks", json!([]), RunState::Idle),
        ("branch:to:a", json!([null, false]), RunState::Idle),
        ("branch:to:a", json!([null, true]), RunState::Pending),
        ("join:a+b:c", json!(["a"]), RunState::Idle),
        ("join:a+b:c", json!(["b", "a"]), RunState::Pending),
        ("title", json!("a title"), RunState::Idle),
    ] {
        assert_eq!(one(channel, held.clone()), state, "{channel} {held}");
    }
    let mut old =
        found(json!({"v": 1, "channel_versions": {}, "versions_seen": {}}), &[], Vec::new());
    old.view.as_mut().unwrap().pending_sends = vec![value(&json!({"node": "w", "args": {}}))];
    assert_eq!(of(&old), RunState::Pending);
}

#[test]
fn what_cannot_be_read_has_failed() {
    assert_eq!(with_metadata("{", Vec::new()), RunState::Failed);
    let mut broken = asking(Vec::new());
    broken.view.as_mut().unwrap().skeleton = Bytes::from_static(b"[");
    assert_eq!(of(&broken), RunState::Failed);
}

#[test]
fn only_what_is_looked_at_counts() {
    let mut asking = asking(Vec::new());
    let before = (READ_STATE.state_bytes)(&asking);
    let view = asking.view.as_mut().unwrap();
    view.values.push(("messages".into(), value(&json!("x".repeat(1_000_000)))));
    assert_eq!((READ_STATE.state_bytes)(&asking), before);
    assert!(before > 100);
    assert_eq!((READ_STATE.state_bytes)(&CheckpointTuple::default()), 0);
}
