//! Commits in groups: callers that wait together share one statement and one fsync.

use std::sync::Arc;

use async_trait::async_trait;

use super::planner::{Batch, fold};
use super::prepared::Prepared;
use crate::domain::batch_error::BatchError;
use crate::domain::checkpoints::storage::{CheckpointStorage, Outcome};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::metric_families as families;
use crate::domain::scheduling::batches::{BatchQueue, Batches};
use crate::domain::scheduling::fair_queue::Weight;

/// Answer of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub generation: String,
}

/// How a command ended that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Committed(Committed),
    /// Content that it left out may be gone, or it was sealed for another scope: nothing was written, prepare it again.
    EpochStale,
}

/// Batches of commits. A commit is refused for a conflict with the thread's generation or lease.
pub struct CommitBatches {
    storage: Arc<dyn CheckpointStorage>,
    clock: Arc<Clock>,
}

pub type GroupCommit = BatchQueue<CommitBatches>;

impl GroupCommit {
    pub fn start(storage: Arc<dyn CheckpointStorage>, clock: &Arc<Clock>) -> Self {
        let lanes = storage.lanes();
        let batches = CommitBatches { storage, clock: Arc::clone(clock) };
        Self::of(batches, lanes, clock)
    }
}

#[async_trait]
impl Batches for CommitBatches {
    type Command = Prepared;
    type Answer = Ended;
    /// Tenant and thread.
    type Key = (String, String);
    type Batch = Batch;
    /// The row of the thread.
    type Place = usize;
    type Outcome = Outcome;

    const QUEUE: &str = "checkpoints";
    const METRIC: &str = families::COMMIT_BATCH;

    fn deadline(command: &Prepared) -> Micros {
        command.deadline
    }

    fn tenant(command: &Prepared) -> &str {
        &command.tenant
    }

    fn key(command: &Prepared) -> (String, String) {
        (command.tenant.clone(), command.thread_id.to_string())
    }

    fn weight(command: &Prepared) -> Weight {
        Weight { bytes: command.size_bytes, rows: command.rows() }
    }

    fn plan(&self, waiting: &[&Prepared]) -> (Batch, Vec<(usize, usize)>) {
        fold(waiting, self.clock.now())
    }

    /// Every row of a batch can be written again with the same result.
    async fn write(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
        self.storage.write_batch(batch).await
    }

    fn answer(command: &Prepared, row: usize, outcomes: &[Outcome]) -> Option<Result<Ended>> {
        let conflict = |it| Err(Error::Conflict(it));
        Some(match &outcomes[row] {
            Outcome::Done { generation, .. } => {
                Ok(Ended::Committed(Committed { generation: generation.clone() }))
            }
            Outcome::ThreadRestored { current } => {
                conflict(Conflict::ThreadRestored { current: current.clone() })
            }
            Outcome::ThreadTaken => conflict(Conflict::ThreadTaken),
            Outcome::LeaseHeld => conflict(Conflict::LeaseHeld),
            Outcome::FenceStale { current } => conflict(Conflict::FenceStale { current: *current }),
            Outcome::QuotaExceeded => Err(quota_exceeded(command)),
            Outcome::EpochStale { .. } | Outcome::ScopeStale { .. } => Ok(Ended::EpochStale),
            Outcome::ThreadForged => {
                Err(Error::Integrity("the row of a thread is not as a server wrote it".into()))
            }
            // Another server was faster.
            Outcome::Raced => return None,
        })
    }
}

fn quota_exceeded(command: &Prepared) -> Error {
    let unasked = || Error::Internal("a thread was not made although there was room".into());
    command.full.map_or_else(unasked, Error::QuotaExceeded)
}
