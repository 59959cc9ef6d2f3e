//! Decodes serialized values of LangGraph in Python and JavaScript into JSON for display to people.
//! It knows the meaning of bytes. It knows nothing of storage or HTTP.
//!
//! **Invariant:** this folder builds no object of a client language and looks up no class. Names of classes are text that decides how their
//! arguments are shown. Limits on depth and memory hold for any bytes.

mod arrays;
mod cut;
mod extensions;
mod first_message;
mod javascript;
mod json;
mod messages;
mod msgpack;
mod pointer;
pub mod preview;
mod replay;
pub mod run_state;
mod short_values;
mod shown;
pub mod state;
pub mod state_update;
mod task_ids;
pub mod tasks;
mod text;
pub mod timeline;
pub mod values;

#[cfg(test)]
mod tests;

use crate::domain::checkpoints::checkpoint::{EMPTY, Value};

pub use self::cut::Cuts;
pub use self::json::{read_text, read_value};
pub use self::pointer::Pointer;
pub use self::shown::{Budget, Fields, Json, Unreadable};

const OPAQUE: &str = "$opaque";

/// A serialized value as JSON; [`opaque`] where it cannot be shown. Never fails, and takes no more memory than `budget` has
/// left. A value that is not shown gives back what was taken for it.
pub fn show(tag: &str, data: &[u8], budget: &mut Budget) -> Json {
    let left = budget.left();
    decode(tag, data, budget).unwrap_or_else(|reason| {
        budget.restore(left);
        opaque(tag, data.len() as u64, reason)
    })
}

/// Whether the channel has a value at all.
pub fn is_present(value: &Value) -> bool {
    value.tag.as_str() != EMPTY
}

fn decode(tag: &str, data: &[u8], budget: &mut Budget) -> Result<Json, Unreadable> {
    match tag {
        "null" => Ok(Json::Null),
        "bytes" | "bytearray" => {
            budget.take_value()?;
            text::base64(data, budget)
        }
        "msgpack" => msgpack::read(data, budget),
        "json" => json::read_value(data, budget),
        tag if tag.contains('+') => Err(Unreadable::Encrypted),
        // `pickle` among them: its bytes are a program.
        _ => Err(Unreadable::UnknownCodec),
    }
}

/// A value of a checkpoint. Of one whose bytes are not at hand, because they are too many: its size.
pub fn show_value(value: &Value, budget: &mut Budget) -> Json {
    let tag = value.tag.as_str();
    match &value.in_parts {
        Some(it) => opaque(tag, it.size_bytes, Unreadable::TooLarge),
        None => show(tag, &value.data, budget),
    }
}

/// Stands where a value cannot be shown.
fn opaque(tag: &str, size_bytes: u64, reason: Unreadable) -> Json {
    let about = vec![
        ("codec".to_owned(), Json::Text(tag.to_owned())),
        ("size_bytes".to_owned(), Json::of(size_bytes)),
        ("reason".to_owned(), Json::Text(reason.to_string())),
    ];
    Json::Object(vec![(OPAQUE.to_owned(), Json::Object(about))])
}

fn is_opaque(value: &Json) -> bool {
    matches!(value, Json::Object(fields) if matches!(fields.as_slice(), [(name, _)] if name == OPAQUE))
}
