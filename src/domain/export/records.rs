//! Defines the records of an export: threads and sessions without the keys, seals and numbers of one database. The room `export`
//! defines the file format.

use async_trait::async_trait;
use bytes::Bytes;

pub use super::readable::Readable;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::{
    Channel, CheckpointId, CheckpointNs, TaskId, TaskPath, ThreadId, Writer, check,
};
use crate::domain::sessions::name::SessionName;
use crate::domain::threads::details::Details;

/// What a thread is, apart from what it holds. A lease is not part of it: its holder is a process that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadHead {
    pub thread_id: String,
    pub generation: String,
    pub fence: i64,
    pub owner: Option<String>,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub last_step: Option<i64>,
    pub graph_id: Option<String>,
    pub assistant_id: Option<String>,
    pub user_id: Option<String>,
    pub details: Details,
}

/// A part of a thread. They come in this order: checkpoints by (namespace, id), each after the values that it is the first to
/// show and before its bases; then writes by (namespace, checkpoint, task, position).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadRecord {
    Value(ThreadValue),
    Checkpoint(ThreadCheckpoint),
    Base(ThreadBase),
    Write(ThreadWrite),
}

/// The first one is number 1, the next one number 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadValue {
    pub ns: String,
    pub channel: String,
    /// In its one form: a JSON scalar, strings without escapes.
    pub version: String,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCheckpoint {
    pub ns: String,
    pub id: String,
    pub parent: Option<String>,
    pub skeleton: Bytes,
    pub metadata: Bytes,
    /// Numbers of values, one per channel of the skeleton in channel order; 0 where it has no value.
    pub values: Vec<u32>,
    /// When it was first stored: what retention calls its age.
    pub created_at: Micros,
}

/// What a checkpoint shows of a channel whose ancestors were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadBase {
    pub ns: String,
    pub checkpoint_id: String,
    pub base: crate::domain::checkpoints::history::Base,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadWrite {
    pub ns: String,
    pub checkpoint_id: String,
    pub task_id: String,
    pub task_path: String,
    pub idx: i32,
    pub channel: String,
    /// Of writes that replace (`idx` below zero): who wrote it, and at which call.
    pub writer: Option<(String, i64)>,
    pub value: Value,
}

/// What a session is, apart from what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHead {
    pub kind: String,
    pub key: Vec<String>,
    pub owner: Option<String>,
    pub user_id: Option<String>,
    pub agent: Option<String>,
    pub title: Option<String>,
    pub created_at: Micros,
    pub updated_at: Micros,
    /// How many compactions there were.
    pub archives: i64,
    pub next_log: i64,
    pub size_bytes: i64,
}

/// Logs come in the order of (part, name), then entries in that of (log, era, number).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRecord {
    Log(SessionLog),
    Entry(SessionEntry),
}

/// A stream, a document or a counter; see the migration for what its numbers mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLog {
    /// 0 stream, 1 document, 2 counter.
    pub part: i64,
    pub name: Bytes,
    pub log_no: i64,
    pub era: i64,
    pub floor: i64,
    pub ceiling: Option<i64>,
    pub head: i64,
    pub compacted_head: i64,
    pub version: i64,
    pub size_bytes: i64,
    pub updated_at: Micros,
}

/// An entry of a stream, or a piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    pub log_no: i64,
    pub era: i64,
    pub seq: i64,
    pub id: Option<Bytes>,
    pub at: Micros,
    pub text: Bytes,
}

/// Takes a session as it is read.
#[async_trait]
pub trait SessionSink: Send {
    /// Once more where the session changed while it was read: what came before does not count.
    async fn begin_session(&mut self, head: SessionHead) -> Result<()>;

    async fn put_session(&mut self, record: SessionRecord) -> Result<()>;
}

/// Takes a thread as it is read.
#[async_trait]
pub trait ThreadSink: Send {
    /// Once more where the thread changed while it was read: what came before does not count.
    async fn begin(&mut self, head: ThreadHead) -> Result<()>;

    async fn put(&mut self, record: ThreadRecord) -> Result<()>;
}

/// Rows of a thread or a session that nobody sees yet.
#[derive(Debug, Clone)]
pub struct Staged {
    /// Of the thread, or the number of the session.
    pub key: i64,
    pub scope_id: i64,
    /// Keys of the versions of its values, by number: number 1 is the first.
    pub versions: Vec<i64>,
    pub checkpoints: i64,
    pub size_bytes: i64,
}

/// What becomes of a thread that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    /// Its rows become garbage; writers that held its generation are told that it was restored.
    Replace,
}

impl ThreadHead {
    /// # Errors
    /// 422 for names that no caller could have chosen.
    pub fn check(&self) -> Result<()> {
        ThreadId::new(self.thread_id.as_str())?;
        check("generation", &self.generation, LIMITS.thread_id_bytes_max, false)?;
        for (field, text) in [
            ("owner", &self.owner),
            ("graph_id", &self.graph_id),
            ("assistant_id", &self.assistant_id),
            ("user_id", &self.user_id),
        ] {
            if let Some(text) = text {
                check(field, text, LIMITS.checkpoint_id_bytes_max, true)?;
            }
        }
        if self.fence < 0 || self.created_at < 0 || self.updated_at < 0 {
            return Err(Error::invalid("fence", "fence and times must not be negative"));
        }
        Ok(())
    }
}

impl ThreadRecord {
    /// # Errors
    /// 422 for names that no caller could have chosen.
    pub fn check(&self) -> Result<()> {
        let place = |ns: &str, id: &str| {
            CheckpointNs::new(ns)?;
            CheckpointId::new(id).map(drop)
        };
        match self {
            Self::Value(it) => {
                CheckpointNs::new(it.ns.as_str())?;
                Channel::new(it.channel.as_str()).map(drop)
            }
            Self::Checkpoint(it) => {
                if let Some(parent) = &it.parent {
                    CheckpointId::new(parent.as_str())?;
                }
                place(&it.ns, &it.id)
            }
            Self::Base(it) => {
                Channel::new(it.base.channel.as_str())?;
                for (task, _) in &it.base.writes {
                    TaskId::new(task.as_str())?;
                }
                place(&it.ns, &it.checkpoint_id)
            }
            Self::Write(it) => {
                TaskId::new(it.task_id.as_str())?;
                TaskPath::new(it.task_path.as_str())?;
                Channel::new(it.channel.as_str())?;
                if let Some((writer, _)) = &it.writer {
                    Writer::new(writer.as_str())?;
                }
                place(&it.ns, &it.checkpoint_id)
            }
        }
    }

    /// About what it takes in memory.
    pub fn size_bytes(&self) -> usize {
        let values = |it: &Value| it.data.len() + 64;
        256 + match self {
            Self::Value(it) => values(&it.value),
            Self::Checkpoint(it) => it.skeleton.len() + it.metadata.len() + 4 * it.values.len(),
            Self::Base(it) => {
                let writes = it.base.writes.iter().map(|(_, it)| it);
                it.base.seed.iter().chain(writes).map(values).sum()
            }
            Self::Write(it) => values(&it.value),
        }
    }
}

impl SessionHead {
    /// # Errors
    /// 422 for names that no caller could have chosen.
    pub fn name(&self) -> Result<SessionName> {
        SessionName::new(self.kind.as_str(), self.key.clone())
    }

    /// # Errors
    /// As [`Self::name`].
    pub fn check(&self) -> Result<()> {
        for (field, text) in [
            ("owner", &self.owner),
            ("user_id", &self.user_id),
            ("agent", &self.agent),
            ("title", &self.title),
        ] {
            if let Some(text) = text {
                check(field, text, LIMITS.session_name_bytes_max, true)?;
            }
        }
        if self.archives < 0 || self.next_log < 0 || self.size_bytes < 0 {
            return Err(Error::invalid("archives", "counters must not be negative"));
        }
        self.name().map(drop)
    }
}

impl SessionRecord {
    /// # Errors
    /// 422 for what no session has.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::invalid("session", what.to_owned()));
        match self {
            Self::Log(it) if !(0..=2).contains(&it.part) => wrong("a log of an unknown kind"),
            Self::Log(it) if it.name.len() as u64 > LIMITS.session_name_bytes_max => {
                wrong("the name of a log is too long")
            }
            Self::Entry(it) if it.seq < 1 || it.era < 0 => wrong("an entry without a number"),
            _ => Ok(()),
        }
    }

    /// About what it takes in memory.
    pub fn size_bytes(&self) -> usize {
        256 + match self {
            Self::Log(it) => it.name.len(),
            Self::Entry(it) => it.text.len() + it.id.as_ref().map_or(0, Bytes::len),
        }
    }
}
