//! Decodes the extension codes of LangGraph's MessagePack. Where Python would build an object, the arguments are shown: `[module, name,
//! arguments, …]` shows the third.

use super::msgpack::{Reader, read_at};
use super::opaque;
use super::shown::{Budget, Json, Unreadable};
use super::{arrays, text};

const LAST_CONSTRUCTOR: i8 = 5;
const ARRAY: i8 = 6;
pub const DELTA_SNAPSHOT: i8 = 7;

/// `depth` is that of what is inside.
///
/// # Errors
/// `TooDeep` and `TooLarge`; what is malformed inside an extension is opaque and the rest is shown.
pub fn show(code: i8, data: &[u8], budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
    if code != DELTA_SNAPSHOT {
        budget.enter_object();
    }
    let shown = match code {
        0..=LAST_CONSTRUCTOR => constructed(code, data, budget, depth),
        ARRAY => arrays::show(data, budget, depth),
        DELTA_SNAPSHOT => read_at(data, budget, depth),
        _ => Err(Unreadable::UnknownCodec),
    };
    match shown {
        Err(reason @ (Unreadable::Malformed | Unreadable::UnknownCodec)) => {
            budget.take(512)?;
            Ok(opaque(&format!("msgpack extension {code}"), data.len() as u64, reason))
        }
        shown => shown,
    }
}

/// Whether it is a `datetime.date`, whose text is a key where it stands as one.
pub fn is_date(code: i8, data: &[u8]) -> bool {
    let mut reader = Reader::new(data);
    let is_long_enough = reader.list_length().is_ok_and(|it| it >= 3);
    code == 1 && is_long_enough && reader.text() == Ok("datetime") && reader.text() == Ok("date")
}

fn constructed(code: i8, data: &[u8], budget: &mut Budget, depth: u64) -> Result<Json, Unreadable> {
    let mut reader = Reader::new(data);
    let length = reader.list_length()?;
    if length < 3 {
        return Err(Unreadable::Malformed);
    }
    let (module, name) = (reader.text()?, reader.text()?);
    let argument = reader.value(budget, depth)?;
    // The name of a method.
    for _ in 3..length {
        reader.value(budget, depth)?;
    }
    reader.end()?;
    Ok(match (code, module, name, argument) {
        (0, "uuid", "UUID", Json::Text(digits)) => Json::Text(text::dashed(digits)),
        (1, module, "Send", Json::List(items)) if module.starts_with("langgraph.") => send(items),
        (_, _, _, argument) => argument,
    })
}

/// A task for a node: its arguments have names in JSON.
fn send(items: Vec<Json>) -> Json {
    let mut items = items.into_iter();
    match (items.next(), items.next()) {
        (Some(node), Some(args)) => {
            Json::Object(vec![("node".to_owned(), node), ("args".to_owned(), args)])
        }
        (first, _) => Json::List(first.into_iter().collect()),
    }
}
