//! Tests what reading leaves out for an answer that shows a part of a value.

use serde_json::{Value as Expected, json};

use super::as_json;
use super::states::{asking, found, write};
use crate::decode::state::state;
use crate::decode::values::channels;
use crate::decode::{Budget, Cuts, Pointer};
use crate::domain::checkpoints::checkpoint::{PendingWrite, Value};
use crate::domain::checkpoints::history::{Chain, Node};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::names::Tag;

fn cuts(string_bytes_max: Option<u64>, items_max: Option<u64>, from: Option<i64>) -> Cuts {
    Cuts { string_bytes_max, items_max, from, pointer: None }
}

/// A thread whose only channel has this value.
fn holding(value: &Expected) -> CheckpointTuple {
    found(json!({"channel_versions": {"list": "1"}}), &[("list", value.clone())], Vec::new())
}

/// The same, in JSON text.
fn holding_text(value: &Expected) -> CheckpointTuple {
    let mut found = holding(value);
    let text = Value::new(Tag::new("json").unwrap(), value.to_string().into());
    found.view.as_mut().unwrap().values[0].1 = text;
    found
}

/// What is shown of the only channel, and how much memory its reading left.
fn shown(found: &CheckpointTuple, cuts: &Cuts, budget: u64) -> (Expected, u64) {
    let mut budget = Budget::with_cuts(budget, cuts.clone());
    let one = channels(found, &[], &mut budget).remove(0);
    (as_json(&one.cut(cuts).unwrap().shown), budget.left())
}

#[test]
fn texts_that_are_cut_take_no_memory() {
    let list = json!(vec!["x".repeat(100_000); 100]);
    for found in [holding(&list), holding_text(&list)] {
        let budget = 150_000;
        let (value, left) = shown(&found, &cuts(Some(10), None, None), budget);
        assert_eq!(value[99]["$cut"]["size_bytes"], 100_000, "{left}");
        assert_eq!(value[99]["$cut"]["head"], "x".repeat(10));
        let whole = cuts(None, Some(100), None);
        assert!(shown(&found, &whole, budget).0["$opaque"]["codec"].is_string());
    }
}

#[test]
fn items_outside_of_the_window_or_of_the_way_take_no_memory() {
    let list = json!(vec![vec!["y".repeat(500); 20]; 1_000]);
    let pointer = Some(Pointer::new("/list/997/3").unwrap());
    for found in [holding(&list), holding_text(&list)] {
        let budget = 150_000;
        let (value, _) = shown(&found, &cuts(None, Some(20), Some(-5)), budget);
        assert_eq!(
            (&value["$cut"]["length"], &value["$cut"]["from"]),
            (&json!(1_000), &json!(995))
        );
        assert_eq!(value["$cut"]["head"].as_array().unwrap().len(), 5);
        assert_eq!(value["$cut"]["size_bytes"], list.to_string().len());
        let place = Cuts { pointer: pointer.clone(), ..Cuts::default() };
        assert_eq!(shown(&found, &place, budget).0, "y".repeat(500));
    }
}

#[test]
fn objects_of_a_client_are_shown_before_they_are_cut() {
    // A `Send` is a list of two in an extension, a record of JavaScript is an object whose arguments are a list.
    let record = r#"{"lc":2,"type":"constructor","id":["Map"],"method":null,"args":[[["a",1],["b",2]]],"kwargs":{}}"#;
    let mut found = holding(&json!(null));
    let text = Value::new(Tag::new("json").unwrap(), format!("[{record},{record}]").into());
    found.view.as_mut().unwrap().values[0].1 = text;
    let (value, _) = shown(&found, &cuts(None, Some(1), None), 1 << 20);
    let head = &value["$cut"]["head"][0]["$cut"];
    assert_eq!((&head["length"], &head["head"]), (&json!(2), &json!({"a": 1})));
    assert_eq!(head["pointer"], "/list/0");
}

#[test]
fn delta_channels_are_replayed_by_whole_ids_and_then_cut() {
    let id = "i".repeat(3_000);
    let said = |text: &str| json!([{"type": "human", "id": id, "content": text.repeat(3_000)}]);
    let written = |value: &Expected| {
        let PendingWrite { task_id, channel, value, .. } = write("task", "messages", value);
        (channel, task_id, value)
    };
    let mut found = holding(&json!(null));
    let view = found.view.as_mut().unwrap();
    view.values.clear();
    view.parent = Some("parent".into());
    found.history_channels = vec!["messages".into()];
    let node = Node {
        id: "parent".into(),
        writes: vec![written(&said("a")), written(&said("b"))],
        read_for: ["messages".to_owned()].into(),
        ..Node::default()
    };
    let mut chain = Chain::default();
    chain.add(vec![node]);
    found.chain = chain;
    let (value, _) = shown(&found, &cuts(Some(2), None, None), 1 << 20);
    assert_eq!(value.as_array().unwrap().len(), 1, "the second write replaces the message");
    let content =
        json!({"$cut": {"size_bytes": 3_000, "head": "bb", "pointer": "/messages/0/content"}});
    assert_eq!(value[0]["content"], content);
    assert_eq!(value[0]["id"]["$cut"]["size_bytes"], 3_000);
}

#[test]
fn tasks_are_told_whatever_is_cut() {
    let asked = json!([{"value": "q".repeat(2_000), "id": "i".repeat(2_000)}]);
    let found = asking(vec![write(super::states::ASK, "__interrupt__", &asked)]);
    let mut budget = Budget::with_cuts(1 << 20, cuts(Some(1), Some(0), None));
    let state = state(&found, true, &mut budget).unwrap().unwrap();
    assert_eq!(state.next, ["ask"]);
    assert_eq!(state.interrupts()[0].id, Some("i".repeat(2_000)));
    assert_eq!(as_json(&state.interrupts()[0].value)["$cut"]["size_bytes"], 2_000);
    assert_eq!(as_json(&state.values), json!({"title": "x"}), "one byte is not too many");
}
