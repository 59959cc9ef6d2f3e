//! Declares the trait of a storage engine for threads, with its requests.
//!
//! **Invariant:** where the caller's grants demand an owner, the statement that reads or writes the thread compares the owner too. A thread
//! with another owner, or with none, is absent.

use async_trait::async_trait;

use super::alias_lookup::AliasStorage;
use super::changes::ThreadChangeStorage;
use super::details::ThreadDetailsStorage;
use super::graphs::GraphStorage;
use super::retention::{PruneRequest, Pruned};
use super::retention_storage::RetentionStorage;
use super::run_state::RunStateStorage;
use super::thread::{Lease, LeaseRequest, Thread, ThreadPage, ThreadQuery};
use super::ttl::TtlStorage;
use crate::domain::caller::Caller;
use crate::domain::error::{Error, Full, Result};
use crate::domain::names::ThreadId;
use crate::domain::tenants::quotas::THREADS;
use crate::domain::tenants::storage_use::StorageUse;

#[derive(Debug, Clone)]
pub struct DeleteThread {
    pub thread_id: ThreadId,
    pub generation: Option<String>,
    pub fence: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct CopyThread {
    pub source: ThreadId,
    pub target: ThreadId,
    /// Key and digest of the request: the same pair is answered again without a second copy.
    pub idempotency: Option<(String, [u8; 32])>,
    /// Set when no thread may be made.
    pub full: Option<Full>,
}

impl CopyThread {
    /// Asked by the engine, after it has looked whether the same request was answered before.
    ///
    /// # Errors
    /// `QuotaExceeded` without room for more bytes, or for another thread where the target is not there.
    pub fn check_room(&self, target_exists: bool) -> Result<()> {
        let only_threads = |full: &Full| full.resource == THREADS;
        match self.full {
            Some(full) if !(target_exists && only_threads(&full)) => {
                Err(Error::QuotaExceeded(full))
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
pub trait ThreadStorage:
    ThreadDetailsStorage
    + RunStateStorage
    + AliasStorage
    + RetentionStorage
    + TtlStorage
    + ThreadChangeStorage
    + GraphStorage
{
    async fn get_thread(&self, caller: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>>;

    /// Threads in the order of the query, with where the next page begins.
    async fn list_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<ThreadPage>;

    /// How many match the conditions of a query.
    async fn count_threads(&self, caller: &Caller, query: &ThreadQuery) -> Result<u64>;

    /// Adds up what the thread takes, from one state of it. `Invalid` over the declared number of rows.
    async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>>;

    /// Takes the lease when it is free, expired or held by the same holder; creates the thread if needed. The fence grows by one
    /// unless the same holder still holds it.
    async fn acquire_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease>;

    async fn renew_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<Lease>;

    /// No error when it is not held any more.
    async fn release_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()>;

    /// Removes the thread with everything in it; leaves its fence and generation for 7 days. Whether there was one.
    async fn delete_thread(&self, caller: &Caller, request: &DeleteThread) -> Result<bool>;

    /// Removes all but what the rule keeps, or with `dry_run` only says what would go: one answer per thread, the
    /// same both times. Per thread one transaction, several where much goes; unknown threads are no error.
    async fn prune_threads(&self, caller: &Caller, request: &PruneRequest) -> Result<Vec<Pruned>>;

    /// Copies all checkpoints, values, writes and bases into a new thread. Answers the number of checkpoints: 0 for a
    /// source that is absent or not the caller's to read.
    async fn copy_thread(&self, caller: &Caller, request: &CopyThread) -> Result<u64>;
}
