//! Makes deleted rows unreachable, and removes them in slices. It also removes expired rows.

use sqlx::Row;

use crate::domain::clock::{Clock, DAY, Micros};
use crate::domain::tenants::erasure::Receipt;
use crate::domain::{Error, Result};
use crate::storage::content::postgres::collect;
use crate::storage::db::access::Access;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::access::{BorrowedTransaction, DIALECT};
use crate::storage::postgres::connection::Connection;
use crate::storage::sessions::removal::remove_slice;
use crate::storage::threads::postgres::removal::{LockedThread, begin};

/// Rows removed by one statement of the garbage collection.
const SLICE_ROWS: i64 = 5_000;

impl PostgresStorage {
    /// `now` is by this server's clock. The rows have times of the database's clock, which may be hours off.
    pub(in crate::storage) async fn sweep_expired(&self, now: Micros) -> Result<()> {
        let mut connection = self.pool.get().await?;
        let text = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
        let of_database: Micros = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
        let now = now + of_database - Clock::System.now();
        for (text, age) in [
            ("delete from idempotency where created_at < $1 and tenant is not null", DAY),
            ("delete from thread_tombstones where deleted_at < $1 and tenant is not null", 7 * DAY),
        ] {
            sqlx::query(text).bind(now - age).execute(&mut *connection).await?;
        }
        // What a server that died left behind; younger entries may still be worked on.
        let left = sqlx::query(
            "select tenant, thread_key, scope_id from garbage where created_at < $1 limit 100",
        )
        .bind(now - DAY / 24)
        .fetch_all(&mut *connection)
        .await?;
        for row in left {
            let tenant: String = row.get("tenant");
            remove_garbage(&mut connection, &tenant, row.get("thread_key"), row.get("scope_id"))
                .await?;
        }
        Ok(())
    }
}

/// Makes a thread unreachable: from here on it is absent, its rows are garbage.
pub(in crate::storage) async fn replace_with_tombstone(
    connection: &mut Connection,
    tenant: &str,
    locked: &LockedThread,
) -> Result<()> {
    sqlx::query(
        "with clock as (
            select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now, $7::text as owner
         ), tombstone as (
            insert into thread_tombstones (tenant, thread_id, generation, fence, deleted_at, owner)
            select $1, $2, $5, $6, now, owner from clock
            on conflict (tenant, thread_id) do update set generation = excluded.generation,
                fence = excluded.fence, deleted_at = excluded.deleted_at, owner = excluded.owner
         ), trash as (
            insert into garbage (tenant, thread_key, scope_id, created_at, owner)
            select $1, $3, $4, now, owner from clock
         ), holder as (
            delete from scope_holders where tenant = $1 and scope_id = $4 and kind = 'thread'
                and holder = $3::text
         ), raised as (
            update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $4
         )
         delete from threads where tenant = $1 and thread_id = $2",
    )
    .bind(tenant)
    .bind(&locked.thread_id)
    .bind(locked.thread_key)
    .bind(locked.scope_id)
    .bind(&locked.generation)
    .bind(locked.fence)
    .bind(&locked.owner)
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes in slices what nobody can reach, and says what; can be repeated from any point. Packs of a scope that nobody
/// holds go with the scope itself: till then the entry in the garbage remembers them.
pub(in crate::storage) async fn remove_garbage(
    connection: &mut Connection,
    tenant: &str,
    thread_key: i64,
    scope_id: i64,
) -> Result<Receipt> {
    let (mut removed, mut logs, mut details) = (Receipt::default(), 0, 0);
    for (count, text) in [
        (
            &mut removed.checkpoints,
            "delete from checkpoints where ctid = any (array(select ctid from checkpoints
            where tenant = $1 and thread_key = $2 limit $4)) and $3 is not null",
        ),
        (
            &mut removed.writes,
            "delete from writes where ctid = any (array(select ctid from writes
            where tenant = $1 and thread_key = $2 limit $4)) and $3 is not null",
        ),
        (
            &mut removed.delta_bases,
            "delete from delta_bases where ctid = any (array(select ctid from delta_bases
            where tenant = $1 and thread_key = $2 limit $4)) and $3 is not null",
        ),
        (
            &mut removed.entries,
            "delete from session_entries where ctid = any (array(select ctid from session_entries
            where tenant = $1 and session_no = $2 limit $4)) and $3 is not null",
        ),
        (
            &mut logs,
            "delete from session_logs where ctid = any (array(select ctid from session_logs
            where tenant = $1 and session_no = $2 limit $4)) and $3 is not null",
        ),
        (
            &mut details,
            "delete from thread_details where tenant = $1 and thread_key = $2 and $3 is not null and $4 > 0",
        ),
        (
            &mut removed.values,
            "delete from manifests where ctid = any (array(select ctid from manifests m
            where tenant = $1 and scope_id = $3 and not exists (select from scope_holders h
                where h.tenant = $1 and h.scope_id = $3) limit $4)) and $2 is not null",
        ),
        (
            &mut removed.chunks,
            "delete from chunks where ctid = any (array(select ctid from chunks k
            where tenant = $1 and scope_id = $3 and not exists (select from scope_holders h
                where h.tenant = $1 and h.scope_id = $3) limit $4)) and $2 is not null",
        ),
    ] {
        loop {
            let done = sqlx::query(text)
                .bind(tenant)
                .bind(thread_key)
                .bind(scope_id)
                .bind(SLICE_ROWS)
                .execute(&mut *connection)
                .await?;
            *count += done.rows_affected();
            if done.rows_affected() < SLICE_ROWS.unsigned_abs() {
                break;
            }
        }
    }
    remove_session_rows(connection, tenant, scope_id).await?;
    collect_shared(connection, tenant, thread_key, scope_id).await?;
    let row = sqlx::query(
        "with held as materialized (
            select exists (select from scope_holders h
                where h.tenant = $1 and h.scope_id = $3) as held
         ), scope as (
            delete from scopes s using held where not held and s.tenant = $1 and s.scope_id = $3
         ), packing as (
            delete from scope_packing p using held
            where not held and p.tenant = $1 and p.scope_id = $3
         ), slices as (
            delete from content_slices s using held
            where not held and s.tenant = $1 and s.scope_id = $3
         ), parts as (
            delete from contents c using held
            where not held and c.tenant = $1 and c.scope_id = $3 and length(c.namespace) = 0
         ), gone as (
            delete from packs p using held where not held and p.tenant = $1 and p.scope_id = $3
            returning p.tenant, p.pack_id
         ), outbox as (
            insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
            select tenant, pack_id, case when not exists (
                    select from garbage where tenant = $1 and scope_id = $3 and erased)
                then (extract(epoch from clock_timestamp()) * 1000000)::bigint else 0 end, 0
            from gone
         ), entry as (
            delete from garbage g using held
            where g.tenant = $1 and g.thread_key = $2 and not (held.held and g.thread_key = g.scope_id)
         )
         select count(*) as packs from gone",
    )
    .bind(tenant)
    .bind(thread_key)
    .bind(scope_id)
    .fetch_one(connection)
    .await?;
    removed.packs = row.get::<i64, _>("packs").unsigned_abs();
    Ok(removed)
}

/// Of streams and documents of a session that stays.
async fn remove_session_rows(
    connection: &mut Connection,
    tenant: &str,
    scope_id: i64,
) -> Result<()> {
    loop {
        let mut transaction = begin(connection).await?;
        let access: &mut dyn Access = &mut BorrowedTransaction(&mut transaction);
        let more = remove_slice(access, &DIALECT, tenant, scope_id).await?;
        transaction.commit().await?;
        if !more {
            return Ok(());
        }
    }
}

/// A scope that others hold loses what only the removed thread, or replaced items, named. An entry of items has the scope's
/// id as its key, and goes with the collection: one that comes after it stands for another one.
async fn collect_shared(
    connection: &mut Connection,
    tenant: &str,
    thread_key: i64,
    scope_id: i64,
) -> Result<()> {
    let mut transaction = begin(connection).await?;
    let held = sqlx::query(
        "select exists (select from scope_holders h where h.tenant = $1 and h.scope_id = $2) as held
         from scopes where tenant = $1 and scope_id = $2 for update",
    )
    .bind(tenant)
    .bind(scope_id)
    .fetch_optional(&mut *transaction)
    .await?;
    if held.is_some_and(|row| row.get("held")) {
        sqlx::query(
            "delete from garbage where tenant = $1 and thread_key = $2 and scope_id = $3
                and thread_key = scope_id",
        )
        .bind(tenant)
        .bind(thread_key)
        .bind(scope_id)
        .execute(&mut *transaction)
        .await?;
        collect(&mut transaction, tenant, scope_id).await?;
    }
    transaction.commit().await.map_err(Error::from)
}
