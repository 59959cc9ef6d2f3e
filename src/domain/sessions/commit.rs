//! Queues changes of sessions: appends of many callers that wait together are one transaction.
//!
//! **Invariant:** a poisonous change fails alone.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::change::{Done, PreparedChange, PreparedEntry, Step};
use super::ledger::{Batch, Outcome};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::scheduling::fair_queue::Weight;
use crate::domain::scheduling::lanes::{Job, Lanes, Writer, refusal, write};
use crate::domain::storage::Storage;

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

pub struct SessionCommit {
    lanes: Lanes<SessionWriter>,
}

impl SessionCommit {
    pub fn start(storage: &Arc<dyn Storage>, clock: &Arc<Clock>) -> Self {
        let writer = || SessionWriter { storage: Arc::clone(storage), clock: Arc::clone(clock) };
        Self { lanes: Lanes::start(storage.lanes(), clock, writer) }
    }

    pub async fn stop(self) {
        self.lanes.stop().await;
    }

    /// Waits until the change is durable.
    ///
    /// # Errors
    /// What it was refused for; as [`Lanes::commit`].
    pub async fn commit(&self, command: PreparedChange) -> Result<Ended> {
        let key = (command.tenant.clone(), command.session.clone());
        self.lanes.commit(key, command).await
    }
}

pub struct SessionWriter {
    storage: Arc<dyn Storage>,
    clock: Arc<Clock>,
}

#[async_trait]
impl Writer for SessionWriter {
    type Command = PreparedChange;
    type Answer = Ended;

    fn deadline(command: &PreparedChange) -> Micros {
        command.deadline
    }

    fn tenant(command: &PreparedChange) -> &str {
        &command.tenant
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

    async fn write_next(&mut self, waiting: Vec<Job<Self>>) -> Vec<Job<Self>> {
        let (members, rest) = taken(waiting);
        metrics::histogram!("threadkeep_session_batch_commands").record(members.len() as f64);
        if let Some(members) = self.write_together(members).await {
            for job in members {
                // Alone it answers.
                let _ = self.write_together(vec![job]).await;
            }
        }
        rest
    }
}

impl SessionWriter {
    /// Answers all members, or gives them back where one of several is at fault.
    async fn write_together(&self, members: Vec<Job<Self>>) -> Option<Vec<Job<Self>>> {
        let commands: Vec<PreparedChange> = members.iter().map(|it| it.command.clone()).collect();
        // What has neither key nor ids could not be told from another's; its caller is told that nobody knows.
        let repeatable = commands.iter().all(PreparedChange::is_safe_to_repeat);
        let batch = Arc::new(Batch::new(commands, self.clock.now()));
        let attempt = || {
            let (storage, batch) = (Arc::clone(&self.storage), Arc::clone(&batch));
            async move { storage.write_sessions(&batch).await }
        };
        match write(attempt, repeatable).await {
            Ok(outcomes) => {
                for (job, outcome) in members.into_iter().zip(outcomes) {
                    job.answer(match outcome {
                        Outcome::Done(done) => Ok(Ended::Done(done)),
                        Outcome::Refused(error) => Err(error),
                        Outcome::Stale { .. } => Ok(Ended::Stale),
                    });
                }
                None
            }
            Err(crate::domain::storage::BatchError::Statement(detail)) if members.len() > 1 => {
                tracing::warn!(members = members.len(), %detail, "a batch of sessions failed, its members run alone");
                Some(members)
            }
            Err(error) => {
                for job in members {
                    job.answer(Err(refusal(&error)));
                }
                None
            }
        }
    }
}

/// As many as one batch takes, in their order; two of one key are never in one batch.
fn taken(waiting: Vec<Job<SessionWriter>>) -> (Vec<Job<SessionWriter>>, Vec<Job<SessionWriter>>) {
    let (mut members, mut rest) = (Vec::new(), Vec::new());
    let (mut bytes, mut keys) = (0, HashSet::new());
    let mut waiting = waiting.into_iter();
    for job in waiting.by_ref() {
        let key = job.command.idempotency.as_ref();
        let key = key.map(|it| (job.command.tenant.clone(), it.caller.clone(), it.key.clone()));
        let fits = members.is_empty()
            || members.len() < COMMANDS_MAX && bytes + job.command.size_bytes <= BATCH_BYTES_MAX;
        if !fits || key.is_some_and(|it| !keys.insert(it)) {
            // Whatever comes behind it stays behind it.
            rest.push(job);
            break;
        }
        bytes += job.command.size_bytes;
        members.push(job);
    }
    rest.extend(waiting);
    (members, rest)
}

impl PreparedChange {
    /// Whether a second time, after a connection was lost, is told from the first or changes nothing.
    fn is_safe_to_repeat(&self) -> bool {
        let repeats = |it: &Step<PreparedEntry>| it.repeats(|entry| entry.id.is_some());
        self.idempotency.is_some() || self.steps.iter().all(repeats)
    }
}
