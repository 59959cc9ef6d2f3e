//! Defines a commit that is ready for the queue. Its values are sealed and its keys hashed, so a batch needs no I/O for it.

use bytes::Bytes;

use crate::domain::clock::Micros;
use crate::domain::error::Full;
use crate::domain::names::{CheckpointId, CheckpointNs, TaskId, TaskPath, ThreadId};

/// Stored form of a value: the envelope's bytes and what is known of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub tag: String,
    /// Length of the value, before compression.
    pub size_bytes: i32,
    /// Keyed digest of the value.
    pub digest: [u8; 16],
    /// The envelope of the value, or of its ends when it is split.
    pub body: Bytes,
    /// The list of its chunks when it is split.
    pub parts: Option<Bytes>,
}

/// A piece of content that values of a scope share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Keyed digest of what is in it.
    pub name: [u8; 12],
    /// The envelope.
    pub body: Bytes,
}

/// One commit of one caller, ready to be folded into a batch.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub tenant: String,
    /// Subject that owns the thread if this commit creates it.
    pub owner: Option<String>,
    pub thread_id: ThreadId,
    pub condition: Condition,
    pub writer: String,
    /// The write must have begun by then.
    pub deadline: Micros,
    /// Set when it may not make its thread.
    pub full: Option<Full>,
    pub ops: Vec<PreparedOp>,
    /// What the values need, but for what the scope has at the condition's epoch.
    pub chunks: Vec<Chunk>,
    pub size_bytes: usize,
}

impl Prepared {
    /// About how many rows and map entries a database writes for it.
    pub fn rows(&self) -> usize {
        let of_op = |op: &PreparedOp| match op {
            PreparedOp::Checkpoint(put) => 1 + put.slots.len() + put.unlisted.len(),
            PreparedOp::Writes(group) => group.writes.len(),
        };
        self.chunks.len() + self.ops.iter().map(of_op).sum::<usize>()
    }
}

/// What must hold for the thread when the commit is applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// Subject that the thread must belong to if it is there.
    pub owner: Option<String>,
    pub generation: Option<String>,
    pub fence: Option<i64>,
    /// Epoch of the scope for which the content was planned; None when nothing was left out.
    pub epoch: Option<i64>,
    /// Scope that the content is encrypted for; None: it is not encrypted.
    pub scope: Option<PlannedScope>,
}

/// The content scope of a thread, before the batch has looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedScope {
    pub id: i64,
    /// The thread was seen with it. Else it was made up for a thread that may be new; only such a one may be created with
    /// it, since the scope of a deleted thread must never come back.
    pub exists: bool,
}

#[derive(Debug, Clone)]
pub enum PreparedOp {
    Checkpoint(Box<PreparedCheckpoint>),
    Writes(PreparedWrites),
}

#[derive(Debug, Clone)]
pub struct PreparedCheckpoint {
    pub ns: CheckpointNs,
    pub id: CheckpointId,
    pub parent: Option<CheckpointId>,
    /// Skeleton and metadata, sealed together.
    pub documents: Bytes,
    /// Both before compression.
    pub size_bytes: i32,
    /// `v` of the skeleton is below 4.
    pub legacy: bool,
    pub step: Option<i64>,
    pub run_id: Option<String>,
    pub labels: ThreadLabels,
    /// Delta channels that the metadata names and that have a version, and the keys of their names.
    pub delta_channels: Vec<String>,
    pub delta_keys: Vec<i64>,
    /// One per channel of `channel_versions`, in channel order (bytes).
    pub slots: Vec<Slot>,
    /// New values whose (channel, version) is not in `channel_versions`: kept for later checkpoints.
    pub unlisted: Vec<(i64, Sealed)>,
}

/// Fields of checkpoint metadata that are copied to the thread, for filters only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadLabels {
    pub graph_id: Option<String>,
    pub assistant_id: Option<String>,
    pub user_id: Option<String>,
}

/// One channel of a checkpoint: which value it shows.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Hash of the channel's name.
    pub channel_key: i64,
    /// Hash of namespace, channel and version.
    pub version_key: i64,
    pub source: SlotSource,
}

#[derive(Debug, Clone)]
pub enum SlotSource {
    New(Sealed),
    /// Moved to this version without a value.
    Empty,
    /// Not in `new_versions`: the parent's, a sibling's or the newest of this version. The digest of the
    /// value the caller holds settles ties.
    Carried(Option<[u8; 16]>),
}

#[derive(Debug, Clone)]
pub struct PreparedWrites {
    pub ns: CheckpointNs,
    pub checkpoint_id: CheckpointId,
    pub task_id: TaskId,
    pub task_path: TaskPath,
    pub seq: i64,
    /// (idx, channel, value)
    pub writes: Vec<(i32, String, Sealed)>,
}
