//! Declares the traits of a storage engine for checkpoints, with what they answer.

use async_trait::async_trait;
use bytes::Bytes;

use super::checkpoint::{Commit, ListCursor, ListQuery, NewPart, Target, View};
use super::history::{Base, Chain};
use super::planner::Batch;
use super::prepared::Prepared;
use super::timeline::{Timeline, TimelineQuery};
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::names::{CheckpointNs, ThreadId};
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::threads::storage::ThreadStorage;

/// How a batch ended for one of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done {
        generation: String,
        /// Epoch of the thread's scope.
        epoch: i64,
    },
    /// Nothing was written for this thread.
    ThreadRestored {
        current: String,
    },
    LeaseHeld,
    FenceStale {
        current: i64,
    },
    /// The thread belongs to another than the condition asks for.
    ThreadTaken,
    /// The content was planned for another epoch of the scope: plan again with everything in it.
    EpochStale {
        current: i64,
    },
    /// The thread is not there, and none may be made.
    QuotaExceeded,
    /// The content was encrypted for another scope than the thread has: plan again for this one, or, where the thread is
    /// gone, for a new one.
    ScopeStale {
        current: Option<i64>,
    },
    /// The thread's row is not as a server wrote it: nothing is written to it.
    ThreadForged,
    /// Another server created the thread at the same moment: send the same batch again.
    Raced,
}

/// Checkpoints stand in threads, so it has those, too.
#[async_trait]
pub trait CheckpointStorage: ThreadStorage + ValuePartStorage + LaneStorage {
    /// Seals the values of a commit with the tenant's secrets. No round trip once the tenant is known here.
    async fn prepare(&self, caller: &Caller, commit: Commit, deadline: Micros) -> Result<Prepared>;

    /// Applies a batch: one statement (PostgreSQL) or one transaction (SQLite). One outcome per thread row.
    async fn write_batch(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError>;

    /// One round trip: the checkpoint, its values and writes, and the history of its delta channels and of
    /// those of `history_channels` that have a version here, all without a value.
    async fn get_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple>;

    /// A page in the order (checkpoint id descending, thread id, ns), with the shared chain of histories when the
    /// query asks for it. Two round trips, one more per delta snapshot that the page crosses.
    async fn list_checkpoints(&self, caller: &Caller, query: &ListQuery) -> Result<Page>;

    /// The checkpoints of one thread without their values, in the order of `list_checkpoints`, with the namespaces of the thread on
    /// the first page. Round trips: those of that listing, and three more.
    async fn list_timeline(&self, caller: &Caller, query: &TimelineQuery) -> Result<Timeline>;

    /// One round trip. None: no such checkpoint.
    async fn get_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>>;

    /// Those of `among` that have a checkpoint in the thread, in any order; none of a thread that is absent or not the caller's. One
    /// round trip.
    async fn list_checkpoint_namespaces(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        among: &[CheckpointNs],
    ) -> Result<Vec<String>>;

    /// Removes the checkpoints of these runs with their writes in all threads that the caller may write to; checkpoints
    /// that stay get a delta base first.
    async fn delete_for_runs(&self, caller: &Caller, run_ids: &[String]) -> Result<()>;
}

/// Answer of `get_checkpoint`.
#[derive(Debug, Default)]
pub struct CheckpointTuple {
    /// None: no such thread.
    pub generation: Option<String>,
    pub view: Option<View>,
    pub history_channels: Vec<String>,
    pub chain: Chain,
}

#[derive(Debug, Default)]
pub struct Page {
    pub views: Vec<View>,
    /// Set when there may be more.
    pub next: Option<ListCursor>,
    pub history_channels: Vec<String>,
    pub chain: Chain,
}

#[derive(Debug)]
pub struct TargetHistory {
    pub checkpoint_id: String,
    pub parent: Option<String>,
    pub bases: Vec<Base>,
    pub chain: Chain,
}

#[async_trait]
pub trait ValuePartStorage: Send + Sync {
    /// Keeps a part for a commit to this thread. Answers its name; None where there is no such thread.
    async fn put_value_part(
        &self,
        caller: &Caller,
        part: &NewPart,
        now: Micros,
    ) -> Result<Option<Bytes>>;

    /// The parts that this commit named count as its values from now on. They stay for who sends it again.
    async fn take_value_parts(&self, caller: &Caller, commit: &Commit) -> Result<()>;

    /// The bytes of a part that a read named. None where it is not there, or not of this thread.
    async fn get_value_part(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        name: &[u8],
    ) -> Result<Option<Bytes>>;
}
