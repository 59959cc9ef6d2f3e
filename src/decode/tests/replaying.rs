//! Tests the values that the two built-in reducers of delta channels make of seeds and writes.

use serde_json::{Value as Expected, json};

use super::{as_json, of};
use crate::decode::Budget;
use crate::decode::replay::replay;

fn replayed(channel: &str, seed: Option<Expected>, writes: &[Expected]) -> Option<Expected> {
    let writes = writes.iter().map(of).collect();
    let mut budget = Budget::new(1 << 20);
    replay(channel, seed.as_ref().map(of), writes, &mut budget).unwrap().as_ref().map(as_json)
}

fn message(id: &str, content: &str) -> Expected {
    json!({"content": content, "additional_kwargs": {}, "type": "human", "id": id})
}

fn remove(id: &str) -> Expected {
    json!({"content": "", "type": "remove", "id": id})
}

/// Ids of a list of messages with their contents.
fn told(list: &Expected) -> Vec<String> {
    let line = |it: &Expected| {
        format!("{}={}", it["id"].as_str().unwrap_or("-"), it["content"].as_str().unwrap())
    };
    list.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn messages_are_added_replaced_in_place_and_removed() {
    let seed = json!([message("1", "a"), message("2", "b")]);
    let writes = [
        json!([message("3", "c"), message("1", "a2")]),
        remove("2"),
        json!([remove("absent"), message("2", "b2")]),
    ];
    let list = replayed("messages", Some(seed), &writes).unwrap();
    assert_eq!(told(&list), ["1=a2", "3=c", "2=b2"]);
}

#[test]
fn messages_without_an_id_are_added_each_time() {
    let plain = json!({"content": "x", "additional_kwargs": {}, "type": "human", "id": null});
    let list = replayed("messages", None, &[json!([plain]), json!([plain])]).unwrap();
    assert_eq!(told(&list), ["-=x", "-=x"]);
}

#[test]
fn the_last_removal_of_all_removes_what_is_before_it() {
    let seed = json!([message("1", "a")]);
    let all = remove("__remove_all__");
    let writes =
        [json!([message("2", "b"), all]), json!([message("3", "c"), all, message("4", "d")])];
    assert_eq!(told(&replayed("messages", Some(seed), &writes).unwrap()), ["4=d"]);
}

#[test]
fn raw_forms_become_messages() {
    let writes = [
        json!(["hi"]),
        json!([["user", "a"], ["assistant", "b"]]),
        json!({"role": "system", "content": "c", "id": "s"}),
        json!([{"role": "tool", "content": "d", "tool_call_id": "t"}]),
    ];
    let list = replayed("messages", None, &writes).unwrap();
    let types: Vec<&str> =
        list.as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["human", "human", "ai", "system", "tool"]);
    assert_eq!(list[3]["id"], "s");
    assert_eq!(list[4]["tool_call_id"], "t");
    assert_eq!(list[2]["tool_calls"], json!([]));
}

#[test]
fn files_are_merged_and_null_deletes() {
    let seed = json!({"/a": {"content": "1"}, "/b": {"content": "2"}});
    let writes = [
        json!({"/a": null, "/c": {"content": "3"}}),
        json!({"/b": {"content": "4"}, "/c": null, "/d": {"content": "5"}}),
    ];
    let files = replayed("files", Some(seed), &writes);
    assert_eq!(files, Some(json!({"/b": {"content": "4"}, "/d": {"content": "5"}})));
    assert_eq!(replayed("files", None, &[json!({"/a": null})]), Some(json!({})));
}

#[test]
fn the_last_overwrite_is_where_it_begins() {
    let overwrite = |value: Expected| json!({"value": value, "type": "__overwrite__"});
    let seed = json!([message("1", "a")]);
    let writes = [
        json!([message("2", "b")]),
        overwrite(json!([message("3", "c")])),
        json!([message("4", "d")]),
    ];
    assert_eq!(told(&replayed("messages", Some(seed.clone()), &writes).unwrap()), ["3=c", "4=d"]);
    let short = [json!({"__overwrite__": {"/x": 1}}), json!({"/y": 2})];
    assert_eq!(replayed("files", Some(json!({"/z": 0})), &short), Some(json!({"/x": 1, "/y": 2})));
    let emptied = [overwrite(Expected::Null), json!([message("5", "e")])];
    assert_eq!(told(&replayed("messages", Some(seed), &emptied).unwrap()), ["5=e"]);
}

#[test]
fn what_no_reducer_is_about_is_shown_as_seed_and_writes() {
    let shown = replayed("total", Some(json!(1)), &[json!(2), json!(3)]);
    assert_eq!(shown, Some(json!({"$seed": 1, "$delta_writes": [2, 3]})));
    let texts = replayed("log", Some(json!(["a"])), &[json!(["b"])]);
    assert_eq!(texts, Some(json!({"$seed": ["a"], "$delta_writes": [["b"]]})));
    let opaque = json!({"$opaque": {"codec": "x"}});
    let shown = replayed("files", Some(json!({"/a": 1})), std::slice::from_ref(&opaque));
    assert_eq!(shown, Some(json!({"$seed": {"/a": 1}, "$delta_writes": [opaque]})));
}

#[test]
fn a_seed_alone_is_the_value_and_nothing_is_none() {
    assert_eq!(replayed("total", Some(json!(1)), &[]), Some(json!(1)));
    assert_eq!(replayed("total", None, &[]), None);
}
