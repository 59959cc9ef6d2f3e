//! Declares the traits of a storage engine. Both engines implement all of them, with the same results; the contract suite checks that.
//! Every call names its caller.
//!
//! **Invariant:** where the caller's grants demand an owner, the statement that reads or writes the thread compares the owner too. A thread
//! with another owner, or with none, is absent.

use std::time::Duration;

use async_trait::async_trait;

use super::caller::Caller;
use super::checkpoints::checkpoint::{Commit, ListQuery, Target, View};
use super::checkpoints::history::{Base, Chain};
use super::checkpoints::planner::Batch;
use super::checkpoints::prepared::Prepared;
use super::clock::Micros;
use super::doctor::{Examine, Progress, Report};
use super::error::{Error, Result};
use super::files::storage::FileStorage;
use super::names::ThreadId;
use super::scheduling::background_tasks::BackgroundTaskStorage;
use super::tenants::audit::{Act, AuditStorage};
use super::tenants::erasure::{Slice, Stage};
use super::tenants::quotas::{Full, THREADS};
use super::tenants::sql_role::{self, Dropped, NewSqlRole, SqlRole};
use super::tenants::storage_use::StorageUse;
use super::threads::retention::{PruneRequest, Pruned};
use super::threads::thread::{Lease, LeaseRequest, Thread, ThreadPage, ThreadQuery};
use super::tokens::credential::{Credentials, Revocation, SigningSecret};
use super::tokens::key::Key;
use super::tokens::signing::SigningStorage;

pub use super::batch_error::BatchError;
pub use super::checkpoints::value_parts::ValuePartStorage;
pub use super::export::items::ItemExportStorage;
pub use super::export::records::ExportStorage;
pub use super::files::contents::ContentStorage;
pub use super::sessions::storage::SessionStorage;
pub use super::snapshots::archives::ArchiveStorage;
pub use super::snapshots::export::SnapshotExportStorage;
pub use super::snapshots::storage::SnapshotStorage;
pub use super::store::feed::FeedStorage;
pub use super::store::history::ItemHistoryStorage;
pub use super::store::indexing::IndexingStorage;
pub use super::store::namespace_settings::SettingsStorage;
pub use super::store::storage::ItemStorage;
pub use super::store::text_search::TextStorage;
pub use super::store::word_walks::WalkStorage;
pub use super::threads::details::ThreadDetailsStorage;
pub use super::threads::retention_storage::RetentionStorage;

/// All of a storage engine.
pub trait Storage:
    CheckpointStorage
    + ValuePartStorage
    + ThreadStorage
    + ThreadDetailsStorage
    + RetentionStorage
    + ItemStorage
    + ItemHistoryStorage
    + FileStorage
    + ContentStorage
    + SettingsStorage
    + FeedStorage
    + IndexingStorage
    + TextStorage
    + WalkStorage
    + SessionStorage
    + SnapshotStorage
    + ArchiveStorage
    + SnapshotExportStorage
    + ExportStorage
    + ItemExportStorage
    + ErasureStorage
    + super::tenants::tenant::TenantStorage
    + AuditStorage
    + BackgroundTaskStorage
    + KeyStorage
    + CredentialStorage
    + SigningStorage
    + Engine
{
}
impl<T> Storage for T where
    T: CheckpointStorage
        + ValuePartStorage
        + ThreadStorage
        + ThreadDetailsStorage
        + ThreadDetailsStorage
        + RetentionStorage
        + ItemStorage
        + ItemHistoryStorage
        + FileStorage
        + ContentStorage
        + SettingsStorage
        + FeedStorage
        + IndexingStorage
        + TextStorage
        + WalkStorage
        + SessionStorage
        + SnapshotStorage
        + ArchiveStorage
        + SnapshotExportStorage
        + ExportStorage
        + ItemExportStorage
        + ErasureStorage
        + super::tenants::tenant::TenantStorage
        + AuditStorage
        + BackgroundTaskStorage
        + KeyStorage
        + CredentialStorage
        + SigningStorage
        + Engine
{
}

/// How a batch ended for one of its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done {
        generation: String,
        /// Epoch of the thread's scope.
        epoch: i64,
    },
    /// Nothing was written for this thread.
    ThreadRestored {
        current: String,
    },
    LeaseHeld,
    FenceStale {
        current: i64,
    },
    /// The thread belongs to another than the condition asks for.
    ThreadTaken,
    /// The content was planned for another epoch of the scope: plan again with everything in it.
    EpochStale {
        current: i64,
    },
    /// The thread is not there, and none may be made.
    QuotaExceeded,
    /// The content was encrypted for another scope than the thread has: plan again for this one, or, where the thread is
    /// gone, for a new one.
    ScopeStale {
        current: Option<i64>,
    },
    /// The thread's row is not as a server wrote it: nothing is written to it.
    ThreadForged,
    /// Another server created the thread at the same moment: send the same batch again.
    Raced,
}

#[async_trait]
pub trait CheckpointStorage: Send + Sync {
    /// Seals the values of a commit with the tenant's secrets. No round trip once the tenant is known here.
    async fn prepare(&self, caller: &Caller, commit: Commit, deadline: Micros) -> Result<Prepared>;

    /// Applies a batch: one statement (PostgreSQL) or one transaction (SQLite). One outcome per thread row.
    async fn write_batch(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError>;

    /// One round trip: the checkpoint, its values and writes, and the history of its delta channels and of
    /// those of `history_channels` that have a version here, all without a value.
    async fn get_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple>;

    /// A page in the order (checkpoint id descending, thread id, ns), with the shared chain of histories when the
    /// query asks for it. Two round trips, one more per delta snapshot that the page crosses.
    async fn list_checkpoints(&self, caller: &Caller, query: &ListQuery) -> Result<Page>;

    /// One round trip. None: no such checkpoint.
    async fn get_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>>;

    /// Removes the checkpoints of these runs with their writes in all threads that the caller may write to; checkpoints
    /// that stay get a delta base first.
    async fn delete_for_runs(&self, caller: &Caller, run_ids: &[String]) -> Result<()>;
}

/// Answer of `get_checkpoint`.
#[derive(Debug, Default)]
pub struct CheckpointTuple {
    /// None: no such thread.
    pub generation: Option<String>,
    pub view: Option<View>,
    pub history_channels: Vec<String>,
    pub chain: Chain,
}

#[derive(Debug, Default)]
pub struct Page {
    pub views: Vec<View>,
    /// Set when there may be more.
    pub next: Option<super::checkpoints::checkpoint::ListCursor>,
    pub history_channels: Vec<String>,
    pub chain: Chain,
}

#[derive(Debug)]
pub struct TargetHistory {
    pub checkpoint_id: String,
    pub parent: Option<String>,
    pub bases: Vec<Base>,
    pub chain: Chain,
}

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
pub trait ThreadStorage: Send + Sync {
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

#[async_trait]
pub trait ErasureStorage: Send + Sync {
    /// Removes some of what a stage of an erasure removes, durably and whole. What it leaves is as right as before.
    async fn erase_slice(&self, caller: &Caller, subject: &str, stage: Stage) -> Result<Slice>;
}

#[async_trait]
pub trait KeyStorage: Send + Sync {
    async fn create_key(&self, key: &Key, act: &Act) -> Result<()>;

    async fn list_keys(&self, tenant: &str) -> Result<Vec<Key>>;

    /// Whether there was such a key that was not revoked.
    async fn revoke_key(&self, tenant: &str, key_id: &str, act: &Act) -> Result<bool>;
}

/// What the authenticator holds in memory, and what tokens need of the database. The one place that asks across tenants: a
/// key does not say whose it is.
#[async_trait]
pub trait CredentialStorage: Send + Sync {
    /// Everything that lets callers in or keeps them out, in one state of the database. Servers poll this.
    async fn load_credentials(&self) -> Result<Credentials>;

    /// Whether there is a key with this hash that is not revoked, of any tenant.
    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool>;

    /// A secret of the tenant that was made after `made_after`, the newest: `fresh` where there is none. Servers that
    /// meet here at the same moment may each make one, and all of them are valid.
    async fn put_signing_secret(
        &self,
        fresh: &SigningSecret,
        made_after: Micros,
    ) -> Result<SigningSecret>;

    /// Removes all secrets of a tenant, and with them its tokens. Answers how many there were.
    async fn delete_signing_secrets(&self, tenant: &str, act: &Act) -> Result<u64>;

    /// Remembers a revocation, unless the tenant has `rows_max` others, or its chain, of which it is not the first, has as many as a
    /// chain may have. False: it has. The first of a chain takes the place of all others of it.
    async fn revoke_token(&self, revocation: &Revocation, rows_max: u64, act: &Act)
    -> Result<bool>;
}

#[async_trait]
pub trait Engine: Send + Sync {
    /// `postgres` or `sqlite`.
    fn name(&self) -> &'static str;

    /// How many batches may be written at once.
    fn lanes(&self) -> usize;

    /// One trivial statement.
    async fn check_ready(&self) -> Result<()>;

    /// Whether writes succeed: tries one that changes nothing.
    async fn try_write(&self) -> Result<()> {
        Ok(())
    }

    /// Removes expired idempotency answers and tombstones; safe to run from any number of servers.
    async fn sweep(&self, now: Micros) -> Result<()>;

    /// How often cold content is to be moved out of the database; None: never.
    fn moves_content_every(&self) -> Option<Duration> {
        None
    }

    /// One round of moving cold content, and of deleting moved content that nothing needs; any number of servers may run it.
    async fn move_content(&self, _now: Micros) -> Result<()> {
        Ok(())
    }

    /// Reads all content that was moved against its names. Answers what is wrong, a sentence each.
    async fn check_moved_content(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Makes a login role that reads one tenant. `Invalid` where the engine has no roles, or does not let us make one.
    async fn create_sql_role(&self, _role: &NewSqlRole, _act: &Act) -> Result<()> {
        Err(sql_role::unsupported())
    }

    async fn list_sql_roles(&self, _tenant: &str) -> Result<Vec<SqlRole>> {
        Err(sql_role::unsupported())
    }

    /// From here on the role reads nothing.
    async fn drop_sql_role(&self, _tenant: &str, _name: &str, _act: &Act) -> Result<Dropped> {
        Err(sql_role::unsupported())
    }

    /// Reads everything and holds it against its digests, in pages, beside whatever else runs, and says meanwhile how far it is.
    async fn examine_watched(&self, request: &Examine, progress: &Progress) -> Result<Report>;

    /// Wraps the secrets of the database with the current master key; two were given. Answers how many were changed.
    async fn rotate_master_key(&self) -> Result<u64> {
        Ok(0)
    }

    /// Makes everything that a tenant has stored unreadable, for ever. False: it has no key, or not any more.
    async fn destroy_tenant_key(&self, _tenant: &str) -> Result<bool> {
        Ok(false)
    }

    /// Encrypts what is stored, while no server runs. Answers how many tenants.
    async fn encrypt_stored(&self) -> Result<u64> {
        Ok(0)
    }

    /// How many connections of other servers there are, where the engine has no lock that keeps them away.
    async fn count_other_servers(&self) -> Result<u64> {
        Ok(0)
    }

    async fn close(&self);
}
