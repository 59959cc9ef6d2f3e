//! Clears what would run next: the graph takes in its triggers, and nothing is left to do.

use bytes::Bytes;

use super::checkpoint::Draft;
use super::counters::{COUNTERS, after_step};
use super::start::{Start, fields, set_field};
use super::versions::next;
use super::{Planning, needs_graph};
use crate::decode::shown::{Fields, Json};
use crate::decode::tasks::{NULL_TASK, deferred, is_output, ready_node};
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::{PENDING_SENDS, Value};
use crate::domain::checkpoints::wanted::START;
use crate::domain::names::Tag;

/// Who has seen what was written into a step from outside.
const INPUT: &str = "__input__";
/// An empty `set` of Python.
const EMPTY_SET: &[u8] = b"\xc7\x0f\x00\x93\xa8builtins\xa3set\x90";
/// The same, of a deferred node that has not its turn.
const EMPTY_SET_DEFERRED: &[u8] = b"\x92\xc7\x0f\x00\x93\xa8builtins\xa3set\x90\xc2";

/// As `update_state(None, as_node="__end__")`.
///
/// # Errors
/// Refused where tasks or answers have written what only reducers can take in, and where a deferred node would run now.
pub fn clear(start: &Start<'_>) -> Planning<Draft> {
    require_nothing_written(start)?;
    start.require_no_deferred()?;
    start.require_readable()?;
    let mut draft = Draft::behind(start, start.next_id(start.step)?, metadata(start));
    if start.view.writes.iter().any(|it| it.task_id == NULL_TASK) {
        draft.see(INPUT, Vec::new());
    }
    if start.tasks.is_empty() {
        return Ok(draft);
    }
    start.require_edges()?;
    for task in &start.tasks {
        let seen = |channel: &String| Some((channel.clone(), start.versions.get(channel)?.clone()));
        draft.see(&task.name, task.triggers.iter().filter_map(seen).collect());
    }
    consume(start, &mut draft)?;
    Ok(draft)
}

fn require_nothing_written(start: &Start<'_>) -> Planning<()> {
    let mut written = start.view.writes.iter().filter(|it| is_output(&it.channel));
    let Some(write) = written.next() else { return Ok(()) };
    let channel = &write.channel;
    if write.task_id == NULL_TASK {
        let reason =
            format!("an answer has written to channel {channel:?}, which no step has taken in");
        return needs_graph(reason);
    }
    let reason = match start.tasks.iter().find(|it| it.id.as_ref() == Some(&write.task_id)) {
        Some(task) => format!("node {:?} has ended and written to channel {channel:?}", task.name),
        None => format!("a task has written to channel {channel:?}, which no step has taken in"),
    };
    needs_graph(reason)
}

/// Python names what it keeps, JavaScript keeps everything.
fn metadata(start: &Start<'_>) -> Fields {
    let own = start.next_metadata("update");
    if start.is_python {
        let counters = after_step(start, &[]);
        return own.into_iter().chain(counters.map(|it| (COUNTERS.to_owned(), it))).collect();
    }
    let mut kept = fields(Some(&start.metadata));
    for (name, value) in own {
        set_field(&mut kept, &name, value);
    }
    kept
}

/// Joins that are complete begin anew, and what lives for one step goes.
fn consume(start: &Start<'_>, draft: &mut Draft) -> Planning<()> {
    let mut version = next(start.versions.greatest(), start.is_python);
    let mut consumed = Vec::new();
    for task in &start.tasks {
        for channel in &task.triggers {
            let held = start.triggers.iter().find(|it| it.name == *channel);
            let Some(held) = held.filter(|it| ready_node(&it.name, &it.shown).is_some()) else {
                continue;
            };
            let is_deferred = deferred(&held.shown).is_some();
            let is_join = channel.starts_with("join:");
            if (is_join || is_deferred) && !consumed.contains(channel) {
                let value =
                    is_join.then(|| waiting_anew(start.is_python, is_deferred)).transpose()?;
                draft.set(channel, &version, value)?;
                consumed.push(channel.clone());
            }
        }
    }
    // JavaScript counts once more where something was consumed.
    if !start.is_python && !consumed.is_empty() {
        version = next(Some(&version), false);
    }
    clear_step(start, draft, &version, &consumed)
}

/// What lives for one step goes, but for these channels.
///
/// # Errors
/// For names that no channel can have.
pub fn clear_step(
    start: &Start<'_>,
    draft: &mut Draft,
    version: &Json,
    kept: &[String],
) -> Planning<()> {
    for channel in start.triggers.iter().filter(|it| !kept.contains(&it.name)) {
        let lives_one_step = channel.name == START || channel.name.starts_with("branch:to:");
        if lives_one_step && deferred(&channel.shown).is_none() {
            draft.set(&channel.name, version, None)?;
        }
        let has_sends = channel.shown.as_list().is_some_and(|it| !it.is_empty());
        if channel.name == PENDING_SENDS && has_sends {
            draft.set(&channel.name, version, Some(no_sends(start.is_python)?))?;
        }
    }
    Ok(())
}

fn waiting_anew(is_python: bool, is_deferred: bool) -> Result<Value> {
    let (tag, data) = match (is_python, is_deferred) {
        (true, false) => ("msgpack", EMPTY_SET),
        (true, true) => ("msgpack", EMPTY_SET_DEFERRED),
        (false, false) => ("json", b"[]".as_slice()),
        (false, true) => ("json", b"[[],false]".as_slice()),
    };
    Ok(Value::new(Tag::new(tag)?, Bytes::from_static(data)))
}

fn no_sends(is_python: bool) -> Result<Value> {
    let (tag, data): (_, &[u8]) = if is_python { ("msgpack", b"\x90") } else { ("json", b"[]") };
    Ok(Value::new(Tag::new(tag)?, Bytes::from_static(data)))
}
