//! Converts the heads of a snapshot and of its parts to records of a file, and back. A snapshot from a file must satisfy the rules for
//! taking one.

use serde_bytes::ByteBuf;
use serde_json::value::RawValue;

use super::records::{ArchiveOf, PartOf, SnapshotOf};
use crate::domain::caller::check_subject;
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::archives::Archive;
use crate::domain::snapshots::take::{TakeSnapshot, TakeThread};
use crate::domain::snapshots::{History, NamespacePart, SessionPart, Snapshot, ThreadPart};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};

/// A snapshot of a file as far as it was read.
pub struct SnapshotHead {
    /// As one of this database.
    pub snapshot: Snapshot,
    /// Digest of what was asked for when it was taken.
    pub asked: Vec<u8>,
    /// What somebody who takes it would ask for.
    named: TakeSnapshot,
    last_part: i64,
}

impl SnapshotHead {
    /// One that has no parts yet.
    ///
    /// # Errors
    /// 422 and 413 for what no caller could have taken.
    pub fn begin(of: SnapshotOf, number: i64) -> Result<Self> {
        SnapshotId::new(of.snapshot_id.as_str())?;
        let asked = of.asked.into_vec();
        let is_time = |it: i64| it >= 0;
        if !matches!(asked.len(), 0 | 32) || !is_time(of.created_at) || !is_time(of.taken_at) {
            return Err(wrong("a snapshot that nobody took"));
        }
        if of.expires_at.is_some_and(|it| it <= 0) {
            return Err(wrong("a snapshot that never was there"));
        }
        check_subject("owner", of.owner.as_deref())?;
        let named = TakeSnapshot {
            id: None,
            threads: Vec::new(),
            namespaces: Vec::new(),
            sessions: Vec::new(),
            archive: None,
            labels: of.labels,
            document: of.document.map(|it| it.into_vec().into()),
            expires_in_seconds: None,
        };
        named.check()?;
        if let Some(document) = &named.document
            && serde_json::from_slice::<&RawValue>(document).is_err()
        {
            return Err(wrong("a document that is no JSON"));
        }
        let snapshot = Snapshot {
            id: of.snapshot_id,
            no: number,
            owner: of.owner,
            created_at: of.created_at,
            taken_at: of.taken_at,
            expires_at: of.expires_at,
            labels: named.labels.clone(),
            document: named.document.clone(),
            threads: Vec::new(),
            namespaces: Vec::new(),
            sessions: Vec::new(),
            archive: None,
        };
        Ok(Self { snapshot, asked, named, last_part: -1 })
    }

    /// Adds a part. They come in the order of their numbers: threads, namespaces, sessions.
    ///
    /// # Errors
    /// 422 for what no caller could have named or has named before, and for one that is no thread, namespace or session.
    pub fn add_part(&mut self, of: PartOf) -> Result<()> {
        let PartOf { part_no, entries, size_bytes, owner, .. } = of;
        if entries < 0 || size_bytes < 0 {
            return Err(wrong("a part of less than nothing"));
        }
        if part_no <= self.last_part {
            return Err(wrong("parts that are not in their order"));
        }
        self.last_part = part_no;
        self.require_room(size_bytes)?;
        check_subject("owner", owner.as_deref())?;
        let snapshot = &mut self.snapshot;
        let (namespaces, sessions) = (snapshot.namespaces.len(), snapshot.sessions.len());
        match (of.thread_id, of.namespace, of.session) {
            (Some(thread_id), None, None) if namespaces + sessions == 0 => {
                let name = ThreadId::new(thread_id.as_str())?;
                let history = History::parse("history", of.history.as_deref().unwrap_or_default())?;
                let generation = of.generation.unwrap_or_default();
                names::check("generation", &generation, LIMITS.thread_id_bytes_max, true)?;
                self.named.threads.push(TakeThread { thread_id: name, history });
                let checkpoints = entries;
                snapshot.threads.push(ThreadPart {
                    part_no,
                    thread_id,
                    generation,
                    history,
                    checkpoints,
                    size_bytes,
                    owner,
                });
            }
            (None, Some(labels), None) if sessions == 0 => {
                let (namespace, items) = (Namespace::new(labels)?, entries);
                self.named.namespaces.push(namespace.clone());
                let part = NamespacePart { part_no, namespace, items, size_bytes };
                snapshot.namespaces.push(part);
            }
            (None, None, Some((kind, key))) => {
                let session = SessionName::new(kind, key)?;
                self.named.sessions.push(session.clone());
                let part = SessionPart { part_no, session, entries, size_bytes, owner };
                snapshot.sessions.push(part);
            }
            _ => return Err(wrong("a part that is not one thing, or not in its order")),
        }
        self.named.check()
    }

    /// Room for an archive, behind all parts.
    ///
    /// # Errors
    /// 422 and 413 for one that nobody could have staged.
    pub fn check_archive(&self, of: &ArchiveOf) -> Result<()> {
        let limit = LIMITS.workspace_bytes_max;
        if of.size_bytes > limit {
            return Err(Error::TooLarge { field: "archive".into(), limit });
        }
        if of.sha256.len() != 32 || of.staged_at <= 0 {
            return Err(wrong("an archive that nobody staged"));
        }
        self.require_room(i64::try_from(of.size_bytes).unwrap_or(i64::MAX))
    }

    /// What all parts say that they are large is a number.
    fn require_room(&self, size_bytes: i64) -> Result<()> {
        match self.snapshot.size_bytes().checked_add(size_bytes) {
            Some(_) => Ok(()),
            None => Err(wrong("parts that are larger than anything")),
        }
    }
}

/// Of a snapshot, with the digest of what was asked for.
pub fn of_snapshot(it: &Snapshot, asked: Vec<u8>) -> SnapshotOf {
    SnapshotOf {
        snapshot_id: it.id.clone(),
        owner: it.owner.clone(),
        created_at: it.created_at,
        taken_at: it.taken_at,
        expires_at: it.expires_at,
        labels: it.labels.clone(),
        document: it.document.as_ref().map(|it| ByteBuf::from(it.to_vec())),
        asked: ByteBuf::from(asked),
    }
}

pub fn of_archive(it: &Archive) -> ArchiveOf {
    ArchiveOf {
        workspace: it.workspace.clone(),
        size_bytes: it.size_bytes,
        file_count: it.file_count,
        sha256: ByteBuf::from(it.sha256),
        staged_at: it.staged_at,
    }
}

/// Its parts in the order of their numbers.
pub fn parts(snapshot: &Snapshot) -> Vec<PartOf> {
    let none = |part_no, entries, size_bytes| PartOf {
        part_no,
        thread_id: None,
        namespace: None,
        session: None,
        owner: None,
        history: None,
        generation: None,
        entries,
        size_bytes,
    };
    let threads = snapshot.threads.iter().map(|it| PartOf {
        thread_id: Some(it.thread_id.clone()),
        owner: it.owner.clone(),
        history: Some(it.history.name().to_owned()),
        generation: Some(it.generation.clone()),
        ..none(it.part_no, it.checkpoints, it.size_bytes)
    });
    let namespaces = snapshot.namespaces.iter().map(|it| PartOf {
        namespace: Some(it.namespace.labels().to_vec()),
        ..none(it.part_no, it.items, it.size_bytes)
    });
    let sessions = snapshot.sessions.iter().map(|it| PartOf {
        session: Some((it.session.kind().to_owned(), it.session.key().to_vec())),
        owner: it.owner.clone(),
        ..none(it.part_no, it.entries, it.size_bytes)
    });
    let mut parts: Vec<PartOf> = threads.chain(namespaces).chain(sessions).collect();
    parts.sort_by_key(|it| it.part_no);
    parts
}

fn wrong(what: &'static str) -> Error {
    Error::invalid("snapshot", what)
}

#[cfg(test)]
#[path = "snapshot_heads_tests.rs"]
mod tests;
