//! Writes values into a state as the node that ran last, as `update_state(values)` does.

use std::collections::HashMap;

use uuid::Uuid;

use super::checkpoint::Draft;
use super::clearing::clear_step;
use super::counters::{COUNTERS, after_step, delta_channels};
use super::plain::{encoded, require_no_overwrite, with_message_ids};
use super::reducing::{Written, reduced};
use super::routing::{Origin, routing};
use super::start::Start;
use super::versions::next;
use super::{Planning, needs_graph};
use crate::decode::shown::{Budget, Fields, Json};
use crate::decode::tasks::{INTERRUPT, NULL_TASK, is_output};
use crate::domain::checkpoints::channel_rule::ChannelRule;
use crate::domain::checkpoints::checkpoint::{NewWrite, Value, WriteGroup};
use crate::domain::limits::LIMITS;
use crate::domain::named_uuid::named_uuid;
use crate::domain::names::{Channel, CheckpointId, CheckpointNs, TaskId, TaskPath};

/// The place of an update among the tasks of its step.
const PATH: &str = "~__interrupt__, 0000000000";
/// The channel that is about messages, whatever is written to it.
const MESSAGES: &str = "messages";

/// The rules that the operator named, by channel.
pub type Rules = HashMap<String, ChannelRule>;

/// # Errors
/// Refused where a reducer of the graph is needed, or its edges.
pub fn write(
    start: &Start<'_>,
    origin: &Origin<'_>,
    values: &Fields,
    rules: &Rules,
) -> Planning<(Draft, WriteGroup)> {
    let deltas = known_deltas(start, origin);
    if values.is_empty() {
        return needs_graph("the update names no channel");
    }
    for (channel, value) in values {
        if deltas.contains(channel) {
            require_newest(start, channel)?;
        } else if !rules.contains_key(channel) {
            return needs_graph(format!(
                "the reducer of channel {channel:?} is the graph's, and --state-update-channels does not name it"
            ));
        }
        require_no_overwrite(channel, value)?;
    }
    start.require_edges()?;
    start.require_no_deferred()?;
    start.require_readable()?;
    require_nothing_pending(start, &deltas)?;
    let routing = routing(start, origin)?;
    let mut by_messages = values.iter().filter(|(name, _)| {
        !deltas.contains(name) && rules.get(name) == Some(&ChannelRule::Messages)
    });
    if let (Some((channel, _)), Some(edge)) = (by_messages.next(), routing.edges.first()) {
        return needs_graph(format!(
            "messages of channel {channel:?} are plain data until the graph adds to them, and {edge:?} would run on them before"
        ));
    }
    let written: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    let id = start.next_id(start.step.saturating_add(1))?;
    let mut draft = Draft::behind(start, id, metadata(start, &written));
    let version = next(start.versions.greatest(), start.is_python);
    let (mut writes, mut budget) = (Vec::new(), Budget::new(LIMITS.display_bytes_max));
    for (channel, value) in values {
        let is_delta = deltas.contains(channel);
        let rule = rules.get(channel).filter(|_| !is_delta);
        let value = match rule {
            None => with_message_ids(value.clone(), channel == MESSAGES),
            Some(ChannelRule::Messages) => with_message_ids(value.clone(), true),
            Some(_) => value.clone(),
        };
        let made = match rule {
            None => None,
            Some(rule) => {
                let stored = start.view.values.iter().find(|(name, _)| name == channel);
                let stored = stored.map(|(_, it)| it);
                let written =
                    Written { channel, stored, update: &value, is_python: start.is_python };
                Some(reduced(&written, *rule, &mut budget)?)
            }
        };
        draft.set(channel, &version, made)?;
        writes.push((channel.clone(), encoded(&value, start.is_python)?));
    }
    for edge in &routing.edges {
        let is_branch = edge.starts_with("branch:to:");
        let value = if is_branch { Json::Null } else { Json::text(&routing.node) };
        let value = encoded(&value, start.is_python)?;
        writes.push((edge.clone(), value.clone()));
        if is_branch {
            draft.set(edge, &version, Some(value))?;
        }
    }
    clear_step(start, &mut draft, &version, &routing.edges)?;
    draft.see(&routing.node, Vec::new());
    let group = group(start, &routing.node, writes)?;
    Ok((draft, group))
}

/// Updates in JavaScript leave the counters out, so that the last step tells.
fn known_deltas(start: &Start<'_>, origin: &Origin<'_>) -> Vec<String> {
    let mut known = delta_channels(start);
    if !start.is_python {
        known.extend(delta_channels(&origin.step));
    }
    known
}

/// Other checkpoints that go on from this one would replay the writes, too.
fn require_newest(start: &Start<'_>, channel: &str) -> Planning<()> {
    if start.is_newest() {
        return Ok(());
    }
    needs_graph(format!(
        "the checkpoint is not the newest, and the graph makes a snapshot of channel {channel:?} there"
    ))
}

/// What tasks of a half-done step wrote is dropped by Python, but for delta channels, and kept by JavaScript.
fn require_nothing_pending(start: &Start<'_>, deltas: &[String]) -> Planning<()> {
    let pending = start
        .view
        .writes
        .iter()
        .filter(|it| is_output(&it.channel))
        .find(|it| !start.is_python || deltas.contains(&it.channel));
    match pending {
        Some(write) if write.task_id == NULL_TASK => needs_graph(format!(
            "an answer has written to channel {:?}, which no step has taken in",
            write.channel
        )),
        Some(write) => needs_graph(format!(
            "a task of the step has written to channel {:?}, which no step has taken in",
            write.channel
        )),
        None => Ok(()),
    }
}

fn metadata(start: &Start<'_>, written: &[&str]) -> Fields {
    let own = start.next_metadata("update");
    let counters = start.is_python.then(|| after_step(start, written)).flatten();
    own.into_iter().chain(counters.map(|it| (COUNTERS.to_owned(), it))).collect()
}

/// Under the task that would run next, if it is of this node, else under one of their own.
fn group(start: &Start<'_>, node: &str, writes: Vec<(String, Value)>) -> Planning<WriteGroup> {
    let task = start.tasks.iter().find(|it| start.is_python && it.name == node);
    let own = || Uuid::parse_str(&start.view.id).ok().map(|it| named_uuid(it, INTERRUPT));
    let Some(task_id) = task.and_then(|it| it.id.clone()).or_else(own) else {
        return needs_graph("the ids of this thread's checkpoints are not those of a graph");
    };
    let numbered = (0..).zip(writes).map(|(idx, (channel, value))| {
        Ok(NewWrite { idx, channel: Channel::new(channel)?, value })
    });
    Ok(WriteGroup {
        ns: CheckpointNs::new(start.view.ns.as_str())?,
        checkpoint_id: CheckpointId::new(start.view.id.as_str())?,
        task_id: TaskId::new(task_id)?,
        task_path: TaskPath::new(if start.is_python { PATH } else { "" })?,
        seq: 0,
        writes: numbered.collect::<crate::domain::Result<_>>()?,
    })
}
