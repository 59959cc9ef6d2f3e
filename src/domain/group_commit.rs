//! Group commit: while one batch is being written the next gathers, without a timer. Callers that wait
//! together share one statement and one fsync.
//!
//! **Invariant:** a caller that leaves cancels nothing that was taken; a poisonous command fails alone.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::clock::Clock;
use super::error::{Conflict, Error, Result};
use super::planner::{Batch, fold};
use super::prepared::Prepared;
use super::storage::{BatchError, Outcome, Storage};

/// A caller whose command failed alone stays out of batches for this long.
const QUARANTINE: Duration = Duration::from_secs(30);
/// Before a batch is tried again that met another server's.
const RACE_PAUSE: Duration = Duration::from_millis(2);
/// Attempts at one batch when the database asks for a retry or breaks the connection.
const ATTEMPTS_MAX: u32 = 8;

/// The queue in front of a storage engine.
pub struct GroupCommit {
    lanes: Vec<mpsc::UnboundedSender<Job>>,
    tasks: Vec<JoinHandle<()>>,
}

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

struct Job {
    command: Prepared,
    reply: oneshot::Sender<Result<Ended>>,
}

impl GroupCommit {
    /// Starts one task per lane of the engine. They end when this is dropped and their queues are empty.
    pub fn start(storage: Arc<dyn Storage>, clock: Arc<Clock>) -> Self {
        let (lanes, tasks) = (0..storage.lanes().max(1))
            .map(|_| {
                let (sender, receiver) = mpsc::unbounded_channel();
                let lane = Lane {
                    storage: Arc::clone(&storage),
                    clock: Arc::clone(&clock),
                    quarantine: HashMap::new(),
                };
                (sender, tokio::spawn(lane.run(receiver)))
            })
            .unzip();
        Self { lanes, tasks }
    }

    /// Takes no more, and returns when everything taken is written and answered.
    pub async fn stop(self) {
        drop(self.lanes);
        for task in self.tasks {
            // A lane that panicked has answered its callers with `CommitUnknown` already.
            let _ = task.await;
        }
    }

    /// Waits until the commit is durable. Dropping the future loses only the answer.
    ///
    /// # Errors
    /// A conflict with the thread's generation or lease, `DeadlineExceeded` when it was not begun in time,
    /// `CommitUnknown` when the connection broke and could not be had again.
    pub async fn commit(&self, command: Prepared) -> Result<Ended> {
        // One thread always takes the same lane, so its commits stay in order.
        let mut hasher = DefaultHasher::new();
        (&command.tenant, command.thread_id.as_str()).hash(&mut hasher);
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
    /// (tenant, thread) whose command failed alone → until when it runs unbatched.
    quarantine: HashMap<(String, String), Instant>,
}

impl Lane {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Job>) {
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

    /// Commands whose budget ran out before they were begun are refused: nothing of them happened.
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

    /// Writes one batch and answers its members; gives back what was not taken.
    async fn write_next(&mut self, mut waiting: Vec<Job>) -> Vec<Job> {
        let alone = self.take_quarantined(&mut waiting);
        if let Some(job) = alone {
            self.write_alone(job).await;
            return waiting;
        }
        let (batch, taken) = {
            let commands: Vec<&Prepared> = waiting.iter().map(|job| &job.command).collect();
            fold(&commands, self.clock.now())
        };
        let mut rows: HashMap<usize, usize> = taken.into_iter().collect();
        let (mut members, mut rest) = (Vec::new(), Vec::new());
        for (at, job) in waiting.into_iter().enumerate() {
            match rows.remove(&at) {
                Some(row) => members.push((job, row)),
                None => rest.push(job),
            }
        }
        metrics::histogram!("threadkeep_batch_commands").record(members.len() as f64);
        match self.write(batch).await {
            Ok(outcomes) => {
                let raced =
                    members.into_iter().filter_map(|(job, row)| answer(job, &outcomes[row]));
                let raced: Vec<Job> = raced.collect();
                if !raced.is_empty() {
                    // Another server was faster: nothing was written for these, they go first in the next batch.
                    tokio::time::sleep(RACE_PAUSE).await;
                    rest.splice(0..0, raced);
                }
            }
            Err(BatchError::Statement(detail)) if members.len() > 1 => {
                tracing::warn!(members = members.len(), %detail, "a batch failed, its members run alone");
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

    /// A member of a failed batch, or of a caller in quarantine, in a batch of its own.
    async fn write_alone(&mut self, job: Job) {
        let mut job = job;
        for _ in 0..ATTEMPTS_MAX {
            let (batch, _) = fold(&[&job.command], self.clock.now());
            match self.write(batch).await {
                Ok(outcomes) => match answer(job, &outcomes[0]) {
                    Some(raced) => job = raced,
                    None => return,
                },
                Err(error) => {
                    if let BatchError::Statement(detail) = &error {
                        tracing::error!(%detail, "a commit failed alone");
                        let key = (job.command.tenant.clone(), job.command.thread_id.to_string());
                        self.quarantine.insert(key, Instant::now() + QUARANTINE);
                    }
                    let _ = job.reply.send(Err(refusal(&error)));
                    return;
                }
            }
        }
        let _ = job.reply.send(Err(unavailable("another server keeps changing this thread")));
    }

    fn take_quarantined(&mut self, waiting: &mut Vec<Job>) -> Option<Job> {
        let now = Instant::now();
        self.quarantine.retain(|_, until| *until > now);
        if self.quarantine.is_empty() {
            return None;
        }
        let key = |job: &Job| (job.command.tenant.clone(), job.command.thread_id.to_string());
        // Only the first command of a thread may go ahead.
        let at = waiting.iter().position(|job| self.quarantine.contains_key(&key(job)))?;
        Some(waiting.remove(at))
    }

    /// Retries what may be retried: every row of a batch can be written again with the same result.
    /// Each attempt runs in a task of its own, so that a panic in an engine does not end the lane.
    async fn write(&self, batch: Batch) -> Result<Vec<Outcome>, BatchError> {
        let batch = Arc::new(batch);
        let mut attempt = 0;
        let mut lost = None;
        loop {
            attempt += 1;
            let (storage, rows) = (Arc::clone(&self.storage), Arc::clone(&batch));
            let task = tokio::spawn(async move { storage.write_batch(&rows).await });
            let panicked = |error: tokio::task::JoinError| BatchError::Statement(error.to_string());
            match task.await.map_err(panicked).and_then(|result| result) {
                Err(BatchError::Retry(_)) if attempt < ATTEMPTS_MAX => {}
                Err(BatchError::ConnectionLost(detail)) if attempt < ATTEMPTS_MAX => {
                    lost = Some(detail);
                }
                Err(BatchError::Unavailable(_)) if lost.is_some() && attempt < ATTEMPTS_MAX => {}
                Err(BatchError::Unavailable(_)) if lost.is_some() => {
                    return Err(BatchError::ConnectionLost(lost.unwrap_or_default()));
                }
                result => return result,
            }
            let pause = Duration::from_millis(5 << attempt.min(7));
            tokio::time::sleep(pause).await;
        }
    }
}

/// Answers one member; gives it back when it has to be written again.
fn answer(job: Job, outcome: &Outcome) -> Option<Job> {
    let result = match outcome {
        Outcome::Done { generation, .. } => {
            Ok(Ended::Committed(Committed { generation: generation.clone() }))
        }
        Outcome::ThreadRestored { current } => {
            Err(Error::Conflict(Conflict::ThreadRestored { current: current.clone() }))
        }
        Outcome::ThreadTaken => Err(Error::Conflict(Conflict::ThreadTaken)),
        Outcome::LeaseHeld => Err(Error::Conflict(Conflict::LeaseHeld)),
        Outcome::FenceStale { current } => {
            Err(Error::Conflict(Conflict::FenceStale { current: *current }))
        }
        Outcome::QuotaExceeded => Err(quota_exceeded(&job.command)),
        Outcome::EpochStale { .. } | Outcome::ScopeStale { .. } => Ok(Ended::EpochStale),
        Outcome::Raced => return Some(job),
    };
    let _ = job.reply.send(result);
    None
}

fn quota_exceeded(command: &Prepared) -> Error {
    let unasked = || Error::Internal("a thread was not made although there was room".into());
    command.full.map_or_else(unasked, Error::QuotaExceeded)
}

fn refusal(error: &BatchError) -> Error {
    match error {
        BatchError::Retry(detail) | BatchError::Unavailable(detail) => unavailable(detail),
        BatchError::ConnectionLost(_) => Error::CommitUnknown,
        BatchError::Statement(detail) => Error::Internal(detail.clone()),
    }
}

fn unavailable(detail: &str) -> Error {
    Error::Unavailable { detail: detail.into(), retry_after: Duration::from_millis(500) }
}
