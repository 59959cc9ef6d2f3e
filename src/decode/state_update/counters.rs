//! Counts steps and updates since the last snapshot of each delta channel, as LangGraph for Python does in the metadata.

use super::start::Start;
use crate::decode::shown::{Fields, Json};
use crate::decode::values::is_delta;

/// Where both languages keep them.
pub const COUNTERS: &str = "counters_since_delta_snapshot";

/// Names of the delta channels of a checkpoint: those that are counted, and those whose value is a snapshot.
pub fn delta_channels(start: &Start<'_>) -> Vec<String> {
    let counted = super::start::fields(start.metadata.get(COUNTERS));
    let mut names: Vec<String> = counted.into_iter().map(|(name, _)| name).collect();
    for (name, value) in &start.view.values {
        if !names.contains(name) && is_delta(&start.metadata, name, value) {
            names.push(name.clone());
        }
    }
    names
}

/// The counters after a step more, in which these channels were written to. None: there are no delta channels.
pub fn after_step(start: &Start<'_>, written: &[&str]) -> Option<Json> {
    let before = start.metadata.get(COUNTERS);
    let count = |name: String| {
        let old = before.and_then(|it| it.get(&name)).and_then(Json::as_list).unwrap_or_default();
        let number = |at: usize| match old.get(at) {
            Some(Json::Int(it)) => *it,
            _ => 0,
        };
        let updates = number(0) + i64::from(written.contains(&name.as_str()));
        (name, Json::List(vec![Json::Int(updates), Json::Int(number(1) + 1)]))
    };
    let counters: Fields = delta_channels(start).into_iter().map(count).collect();
    (!counters.is_empty()).then_some(Json::Object(counters))
}
