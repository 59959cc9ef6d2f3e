//! Creates the secrets of tenants on first use, and remembers them in the process.

use sqlx::Row;

use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::content::secret_memory::Memory;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::tenants::tenant_keys::secret_of;

impl SqliteStorage {
    /// The secret that keys the digests of a tenant's content.
    pub(in crate::storage) async fn secret(&self, tenant: &str) -> Result<TenantSecret> {
        match self.secrets.look_up(tenant) {
            Memory::Trusted(secret) => Ok(secret),
            Memory::Unknown => match self.secrets.take_turn(tenant).await {
                (_, Memory::Trusted(secret)) => Ok(secret),
                (_turn, known) => self.look_for_secret(tenant, known).await,
            },
            known @ Memory::Expired(_) => self.look_for_secret(tenant, known).await,
        }
    }

    async fn look_for_secret(&self, tenant: &str, known: Memory) -> Result<TenantSecret> {
        if let Some(masters) = self.secrets.masters() {
            return secret_of(self, (&self.secrets, known), masters, tenant).await;
        }
        // A database that may only be read has the secrets of what is in it.
        if let Some(stored) = self.read_secret(tenant).await? {
            return self.learn_secret(tenant, stored);
        }
        let mut write = self.connections.begin_write_for(tenant).await?;
        let fresh: [u8; 32] = rand::random();
        sqlx::query(
            "insert into tenants (tenant, secret, created_at)
             values ($1, $2, cast(unixepoch('subsec') * 1000000 as integer))
             on conflict (tenant) do nothing",
        )
        .bind(tenant)
        .bind(fresh.to_vec())
        .execute(&mut *write)
        .await?;
        let row = sqlx::query("select secret from tenants where tenant = $1")
            .bind(tenant)
            .fetch_one(&mut *write)
            .await?;
        let stored: Vec<u8> = row.try_get(0)?;
        write.commit().await?;
        self.learn_secret(tenant, stored)
    }

    async fn read_secret(&self, tenant: &str) -> Result<Option<Vec<u8>>> {
        let mut read = self.connections.begin_read_for(tenant).await?;
        let stored = sqlx::query_scalar("select secret from tenants where tenant = $1")
            .bind(tenant)
            .fetch_optional(&mut *read)
            .await?;
        read.end().await?;
        Ok(stored)
    }

    fn learn_secret(&self, tenant: &str, stored: Vec<u8>) -> Result<TenantSecret> {
        let damaged = |_| Error::Integrity("a tenant's secret is damaged".into());
        let secret = TenantSecret::new(stored.try_into().map_err(damaged)?);
        self.secrets.insert(tenant, &secret);
        Ok(secret)
    }
}
