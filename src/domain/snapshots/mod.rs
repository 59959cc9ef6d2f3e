//! Defines snapshots: the requests, the contents of one, and the effect of a restore. Pure; permission and order of calls are in
//! [`service`].

pub mod archives;
pub mod export;
pub mod restore;
pub mod rewind;
mod rights;
pub mod service;
pub mod storage;
pub mod take;

use std::collections::BTreeMap;

use bytes::Bytes;

use self::archives::Archive;
use super::clock::Micros;
use super::error::{Error, Result};
use super::sessions::name::SessionName;
use super::store::namespace::Namespace;

/// What is not there, in errors.
pub const SNAPSHOT: &str = "snapshot";

/// How much of a thread is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    All,
    /// The newest checkpoint of each namespace, with what its delta channels need.
    Head,
}

/// A snapshot as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub id: String,
    /// What hidden rows are named after.
    pub no: i64,
    pub owner: Option<String>,
    /// When it was there.
    pub created_at: Micros,
    /// The one moment that everything in it is of.
    pub taken_at: Micros,
    pub expires_at: Option<Micros>,
    pub labels: BTreeMap<String, String>,
    pub document: Option<Bytes>,
    pub threads: Vec<ThreadPart>,
    pub namespaces: Vec<NamespacePart>,
    pub sessions: Vec<SessionPart>,
    /// Staged before; of the same moment only if nobody wrote to the workspace in between.
    pub archive: Option<Archive>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPart {
    pub part_no: i64,
    pub session: SessionName,
    pub entries: i64,
    pub size_bytes: i64,
    pub owner: Option<String>,
}

/// A namespace with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePart {
    pub part_no: i64,
    pub namespace: Namespace,
    pub items: i64,
    pub size_bytes: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPart {
    pub part_no: i64,
    pub thread_id: String,
    /// At that moment.
    pub generation: String,
    pub history: History,
    pub checkpoints: i64,
    pub size_bytes: i64,
    pub owner: Option<String>,
}

impl History {
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Head => "head",
        }
    }

    /// # Errors
    /// 422 for another name.
    pub fn parse(field: &str, name: &str) -> Result<Self> {
        [Self::All, Self::Head].into_iter().find(|it| it.name() == name).ok_or_else(|| {
            Error::invalid(field, format!("{field} must be `all` or `head`, not {name:?}"))
        })
    }
}

impl Snapshot {
    /// As its parts count themselves: before compression and sharing.
    pub fn size_bytes(&self) -> i64 {
        let threads = self.threads.iter().map(|it| it.size_bytes);
        let namespaces = self.namespaces.iter().map(|it| it.size_bytes);
        let sessions = self.sessions.iter().map(|it| it.size_bytes);
        let archive = self.archive.iter().map(|it| it.size_bytes.cast_signed());
        threads.chain(namespaces).chain(sessions).chain(archive).sum()
    }
}
