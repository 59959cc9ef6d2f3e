//! Runs the calls on threads: checks the permission, then makes the one call that does it.

use std::sync::Arc;

use super::thread::{Lease, LeaseRequest, Thread, ThreadCursor, ThreadQuery, ThreadSort};
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::storage::{CopyThread, DeleteThread, Storage};
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tenants::storage_use::StorageUse;
use crate::domain::tokens::grants::Action;

/// Threads and the leases on them.
pub struct Threads {
    storage: Arc<dyn Storage>,
    clock: Arc<Clock>,
    quotas: Arc<Quotas>,
}

/// A page of a listing.
#[derive(Debug, Default)]
pub struct ThreadPage {
    pub threads: Vec<Thread>,
    /// Set when there are more.
    pub next: Option<ThreadCursor>,
}

impl Threads {
    pub fn new(storage: Arc<dyn Storage>, clock: Arc<Clock>, quotas: Arc<Quotas>) -> Self {
        Self { storage, clock, quotas }
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn get(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        caller.require(Permission::Threads(Action::Read))?;
        if !caller.may_read_thread(thread_id) {
            return Ok(None);
        }
        self.storage.get_thread(caller, thread_id).await
    }

    /// # Errors
    /// `Invalid` for a thread with too many rows; a storage that cannot be read.
    pub async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>> {
        caller.require(Permission::Threads(Action::Read))?;
        if !caller.may_read_thread(thread_id) {
            return Ok(None);
        }
        self.storage.get_storage_use(caller, thread_id).await
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: ThreadQuery) -> Result<ThreadPage> {
        caller.require_listing(Action::Read)?;
        let rows_max = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let limit = query.limit.min(rows_max);
        if limit == 0 {
            return Ok(ThreadPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut threads = self.storage.list_threads(caller, &query).await?;
        let more = threads.len() > limit;
        threads.truncate(limit);
        let next = threads.last().filter(|_| more).map(|last| position(last, query.sort));
        Ok(ThreadPage { threads, next })
    }

    /// Whether there was one.
    ///
    /// # Errors
    /// A conflict with the thread's generation or lease; `DeadlineExceeded`; a storage that cannot be written.
    pub async fn delete(
        &self,
        caller: &Caller,
        request: &DeleteThread,
        deadline: Micros,
    ) -> Result<bool> {
        caller.require_thread(&request.thread_id, Action::Write)?;
        self.clock.require_before(deadline)?;
        self.storage.delete_thread(caller, request).await
    }

    /// Answers the number of checkpoints copied: 0 when there is no source that the caller may read.
    ///
    /// # Errors
    /// `ThreadExists`; `ThreadTaken`; `IdempotencyMismatch`; `QuotaExceeded`.
    pub async fn copy(
        &self,
        caller: &Caller,
        request: &CopyThread,
        deadline: Micros,
    ) -> Result<u64> {
        caller.require_thread(&request.target, Action::Append)?;
        self.clock.require_before(deadline)?;
        let full = self.quotas.bytes_full(caller).or_else(|| self.quotas.threads_full(caller));
        self.storage.copy_thread(caller, &CopyThread { full, ..request.clone() }).await
    }

    /// # Errors
    /// `LeaseHeld` while another holder has it; `QuotaExceeded` when it would make a thread.
    pub async fn acquire_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
        deadline: Micros,
    ) -> Result<Lease> {
        self.may_lease(caller, request, deadline)?;
        let full = self.quotas.threads_full(caller);
        self.storage.acquire_lease(caller, &LeaseRequest { full, ..request.clone() }).await
    }

    /// # Errors
    /// `FenceStale` when it was lost.
    pub async fn renew_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
        deadline: Micros,
    ) -> Result<Lease> {
        self.may_lease(caller, request, deadline)?;
        self.storage.renew_lease(caller, request).await
    }

    /// # Errors
    /// A storage that cannot be written.
    pub async fn release_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
        deadline: Micros,
    ) -> Result<()> {
        self.may_lease(caller, request, deadline)?;
        self.storage.release_lease(caller, request).await
    }

    fn may_lease(&self, caller: &Caller, request: &LeaseRequest, deadline: Micros) -> Result<()> {
        caller.require_thread(&request.thread_id, Action::Append)?;
        self.clock.require_before(deadline)
    }
}

fn position(last: &Thread, sort: ThreadSort) -> ThreadCursor {
    let time = match sort {
        ThreadSort::Created => last.created_at,
        ThreadSort::Updated => last.updated_at,
        ThreadSort::ThreadId => 0,
    };
    ThreadCursor { time, thread_id: last.thread_id.clone() }
}
