//! Tests states derived from checkpoints: next tasks, interrupts and finished tasks.

use bytes::Bytes;
use serde_json::{Value as Expected, json};

use super::as_json;
use crate::decode::Budget;
use crate::decode::state::{State, state};
use crate::domain::checkpoints::checkpoint::{PendingWrite, Value, View};
use crate::domain::checkpoints::history::{Chain, Node};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::names::Tag;

pub(super) const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
/// Of `ask` at step 2.
pub(super) const ASK: &str = "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2";
pub(super) const NULL_TASK: &str = "00000000-0000-0000-0000-000000000000";

pub(super) fn value(value: &Expected) -> Value {
    let data = Bytes::from(rmp_serde::to_vec_named(value).unwrap());
    Value::new(Tag::new("msgpack").unwrap(), data)
}

pub(super) fn write(task: &str, channel: &str, written: &Expected) -> PendingWrite {
    let (task_id, channel) = (task.into(), channel.into());
    PendingWrite { task_id, channel, value: value(written), call: None }
}

/// A checkpoint of Python after step 1.
pub(super) fn found(
    skeleton: Expected,
    values: &[(&str, Expected)],
    writes: Vec<PendingWrite>,
) -> CheckpointTuple {
    let mut whole = json!({"v": 4, "ts": "2026-01-31T12:00:09+00:00"});
    whole.as_object_mut().unwrap().extend(skeleton.as_object().unwrap().clone());
    let view = View {
        thread_id: "t".into(),
        id: ID.into(),
        skeleton: whole.to_string().into(),
        metadata: r#"{"step": 1, "counters_since_delta_snapshot": {"files": [1, 1]}}"#.into(),
        values: values.iter().map(|(name, it)| ((*name).to_owned(), value(it))).collect(),
        writes,
        ..View::default()
    };
    CheckpointTuple { view: Some(view), ..CheckpointTuple::default() }
}

/// `ask` was triggered and has not run.
pub(super) fn asking(writes: Vec<PendingWrite>) -> CheckpointTuple {
    let skeleton = json!({
        "channel_versions": {"__start__": "2.0", "branch:to:ask": "2.0", "title": "2.0"},
        "versions_seen": {"__start__": {"__start__": "1.0"}, "ask": {"branch:to:ask": "1.0"}}
    });
    found(skeleton, &[("branch:to:ask", Expected::Null), ("title", json!("x"))], writes)
}

fn of(found: &CheckpointTuple, is_live: bool) -> State {
    state(found, is_live, &mut Budget::new(1 << 20)).unwrap().unwrap()
}

#[test]
fn a_node_is_next_when_a_channel_for_it_is_newer_than_it_has_seen() {
    let shown = of(&asking(Vec::new()), true);
    assert_eq!(shown.next, ["ask"]);
    assert_eq!(shown.tasks[0].id.as_deref(), Some(ASK));
    assert_eq!(as_json(&shown.tasks[0].path), json!(["__pregel_pull", "ask"]));
    assert_eq!(as_json(&shown.values), json!({"title": "x"}));
    assert_eq!(shown.created_at.as_deref(), Some("2026-01-31T12:00:09+00:00"));
    let mut seen = asking(Vec::new());
    let view = seen.view.as_mut().unwrap();
    let text = String::from_utf8(view.skeleton.to_vec()).unwrap();
    view.skeleton = text.replace(r#"{"branch:to:ask":"1.0"}"#, r#"{"branch:to:ask":"2.0"}"#).into();
    assert!(of(&seen, true).next.is_empty());
}

#[test]
fn errors_interrupts_and_results_go_to_their_task() {
    let interrupt = json!([{"value": "q", "id": "i", "response_schema": null}]);
    let shown = of(&asking(vec![write(ASK, "__interrupt__", &interrupt)]), true);
    assert_eq!(shown.next, ["ask"]);
    let interrupts = shown.interrupts();
    assert_eq!((interrupts.len(), interrupts[0].id.as_deref()), (1, Some("i")));
    assert_eq!(as_json(&interrupts[0].value), "q");
    assert!(interrupts[0].response_schema.is_none());

    let failed = of(&asking(vec![write(ASK, "__error__", &json!("ValueError('x')"))]), true);
    assert_eq!(failed.tasks[0].error.as_ref().map(as_json), Some(json!("ValueError('x')")));
    assert_eq!(failed.next, ["ask"]);

    let writes = || {
        vec![
            write(ASK, "title", &json!("y")),
            write(ASK, "log", &json!(1)),
            write(ASK, "log", &json!(2)),
        ]
    };
    let done = of(&asking(writes()), true);
    let result = json!({"title": "y", "log": {"$writes": [1, 2]}});
    assert_eq!(done.tasks[0].result.as_ref().map(as_json), Some(result));
    assert!(done.next.is_empty());
    // The record of the step: it was to run then.
    assert_eq!(of(&asking(writes()), false).next, ["ask"]);
    let nothing = of(&asking(vec![write(ASK, "__no_writes__", &Expected::Null)]), true);
    assert_eq!(nothing.tasks[0].result.as_ref().map(as_json), Some(json!({})));
}

#[test]
fn what_was_answered_asks_no_more_but_in_the_record() {
    let writes = || {
        vec![
            write(ASK, "__interrupt__", &json!([{"value": "q", "id": "i"}])),
            write(ASK, "title", &json!("y")),
        ]
    };
    assert!(of(&asking(writes()), true).interrupts().is_empty());
    assert_eq!(of(&asking(writes()), false).interrupts().len(), 1);
}

#[test]
fn old_interrupts_have_the_id_of_their_namespace() {
    let old = json!([{"value": "q", "resumable": true, "ns": ["a", "b"], "when": "during"}]);
    let shown = of(&asking(vec![write(ASK, "__interrupt__", &old)]), true);
    assert_eq!(shown.interrupts()[0].id.as_deref(), Some("e4bb8f8c00c16987c7ee863ab9632249"));
}

#[test]
fn joins_wait_for_all_and_deferred_nodes_for_the_end() {
    let next = |channel: &str, held: Expected| {
        let mut versions = serde_json::Map::new();
        versions.insert(channel.to_owned(), json!("2.0"));
        of(
            &found(
                json!({"channel_versions": versions, "versions_seen": {}}),
                &[(channel, held)],
                Vec::new(),
            ),
            true,
        )
        .next
    };
    assert!(next("join:a+b:c", json!(["a"])).is_empty());
    assert_eq!(next("join:a+b:c", json!(["b", "a"])), ["c"]);
    assert!(next("join:a+b:c", json!([["a", "b"], false])).is_empty());
    assert_eq!(next("join:a+b:c", json!([["a", "b"], true])), ["c"]);
    assert!(next("branch:to:c", json!([null, false])).is_empty());
    assert_eq!(next("branch:to:c", json!([null, true])), ["c"]);
    assert_eq!(next("__start__", json!({"a": 1})), ["__start__"]);
}

#[test]
fn what_is_sent_comes_first() {
    let sends = json!([{"node": "w", "args": {"k": 1}}, {"node": "w", "args": {"k": 2}}]);
    let skeleton = json!({"channel_versions": {"__pregel_tasks": "2.0", "branch:to:a": "2.0"}, "versions_seen": {}});
    let shown = of(
        &found(skeleton, &[("__pregel_tasks", sends), ("branch:to:a", Expected::Null)], Vec::new()),
        true,
    );
    assert_eq!(shown.next, ["w", "w", "a"]);
    assert_eq!(shown.tasks[1].id.as_deref(), Some("cc2724ed-66b1-6143-3f16-953dac5daa65"));
    assert_eq!(as_json(&shown.tasks[1].path), json!(["__pregel_push", 1, false]));
}

#[test]
fn sends_of_old_formats_are_writes_of_the_parent() {
    let mut old = found(
        json!({"v": 1, "channel_versions": {"a": "1.0"}, "versions_seen": {}}),
        &[],
        Vec::new(),
    );
    old.view.as_mut().unwrap().pending_sends = vec![value(&json!({"node": "w", "args": {}}))];
    assert_eq!(of(&old, true).next, ["w"]);
}

#[test]
fn javascript_compares_numbers_and_names_the_channel_that_fired() {
    let skeleton = json!({
        "channel_versions": {"branch:to:ask": 10}, "versions_seen": {"ask": {"branch:to:ask": 9}}
    });
    let mut found = found(skeleton, &[("branch:to:ask", Expected::Null)], Vec::new());
    let view = found.view.as_mut().unwrap();
    view.values[0].1 = Value::new(Tag::new("json").unwrap(), Bytes::from_static(b"null"));
    let shown = of(&found, true);
    assert_eq!(shown.next, ["ask"]);
    assert_eq!(shown.tasks[0].id.as_deref(), Some("01fa8e83-74f1-5213-bff9-3a82f1a91d53"));
    // Of a deferred node that has run.
    let undefined = Bytes::from_static(br#"{"lc":2,"type":"undefined"}"#);
    found.view.as_mut().unwrap().values[0].1 = Value::new(Tag::new("json").unwrap(), undefined);
    assert!(of(&found, true).next.is_empty());
}

#[test]
fn the_function_of_a_functional_graph_is_told_by_what_it_asked() {
    let skeleton = json!({"channel_versions": {"__start__": "1.0"}, "versions_seen": {}});
    let asked = write("its own id", "__interrupt__", &json!([{"value": "q", "id": "i"}]));
    let shown = of(&found(skeleton, &[("__start__", json!(1))], vec![asked]), true);
    assert_eq!((shown.next, shown.tasks[0].interrupts.len()), (vec!["__start__".to_owned()], 1));
    let ended = found(
        json!({"channel_versions": {"__end__": "1.0"}}),
        &[("__end__", json!([7])), ("__previous__", json!(1))],
        Vec::new(),
    );
    assert_eq!(as_json(&of(&ended, true).values), json!([7]));
}

#[test]
fn what_a_functional_graph_returned_is_the_result_of_its_task() {
    let skeleton = json!({"channel_versions": {"__start__": "1.0"}, "versions_seen": {}});
    let written = vec![
        write("a task of its own", "__return__", &json!(3)),
        write("its own id", "__end__", &json!([7])),
        write("its own id", "__previous__", &json!(1)),
    ];
    let shown = of(&found(skeleton, &[("__start__", json!(1))], written), false);
    assert_eq!(shown.tasks[0].id.as_deref(), Some("its own id"));
    assert_eq!(as_json(shown.tasks[0].result.as_ref().unwrap()), json!([7]));
}

#[test]
fn the_function_of_a_functional_graph_has_its_name_once_it_has_run() {
    let skeleton = json!({
        "channel_versions": {"__start__": "3.0"},
        "versions_seen": {"__input__": {"__start__": "1.0"}, "work": {"__start__": "1.0"}},
    });
    let shown = of(&found(skeleton, &[("__start__", json!(1))], Vec::new()), true);
    assert_eq!(shown.next, ["work"]);
}

#[test]
fn delta_channels_are_replayed_with_what_is_pending() {
    let mut found = asking(vec![
        write(NULL_TASK, "files", &json!({"/n": 0})),
        write(ASK, "files", &json!({"/a": null, "/c": 3})),
    ]);
    let node = |id: &str, parent: Option<&str>, written: Expected| Node {
        id: id.into(),
        parent: parent.map(str::to_owned),
        writes: vec![("files".into(), "task".into(), value(&written))],
        read_for: ["files".to_owned()].into(),
        ..Node::default()
    };
    let mut chain = Chain::default();
    chain.add(vec![node("2", Some("1"), json!({"/b": 2})), node("1", None, json!({"/a": 1}))]);
    found.chain = chain;
    found.history_channels = vec!["files".into()];
    found.view.as_mut().unwrap().parent = Some("2".into());
    let files = |is_live| as_json(&of(&found, is_live).values)["files"].clone();
    assert_eq!(files(true), json!({"/b": 2, "/n": 0, "/c": 3}));
    assert_eq!(files(false), json!({"/a": 1, "/b": 2, "/n": 0}));
}

#[test]
fn a_snapshot_takes_pending_writes_and_other_channels_do_not() {
    let mut found =
        asking(vec![write(ASK, "files", &json!({"/b": 2})), write(ASK, "title", &json!("y"))]);
    found.view.as_mut().unwrap().values.push(("files".into(), value(&json!({"/a": 1}))));
    let values = as_json(&of(&found, true).values);
    assert_eq!(values, json!({"files": {"/a": 1, "/b": 2}, "title": "x"}));
    // Where the metadata does not say so, a snapshot does.
    let view = found.view.as_mut().unwrap();
    view.metadata = r#"{"step": 1}"#.into();
    assert_eq!(as_json(&of(&found, true).values)["files"], json!({"/a": 1}));
    let snapshot = hex::decode("c70507 81a22f6101".replace(' ', "")).unwrap();
    let tag = |tag: &str| Tag::new(tag).unwrap();
    for (tag, data) in [
        (tag("msgpack"), snapshot),
        (tag("json"), br#"{"lc":2,"type":"delta_snapshot","value":{"/a":1}}"#.to_vec()),
    ] {
        let view = found.view.as_mut().unwrap();
        view.values.last_mut().unwrap().1 = Value::new(tag, Bytes::from(data));
        assert_eq!(as_json(&of(&found, true).values)["files"], json!({"/a": 1, "/b": 2}));
    }
}

#[test]
fn an_empty_channel_is_absent_and_a_value_that_cannot_be_shown_is_opaque() {
    let mut found = asking(Vec::new());
    let view = found.view.as_mut().unwrap();
    let tagged = |tag: &str| Value::new(Tag::new(tag).unwrap(), Bytes::new());
    let undefined = Bytes::from_static(br#"{"lc":2,"type":"undefined"}"#);
    let undefined = Value::new(Tag::new("json").unwrap(), undefined);
    view.values = vec![
        ("never".into(), undefined),
        ("gone".into(), tagged("empty")),
        ("old".into(), tagged("pickle")),
        ("root".into(), tagged("null")),
    ];
    let values = as_json(&of(&found, true).values);
    assert_eq!(values["old"]["$opaque"]["codec"], "pickle");
    assert!(values.get("gone").is_none() && values.get("never").is_none());
    assert_eq!(values.get("root"), Some(&Expected::Null));
}

#[test]
fn a_large_value_is_told_by_size_and_the_others_are_shown() {
    let mut found = asking(Vec::new());
    let large = value(&json!("x".repeat(8_000)));
    found.view.as_mut().unwrap().values.push(("large".into(), large));
    let shown = state(&found, true, &mut Budget::new(6_000)).unwrap().unwrap();
    let values = as_json(&shown.values);
    assert_eq!(values["large"]["$opaque"]["size_bytes"], 8_003);
    assert_eq!(values["title"], "x");
    assert!(state(&found, true, &mut Budget::new(100)).is_err(), "the checkpoint itself");
}

#[test]
fn an_input_that_says_where_to_go_adds_tasks_in_javascript() {
    let given = |channel: &str, it: Expected| PendingWrite {
        value: Value::new(Tag::new("json").unwrap(), Bytes::from(it.to_string())),
        ..write(NULL_TASK, channel, &it)
    };
    let writes = || {
        let to = |node: &str| given(&format!("branch:to:{node}"), json!("__start__"));
        let send = |node: &str| given("__pregel_tasks", json!({"node": node, "args": {"a": 1}}));
        vec![to("ran"), to("never"), to("current"), send("left"), send("left")]
    };
    let skeleton = |ran: Expected, current: Expected| {
        json!({
            "channel_versions": {"branch:to:ran": ran, "branch:to:current": current},
            "versions_seen": {"current": {"branch:to:current": current}}
        })
    };
    for is_live in [true, false] {
        let shown = of(&found(skeleton(json!(3), json!(4)), &[], writes()), is_live);
        assert_eq!(shown.next, ["left", "left", "ran"]);
        assert!(shown.tasks.iter().all(|it| it.id.is_some() && it.result.is_none()));
        let python = of(&found(skeleton(json!("3"), json!("4")), &[], writes()), is_live);
        assert_eq!(python.next, [""; 0]);
    }
}
