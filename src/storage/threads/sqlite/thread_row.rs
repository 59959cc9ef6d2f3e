//! Reads, inside a write transaction, the part of a thread's row that decides whether the thread may be written.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::content::keys::TenantSecret;
use crate::domain::{Conflict, Error, Result};
use crate::storage::threads::thread_filter::OwnedThread;
use crate::storage::tokens::owner_macs::OwnerRow;

/// A thread as a transaction finds it.
#[derive(Debug, Clone)]
pub(in crate::storage) struct ThreadRow {
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) generation: String,
    pub(in crate::storage) fence: i64,
    pub(in crate::storage) owner: Option<String>,
    pub(in crate::storage) size_bytes: i64,
    pub(in crate::storage) lease_holder: Option<String>,
    /// By the database's clock.
    pub(in crate::storage) held: bool,
    mac: Option<Vec<u8>>,
}

const READ_THREAD: &str = "
select thread_key, scope_id, generation, fence, owner, mac, size_bytes, lease_holder,
       lease_holder is not null
           and lease_expires_at > cast(unixepoch('subsec') * 1000000 as integer) as held
from threads where tenant = $1 and thread_id = $2 and ($3 is null or owner = $3)";

pub(in crate::storage) async fn read_thread_row(
    connection: &mut SqliteConnection,
    thread: OwnedThread<'_>,
) -> Result<Option<ThreadRow>> {
    let row = sqlx::query(READ_THREAD)
        .bind(thread.tenant)
        .bind(thread.thread_id)
        .bind(thread.owner)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(ThreadRow {
        thread_key: row.try_get("thread_key")?,
        scope_id: row.try_get("scope_id")?,
        generation: row.try_get("generation")?,
        fence: row.try_get("fence")?,
        owner: row.try_get("owner")?,
        size_bytes: row.try_get("size_bytes")?,
        lease_holder: row.try_get("lease_holder")?,
        held: row.try_get::<Option<bool>, _>("held")?.unwrap_or(false),
        mac: row.try_get("mac")?,
    }))
}

/// For writes that answer `ThreadTaken` where the thread is another's.
pub(super) async fn read_unless_taken(
    connection: &mut SqliteConnection,
    thread: OwnedThread<'_>,
) -> Result<Option<ThreadRow>> {
    let found = read_thread_row(connection, OwnedThread { owner: None, ..thread }).await?;
    match &found {
        Some(row) if thread.is_taken(row.owner.as_deref()) => {
            Err(Error::Conflict(Conflict::ThreadTaken))
        }
        _ => Ok(found),
    }
}

impl ThreadRow {
    /// Before anything of the thread is opened, and before its owner is taken over.
    pub(in crate::storage) fn check_mac(
        &self,
        thread_id: &str,
        secret: &TenantSecret,
    ) -> Result<()> {
        let ids = (self.thread_key, self.scope_id);
        let row = OwnerRow::thread(thread_id, ids, self.owner.as_deref());
        row.check(secret, self.mac.as_deref())
    }

    /// The conditions of every write, in the order of a batch.
    pub(in crate::storage) fn check(
        &self,
        generation: Option<&str>,
        fence: Option<i64>,
    ) -> Result<()> {
        if generation.is_some_and(|it| it != self.generation) {
            let current = self.generation.clone();
            return Err(Error::Conflict(Conflict::ThreadRestored { current }));
        }
        match fence {
            None if self.held => Err(Error::Conflict(Conflict::LeaseHeld)),
            Some(fence) if fence != self.fence => {
                Err(Error::Conflict(Conflict::FenceStale { current: self.fence }))
            }
            _ => Ok(()),
        }
    }
}

/// Identity of a thread to be created: generation and fence go on where a deleted one of that id left off, if that is not
/// another's for whoever asks.
pub(in crate::storage) struct Identity {
    pub(in crate::storage) generation: String,
    pub(in crate::storage) fence: i64,
}

pub(super) async fn take_identity(
    connection: &mut SqliteConnection,
    thread: OwnedThread<'_>,
) -> Result<Identity> {
    let row = sqlx::query(
        "delete from thread_tombstones where tenant = $1 and thread_id = $2
         returning generation, fence, owner",
    )
    .bind(thread.tenant)
    .bind(thread.thread_id)
    .fetch_optional(connection)
    .await?;
    let mut left = None;
    if let Some(row) = row {
        let owner: Option<String> = row.try_get(2)?;
        left = (!thread.is_taken(owner.as_deref())).then_some(row);
    }
    Ok(match left {
        Some(row) => Identity { generation: row.try_get(0)?, fence: row.try_get(1)? },
        None => Identity { generation: crate::domain::clock::random_hex(), fence: 0 },
    })
}
