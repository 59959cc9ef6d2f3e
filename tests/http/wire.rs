//! Makes JSON bodies with values and differences, for the tests of both directions.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use threadkeep::app::values::digest;

pub const COMMIT: &str = "/v1/checkpoints/commit";

/// MessagePack of a list of so many entries of 100 bytes: the one with more begins like the one with fewer.
pub fn list_of(count: usize) -> Vec<u8> {
    let entry = |at: usize| [&[0xc4, 98][..], &[u8::try_from(at % 251).unwrap(); 98]].concat();
    let header = [0xdd, 0, 0, 0, 0];
    [&header[..], &(0..count).flat_map(entry).collect::<Vec<u8>>()].concat()
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn base64(data: &[u8]) -> Value {
    json!(STANDARD.encode(data))
}

pub fn from_base64(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

pub fn name(data: &[u8]) -> [u8; 32] {
    digest(data)
}

pub fn copy(offset: usize, length: usize) -> Value {
    json!({"copy": [offset, length]})
}

pub fn insert(data: &[u8]) -> Value {
    json!({"insert": base64(data)})
}

pub fn difference(base: &[u8], ops: &[Value], value: &[u8]) -> Value {
    json!({"base": base64(&name(base)), "ops": ops, "sha256": base64(&name(value)), "length": value.len()})
}

pub fn commit(thread_id: &str, ops: &[Value]) -> Value {
    json!({"thread_id": thread_id, "ops": ops})
}

/// A checkpoint with one channel, `messages`.
pub fn put(checkpoint_id: &str, data: &Value) -> Value {
    let value = json!({"channel": "messages", "version": 1, "tag": "x", "data": data});
    json!({"checkpoint": {
        "checkpoint_id": checkpoint_id, "metadata": {},
        "skeleton": {"v": 4, "channel_versions": {"messages": 1}}, "values": [value]
    }})
}

/// Writes on the channels `w0`, `w1`, …
pub fn writes(checkpoint_id: &str, all: &[Value]) -> Value {
    let write = |(idx, data): (usize, &Value)| json!({"idx": idx, "channel": format!("w{idx}"), "tag": "x", "data": data});
    let writes: Vec<Value> = all.iter().enumerate().map(write).collect();
    json!({"writes": {"checkpoint_id": checkpoint_id, "task_id": "a", "writes": writes}})
}
