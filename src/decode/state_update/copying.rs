//! Copies a checkpoint: a fork begins with it.

use super::checkpoint::{Draft, new_value};
use super::counters::COUNTERS;
use super::start::Start;
use super::{Planning, needs_graph};
use crate::decode::is_present;
use crate::domain::checkpoints::checkpoint::Value;

/// Beside the original: with its content, and the same parent.
///
/// # Errors
/// Refused for one whose history was pruned: what it had before stands with it alone.
pub fn copy(start: &Start<'_>) -> Planning<Draft> {
    if !start.view.bases.is_empty() {
        return needs_graph(
            "the history of the checkpoint was pruned, and the copy would lack its delta channels",
        );
    }
    let mut metadata = start.next_metadata("fork");
    let counters = start.metadata.get(COUNTERS).filter(|_| start.is_python);
    metadata.extend(counters.map(|it| (COUNTERS.to_owned(), it.clone())));
    let mut copy = Draft::behind(start, start.next_id(start.step)?, metadata);
    copy.parent.clone_from(&start.view.parent);
    // One whose bytes are not at hand is found by its version, as the others: they only settle ties.
    let is_held = |it: &Value| is_present(it) && it.in_parts.is_none();
    for (channel, value) in start.view.values.iter().filter(|(_, it)| is_held(it)) {
        let Some(version) = start.versions.get(channel) else { continue };
        copy.carried.push(new_value(channel, version, value.clone())?);
    }
    Ok(copy)
}
