//! Defines the rows of one batch, as the planner makes them and a storage engine writes them.

use std::sync::Arc;

use bytes::Bytes;

use super::prepared::{Condition, Sealed, ThreadLabels};
use crate::domain::clock::Micros;

/// Rows of one statement. `thread` fields are indexes into `threads`.
#[derive(Debug, Default)]
pub struct Batch {
    /// Sorted by (tenant, thread id): the order in which scopes are locked.
    pub threads: Vec<ThreadRow>,
    pub checkpoints: Vec<CheckpointRow>,
    pub slots: Vec<SlotRow>,
    pub values: Vec<ValueRow>,
    pub writes: Vec<WriteRow>,
    /// Each once per thread.
    pub chunks: Vec<ChunkRow>,
    pub now: Micros,
}

#[derive(Debug)]
pub struct ThreadRow {
    pub tenant: String,
    pub thread_id: String,
    pub owner: Option<String>,
    pub condition: Condition,
    pub fresh: Fresh,
    pub last_step: Option<i64>,
    pub labels: ThreadLabels,
    /// False: nothing is written when the thread is not there.
    pub may_create: bool,
    /// How many numbers the values of this thread take in its scope.
    pub value_count: i32,
}

/// Identity of a thread if this batch creates it.
#[derive(Debug)]
pub struct Fresh {
    pub thread_key: i64,
    pub scope_id: i64,
    pub generation: String,
}

#[derive(Debug)]
pub struct CheckpointRow {
    pub thread: usize,
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    /// Whose values carried channels are taken from; differs from `parent` when that is in this batch.
    pub look_parent: Option<String>,
    pub documents: Bytes,
    pub size_bytes: i32,
    pub legacy: bool,
    pub run_id: Option<String>,
    pub delta_channels: Vec<String>,
    pub delta_keys: Vec<i64>,
}

/// One channel of one checkpoint of the batch.
#[derive(Debug, Clone)]
pub struct SlotRow {
    pub checkpoint: usize,
    pub channel_key: i64,
    pub version_key: i64,
    pub value: SlotValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotValue {
    /// The n-th new value of the thread in this batch.
    New(i32),
    Empty,
    Carried(Option<[u8; 16]>),
}

#[derive(Debug)]
pub struct ValueRow {
    pub thread: usize,
    /// 0-based within the thread.
    pub rank: i32,
    pub version_key: i64,
    pub sealed: Sealed,
    /// Which checkpoint of the batch it was sent with.
    pub checkpoint: Option<usize>,
}

#[derive(Debug)]
pub struct ChunkRow {
    pub thread: usize,
    pub name: [u8; 12],
    pub body: Bytes,
}

#[derive(Debug)]
pub struct WriteRow {
    pub thread: usize,
    pub ns: String,
    pub checkpoint_id: String,
    pub task_id: String,
    pub idx: i32,
    pub task_path: Arc<str>,
    pub channel: String,
    pub writer: String,
    pub seq: i64,
    pub sealed: Sealed,
}

impl WriteRow {
    /// A replacing write gives way only to a later one of the same writer.
    pub fn supersedes(&self, stored: &Self) -> bool {
        self.writer != stored.writer || self.seq >= stored.seq
    }
}
