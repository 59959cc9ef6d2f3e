//! Defines the short scalars of a thread's newest state, by which searches by values find it.

use serde_json::Value;

use crate::domain::json::filter::{Filter, Test};

/// Bytes of a text that is short.
pub const TEXT_BYTES_MAX: usize = 256;
/// Bytes of all short scalars of a thread with their names, as JSON. Threads with more are opened by searches.
pub const WHOLE_BYTES_MAX: usize = 2 << 10;

/// Whether a condition on a value asks for a short scalar: a thread that is known to have another one, or none, does not match.
pub fn is_short(condition: &Filter) -> bool {
    match condition {
        Filter::Field(_, Test::Equal(Value::String(text))) => text.len() <= TEXT_BYTES_MAX,
        Filter::Field(_, Test::Equal(Value::Array(_) | Value::Object(_))) => false,
        Filter::Field(_, Test::Equal(_)) => true,
        _ => false,
    }
}
