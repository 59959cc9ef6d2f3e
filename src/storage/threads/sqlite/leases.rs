//! Takes, renews and releases leases on threads. The database's clock decides expiry, in the statement that changes the lease.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::thread_row::{Identity, read_unless_taken, take_identity};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::threads::alias::stored_alias;
use crate::domain::threads::thread::{Lease, LeaseRequest};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::sqlite::SqliteStorage;
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

const INSERT_THREAD: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     checkpoint_count, size_bytes, owner, mac, alias)
select $1, $2, $3, $4, $5, $6, n.now, n.now, 0, 0, $7, $8, $9
from (select cast(unixepoch('subsec') * 1000000 as integer) as now) n;
insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $4, $4, 1);
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $2)";

const SET_LEASE: &str = "
update threads set fence = $3, lease_holder = $4,
    lease_expires_at = cast(unixepoch('subsec') * 1000000 as integer) + $5 * 1000000
where tenant = $1 and thread_id = $2
returning fence, lease_expires_at";

impl SqliteStorage {
    pub(in crate::storage) async fn take_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let secret = match self.secrets.masters() {
            Some(_) => Some(self.secret(&caller.tenant).await?),
            None => None,
        };
        let mut write = self.connections.begin_write_for(&caller.tenant).await?;
        let holder = request.holder.as_str();
        let fence = match read_unless_taken(&mut write, thread).await {
            Err(error) => {
                write.rollback().await?;
                return Err(error);
            }
            Ok(Some(row)) if row.held && row.lease_holder.as_deref() == Some(holder) => row.fence,
            Ok(Some(row)) if row.held => {
                write.rollback().await?;
                return Err(Error::Conflict(Conflict::LeaseHeld));
            }
            Ok(Some(row)) => row.fence + 1,
            Ok(None) if let Some(full) = request.full => {
                write.rollback().await?;
                return Err(Error::QuotaExceeded(full));
            }
            Ok(None) => {
                let identity = take_identity(&mut write, thread).await?;
                let fence = identity.fence + 1;
                insert_thread(&mut write, (caller, secret.as_ref()), thread.thread_id, identity)
                    .await?;
                fence
            }
        };
        let lease = set_lease(&mut write, thread.tenant, request, fence).await?;
        write.commit().await?;
        Ok(lease)
    }

    /// Only a lease that is still held can be renewed: after its expiry others may have written.
    pub(in crate::storage) async fn extend_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<Lease> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let mut write = self.connections.begin_write_for(&caller.tenant).await?;
        let row = match read_unless_taken(&mut write, thread).await {
            Ok(row) => row,
            Err(error) => {
                write.rollback().await?;
                return Err(error);
            }
        };
        let own = |it: &&super::thread_row::ThreadRow| {
            it.held
                && it.lease_holder.as_deref() == Some(request.holder.as_str())
                && request.fence == Some(it.fence)
        };
        let Some(held) = row.as_ref().filter(own) else {
            let current = match row {
                Some(row) => row.fence,
                None => tombstone_fence(&mut write, thread).await?,
            };
            write.rollback().await?;
            return Err(Error::Conflict(Conflict::FenceStale { current }));
        };
        let lease = set_lease(&mut write, thread.tenant, request, held.fence).await?;
        write.commit().await?;
        Ok(lease)
    }

    pub(in crate::storage) async fn drop_lease(
        &self,
        caller: &Caller,
        request: &LeaseRequest,
    ) -> Result<()> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Append);
        let mut write = self.connections.begin_write_for(&caller.tenant).await?;
        if let Err(error) = read_unless_taken(&mut write, thread).await {
            write.rollback().await?;
            return Err(error);
        }
        sqlx::query(
            "update threads set lease_holder = null, lease_expires_at = null
             where tenant = $1 and thread_id = $2 and lease_holder = $3 and fence = $4",
        )
        .bind(&caller.tenant)
        .bind(request.thread_id.as_str())
        .bind(request.holder.as_str())
        .bind(request.fence)
        .execute(&mut *write)
        .await?;
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
        .await?;
    Ok(Lease { fence: row.try_get(0)?, expires_at: row.try_get(1)? })
}

async fn insert_thread(
    connection: &mut SqliteConnection,
    (caller, secret): (&Caller, Option<&TenantSecret>),
    thread_id: &str,
    identity: Identity,
) -> Result<()> {
    let ids = (random_id(), random_id());
    let row = OwnerRow::thread(thread_id, ids, caller.subject.as_deref());
    sqlx::query(INSERT_THREAD)
        .bind(&caller.tenant)
        .bind(thread_id)
        .bind(ids.0)
        .bind(ids.1)
        .bind(identity.generation)
        .bind(identity.fence)
        .bind(&caller.subject)
        .bind(secret.and_then(|it| row.mac(it)))
        .bind(stored_alias(thread_id))
        .execute(connection)
        .await?;
    Ok(())
}

async fn tombstone_fence(
    connection: &mut SqliteConnection,
    thread: OwnedThread<'_>,
) -> Result<i64> {
    let row = sqlx::query(
        "select fence from thread_tombstones
         where tenant = $1 and thread_id = $2 and ($3 is null or owner = $3)",
    )
    .bind(thread.tenant)
    .bind(thread.thread_id)
    .bind(thread.owner)
    .fetch_optional(connection)
    .await?;
    row.map_or(Ok(0), |row| row.try_get(0).map_err(Error::from))
}
