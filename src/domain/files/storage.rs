//! Declares the storage calls that files need beyond those of items.

use async_trait::async_trait;

use super::contents::ContentStorage;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::idempotency::Idempotency;
use crate::domain::store::file_head::FileHead;
use crate::domain::store::item::Key;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::storage::ItemStorage;

/// No key begins with it, so it is behind all.
const BEHIND_ALL: &[u8] = b"\xff";

/// Keys from one to before another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
}

/// Files of exactly one namespace, in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFiles {
    pub namespace: Namespace,
    pub range: KeyRange,
    pub limit: usize,
}

/// A file without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub key: Key,
    pub version: i64,
    /// Of the item's value.
    pub digest: Vec<u8>,
    pub content_id: Option<Vec<u8>>,
    pub head: FileHead,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePage {
    pub files: Vec<FileRow>,
    /// Where the next page begins, when there may be more.
    pub next: Option<Vec<u8>>,
}

/// How a removal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// So many items; what had expired is not counted.
    Items(u64),
    /// An earlier request with this key did it.
    Repeated(u64),
    IdempotencyMismatch,
}

#[async_trait]
pub trait FileStorage: ItemStorage + ContentStorage {
    /// A page of files; items that are none are passed over. One round trip that reads no values; those of items from before heads
    /// were noted are opened, and noted.
    async fn list_files(&self, caller: &Caller, query: &ListFiles, now: Micros)
    -> Result<FilePage>;

    /// Keys and versions of all items in some ranges, files or not, in order.
    async fn list_paths(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Key, i64)>>;

    /// Removes all items in some ranges, files or not, and remembers the request where there were any: one statement, or one
    /// transaction.
    async fn remove_keys(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        request: &Idempotency,
        now: Micros,
    ) -> Result<Removed>;
}

impl KeyRange {
    /// One key.
    pub fn only(key: &[u8]) -> Self {
        Self { from: key.to_vec(), to: [key, b"\0"].concat() }
    }

    pub fn all() -> Self {
        Self { from: Vec::new(), to: BEHIND_ALL.to_vec() }
    }

    /// Everything that begins with a path and a slash.
    pub fn below(path: &[u8]) -> Self {
        Self { from: [path, b"/"].concat(), to: [path, b"0"].concat() }
    }

    /// What of it is behind a key.
    #[must_use]
    pub fn after(mut self, key: &[u8]) -> Self {
        let next = [key, b"\0"].concat();
        if next > self.from {
            self.from = next;
        }
        self
    }
}
