//! Files: listings that open no values.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::items::{literal, places};
use super::{PostgresStorage, failure};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::storage::{FilePage, FileStorage, ListFiles};
use crate::domain::item::Key;
use crate::storage::items::heads::{Head, Listed, Noting, page};

/// The range ends with a value: a plan is made without values, and `or` in it would be gone through to the end of the namespace.
const LIST: &str = "
select i.key, i.version, i.digest, i.content_id, i.file_head,
    case when i.file_head is null then i.size_bytes end as size_bytes
from items i
where i.tenant = $1 and i.namespace = cast($2 as text)::text[] and i.key >= $3 and i.key < $4
    and (i.expires_at is null or i.expires_at > $5) and i.file_head is distinct from ''::bytea
order by i.key limit $6";

/// What is being written is skipped: its writer notes it.
const NOTE: &str = "
with due as materialized (
    select i.namespace, i.key, k.head
    from unnest($2::text[], $3::bytea[], $4::bigint[], $5::bytea[]) as k (namespace, key, version, head)
    cross join lateral (
        select i.namespace, i.key from items i
        where i.tenant = $1 and i.namespace = k.namespace::text[] and i.key = k.key
            and i.version = k.version and i.file_head is null
        limit 1 for no key update skip locked) i
)
update items i set file_head = due.head from due
where i.tenant = $1 and i.namespace = due.namespace and i.key = due.key";

#[async_trait]
impl FileStorage for PostgresStorage {
    async fn list_files(
        &self,
        caller: &Caller,
        query: &ListFiles,
        now: Micros,
    ) -> Result<FilePage> {
        let rows = self.read_files(&caller.tenant, query, now).await;
        let rows = self.noting_loss(rows)?;
        let secret = self.secret(&caller.tenant).await?;
        let noting = Noting { storage: self, caller, secret: &secret, now };
        let (page, noted) = page(&noting, query, rows).await?;
        if !noted.is_empty()
            && let Err(error) = self.note_heads(&caller.tenant, &noted).await
        {
            tracing::warn!(%error, "what files are could not be noted; they are opened again");
        }
        Ok(page)
    }
}

impl PostgresStorage {
    async fn read_files(
        &self,
        tenant: &str,
        query: &ListFiles,
        now: Micros,
    ) -> Result<Vec<Listed>> {
        let mut connection = self.pool.get().await?;
        let rows = sqlx::query(LIST)
            .bind(tenant)
            .bind(literal(&query.namespace))
            .bind(&query.range.from)
            .bind(&query.range.to)
            .bind(now)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(rows.iter().map(listed).collect())
    }

    async fn note_heads(&self, tenant: &str, noted: &[Head]) -> Result<()> {
        let addresses: Vec<_> = noted.iter().map(|it| it.address.clone()).collect();
        let (namespaces, keys) = places(&addresses);
        let mut connection = self.pool.get().await?;
        sqlx::query(NOTE)
            .bind(tenant)
            .bind(namespaces)
            .bind(keys)
            .bind(noted.iter().map(|it| it.version).collect::<Vec<_>>())
            .bind(noted.iter().map(|it| it.sealed.to_vec()).collect::<Vec<_>>())
            .execute(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(())
    }
}

fn listed(row: &PgRow) -> Listed {
    Listed {
        key: Key::stored(row.get("key")),
        version: row.get("version"),
        digest: row.get("digest"),
        content_id: row.get("content_id"),
        head: row.get("file_head"),
        size_bytes: row.get::<Option<i32>, _>("size_bytes").map_or(0, i64::from),
    }
}
