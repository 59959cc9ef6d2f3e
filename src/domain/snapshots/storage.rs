//! Declares the trait of a storage engine for snapshots.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Snapshot;
use super::archives::ArchiveStorage;
use super::export::SnapshotExportStorage;
use super::restore::{NamespaceMove, Restore, Restored, SessionMove, ThreadMove};
use super::rewind::{RewindThread, Rewound};
use super::take::{TakeSnapshot, Taken};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::names::{CheckpointId, CheckpointNs, SnapshotId, ThreadId};
use crate::domain::tenants::audit::Act;
use crate::domain::tokens::grants::Action;

#[derive(Debug, Clone)]
pub struct ForkThread {
    pub source: ThreadId,
    pub target: ThreadId,
    pub ns: CheckpointNs,
    pub checkpoint_id: CheckpointId,
    /// Key and digest of the request: the same pair is answered again without a second effect.
    pub idempotency: Option<(String, [u8; 32])>,
}

/// Kept as JSON for repeated requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    pub checkpoints: i64,
    pub generation: String,
}

#[derive(Debug, Clone, Default)]
pub struct ListSnapshots {
    /// Those that have all of these.
    pub labels: BTreeMap<String, String>,
    pub limit: usize,
    pub after: Option<SnapshotCursor>,
}

/// The last snapshot of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotCursor {
    pub created_at: Micros,
    pub id: String,
}

/// What of a snapshot is restored, and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct What<'a> {
    pub snapshot: &'a Snapshot,
    pub threads: &'a [ThreadMove],
    pub namespaces: &'a [NamespaceMove],
    pub sessions: &'a [SessionMove],
}

#[async_trait]
pub trait SnapshotStorage: ArchiveStorage + SnapshotExportStorage {
    /// All of it at one moment, or nothing. The same request again finds what it made.
    async fn take_snapshot(
        &self,
        caller: &Caller,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Taken>;

    /// None: there is none, or it is another's for this action.
    async fn get_snapshot(
        &self,
        caller: &Caller,
        id: &SnapshotId,
        action: Action,
    ) -> Result<Option<Snapshot>>;

    /// Newest first.
    async fn list_snapshots(&self, caller: &Caller, query: &ListSnapshots)
    -> Result<Vec<Snapshot>>;

    /// Whether there was one. The act is written where there was.
    async fn delete_snapshot(&self, caller: &Caller, id: &SnapshotId, act: &Act) -> Result<bool>;

    /// A copy of a thread up to a checkpoint: it, its ancestors, and what of subgraphs is not newer.
    async fn fork_thread(
        &self,
        caller: &Caller,
        request: &ForkThread,
        now: Micros,
    ) -> Result<Forked>;

    /// A thread goes back to a checkpoint: what a fork would not take is removed. The same request again finds its answer.
    /// `NotFound` without such a checkpoint; `LeaseHeld`, `FenceStale`; `Unavailable` while others write to it without end.
    async fn rewind_thread(
        &self,
        caller: &Caller,
        request: &RewindThread,
        act: &Act,
    ) -> Result<Rewound>;

    /// How many checkpoints of the root graph have more than one child; 0 for a thread that is not there.
    async fn count_forks(&self, caller: &Caller, thread_id: &ThreadId) -> Result<i64>;

    /// Takes the lease from whoever holds it. False: nobody does. The act is written where there was one.
    async fn break_lease(&self, caller: &Caller, thread_id: &ThreadId, act: &Act) -> Result<bool>;

    /// The answer of the same request, if it was answered before.
    async fn restored_before(&self, caller: &Caller, request: &Restore)
    -> Result<Option<Restored>>;

    /// All of it or nothing; what it replaces is a snapshot then, if that is asked for.
    async fn restore_snapshot(
        &self,
        caller: &Caller,
        request: &Restore,
        what: What<'_>,
        act: &Act,
    ) -> Result<Restored>;
}
