//! Encodes what a caller sent, as plain data: nothing in it makes a client build an object.

use bytes::Bytes;
use uuid::Uuid;

use super::{Planning, needs_graph};
use crate::decode::messages::{is_message, pair};
use crate::decode::shown::Json;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::names::Tag;
use crate::domain::{Error, Result};

/// Records that a client of JavaScript takes for objects.
const RECORDS: [&str; 3] = ["constructor", "undefined", "delta_snapshot"];
const OVERWRITE: &str = "__overwrite__";

/// # Errors
/// 422 for records of objects, where the client would build them.
pub fn encoded(value: &Json, is_python: bool) -> Result<Value> {
    let (tag, data) = match (value, is_python) {
        (Json::Null, true) => ("null", Vec::new()),
        (value, true) => ("msgpack", msgpack(value)?),
        (value, false) => ("json", json(value)?),
    };
    Ok(Value::new(Tag::new(tag)?, Bytes::from(data)))
}

/// # Errors
/// As [`encoded`].
pub fn msgpack(value: &Json) -> Result<Vec<u8>> {
    rmp_serde::to_vec_named(value).map_err(|it| Error::Internal(it.to_string()))
}

/// # Errors
/// As [`encoded`].
pub fn json(value: &Json) -> Result<Vec<u8>> {
    if has_records(value) {
        let detail = "values must be plain data: a record of an object (\"lc\") is none";
        return Err(Error::invalid("values", detail));
    }
    serde_json::to_vec(value).map_err(|it| Error::Internal(it.to_string()))
}

fn has_records(value: &Json) -> bool {
    match value {
        Json::List(items) => items.iter().any(has_records),
        Json::Object(fields) => {
            let is_record = value.get("lc").is_some()
                && value
                    .get("type")
                    .and_then(Json::as_text)
                    .is_some_and(|it| RECORDS.contains(&it));
            is_record || fields.iter().any(|(_, it)| has_records(it))
        }
        _ => false,
    }
}

/// # Errors
/// Refused for an `Overwrite`, which the graph stores in another way.
pub fn require_no_overwrite(channel: &str, value: &Json) -> Planning<()> {
    let is_only = matches!(value, Json::Object(fields) if matches!(fields.as_slice(), [(name, _)] if name == OVERWRITE));
    let is_typed = value.get("type").and_then(Json::as_text) == Some(OVERWRITE);
    if is_only || is_typed {
        return needs_graph(format!(
            "the graph makes a snapshot of channel {channel:?} when it is overwritten"
        ));
    }
    Ok(())
}

/// With ids for messages that have none: they are replayed on every read, and must be the same each time. `has_texts`: texts are messages,
/// too.
pub fn with_message_ids(value: Json, has_texts: bool) -> Json {
    match value {
        Json::List(items) => {
            Json::List(items.into_iter().map(|it| with_id(it, has_texts)).collect())
        }
        one => with_id(one, has_texts),
    }
}

fn with_id(value: Json, has_texts: bool) -> Json {
    if is_message(&value) {
        let Json::Object(mut fields) = value else { return value };
        let is_missing = |it: &Json| *it == Json::Null || it.as_text().is_some_and(str::is_empty);
        fields.retain(|(name, it)| name != "id" || !is_missing(it));
        if !fields.iter().any(|(name, _)| name == "id") {
            fields.push(("id".to_owned(), new_id()));
        }
        return Json::Object(fields);
    }
    if !has_texts {
        return value;
    }
    let (role, content) = match (&value, pair(&value)) {
        (_, Some((role, content))) => (role.to_owned(), content.clone()),
        (Json::Text(_), None) => ("user".to_owned(), value),
        _ => return value,
    };
    Json::Object(vec![
        ("role".to_owned(), Json::Text(role)),
        ("content".to_owned(), content),
        ("id".to_owned(), new_id()),
    ])
}

fn new_id() -> Json {
    Json::Text(Uuid::new_v4().to_string())
}
