//! Queues changes of items: changes of many callers that wait together are one statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use tokio::sync::Notify;

use super::batch::{ItemBatch, ItemOutcome, PreparedChanges, Role, Taken, fold};
use crate::domain::batch_error::BatchError;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::metric_families as families;
use crate::domain::scheduling::batches::{BatchQueue, Batches};
use crate::domain::scheduling::fair_queue::Weight;
use crate::domain::store::storage::ItemStorage;

/// How changes ended that were not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The version of each, 0 for deletions; then what the request noted.
    Versions(Vec<i64>),
    /// Content that was left out may be gone: nothing was written, prepare them again.
    EpochStale,
}

/// Batches of changes. They are refused with `VersionConflict` and `IdempotencyMismatch`.
pub struct ChangeBatches {
    storage: Arc<dyn ItemStorage>,
    clock: Arc<Clock>,
    /// Where the versions of the last batch of any lane began.
    last: AtomicI64,
    written: Arc<Notify>,
}

pub type ItemCommit = BatchQueue<ChangeBatches>;

impl ItemCommit {
    pub fn start(storage: Arc<dyn ItemStorage>, clock: &Arc<Clock>) -> Self {
        let lanes = storage.lanes();
        let batches = ChangeBatches {
            storage,
            clock: Arc::clone(clock),
            last: AtomicI64::new(0),
            written: Arc::default(),
        };
        Self::of(batches, lanes, clock)
    }

    /// Is told of every batch that was written.
    pub fn written(&self) -> Arc<Notify> {
        Arc::clone(&self.batches.written)
    }
}

impl ChangeBatches {
    /// The time, or one more than the batch before had: greater than every version from before, and never twice.
    fn first_version(&self, now: Micros) -> i64 {
        let next = |last: i64| Some(now.max(last + 1));
        let order = Ordering::SeqCst;
        self.last.fetch_update(order, order, next).map_or(now, |last| now.max(last + 1))
    }
}

#[async_trait]
impl Batches for ChangeBatches {
    type Command = PreparedChanges;
    type Answer = Changed;
    /// Tenant and namespace root.
    type Key = (String, Option<String>);
    type Batch = ItemBatch;
    type Place = Taken;
    type Outcome = ItemOutcome;

    const QUEUE: &str = "items";
    const METRIC: &str = families::ITEM_BATCH;

    fn deadline(command: &PreparedChanges) -> Micros {
        command.deadline
    }

    fn tenant(command: &PreparedChanges) -> &str {
        &command.tenant
    }

    fn key(command: &PreparedChanges) -> (String, Option<String>) {
        let root = command.changes.first().map(|it| it.address.namespace.root().to_owned());
        (command.tenant.clone(), root)
    }

    fn weight(command: &PreparedChanges) -> Weight {
        let contents = command.changes.iter().filter_map(|it| it.put.as_ref()?.content.as_ref());
        let rows = command.changes.len() + contents.map(|it| it.chunks.len()).sum::<usize>();
        Weight { bytes: command.size_bytes, rows }
    }

    fn plan(&self, waiting: &[&PreparedChanges]) -> (ItemBatch, Vec<(usize, Taken)>) {
        let now = self.clock.now();
        let (batch, taken) = fold(waiting, now, self.first_version(now));
        (batch, taken.into_iter().map(|it| (it.command, it)).collect())
    }

    /// After a lost connection a change with a condition finds its earlier answer by its key; others can be written again with
    /// the same result.
    async fn write(&self, batch: &ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        let result = self.storage.write_items(batch).await;
        self.written.notify_one();
        result
    }

    fn answer(
        command: &PreparedChanges,
        taken: Taken,
        outcomes: &[ItemOutcome],
    ) -> Option<Result<Changed>> {
        Some(match (taken.role, &outcomes[taken.group]) {
            (Role::Behind { leader }, ItemOutcome::Written(_)) => match &outcomes[leader] {
                ItemOutcome::Written(versions) => conflict(versions.first().copied().unwrap_or(0)),
                ItemOutcome::Conflict { current, .. } => conflict(*current),
                _ => return None,
            },
            (Role::Overtaken(by), ItemOutcome::Written(versions)) => {
                Ok(Changed::Versions(versions.iter().map(|it| it - by).collect()))
            }
            // What was remembered has the note already.
            (_, ItemOutcome::Repeated(versions)) => Ok(Changed::Versions(versions.clone())),
            (_, ItemOutcome::Written(versions)) => {
                let note = command.idempotency.as_ref().map(|it| it.note.as_slice());
                let all = versions.iter().chain(note.unwrap_or_default());
                Ok(Changed::Versions(all.copied().collect()))
            }
            (_, ItemOutcome::Conflict { current, .. }) => conflict(*current),
            (_, ItemOutcome::IdempotencyMismatch) => Err(Error::IdempotencyMismatch),
            (_, ItemOutcome::Full) => Err(match command.full {
                Some(full) => Error::QuotaExceeded(full),
                None => Error::Internal("an item was refused for a quota that nobody asked".into()),
            }),
            (_, ItemOutcome::EpochStale) => Ok(Changed::EpochStale),
        })
    }
}

fn conflict(current: i64) -> Result<Changed> {
    Err(Error::Conflict(Conflict::VersionConflict { current }))
}
