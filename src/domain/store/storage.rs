//! Declares the trait of a storage engine for the items of the store.

use async_trait::async_trait;

use super::batch::{ItemBatch, ItemOutcome, PreparedChanges};
use super::feed::FeedStorage;
use super::indexing_storage::IndexingStorage;
use super::item::{Address, ChangeItem, Item, ItemPage, Scope, SearchItems};
use super::namespace::Namespace;
use super::namespace_settings::SettingsStorage;
use super::namespace_storage::NamespaceStorage;
use super::walk_storage::WalkStorage;
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::lanes::LaneStorage;
use crate::domain::store::history_storage::ItemHistoryStorage;
use crate::domain::store::text_storage::TextStorage;

/// Values that are opened together, where a read goes through many. A larger one is opened alone.
pub const OPENED_BYTES_MAX: u64 = 4 << 20;

/// Items of the store. What has expired at `now` is absent. `within` are the prefixes that the caller may look at, none below
/// another.
#[async_trait]
pub trait ItemStorage:
    ItemHistoryStorage
    + SettingsStorage
    + FeedStorage
    + IndexingStorage
    + TextStorage
    + WalkStorage
    + NamespaceStorage
    + LaneStorage
{
    /// Checks and seals the values of changes that happen together. No round trip once the tenant is known here, and the
    /// root of a large value.
    async fn prepare_changes(
        &self,
        caller: &Caller,
        changes: Vec<ChangeItem>,
        idempotency: Option<Idempotency>,
        deadline: Micros,
    ) -> Result<PreparedChanges>;

    /// Applies a batch: one statement (PostgreSQL) or one transaction (SQLite). One outcome per group.
    async fn write_items(&self, batch: &ItemBatch) -> Result<Vec<ItemOutcome>, BatchError>;

    /// One round trip; one more, or two, where values lie in chunks. `TooLarge` where the values have more bytes together than
    /// `bytes_max`: large ones are not read then.
    async fn get_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        bytes_max: Option<u64>,
        now: Micros,
    ) -> Result<Vec<Option<Item>>>;

    /// The same for the first addresses, as many as have [`OPENED_BYTES_MAX`] together, and one at least: an entry for each of them, and none
    /// for the others. Who reads many goes on with the next one.
    async fn get_first_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<Vec<Option<Item>>>;

    /// A page in the order of the query. Round trips as [`Self::get_items`]; one more where what the index found does not hold.
    async fn search_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        now: Micros,
    ) -> Result<ItemPage>;

    async fn count_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64>;

    /// Begins the lives of these items anew, of those that still live and of which more than a tenth has passed. What is
    /// being written is left alone.
    async fn refresh_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<()>;
}
