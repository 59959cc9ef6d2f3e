//! Copy of a thread: rows are staged under a key that no thread names, in slices, from one state of the source;
//! one last transaction makes them a thread.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::SqliteStorage;
use super::connection::Read;
use super::copy_rows::{OF_SCOPE, OF_THREAD, read_slice, slices};
use super::errors::storage_error;
use super::garbage::Garbage;
use super::rows::RowSet;
use super::thread_row::{read_thread_row, take_identity};
use crate::domain::caller::Caller;
use crate::domain::clock::random_id;
use crate::domain::storage::CopyThread;
use crate::domain::{Conflict, Error, Result};

impl SqliteStorage {
    pub(super) async fn copy(&self, caller: &Caller, request: &CopyThread) -> Result<u64> {
        let tenant = caller.tenant.as_str();
        let mut read = self.connections.begin_read().await?;
        if let Some(answer) = stored_answer(&mut read, caller, request).await? {
            read.end().await?;
            return Ok(answer);
        }
        let source = read_thread_row(&mut read, tenant, request.source.as_str()).await?;
        let Some(source) = source.filter(|_| caller.may_read_thread(&request.source)) else {
            read.end().await?;
            let mut write = self.connections.begin_write().await?;
            store_answer(&mut write, caller, request, 0).await?;
            write.commit().await?;
            return Ok(0);
        };
        refuse_target(&mut read, tenant, request).await?;
        let staged =
            Garbage { tenant: tenant.to_owned(), thread_key: random_id(), scope_id: random_id() };
        self.register(&staged).await?;
        let result = self.stage(&mut read, &staged, (source.thread_key, source.scope_id)).await;
        read.end().await?;
        let flipped = match result {
            Ok(()) => self.flip(caller, request, &staged).await,
            Err(error) => Err(error),
        };
        if flipped.is_err() {
            self.collect(&staged).await?;
        }
        flipped
    }

    /// From here on a crash leaves rows that the sweep removes.
    async fn register(&self, staged: &Garbage) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "insert into garbage (tenant, thread_key, scope_id, created_at)
             values ($1, $2, $3, cast(unixepoch('subsec') * 1000000 as integer))",
        )
        .bind(&staged.tenant)
        .bind(staged.thread_key)
        .bind(staged.scope_id)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        write.commit().await
    }

    async fn stage(&self, read: &mut Read<'_>, staged: &Garbage, source: (i64, i64)) -> Result<()> {
        for (tables, from, to) in [
            (&OF_THREAD[..], source.0, staged.thread_key),
            (&OF_SCOPE[..], source.1, staged.scope_id),
        ] {
            for table in tables {
                for slice in slices(read, &staged.tenant, table, from).await? {
                    let (statement, rows) = read_slice(read, table, &slice).await?;
                    self.write_slice(staged, statement, rows, to).await?;
                }
            }
        }
        Ok(())
    }

    async fn write_slice(
        &self,
        staged: &Garbage,
        statement: String,
        rows: RowSet,
        key: i64,
    ) -> Result<()> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        check_registered(&mut write, staged).await?;
        sqlx::query(AssertSqlSafe(statement))
            .bind(rows.json())
            .bind(rows.blob)
            .bind(&staged.tenant)
            .bind(key)
            .execute(&mut *write)
            .await
            .map_err(storage_error)?;
        write.commit().await
    }

    /// Makes the staged rows a thread, with the answer for repeated requests.
    async fn flip(&self, caller: &Caller, request: &CopyThread, staged: &Garbage) -> Result<u64> {
        let tenant = caller.tenant.as_str();
        let mut write = self.connections.begin_write().await?;
        let refused = match stored_answer(&mut write, caller, request).await {
            // The same request ran beside this one and was first.
            Ok(Some(answer)) => Some(Ok(answer)),
            Ok(None) => refuse_target(&mut write, tenant, request).await.err().map(Err),
            Err(error) => Some(Err(error)),
        };
        if let Some(answer) = refused {
            write.rollback().await?;
            if answer.is_ok() {
                self.collect(staged).await?;
            }
            return answer;
        }
        check_registered(&mut write, staged).await?;
        let target = request.target.as_str();
        let old = read_thread_row(&mut write, tenant, target).await?;
        let (generation, fence) = if let Some(row) = &old {
            (row.generation.clone(), row.fence)
        } else {
            let identity = take_identity(&mut write, tenant, target).await?;
            (identity.generation, identity.fence)
        };
        sqlx::query(FLIP)
            .bind(tenant)
            .bind(target)
            .bind(staged.thread_key)
            .bind(staged.scope_id)
            .bind(generation)
            .bind(fence)
            .bind(&caller.subject)
            .bind(request.source.as_str())
            .bind(old.as_ref().map(|row| row.thread_key))
            .bind(old.as_ref().map(|row| row.scope_id))
            .execute(&mut *write)
            .await
            .map_err(storage_error)?;
        let count = describe(&mut write, tenant, target, staged).await?;
        store_answer(&mut write, caller, request, count).await?;
        write.commit().await?;
        Ok(count)
    }
}

/// An empty thread of the target's id (made by a lease) keeps its row and gives its keys to the garbage.
const FLIP: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at)
select $1, $9, $10, cast(unixepoch('subsec') * 1000000 as integer) where $9 is not null;
delete from scope_holders where tenant = $1 and scope_id = $10 and kind = 'thread' and holder = $2;
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id)
select $1, $2, $3, $4, $5, $6, n.now, n.now, s.last_step, 0, 0, $7, s.graph_id, s.assistant_id, s.user_id
from (select cast(unixepoch('subsec') * 1000000 as integer) as now) n
left join threads s on s.tenant = $1 and s.thread_id = $8
where true
on conflict (tenant, thread_id) do update set
    thread_key = excluded.thread_key, scope_id = excluded.scope_id, updated_at = excluded.updated_at,
    last_step = excluded.last_step, graph_id = excluded.graph_id,
    assistant_id = excluded.assistant_id, user_id = excluded.user_id;
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $4, 'thread', $2);
delete from garbage where tenant = $1 and thread_key = $3";

const DESCRIBE: &str = "
insert into scopes (tenant, scope_id, epoch, next_no)
select $1, $4, 1, coalesce(max(no), 0) + 1 from manifests where tenant = $1 and scope_id = $4;
update threads set
    checkpoint_count = (select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $3),
    size_bytes =
        (select coalesce(sum(c.size_bytes), 0) from checkpoints c where c.tenant = $1 and c.thread_key = $3)
        + (select coalesce(sum(w.size_bytes), 0) from writes w
           where w.tenant = $1 and w.thread_key = $3 and w.value_no is null)
        + (select coalesce(sum(m.size_bytes), 0) from manifests m where m.tenant = $1 and m.scope_id = $4)
where tenant = $1 and thread_id = $2
returning checkpoint_count";

async fn describe(
    connection: &mut SqliteConnection,
    tenant: &str,
    target: &str,
    staged: &Garbage,
) -> Result<u64> {
    let row = sqlx::query(DESCRIBE)
        .bind(tenant)
        .bind(target)
        .bind(staged.thread_key)
        .bind(staged.scope_id)
        .fetch_one(connection)
        .await
        .map_err(storage_error)?;
    let count: i64 = row.try_get(0).map_err(storage_error)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Conflict when the target holds a lease, or anything at all.
async fn refuse_target(
    connection: &mut SqliteConnection,
    tenant: &str,
    request: &CopyThread,
) -> Result<()> {
    let target = read_thread_row(connection, tenant, request.target.as_str()).await?;
    let Some(target) = target else { return Ok(()) };
    let row = sqlx::query(
        "select exists (select 1 from checkpoints where tenant = $1 and thread_key = $2)
             or exists (select 1 from writes where tenant = $1 and thread_key = $2)",
    )
    .bind(tenant)
    .bind(target.thread_key)
    .fetch_one(connection)
    .await
    .map_err(storage_error)?;
    if row.try_get(0).map_err(storage_error)? {
        return Err(Error::Conflict(Conflict::ThreadExists));
    }
    target.check(None, None)
}

/// A sweep that takes the staged rows for those of a crash ends the copy, never half of it.
async fn check_registered(connection: &mut SqliteConnection, staged: &Garbage) -> Result<()> {
    let row = sqlx::query("select 1 from garbage where tenant = $1 and thread_key = $2")
        .bind(&staged.tenant)
        .bind(staged.thread_key)
        .fetch_optional(connection)
        .await
        .map_err(storage_error)?;
    let lost = || Error::Unavailable {
        detail: "the copy took too long".into(),
        retry_after: std::time::Duration::from_secs(1),
    };
    row.map(|_| ()).ok_or_else(lost)
}

async fn stored_answer(
    connection: &mut SqliteConnection,
    caller: &Caller,
    request: &CopyThread,
) -> Result<Option<u64>> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(None);
    };
    let row = sqlx::query(
        "select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3",
    )
    .bind(&caller.tenant)
    .bind(caller.subject.as_deref().unwrap_or(""))
    .bind(key)
    .fetch_optional(connection)
    .await
    .map_err(storage_error)?;
    let Some(row) = row else { return Ok(None) };
    let stored: Vec<u8> = row.try_get(0).map_err(storage_error)?;
    if stored != digest {
        return Err(Error::IdempotencyMismatch);
    }
    let answer: Vec<u8> = row.try_get(1).map_err(storage_error)?;
    let damaged = |_| Error::Integrity("a stored answer is damaged".into());
    serde_json::from_slice(&answer).map(Some).map_err(damaged)
}

async fn store_answer(
    connection: &mut SqliteConnection,
    caller: &Caller,
    request: &CopyThread,
    count: u64,
) -> Result<()> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(());
    };
    sqlx::query(
        "insert into idempotency (tenant, caller, key, digest, answer, created_at)
         values ($1, $2, $3, $4, $5, cast(unixepoch('subsec') * 1000000 as integer))
         on conflict do nothing",
    )
    .bind(&caller.tenant)
    .bind(caller.subject.as_deref().unwrap_or(""))
    .bind(key)
    .bind(digest.to_vec())
    .bind(count.to_string().into_bytes())
    .execute(connection)
    .await
    .map_err(storage_error)?;
    Ok(())
}
