//! Queues in front of a storage engine: while one batch is being written the next gathers, without a timer. What a batch is and
//! how it is written says whoever has the queue.
//!
//! **Invariant:** a caller that leaves cancels nothing that was taken.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::clock::{Clock, Micros};
use super::error::{Error, Result};
use super::storage::BatchError;

/// Attempts at one batch when the database asks for a retry or breaks the connection.
pub const ATTEMPTS_MAX: u32 = 8;

/// Writes what has gathered in a lane.
#[async_trait]
pub trait Writer: Send + 'static {
    type Command: Send + 'static;
    type Answer: Send + 'static;

    /// The write must have begun by then.
    fn deadline(command: &Self::Command) -> Micros;

    /// Writes one batch and answers its members; gives back what was not taken. Never called with nothing.
    async fn write_next(&mut self, waiting: Vec<Job<Self>>) -> Vec<Job<Self>>;
}

/// A command that waits, and who waits for it.
pub struct Job<W: Writer + ?Sized> {
    pub command: W::Command,
    reply: oneshot::Sender<Result<W::Answer>>,
}

impl<W: Writer + ?Sized> Job<W> {
    /// A caller that has left does not want the answer.
    pub fn answer(self, result: Result<W::Answer>) {
        let _ = self.reply.send(result);
    }
}

/// One task per lane, each with a writer of its own.
pub struct Lanes<W: Writer> {
    lanes: Vec<mpsc::UnboundedSender<Job<W>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl<W: Writer> Lanes<W> {
    /// They end when this is dropped and their queues are empty.
    pub fn start(count: usize, clock: &Arc<Clock>, writer: impl Fn() -> W) -> Self {
        let (lanes, tasks) = (0..count.max(1))
            .map(|_| {
                let (sender, receiver) = mpsc::unbounded_channel();
                (sender, tokio::spawn(run(writer(), Arc::clone(clock), receiver)))
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

    /// Waits until the command is durable. Equal keys always take the same lane, so their commands stay in order. Dropping
    /// the future loses only the answer.
    ///
    /// # Errors
    /// What the writer answers; `DeadlineExceeded` when it was not begun in time, `CommitUnknown` when the lane broke.
    pub async fn commit(&self, key: impl Hash, command: W::Command) -> Result<W::Answer> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
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

async fn run<W: Writer>(
    mut writer: W,
    clock: Arc<Clock>,
    mut queue: mpsc::UnboundedReceiver<Job<W>>,
) {
    let mut waiting: Vec<Job<W>> = Vec::new();
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
        // Commands whose budget ran out before they were begun are refused: nothing of them happened.
        let now = clock.now();
        let (late, kept): (Vec<Job<W>>, Vec<Job<W>>) =
            waiting.into_iter().partition(|job| W::deadline(&job.command) < now);
        for job in late {
            job.answer(Err(Error::DeadlineExceeded));
        }
        waiting = if kept.is_empty() { kept } else { writer.write_next(kept).await };
    }
}

/// Tries a batch again while the database asks for it. A panic in an engine is a failed statement and does not end the lane.
/// `repeatable`: whether it may be written again after a connection that broke in its commit.
///
/// # Errors
/// The last attempt's.
pub async fn write<T, F>(attempt: impl Fn() -> F, repeatable: bool) -> Result<T, BatchError>
where
    F: Future<Output = Result<T, BatchError>>,
{
    let mut attempts = 0;
    let mut lost = None;
    loop {
        attempts += 1;
        // A task of its own would catch a panic too, for a change of threads.
        let written = AssertUnwindSafe(attempt()).catch_unwind().await;
        let panicked = |_| BatchError::Statement("the storage engine panicked".into());
        match written.map_err(panicked).and_then(|result| result) {
            Err(BatchError::Retry(_)) if attempts < ATTEMPTS_MAX => {}
            Err(BatchError::ConnectionLost(detail)) if repeatable && attempts < ATTEMPTS_MAX => {
                lost = Some(detail);
            }
            Err(BatchError::Unavailable(_)) if lost.is_some() && attempts < ATTEMPTS_MAX => {}
            Err(BatchError::Unavailable(_)) if lost.is_some() => {
                return Err(BatchError::ConnectionLost(lost.unwrap_or_default()));
            }
            result => return result,
        }
        // Not the same for two servers that got in each other's way.
        let millis = 5 << attempts.min(7);
        tokio::time::sleep(Duration::from_millis(rand::random_range(millis / 2..=millis))).await;
    }
}

/// What a batch that failed means to its members.
pub fn refusal(error: &BatchError) -> Error {
    match error {
        BatchError::Retry(detail) | BatchError::Unavailable(detail) => unavailable(detail),
        BatchError::ConnectionLost(_) => Error::CommitUnknown,
        BatchError::Statement(detail) => Error::Internal(detail.clone()),
    }
}

/// The members may ask again soon.
pub fn unavailable(detail: &str) -> Error {
    Error::Unavailable { detail: detail.into(), retry_after: Duration::from_millis(500) }
}
