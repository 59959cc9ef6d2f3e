//! Reduces an answer to what a caller sees without random parts, so that two databases can be compared.

use serde_json::{Value, json};
use threadkeep::export::PREAMBLE;

use crate::matrix::CONTENT;
use crate::server::Answer;

/// What only ann may see, in the one database and in the other.
pub const HIDDEN: [&str; 2] =
    [CONTENT, "something else, and longer, of which nobody else may know"];
/// Made by chance for every answer, whatever is stored.
const BY_CHANCE: [&str; 12] = [
    "archive_id",
    "credential",
    "event_id",
    "expires_at",
    "generation",
    "name",
    "report_id",
    "request_id",
    "token",
    "token_id",
    "upload_id",
    "url",
];
/// 2023-11-14, in microseconds since 1970: before the clock of the tests and of the machine.
const EARLIEST: i64 = 1_700_000_000_000_000;
const LISTED_BY_ID: [&str; 4] = ["events", "keys", "snapshots", "tokens"];

/// Status, headers and body, without what is made by chance.
pub fn seen(answer: &Answer) -> String {
    let header = |name: &str| format!("{name}: {}", answer.header(name).unwrap_or_default());
    let headers = ["content-type", "etag", "retry-after"].map(header).join(", ");
    let body = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(mut body) => {
            forget_chance(&mut body);
            body.to_string()
        }
        // Its frames have ids and digests that are made by chance, of equal length.
        Err(_) if answer.body.starts_with(PREAMBLE.as_bytes()) => {
            let is_hidden = |it: &str| answer.body.windows(it.len()).any(|at| at == it.as_bytes());
            assert!(!HIDDEN.into_iter().any(is_hidden), "an export shows it");
            format!("{} bytes", answer.body.len())
        }
        // An event begins with its position, which names the feed.
        Err(_) => String::from_utf8_lossy(&answer.body)
            .lines()
            .filter(|line| !line.starts_with("id:"))
            .collect(),
    };
    format!("{} {headers} {body}", answer.status)
}

fn forget_chance(value: &mut Value) {
    match value {
        Value::Array(all) => {
            // Written down later, together: how many are there is a question of time.
            all.retain(|it| it["act"] != "refused");
            all.iter_mut().for_each(forget_chance);
        }
        Value::Object(all) => {
            // As refusals.
            all.remove("last_used_on");
            for (name, value) in all {
                let is_by_chance = BY_CHANCE.contains(&name.as_str()) && value.is_string();
                if is_by_chance || is_time(value) || is_made_id(value) {
                    *value = json!("by chance");
                }
                forget_chance(value);
                // What was made at the same time stands in the order of its ids.
                if let (Value::Array(all), true) = (value, LISTED_BY_ID.contains(&name.as_str())) {
                    all.sort_by_key(Value::to_string);
                }
            }
        }
        _ => {}
    }
}

/// Text of a time, or a version, which is the time of its writing or the next number.
fn is_time(value: &Value) -> bool {
    let is_text = |it: &str| it.len() > 18 && it.as_bytes()[10] == b'T' && it[11..].contains(':');
    value.as_str().is_some_and(is_text) || value.as_i64().is_some_and(|it| it >= EARLIEST)
}

/// The id of a snapshot to which nobody gave one, or of a token in the audit log; a key's text, the beginning of it, or its id.
fn is_made_id(value: &Value) -> bool {
    let is_key = |it: &str| it.starts_with("tk_") || it.starts_with("key_") && it.len() == 36;
    let is_made = |it: &str| it.starts_with("snap_") || it.starts_with("tok_") || is_key(it);
    value.as_str().is_some_and(is_made)
}
