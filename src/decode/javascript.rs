//! Decodes the JSON records for values that JSON cannot represent. They are `lc: 2` of LangGraph.js and of older LangGraph for Python, and
//! `lc: 1` of `LangChain`. They are shown as their arguments, like MessagePack's extensions.

use super::shown::{Budget, Json, Unreadable, object};
use super::text;

/// How the text of a snapshot of a delta channel begins.
pub const DELTA_SNAPSHOT: &[u8] = br#"{"lc":2,"type":"delta_snapshot""#;

/// The text of `undefined`.
pub const UNDEFINED: &[u8] = br#"{"lc":2,"type":"undefined"}"#;

pub enum Revived {
    Undefined,
    Value(Json),
}

/// What a record shows; anything else, and records of a shape that no client writes, as they are.
///
/// # Errors
/// `TooLarge`.
pub fn revived(value: Json, budget: &mut Budget) -> Result<Revived, Unreadable> {
    let kind = value.get("type").and_then(Json::as_text);
    Ok(Revived::Value(match (value.get("lc"), kind) {
        (Some(Json::Int(2)), Some("undefined")) => return Ok(Revived::Undefined),
        (Some(Json::Int(2)), Some("delta_snapshot")) => field(value, "value"),
        (Some(Json::Int(2)), Some("constructor")) => constructed(value, budget)?,
        (Some(Json::Int(1)), Some("constructor")) => langchain(value),
        _ => value,
    }))
}

/// A field, by value. Without it, the whole.
fn field(value: Json, name: &str) -> Json {
    match value {
        Json::Object(mut fields) => match fields.iter().position(|(it, _)| it == name) {
            Some(at) => fields.swap_remove(at).1,
            None => Json::Object(fields),
        },
        other => other,
    }
}

/// `{"lc": 2, "type": "constructor", "id": […], "method", "args", "kwargs"}`.
fn constructed(value: Json, budget: &mut Budget) -> Result<Json, Unreadable> {
    let names = id(&value);
    let is = |wanted: &str| names == [wanted];
    let (is_map, is_bytes, is_regexp) = (is("Map"), is("Uint8Array"), is("RegExp"));
    let is_uuid = names == ["uuid", "UUID"];
    if names.is_empty() {
        return Ok(value);
    }
    let has_fields =
        matches!(value.get("kwargs"), Some(Json::Object(fields)) if !fields.is_empty());
    if has_fields {
        return Ok(field(value, "kwargs"));
    }
    if !matches!(value.get("args"), Some(Json::List(_))) {
        return Ok(value);
    }
    let Json::List(mut arguments) = field(value, "args") else { return Ok(Json::Null) };
    if is_regexp || arguments.len() != 1 {
        return Ok(Json::List(arguments));
    }
    let argument = arguments.swap_remove(0);
    match argument {
        Json::List(pairs) if is_map => Ok(map(pairs)),
        Json::List(numbers) if is_bytes => bytes(numbers, budget),
        Json::Text(digits) if is_uuid => Ok(Json::Text(text::dashed(digits))),
        argument => Ok(argument),
    }
}

fn id(value: &Json) -> Vec<&str> {
    let parts = value.get("id").and_then(Json::as_list).unwrap_or_default();
    parts.iter().filter_map(Json::as_text).collect()
}

/// An object where all keys are texts, else the pairs.
fn map(pairs: Vec<Json>) -> Json {
    let is_named = |pair: &Json| matches!(pair.as_list(), Some([Json::Text(_), _]));
    if !pairs.iter().all(is_named) {
        return Json::List(pairs);
    }
    let field = |pair: Json| match pair {
        Json::List(pair) => {
            let mut pair = pair.into_iter();
            match (pair.next(), pair.next()) {
                (Some(Json::Text(name)), Some(value)) => Some((name, value)),
                _ => None,
            }
        }
        _ => None,
    };
    object(pairs.into_iter().filter_map(field).collect())
}

fn bytes(numbers: Vec<Json>, budget: &mut Budget) -> Result<Json, Unreadable> {
    let byte = |it: &Json| match it {
        Json::Int(it) => u8::try_from(*it).ok(),
        _ => None,
    };
    match numbers.iter().map(byte).collect::<Option<Vec<u8>>>() {
        Some(bytes) => text::base64(&bytes, budget),
        None => Ok(Json::List(numbers)),
    }
}

/// A message is its fields with its `type`; other classes are their fields.
fn langchain(value: Json) -> Json {
    let kind = id(&value).last().and_then(|it| message_type(it));
    if !matches!(value.get("kwargs"), Some(Json::Object(_))) {
        return value;
    }
    let Json::Object(mut fields) = field(value, "kwargs") else { return Json::Null };
    if let Some(kind) = kind {
        match fields.iter_mut().find(|(name, _)| name == "type") {
            Some((_, it)) => *it = Json::text(kind),
            None => fields.push(("type".to_owned(), Json::text(kind))),
        }
    }
    Json::Object(fields)
}

fn message_type(class: &str) -> Option<&'static str> {
    let name = class.strip_suffix("Chunk").unwrap_or(class);
    Some(match name {
        "HumanMessage" => "human",
        "AIMessage" => "ai",
        "SystemMessage" => "system",
        "ToolMessage" => "tool",
        "FunctionMessage" => "function",
        "ChatMessage" => "generic",
        "RemoveMessage" => "remove",
        _ => return None,
    })
}
