//! Derives the state of a graph at a checkpoint, as its `get_state` shows it: values, next tasks, and pending interrupts. It needs the
//! checkpoint and its writes only; the server does not have the graph.

use super::shown::{Budget, Json, Unreadable};
use super::task_ids::Language;
use super::tasks::{Interrupt, NULL_TASK, Step, Task, Write, deferred, is_output, join};
use super::values::{Channel, Stored, and_then, channels, is_delta, replayed};
use super::{json, opaque, show_value};
use crate::domain::checkpoints::checkpoint::{PENDING_SENDS, Value, View};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::BRANCH;

/// The values of a state are what one of these holds, and no object of channels.
pub const WHOLE_STATES: [&str; 2] = ["__root__", "__end__"];
/// Checkpoints of this format keep what is to be sent in a channel of their own.
const FORMAT: i64 = 4;

pub struct State {
    /// When the checkpoint was made, as its client says.
    pub created_at: Option<String>,
    pub metadata: Json,
    pub values: Json,
    /// Names of the tasks that have still to run.
    pub next: Vec<String>,
    pub tasks: Vec<Task>,
    pub writes: Vec<Write>,
}

impl State {
    pub fn interrupts(&self) -> Vec<Interrupt> {
        self.tasks.iter().flat_map(|it| it.interrupts.iter().cloned()).collect()
    }
}

/// `is_live`: the newest state, with what tasks that have ended gave to delta channels. Else the record of a step.
///
/// # Errors
/// Why the checkpoint itself cannot be shown; a value or write that cannot be is opaque.
pub fn state(
    found: &CheckpointTuple,
    is_live: bool,
    budget: &mut Budget,
) -> Result<Option<State>, Unreadable> {
    let Some(view) = &found.view else { return Ok(None) };
    let skeleton = budget.uncut(|it| json::read_text(&view.skeleton, it))?;
    let mut metadata = budget
        .uncut(|it| json::read_text(&view.metadata, it))
        .unwrap_or_else(|reason| opaque("json", view.metadata.len() as u64, reason));
    let mut all = channels(found, &[], budget);
    let mut writes = writes(view, budget);
    let commanded = Commanded::of(language(view, &skeleton), &all, &writes);
    let from = (&skeleton, &metadata);
    let mut tasks = tasks_with(view, from, &all, &commanded, budget);
    join(&mut tasks, &writes, is_live);
    let applied = applied(&tasks, &writes, is_live);
    fold(&mut all, &metadata, &applied, budget);
    let is_waiting = |it: &&Task| !is_live || it.result.is_none();
    if let Some(cuts) = budget.cuts() {
        all = all.into_iter().filter_map(|it| it.cut(cuts)).collect();
        cuts.elsewhere(&mut metadata);
        let written = writes.iter_mut().map(|it| &mut it.value);
        for value in written.chain(tasks.iter_mut().flat_map(Task::values)) {
            cuts.elsewhere(value);
        }
    }
    let is_whole = budget.cuts().is_none_or(|it| it.pointer.is_none());
    Ok(Some(State {
        created_at: skeleton.get("ts").and_then(Json::as_text).map(str::to_owned),
        next: tasks.iter().filter(is_waiting).map(|it| it.name.clone()).collect(),
        values: values(all, is_whole),
        metadata,
        tasks,
        writes,
    }))
}

/// The tasks of the step after a checkpoint, by its channels that start tasks; `channels` may have others, too.
pub(super) fn tasks_of(
    view: &View,
    skeleton: &Json,
    metadata: &Json,
    channels: &[Channel],
    budget: &mut Budget,
) -> Vec<Task> {
    tasks_with(view, (skeleton, metadata), channels, &Commanded::default(), budget)
}

/// What an input by `Command` has written on a checkpoint, for the step that follows it.
#[derive(Default)]
struct Commanded {
    /// Channels of nodes.
    branches: Vec<String>,
    /// In place of the checkpoint's own, where there are some.
    sends: Vec<Json>,
}

impl Commanded {
    /// LangGraph.js adds these tasks to those of the checkpoint, Python does not.
    fn of(language: Language, channels: &[Channel], writes: &[Write]) -> Self {
        if language != Language::JavaScript {
            return Self::default();
        }
        let is_deferred = |name: &str| {
            let mut own = channels.iter().filter(|it| it.name == name);
            own.any(|it| it.is_undefined() || deferred(&it.shown).is_some())
        };
        let given = || writes.iter().filter(|it| it.task_id == NULL_TASK);
        let branches = given().map(|it| &it.channel).filter(|it| it.starts_with(BRANCH));
        let sends = given().filter(|it| it.channel == PENDING_SENDS);
        Self {
            branches: branches.filter(|it| !is_deferred(it)).cloned().collect(),
            sends: sends.map(|it| without_arguments(&it.value)).collect(),
        }
    }
}

fn tasks_with(
    view: &View,
    (skeleton, metadata): (&Json, &Json),
    channels: &[Channel],
    commanded: &Commanded,
    budget: &mut Budget,
) -> Vec<Task> {
    let sends = if commanded.sends.is_empty() {
        sends(view, skeleton, channels, budget)
    } else {
        commanded.sends.clone()
    };
    // JavaScript stores `undefined` of a deferred node that has run: no value, which starts nothing.
    let held = channels.iter().filter(|it| !it.is_undefined());
    let values: Vec<(&str, &Json)> = held.map(|it| (it.name.as_str(), &it.shown)).collect();
    let step = Step {
        language: language(view, skeleton),
        checkpoint_id: &view.id,
        checkpoint_ns: &view.ns,
        number: integer(metadata.get("step")).unwrap_or(-1).saturating_add(1),
        skeleton,
        values: &values,
        commanded: &commanded.branches,
        sends: &sends,
    };
    step.tasks()
}

/// Channels that are the graph's own affair.
pub fn is_internal(channel: &str) -> bool {
    ["__", "branch:", "join:", "start:"].iter().any(|it| channel.starts_with(it))
}

/// `is_whole`: not a place inside of one channel.
fn values(all: Vec<Channel>, is_whole: bool) -> Json {
    let (mut root, mut end, mut fields) = (None, None, Vec::new());
    for channel in all {
        match channel.name.as_str() {
            "__root__" if is_whole => root = Some(channel.shown),
            // Of a functional graph.
            "__end__" if is_whole => end = Some(channel.shown),
            name if is_own(name) || channel.is_undefined() => {}
            _ => fields.push((channel.name, channel.shown)),
        }
    }
    root.or(end).unwrap_or(Json::Object(fields))
}

/// Channels that no state shows, of whatever graph.
pub(super) fn is_own(channel: &str) -> bool {
    is_internal(channel) && !WHOLE_STATES.contains(&channel)
}

fn writes(view: &View, budget: &mut Budget) -> Vec<Write> {
    let shown = view.writes.iter().map(|it| Write {
        task_id: it.task_id.clone(),
        channel: it.channel.clone(),
        tag: it.value.tag.as_str().to_owned(),
        value: written(&it.value, budget),
    });
    shown.collect()
}

/// With room for two copies: results and interrupts of a task are copies of its writes, and interrupts are told twice.
fn written(value: &Value, budget: &mut Budget) -> Json {
    let (tag, left) = (value.tag.as_str(), budget.left());
    let shown = show_value(value, budget);
    let room = budget.take_again(&shown).and_then(|()| budget.take_again(&shown));
    match room {
        Ok(()) => shown,
        Err(reason) => {
            budget.restore(left);
            opaque(tag, value.size_bytes(), reason)
        }
    }
}

/// Writes that are in the state already: input of the step, and what tasks gave that have ended.
fn applied<'a>(tasks: &[Task], writes: &'a [Write], is_live: bool) -> Vec<&'a Write> {
    let is_of_task = |write: &Write| {
        let has_ended = |it: &Task| it.result.is_some() && it.id.as_ref() == Some(&write.task_id);
        is_live && tasks.iter().any(has_ended)
    };
    let is_applied =
        |it: &&Write| is_output(&it.channel) && (it.task_id == NULL_TASK || is_of_task(it));
    writes.iter().filter(is_applied).collect()
}

/// Delta channels take the writes. How others do is known to the graph alone, so they stay as the checkpoint has them.
fn fold(all: &mut [Channel], metadata: &Json, applied: &[&Write], budget: &mut Budget) {
    for channel in all {
        let own = applied.iter().filter(|it| it.channel == channel.name);
        let more: Vec<&Json> = own.map(|it| &it.value).collect();
        if more.is_empty() {
            continue;
        }
        let folded = match &channel.stored {
            Stored::Writes(history) => replayed(&channel.name, history, &more, budget),
            Stored::Value(value) if is_delta(metadata, &channel.name, value) => {
                let base = budget.take_again(&channel.shown).map(|()| channel.shown.clone());
                let base = base.map(|it| (Some(it), Vec::new()));
                base.and_then(|it| and_then(&channel.name, it, &more, budget)).unwrap_or_default()
            }
            Stored::Value(_) => None,
        };
        if let Some(folded) = folded {
            channel.shown = folded;
        }
    }
}

/// What is to be sent in this step.
fn sends(view: &View, skeleton: &Json, all: &[Channel], budget: &mut Budget) -> Vec<Json> {
    if integer(skeleton.get("v")).is_none_or(|it| it >= FORMAT) {
        let channel = all.iter().find(|it| it.name == PENDING_SENDS);
        let sends = channel.and_then(|it| it.shown.as_list()).unwrap_or_default();
        // Without their arguments, which can be the whole state again for each.
        return sends.iter().map(without_arguments).collect();
    }
    let shown = |it: &Value| budget.uncut(|budget| show_value(it, budget));
    view.pending_sends.iter().map(shown).collect()
}

fn without_arguments(send: &Json) -> Json {
    let node = send.get("node").cloned().unwrap_or(Json::Null);
    Json::Object(vec![("node".to_owned(), node)])
}

/// Python's versions are texts; where they are numbers, its codec tells.
pub(super) fn language(view: &View, skeleton: &Json) -> Language {
    let v = integer(skeleton.get("v")).unwrap_or(FORMAT);
    let has_texts = match skeleton.get("channel_versions") {
        Some(Json::Object(versions)) => versions.iter().any(|(_, it)| it.as_text().is_some()),
        _ => false,
    };
    let values = view.values.iter().map(|(_, it)| it).chain(view.writes.iter().map(|it| &it.value));
    if has_texts || values.into_iter().any(|it| it.tag.as_str().starts_with("msgpack")) {
        return Language::Python { v };
    }
    Language::JavaScript
}

fn integer(value: Option<&Json>) -> Option<i64> {
    match value? {
        Json::Int(it) => Some(*it),
        _ => None,
    }
}

/// The checkpoints above one of a subgraph, by namespace, and itself. None outside of subgraphs.
pub fn checkpoint_map(metadata: &Json, ns: &str, id: &str) -> Option<Json> {
    let Some(Json::Object(parents)) = metadata.get("parents") else { return None };
    if parents.is_empty() {
        return None;
    }
    let above = parents.iter().filter(|(name, _)| name != ns).cloned();
    Some(Json::Object(above.chain([(ns.to_owned(), Json::text(id))]).collect()))
}
