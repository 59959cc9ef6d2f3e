//! Declares the storage of earlier versions of items.

use async_trait::async_trait;
use bytes::Bytes;

use super::item::Address;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// A version of an item: the present one, or an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemVersion {
    pub version: i64,
    /// When it was put.
    pub updated_at: Micros,
    pub ttl_micros: Option<Micros>,
    pub size_bytes: i64,
    /// The item has this version now.
    pub is_current: bool,
    /// The exact JSON text; None where it was not asked for, and where the content is kept elsewhere.
    pub value: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListVersions {
    pub address: Address,
    /// Only versions below this one.
    pub before: Option<i64>,
    pub limit: usize,
    pub values: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct VersionPage {
    /// Newest first.
    pub versions: Vec<ItemVersion>,
    /// Set when there may be more.
    pub next: Option<i64>,
}

#[async_trait]
pub trait ItemHistoryStorage: Send + Sync {
    /// Versions of an item that lives, newest first: one round trip, more where values lie in chunks. None: no such item.
    async fn list_item_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
        now: Micros,
    ) -> Result<Option<VersionPage>>;
}
