//! Implements snapshots of the storage in memory: it has none. Their routes are tested over a real engine (`snapshots.rs`).

use async_trait::async_trait;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::export::items::{ItemsRead, StoredItem};
use threadkeep::domain::export::records::{SessionHead, Staged};
use threadkeep::domain::names::{SnapshotId, ThreadId};
use threadkeep::domain::snapshots::Snapshot;
use threadkeep::domain::snapshots::archives::{
    Archive, ArchiveId, ArchiveStorage, Arrived, WorkspaceName,
};
use threadkeep::domain::snapshots::export::{ArrivedSnapshot, SnapshotExportStorage};
use threadkeep::domain::snapshots::restore::{Restore, Restored};
use threadkeep::domain::snapshots::rewind::{RewindThread, Rewound};
use threadkeep::domain::snapshots::storage::{
    ForkThread, Forked, ListSnapshots, SnapshotStorage, What,
};
use threadkeep::domain::snapshots::take::{TakeSnapshot, Taken};
use threadkeep::domain::store::item::Address;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::tenants::audit::Act;
use threadkeep::domain::tokens::grants::Action;
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

#[async_trait]
impl SnapshotStorage for Memory {
    async fn take_snapshot(&self, _: &Caller, _: &TakeSnapshot, _: Micros) -> Result<Taken> {
        self.called("take snapshot")?;
        Err(Error::Internal("the storage in memory keeps no snapshots".into()))
    }

    async fn get_snapshot(
        &self,
        _: &Caller,
        _: &SnapshotId,
        _: Action,
    ) -> Result<Option<Snapshot>> {
        self.called("get snapshot")?;
        Ok(None)
    }

    async fn list_snapshots(&self, _: &Caller, _: &ListSnapshots) -> Result<Vec<Snapshot>> {
        self.called("list snapshots")?;
        Ok(Vec::new())
    }

    async fn delete_snapshot(&self, _: &Caller, _: &SnapshotId, _: &Act) -> Result<bool> {
        self.called("delete snapshot")?;
        Ok(false)
    }

    async fn fork_thread(&self, _: &Caller, _: &ForkThread, _: Micros) -> Result<Forked> {
        self.called("fork thread")?;
        Err(Error::Internal("the storage in memory keeps no snapshots".into()))
    }

    async fn rewind_thread(&self, _: &Caller, _: &RewindThread, _: &Act) -> Result<Rewound> {
        self.called("rewind thread")?;
        Err(Error::Internal("the storage in memory keeps no snapshots".into()))
    }

    async fn count_forks(&self, _: &Caller, _: &ThreadId) -> Result<i64> {
        Ok(0)
    }

    async fn break_lease(&self, _: &Caller, _: &ThreadId, _: &Act) -> Result<bool> {
        self.called("break lease")?;
        Ok(false)
    }

    async fn restored_before(&self, _: &Caller, _: &Restore) -> Result<Option<Restored>> {
        Ok(None)
    }

    async fn restore_snapshot(
        &self,
        _: &Caller,
        _: &Restore,
        _: What<'_>,
        _: &Act,
    ) -> Result<Restored> {
        Err(Error::Internal("the storage in memory keeps no snapshots".into()))
    }
}

#[async_trait]
impl ArchiveStorage for Memory {
    async fn begin_archive(&self, _: &Caller, _: &WorkspaceName, _: Micros) -> Result<ArchiveId> {
        self.called("begin archive")?;
        Err(Error::Internal("the storage in memory keeps no archives".into()))
    }

    async fn finish_archive(
        &self,
        _: &Caller,
        _: ArchiveId,
        _: &Arrived,
        _: Micros,
    ) -> Result<Archive> {
        Err(Error::Internal("the storage in memory keeps no archives".into()))
    }

    async fn find_archive(&self, _: &Caller, _: ArchiveId) -> Result<Option<Archive>> {
        self.called("find archive")?;
        Ok(None)
    }
}

fn none<T>() -> Result<T> {
    Err(Error::Internal("the storage in memory keeps no snapshots".into()))
}

#[async_trait]
impl SnapshotExportStorage for Memory {
    async fn read_snapshot_items(
        &self,
        _: &Caller,
        _: i64,
        _: &Namespace,
        _: Option<&Address>,
    ) -> Result<ItemsRead> {
        none()
    }

    async fn snapshot_digest(&self, _: &Caller, _: &SnapshotId) -> Result<Option<Vec<u8>>> {
        none()
    }

    async fn begin_snapshot(&self, _: &Caller) -> Result<i64> {
        none()
    }

    async fn renew_snapshot(&self, _: &Caller, _: i64) -> Result<()> {
        none()
    }

    async fn keep_session(&self, _: &Caller, _: i64, _: &Staged, _: &SessionHead) -> Result<()> {
        none()
    }

    async fn keep_items(&self, _: &Caller, _: i64, _: Vec<StoredItem>) -> Result<()> {
        none()
    }

    async fn show_snapshot(&self, _: &Caller, _: ArrivedSnapshot<'_>) -> Result<bool> {
        none()
    }

    async fn drop_snapshot(&self, _: &Caller, _: i64) -> Result<()> {
        none()
    }
}
