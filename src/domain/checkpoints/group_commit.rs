//! Commits in groups: callers that wait together share one statement and one fsync.
//!
//! **Invariant:** a poisonous command fails alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::planner::{Batch, fold};
use super::prepared::Prepared;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::scheduling::fair_queue::Weight;
use crate::domain::scheduling::lanes::{
    ATTEMPTS_MAX, Job, Lanes, Writer, refusal, unavailable, write,
};
use crate::domain::storage::{BatchError, Outcome, Storage};

/// A caller whose command failed alone stays out of batches for this long.
const QUARANTINE: Duration = Duration::from_secs(30);
/// Before a batch is tried again that met another server's.
const RACE_PAUSE: Duration = Duration::from_millis(2);

/// The queue in front of a storage engine.
pub struct GroupCommit {
    lanes: Lanes<CommitWriter>,
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

impl GroupCommit {
    pub fn start(storage: &Arc<dyn Storage>, clock: &Arc<Clock>) -> Self {
        let writer = || CommitWriter {
            storage: Arc::clone(storage),
            clock: Arc::clone(clock),
            quarantine: HashMap::new(),
        };
        Self { lanes: Lanes::start(storage.lanes(), clock, writer) }
    }

    pub async fn stop(self) {
        self.lanes.stop().await;
    }

    /// Waits until the commit is durable. Commits of one thread stay in order.
    ///
    /// # Errors
    /// A conflict with the thread's generation or lease, and as [`Lanes::commit`].
    pub async fn commit(&self, command: Prepared) -> Result<Ended> {
        self.lanes.commit(key(&command), command).await
    }
}

fn key(command: &Prepared) -> (String, String) {
    (command.tenant.clone(), command.thread_id.to_string())
}

struct CommitWriter {
    storage: Arc<dyn Storage>,
    clock: Arc<Clock>,
    /// (tenant, thread) whose command failed alone → until when it runs unbatched.
    quarantine: HashMap<(String, String), Instant>,
}

#[async_trait]
impl Writer for CommitWriter {
    type Command = Prepared;
    type Answer = Ended;

    fn deadline(command: &Prepared) -> Micros {
        command.deadline
    }

    fn tenant(command: &Prepared) -> &str {
        &command.tenant
    }

    fn weight(command: &Prepared) -> Weight {
        Weight { bytes: command.size_bytes, rows: command.rows() }
    }

    async fn write_next(&mut self, mut waiting: Vec<Job<Self>>) -> Vec<Job<Self>> {
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
                let raced: Vec<Job<Self>> = raced.collect();
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
                    job.answer(Err(refusal(&error)));
                }
            }
        }
        rest
    }
}

impl CommitWriter {
    /// A member of a failed batch, or of a caller in quarantine, in a batch of its own.
    async fn write_alone(&mut self, job: Job<Self>) {
        let mut job = job;
        for _ in 0..ATTEMPTS_MAX {
            let (batch, _) = fold(&[&job.command], self.clock.now());
            match self.write(batch).await {
                Ok(outcomes) => match answer(job, &outcomes[0]) {
                    Some(raced) => {
                        tokio::time::sleep(RACE_PAUSE).await;
                        job = raced;
                    }
                    None => return,
                },
                Err(error) => {
                    if let BatchError::Statement(detail) = &error {
                        tracing::error!(%detail, "a commit failed alone");
                        let until = Instant::now() + QUARANTINE;
                        self.quarantine.insert(key(&job.command), until);
                    }
                    job.answer(Err(refusal(&error)));
                    return;
                }
            }
        }
        job.answer(Err(unavailable("another server keeps changing this thread")));
    }

    fn take_quarantined(&mut self, waiting: &mut Vec<Job<Self>>) -> Option<Job<Self>> {
        let now = Instant::now();
        self.quarantine.retain(|_, until| *until > now);
        if self.quarantine.is_empty() {
            return None;
        }
        // Only the first command of a thread may go ahead.
        let held = |job: &Job<Self>| self.quarantine.contains_key(&key(&job.command));
        let at = waiting.iter().position(held)?;
        Some(waiting.remove(at))
    }

    /// Every row of a batch can be written again with the same result.
    async fn write(&self, batch: Batch) -> Result<Vec<Outcome>, BatchError> {
        write(|| self.storage.write_batch(&batch), true).await
    }
}

/// Answers one member; gives it back when it has to be written again.
fn answer(job: Job<CommitWriter>, outcome: &Outcome) -> Option<Job<CommitWriter>> {
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
        Outcome::ThreadForged => {
            Err(Error::Integrity("the row of a thread is not as a server wrote it".into()))
        }
        Outcome::Raced => return Some(job),
    };
    job.answer(result);
    None
}

fn quota_exceeded(command: &Prepared) -> Error {
    let unasked = || Error::Internal("a thread was not made although there was room".into());
    command.full.map_or_else(unasked, Error::QuotaExceeded)
}
