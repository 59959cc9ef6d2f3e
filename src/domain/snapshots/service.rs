//! Runs the calls on snapshots. Checks the permission for the snapshot and for everything named in it, then makes the one call.

use std::sync::Arc;

use super::restore::{Restore, Restored};
use super::rewind::{RewindThread, Rewound};
use super::storage::{ForkThread, Forked, ListSnapshots, SnapshotCursor, What};
use super::take::{TakeSnapshot, Taken};
use super::{SNAPSHOT, Snapshot};
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::pages::{cut, page_rows};
use crate::domain::sessions::SESSION;
use crate::domain::snapshots::storage::SnapshotStorage;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::quotas::Quotas;
use crate::domain::threads::thread::THREAD;
use crate::domain::tokens::grants::Action;

pub struct Snapshots {
    storage: Arc<dyn SnapshotStorage>,
    clock: Arc<Clock>,
    quotas: Arc<Quotas>,
}

#[derive(Debug, Default)]
pub struct SnapshotPage {
    pub snapshots: Vec<Snapshot>,
    /// Set when there are more.
    pub next: Option<SnapshotCursor>,
}

impl Snapshots {
    pub fn new(storage: Arc<dyn SnapshotStorage>, clock: Arc<Clock>, quotas: Arc<Quotas>) -> Self {
        Self { storage, clock, quotas }
    }

    /// # Errors
    /// `NotFound` for what is named and not there, or not the caller's to read; `SnapshotIdTaken` for an id that has
    /// other contents; limits; `QuotaExceeded`.
    pub async fn take(
        &self,
        caller: &Caller,
        mut request: TakeSnapshot,
        deadline: Micros,
    ) -> Result<Taken> {
        caller.require(Permission::Snapshots(Action::Append))?;
        if let Some(id) = &request.id {
            caller.require_snapshot(id, Action::Append)?;
        }
        request.check()?;
        if request.threads.iter().any(|it| !caller.may_read_thread(&it.thread_id)) {
            return Err(Error::NotFound(THREAD));
        }
        let may_read = |it: &Namespace| caller.may_touch_namespace(it.labels(), Action::Read);
        if !request.namespaces.iter().all(may_read) {
            return Err(Error::NotGranted("no grant covers this namespace"));
        }
        if request.sessions.iter().any(|it| !caller.may_read_session(it)) {
            return Err(Error::NotFound(SESSION));
        }
        self.quotas.require_bytes(caller)?;
        self.clock.require_before(deadline)?;
        request.id.get_or_insert_with(SnapshotId::made_up);
        self.storage.take_snapshot(caller, &request, self.clock.now()).await
    }

    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, caller: &Caller, id: &SnapshotId) -> Result<Snapshot> {
        caller.require(Permission::Snapshots(Action::Read))?;
        let found = self.storage.get_snapshot(caller, id, Action::Read).await?;
        found.ok_or(Error::NotFound(SNAPSHOT))
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: ListSnapshots) -> Result<SnapshotPage> {
        caller.require(Permission::Snapshots(Action::Read))?;
        let limit = page_rows(query.limit);
        if limit == 0 {
            return Ok(SnapshotPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut snapshots = self.storage.list_snapshots(caller, &query).await?;
        let cursor =
            |it: &Snapshot| SnapshotCursor { created_at: it.created_at, id: it.id.clone() };
        let next = cut(&mut snapshots, limit, cursor);
        Ok(SnapshotPage { snapshots, next })
    }

    /// No error where there is none.
    ///
    /// # Errors
    /// `NotGranted`; a storage that cannot be written.
    pub async fn delete(&self, caller: &Caller, id: &SnapshotId, deadline: Micros) -> Result<bool> {
        caller.require_snapshot(id, Action::Write)?;
        self.clock.require_before(deadline)?;
        let act = Act::of(caller, ActKind::SnapshotDeleted, id.as_str(), self.clock.now());
        self.storage.delete_snapshot(caller, id, &act).await
    }

    /// # Errors
    /// `NotFound` without such a checkpoint; `ThreadExists`, `ThreadTaken`; `QuotaExceeded`.
    pub async fn fork(
        &self,
        caller: &Caller,
        request: &ForkThread,
        deadline: Micros,
    ) -> Result<Forked> {
        caller.require_thread(&request.target, Action::Write)?;
        if !caller.may_read_thread(&request.source) {
            return Err(Error::NotFound(THREAD));
        }
        self.quotas.require_bytes(caller)?;
        if let Some(full) = self.quotas.threads_full(caller) {
            return Err(Error::QuotaExceeded(full));
        }
        self.clock.require_before(deadline)?;
        self.storage.fork_thread(caller, request, self.clock.now()).await
    }

    /// # Errors
    /// `NotFound` without such a checkpoint; `LeaseHeld`, `FenceStale`; `IdempotencyMismatch`; `NotGranted` for a
    /// safety snapshot that the caller may not take; `QuotaExceeded`.
    pub async fn rewind(
        &self,
        caller: &Caller,
        request: &RewindThread,
        deadline: Micros,
    ) -> Result<Rewound> {
        if !caller.may_read_thread(&request.thread_id) {
            return Err(Error::NotFound(THREAD));
        }
        caller.require_thread(&request.thread_id, Action::Write)?;
        if !request.dry_run {
            if request.safety {
                caller.require(Permission::Snapshots(Action::Append))?;
            }
            self.quotas.require_bytes(caller)?;
            self.clock.require_before(deadline)?;
        }
        let act =
            Act::of(caller, ActKind::ThreadRewound, request.thread_id.as_str(), self.clock.now());
        self.storage.rewind_thread(caller, request, &act).await
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn count_forks(&self, caller: &Caller, thread_id: &ThreadId) -> Result<i64> {
        if !caller.may_read_thread(thread_id) {
            return Ok(0);
        }
        self.storage.count_forks(caller, thread_id).await
    }

    /// # Errors
    /// `NotGranted` but for keys of the tenant; a storage that cannot be written.
    pub async fn break_lease(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        deadline: Micros,
    ) -> Result<bool> {
        caller.require_tenant_write()?;
        self.clock.require_before(deadline)?;
        let act = Act::of(caller, ActKind::LeaseBroken, thread_id.as_str(), self.clock.now());
        self.storage.break_lease(caller, thread_id, &act).await
    }

    /// # Errors
    /// `NotFound`; `LeaseHeld`, `FenceStale`, `ThreadExists`, `NamespaceExists`, `SessionExists`, `ThreadTaken`,
    /// `SessionTaken`; `NotGranted` for what would be written to, and for what would be another subject's;
    /// `IdempotencyMismatch`; `QuotaExceeded`.
    pub async fn restore(
        &self,
        caller: &Caller,
        request: &Restore,
        deadline: Micros,
    ) -> Result<Restored> {
        caller.require(Permission::Snapshots(Action::Read))?;
        if request.safety && !request.dry_run {
            caller.require(Permission::Snapshots(Action::Append))?;
        }
        request.check()?;
        if let Some(answer) = self.storage.restored_before(caller, request).await? {
            return Ok(answer);
        }
        let snapshot = self.get(caller, &request.id).await?;
        let threads = request.moves(caller, &snapshot.threads)?;
        for it in &threads {
            caller.require_thread(&it.into, Action::Write)?;
        }
        let namespaces = request.namespace_moves(&snapshot.namespaces)?;
        for it in &namespaces {
            if !caller.may_touch_namespace(it.into.labels(), Action::Write) {
                return Err(Error::NotGranted("no grant covers this namespace"));
            }
        }
        let sessions = request.session_moves(caller, &snapshot.sessions)?;
        for it in &sessions {
            caller.require_session(&it.into, Action::Write)?;
        }
        if !request.dry_run {
            self.quotas.require_bytes(caller)?;
            self.clock.require_before(deadline)?;
        }
        let act = Act::of(caller, ActKind::SnapshotRestored, request.id.as_str(), self.clock.now());
        let what = What {
            snapshot: &snapshot,
            threads: &threads,
            namespaces: &namespaces,
            sessions: &sessions,
        };
        self.storage.restore_snapshot(caller, request, what, &act).await
    }
}
