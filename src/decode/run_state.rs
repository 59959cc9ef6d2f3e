//! Derives how the run of a thread stands from its newest checkpoint of the root graph. Values are opened only of the channels that start
//! tasks, and none of a write.

use super::Budget;
use super::first_message::{first_message, first_message_bytes};
use super::json;
use super::short_values::{short_values, short_values_bytes};
use super::shown::Json;
use super::state::tasks_of;
use super::tasks::{ERROR, ERROR_SOURCE, INTERRUPT, NULL_TASK, RESUME, Write};
use super::tasks::{is_output, join};
use super::values::channels;
use crate::domain::checkpoints::checkpoint::{PendingWrite, View};
use crate::domain::checkpoints::run_states::ReadState;
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::starts_tasks;
use crate::domain::limits::LIMITS;
use crate::domain::threads::run_state::RunState;

/// What `update_state` makes: nobody runs the tasks that it leaves.
const BY_HAND: [&str; 2] = ["update", "fork"];

pub const READ_STATE: ReadState = ReadState {
    state: run_state,
    first_message,
    short_values,
    state_bytes: run_state_bytes,
    first_message_bytes,
    short_values_bytes,
};

/// A checkpoint that cannot be read has failed. The order in which its writes arrived changes nothing: a read sorts them by their tasks.
fn run_state(found: &CheckpointTuple) -> RunState {
    let Some(view) = &found.view else { return RunState::Idle };
    if view.writes.iter().any(|it| it.channel == ERROR && !is_handled(view, it)) {
        return RunState::Failed;
    }
    if view.writes.iter().any(|it| it.channel == INTERRUPT && is_asking(view, it)) {
        return RunState::Interrupted;
    }
    let mut budget = Budget::new(LIMITS.display_bytes_max);
    let Ok(metadata) = json::read_text(&view.metadata, &mut budget) else {
        return RunState::Failed;
    };
    match has_next(found, view, &metadata, &mut budget) {
        None => RunState::Failed,
        Some(false) => RunState::Idle,
        Some(true) => {
            let source = metadata.get("source").and_then(Json::as_text);
            let is_by_hand = source.is_some_and(|it| BY_HAND.contains(&it));
            if is_by_hand { RunState::Interrupted } else { RunState::Pending }
        }
    }
}

/// Bytes that it looks at.
fn run_state_bytes(found: &CheckpointTuple) -> usize {
    let Some(view) = &found.view else { return 0 };
    let values = view.values.iter().filter(|(name, _)| starts_tasks(name));
    let values: usize = values.map(|(_, it)| it.data.len()).sum();
    values + view.skeleton.len() + view.metadata.len()
}

/// A handler of errors took it.
fn is_handled(view: &View, error: &PendingWrite) -> bool {
    of_task(view, &error.task_id).any(|it| it.channel == ERROR_SOURCE)
}

/// The task has not ended, and its question is not answered.
fn is_asking(view: &View, interrupt: &PendingWrite) -> bool {
    let has_ended = of_task(view, &interrupt.task_id).any(|it| is_output(&it.channel));
    let mut answers = of_task(view, NULL_TASK).filter(|it| it.channel == RESUME);
    !has_ended && !answers.any(|it| is_later(it, interrupt))
}

/// Another process wrote it, or the same one in a later call: a question comes before its answer.
fn is_later(answer: &PendingWrite, question: &PendingWrite) -> bool {
    match (&answer.call, &question.call) {
        (Some(answer), Some(question)) => {
            answer.writer != question.writer || answer.seq > question.seq
        }
        _ => false,
    }
}

fn of_task<'a>(view: &'a View, task_id: &'a str) -> impl Iterator<Item = &'a PendingWrite> {
    view.writes.iter().filter(move |it| it.task_id == task_id)
}

/// Whether some task of the next step has not ended. None: the checkpoint cannot be read.
fn has_next(
    found: &CheckpointTuple,
    view: &View,
    metadata: &Json,
    budget: &mut Budget,
) -> Option<bool> {
    let skeleton = json::read_text(&view.skeleton, budget).ok()?;
    let names = view.values.iter().map(|(name, _)| name).filter(|it| starts_tasks(it));
    let names: Vec<String> = names.cloned().collect();
    // No name would mean every channel.
    let all = if names.is_empty() { Vec::new() } else { channels(found, &names, budget) };
    let mut tasks = tasks_of(view, &skeleton, metadata, &all, budget);
    join(&mut tasks, &view.writes.iter().map(without_value).collect::<Vec<_>>(), true);
    Some(tasks.iter().any(|it| it.result.is_none()))
}

fn without_value(write: &PendingWrite) -> Write {
    Write {
        task_id: write.task_id.clone(),
        channel: write.channel.clone(),
        tag: String::new(),
        value: Json::Null,
    }
}
