//! Reads the versions of an item. A trigger of the table stores them (`migrations/postgres/0011_item_history.sql`).

use async_trait::async_trait;
use sqlx::Row;

use super::items::{literal, read_item};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::history_storage::{ItemHistoryStorage, ListVersions, VersionPage};
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::StoredItem;
use crate::storage::store::opening::opening_size;
use crate::storage::store::versions::page;

/// $5 below which version, $6 rows, $7 whether values are wanted, $8 bytes after which no further value is read. One state: an
/// item whose row is there has exactly the versions that are read with it.
const LIST: &str = r"
with i as materialized (
    select i.* from items i
    where i.tenant = $1 and i.namespace = cast($2 as text)::text[] and i.key = $3
        and (i.expires_at is null or i.expires_at > $4)
), n as (
    select version, updated_at, ttl_micros, size_bytes, digest, body, parts, scope_id, content_id, true as is_current
    from i
    union all
    select v.version, v.updated_at, v.ttl_micros, v.size_bytes, v.digest, v.body, v.parts, v.scope_id, v.content_id,
        false
    from item_versions v
    where v.tenant = $1 and v.namespace = cast($2 as text)::text[] and v.key = $3
        and v.version > 0 and exists (select from i)
), numbered as (
    select n.*, sum(n.size_bytes) over (order by n.version desc) - n.size_bytes as bytes_before
    from n where n.version < $5
    order by n.version desc limit $6
)
select i.namespace, i.key, n.version, n.updated_at as created_at, n.updated_at, n.ttl_micros,
    null::bigint as expires_at, n.size_bytes, n.digest, n.parts, n.scope_id, n.content_id,
    n.is_current,
    case when $7 and n.bytes_before < $8 then n.body end as body
from numbered n cross join i
order by n.version desc
";

#[async_trait]
impl ItemHistoryStorage for PostgresStorage {
    async fn list_item_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
        now: Micros,
    ) -> Result<Option<VersionPage>> {
        self.clear_pool_on_loss(self.read_item_versions(caller, query, now).await)
    }
}

impl PostgresStorage {
    async fn read_item_versions(
        &self,
        caller: &Caller,
        query: &ListVersions,
        now: Micros,
    ) -> Result<Option<VersionPage>> {
        let rows = sqlx::query(LIST)
            .bind(&caller.tenant)
            .bind(literal(&query.address.namespace))
            .bind(query.address.key.as_bytes())
            .bind(now)
            .bind(query.before.unwrap_or(i64::MAX))
            // One more tells whether there are more.
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1))
            .bind(query.values)
            .bind(i64::try_from(LIMITS.list_bytes_max).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.pool.get_for(&caller.tenant).await?)
            .await?;
        let found: Vec<(StoredItem, bool)> =
            rows.iter().map(|row| (read_item(row), row.get("is_current"))).collect();
        let secret = self.secret(&caller.tenant).await?;
        let items: Vec<&StoredItem> = found.iter().map(|it| &it.0).collect();
        let chunks = self.content_of_items(&caller.tenant, &secret, &items).await?;
        let open = || page(query, &found, &secret, &chunks);
        cpu_pool::run_here(&caller.tenant, opening_size(&items), open).await?
    }
}
