//! Defines the request to take a snapshot, and its result.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::archives::{Archive, ArchiveId};
use super::{History, Snapshot};
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{self, SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::store::namespace::Namespace;

/// What is to be taken.
#[derive(Debug, Clone)]
pub struct TakeSnapshot {
    /// None: the server makes one up.
    pub id: Option<SnapshotId>,
    pub threads: Vec<TakeThread>,
    /// Each with everything below it.
    pub namespaces: Vec<Namespace>,
    pub sessions: Vec<SessionName>,
    /// Staged by the same caller.
    pub archive: Option<ArchiveId>,
    pub labels: BTreeMap<String, String>,
    /// Exact JSON text.
    pub document: Option<Bytes>,
    pub expires_in_seconds: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeThread {
    pub thread_id: ThreadId,
    pub history: History,
}

/// How it ended.
#[derive(Debug)]
pub struct Taken {
    pub snapshot: Snapshot,
    /// By this request.
    pub is_new: bool,
}

impl TakeSnapshot {
    /// # Errors
    /// 422 and 413 naming field and limit.
    pub fn check(&self) -> Result<()> {
        at_most("threads", self.threads.len(), LIMITS.snapshot_threads_max)?;
        let ids: BTreeSet<&str> = self.threads.iter().map(|it| it.thread_id.as_str()).collect();
        if ids.len() < self.threads.len() {
            return Err(Error::invalid("threads", "threads: a thread is named twice"));
        }
        self.check_namespaces()?;
        at_most("sessions", self.sessions.len(), LIMITS.snapshot_sessions_max)?;
        let sessions: BTreeSet<&SessionName> = self.sessions.iter().collect();
        if sessions.len() < self.sessions.len() {
            return Err(Error::invalid("sessions", "sessions: a session is named twice"));
        }
        at_most("labels", self.labels.len(), LIMITS.snapshot_labels_max)?;
        let max = LIMITS.snapshot_label_bytes_max;
        for (name, value) in &self.labels {
            names::check("labels", name, max, false)?;
            names::check(&format!("labels.{name}"), value, max, true)?;
        }
        let max = LIMITS.snapshot_document_bytes_max;
        if self.document.as_ref().is_some_and(|it| it.len() as u64 > max) {
            return Err(Error::TooLarge { field: "document".into(), limit: max });
        }
        let max = LIMITS.retention_seconds_max;
        let legal = |it: i64| u64::try_from(it).is_ok_and(|it| (1..=max).contains(&it));
        if self.expires_in_seconds.is_some_and(|it| !legal(it)) {
            let detail = format!("expires_in_seconds must be from 1 to {max}");
            return Err(Error::out_of_range("expires_in_seconds", detail, max));
        }
        Ok(())
    }

    fn check_namespaces(&self) -> Result<()> {
        let all = &self.namespaces;
        at_most("namespaces", all.len(), LIMITS.snapshot_namespaces_max)?;
        if all.iter().any(|it| it.labels().is_empty()) {
            return Err(Error::invalid("namespaces", "namespaces: a namespace has a label"));
        }
        let is_below = |at: usize, it: &Namespace| {
            all.iter().enumerate().any(|(other, above)| other != at && it.starts_with(above))
        };
        if all.iter().enumerate().any(|(at, it)| is_below(at, it)) {
            let detail = "namespaces: one of them is named twice, or lies below another";
            return Err(Error::invalid("namespaces", detail));
        }
        Ok(())
    }

    pub fn expires_at(&self, now: Micros) -> Option<Micros> {
        self.expires_in_seconds.map(|it| now.saturating_add(it.saturating_mul(1_000_000)))
    }

    /// Of everything that was asked for but the id: each text with its length before it, so that no two requests read the same.
    /// Of an archive it is the bytes that count: who stages them again asks for the same.
    pub fn digest(&self, archive: Option<&Archive>) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut add = |text: &[u8]| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        for thread in &self.threads {
            add(b"thread");
            add(thread.thread_id.as_str().as_bytes());
            add(thread.history.name().as_bytes());
        }
        for namespace in &self.namespaces {
            add(b"namespace");
            add(&(namespace.labels().len() as u64).to_le_bytes());
            namespace.labels().iter().for_each(|it| add(it.as_bytes()));
        }
        for session in &self.sessions {
            add(b"session");
            add(session.kind().as_bytes());
            add(&session.key_bytes());
        }
        for (name, value) in &self.labels {
            add(b"label");
            add(name.as_bytes());
            add(value.as_bytes());
        }
        if let Some(document) = &self.document {
            add(b"document");
            add(document);
        }
        if let Some(seconds) = self.expires_in_seconds {
            add(b"expires");
            add(&seconds.to_le_bytes());
        }
        if let Some(archive) = archive {
            add(b"archive");
            add(archive.workspace.as_bytes());
            add(&archive.sha256);
        }
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::files::contents::ContentId;

    fn empty() -> TakeSnapshot {
        TakeSnapshot {
            id: None,
            threads: Vec::new(),
            namespaces: Vec::new(),
            sessions: Vec::new(),
            archive: None,
            labels: BTreeMap::new(),
            document: None,
            expires_in_seconds: None,
        }
    }

    fn of(threads: &[(&str, History)]) -> TakeSnapshot {
        let thread = |(id, history): &(&str, History)| TakeThread {
            thread_id: ThreadId::new(*id).unwrap(),
            history: *history,
        };
        TakeSnapshot { threads: threads.iter().map(thread).collect(), ..empty() }
    }

    fn below(namespaces: &[&[&str]]) -> TakeSnapshot {
        let one = |it: &&[&str]| Namespace::stored(it.iter().map(|it| (*it).into()).collect());
        TakeSnapshot { namespaces: namespaces.iter().map(one).collect(), ..empty() }
    }

    #[test]
    fn a_namespace_is_taken_once() {
        assert!(below(&[&["a"], &["b", "c"], &["b", "cc"]]).check().is_ok());
        for bad in [&[&["a"][..], &["a"]][..], &[&["a", "b"], &["a"]], &[&[]]] {
            let error = below(bad).check().unwrap_err();
            assert!(matches!(error, Error::Invalid { field, .. } if field == "namespaces"));
        }
    }

    #[test]
    fn the_digest_tells_requests_apart() {
        let labels = |name: &str, value: &str| TakeSnapshot {
            labels: BTreeMap::from([(name.to_owned(), value.to_owned())]),
            ..empty()
        };
        let all = [
            empty(),
            of(&[("a", History::All)]),
            of(&[("a", History::Head)]),
            of(&[("a", History::All), ("b", History::All)]),
            below(&[&["a", "b"]]),
            below(&[&["a"], &["b"]]),
            labels("a", "bc"),
            labels("ab", "c"),
            TakeSnapshot { document: Some(Bytes::from_static(b"{}")), ..empty() },
            TakeSnapshot { expires_in_seconds: Some(3), ..empty() },
        ];
        let digests: BTreeSet<[u8; 32]> = all.iter().map(|it| it.digest(None)).collect();
        assert_eq!(digests.len(), all.len());
        assert_eq!(of(&[("a", History::All)]).digest(None), all[1].digest(None));
        let archive = |id: u8, workspace: &str, digest: u8| Archive {
            id: ArchiveId(ContentId([id; 16])),
            workspace: workspace.to_owned(),
            size_bytes: 1_024,
            file_count: 0,
            sha256: [digest; 32],
            staged_at: i64::from(id),
        };
        let of = |it: &Archive| empty().digest(Some(it));
        let one = archive(1, "w", 1);
        assert_eq!(of(&one), of(&archive(2, "w", 1)));
        for other in [of(&archive(1, "w", 2)), of(&archive(1, "v", 1)), empty().digest(None)] {
            assert_ne!(of(&one), other);
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let twice = of(&[("a", History::All), ("a", History::Head)]).check().unwrap_err();
        assert!(matches!(twice, Error::Invalid { field, .. } if field == "threads"));
        for seconds in [0, -1, i64::MAX] {
            let asked = TakeSnapshot { expires_in_seconds: Some(seconds), ..empty() };
            let error = asked.check().unwrap_err();
            let Error::Invalid { field, limit, .. } = error else { panic!("{error}") };
            assert_eq!((field.as_str(), limit), ("expires_in_seconds", Some(3_153_600_000)));
        }
        let long = "x".repeat(257);
        let asked = TakeSnapshot { labels: BTreeMap::from([(long, String::new())]), ..empty() };
        assert!(asked.check().is_err());
        let large = Bytes::from(vec![b' '; (1 << 20) + 1]);
        let asked = TakeSnapshot { document: Some(large), ..empty() };
        let Error::TooLarge { field, limit } = asked.check().unwrap_err() else { panic!() };
        assert_eq!((field.as_str(), limit), ("document", 1 << 20));
    }
}
