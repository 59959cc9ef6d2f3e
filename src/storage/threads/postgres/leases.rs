//! Takes, renews and releases leases: one statement each. The database's clock tells the time.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::domain::caller::Caller;
use crate::domain::clock::{random_hex, random_id};
use crate::domain::threads::alias::stored_alias;
use crate::domain::threads::thread::{Lease, LeaseRequest};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::postgres::PostgresStorage;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 thread, $3 holder, $4 time to live in microseconds; $5 to $8 identity and owner of a new thread, $9 whose
/// it has to be if it is there, or null, $10 whether one may be made, $11 and $12 MAC and alias of a new thread. The fence of a thread that comes back goes on from its
/// tombstone, if that is not another's. No row: the thread came in between, or none may be made.
const ACQUIRE: &str = r"
with clock as materialized (
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
), tombstone as materialized (
    select generation, fence from thread_tombstones
    where tenant = $1 and thread_id = $2 and ($9::text is null or owner = $9)
), taken as (
    insert into threads as x (tenant, thread_id, thread_key, scope_id, generation, fence,
        lease_holder, lease_expires_at, created_at, updated_at, checkpoint_count, size_bytes, owner, mac, alias)
    select $1, $2, $5, $6, coalesce((select generation from tombstone), $7),
        coalesce((select fence from tombstone), 0) + 1, $3, now + $4, now, now, 0, 0, $8, $11, $12
    from clock
    where $10 or exists (select from threads where tenant = $1 and thread_id = $2)
    on conflict (tenant, thread_id) do update set
        fence = case when x.lease_holder = $3
                and x.lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint
            then x.fence else x.fence + 1 end,
        lease_holder = $3, lease_expires_at = excluded.lease_expires_at
        where ($9::text is null or x.owner = $9) and (x.lease_holder is null or x.lease_holder = $3
            or x.lease_expires_at <= (extract(epoch from clock_timestamp()) * 1000000)::bigint)
    returning x.fence, x.lease_expires_at, x.scope_id, x.thread_key
), new_scope as (
    insert into scopes (tenant, scope_id, epoch, next_no)
    select $1, scope_id, scope_id, 1 from taken where scope_id = $6
), new_holder as (
    insert into scope_holders (tenant, scope_id, kind, holder)
    select $1, scope_id, 'thread', thread_key::text from taken where scope_id = $6
), tombstones as (
    delete from thread_tombstones where tenant = $1 and thread_id = $2
        and exists (select from taken)
)
select true as is_held, fence, lease_expires_at, null::text as owner from taken
union all
select false, fence, 0, owner from threads
where tenant = $1 and thread_id = $2 and not exists (select from taken)
";

/// The fence of a thread, or of what is left of it, with its owner. $1 tenant, $2 thread, $3 whose what is left of it has to
/// be, or null.
const FENCE: &str = "
select fence, owner from threads where tenant = $1 and thread_id = $2
union all
select d.fence, d.owner from thread_tombstones d
where d.tenant = $1 and d.thread_id = $2 and ($3::text is null or d.owner = $3)
    and not exists (select from threads where tenant = $1 and thread_id = $2)";

/// Meetings with another that makes the thread in the same moment.
const ATTEMPTS_MAX: u32 = 8;

impl PostgresStorage {
    /// One round trip; one more for each meeting with another that makes the thread.
    pub(in crate::storage) async fn take_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let ids = (random_id(), random_id());
        let row = OwnerRow::thread(thread.thread_id, ids, caller.subject.as_deref());
        let mac = match self.secrets.masters() {
            Some(_) => row.mac(&self.secret(thread.tenant).await?),
            None => None,
        };
        let mut connection = self.pool.get_for(thread.tenant).await?;
        for _ in 0..ATTEMPTS_MAX {
            let row = sqlx::query(ACQUIRE)
                .bind(thread.tenant)
                .bind(thread.thread_id)
                .bind(request.holder.as_str())
                .bind(request.ttl_seconds * 1_000_000)
                .bind(ids.0)
                .bind(ids.1)
                .bind(random_hex())
                .bind(&caller.subject)
                .bind(thread.owner)
                .bind(request.full.is_none())
                .bind(&mac)
                .bind(stored_alias(thread.thread_id))
                .fetch_optional(&mut *connection)
                .await?;
            let Some(row) = row else {
                let Some(full) = request.full else { continue };
                return Err(Error::QuotaExceeded(full));
            };
            if row.get("is_held") {
                return Ok(read_lease(&row));
            }
            refuse_taken(thread, &row)?;
            return Err(Error::Conflict(Conflict::LeaseHeld));
        }
        Err(Error::Unavailable {
            detail: "the thread is made and deleted again and again".into(),
            retry_after: std::time::Duration::from_millis(100),
        })
    }

    /// One round trip; one more when the lease is not held.
    pub(in crate::storage) async fn extend_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let mut connection = self.pool.get_for(thread.tenant).await?;
        let row = sqlx::query(
            "update threads set lease_expires_at =
                (extract(epoch from clock_timestamp()) * 1000000)::bigint + $5
             where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4
               and lease_expires_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint
               and ($6::text is null or owner = $6)
             returning fence, lease_expires_at",
        )
        .bind(thread.tenant)
        .bind(thread.thread_id)
        .bind(request.holder.as_str())
        .bind(request.fence)
        .bind(request.ttl_seconds * 1_000_000)
        .bind(thread.owner)
        .fetch_optional(&mut *connection)
        .await?;
        if let Some(row) = row {
            return Ok(read_lease(&row));
        }
        let current = sqlx::query(FENCE)
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(thread.owner)
            .fetch_optional(&mut *connection)
            .await?;
        current.as_ref().map_or(Ok(()), |row| refuse_taken(thread, row))?;
        let current = current.map_or(0, |row| row.get("fence"));
        Err(Error::Conflict(Conflict::FenceStale { current }))
    }

    pub(in crate::storage) async fn drop_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<()> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let taken = sqlx::query(
            "with freed as (
                update threads set lease_holder = null, lease_expires_at = null
                where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4
                    and ($5::text is null or owner = $5)
             )
             select owner from threads
             where tenant = $1 and thread_id = $2 and $5 is not null and owner is distinct from $5",
        )
        .bind(thread.tenant)
        .bind(thread.thread_id)
        .bind(request.holder.as_str())
        .bind(request.fence)
        .bind(thread.owner)
        .fetch_optional(&mut *self.pool.get_for(thread.tenant).await?)
        .await?;
        taken.as_ref().map_or(Ok(()), |row| refuse_taken(thread, row))
    }
}

fn refuse_taken(thread: OwnedThread<'_>, row: &PgRow) -> Result<()> {
    if thread.is_taken(row.get("owner")) {
        return Err(Error::Conflict(Conflict::ThreadTaken));
    }
    Ok(())
}

fn read_lease(row: &PgRow) -> Lease {
    Lease { fence: row.get("fence"), expires_at: row.get("lease_expires_at") }
}
