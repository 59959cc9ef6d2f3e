//! Tests which short scalars of a state searches find threads by, and when nobody can tell all of them.

use serde_json::{Value as Expected, json};

use super::states::{ASK, found, write};
use crate::decode::run_state::READ_STATE;
use crate::domain::checkpoints::checkpoint::{PendingWrite, Value};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::names::Tag;

fn of(values: &[(&str, Expected)], writes: Vec<PendingWrite>) -> Option<Expected> {
    let mut found = found(json!({"channel_versions": {}}), &[], writes);
    // JSON has numbers and records of its own.
    let stored = values.iter().map(|(name, it)| {
        let value = Value::new(Tag::new("json").unwrap(), it.to_string().into());
        ((*name).to_owned(), value)
    });
    found.view.as_mut().unwrap().values = stored.collect();
    (READ_STATE.short_values)(&found).map(|it| serde_json::from_str(&it).unwrap())
}

#[test]
fn scalars_are_kept_and_everything_else_is_none() {
    let undefined = json!({"lc": 2, "type": "undefined"});
    let values = [
        ("text", json!("Rome")),
        ("number", json!(-3)),
        ("share", json!(0.5)),
        ("done", json!(false)),
        ("none", Expected::Null),
        ("list", json!([1])),
        ("object", json!({"a": 1})),
        ("undefined", undefined),
        ("short", json!("x".repeat(256))),
        ("long", json!("x".repeat(257))),
        ("longer", json!("x".repeat(10_000))),
        ("large", json!({"a": "x".repeat(10_000)})),
        ("branch:to:ask", Expected::Null),
        ("__start__", json!("input")),
    ];
    let kept = json!({"text": "Rome", "number": -3, "share": 0.5, "done": false, "none": null, "short": "x".repeat(256)});
    assert_eq!(of(&values, Vec::new()), Some(kept.clone()));
    // What a task gave is no value yet: how the channel takes it, the graph knows.
    assert_eq!(of(&values, vec![write(ASK, "text", &json!("Oslo"))]), Some(kept));
    assert_eq!((READ_STATE.short_values)(&CheckpointTuple::default()).as_deref(), Some("{}"));
}

#[test]
fn nobody_can_tell_where_the_state_is_no_object_of_channels_or_too_much() {
    let rome = || ("topic", json!("Rome"));
    let delta = |value: Expected| json!({"lc": 2, "type": "delta_snapshot", "value": value});
    for values in [
        vec![rome(), ("__root__", json!({"topic": "Oslo"}))],
        vec![rome(), ("__end__", json!({"topic": "Oslo"}))],
        vec![("topic", delta(json!("Rome")))],
        (0..10).map(|_| ("a", json!("x".repeat(250)))).collect(),
        vec![("large", json!({"lc": 2, "type": "x", "value": "x".repeat(2 << 20)}))],
    ] {
        assert_eq!(of(&values, Vec::new()), None, "{:?}", values[0].0);
    }
    // Messages and files of delta channels are a list and an object.
    let messages = [rome(), ("messages", delta(json!([])))];
    assert_eq!(of(&messages, Vec::new()), Some(json!({"topic": "Rome"})));
    assert_eq!(of(&messages, vec![write(ASK, "messages", &json!("Rome"))]), None);
}
