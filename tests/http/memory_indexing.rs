//! Implements indexing of the storage in memory: it makes no vectors.

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::store::indexing_storage::{IndexingStorage, IndexingTask};
use threadkeep::domain::store::vector::{Model, NewVectors};

use crate::memory::Memory;

#[async_trait]
impl IndexingStorage for Memory {
    async fn claim_indexing(&self, _: Micros, _: Micros, _: usize) -> Result<Vec<IndexingTask>> {
        Ok(Vec::new())
    }

    async fn finish_indexing(
        &self,
        _: &IndexingTask,
        _: &Model,
        _: Option<&NewVectors>,
    ) -> Result<()> {
        self.called("finish_indexing")
    }

    async fn postpone_indexing(&self, _: &IndexingTask, _: Micros) -> Result<()> {
        self.called("postpone_indexing")
    }

    async fn renew_indexing(&self, _: &Model, _: Micros) -> Result<bool> {
        Ok(false)
    }
}
