//! Reads the versions of an item. Triggers of the table store them (`migrations/sqlite/0011_item_history.sql`).

use async_trait::async_trait;
use sqlx::Row;

use super::items::{content_of, read_item};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::history_storage::{ItemHistoryStorage, ListVersions, VersionPage};
use crate::storage::checkpoints::sqlite::views::Tenant;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::store::opening::opening_size;
use crate::storage::store::versions::page;
use crate::storage::store::{StoredItem, namespaces};

/// $5 below which version, $6 rows, $7 whether values are wanted, $8 bytes after which no further value is read.
const LIST: &str = "
with i as materialized (
    select * from items
    where tenant = $1 and namespace = $2 and key = $3 and (expires_at is null or expires_at > $4)
), n as (
    select version, updated_at, ttl_micros, size_bytes, digest, body, parts, scope_id, content_id,
        1 as is_current
    from i
    union all
    select version, updated_at, ttl_micros, size_bytes, digest, body, parts, scope_id, content_id, 0
    from item_versions
    where tenant = $1 and namespace = $2 and key = $3 and version > 0
        and exists (select 1 from i)
), numbered as (
    select n.*, sum(size_bytes) over (order by version desc) - size_bytes as bytes_before
    from n where version < $5
    order by version desc limit $6
)
select $2 as namespace, $3 as key, version, updated_at as created_at, updated_at, ttl_micros,
    null as expires_at, size_bytes, digest, parts, scope_id, content_id, is_current,
    case when $7 and bytes_before < $8 then body end as body
from numbered order by version desc";

#[async_trait]
impl ItemHistoryStorage for SqliteStorage {
    async fn list_item_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
        now: Micros,
    ) -> Result<Option<VersionPage>> {
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch);
        loop {
            let mut read = self.connections.begin_read_for(&caller.tenant).await?;
            let rows = sqlx::query(LIST)
                .bind(&caller.tenant)
                .bind(namespaces::encode(&query.address.namespace))
                .bind(query.address.key.as_bytes())
                .bind(now)
                .bind(query.before.unwrap_or(i64::MAX))
                // One more tells whether there are more.
                .bind(i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1))
                .bind(query.values)
                .bind(i64::try_from(LIMITS.list_bytes_max).unwrap_or(i64::MAX))
                .fetch_all(&mut *read)
                .await?;
            let found = rows
                .iter()
                .map(|row| Ok((read_item(row)?, row.try_get("is_current")?)))
                .collect::<Result<Vec<(StoredItem, bool)>>>()?;
            let opened: Vec<&StoredItem> =
                found.iter().map(|it| &it.0).filter(|it| it.body.is_some()).collect();
            let chunks = content_of(&mut read, tenant, &opened).await?;
            read.end().await?;
            if prefetch.is_complete() {
                let open = || page(query, &found, &secret, &chunks);
                return cpu_pool::run_here(&caller.tenant, opening_size(&opened), open).await?;
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }
}
