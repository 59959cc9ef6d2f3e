//! Queues writes in front of a storage engine. While one batch is being written the next gathers, without a timer. The owner of a queue
//! defines the batch and writes it; [`super::fair_queue`] chooses the next command.
//!
//! **Invariant:** a caller that leaves cancels nothing that was taken. While nobody has a large command, each tenant's first waiting
//! command is in the next batch, whatever the others have, up to 256 tenants.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::FutureExt;
use metrics::Histogram;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::fair_queue::{FairQueue, Queued, Size, Weight};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::metric_families as families;

/// An engine that batches are written to.
pub trait LaneStorage: Send + Sync {
    /// How many batches may be written at once.
    fn lanes(&self) -> usize;
}

/// Writes what has gathered in a lane.
#[async_trait]
pub trait Writer: Send + 'static {
    type Command: Send + 'static;
    type Answer: Send + 'static;

    /// The write must have begun by then.
    fn deadline(command: &Self::Command) -> Micros;

    /// Tenants take turns.
    fn tenant(command: &Self::Command) -> &str;

    /// How much of the database the command takes.
    fn weight(command: &Self::Command) -> Weight;

    /// Writes one batch and answers its members; gives back what was not taken. Never called with nothing.
    async fn write_next(&mut self, waiting: Vec<Job<Self>>) -> Vec<Job<Self>>;
}

/// A command that waits, and who waits for it.
pub struct Job<W: Writer + ?Sized> {
    pub command: W::Command,
    key: u64,
    weight: Weight,
    /// None: the wait was recorded.
    queued_at: Option<Instant>,
    reply: oneshot::Sender<Result<W::Answer>>,
}

impl<W: Writer + ?Sized> Job<W> {
    /// A caller that has left does not want the answer.
    pub fn answer(self, result: Result<W::Answer>) {
        let _ = self.reply.send(result);
    }
}

impl<W: Writer> Job<W> {
    /// Once, though it may be given back.
    fn record_wait(&mut self, waits: &Histogram) {
        if let Some(queued_at) = self.queued_at.take() {
            waits.record(queued_at.elapsed().as_secs_f64());
        }
    }
}

impl<W: Writer> Queued for Job<W> {
    fn tenant(&self) -> &str {
        W::tenant(&self.command)
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn weight(&self) -> Weight {
        self.weight
    }
}

/// Two tasks per lane, each with a writer of its own: one for small commands, which go in batches, one for large ones.
pub struct Lanes<W: Writer> {
    lanes: Vec<Arc<Lane<W>>>,
    tasks: Vec<JoinHandle<()>>,
}

struct Lane<W: Writer> {
    waiting: Mutex<Waiting<W>>,
    /// By size: something is ready, or the lane ends.
    ready: [Notify; 2],
    /// By size: how long commands waited.
    waits: [Histogram; 2],
}

struct Waiting<W: Writer> {
    queue: FairQueue<Job<W>>,
    is_closed: bool,
}

impl<W: Writer> Lanes<W> {
    /// They end when this is stopped or dropped and their queues are empty. `queue` names them in the metrics.
    pub fn start(
        queue: &'static str,
        count: usize,
        clock: &Arc<Clock>,
        writer: impl Fn() -> W,
    ) -> Self {
        let waits = ["small", "large"].map(
            |size| metrics::histogram!(families::QUEUE_WAIT, "queue" => queue, "size" => size),
        );
        let (mut lanes, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..count.max(1) {
            let waiting = Waiting { queue: FairQueue::default(), is_closed: false };
            let (waiting, ready) = (Mutex::new(waiting), Default::default());
            let lane = Arc::new(Lane { waiting, ready, waits: waits.clone() });
            for size in [Size::Small, Size::Large] {
                let lane = Arc::clone(&lane);
                tasks.push(tokio::spawn(lane.run(size, writer(), Arc::clone(clock))));
            }
            lanes.push(lane);
        }
        Self { lanes, tasks }
    }

    /// Takes no more, and returns when everything taken is written and answered.
    pub async fn stop(mut self) {
        let tasks = std::mem::take(&mut self.tasks);
        drop(self);
        for task in tasks {
            // What a lane's writer panics with has been answered with `CommitUnknown` already.
            let _ = task.await;
        }
    }

    /// Waits until the command is durable. Equal keys always take the same lane, so their commands stay in order. Dropping
    /// the future loses only the answer.
    ///
    /// # Errors
    /// What the writer answers; `DeadlineExceeded` when it was not begun in time, `CommitUnknown` when the lane broke, `Unavailable`
    /// while too much of the tenant waits.
    pub async fn commit(&self, key: impl Hash, command: W::Command) -> Result<W::Answer> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let key = hasher.finish();
        let lane = usize::try_from(key % self.lanes.len() as u64).unwrap_or(0);
        let (reply, answer) = oneshot::channel();
        let weight = W::weight(&command);
        let queued_at = Some(Instant::now());
        self.lanes[lane].push(Job { command, key, weight, queued_at, reply })?;
        answer.await.map_err(|_| {
            let detail = "the task that wrote it ended without an answer".into();
            Error::CommitUnknown { detail }
        })?
    }
}

impl<W: Writer> Drop for Lanes<W> {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.waiting().is_closed = true;
            lane.wake_all();
        }
    }
}

impl<W: Writer> Lane<W> {
    fn push(&self, job: Job<W>) -> Result<()> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            let detail = "the server is stopping".into();
            return Err(Error::Unavailable { detail, retry_after: Duration::from_secs(1) });
        }
        let pushed = waiting.queue.push(job);
        drop(waiting);
        match pushed {
            Ok(Some(size)) => self.ready[size as usize].notify_one(),
            Ok(None) => {}
            Err(_) => return Err(line_is_full()),
        }
        Ok(())
    }

    async fn run(self: Arc<Self>, size: Size, mut writer: W, clock: Arc<Clock>) {
        while let Some(mut jobs) = self.next(size).await {
            for job in &mut jobs {
                job.record_wait(&self.waits[size as usize]);
            }
            let keys: Vec<u64> = jobs.iter().map(|it| it.key).collect();
            // Commands whose budget ran out before they were begun are refused: nothing of them happened.
            let now = clock.now();
            let (late, kept): (Vec<Job<W>>, Vec<Job<W>>) =
                jobs.into_iter().partition(|job| W::deadline(&job.command) < now);
            for job in late {
                job.answer(Err(Error::DeadlineExceeded));
            }
            let rest = if kept.is_empty() {
                kept
            } else {
                // Who waits for a writer that panics is told that nobody knows; the lane goes on.
                let written = AssertUnwindSafe(writer.write_next(kept)).catch_unwind().await;
                written.unwrap_or_default()
            };
            self.finish(&keys, rest);
        }
    }

    /// The next batch; none when nothing more comes.
    async fn next(&self, size: Size) -> Option<Vec<Job<W>>> {
        loop {
            {
                let mut waiting = self.waiting();
                let jobs = waiting.queue.take(size);
                if !jobs.is_empty() {
                    return Some(jobs);
                }
                if waiting.is_closed && waiting.queue.is_empty() {
                    return None;
                }
            }
            // What came since is remembered by it.
            self.ready[size as usize].notified().await;
        }
    }

    fn finish(&self, keys: &[u64], rest: Vec<Job<W>>) {
        let mut waiting = self.waiting();
        let has_freed = waiting.queue.finish(keys, rest);
        let is_over = waiting.is_closed && waiting.queue.is_empty();
        drop(waiting);
        if has_freed || is_over {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        self.ready.iter().for_each(Notify::notify_one);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<W>> {
        self.waiting.lock().expect("nothing panics while it holds the queue")
    }
}

fn line_is_full() -> Error {
    let (commands, bytes) =
        (LIMITS.waiting_commands_per_tenant_max, LIMITS.waiting_bytes_per_tenant_max);
    let detail = format!(
        "too many writes of this tenant wait to be made durable; {commands} of them, and {bytes} bytes, may wait at one time"
    );
    Error::Unavailable { detail, retry_after: Duration::from_secs(1) }
}

#[cfg(test)]
mod tests;
