//! Copies the packed content of a full copy into the database in batches, before the transaction of the copy. So no connection waits for
//! the object store, and the content need not fit into memory.

use sqlx::Row;

use crate::domain::clock::random_id;
use crate::domain::{Error, Result};
use crate::storage::maintenance::postgres::garbage::remove_garbage;
use crate::storage::objects::packs::{COME_BACK, Scope};
use crate::storage::objects::stage_packed;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;

/// Keys of a copy that is being made.
#[derive(Default)]
pub(in crate::storage) struct Fresh {
    pub thread_key: i64,
    pub scope_id: i64,
    /// Chunks may be in the scope already; an entry in the garbage under this key says so.
    staged: Option<i64>,
}

impl Fresh {
    /// New keys for each attempt: the one before may have been committed without our knowing. The scope stays once chunks
    /// are in it; then both attempts want the entry in the garbage, and only one gets it.
    pub fn renew(&mut self) {
        self.thread_key = random_id();
        if self.staged.is_none() {
            self.scope_id = random_id();
        }
    }
}

impl PostgresStorage {
    /// Copies the packed chunks of a scope into the one of the copy.
    pub(super) async fn stage_content(
        &self,
        tenant: &str,
        from: i64,
        fresh: &mut Fresh,
    ) -> Result<()> {
        let key = if let Some(key) = fresh.staged {
            key
        } else {
            let key = random_id();
            sqlx::query(
                "insert into garbage (tenant, thread_key, scope_id, created_at)
                 values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
            )
            .bind(tenant)
            .bind(key)
            .bind(fresh.scope_id)
            .execute(&mut *self.pool.get().await?)
            .await?;
            *fresh.staged.insert(key)
        };
        let from = Scope { tenant: tenant.to_owned(), id: from };
        let to = Scope { tenant: tenant.to_owned(), id: fresh.scope_id };
        stage_packed(self.objects.as_deref(), self, (&from, None), &to, key).await
    }

    /// Removes what a copy that failed had staged; a sweep would do it later. Not what a copy took whose commit had no
    /// answer: its entry in the garbage is gone, and while it is being decided this waits.
    pub(super) async fn unstage(&self, tenant: &str, fresh: &Fresh) -> Result<()> {
        let Some(key) = fresh.staged else { return Ok(()) };
        let mut connection = self.pool.get().await?;
        let entry = sqlx::query(
            "select scope_id from garbage where tenant = $1 and thread_key = $2 for update",
        )
        .bind(tenant)
        .bind(key)
        .fetch_optional(&mut *connection)
        .await?;
        if entry.is_some() {
            remove_garbage(&mut connection, tenant, key, fresh.scope_id).await?;
        }
        Ok(())
    }
}

/// Whether a scope has packed chunks that the copy does not have yet.
pub(super) async fn lacks_packed(
    connection: &mut Connection,
    tenant: &str,
    from: i64,
    to: i64,
) -> Result<bool> {
    let row = sqlx::query(
        "select exists (select from chunks k where k.tenant = $1 and k.scope_id = $2
            and octet_length(k.body) = 25 and get_byte(k.body, 0) = 2
            and not exists (select from chunks c where c.tenant = $1 and c.scope_id = $3
                and c.name = k.name)) as lacks",
    )
    .bind(tenant)
    .bind(from)
    .bind(to)
    .fetch_one(connection)
    .await?;
    Ok(row.get("lacks"))
}

/// The staged rows become the copy's. A sweep that took them for those of a crash ends the copy, never half of it.
pub(super) async fn take_staged(
    connection: &mut Connection,
    tenant: &str,
    fresh: &Fresh,
) -> Result<()> {
    let Some(key) = fresh.staged else { return Ok(()) };
    let taken = sqlx::query("delete from garbage where tenant = $1 and thread_key = $2")
        .bind(tenant)
        .bind(key)
        .execute(connection)
        .await?;
    if taken.rows_affected() == 1 {
        return Ok(());
    }
    Err(Error::Unavailable { detail: "the copy took too long".into(), retry_after: COME_BACK })
}
