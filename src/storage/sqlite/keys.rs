//! Keys of tenants.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStorage;
use super::audit::record;
use super::errors::storage_error;
use crate::domain::audit::Act;
use crate::domain::key::Key;
use crate::domain::{Error, Result};

impl SqliteStorage {
    pub(super) async fn insert_key(&self, key: &Key, act: &Act) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into keys (tenant, key_id, subject, hash, created_at, revoked_at)
             values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&key.tenant)
        .bind(&key.key_id)
        .bind(&key.subject)
        .bind(key.hash.to_vec())
        .bind(key.created_at)
        .bind(key.revoked_at)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        record(&mut write, act).await?;
        write.commit().await
    }

    pub(super) async fn select_keys(&self, tenant: &str) -> Result<Vec<Key>> {
        let mut read = self.connections.begin_read_for(tenant).await?;
        let rows = sqlx::query(
            "select tenant, key_id, subject, hash, created_at, revoked_at from keys
             where tenant = $1 order by created_at, key_id",
        )
        .bind(tenant)
        .fetch_all(&mut *read)
        .await
        .map_err(storage_error)?;
        read.end().await?;
        rows.iter().map(key).collect()
    }

    pub(super) async fn mark_key_revoked(
        &self,
        tenant: &str,
        key_id: &str,
        act: &Act,
    ) -> Result<bool> {
        let mut write = self.connections.begin_write().await?;
        let done = sqlx::query(
            "update keys set revoked_at = cast(unixepoch('subsec') * 1000000 as integer)
             where tenant = $1 and key_id = $2 and revoked_at is null",
        )
        .bind(tenant)
        .bind(key_id)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        let revoked = done.rows_affected() > 0;
        if revoked {
            record(&mut write, act).await?;
        }
        write.commit().await?;
        Ok(revoked)
    }
}

fn key(row: &SqliteRow) -> Result<Key> {
    let hash: Vec<u8> = row.try_get("hash").map_err(storage_error)?;
    let damaged = |_| Error::Integrity("the hash of a key is damaged".into());
    Ok(Key {
        tenant: row.try_get("tenant").map_err(storage_error)?,
        key_id: row.try_get("key_id").map_err(storage_error)?,
        subject: row.try_get("subject").map_err(storage_error)?,
        hash: hash.try_into().map_err(damaged)?,
        created_at: row.try_get("created_at").map_err(storage_error)?,
        revoked_at: row.try_get("revoked_at").map_err(storage_error)?,
    })
}
