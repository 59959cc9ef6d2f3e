//! Defines checkpoints, writes and values as callers send and receive them (LangGraph's `BaseCheckpointSaver` contract).

use bytes::Bytes;

use super::wanted::WantedChannels;
use crate::domain::error::{Error, Full, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{
    Channel, CheckpointId, CheckpointNs, Tag, TaskId, TaskPath, ThreadId, Writer,
};

/// Tag of "this channel has no value at this version". Not the same as the value null.
pub const EMPTY: &str = "empty";
/// Channel of the `Send`s that checkpoints before format 4 kept as writes of their parent.
pub const PENDING_SENDS: &str = "__pregel_tasks";

/// A serialized value: opaque bytes and the codec that made them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub tag: Tag,
    /// Nothing of a value in parts.
    pub data: Bytes,
    pub in_parts: Option<Box<InParts>>,
}

/// A value whose bytes travel apart from the commit or the answer that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InParts {
    /// What the server calls its parts, in their order.
    pub names: Vec<Bytes>,
    pub size_bytes: u64,
}

/// How a read answers values that came in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LargeValues {
    /// With their bytes.
    #[default]
    Whole,
    /// With their bytes up to `value_inline_bytes_max`: the reader did not ask for parts.
    Inline,
    /// With their bytes up to `value_in_parts_bytes_min`.
    InParts,
    /// With their bytes up to `display_bytes_max`: nothing larger is shown as JSON.
    Shown,
    /// With their bytes up to [`SHORT_VALUE_BYTES_MAX`]; of all others, whatever they came in, the size. For a checkpoint of which not
    /// everything that is shown fits in memory.
    Short,
}

/// Values up to this size are never in chunks.
pub const SHORT_VALUE_BYTES_MAX: u64 = 2_048;

impl LargeValues {
    /// Size over which a value comes as the names of its parts, if it came in parts.
    pub fn bytes_max(self) -> i64 {
        let limit = match self {
            Self::Whole => return i64::MAX,
            Self::Inline => LIMITS.value_inline_bytes_max,
            Self::InParts => LIMITS.value_in_parts_bytes_min,
            Self::Shown => LIMITS.display_bytes_max,
            Self::Short => SHORT_VALUE_BYTES_MAX,
        };
        limit.cast_signed()
    }

    /// What the values of one answer may have together to be opened: more than an answer holds.
    pub fn together_bytes_max(self) -> u64 {
        match self {
            Self::Whole => i64::MAX.cast_unsigned(),
            _ => LIMITS.bytes_in_flight_per_tenant_max,
        }
    }

    /// Whether a value comes as its size alone.
    pub fn leaves_out(self, size_bytes: i32) -> bool {
        self == Self::Short && i64::from(size_bytes) > self.bytes_max()
    }
}

impl Value {
    pub fn new(tag: Tag, data: Bytes) -> Self {
        Self { tag, data, in_parts: None }
    }

    /// One that a read leaves out: only its size is told.
    pub fn left_out(tag: Tag, size_bytes: u64) -> Self {
        let in_parts = Some(Box::new(InParts { names: Vec::new(), size_bytes }));
        Self { tag, data: Bytes::new(), in_parts }
    }

    /// What it is known by where its bytes are not at hand: its bytes, or what the server calls its parts.
    pub fn known_by(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.data).chain(self.in_parts.iter().flat_map(|it| &it.names))
    }

    /// Bytes of the value, wherever they are.
    pub fn size_bytes(&self) -> u64 {
        self.in_parts.as_ref().map_or(self.data.len() as u64, |it| it.size_bytes)
    }
}

/// A part of a value on its way, ahead of the commit that names it.
#[derive(Debug, Clone)]
pub struct NewPart {
    pub thread_id: ThreadId,
    /// As in [`Commit`].
    pub generation: Option<String>,
    pub fence: Option<i64>,
    /// Its place in the value, from 0.
    pub index: u64,
    pub data: Bytes,
}

impl NewPart {
    /// # Errors
    /// 422 naming the field and the limit.
    pub fn check(&self) -> Result<()> {
        let count = LIMITS.value_bytes_max / LIMITS.value_part_bytes;
        if self.index >= count {
            let detail = format!("index must be below {count}: a value has at most so many parts");
            return Err(Error::out_of_range("index", detail, count - 1));
        }
        let limit = LIMITS.value_part_bytes;
        if self.data.is_empty() || self.data.len() as u64 > limit {
            let detail = format!("data must have 1 to {limit} bytes");
            return Err(Error::out_of_range("data", detail, limit));
        }
        Ok(())
    }
}

/// Everything one request writes to one thread, applied in order, whole or not at all.
#[derive(Debug, Clone)]
pub struct Commit {
    pub thread_id: ThreadId,
    /// Generation the caller last read; None skips the check.
    pub generation: Option<String>,
    pub fence: Option<i64>,
    pub writer: Writer,
    pub ops: Vec<Op>,
    /// Set when no thread may be made: then it goes only to one that exists.
    pub full: Option<Full>,
}

#[derive(Debug, Clone)]
pub enum Op {
    Checkpoint(CheckpointPut),
    Writes(WriteGroup),
}

#[derive(Debug, Clone)]
pub struct CheckpointPut {
    pub ns: CheckpointNs,
    pub id: CheckpointId,
    pub parent: Option<CheckpointId>,
    /// The checkpoint without `channel_values`: exact JSON text of an object.
    pub skeleton: Bytes,
    /// Exact JSON text of an object.
    pub metadata: Bytes,
    /// One per channel of `new_versions`; tag [`EMPTY`] where it has no value.
    pub values: Vec<NewValue>,
    /// For forks: values the caller holds for channels that are carried over; they settle ties, nothing else.
    pub carried: Vec<NewValue>,
}

#[derive(Debug, Clone)]
pub struct NewValue {
    pub channel: Channel,
    /// JSON scalar, exact text.
    pub version: Bytes,
    pub value: Value,
}

/// The writes of one task on one checkpoint, which need not exist yet.
#[derive(Debug, Clone)]
pub struct WriteGroup {
    pub ns: CheckpointNs,
    pub checkpoint_id: CheckpointId,
    pub task_id: TaskId,
    pub task_path: TaskPath,
    /// Call number of the writer; a replacing write never gives way to an earlier one of the same writer.
    pub seq: i64,
    pub writes: Vec<NewWrite>,
}

#[derive(Debug, Clone)]
pub struct NewWrite {
    /// Position in the call; negative for the special channels, which replace.
    pub idx: i32,
    pub channel: Channel,
    pub value: Value,
}

/// Which checkpoint to read; no id means the greatest by byte order.
#[derive(Debug, Clone)]
pub struct Target {
    pub thread_id: ThreadId,
    pub ns: CheckpointNs,
    pub id: Option<CheckpointId>,
    pub large_values: LargeValues,
    pub wanted: WantedChannels,
}

/// A checkpoint as stored, with everything that belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub thread_id: String,
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub skeleton: Bytes,
    pub metadata: Bytes,
    /// In channel order (bytes).
    pub values: Vec<(String, Value)>,
    /// In (`task_path`, `task_id`, `idx`) order.
    pub writes: Vec<PendingWrite>,
    /// The parent's `__pregel_tasks` writes when the skeleton's `v` is below 4.
    pub pending_sends: Vec<Value>,
    /// Delta bases of this checkpoint (see `history`).
    pub bases: Vec<super::history::Base>,
    /// Channels with a version and no value that the metadata names as delta channels.
    pub delta_channels: Vec<String>,
}

impl View {
    /// All values in it.
    pub fn all_values(&self) -> impl Iterator<Item = &Value> {
        let values = self.values.iter().map(|(_, it)| it);
        let writes = self.writes.iter().map(|it| &it.value);
        let bases = self.bases.iter().flat_map(super::history::Base::all_values);
        values.chain(writes).chain(&self.pending_sends).chain(bases)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingWrite {
    pub task_id: String,
    pub channel: String,
    pub value: Value,
    /// Of a write that replaces earlier ones, where one checkpoint is read.
    pub call: Option<WriteCall>,
}

/// The call that a write came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteCall {
    pub writer: String,
    /// Its number among the calls of the writer.
    pub seq: i64,
}

impl WriteCall {
    /// None of a write that replaces nothing: engines need not keep it.
    pub fn of_row(idx: i64, writer: Option<String>, seq: Option<i64>) -> Option<Self> {
        let (writer, seq) = writer.zip(seq).filter(|_| idx < 0)?;
        Some(Self { writer, seq })
    }
}

/// Which checkpoints to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    pub thread_id: Option<ThreadId>,
    pub ns: Option<CheckpointNs>,
    pub id: Option<CheckpointId>,
    /// Ids strictly smaller, and strictly greater.
    pub before: Option<CheckpointId>,
    pub since: Option<CheckpointId>,
    /// A JSON object; see `exact_json::contains`.
    pub filter: Option<serde_json::Value>,
    pub limit: usize,
    pub after: Option<ListCursor>,
    pub values: bool,
    pub large_values: LargeValues,
    pub wanted: WantedChannels,
    /// None: no histories at all (listing without values, or over all threads).
    pub history_channels: Option<Vec<String>>,
}

/// Position in the order of listings: (checkpoint id descending, thread id, namespace).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCursor {
    pub id: String,
    pub thread_id: String,
    pub ns: String,
}

impl Commit {
    /// Values in their order: of each checkpoint the new ones and the carried ones, of each group its writes.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.ops.iter().flat_map(|op| -> Box<dyn Iterator<Item = &Value> + Send> {
            match op {
                Op::Checkpoint(put) => {
                    Box::new(put.values.iter().chain(&put.carried).map(|it| &it.value))
                }
                Op::Writes(group) => Box::new(group.writes.iter().map(|it| &it.value)),
            }
        })
    }

    /// Checks the counts that types cannot express.
    ///
    /// # Errors
    /// 422 naming the field and the limit.
    pub fn check(&self) -> Result<()> {
        at_most("ops", self.ops.len(), LIMITS.ops_per_commit_max)?;
        if self.ops.is_empty() {
            return Err(Error::invalid("ops", "ops must not be empty"));
        }
        let (mut paths_bytes, mut entries) = (0, 0);
        for op in &self.ops {
            match op {
                Op::Checkpoint(put) => {
                    at_most("values", put.values.len(), LIMITS.channels_max)?;
                    at_most("carried", put.carried.len(), LIMITS.channels_max)?;
                    entries += put.values.len() + put.carried.len();
                }
                Op::Writes(group) => {
                    at_most("writes", group.writes.len(), LIMITS.writes_per_op_max)?;
                    entries += group.writes.len();
                    paths_bytes += group.task_path.as_str().len() * group.writes.len();
                }
            }
        }
        let limit = LIMITS.writes_per_commit_max;
        if entries as u64 > limit {
            let detail = format!(
                "the checkpoints and groups of this commit have {entries} values and writes together, at most {limit} \
                 are allowed"
            );
            return Err(Error::out_of_range("writes", detail, limit));
        }
        let limit = LIMITS.task_paths_per_commit_bytes_max;
        if paths_bytes as u64 > limit {
            let detail = format!(
                "the paths of this commit's writes are {paths_bytes} bytes long together, at most {limit} are allowed: \
                 send the writes of a task with a long task_path in several commits"
            );
            return Err(Error::out_of_range("task_path", detail, limit));
        }
        let parts = self.values().filter_map(|it| Some(it.in_parts.as_ref()?.names.len())).sum();
        at_most("parts", parts, LIMITS.value_parts_per_commit_max)
    }
}
