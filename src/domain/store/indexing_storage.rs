//! Declares the storage of items whose vectors the server is to make.

use async_trait::async_trait;

use super::item::Address;
use super::vector::{Model, NewVectors};
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::scheduling::background_tasks::BackgroundTaskStorage;

/// An item whose vectors are to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexingTask {
    pub tenant: String,
    pub address: Address,
    pub version: i64,
    /// Paths as JSON.
    pub fields: String,
    /// Of this one.
    pub attempt: i64,
}

#[async_trait]
pub trait IndexingStorage: BackgroundTaskStorage {
    /// Tasks that are due, claimed until `until`.
    async fn claim_indexing(
        &self,
        now: Micros,
        until: Micros,
        limit: usize,
    ) -> Result<Vec<IndexingTask>>;

    /// Replaces the item's vectors, if it still has that version; the task is done or gone then.
    async fn finish_indexing(
        &self,
        task: &IndexingTask,
        model: &Model,
        vectors: Option<&NewVectors>,
    ) -> Result<()>;

    /// Another time.
    async fn postpone_indexing(&self, task: &IndexingTask, due_at: Micros) -> Result<()>;

    /// What was made by another model is due, some of it. Whether there was any.
    async fn renew_indexing(&self, model: &Model, now: Micros) -> Result<bool>;
}
