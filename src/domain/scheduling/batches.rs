//! Writes what waits in a lane as batches. Checkpoints, items and sessions are retried, refused and answered here in the same way.
//!
//! **Invariant:** a poisonous command fails alone.

use std::collections::HashMap;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::FutureExt;
use metrics::Histogram;

use super::fair_queue::Weight;
use super::lanes::{Job, Lanes, Writer};
use crate::domain::batch_error::BatchError;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Obstacle, Result};

/// Attempts at one batch when the database asks for a retry or breaks the connection.
const ATTEMPTS_MAX: u32 = 8;
/// After a connection broke no attempt begins later: whoever waits gets an answer while it still waits.
const ATTEMPTS_WITHIN: Duration = Duration::from_secs(4);
/// Before a command is written again that lost to another one, maybe another server's.
const RACE_PAUSE: Duration = Duration::from_millis(2);
/// Commands of a key whose command failed alone stay out of batches for this long.
const QUARANTINE: Duration = Duration::from_secs(30);

/// What is particular to a noun: how its commands become a batch, and what an outcome means to a command.
#[async_trait]
pub trait Batches: Send + Sync + 'static {
    type Command: Send + Sync + 'static;
    type Answer: Send + 'static;
    /// Commands of one key stay in order.
    type Key: Hash + Eq + Send + Sync;
    type Batch: Send + Sync;
    /// Where the outcome of a command is.
    type Place: Copy + Send;
    type Outcome: Send + Sync;

    /// What the queue is called in the metrics.
    const QUEUE: &str;
    /// Of the histogram that counts the commands of a batch.
    const METRIC: &str;

    /// The write must have begun by then.
    fn deadline(command: &Self::Command) -> Micros;

    fn tenant(command: &Self::Command) -> &str;

    fn key(command: &Self::Command) -> Self::Key;

    fn weight(command: &Self::Command) -> Weight;

    /// Takes what fits together, the first command at least. Answers the batch and, for each command taken, its index and its place.
    fn plan(&self, waiting: &[&Self::Command]) -> (Self::Batch, Vec<(usize, Self::Place)>);

    async fn write(&self, batch: &Self::Batch) -> Result<Vec<Self::Outcome>, BatchError>;

    /// Whether the batch may be written again after a connection broke in its commit.
    fn is_repeatable(_batch: &Self::Batch) -> bool {
        true
    }

    /// None: nothing was written for this command, and it has to be written again.
    fn answer(
        command: &Self::Command,
        place: Self::Place,
        outcomes: &[Self::Outcome],
    ) -> Option<Result<Self::Answer>>;
}

/// The queue of a noun in front of a storage engine.
pub struct BatchQueue<B: Batches> {
    pub(in crate::domain) batches: Arc<B>,
    lanes: Lanes<BatchWriter<B>>,
}

impl<B: Batches> BatchQueue<B> {
    pub(in crate::domain) fn of(batches: B, lanes: usize, clock: &Arc<Clock>) -> Self {
        let batches = Arc::new(batches);
        let sizes = metrics::histogram!(B::METRIC);
        let writer = || BatchWriter {
            batches: Arc::clone(&batches),
            sizes: sizes.clone(),
            quarantine: HashMap::default(),
        };
        Self { lanes: Lanes::start(B::QUEUE, lanes, clock, writer), batches }
    }

    /// Takes no more, and returns when everything taken is written and answered.
    pub async fn stop(self) {
        self.lanes.stop().await;
    }

    /// Waits until the command is durable. Commands of one key stay in order.
    ///
    /// # Errors
    /// What the command was refused for, and as [`Lanes::commit`].
    pub async fn commit(&self, command: B::Command) -> Result<B::Answer> {
        self.lanes.commit(B::key(&command), command).await
    }
}

pub struct BatchWriter<B: Batches> {
    batches: Arc<B>,
    /// Commands of each batch.
    sizes: Histogram,
    /// Keys whose command failed alone → until when theirs run unbatched.
    quarantine: HashMap<B::Key, Instant>,
}

#[async_trait]
impl<B: Batches> Writer for BatchWriter<B> {
    type Command = B::Command;
    type Answer = B::Answer;

    fn deadline(command: &B::Command) -> Micros {
        B::deadline(command)
    }

    fn tenant(command: &B::Command) -> &str {
        B::tenant(command)
    }

    fn weight(command: &B::Command) -> Weight {
        B::weight(command)
    }

    async fn write_next(&mut self, mut waiting: Vec<Job<Self>>) -> Vec<Job<Self>> {
        if let Some(job) = self.take_quarantined(&mut waiting) {
            self.write_alone(job).await;
            return waiting;
        }
        let (batch, taken) = {
            let commands: Vec<&B::Command> = waiting.iter().map(|job| &job.command).collect();
            self.batches.plan(&commands)
        };
        let mut places: HashMap<usize, B::Place> = taken.into_iter().collect();
        let (mut members, mut rest) = (Vec::new(), Vec::new());
        for (at, job) in waiting.into_iter().enumerate() {
            match places.remove(&at) {
                Some(place) => members.push((job, place)),
                None => rest.push(job),
            }
        }
        self.sizes.record(members.len() as f64);
        match self.write(&batch).await {
            Ok(outcomes) => {
                let again = members.into_iter().filter_map(|(job, at)| answer(job, at, &outcomes));
                let again: Vec<Job<Self>> = again.collect();
                if !again.is_empty() {
                    tokio::time::sleep(RACE_PAUSE).await;
                    // They were asked first.
                    rest.splice(0..0, again);
                }
            }
            Err(error) if members.len() > 1 && may_be_one_members(&error) => {
                tracing::warn!(queue = B::QUEUE, members = members.len(), %error, "a batch failed, its members run alone");
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

impl<B: Batches> BatchWriter<B> {
    /// A member of a failed batch, or of a key in quarantine, in a batch of its own.
    async fn write_alone(&mut self, mut job: Job<Self>) {
        for _ in 0..ATTEMPTS_MAX {
            let (batch, taken) = self.batches.plan(&[&job.command]);
            let (_, place) = taken[0];
            match self.write(&batch).await {
                Ok(outcomes) => match answer(job, place, &outcomes) {
                    Some(again) => {
                        tokio::time::sleep(RACE_PAUSE).await;
                        job = again;
                    }
                    None => return,
                },
                Err(error) => {
                    if let BatchError::Statement(detail) = &error {
                        tracing::error!(queue = B::QUEUE, %detail, "a command failed alone");
                        self.quarantine.insert(B::key(&job.command), Instant::now() + QUARANTINE);
                    }
                    job.answer(Err(refusal(&error)));
                    return;
                }
            }
        }
        job.answer(Err(unavailable("another server keeps changing what it writes")));
    }

    fn take_quarantined(&mut self, waiting: &mut Vec<Job<Self>>) -> Option<Job<Self>> {
        let now = Instant::now();
        self.quarantine.retain(|_, until| *until > now);
        if self.quarantine.is_empty() {
            return None;
        }
        // Only the first command of a key may go ahead.
        let held = |job: &Job<Self>| self.quarantine.contains_key(&B::key(&job.command));
        let at = waiting.iter().position(held)?;
        Some(waiting.remove(at))
    }

    /// Tries a batch again while the database asks for it. A panic in an engine is a failed statement and does not end the lane.
    async fn write(&self, batch: &B::Batch) -> Result<Vec<B::Outcome>, BatchError> {
        let began = Instant::now();
        let mut attempts = 0;
        let mut lost = None;
        loop {
            attempts += 1;
            // A task of its own would catch a panic too, for a change of threads.
            let written = AssertUnwindSafe(self.batches.write(batch)).catch_unwind().await;
            let panicked = |_| BatchError::Statement("the storage engine panicked".into());
            let is_last = attempts >= ATTEMPTS_MAX || began.elapsed() >= ATTEMPTS_WITHIN;
            match written.map_err(panicked).and_then(|result| result) {
                Err(BatchError::Retry(_)) if attempts < ATTEMPTS_MAX => {}
                Err(BatchError::ConnectionLost(detail)) if B::is_repeatable(batch) && !is_last => {
                    lost = Some(detail);
                }
                Err(BatchError::Unavailable(_) | BatchError::Obstacle { .. })
                    if lost.is_some() && !is_last => {}
                // What the first attempt wrote may be there.
                Err(BatchError::Unavailable(_) | BatchError::Obstacle { .. }) if lost.is_some() => {
                    return Err(BatchError::ConnectionLost(lost.unwrap_or_default()));
                }
                result => return result,
            }
            // Not the same for two servers that got in each other's way.
            let millis = 5 << attempts.min(7);
            let pause = Duration::from_millis(rand::random_range(millis / 2..=millis));
            tokio::time::sleep(pause).await;
        }
    }
}

/// Answers one member; gives it back when it has to be written again.
fn answer<B: Batches>(
    job: Job<BatchWriter<B>>,
    place: B::Place,
    outcomes: &[B::Outcome],
) -> Option<Job<BatchWriter<B>>> {
    match B::answer(&job.command, place, outcomes) {
        Some(result) => {
            job.answer(result);
            None
        }
        None => Some(job),
    }
}

/// One member may be at fault, or what only deletes has room where what adds has none.
fn may_be_one_members(error: &BatchError) -> bool {
    matches!(
        error,
        BatchError::Statement(_) | BatchError::Obstacle { kind: Obstacle::DiskFull, .. }
    )
}

/// What a batch that failed means to its members.
fn refusal(error: &BatchError) -> Error {
    match error {
        BatchError::Retry(detail) | BatchError::Unavailable(detail) => unavailable(detail),
        BatchError::ConnectionLost(detail) => Error::CommitUnknown { detail: detail.clone() },
        BatchError::Obstacle { kind, detail } => {
            Error::Obstacle { kind: *kind, detail: detail.clone() }
        }
        BatchError::Statement(detail) => Error::Internal(detail.clone()),
    }
}

/// The members may ask again soon.
fn unavailable(detail: &str) -> Error {
    Error::Unavailable { detail: detail.into(), retry_after: Duration::from_millis(500) }
}

#[cfg(test)]
mod tests;
