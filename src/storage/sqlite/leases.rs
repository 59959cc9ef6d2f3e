//! Leases on threads. Expiry is decided by the database's clock, in the statement that changes the lease.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::SqliteStorage;
use super::errors::storage_error;
use super::thread_row::{Identity, read_thread_row, take_identity};
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::thread::{Lease, LeaseRequest};
use crate::domain::{Conflict, Error, Result};

const INSERT_THREAD: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     checkpoint_count, size_bytes, owner)
select $1, $2, $3, $4, $5, $6, n.now, n.now, 0, 0, $7
from (select cast(unixepoch('subsec') * 1000000 as integer) as now) n;
insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $4, $4, 1);
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $2)";

const SET_LEASE: &str = "
update threads set fence = $3, lease_holder = $4,
    lease_expires_at = cast(unixepoch('subsec') * 1000000 as integer) + $5 * 1000000
where tenant = $1 and thread_id = $2
returning fence, lease_expires_at";

impl SqliteStorage {
    pub(super) async fn take_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let (tenant, thread_id) = (caller.tenant.as_str(), request.thread_id.as_str());
        let mut write = self.connections.begin_write().await?;
        let holder = request.holder.as_str();
        let fence = match read_thread_row(&mut write, tenant, thread_id).await? {
            Some(row) if row.held && row.lease_holder.as_deref() == Some(holder) => row.fence,
            Some(row) if row.held => {
                write.rollback().await?;
                return Err(Error::Conflict(Conflict::LeaseHeld));
            }
            Some(row) => row.fence + 1,
            None if let Some(full) = request.full => {
                write.rollback().await?;
                return Err(Error::QuotaExceeded(full));
            }
            None => {
                let identity = take_identity(&mut write, tenant, thread_id).await?;
                let fence = identity.fence + 1;
                insert_thread(&mut write, caller, thread_id, identity).await?;
                fence
            }
        };
        let lease = set_lease(&mut write, tenant, request, fence).await?;
        write.commit().await?;
        Ok(lease)
    }

    /// Only a lease that is still held can be renewed: after its expiry others may have written.
    pub(super) async fn extend_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let (tenant, thread_id) = (caller.tenant.as_str(), request.thread_id.as_str());
        let mut write = self.connections.begin_write().await?;
        let row = read_thread_row(&mut write, tenant, thread_id).await?;
        let own = |it: &&super::thread_row::ThreadRow| {
            it.held
                && it.lease_holder.as_deref() == Some(request.holder.as_str())
                && request.fence == Some(it.fence)
        };
        let Some(held) = row.as_ref().filter(own) else {
            let current = match row {
                Some(row) => row.fence,
                None => tombstone_fence(&mut write, tenant, thread_id).await?,
            };
            write.rollback().await?;
            return Err(Error::Conflict(Conflict::FenceStale { current }));
        };
        let lease = set_lease(&mut write, tenant, request, held.fence).await?;
        write.commit().await?;
        Ok(lease)
    }

    pub(super) async fn drop_lease(&self, caller: &Caller, request: &LeaseRequest) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "update threads set lease_holder = null, lease_expires_at = null
             where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4",
        )
        .bind(&caller.tenant)
        .bind(request.thread_id.as_str())
        .bind(request.holder.as_str())
        .bind(request.fence)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        write.commit().await
    }
}

async fn set_lease(
    connection: &mut SqliteConnection,
    tenant: &str,
    request: &LeaseRequest,
    fence: i64,
) -> Result<Lease> {
    let row = sqlx::query(SET_LEASE)
        .bind(tenant)
        .bind(request.thread_id.as_str())
        .bind(fence)
        .bind(request.holder.as_str())
        .bind(request.ttl_seconds)
        .fetch_one(connection)
        .await
        .map_err(storage_error)?;
    Ok(Lease {
        fence: row.try_get(0).map_err(storage_error)?,
        expires_at: row.try_get(1).map_err(storage_error)?,
    })
}

async fn insert_thread(
    connection: &mut SqliteConnection,
    caller: &Caller,
    thread_id: &str,
    identity: Identity,
) -> Result<()> {
    sqlx::query(INSERT_THREAD)
        .bind(&caller.tenant)
        .bind(thread_id)
        .bind(random_id())
        .bind(random_id())
        .bind(identity.generation)
        .bind(identity.fence)
        .bind(&caller.subject)
        .execute(connection)
        .await
        .map_err(storage_error)?;
    Ok(())
}

async fn tombstone_fence(
    connection: &mut SqliteConnection,
    tenant: &str,
    thread_id: &str,
) -> Result<i64> {
    let row =
        sqlx::query("select fence from thread_tombstones where tenant = $1 and thread_id = $2")
            .bind(tenant)
            .bind(thread_id)
            .fetch_optional(connection)
            .await
            .map_err(storage_error)?;
    row.map_or(Ok(0), |row| row.try_get(0).map_err(storage_error))
}
