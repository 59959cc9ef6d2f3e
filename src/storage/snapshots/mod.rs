//! Stores snapshots as rows. A snapshot keeps a thread as rows like any thread's, under a name that nobody can send (`ThreadId::hidden`),
//! in the same content scope. They cost no content, and code that maintains threads maintains them too. So a restore copies such a thread,
//! and the copy replaces the one that callers see.
//!
//! Only the copy at one moment differs between the engines ([`SnapshotEngine::copy_now`]).

pub(in crate::storage) mod answers;
pub mod archives;
mod document;
pub mod encrypting;
mod exchange;
mod forks;
pub mod item_sql;
pub mod items;
mod leftovers;
mod listing;
pub(in crate::storage) mod postgres;
mod recount;
mod rehoming;
pub mod removal;
pub mod restore;
mod rewind;
pub mod rows;
pub mod sessions;
pub mod sqlite;
mod take;
mod travelling;

use async_trait::async_trait;

use self::item_sql::ItemSql;
use super::sessions::SessionEngine;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::storage::CheckpointStorage;
use crate::domain::clock::Micros;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::snapshots::Snapshot;
use crate::domain::snapshots::restore::{Restore, Restored};
use crate::domain::snapshots::rewind::{RewindThread, Rewound};
use crate::domain::snapshots::storage::{ForkThread, Forked, ListSnapshots, SnapshotStorage, What};
use crate::domain::snapshots::take::{TakeSnapshot, Taken};
use crate::domain::tenants::audit::Act;
use crate::domain::threads::storage::ThreadStorage;
use crate::domain::tokens::grants::Action;
use crate::storage::files::contents::Roots;

/// An engine that keeps snapshots.
#[async_trait]
pub trait SnapshotEngine: Roots + SessionEngine + CheckpointStorage + ThreadStorage {
    /// Copies everything that is asked for, as it is at one moment, under the hidden names of this number: threads in the
    /// order of the request. The number is among the leftovers by then. Answers the moment.
    ///
    /// # Errors
    /// `NotFound` for what is not there; then nothing was copied.
    async fn copy_now(
        &self,
        caller: &Caller,
        number: i64,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Micros>;

    /// Copies what a session has under another number that no session has yet, in the same scope; it is garbage until somebody
    /// makes a session of it.
    async fn stage_session(&self, tenant: &str, scope_id: i64, numbers: (i64, i64)) -> Result<()>;

    /// How it writes statements about items.
    fn item_sql(&self) -> &'static ItemSql;
}

#[async_trait]
impl<T: SnapshotEngine> SnapshotStorage for T {
    async fn take_snapshot(
        &self,
        caller: &Caller,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Taken> {
        take::take(self, caller, request, now).await
    }

    async fn get_snapshot(
        &self,
        caller: &Caller,
        id: &SnapshotId,
        action: Action,
    ) -> Result<Option<Snapshot>> {
        listing::get(self, caller, id, action).await
    }

    async fn list_snapshots(
        &self,
        caller: &Caller,
        query: &ListSnapshots,
    ) -> Result<Vec<Snapshot>> {
        listing::list(self, caller, query).await
    }

    async fn delete_snapshot(&self, caller: &Caller, id: &SnapshotId, act: &Act) -> Result<bool> {
        removal::delete(self, caller, id, act).await
    }

    async fn fork_thread(
        &self,
        caller: &Caller,
        request: &ForkThread,
        now: Micros,
    ) -> Result<Forked> {
        forks::fork(self, caller, request, now).await
    }

    async fn rewind_thread(
        &self,
        caller: &Caller,
        request: &RewindThread,
        act: &Act,
    ) -> Result<Rewound> {
        rewind::rewind(self, caller, request, act).await
    }

    async fn count_forks(&self, caller: &Caller, thread_id: &ThreadId) -> Result<i64> {
        forks::count(self, caller, thread_id).await
    }

    async fn break_lease(&self, caller: &Caller, thread_id: &ThreadId, act: &Act) -> Result<bool> {
        forks::break_lease(self, caller, thread_id, act).await
    }

    async fn restored_before(
        &self,
        caller: &Caller,
        request: &Restore,
    ) -> Result<Option<Restored>> {
        let mut access = self.begin_read_for(&caller.tenant).await?;
        let answer = answers::find(access.as_mut(), caller, request.idempotency.as_ref()).await?;
        access.end().await?;
        Ok(answer)
    }

    async fn restore_snapshot(
        &self,
        caller: &Caller,
        request: &Restore,
        what: What<'_>,
        act: &Act,
    ) -> Result<Restored> {
        restore::restore(self, caller, request, what, act).await
    }
}
