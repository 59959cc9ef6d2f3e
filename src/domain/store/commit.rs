//! Queues changes of items: changes of many callers that wait together are one statement.
//!
//! **Invariant:** a poisonous change fails alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use tokio::sync::Notify;

use super::batch::{ItemBatch, ItemOutcome, PreparedChanges, Role, Taken, fold};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Conflict, Error, Obstacle, Result};
use crate::domain::scheduling::fair_queue::Weight;
use crate::domain::scheduling::lanes::{Job, Lanes, Writer, refusal, write};
use crate::domain::storage::{BatchError, Storage};

pub struct ItemCommit {
    lanes: Lanes<ItemWriter>,
    written: Arc<Notify>,
}

/// How changes ended that were not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The version of each, 0 for deletions; then what the request noted.
    Versions(Vec<i64>),
    /// Content that was left out may be gone: nothing was written, prepare them again.
    EpochStale,
}

impl ItemCommit {
    pub fn start(storage: &Arc<dyn Storage>, clock: &Arc<Clock>) -> Self {
        let last = Arc::new(AtomicI64::new(0));
        let written = Arc::new(Notify::new());
        let writer = || ItemWriter {
            storage: Arc::clone(storage),
            clock: Arc::clone(clock),
            last: Arc::clone(&last),
            written: Arc::clone(&written),
        };
        Self { lanes: Lanes::start(storage.lanes(), clock, writer), written }
    }

    /// Is told of every batch that was written.
    pub fn written(&self) -> Arc<Notify> {
        Arc::clone(&self.written)
    }

    pub async fn stop(self) {
        self.lanes.stop().await;
    }

    /// Waits until the changes are durable. Changes of one root stay in order.
    ///
    /// # Errors
    /// `VersionConflict`, `IdempotencyMismatch`, and as [`Lanes::commit`].
    pub async fn commit(&self, command: PreparedChanges) -> Result<Changed> {
        let root = command.changes.first().map(|it| it.address.namespace.root().to_owned());
        self.lanes.commit((command.tenant.clone(), root), command).await
    }
}

struct ItemWriter {
    storage: Arc<dyn Storage>,
    clock: Arc<Clock>,
    /// Where the versions of the last batch of any lane began.
    last: Arc<AtomicI64>,
    written: Arc<Notify>,
}

#[async_trait]
impl Writer for ItemWriter {
    type Command = PreparedChanges;
    type Answer = Changed;

    fn deadline(command: &PreparedChanges) -> Micros {
        command.deadline
    }

    fn tenant(command: &PreparedChanges) -> &str {
        &command.tenant
    }

    fn weight(command: &PreparedChanges) -> Weight {
        let contents = command.changes.iter().filter_map(|it| it.put.as_ref()?.content.as_ref());
        let rows = command.changes.len() + contents.map(|it| it.chunks.len()).sum::<usize>();
        Weight { bytes: command.size_bytes, rows }
    }

    async fn write_next(&mut self, waiting: Vec<Job<Self>>) -> Vec<Job<Self>> {
        let now = self.clock.now();
        let (batch, taken) = {
            let commands: Vec<&PreparedChanges> = waiting.iter().map(|it| &it.command).collect();
            fold(&commands, now, self.first_version(now))
        };
        let mut roles: HashMap<usize, Taken> = taken.iter().map(|it| (it.command, *it)).collect();
        let (mut members, mut rest) = (Vec::new(), Vec::new());
        for (at, job) in waiting.into_iter().enumerate() {
            match roles.remove(&at) {
                Some(role) => members.push((job, role)),
                None => rest.push(job),
            }
        }
        metrics::histogram!("threadkeep_item_batch_commands").record(members.len() as f64);
        match self.write(batch).await {
            Ok(outcomes) => {
                let again =
                    members.into_iter().filter_map(|(job, role)| answer(job, role, &outcomes));
                let again: Vec<Job<Self>> = again.collect();
                // They were asked first.
                rest.splice(0..0, again);
            }
            Err(BatchError::Statement(detail)) if members.len() > 1 => {
                tracing::warn!(members = members.len(), %detail, "a batch of items failed, its members run alone");
                for (job, _) in members {
                    self.write_alone(job).await;
                }
            }
            // What only deletes may have room where what adds has none.
            Err(BatchError::Obstacle { kind: Obstacle::DiskFull, .. }) if members.len() > 1 => {
                for (job, _) in members {
                    self.write_alone(job).await;
                }
            }
            Err(error) => {
                for (job, _) in members {
                    job.answer(Err(refusal(&error)));
                }
            }
        }
        rest
    }
}

impl ItemWriter {
    /// The time, or one more than the batch before had: greater than every version from before, and never twice.
    fn first_version(&self, now: Micros) -> i64 {
        let next = |last: i64| Some(now.max(last + 1));
        let order = Ordering::SeqCst;
        self.last.fetch_update(order, order, next).map_or(now, |last| now.max(last + 1))
    }

    async fn write_alone(&self, job: Job<Self>) {
        let now = self.clock.now();
        let (batch, taken) = fold(&[&job.command], now, self.first_version(now));
        match self.write(batch).await {
            // One that is alone is behind nobody.
            Ok(outcomes) => drop(answer(job, taken[0], &outcomes)),
            Err(error) => job.answer(Err(refusal(&error))),
        }
    }

    /// After a lost connection a change with a condition finds its earlier answer by its key; others can be written again with
    /// the same result.
    async fn write(&self, batch: ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        let result = write(|| self.storage.write_items(&batch), true).await;
        self.written.notify_one();
        result
    }
}

/// Answers one member; gives it back when it has to be written again.
fn answer(job: Job<ItemWriter>, taken: Taken, outcomes: &[ItemOutcome]) -> Option<Job<ItemWriter>> {
    let own = &outcomes[taken.group];
    let result = match (taken.role, own) {
        (Role::Behind { leader }, ItemOutcome::Written(_)) => match &outcomes[leader] {
            ItemOutcome::Written(versions) => conflict(versions.first().copied().unwrap_or(0)),
            ItemOutcome::Conflict { current, .. } => conflict(*current),
            _ => return Some(job),
        },
        (Role::Overtaken(by), ItemOutcome::Written(versions)) => {
            Ok(Changed::Versions(versions.iter().map(|it| it - by).collect()))
        }
        // What was remembered has the note already.
        (_, ItemOutcome::Repeated(versions)) => Ok(Changed::Versions(versions.clone())),
        (_, ItemOutcome::Written(versions)) => {
            let note = job.command.idempotency.as_ref().map(|it| it.note.as_slice());
            let all = versions.iter().chain(note.unwrap_or_default());
            Ok(Changed::Versions(all.copied().collect()))
        }
        (_, ItemOutcome::Conflict { current, .. }) => conflict(*current),
        (_, ItemOutcome::IdempotencyMismatch) => Err(Error::IdempotencyMismatch),
        (_, ItemOutcome::Full) => Err(match job.command.full {
            Some(full) => Error::QuotaExceeded(full),
            None => Error::Internal("an item was refused for a quota that nobody asked".into()),
        }),
        (_, ItemOutcome::EpochStale) => Ok(Changed::EpochStale),
    };
    job.answer(result);
    None
}

fn conflict(current: i64) -> Result<Changed> {
    Err(Error::Conflict(Conflict::VersionConflict { current }))
}
