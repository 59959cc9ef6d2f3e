//! Tells connections of servers from those of the command that turns encryption on, which must be alone.

use super::PostgresStorage;
use super::access::begin_access;
use crate::domain::Result;
use crate::storage::{Encryption, StorageConfig};

pub(in crate::storage) const OTHERS: &str = "
select count(*) from pg_stat_activity where application_name = 'threadkeep' and datname = current_database()";

/// What connections are called in `pg_stat_activity`.
pub fn own_name(config: &StorageConfig) -> &'static str {
    match config.encryption {
        Encryption::Begins(_) => "threadkeep encrypt",
        Encryption::Off | Encryption::On(_) => "threadkeep",
    }
}

impl PostgresStorage {
    /// Connections of servers, and of commands beside them.
    pub(super) async fn count_others(&self) -> Result<u64> {
        let mut access = begin_access(&self.pool, "begin read only").await?;
        let rows = access.rows(OTHERS, &[]).await?;
        access.end().await?;
        Ok(rows[0].integer(0)?.unsigned_abs())
    }
}
