//! Computes the value of a delta channel from a seed and the writes after it. Two reducers are built in, those of `messages` and of
//! `files`. Other values are shown as seed and writes.

use super::shown::{Budget, Fields, Json, Unreadable};
use super::{is_opaque, messages};

const OVERWRITE: &str = "__overwrite__";

/// The value of `channel`. None: there is nothing from which its kind could be told.
///
/// # Errors
/// `TooLarge`.
pub fn replay(
    channel: &str,
    seed: Option<Json>,
    writes: Vec<Json>,
    budget: &mut Budget,
) -> Result<Option<Json>, Unreadable> {
    let (base, writes) = after_overwrite(seed, writes);
    let base = base.filter(|it| *it != Json::Null);
    let Some(first) = base.as_ref().or(writes.first()) else { return Ok(None) };
    let is_readable = base.iter().chain(&writes).all(|it| !is_opaque(it));
    let is_merged = matches!(first, Json::Object(_)) && !messages::is_message(first);
    if is_readable && is_merged && writes.iter().all(|it| matches!(it, Json::Object(_))) {
        return Ok(Some(merged(base, writes)));
    }
    let is_list = matches!(base, None | Some(Json::List(_)));
    if is_readable && is_list && messages::are_messages(channel, base.as_ref(), &writes) {
        return messages::added(base, writes, budget).map(Some);
    }
    if writes.is_empty() {
        return Ok(base);
    }
    let mut fields: Fields = base.into_iter().map(|it| ("$seed".to_owned(), it)).collect();
    fields.push(("$delta_writes".to_owned(), Json::List(writes)));
    Ok(Some(Json::Object(fields)))
}

/// The last write that overwrites is the value before those that follow it.
fn after_overwrite(seed: Option<Json>, mut writes: Vec<Json>) -> (Option<Json>, Vec<Json>) {
    let Some(at) = writes.iter().rposition(|it| overwriting(it).is_some()) else {
        return (seed, writes);
    };
    let after = writes.split_off(at + 1);
    (writes.pop().as_ref().and_then(overwriting).cloned(), after)
}

/// The value of an `Overwrite`, in any form in which it travels.
fn overwriting(write: &Json) -> Option<&Json> {
    let Json::Object(fields) = write else { return None };
    match fields.as_slice() {
        [(name, value)] if name == OVERWRITE => Some(value),
        _ if write.get("type").and_then(Json::as_text) == Some(OVERWRITE) => write.get("value"),
        _ => None,
    }
}

/// Later fields replace earlier ones in their place, null removes.
fn merged(base: Option<Json>, writes: Vec<Json>) -> Json {
    let mut fields: Vec<Option<(String, Json)>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let is_base = base.is_some();
    for (at, object) in base.into_iter().chain(writes).enumerate() {
        let Json::Object(entries) = object else { continue };
        for (name, value) in entries {
            // What was there before is kept as it is, null too.
            if value == Json::Null && !(is_base && at == 0) {
                if let Some(place) = places.remove(&name) {
                    let field: &mut Option<(String, Json)> = &mut fields[place];
                    *field = None;
                }
                continue;
            }
            let place = *places.entry(name.clone()).or_insert(fields.len());
            let field = Some((name, value));
            if place == fields.len() { fields.push(field) } else { fields[place] = field }
        }
    }
    Json::Object(fields.into_iter().flatten().collect())
}
