//! Defines the request and the result of a restore.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{NamespacePart, SessionPart, ThreadPart};
use crate::domain::caller::{Caller, Grants, check_subject};
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::store::namespace::{Namespace, RESERVED_ROOT};

/// Which parts of a kind, and where each goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen<T> {
    All,
    These(Vec<T>),
}

#[derive(Debug, Clone)]
pub struct Restore {
    pub id: SnapshotId,
    /// Say what would happen, do nothing.
    pub dry_run: bool,
    pub threads: Chosen<RestoreThread>,
    pub namespaces: Chosen<RestoreNamespace>,
    pub sessions: Chosen<RestoreSession>,
    /// Whose things are that were a subject's, where the restore makes them; what is there keeps its owner.
    pub subjects: BTreeMap<String, String>,
    /// A snapshot of what is replaced, first.
    pub safety: bool,
    /// (thread that is written to, fence of the lease that the caller has on it)
    pub leases: Vec<(ThreadId, i64)>,
    /// Key and digest of the request: the same pair is answered again without a second effect.
    pub idempotency: Option<(String, [u8; 32])>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreThread {
    pub thread_id: ThreadId,
    /// None: in place.
    pub into: Option<ThreadId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreNamespace {
    pub namespace: Namespace,
    /// None: in place. What lies below goes below it.
    pub into: Option<Namespace>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreSession {
    pub session: SessionName,
    /// None: in place. Of the same kind.
    pub into: Option<SessionName>,
}

/// A thread of the snapshot and where it goes.
#[derive(Debug, Clone)]
pub struct ThreadMove {
    pub part: ThreadPart,
    pub into: ThreadId,
    pub fence: Option<i64>,
    /// Whose it is where there is none yet.
    pub owner: Option<String>,
}

/// A namespace of the snapshot and where it goes.
#[derive(Debug, Clone)]
pub struct NamespaceMove {
    pub part: NamespacePart,
    pub into: Namespace,
}

/// A session of the snapshot and where it goes.
#[derive(Debug, Clone)]
pub struct SessionMove {
    pub part: SessionPart,
    pub into: SessionName,
    /// Whose it is where there is none yet.
    pub owner: Option<String>,
}

/// What happened, or would happen. Kept as JSON for repeated requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub snapshot_id: String,
    pub dry_run: bool,
    pub safety_snapshot_id: Option<String>,
    pub restored_at: Micros,
    pub threads: Vec<RestoredThread>,
    pub namespaces: Vec<RestoredNamespace>,
    pub sessions: Vec<RestoredSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredSession {
    pub kind: String,
    pub key: Vec<String>,
    /// Its key now.
    #[serde(default)]
    pub into: Vec<String>,
    pub entries: i64,
    pub replaced_entries: i64,
    /// The session was not there.
    pub created: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredNamespace {
    pub namespace: Vec<String>,
    #[serde(default)]
    pub into: Vec<String>,
    pub written: i64,
    /// Items that are there as they were.
    pub unchanged: i64,
    /// Items that were not there at the moment of the snapshot.
    pub removed: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredThread {
    pub thread_id: String,
    pub into: String,
    pub generation: String,
    pub checkpoints: i64,
    pub replaced_checkpoints: i64,
    /// The thread was not there.
    pub created: bool,
}

impl ThreadMove {
    pub fn in_place(&self) -> bool {
        self.part.thread_id == self.into.as_str()
    }
}

impl NamespaceMove {
    pub fn in_place(&self) -> bool {
        self.part.namespace == self.into
    }
}

impl SessionMove {
    pub fn in_place(&self) -> bool {
        self.part.session == self.into
    }
}

impl Restore {
    /// # Errors
    /// 422 naming field and limit.
    pub fn check(&self) -> Result<()> {
        at_most("subjects", self.subjects.len(), LIMITS.snapshot_threads_max)?;
        for (subject, into) in &self.subjects {
            check_subject("subjects", Some(subject))?;
            check_subject("subjects", Some(into))?;
        }
        if let Chosen::These(threads) = &self.threads {
            at_most("threads", threads.len(), LIMITS.snapshot_threads_max)?;
        }
        if let Chosen::These(namespaces) = &self.namespaces {
            at_most("namespaces", namespaces.len(), LIMITS.snapshot_namespaces_max)?;
        }
        if let Chosen::These(sessions) = &self.sessions {
            at_most("sessions", sessions.len(), LIMITS.snapshot_sessions_max)?;
        }
        at_most("leases", self.leases.len(), LIMITS.snapshot_threads_max)
    }

    /// Whose a thing is that the restore makes: the subject's that asks; by a key of the whole tenant whose the request says, else
    /// whose it was.
    ///
    /// # Errors
    /// `NotGranted` for another subject than one's own.
    fn owner(&self, caller: &Caller, was: Option<&str>) -> Result<Option<String>> {
        let mapped = was.and_then(|it| self.subjects.get(it));
        let is_own = mapped.is_none_or(|it| caller.subject.as_ref() == Some(it));
        let gives = caller.subject.is_none() && matches!(caller.grants, Grants::Tenant);
        if !is_own && !gives {
            return Err(Error::NotGranted("no grant covers giving things to this subject"));
        }
        Ok(caller.subject.clone().or_else(|| mapped.cloned()).or_else(|| was.map(str::to_owned)))
    }

    /// The namespaces that are chosen, in the order of the snapshot.
    ///
    /// # Errors
    /// 422 for one that the snapshot does not have, for one that is named twice, and for two that would meet.
    pub fn namespace_moves(&self, parts: &[NamespacePart]) -> Result<Vec<NamespaceMove>> {
        let mut moves = Vec::new();
        for part in parts {
            let into = match &self.namespaces {
                Chosen::All => Some(part.namespace.clone()),
                Chosen::These(these) => these
                    .iter()
                    .find(|it| it.namespace == part.namespace)
                    .map(|it| it.into.clone().unwrap_or_else(|| it.namespace.clone())),
            };
            moves.extend(into.map(|into| NamespaceMove { part: part.clone(), into }));
        }
        if let Chosen::These(these) = &self.namespaces
            && moves.len() != these.len()
        {
            let detail = "namespaces: one is named twice, or the snapshot does not have it";
            return Err(Error::invalid("namespaces", detail));
        }
        for (at, one) in moves.iter().enumerate() {
            if one.into.labels().is_empty() {
                return Err(Error::invalid("namespaces", "namespaces: into needs a label"));
            }
            if one.into.labels()[0] == RESERVED_ROOT {
                let detail = format!("namespaces: the root label {RESERVED_ROOT:?} is reserved");
                return Err(Error::invalid("namespaces", detail));
            }
            let meets = |it: &NamespaceMove| {
                it.into.starts_with(&one.into) || one.into.starts_with(&it.into)
            };
            if moves[..at].iter().any(meets) {
                let detail = "namespaces: two would go into one, or into one below the other";
                return Err(Error::invalid("namespaces", detail));
            }
        }
        Ok(moves)
    }

    /// The sessions that are chosen, in the order of the snapshot.
    ///
    /// # Errors
    /// 422 for one that the snapshot does not have, for one that is named twice, and for two that go to one; as for threads.
    pub fn session_moves(
        &self,
        caller: &Caller,
        parts: &[SessionPart],
    ) -> Result<Vec<SessionMove>> {
        let mut moves = Vec::new();
        for part in parts {
            let into = match &self.sessions {
                Chosen::All => Some(part.session.clone()),
                Chosen::These(these) => these
                    .iter()
                    .find(|it| it.session == part.session)
                    .map(|it| it.into.clone().unwrap_or_else(|| it.session.clone())),
            };
            let Some(into) = into else { continue };
            let owner = self.owner(caller, part.owner.as_deref())?;
            moves.push(SessionMove { part: part.clone(), into, owner });
        }
        if let Chosen::These(these) = &self.sessions
            && moves.len() != these.len()
        {
            let detail = "sessions: one is named twice, or the snapshot does not have it";
            return Err(Error::invalid("sessions", detail));
        }
        let targets: BTreeSet<&SessionName> = moves.iter().map(|it| &it.into).collect();
        if targets.len() < moves.len() {
            return Err(Error::invalid("sessions", "sessions: two sessions would go into one"));
        }
        Ok(moves)
    }

    /// The threads that are chosen, in the order of the snapshot.
    ///
    /// # Errors
    /// 422 for a thread that the snapshot does not have, and for two that go to one; `NotGranted` for what would be
    /// another subject's.
    pub fn moves(&self, caller: &Caller, parts: &[ThreadPart]) -> Result<Vec<ThreadMove>> {
        let mut moves = Vec::new();
        for part in parts {
            let into = match &self.threads {
                Chosen::All => Some(ThreadId::new(part.thread_id.as_str())?),
                Chosen::These(these) => these
                    .iter()
                    .find(|it| it.thread_id.as_str() == part.thread_id)
                    .map(|it| it.into.clone().unwrap_or_else(|| it.thread_id.clone())),
            };
            let Some(into) = into else { continue };
            let fence = self.leases.iter().find(|(id, _)| *id == into).map(|(_, fence)| *fence);
            let owner = self.owner(caller, part.owner.as_deref())?;
            moves.push(ThreadMove { part: part.clone(), into, fence, owner });
        }
        if let Chosen::These(these) = &self.threads {
            for it in these {
                if !parts.iter().any(|part| part.thread_id == it.thread_id.as_str()) {
                    let detail = format!("threads: the snapshot has no thread {}", it.thread_id);
                    return Err(Error::invalid("threads", detail));
                }
            }
            if these.len() != moves.len() {
                return Err(Error::invalid("threads", "threads: a thread is named twice"));
            }
        }
        let targets: BTreeSet<&ThreadId> = moves.iter().map(|it| &it.into).collect();
        if targets.len() < moves.len() {
            return Err(Error::invalid("threads", "threads: two threads would go into one"));
        }
        Ok(moves)
    }
}

#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
