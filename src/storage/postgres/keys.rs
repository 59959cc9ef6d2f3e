//! Keys of tenants.

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{Connection, Row};

use super::audit::record;
use super::{PostgresStorage, failure};
use crate::domain::audit::Act;
use crate::domain::key::Key;
use crate::domain::storage::KeyStorage;
use crate::domain::{Error, Result};

#[async_trait]
impl KeyStorage for PostgresStorage {
    async fn create_key(&self, key: &Key, act: &Act) -> Result<()> {
        self.secret(&key.tenant).await?;
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await.map_err(|error| failure::of_call(&error))?;
        sqlx::query(
            "insert into keys (tenant, key_id, subject, hash, created_at)
             values ($1, $2, $3, $4, $5)",
        )
        .bind(&key.tenant)
        .bind(&key.key_id)
        .bind(&key.subject)
        .bind(&key.hash[..])
        .bind(key.created_at)
        .execute(&mut *transaction)
        .await
        .map_err(|error| failure::of_call(&error))?;
        record(&mut transaction, act).await?;
        transaction.commit().await.map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(())
    }

    async fn list_keys(&self, tenant: &str) -> Result<Vec<Key>> {
        self.read_keys(
            sqlx::query(
                "select tenant, key_id, subject, hash, created_at, revoked_at from keys
                 where tenant = $1 order by created_at, key_id",
            )
            .bind(tenant.to_owned()),
        )
        .await
    }

    async fn revoke_key(&self, tenant: &str, key_id: &str, act: &Act) -> Result<bool> {
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await.map_err(|error| failure::of_call(&error))?;
        let done = sqlx::query(
            "update keys set revoked_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint
             where tenant = $1 and key_id = $2 and revoked_at is null",
        )
        .bind(tenant)
        .bind(key_id)
        .execute(&mut *transaction)
        .await
        .map_err(|error| failure::of_call(&error))?;
        let revoked = done.rows_affected() > 0;
        if revoked {
            record(&mut transaction, act).await?;
        }
        transaction.commit().await.map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(revoked)
    }
}

impl PostgresStorage {
    async fn read_keys(
        &self,
        query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<Vec<Key>> {
        let mut connection = self.pool.get().await?;
        let rows =
            query.fetch_all(&mut *connection).await.map_err(|error| failure::of_call(&error));
        let rows = self.noting_loss(rows)?;
        connection.release();
        rows.iter().map(read_key).collect()
    }
}

fn read_key(row: &PgRow) -> Result<Key> {
    let hash: Vec<u8> = row.get("hash");
    Ok(Key {
        key_id: row.get("key_id"),
        tenant: row.get("tenant"),
        subject: row.get("subject"),
        hash: hash
            .try_into()
            .map_err(|_| Error::Integrity("a key's hash has a wrong length".into()))?,
        created_at: row.get("created_at"),
        revoked_at: row.get("revoked_at"),
    })
}
