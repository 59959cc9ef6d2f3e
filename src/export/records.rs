//! Defines the payloads of frames: MessagePack maps with one entry, whose name is the type. Names and meanings are part of the format and
//! never change. A change that an older reader would misunderstand needs a new format number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::values::Packed;
use crate::domain::threads::ttl::TtlOf;

/// The greatest format that this program reads; it writes it where there are snapshots.
pub const FORMAT: u32 = 2;
/// Without snapshots, for programs that know none.
pub const FORMAT_PLAIN: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    Begin(Begin),
    /// Of a thread; a second one before the end takes the place of everything since the first.
    Thread(Head),
    Value(ValueOf),
    Checkpoint(Checkpoint),
    Base(BaseOf),
    /// Belongs to the base before it.
    BaseWrite(BaseWrite),
    Write(WriteOf),
    /// Of a session; a second one before the end as for threads.
    Session(Session),
    Log(Log),
    Entry(Entry),
    /// Of the store; several together are a noun, or one with what follows it.
    Item(ItemOf),
    /// Belongs to the item before it.
    Earlier(EarlierOf),
    /// Bytes of a content of the one item of the noun: its own first, then those of its earlier versions.
    Slice(SliceOf),
    Setting(SettingOf),
    Policy(PolicyOf),
    /// Of a snapshot; what comes before its end is its own.
    Snapshot(SnapshotOf),
    /// Begins a thread, a session or the items of a namespace that the snapshot keeps.
    Part(PartOf),
    /// Of the snapshot, after its parts; its slices follow.
    Archive(ArchiveOf),
    /// In the place of the end of a snapshot: forget what came of it.
    Gone(Gone),
    /// Of the noun that was begun.
    End(End),
    Finish(Finish),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    pub format: u32,
    /// Program and version; for people.
    pub made_by: String,
    /// RFC 3339; for people.
    pub made_at: String,
    /// Where it comes from; for people. It can be imported into any tenant.
    pub tenant: String,
    pub is_signed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub thread_id: String,
    pub generation: String,
    pub fence: i64,
    pub owner: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub last_step: Option<i64>,
    pub graph_id: Option<String>,
    pub assistant_id: Option<String>,
    pub user_id: Option<String>,
    /// What people set of the thread, where they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<DetailsOf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetailsOf {
    pub version: i64,
    pub title: Option<String>,
    /// The exact text of a JSON object.
    pub metadata: String,
    /// The title that was derived from the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<TtlOf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tagged {
    pub tag: String,
    pub data: Packed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueOf {
    pub ns: String,
    pub channel: String,
    pub version: String,
    pub value: Tagged,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub skeleton: ByteBuf,
    pub metadata: ByteBuf,
    pub values: Vec<u32>,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseOf {
    pub ns: String,
    pub checkpoint_id: String,
    pub channel: String,
    pub seed: Option<Tagged>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseWrite {
    pub task_id: String,
    pub value: Tagged,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteOf {
    pub ns: String,
    pub checkpoint_id: String,
    pub task_id: String,
    pub task_path: String,
    pub idx: i32,
    pub channel: String,
    pub writer: Option<(String, i64)>,
    pub value: Tagged,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub kind: String,
    pub key: Vec<String>,
    pub owner: Option<String>,
    pub user_id: Option<String>,
    pub agent: Option<String>,
    pub title: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub archives: i64,
    pub next_log: i64,
    pub size_bytes: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "names of the format")]
pub struct Log {
    /// 0 stream, 1 document, 2 counter.
    pub part: i64,
    pub name: ByteBuf,
    pub log_no: i64,
    pub era: i64,
    pub floor: i64,
    pub ceiling: Option<i64>,
    pub head: i64,
    pub compacted_head: i64,
    pub version: i64,
    pub size_bytes: i64,
    pub updated_at: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub log_no: i64,
    pub era: i64,
    pub seq: i64,
    pub id: Option<ByteBuf>,
    pub at: i64,
    pub text: Packed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemOf {
    pub namespace: Vec<String>,
    /// UTF-8; lone surrogates as three bytes each.
    pub key: ByteBuf,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub ttl_micros: Option<i64>,
    pub expires_at: Option<i64>,
    /// Earlier versions that it keeps.
    pub history: i64,
    /// The exact JSON text.
    pub value: Packed,
    pub content: Option<ContentOf>,
    pub vectors: Option<VectorsOf>,
    pub index: Option<IndexOf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierOf {
    pub version: i64,
    pub updated_at: i64,
    pub ttl_micros: Option<i64>,
    pub value: Packed,
    pub content: Option<ContentOf>,
}

/// A content that is too large for a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContentOf {
    pub size: u64,
    pub sha256: Option<ByteBuf>,
    pub created_at: Option<ByteBuf>,
    pub modified_at: Option<ByteBuf>,
    pub media_type: Option<ByteBuf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorsOf {
    pub model: String,
    /// Path of the part of the value, and the numbers.
    pub of: Vec<(String, Vec<f32>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexOf {
    pub fields: String,
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceOf {
    pub bytes: ByteBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingOf {
    pub namespace: Vec<String>,
    pub history: Option<u32>,
    pub text_fields: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyOf {
    /// None: of the tenant.
    pub thread_id: Option<String>,
    pub expire_after_seconds: Option<i64>,
    pub keep_last: Option<u32>,
    pub older_than_seconds: Option<i64>,
    pub keep_interrupted: bool,
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// HMAC-SHA256 over everything before this frame.
    pub signature: Option<ByteBuf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotOf {
    pub snapshot_id: String,
    pub owner: Option<String>,
    pub created_at: i64,
    pub taken_at: i64,
    pub expires_at: Option<i64>,
    pub labels: BTreeMap<String, String>,
    /// The exact JSON text.
    pub document: Option<ByteBuf>,
    /// SHA-256 of what was asked for, by which the same request finds it; empty: nobody asked.
    pub asked: ByteBuf,
}

/// One of the three names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartOf {
    pub part_no: i64,
    pub thread_id: Option<String>,
    pub namespace: Option<Vec<String>>,
    pub session: Option<(String, Vec<String>)>,
    pub owner: Option<String>,
    /// Of threads: `all` or `head`, and their generation.
    pub history: Option<String>,
    pub generation: Option<String>,
    /// Checkpoints, items or entries.
    pub entries: i64,
    pub size_bytes: i64,
}

/// Of a workspace: what its slices are together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArchiveOf {
    pub workspace: String,
    pub size_bytes: u64,
    pub file_count: u64,
    pub sha256: ByteBuf,
    pub staged_at: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gone {}

/// How many of each there are in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    #[serde(default)]
    pub threads: u64,
    #[serde(default)]
    pub sessions: u64,
    #[serde(default)]
    pub items: u64,
    #[serde(default)]
    pub settings: u64,
    #[serde(default)]
    pub policies: u64,
    #[serde(default)]
    pub snapshots: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finish {
    pub counts: Counts,
    pub signature: Option<ByteBuf>,
}

impl Record {
    pub fn encode(&self) -> Vec<u8> {
        rmp_serde::to_vec_named(self).expect("plain records always serialize")
    }

    /// How long its value says that it is, in bytes.
    pub fn value_bytes(&self) -> usize {
        let packed = match self {
            Self::Value(it) => Some(&it.value.data),
            Self::Base(it) => it.seed.as_ref().map(|it| &it.data),
            Self::BaseWrite(it) => Some(&it.value.data),
            Self::Write(it) => Some(&it.value.data),
            Self::Entry(it) => Some(&it.text),
            Self::Item(it) => Some(&it.value),
            Self::Earlier(it) => Some(&it.value),
            _ => None,
        };
        packed.map_or(0, |it| usize::try_from(it.size).unwrap_or(usize::MAX))
    }

    pub fn decode(payload: &[u8]) -> Result<Self, String> {
        let mut reader = rmp_serde::Deserializer::from_read_ref(payload);
        let record = Self::deserialize(&mut reader).map_err(|error| error.to_string())?;
        Ok(record)
    }
}

/// The format number of a first payload, which may be of a later format.
pub fn format_of(payload: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Any {
        begin: Number,
    }
    #[derive(Deserialize)]
    struct Number {
        format: u32,
    }
    rmp_serde::from_slice::<Any>(payload).ok().map(|it| it.begin.format)
}
