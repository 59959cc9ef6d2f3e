//! Removes a thread, and sweeps what is kept for a limited time.

use sqlx::Row;

use super::thread_row::read_thread_row;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::threads::storage::DeleteThread;
use crate::domain::tokens::grants::Action;
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::threads::policies::forget_policy;
use crate::storage::threads::thread_filter::OwnedThread;

const HOUR: Micros = 3_600 * 1_000_000;
const TOMBSTONE_KEPT: Micros = 7 * 24 * HOUR;
const ANSWER_KEPT: Micros = 24 * HOUR;
/// A copy that runs registers its rows as garbage first: none takes this long.
const GARBAGE_KEPT: Micros = HOUR;

/// One transaction: afterwards nothing of the thread can be reached, its rows are garbage.
pub(super) const REMOVE_THREAD: &str = "
insert into thread_tombstones (tenant, thread_id, generation, fence, deleted_at, owner)
select tenant, thread_id, generation, fence, cast(unixepoch('subsec') * 1000000 as integer), owner
from threads where tenant = $1 and thread_id = $2
on conflict (tenant, thread_id) do update set generation = excluded.generation, fence = excluded.fence,
    deleted_at = excluded.deleted_at, owner = excluded.owner;
insert into garbage (tenant, thread_key, scope_id, created_at, owner)
select tenant, thread_key, scope_id, cast(unixepoch('subsec') * 1000000 as integer), owner
from threads where tenant = $1 and thread_id = $2;
delete from scope_holders where tenant = $1 and kind = 'thread' and holder = $2 and scope_id in
    (select scope_id from threads where tenant = $1 and thread_id = $2);
delete from threads where tenant = $1 and thread_id = $2";

impl SqliteStorage {
    pub(in crate::storage) async fn remove_thread(
        &self,
        caller: &Caller,
        request: &DeleteThread,
    ) -> Result<bool> {
        let thread = OwnedThread::by(caller, request.thread_id.as_str(), Action::Write);
        let (tenant, thread_id) = (thread.tenant, thread.thread_id);
        let mut write = self.connections.begin_write_for(tenant).await?;
        let Some(row) = read_thread_row(&mut write, thread).await? else {
            write.rollback().await?;
            return Ok(false);
        };
        if let Err(conflict) = row.check(request.generation.as_deref(), request.fence) {
            write.rollback().await?;
            return Err(conflict);
        }
        sqlx::query(REMOVE_THREAD).bind(tenant).bind(thread_id).execute(&mut *write).await?;
        forget_policy(&mut write, tenant, thread_id).await?;
        write.commit().await?;
        let garbage = Garbage {
            tenant: tenant.to_owned(),
            thread_key: row.thread_key,
            scope_id: row.scope_id,
        };
        self.collect(&garbage).await?;
        Ok(true)
    }

    pub(in crate::storage) async fn sweep_expired(&self, now: Micros) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "delete from idempotency where created_at < $1;
             delete from thread_tombstones where deleted_at < $2",
        )
        .bind(now - ANSWER_KEPT)
        .bind(now - TOMBSTONE_KEPT)
        .execute(&mut *write)
        .await?;
        // On a full disk nobody who reads what was deleted is waited for.
        let is_full = self.connections.check_room().is_err();
        let left = sqlx::query(
            "select tenant, thread_key, scope_id from garbage
             where created_at < $1 or ($2 and thread_key = scope_id)",
        )
        .bind(now - GARBAGE_KEPT)
        .bind(is_full)
        .fetch_all(&mut *write)
        .await?;
        write.commit().await?;
        for row in left {
            let garbage = Garbage {
                tenant: row.try_get(0)?,
                thread_key: row.try_get(1)?,
                scope_id: row.try_get(2)?,
            };
            self.collect(&garbage).await?;
        }
        Ok(())
    }
}
