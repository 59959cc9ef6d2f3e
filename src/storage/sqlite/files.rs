//! Files: listings that open no values.

use async_trait::async_trait;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStorage;
use super::errors::storage_error as fail;
use super::rows::RowSet;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::storage::{FilePage, FileStorage, ListFiles};
use crate::domain::item::Key;
use crate::storage::items::heads::{Head, Listed, Noting, page};
use crate::storage::items::namespaces;

/// All but the size comes from the index; the size only of what is to be opened.
const LIST: &str = "
select i.key, i.version, i.digest, i.content_id, i.file_head,
    case when i.file_head is null then i.size_bytes end as size_bytes
from items i indexed by items_files
where i.tenant = $1 and i.namespace = $2 and i.key >= $3 and i.key < $4
    and (i.expires_at is null or i.expires_at > $5) and i.file_head is not x''
order by i.key limit $6";

const NOTE: &str = "
update items set file_head = substr($3, j.value ->> 5, j.value ->> 6)
from json_each($2) j
where items.tenant = $1 and items.namespace = substr($3, j.value ->> 0, j.value ->> 1)
    and items.key = substr($3, j.value ->> 2, j.value ->> 3)
    and items.version = j.value ->> 4 and items.file_head is null";

#[async_trait]
impl FileStorage for SqliteStorage {
    async fn list_files(
        &self,
        caller: &Caller,
        query: &ListFiles,
        now: Micros,
    ) -> Result<FilePage> {
        let rows = self.read_files(&caller.tenant, query, now).await?;
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

impl SqliteStorage {
    async fn read_files(
        &self,
        tenant: &str,
        query: &ListFiles,
        now: Micros,
    ) -> Result<Vec<Listed>> {
        let mut read = self.connections.begin_read().await?;
        let rows = sqlx::query(LIST)
            .bind(tenant)
            .bind(namespaces::encode(&query.namespace))
            .bind(&query.range.from)
            .bind(&query.range.to)
            .bind(now)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *read)
            .await
            .map_err(fail)?;
        read.end().await?;
        rows.iter().map(listed).collect()
    }

    async fn note_heads(&self, tenant: &str, noted: &[Head]) -> Result<()> {
        let mut set = RowSet::default();
        for head in noted {
            let namespace = set.bytes(&namespaces::encode(&head.address.namespace));
            let key = set.bytes(head.address.key.as_bytes());
            let sealed = set.bytes(&head.sealed);
            let place = [namespace.0, namespace.1, key.0, key.1];
            set.push(json!([
                place[0],
                place[1],
                place[2],
                place[3],
                head.version,
                sealed.0,
                sealed.1
            ]));
        }
        let mut write = self.connections.begin_write().await?;
        sqlx::query(NOTE)
            .bind(tenant)
            .bind(set.json())
            .bind(set.blob)
            .execute(&mut *write)
            .await
            .map_err(fail)?;
        write.commit().await
    }
}

fn listed(row: &SqliteRow) -> Result<Listed> {
    Ok(Listed {
        key: Key::stored(row.try_get("key").map_err(fail)?),
        version: row.try_get("version").map_err(fail)?,
        digest: row.try_get("digest").map_err(fail)?,
        content_id: row.try_get("content_id").map_err(fail)?,
        head: row.try_get("file_head").map_err(fail)?,
        size_bytes: row.try_get::<Option<i64>, _>("size_bytes").map_err(fail)?.unwrap_or(0),
    })
}
