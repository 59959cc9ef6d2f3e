//! Gives sessions their transactions, secrets and memories on SQLite; the SQL is the same for both engines (`storage/sessions`).

use async_trait::async_trait;

use super::{SessionEngine, SessionMemory};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::storage::content::chunk_memory::ChunkMemory;
use crate::storage::db::access::Access;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::SESSIONS;

#[async_trait]
impl SessionEngine for SqliteStorage {
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
        // Without the turn of work in slices: a caller waits for this.
        Ok(Box::new(self.connections.begin_write_for(SESSIONS).await?))
    }

    /// There are no connections to lose.
    fn note_loss(&self) {}
}
