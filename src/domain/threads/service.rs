//! Runs the calls on threads: checks the permission, then makes the one call that does it.

use std::sync::Arc;
use std::time::Duration;

use uuid::Builder;

use super::details::{CreateThread, NewThread, UpdateThread};
use super::run_state::RunStates;
use super::thread::{Lease, LeaseRequest, THREAD, Thread, ThreadPage, ThreadQuery};
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tenants::storage_use::StorageUse;
use crate::domain::threads::storage::{CopyThread, DeleteThread, ThreadStorage};
use crate::domain::tokens::grants::Action;

/// Threads and the leases on them.
pub struct Threads {
    storage: Arc<dyn ThreadStorage>,
    states: Arc<dyn RunStates>,
    clock: Arc<Clock>,
    quotas: Arc<Quotas>,
    busy_for: Micros,
}

impl Threads {
    /// `busy_for`: how long after its last commit a process is taken to work on.
    pub fn new(
        storage: Arc<dyn ThreadStorage>,
        states: Arc<dyn RunStates>,
        clock: Arc<Clock>,
        quotas: Arc<Quotas>,
        busy_for: Duration,
    ) -> Self {
        let busy_for = Micros::try_from(busy_for.as_micros()).unwrap_or(Micros::MAX / 2);
        Self { storage, states, clock, quotas, busy_for }
    }

    pub(super) fn storage(&self) -> &dyn ThreadStorage {
        &*self.storage
    }

    /// As in [`Run::status`](super::run_state::Run::status), at this moment.
    pub fn busy_since(&self) -> Micros {
        self.clock.now() - self.busy_for
    }

    /// # Errors
    /// A storage that cannot be read.
    pub async fn get(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        caller.require(Permission::Threads(Action::Read))?;
        if !caller.may_read_thread(thread_id) {
            return Ok(None);
        }
        self.find(caller, thread_id).await
    }

    /// The thread as it stands now.
    async fn find(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        let Some(mut thread) = self.storage.get_thread(caller, thread_id).await? else {
            return Ok(None);
        };
        self.states.refresh(caller, std::slice::from_mut(&mut thread)).await?;
        Ok(Some(thread))
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
    /// `SearchNeedsPlaintext`; `ThreadsIndexing`; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: ThreadQuery) -> Result<ThreadPage> {
        caller.require_listing(Action::Read)?;
        let rows_max = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        query.limit = query.limit.min(rows_max);
        if query.limit == 0 {
            return Ok(ThreadPage::default());
        }
        let is_by_state = query.is_by_state();
        self.refresh_for(caller, &query).await?;
        query.busy_since = self.busy_since();
        let mut page = self.storage.list_threads(caller, &query).await?;
        // What was asked for by its state is shown in this state.
        if !is_by_state {
            self.states.refresh(caller, &mut page.threads).await?;
        }
        Ok(page)
    }

    /// # Errors
    /// As [`Self::list`].
    pub async fn count(&self, caller: &Caller, mut query: ThreadQuery) -> Result<u64> {
        caller.require_listing(Action::Read)?;
        self.refresh_for(caller, &query).await?;
        query.busy_since = self.busy_since();
        self.storage.count_threads(caller, &query).await
    }

    /// Derives what a query looks at, so that no answer lacks a thread. Titles and metadata are derived with the states. Threads whose values
    /// are not derived pass, and are opened.
    async fn refresh_for(&self, caller: &Caller, query: &ThreadQuery) -> Result<()> {
        let is_by_state = query.is_by_state();
        let is_by_metadata = self.states.derives_metadata() && !query.details.metadata.is_empty();
        if !is_by_state && !is_by_metadata && query.details.words.is_none() {
            return Ok(());
        }
        self.states.refresh_all(&caller.tenant).await
    }

    /// Answers the thread, and whether it was made now.
    ///
    /// # Errors
    /// `NotGranted` for a caller that may not read what is answered; `ThreadTaken`; `QuotaExceeded`; `TooLarge`.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewThread,
        deadline: Micros,
    ) -> Result<(Thread, bool)> {
        let NewThread { thread_id, title, metadata, ttl, idempotency } = new;
        let thread_id = thread_id.map_or_else(|| self.new_id(caller), Ok)?;
        let action = if ttl.is_some() { Action::Write } else { Action::Append };
        self.may_change(caller, (&thread_id, action), deadline)?;
        let full = self.quotas.threads_full(caller);
        let request = CreateThread { thread_id, title, metadata, ttl, idempotency, full };
        let created = self.storage.create_thread(caller, &request).await?;
        let found = self.find(caller, &ThreadId::new(created.thread_id)?).await?;
        let thread = found.ok_or_else(|| Error::Unavailable {
            detail: "the thread was deleted at the same moment".into(),
            retry_after: Duration::from_millis(100),
        })?;
        Ok((thread, created.is_new))
    }

    /// Answers the thread as it is then.
    ///
    /// # Errors
    /// `NotGranted` for a caller that may not read what is answered; `NotFound`; `VersionConflict`; `TooLarge`.
    pub async fn update(
        &self,
        caller: &Caller,
        request: &UpdateThread,
        deadline: Micros,
    ) -> Result<Thread> {
        self.may_change(caller, (&request.thread_id, request.action()), deadline)?;
        // A stale state takes the time of the thread's last change, which is to be that of a commit.
        self.find(caller, &request.thread_id).await?;
        self.storage.update_thread(caller, request).await?;
        // Somebody may have deleted it since.
        self.find(caller, &request.thread_id).await?.ok_or(Error::NotFound(THREAD))
    }

    /// A UUID of version 7, behind the prefix of a caller who may only write below one.
    ///
    /// # Errors
    /// `NotGranted` for a caller who may write below several.
    pub fn new_id(&self, caller: &Caller) -> Result<ThreadId> {
        let reach = caller.reach_threads(Action::Append);
        let prefix = match &reach.prefixes[..] {
            _ if reach.everything || reach.owner.is_some() => "",
            [prefix] => prefix,
            _ => return Err(Error::NotGranted("name the thread: no one prefix is granted")),
        };
        let millis = self.clock.now().unsigned_abs() / 1_000;
        let id = Builder::from_unix_timestamp_millis(millis, &rand::random()).into_uuid();
        ThreadId::new(format!("{prefix}{id}"))
    }

    fn may_change(
        &self,
        caller: &Caller,
        (thread_id, action): (&ThreadId, Action),
        deadline: Micros,
    ) -> Result<()> {
        caller.require_thread(thread_id, action)?;
        caller.require_thread(thread_id, Action::Read)?;
        self.clock.require_before(deadline)
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
