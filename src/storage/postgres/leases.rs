//! Leases: one statement each, time by the database's clock.

use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};

use super::{PostgresStorage, failure};
use crate::domain::caller::Caller;
use crate::domain::clock::{random_hex, random_id};
use crate::domain::thread::{Lease, LeaseRequest};
use crate::domain::{Conflict, Error, Result};

/// $1 tenant, $2 thread, $3 holder, $4 time to live in microseconds; $5 to $8 identity and owner of a new thread, $9 whether
/// one may be made. The fence
/// of a thread that comes back goes on from its tombstone.
const ACQUIRE: &str = r"
with clock as materialized (
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
), grave as materialized (
    select generation, fence from thread_tombstones where tenant = $1 and thread_id = $2
), taken as (
    insert into threads as x (tenant, thread_id, thread_key, scope_id, generation, fence,
        lease_holder, lease_expires_at, created_at, updated_at, checkpoint_count, size_bytes, owner)
    select $1, $2, $5, $6, coalesce((select generation from grave), $7),
        coalesce((select fence from grave), 0) + 1, $3, now + $4, now, now, 0, 0, $8
    from clock
    where $9 or exists (select from threads where tenant = $1 and thread_id = $2)
    on conflict (tenant, thread_id) do update set
        fence = case when x.lease_holder = $3
                and x.lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint
            then x.fence else x.fence + 1 end,
        lease_holder = $3, lease_expires_at = excluded.lease_expires_at
        where x.lease_holder is null or x.lease_holder = $3
            or x.lease_expires_at <= (extract(epoch from clock_timestamp()) * 1000000)::bigint
    returning x.fence, x.lease_expires_at, x.scope_id, x.thread_key
), new_scope as (
    insert into scopes (tenant, scope_id, epoch, next_no)
    select $1, scope_id, scope_id, 1 from taken where scope_id = $6
), new_holder as (
    insert into scope_holders (tenant, scope_id, kind, holder)
    select $1, scope_id, 'thread', thread_key::text from taken where scope_id = $6
), buried as (
    delete from thread_tombstones where tenant = $1 and thread_id = $2
        and exists (select from taken)
)
select fence, lease_expires_at from taken
";

impl PostgresStorage {
    pub(super) async fn take_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let mut connection = self.pool.get().await?;
        let row = sqlx::query(ACQUIRE)
            .bind(&caller.tenant)
            .bind(request.thread_id.as_str())
            .bind(request.holder.as_str())
            .bind(request.ttl_seconds * 1_000_000)
            .bind(random_id())
            .bind(random_id())
            .bind(random_hex())
            .bind(&caller.subject)
            .bind(request.full.is_none())
            .fetch_optional(&mut *connection)
            .await
            .map_err(|error| failure::of_call(&error))?;
        let refused = match (&row, request.full) {
            (None, Some(full)) if !exists(&mut connection, caller, request).await? => {
                Error::QuotaExceeded(full)
            }
            _ => Error::Conflict(Conflict::LeaseHeld),
        };
        connection.release();
        row.as_ref().map(read_lease).ok_or(refused)
    }

    pub(super) async fn extend_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let mut connection = self.pool.get().await?;
        let row = sqlx::query(
            "update threads set lease_expires_at =
                (extract(epoch from clock_timestamp()) * 1000000)::bigint + $5
             where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4
               and lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint
             returning fence, lease_expires_at",
        )
        .bind(&caller.tenant)
        .bind(request.thread_id.as_str())
        .bind(request.holder.as_str())
        .bind(request.fence)
        .bind(request.ttl_seconds * 1_000_000)
        .fetch_optional(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
        let Some(row) = row else {
            let current =
                sqlx::query("select fence from threads where tenant = $1 and thread_id = $2")
                    .bind(&caller.tenant)
                    .bind(request.thread_id.as_str())
                    .fetch_optional(&mut *connection)
                    .await
                    .map_err(|error| failure::of_call(&error))?;
            connection.release();
            let current = current.map_or(0, |row| row.get("fence"));
            return Err(Error::Conflict(Conflict::FenceStale { current }));
        };
        connection.release();
        Ok(read_lease(&row))
    }

    pub(super) async fn drop_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()> {
        let mut connection = self.pool.get().await?;
        sqlx::query(
            "update threads set lease_holder = null, lease_expires_at = null
             where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4",
        )
        .bind(&caller.tenant)
        .bind(request.thread_id.as_str())
        .bind(request.holder.as_str())
        .bind(request.fence)
        .execute(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
        connection.release();
        Ok(())
    }
}

async fn exists(
    connection: &mut PgConnection,
    caller: &Caller,
    request: &LeaseRequest,
) -> Result<bool> {
    let row = sqlx::query("select 1 from threads where tenant = $1 and thread_id = $2")
        .bind(&caller.tenant)
        .bind(request.thread_id.as_str())
        .fetch_optional(connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
    Ok(row.is_some())
}

fn read_lease(row: &PgRow) -> Lease {
    Lease { fence: row.get("fence"), expires_at: row.get("lease_expires_at") }
}
