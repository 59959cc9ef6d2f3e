//! Builds the checkpoint that the graph would make of an update of its state. It builds it only where everything that decides is stored;
//! the rest is refused with the reason.

mod checkpoint;
mod clearing;
mod copying;
mod counters;
mod ids;
mod plain;
mod reducing;
mod routing;
mod start;
mod versions;
mod writing;

use std::borrow::Cow;
use std::sync::Arc;

use super::shown::{Budget, Fields, Json};
use super::state::checkpoint_map;
use crate::domain::checkpoints::checkpoint::{Commit, Op, View};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::clock::{Micros, random_hex};
use crate::domain::limits::LIMITS;
use crate::domain::names::{ThreadId, Writer};
use crate::domain::{Error, Result};

use self::routing::Origin;
use self::start::Start;
pub use self::writing::Rules;

/// What is to become of a state.
#[derive(Debug)]
pub enum Change {
    /// The same content in a checkpoint of its own, beside the original.
    Copy,
    /// Nothing runs any more.
    Clear,
    /// Channels take in these values, by the graph's reducers or by those that the operator named.
    Write { values: Fields, rules: Arc<Rules> },
}

/// What an update goes on from.
pub struct Stored<'a> {
    pub base: &'a CheckpointTuple,
    /// The newest checkpoint up the parents that no update made, where that is another, and the one before it. Only writes ask for them.
    pub step: Option<&'a CheckpointTuple>,
    pub before: Option<&'a CheckpointTuple>,
    /// The newest checkpoint of the namespace: the new one comes behind it.
    pub newest_id: &'a str,
    pub now: Micros,
}

/// The commit that makes the update, and the id of its checkpoint.
pub struct Planned {
    pub commit: Commit,
    pub checkpoint_id: String,
    /// The checkpoints above it, by namespace, and itself; None outside of subgraphs.
    pub checkpoint_map: Option<Json>,
}

/// Why an update is not made here, for people.
#[derive(Debug)]
pub enum Refusal {
    /// The graph decides it.
    NeedsGraph(Cow<'static, str>),
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// For `?` on what is refused.
type Planning<T> = std::result::Result<T, Refusal>;

fn needs_graph<T>(reason: impl Into<Cow<'static, str>>) -> Planning<T> {
    Err(Refusal::NeedsGraph(reason.into()))
}

/// Makes the commit. It asks nobody and writes nothing.
///
/// # Errors
/// What is refused, with the reason.
pub fn plan(
    thread_id: &ThreadId,
    stored: &Stored<'_>,
    change: &Change,
) -> std::result::Result<Planned, Refusal> {
    let mut budget = Budget::new(LIMITS.display_bytes_max);
    let start = Start::read(stored, &mut budget)?;
    let (drafted, writes) = match change {
        Change::Copy => (copying::copy(&start)?, None),
        Change::Clear => (clearing::clear(&start)?, None),
        Change::Write { values, rules } => {
            let origin = origin(stored, &mut budget)?;
            let (drafted, writes) = writing::write(&start, &origin, values, rules)?;
            (drafted, Some(Op::Writes(writes)))
        }
    };
    let checkpoint_id = drafted.id.clone();
    let checkpoint_map = checkpoint_map(&start.metadata, &start.view.ns, &checkpoint_id);
    let put = Op::Checkpoint(drafted.into_put(&start)?);
    let commit = commit(thread_id, stored.base, writes.into_iter().chain([put]).collect())?;
    Ok(Planned { commit, checkpoint_id, checkpoint_map })
}

fn origin<'a>(stored: &Stored<'a>, budget: &mut Budget) -> Planning<Origin<'a>> {
    let read = |base, budget: &mut Budget| Start::read(&Stored { base, ..*stored }, budget);
    let Ok(step) = read(stored.step.unwrap_or(stored.base), budget) else {
        return needs_graph("the last step of the graph is not stored any more");
    };
    // One that is pruned has nothing that could be read.
    let before = stored.before.and_then(|it| read(it, budget).ok());
    Ok(Origin { step, before })
}

/// Whether an update made the checkpoint.
pub fn is_update(view: &View) -> bool {
    let metadata = super::read_text(&view.metadata, &mut Budget::new(LIMITS.display_bytes_max));
    let source = metadata.as_ref().ok().and_then(|it| it.get("source")).and_then(Json::as_text);
    source == Some("update")
}

/// On the condition that nobody restores the thread meanwhile.
fn commit(thread_id: &ThreadId, base: &CheckpointTuple, ops: Vec<Op>) -> Result<Commit> {
    Ok(Commit {
        thread_id: thread_id.clone(),
        generation: base.generation.clone(),
        fence: None,
        writer: Writer::new(random_hex())?,
        ops,
        full: None,
    })
}
