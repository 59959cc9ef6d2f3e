//! Checks that any shown bytes become JSON: no panic, no deeper than the limit, and in no more memory than was allowed.
//!
//! Input: 1 byte mode, 2 bytes budget, little endian, then a value; in the last two modes parts, each with 2 bytes length.

use bytes::Bytes;
use threadkeep::decode::state::state;
use threadkeep::decode::{Budget, Json, show};
use threadkeep::domain::checkpoints::checkpoint::{PendingWrite, Value, View};
use threadkeep::domain::checkpoints::history::{Chain, Node};
use threadkeep::domain::checkpoints::storage::CheckpointTuple;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::names::Tag;

const TAGS: [&str; 4] = ["msgpack", "json", "bytes", "msgpack+aes"];
const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
/// What stands for a value that is not shown.
const OPAQUE_BYTES: usize = 1_024;
/// A value that is not there takes nothing.
const VALUE_BYTES: usize = size_of::<Json>();

pub fn check(data: &[u8]) {
    let Some(([mode, low, high], rest)) = data.split_first_chunk::<3>() else { return };
    // Up to 16 MiB: what is allowed has to hold, not only what is enough.
    let budget = u64::from(u16::from_le_bytes([*low, *high])) << 8;
    match mode % 6 {
        mode @ 0..=3 => check_value(TAGS[usize::from(mode)], rest, budget),
        mode => check_state(rest, budget, mode == 4),
    }
}

/// Whether all of it is.
pub fn is_shown(data: &[u8]) -> bool {
    let (mode, mut budget) = (data[0] % 6, Budget::new(1 << 24));
    if mode < 4 {
        return !is_opaque(&show(TAGS[usize::from(mode)], &data[3..], &mut budget));
    }
    let mut parts = parts(&data[3..]);
    let (skeleton, metadata) = (parts.pop().unwrap(), parts.pop().unwrap());
    let shown = state(&found(skeleton, metadata, &parts), mode == 4, &mut budget);
    shown.is_ok_and(|it| it.is_some_and(|it| !it.tasks.is_empty() && !is_opaque(&it.values)))
}

/// The last part is the skeleton, the one before it the metadata; the others are written to two channels.
fn check_state(data: &[u8], budget: u64, is_live: bool) {
    let mut parts = parts(data);
    let skeleton = parts.pop().unwrap_or_default();
    let metadata = parts.pop().unwrap_or_default();
    let found = found(skeleton, metadata, &parts);
    let mut left = Budget::new(budget);
    let Ok(shown) = state(&found, is_live, &mut left) else { return };
    let Some(shown) = shown else { return };
    let opaque = (parts.len() * 4 + 1) * OPAQUE_BYTES;
    let all = [&shown.values, &shown.metadata];
    let written = shown.writes.iter().map(|it| &it.value);
    let results = shown.tasks.iter().filter_map(|it| it.result.as_ref());
    let taken: usize = all.into_iter().chain(written).chain(results).map(size).sum();
    assert!(taken <= usize::try_from(budget).unwrap() + opaque, "{taken} of {budget}");
    check_json(&shown.values);
}

fn found(skeleton: &[u8], metadata: &[u8], parts: &[&[u8]]) -> CheckpointTuple {
    let value = |data: &&[u8]| {
        Value::new(Tag::new(TAGS[data.len() % 2]).unwrap(), Bytes::copy_from_slice(data))
    };
    let name = |at: usize| if at.is_multiple_of(2) { "messages" } else { "files" }.to_owned();
    let write = |(at, data)| (name(at), "task".to_owned(), value(data));
    let pending = |(at, data)| PendingWrite {
        task_id: "00000000-0000-0000-0000-000000000000".into(),
        channel: name(at),
        value: value(data),
        call: None,
    };
    let node = Node {
        id: "1".into(),
        writes: parts.iter().enumerate().map(write).collect(),
        read_for: [name(0), name(1)].into(),
        ..Node::default()
    };
    let mut chain = Chain::default();
    chain.add(vec![node]);
    let view = View {
        id: ID.into(),
        parent: Some("1".into()),
        skeleton: Bytes::copy_from_slice(skeleton),
        metadata: Bytes::copy_from_slice(metadata),
        values: parts.first().map(|it| ("branch:to:a".to_owned(), value(it))).into_iter().collect(),
        writes: parts.iter().enumerate().take(2).map(pending).collect(),
        ..View::default()
    };
    CheckpointTuple {
        view: Some(view),
        history_channels: vec![name(0), name(1)],
        chain,
        generation: None,
    }
}

fn parts(mut data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (part, rest) = rest.split_at(length);
        parts.push(part);
        data = rest;
    }
    parts
}

fn check_value(tag: &str, data: &[u8], budget: u64) {
    let mut left = Budget::new(budget);
    let shown = show(tag, data, &mut left);
    let taken = usize::try_from(budget - left.left()).unwrap();
    assert!(size(&shown) <= taken.max(OPAQUE_BYTES), "{} in {taken}", size(&shown));
    check_json(&shown);
    assert_eq!(show(tag, data, &mut Budget::new(budget)), shown, "the same again");
    if !is_opaque(&shown) {
        assert_eq!(show(tag, data, &mut Budget::new(u64::MAX)), shown, "whatever is allowed more");
    }
}

fn check_json(shown: &Json) {
    assert!(depth(shown) <= LIMITS.json_depth_max + 4);
    let text = serde_json::to_vec(shown).unwrap();
    serde_json::from_slice::<serde::de::IgnoredAny>(&text).unwrap();
    rmp_serde::to_vec_named(shown).unwrap();
}

fn is_opaque(shown: &Json) -> bool {
    match shown {
        Json::Object(fields) => fields.iter().any(|(name, it)| name == "$opaque" || is_opaque(it)),
        Json::List(items) => items.iter().any(is_opaque),
        _ => false,
    }
}

/// Memory, without room that lists hold ready.
fn size(shown: &Json) -> usize {
    VALUE_BYTES
        + match shown {
            Json::Text(text) => text.len(),
            Json::List(items) => items.iter().map(size).sum(),
            Json::Object(fields) => {
                fields.iter().map(|(name, it)| size_of::<String>() + name.len() + size(it)).sum()
            }
            _ => 0,
        }
}

fn depth(shown: &Json) -> u64 {
    match shown {
        Json::List(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Json::Object(fields) => {
            1 + fields.iter().map(|(_, it)| depth(it)).max().unwrap_or_default()
        }
        _ => 0,
    }
}
