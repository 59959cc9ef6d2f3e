//! Tests the JSON that is shown for bytes written by the serializers of LangGraph.

use serde_json::{Value as Expected, json};

use super::as_json;
use crate::decode::{Budget, Json, show};

const MSGPACK: &str = include_str!("../../../tests/vectors/serde.jsonl");
const JSON: &str = include_str!("../../../tests/vectors/serde_json.jsonl");
const ROOM_BYTES: u64 = 1 << 20;

fn shown(tag: &str, data: &[u8]) -> Json {
    show(tag, data, &mut Budget::new(ROOM_BYTES))
}

/// The reason why it is opaque.
fn reason(tag: &str, data: &[u8]) -> String {
    let shown = as_json(&shown(tag, data));
    assert_eq!(shown["$opaque"]["size_bytes"], data.len());
    shown["$opaque"]["reason"].as_str().unwrap().to_owned()
}

fn check_samples(text: &str, count: usize) {
    let rows: Vec<Expected> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(rows.len(), count);
    for row in rows {
        let data = hex::decode(row["hex"].as_str().unwrap()).unwrap();
        let shown = shown(row["type"].as_str().unwrap(), &data);
        assert_eq!(as_json(&shown), row["json"], "{}", row["name"]);
    }
}

#[test]
fn every_sample_of_python_shows_what_is_expected() {
    check_samples(MSGPACK, 58);
}

#[test]
fn every_sample_of_javascript_and_of_older_python_shows_what_is_expected() {
    check_samples(JSON, 39);
}

#[test]
fn the_same_is_shown_in_messagepack() {
    for row in MSGPACK.lines().map(|it| serde_json::from_str::<Expected>(it).unwrap()) {
        let data = hex::decode(row["hex"].as_str().unwrap()).unwrap();
        let shown = shown(row["type"].as_str().unwrap(), &data);
        let packed = rmp_serde::to_vec_named(&shown).unwrap();
        assert_eq!(as_json(&super::samples::shown("msgpack", &packed)), row["json"]);
    }
}

#[test]
fn keys_of_any_kind_become_names() {
    // {1: 0, True: 1, None: 2, 1.5: 3, date(2025, 1, 2): 4, b"\0": 5, "1": 6}
    let date = "c7150193a86461746574696d65a46461746593cd07e90102";
    let map = format!("870100c301c002cb3ff800000000000003{date}04c4010005a13106");
    let shown = as_json(&shown("msgpack", &hex::decode(map).unwrap()));
    let expected = json!({"1": 6, "true": 1, "null": 2, "1.5": 3, "2025-01-02": 4, "AA==": 5});
    assert_eq!(shown, expected);
}

#[test]
fn what_cannot_be_shown_says_why() {
    assert_eq!(reason("pickle", b"cos\nsystem\n"), "there is no display for this codec");
    assert_eq!(reason("msgpack+aes", b"x"), "it was encrypted by its client");
    assert_eq!(reason("msgpack", b"\x92\x01"), "the bytes are not what their codec says");
    assert_eq!(reason("msgpack", b"\x01\x01"), "the bytes are not what their codec says");
    assert_eq!(reason("json", b"{\"a\":1"), "the bytes are not what their codec says");
    assert_eq!(reason("json", b"[1 2]"), "the bytes are not what their codec says");
}

#[test]
fn an_unknown_extension_hides_nothing_but_itself() {
    let shown = as_json(&shown("msgpack", &hex::decode("9201d4 09ff".replace(' ', "")).unwrap()));
    assert_eq!(shown[0], 1);
    assert_eq!(shown[1]["$opaque"]["codec"], "msgpack extension 9");
}

#[test]
fn depth_has_a_limit_in_every_codec() {
    let nested = |count: usize| [vec![0x91; count], vec![0xc0]].concat();
    assert!(reason("msgpack", &nested(101)).starts_with("it is nested deeper than 100"));
    assert!(!as_json(&shown("msgpack", &nested(100))).is_object());
    assert!(reason("msgpack", &nested(1_000_000)).starts_with("it is nested deeper"));
    let text = "[".repeat(101) + &"]".repeat(101);
    assert!(reason("json", text.as_bytes()).starts_with("it is nested deeper than 100"));
    // Extensions nest in each other's bytes: a delta snapshot of a delta snapshot.
    let mut snapshot = vec![0xc0];
    for _ in 0..101 {
        let length = u32::try_from(snapshot.len()).unwrap().to_be_bytes();
        snapshot = [&[0xc9][..], &length, &[7], &snapshot].concat();
    }
    assert!(reason("msgpack", &snapshot).starts_with("it is nested deeper than 100"));
}

#[test]
fn what_is_declared_takes_no_memory_and_what_is_there_takes_no_more_than_allowed() {
    // A list of four billion entries that has none, and shapes of many empty lists.
    let malformed = "the bytes are not what their codec says";
    assert_eq!(reason("msgpack", &[0xdd, 0xff, 0xff, 0xff, 0xff]), malformed);
    assert_eq!(reason("msgpack", &[0xc6, 0xff, 0xff, 0xff, 0xff]), malformed);
    let too_large = "it is too large to be shown here";
    let nulls = [&[0xdd, 0, 1, 0, 0][..], &vec![0xc0; 1 << 16]].concat();
    assert_eq!(reason("msgpack", &nulls), too_large);
    let empties = hex::decode("c7100694a33c693892ce7fffffff00a143c400").unwrap();
    assert_eq!(reason("msgpack", &empties), too_large);
    // A key of a key of a key: quotes would double with each.
    let keys = [vec![0x81; 60], b"\xa1\"".to_vec(), vec![0xc0; 60]].concat();
    assert_eq!(reason("msgpack", &keys), too_large);
}

#[test]
fn what_was_taken_for_a_value_that_is_not_shown_is_given_back() {
    let mut budget = Budget::new(1_000);
    show("msgpack", &[&[0xdc, 0, 99][..], &[0xc0; 99]].concat(), &mut budget);
    assert_eq!(budget.left(), 1_000);
    assert_eq!(show("msgpack", b"\x01", &mut budget), Json::Int(1));
    assert!(budget.left() < 1_000);
}

#[test]
fn arrays_of_numpy_of_every_kind() {
    let array = |dtype: &str, shape: &[u8], order: &str, data: &[u8]| {
        let text = |it: &str| [&[0xa0 + u8::try_from(it.len()).unwrap()], it.as_bytes()].concat();
        let list = [&[0x90 + u8::try_from(shape.len()).unwrap()], shape].concat();
        let bytes = [&[0xc4, u8::try_from(data.len()).unwrap()], data].concat();
        let payload = [vec![0x94], text(dtype), list, text(order), bytes].concat();
        let length = u8::try_from(payload.len()).unwrap();
        as_json(&shown("msgpack", &[vec![0xc7, length, 6], payload].concat()))
    };
    assert_eq!(array("|b1", &[2], "C", &[1, 0]), json!([true, false]));
    assert_eq!(array("<i2", &[1, 2], "C", &[255, 255, 1, 0]), json!([[-1, 1]]));
    assert_eq!(array(">u2", &[2], "C", &[1, 0, 0, 1]), json!([256, 1]));
    assert_eq!(array("<f4", &[1], "C", &1.5_f32.to_le_bytes()), json!([1.5]));
    assert_eq!(array("|u1", &[2, 2], "F", &[1, 2, 3, 4]), json!([[1, 3], [2, 4]]));
    assert_eq!(array("<U2", &[1], "C", &[97, 0, 0, 0, 0, 0, 0, 0]), json!(["a"]));
    assert_eq!(array("|i1", &[], "C", &[7]), json!(7));
    assert_eq!(array("|u1", &[0], "C", &[]), json!([]));
    assert_eq!(array("<M8[D]", &[1], "C", &[1])["dtype"], "<M8[D]");
    assert!(array("|u1", &[3], "C", &[1])["$opaque"].is_object());
}
