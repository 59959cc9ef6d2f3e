//! Declares the storage calls for exporting snapshots, besides those for threads and sessions. A snapshot keeps its threads and sessions as
//! such, under hidden names.

use async_trait::async_trait;

use super::Snapshot;
use crate::domain::caller::Caller;
use crate::domain::error::Result;
use crate::domain::export::items::{ItemsRead, StoredItem};
use crate::domain::export::records::{SessionHead, Staged};
use crate::domain::names::SnapshotId;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::Act;

/// A snapshot whose parts have all arrived under its number.
#[derive(Debug, Clone, Copy)]
pub struct ArrivedSnapshot<'a> {
    pub snapshot: &'a Snapshot,
    /// Of what was asked for when it was taken; empty of a safety snapshot.
    pub digest: &'a [u8],
    /// The number of the one that it takes the place of, and what is noted of that one's end.
    pub replaces: Option<(i64, &'a Act)>,
}

#[async_trait]
pub trait SnapshotExportStorage: Send + Sync {
    /// Items that a snapshot keeps below a prefix, after one, as many as a page may have. Their versions mean nothing.
    async fn read_snapshot_items(
        &self,
        caller: &Caller,
        number: i64,
        prefix: &Namespace,
        after: Option<&Address>,
    ) -> Result<ItemsRead>;

    /// The digest of what was asked for when it was taken; empty of a safety snapshot.
    async fn snapshot_digest(&self, caller: &Caller, id: &SnapshotId) -> Result<Option<Vec<u8>>>;

    /// A number under which hidden rows may be made. What is neither shown nor renewed within the hour goes with a sweep.
    async fn begin_snapshot(&self, caller: &Caller) -> Result<i64>;

    /// Says that it is still being made.
    async fn renew_snapshot(&self, caller: &Caller, number: i64) -> Result<()>;

    /// Makes staged rows a session that the number keeps.
    async fn keep_session(
        &self,
        caller: &Caller,
        number: i64,
        staged: &Staged,
        head: &SessionHead,
    ) -> Result<()>;

    /// Items that the number keeps: one transaction.
    async fn keep_items(&self, caller: &Caller, number: i64, items: Vec<StoredItem>) -> Result<()>;

    /// Makes a snapshot of what its number keeps, and forgets the one that it replaces: both or neither. False: there is another
    /// one of this id.
    async fn show_snapshot(&self, caller: &Caller, arrived: ArrivedSnapshot<'_>) -> Result<bool>;

    /// Removes what a number keeps that was not shown.
    async fn drop_snapshot(&self, caller: &Caller, number: i64) -> Result<()>;
}
