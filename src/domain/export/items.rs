//! Defines items of the store as an export has them: with version, times, earlier versions, vectors, and contents outside their values.

use async_trait::async_trait;
use bytes::Bytes;

use super::records::{Existing, Readable};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::files::contents::ContentId;
use crate::domain::limits::LIMITS;
use crate::domain::store::file_head::{FileHead, Form};
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::vector::NewVectors;

#[derive(Debug, Clone, PartialEq)]
pub struct ItemRecord {
    pub address: Address,
    pub version: i64,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub ttl_micros: Option<Micros>,
    pub expires_at: Option<Micros>,
    /// Earlier versions that it keeps from its next put on.
    pub history: i64,
    /// The exact JSON text.
    pub value: Bytes,
    /// Of a content that is no part of the value.
    pub content: Option<FileHead>,
    /// Oldest first.
    pub earlier: Vec<EarlierVersion>,
    pub vectors: Option<NewVectors>,
    pub index: Option<ItemIndex>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EarlierVersion {
    pub version: i64,
    pub updated_at: Micros,
    pub ttl_micros: Option<Micros>,
    pub value: Bytes,
    pub content: Option<FileHead>,
}

/// The server makes the item's vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemIndex {
    /// Paths of the texts in the value: a JSON list.
    pub fields: String,
    /// What its vectors were made by; None: it has none yet.
    pub model: Option<String>,
}

/// An item with where its contents lie here: its own first, then those of its earlier versions.
#[derive(Debug, Clone)]
pub struct StoredItem {
    pub record: ItemRecord,
    pub contents: Vec<ContentId>,
}

#[derive(Debug, Default)]
pub struct ItemsRead {
    pub items: Vec<StoredItem>,
    /// The last one that was looked at. None: there are no more.
    pub last: Option<Address>,
}

/// When an item was made and last put, elsewhere.
#[derive(Debug, Clone)]
pub struct ItemTimes {
    pub address: Address,
    /// The one that was just written.
    pub version: i64,
    pub created_at: Micros,
    pub updated_at: Micros,
}

#[async_trait]
pub trait ItemExportStorage: Send + Sync {
    /// Items below a prefix that come after one, in the order of namespace and key, as many as a page may have: each is of one
    /// moment. What has expired is absent.
    async fn read_items(
        &self,
        caller: &Caller,
        prefix: &Namespace,
        after: Option<&Address>,
        now: Micros,
    ) -> Result<ItemsRead>;

    /// Every item below a prefix that comes after one, expired ones too, as far as a damaged database can be read.
    async fn list_readable_items(
        &self,
        caller: &Caller,
        prefix: &Namespace,
        after: Option<&Address>,
    ) -> Result<Readable<Address>>;

    async fn read_item(
        &self,
        caller: &Caller,
        address: &Address,
        now: Micros,
    ) -> Result<Option<StoredItem>>;

    /// Writes items as they were, all or none: one transaction. Those that are there are replaced or refused. An item that replaces
    /// one gets versions greater than any that it had; where others are replaced, one that is not there gets versions from `now`
    /// on. Where values are encrypted, vectors are left out, as they are for every item.
    async fn put_items(
        &self,
        caller: &Caller,
        items: Vec<StoredItem>,
        existing: (Existing, Micros),
    ) -> Result<()>;

    /// Gives items the times that they had elsewhere, all in one transaction. One that has another version by now keeps its own.
    async fn keep_times(&self, caller: &Caller, items: &[ItemTimes]) -> Result<()>;
}

impl ItemRecord {
    /// How long the contents are that follow it in a file, in their order.
    pub fn content_sizes(&self) -> Vec<u64> {
        let earlier = self.earlier.iter().map(|it| it.content.as_ref());
        let all = std::iter::once(self.content.as_ref()).chain(earlier);
        all.flatten().map(|it| it.size).collect()
    }

    /// # Errors
    /// 422 for what no caller could have put.
    pub fn check(&self) -> Result<()> {
        let labels = self.address.namespace.labels().to_vec();
        if labels.is_empty() {
            return Err(Error::invalid("namespace", "an item needs a namespace"));
        }
        Namespace::new(labels)?;
        if self.address.key.as_bytes().len() as u64 > LIMITS.item_key_bytes_max {
            return Err(Error::invalid("key", "the key of an item is too long"));
        }
        let positive = |it: i64| it > 0;
        let versions = self.earlier.iter().map(|it| it.version).chain([self.version]);
        let versions: Vec<i64> = versions.collect();
        if !versions.iter().copied().all(positive) || !versions.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid("version", "versions must grow, from 1 on"));
        }
        let history = u64::try_from(self.history).unwrap_or(u64::MAX);
        if history > LIMITS.item_versions_max || self.earlier.len() as u64 > history {
            return Err(Error::invalid("history", "an item has more versions than it keeps"));
        }
        let contents = self.earlier.iter().map(|it| &it.content).chain([&self.content]);
        for head in contents.flatten() {
            if head.form != Form::Elsewhere || head.size > LIMITS.content_bytes_max {
                return Err(Error::invalid("content", "a content that no file has"));
            }
        }
        if let Some(index) = &self.index {
            let paths: std::result::Result<Vec<String>, _> = serde_json::from_str(&index.fields);
            if paths.is_err() {
                return Err(Error::invalid("index", "paths must be a JSON list of texts"));
            }
        }
        Ok(())
    }

    /// Lets the versions grow by as much as the oldest one needs to be no smaller than `first`.
    pub fn raise_versions(&mut self, first: i64) {
        let oldest = self.earlier.first().map_or(self.version, |it| it.version);
        let by = first.saturating_sub(oldest).max(0);
        self.version += by;
        for earlier in &mut self.earlier {
            earlier.version += by;
        }
    }

    /// The same with the versions of another record, for comparing: where an item replaced one, its versions are others.
    #[must_use]
    pub fn under_versions_of(mut self, other: &Self) -> Self {
        self.version = other.version;
        for (earlier, other) in self.earlier.iter_mut().zip(&other.earlier) {
            earlier.version = other.version;
        }
        self
    }

    /// About what it takes in memory.
    pub fn size_bytes(&self) -> usize {
        let earlier: usize = self.earlier.iter().map(|it| it.value.len() + 256).sum();
        let vectors = self.vectors.as_ref().map_or(0, NewVectors::size_bytes);
        512 + self.value.len() + earlier + vectors
    }
}

/// The name of an item for people.
pub fn shown(address: &Address) -> String {
    let key = address.key.as_bytes();
    format!("{} {}", address.namespace.labels().join("/"), String::from_utf8_lossy(key))
}

/// A key as a file has it.
pub fn key_of(bytes: Vec<u8>) -> Key {
    Key::stored(bytes)
}
