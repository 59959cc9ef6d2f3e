//! Reads the short scalars among the values of a state. Searches by values find threads by them.

use super::msgpack::extension_code;
use super::shown::Json;
use super::state::{WHOLE_STATES, is_internal};
use super::values::is_delta;
use super::{Budget, is_present, javascript, json, show_value};
use crate::domain::checkpoints::checkpoint::{Value, View};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::limits::LIMITS;
use crate::domain::threads::short_values::{TEXT_BYTES_MAX, WHOLE_BYTES_MAX};

/// A scalar that is stored in more bytes is long, however it is written: JSON needs six for one character at most.
const STORED_BYTES_MAX: usize = 8 * TEXT_BYTES_MAX;
/// What is larger and may show as anything is not opened for this.
const OPENED_BYTES_MAX: usize = 1 << 20;
/// How the JSON of an object of a codec's own begins.
const RECORD: &[u8] = br#"{"lc":"#;
/// Delta channels that hold a list and an object, whatever was written to them.
const NO_SCALARS: [&str; 2] = ["messages", "files"];

/// The short scalars among the values of the newest state, as an exact JSON object. Every channel that is not in it holds something else.
/// None: that cannot be said of every channel.
pub fn short_values(found: &CheckpointTuple) -> Option<String> {
    let Some(view) = &found.view else { return Some("{}".into()) };
    let mut budget = Budget::new(LIMITS.display_bytes_max);
    let metadata = json::read_text(&view.metadata, &mut budget).ok()?;
    let mut fields = Vec::new();
    for (name, value) in view.values.iter().filter(|it| is_present(&it.1)) {
        if WHOLE_STATES.contains(&name.as_str()) {
            return None;
        }
        if is_internal(name) {
            continue;
        }
        if is_delta(&metadata, name, value) {
            if !NO_SCALARS.contains(&name.as_str()) || is_written(view, name) {
                return None;
            }
            continue;
        }
        match scalar(value, &mut budget) {
            Shows::ShortScalar(shown) => fields.push((name.clone(), shown)),
            Shows::SomethingElse => {}
            Shows::Unknown => return None,
        }
    }
    for name in &found.history_channels {
        if !NO_SCALARS.contains(&name.as_str()) || is_written(view, name) {
            return None;
        }
    }
    let text = serde_json::to_string(&Json::Object(fields)).ok()?;
    (text.len() <= WHOLE_BYTES_MAX).then_some(text)
}

/// About how many bytes it looks at.
pub fn short_values_bytes(found: &CheckpointTuple) -> usize {
    let Some(view) = &found.view else { return 0 };
    let values = view.values.iter().map(|(_, it)| it);
    let opened: usize = values.filter(|it| may_be_scalar(it)).map(|it| it.data.len()).sum();
    opened + view.metadata.len()
}

/// What a step that has not ended gave to the channel.
fn is_written(view: &View, name: &str) -> bool {
    view.writes.iter().any(|it| it.channel == name)
}

/// What a value shows.
enum Shows {
    ShortScalar(Json),
    SomethingElse,
    /// Nobody opens it to see.
    Unknown,
}

fn scalar(value: &Value, budget: &mut Budget) -> Shows {
    if !may_be_scalar(value) || value.data == javascript::UNDEFINED {
        return Shows::SomethingElse;
    }
    if value.data.len() > OPENED_BYTES_MAX {
        return Shows::Unknown;
    }
    let left = budget.left();
    let shown = show_value(value, budget);
    let is_short = match &shown {
        Json::List(_) | Json::Object(_) => false,
        Json::Text(text) => text.len() <= TEXT_BYTES_MAX,
        _ => true,
    };
    if is_short {
        return Shows::ShortScalar(shown);
    }
    budget.restore(left);
    Shows::SomethingElse
}

/// Whether it may show a short scalar. Where much is stored, only what a codec makes of an object of its own may.
fn may_be_scalar(value: &Value) -> bool {
    if value.in_parts.is_some() {
        return false;
    }
    if value.data.len() <= STORED_BYTES_MAX {
        return true;
    }
    match value.tag.as_str() {
        "msgpack" => extension_code(&value.data).is_some(),
        "json" => value.data.starts_with(RECORD),
        _ => false,
    }
}
