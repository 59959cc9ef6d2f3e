//! Queues changes of sessions: appends of many callers that wait together are one transaction.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::change::{Done, PreparedChange, PreparedEntry, Step};
use super::ledger::{Batch, Outcome};
use super::name::SessionName;
use crate::domain::batch_error::BatchError;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::metric_families as families;
use crate::domain::scheduling::batches::{BatchQueue, Batches};
use crate::domain::scheduling::fair_queue::Weight;
use crate::domain::sessions::storage::SessionStorage;

/// Changes in one batch, and bytes after which it takes no further one.
const COMMANDS_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 4 << 20;

/// How a change ended that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Done(Done),
    /// Nothing was written: prepare it again.
    Stale,
}

pub struct SessionBatches {
    storage: Arc<dyn SessionStorage>,
    clock: Arc<Clock>,
}

pub type SessionCommit = BatchQueue<SessionBatches>;

impl SessionCommit {
    pub fn start(storage: Arc<dyn SessionStorage>, clock: &Arc<Clock>) -> Self {
        let lanes = storage.lanes();
        let batches = SessionBatches { storage, clock: Arc::clone(clock) };
        Self::of(batches, lanes, clock)
    }
}

#[async_trait]
impl Batches for SessionBatches {
    type Command = PreparedChange;
    type Answer = Ended;
    type Key = (String, SessionName);
    type Batch = Batch;
    type Place = usize;
    type Outcome = Outcome;

    const QUEUE: &str = "sessions";
    const METRIC: &str = families::SESSION_BATCH;

    fn deadline(command: &PreparedChange) -> Micros {
        command.deadline
    }

    fn tenant(command: &PreparedChange) -> &str {
        &command.tenant
    }

    fn key(command: &PreparedChange) -> (String, SessionName) {
        (command.tenant.clone(), command.session.clone())
    }

    fn weight(command: &PreparedChange) -> Weight {
        let entries = |step: &Step<PreparedEntry>| match step {
            Step::Append(append) => append.entries.len(),
            Step::Compact(compact) => compact.replacement.len(),
            _ => 1,
        };
        let rows = command.chunks.len() + command.steps.iter().map(entries).sum::<usize>();
        Weight { bytes: command.size_bytes, rows }
    }

    fn plan(&self, waiting: &[&PreparedChange]) -> (Batch, Vec<(usize, usize)>) {
        let count = taken(waiting);
        let commands = waiting[..count].iter().map(|it| (*it).clone()).collect();
        (Batch::new(commands, self.clock.now()), (0..count).map(|at| (at, at)).collect())
    }

    async fn write(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
        self.storage.write_sessions(batch).await
    }

    /// What has neither key nor ids could not be told from another's; its caller is told that nobody knows.
    fn is_repeatable(batch: &Batch) -> bool {
        batch.commands.iter().all(PreparedChange::is_safe_to_repeat)
    }

    fn answer(_: &PreparedChange, at: usize, outcomes: &[Outcome]) -> Option<Result<Ended>> {
        Some(match &outcomes[at] {
            Outcome::Done(done) => Ok(Ended::Done(done.clone())),
            Outcome::Refused(error) => Err(error.clone()),
            Outcome::Stale { .. } => Ok(Ended::Stale),
        })
    }
}

/// How many from the front one batch takes; two of one idempotency key are never in one batch.
fn taken(waiting: &[&PreparedChange]) -> usize {
    let (mut bytes, mut keys) = (0, HashSet::new());
    for (at, command) in waiting.iter().enumerate() {
        bytes += command.size_bytes;
        let is_full = at > 0 && (at >= COMMANDS_MAX || bytes > BATCH_BYTES_MAX);
        let key = command.idempotency.as_ref();
        let key = key.map(|it| (command.tenant.as_str(), it.caller.as_str(), it.key.as_str()));
        if is_full || key.is_some_and(|it| !keys.insert(it)) {
            return at;
        }
    }
    waiting.len()
}

impl PreparedChange {
    /// Whether a second time, after a connection was lost, is told from the first or changes nothing.
    fn is_safe_to_repeat(&self) -> bool {
        let repeats = |it: &Step<PreparedEntry>| it.repeats(|entry| entry.id.is_some());
        self.idempotency.is_some() || self.steps.iter().all(repeats)
    }
}
