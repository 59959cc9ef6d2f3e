//! Reads, copies and removes threads on SQLite, and keeps their leases.

pub(in crate::storage) mod copy;
pub(super) mod copy_answers;
pub(in crate::storage) mod copy_rows;
pub(in crate::storage) mod delete;
pub(in crate::storage) mod leases;
mod listing;
mod metadata_conditions;
pub(super) mod removal_rows;
pub(in crate::storage) mod retention;
pub(in crate::storage) mod retention_estimate;
pub(in crate::storage) mod thread_row;
pub(in crate::storage) mod threads;

use async_trait::async_trait;

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::tenants::storage_use::StorageUse;
use crate::domain::threads::retention::{PruneRequest, Pruned};
use crate::domain::threads::storage::{CopyThread, DeleteThread, ThreadStorage};
use crate::domain::threads::thread::{Lease, LeaseRequest, Thread, ThreadPage, ThreadQuery};
use crate::domain::tokens::grants::Action;
use crate::storage::sqlite::{SqliteStorage, reserve};
use crate::storage::threads::search;
use crate::storage::threads::storage_use::storage_use;
use crate::storage::threads::thread_filter::OwnedThread;

#[async_trait]
impl ThreadStorage for SqliteStorage {
    async fn get_thread(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        self.read_thread(caller, thread_id).await
    }

    async fn list_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<ThreadPage> {
        let secret = search::secret_unless_destroyed(self, &caller.tenant).await?;
        search::find(self, (caller, secret.as_ref()), query).await
    }

    async fn count_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<u64> {
        let secret = search::secret_unless_destroyed(self, &caller.tenant).await?;
        search::count(self, (caller, secret.as_ref()), query).await
    }

    async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>> {
        let secret = self.secret(&caller.tenant).await?;
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        storage_use(self, thread, &secret).await
    }

    async fn acquire_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.take_lease(caller, request).await
    }

    async fn renew_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.extend_lease(caller, request).await
    }

    async fn release_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()> {
        self.drop_lease(caller, request).await
    }

    async fn delete_thread(&self, caller: &Caller, request: &DeleteThread) -> Result<bool> {
        reserve::delete_in_it(|| self.remove_thread(caller, request)).await
    }

    async fn prune_threads(&self, caller: &Caller, request: &PruneRequest) -> Result<Vec<Pruned>> {
        reserve::delete_in_it(|| self.prune(caller, request)).await
    }

    async fn copy_thread(&self, caller: &Caller, request: &CopyThread) -> Result<u64> {
        self.connections.check_room()?;
        self.copy(caller, request).await
    }
}
