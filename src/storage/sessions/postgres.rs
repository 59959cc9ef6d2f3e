//! Gives sessions what they need of PostgreSQL. Their SQL is the same for both engines (`storage/sessions`).

use async_trait::async_trait;

use super::{SessionEngine, SessionMemory};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::db::access::{Access, Accessible};
use crate::storage::postgres::PostgresStorage;

#[async_trait]
impl SessionEngine for PostgresStorage {
    fn sessions(&self) -> &SessionMemory {
        &self.sessions
    }

    fn session_chunks(&self) -> &ChunkMemory {
        &self.chunks
    }

    async fn session_secret(&self, tenant: &str) -> Result<TenantSecret> {
        self.secret(tenant).await
    }

    async fn begin_session_write(&self) -> Result<Box<dyn Access + '_>> {
        self.begin_write().await
    }

    fn note_loss(&self) {
        self.pool.clear();
    }
}
