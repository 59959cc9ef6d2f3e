//! The queue in front of the items: while one batch is being written the next gathers, without a timer. As
//! `group_commit` has it for checkpoints, with batches of items.
//!
//! **Invariant:** a caller that leaves cancels nothing that was taken; a poisonous change fails alone.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::clock::{Clock, Micros};
use super::error::{Conflict, Error, Result};
use super::item_batch::{ItemBatch, ItemOutcome, PreparedChanges, Role, Taken, fold};
use super::storage::{BatchError, Storage};

/// Attempts at one batch when the database asks for a retry or breaks the connection.
const ATTEMPTS_MAX: u32 = 8;

pub struct ItemCommit {
    lanes: Vec<mpsc::UnboundedSender<Job>>,
    tasks: Vec<JoinHandle<()>>,
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

struct Job {
    command: PreparedChanges,
    reply: oneshot::Sender<Result<Changed>>,
}

impl ItemCommit {
    /// Starts one task per lane of the engine. They end when this is dropped and their queues are empty.
    pub fn start(storage: Arc<dyn Storage>, clock: Arc<Clock>) -> Self {
        let last = Arc::new(AtomicI64::new(0));
        let written = Arc::new(Notify::new());
        let (lanes, tasks) = (0..storage.lanes().max(1))
            .map(|_| {
                let (sender, receiver) = mpsc::unbounded_channel();
                let lane = Lane {
                    storage: Arc::clone(&storage),
                    clock: Arc::clone(&clock),
                    last: Arc::clone(&last),
                    written: Arc::clone(&written),
                };
                (sender, tokio::spawn(lane.run(receiver)))
            })
            .unzip();
        Self { lanes, tasks, written }
    }

    /// Is told of every batch that was written.
    pub fn written(&self) -> Arc<Notify> {
        Arc::clone(&self.written)
    }

    /// Takes no more, and returns when everything taken is written and answered.
    pub async fn stop(self) {
        drop(self.lanes);
        for task in self.tasks {
            // A lane that panicked has answered its callers with `CommitUnknown` already.
            let _ = task.await;
        }
    }

    /// Waits until the changes are durable. Dropping the future loses only the answer.
    ///
    /// # Errors
    /// `VersionConflict`, `IdempotencyMismatch`, `DeadlineExceeded` when it was not begun in time, `CommitUnknown` when the
    /// connection broke and could not be had again.
    pub async fn commit(&self, command: PreparedChanges) -> Result<Changed> {
        // One item always takes the same lane, so its changes stay in order.
        let mut hasher = DefaultHasher::new();
        let root = command.changes.first().map(|it| it.address.namespace.root());
        (&command.tenant, root).hash(&mut hasher);
        let lane = usize::try_from(hasher.finish() % self.lanes.len() as u64).unwrap_or(0);
        let (reply, answer) = oneshot::channel();
        let closed = || Error::Unavailable {
            detail: "the server is stopping".into(),
            retry_after: Duration::from_secs(1),
        };
        self.lanes[lane].send(Job { command, reply }).map_err(|_| closed())?;
        answer.await.map_err(|_| Error::CommitUnknown)?
    }
}

struct Lane {
    storage: Arc<dyn Storage>,
    clock: Arc<Clock>,
    /// Where the versions of the last batch of any lane began.
    last: Arc<AtomicI64>,
    written: Arc<Notify>,
}

impl Lane {
    async fn run(self, mut queue: mpsc::UnboundedReceiver<Job>) {
        let mut waiting: Vec<Job> = Vec::new();
        loop {
            if waiting.is_empty() {
                match queue.recv().await {
                    Some(job) => waiting.push(job),
                    None => return,
                }
            }
            while let Ok(job) = queue.try_recv() {
                waiting.push(job);
            }
            waiting = self.refuse_late(waiting);
            if !waiting.is_empty() {
                waiting = self.write_next(waiting).await;
            }
        }
    }

    /// Changes whose budget ran out before they were begun are refused: nothing of them happened.
    fn refuse_late(&self, waiting: Vec<Job>) -> Vec<Job> {
        let now = self.clock.now();
        let (late, kept): (Vec<Job>, Vec<Job>) =
            waiting.into_iter().partition(|job| job.command.deadline < now);
        for job in late {
            // A caller that has left does not want the answer.
            let _ = job.reply.send(Err(Error::DeadlineExceeded));
        }
        kept
    }

    /// The time, or one more than the batch before had: greater than every version from before, and never twice.
    fn first_version(&self, now: Micros) -> i64 {
        let next = |last: i64| Some(now.max(last + 1));
        let order = Ordering::SeqCst;
        self.last.fetch_update(order, order, next).map_or(now, |last| now.max(last + 1))
    }

    /// Writes one batch and answers its members; gives back what was not taken.
    async fn write_next(&self, waiting: Vec<Job>) -> Vec<Job> {
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
                let again: Vec<Job> = again.collect();
                // They were asked first.
                rest.splice(0..0, again);
            }
            Err(BatchError::Statement(detail)) if members.len() > 1 => {
                tracing::warn!(members = members.len(), %detail, "a batch of items failed, its members run alone");
                for (job, _) in members {
                    self.write_alone(job).await;
                }
            }
            Err(error) => {
                for (job, _) in members {
                    let _ = job.reply.send(Err(refusal(&error)));
                }
            }
        }
        rest
    }

    async fn write_alone(&self, job: Job) {
        let now = self.clock.now();
        let (batch, taken) = fold(&[&job.command], now, self.first_version(now));
        let result = match self.write(batch).await {
            Ok(outcomes) => {
                // One that is alone is behind nobody.
                answer(job, taken[0], &outcomes);
                return;
            }
            Err(error) => refusal(&error),
        };
        let _ = job.reply.send(Err(result));
    }

    /// Retries what may be retried. After a lost connection a change with a condition finds its earlier answer by its key;
    /// others can be written again with the same result.
    async fn write(&self, batch: ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        let mut attempt = 0;
        let mut lost = None;
        loop {
            attempt += 1;
            // A panic in an engine does not end the lane. A task of its own would do that too, for a change of threads.
            let written = AssertUnwindSafe(self.storage.write_items(&batch)).catch_unwind().await;
            let panicked = |_| BatchError::Statement("a write of items panicked".into());
            match written.map_err(panicked).and_then(|result| result) {
                Err(BatchError::Retry(_)) if attempt < ATTEMPTS_MAX => {}
                Err(BatchError::ConnectionLost(detail)) if attempt < ATTEMPTS_MAX => {
                    lost = Some(detail);
                }
                Err(BatchError::Unavailable(_)) if lost.is_some() && attempt < ATTEMPTS_MAX => {}
                Err(BatchError::Unavailable(_)) if lost.is_some() => {
                    return Err(BatchError::ConnectionLost(lost.unwrap_or_default()));
                }
                result => {
                    self.written.notify_one();
                    return result;
                }
            }
            tokio::time::sleep(Duration::from_millis(5 << attempt.min(7))).await;
        }
    }
}

/// Answers one member; gives it back when it has to be written again.
fn answer(job: Job, taken: Taken, outcomes: &[ItemOutcome]) -> Option<Job> {
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
    let _ = job.reply.send(result);
    None
}

fn conflict(current: i64) -> Result<Changed> {
    Err(Error::Conflict(Conflict::VersionConflict { current }))
}

fn refusal(error: &BatchError) -> Error {
    match error {
        BatchError::Retry(detail) | BatchError::Unavailable(detail) => {
            Error::Unavailable { detail: detail.clone(), retry_after: Duration::from_millis(500) }
        }
        BatchError::ConnectionLost(_) => Error::CommitUnknown,
        BatchError::Statement(detail) => Error::Internal(detail.clone()),
    }
}
