//! Lists files without opening their values.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::storage::{FilePage, FileStorage, KeyRange, ListFiles, Removed};
use crate::domain::idempotency::Idempotency;
use crate::domain::store::item::Key;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::postgres::{PostgresStorage, failure};
use crate::storage::store::heads::{Head, ListedFile, Noting, number_of, page};
use crate::storage::store::postgres::items::{literal, places};

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

const KEYS: &str = "
select i.key, i.version from unnest($3::bytea[], $4::bytea[]) with ordinality as r (first, behind, ord)
cross join lateral (
    select i.key, i.version from items i
    where i.tenant = $1 and i.namespace = cast($2 as text)::text[] and i.key >= r.first and i.key < r.behind
        and (i.expires_at is null or i.expires_at > $5)
    order by i.key limit $6) i
order by r.ord, i.key limit $6";

/// Rows are locked in the order of keys, as batches lock them.
const REMOVE: &str = "
with prior as materialized (
    select x.digest = $8 as same, x.answer from idempotency x
    where x.tenant = $1 and x.caller = $6 and x.key = $7
), due as materialized (
    select i.place from unnest($3::bytea[], $4::bytea[]) with ordinality as r (first, behind, ord)
    cross join lateral (
        select i.ctid as place from items i
        where i.tenant = $1 and i.namespace = cast($2 as text)::text[]
            and i.key >= r.first and i.key < r.behind and not exists (select from prior)
        order by i.key for update) i
), gone as (
    delete from items d where d.tenant = $1 and d.ctid = any (array(select place from due))
    returning tenant, namespace, key, version, scope_id, vector_bytes, is_indexed,
        (expires_at is null or expires_at > $5) as was_live
), logged as (
    insert into item_changes (tenant, xid, n, namespace, key, version, kind, written_at)
    select g.tenant, pg_current_xact_id(), row_number() over (order by g.key), g.namespace, g.key, g.version,
        case when g.was_live then 'delete' else 'expire' end, $5
    from gone g where exists (select from item_feeds f
        where f.tenant = g.tenant and f.wanted_until > $5)
), vectors as (
    delete from item_vectors x using gone where gone.vector_bytes > 0
        and x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
), indexing as (
    delete from item_indexing x using gone where gone.is_indexed
        and x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
), trash as (
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct tenant, scope_id, scope_id, $5 from gone where scope_id is not null
    on conflict do nothing
), counted as (
    select count(*) filter (where was_live) as count from gone
), remembered as (
    insert into idempotency (tenant, caller, key, digest, answer, created_at, subject)
    select $1, $6, $7, $8, int8send(count), $5, $9 from counted where count > 0
)
select count, (select same from prior) as same, (select answer from prior) as answer from counted";

/// Unique violation: the same request was faster.
const RACED: &str = "23505";

#[async_trait]
impl FileStorage for PostgresStorage {
    async fn list_files(
        &self,
        caller: &Caller,
        query: &ListFiles,
        now: Micros,
    ) -> Result<FilePage> {
        let rows = self.read_files(&caller.tenant, query, now).await;
        let rows = self.clear_pool_on_loss(rows)?;
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

    async fn list_paths(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Key, i64)>> {
        let rows = sqlx::query(KEYS)
            .bind(&caller.tenant)
            .bind(literal(namespace))
            .bind(ranges.iter().map(|it| it.from.as_slice()).collect::<Vec<_>>())
            .bind(ranges.iter().map(|it| it.to.as_slice()).collect::<Vec<_>>())
            .bind(now)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.searches.get(&caller.tenant).await?)
            .await?;
        Ok(rows.iter().map(|it| (Key::stored(it.get("key")), it.get("version"))).collect())
    }

    async fn remove_keys(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        ranges: &[KeyRange],
        request: &Idempotency,
        now: Micros,
    ) -> Result<Removed> {
        let row = sqlx::query(REMOVE)
            .bind(&caller.tenant)
            .bind(literal(namespace))
            .bind(ranges.iter().map(|it| it.from.as_slice()).collect::<Vec<_>>())
            .bind(ranges.iter().map(|it| it.to.as_slice()).collect::<Vec<_>>())
            .bind(now)
            .bind(&request.caller)
            .bind(&request.key)
            .bind(&request.digest[..])
            .bind(&request.subject)
            .fetch_one(&mut *self.pool.get_for(&caller.tenant).await?)
            .await
            .map_err(|error| removal_failure(&error))?;
        let answer: Option<Vec<u8>> = row.get("answer");
        Ok(match row.get::<Option<bool>, _>("same") {
            None => Removed::Items(row.get::<i64, _>("count").unsigned_abs()),
            Some(true) => Removed::Repeated(number_of(answer.as_deref().unwrap_or_default())),
            Some(false) => Removed::IdempotencyMismatch,
        })
    }
}

fn removal_failure(error: &sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    match code.as_deref() {
        Some(RACED) => Error::Unavailable {
            detail: error.to_string(),
            retry_after: std::time::Duration::from_millis(10),
        },
        _ => failure::of_call(error),
    }
}

impl PostgresStorage {
    async fn read_files(
        &self,
        tenant: &str,
        query: &ListFiles,
        now: Micros,
    ) -> Result<Vec<ListedFile>> {
        let rows = sqlx::query(LIST)
            .bind(tenant)
            .bind(literal(&query.namespace))
            .bind(&query.range.from)
            .bind(&query.range.to)
            .bind(now)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .fetch_all(&mut *self.searches.get(tenant).await?)
            .await?;
        Ok(rows.iter().map(listed).collect())
    }

    async fn note_heads(&self, tenant: &str, noted: &[Head]) -> Result<()> {
        let addresses: Vec<_> = noted.iter().map(|it| it.address.clone()).collect();
        let (namespaces, keys) = places(&addresses);
        sqlx::query(NOTE)
            .bind(tenant)
            .bind(namespaces)
            .bind(keys)
            .bind(noted.iter().map(|it| it.version).collect::<Vec<_>>())
            .bind(noted.iter().map(|it| it.sealed.to_vec()).collect::<Vec<_>>())
            .execute(&mut *self.pool.get_for(tenant).await?)
            .await?;
        Ok(())
    }
}

fn listed(row: &PgRow) -> ListedFile {
    ListedFile {
        key: Key::stored(row.get("key")),
        version: row.get("version"),
        digest: row.get("digest"),
        content_id: row.get("content_id"),
        head: row.get("file_head"),
        size_bytes: row.get::<Option<i32>, _>("size_bytes").map_or(0, i64::from),
    }
}
