//! Removes rows that no thread names, in slices that leave room for batches between them.
//!
//! **Invariant:** rows under a thread key in `garbage` cannot be reached, so slices need no atomicity among them.

use std::collections::{BTreeSet, HashSet};

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::SqliteStorage;
use super::errors::storage_error;
use crate::domain::Result;
use crate::storage::channel_map;

/// Rows per slice: some milliseconds.
const SLICE_ROWS: i64 = 500;
/// Chunks are larger: about 4 MiB at their usual sizes.
const SLICE_CHUNKS: usize = 128;

/// What a removal left: rows of a thread key, and values of a scope that perhaps nobody names any more.
#[derive(Debug, Clone)]
pub(super) struct Garbage {
    pub(super) tenant: String,
    pub(super) thread_key: i64,
    pub(super) scope_id: i64,
}

const DELETE_ROWS: [&str; 3] = [
    "delete from writes where rowid in
        (select rowid from writes where tenant = $1 and thread_key = $2 limit $3)",
    "delete from delta_bases where rowid in
        (select rowid from delta_bases where tenant = $1 and thread_key = $2 limit $3)",
    "delete from checkpoints where rowid in
        (select rowid from checkpoints where tenant = $1 and thread_key = $2 limit $3)",
];

impl SqliteStorage {
    /// Safe to repeat, and to run beside anything else.
    pub(super) async fn collect(&self, garbage: &Garbage) -> Result<()> {
        for statement in DELETE_ROWS {
            loop {
                let _turn = self.connections.background().await;
                let mut write = self.connections.begin_write().await?;
                let done = sqlx::query(statement)
                    .bind(&garbage.tenant)
                    .bind(garbage.thread_key)
                    .bind(SLICE_ROWS)
                    .execute(&mut *write)
                    .await
                    .map_err(storage_error)?;
                write.commit().await?;
                if done.rows_affected() < u64::try_from(SLICE_ROWS).unwrap_or(0) {
                    break;
                }
            }
        }
        while !self.collect_values(garbage).await? {}
        while !self.collect_chunks(garbage).await? {}
        self.finish(garbage).await
    }

    /// One slice of values that no checkpoint and no write names. Answers whether it was the last.
    async fn collect_values(&self, garbage: &Garbage) -> Result<bool> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        // Read again for each slice: a commit in between may carry over a value that nobody named before.
        let named = named_values(&mut write, garbage).await?;
        let rows = sqlx::query("select no from manifests where tenant = $1 and scope_id = $2")
            .bind(&garbage.tenant)
            .bind(garbage.scope_id)
            .fetch_all(&mut *write)
            .await
            .map_err(storage_error)?;
        let mut unnamed: Vec<i64> = Vec::new();
        for row in rows {
            let no: i64 = row.try_get(0).map_err(storage_error)?;
            if !named.contains(&no) {
                unnamed.push(no);
            }
        }
        let slice_rows = usize::try_from(SLICE_ROWS).unwrap_or(usize::MAX);
        let last = unnamed.len() <= slice_rows;
        unnamed.truncate(slice_rows);
        if unnamed.is_empty() {
            write.rollback().await?;
            return Ok(true);
        }
        sqlx::query(
            "delete from manifests where tenant = $1 and scope_id = $2
                 and no in (select value from json_each($3));
             update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .bind(serde_json::json!(unnamed).to_string())
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        write.commit().await?;
        Ok(last)
    }

    /// One slice of chunks that no value of the scope names.
    async fn collect_chunks(&self, garbage: &Garbage) -> Result<bool> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        let named = digests(
            &mut write,
            garbage,
            "select 0, digest from manifests where tenant = $1 and scope_id = $2 and body is null",
        )
        .await?;
        let named: HashSet<Vec<u8>> = named.into_iter().map(|(_, name)| name).collect();
        let stored = digests(
            &mut write,
            garbage,
            "select rowid, name from chunks where tenant = $1 and scope_id = $2",
        )
        .await?;
        let unnamed = stored.into_iter().filter(|(_, name)| !named.contains(name));
        let mut unnamed: Vec<i64> = unnamed.map(|(row_id, _)| row_id).collect();
        let last = unnamed.len() <= SLICE_CHUNKS;
        unnamed.truncate(SLICE_CHUNKS);
        if unnamed.is_empty() {
            write.rollback().await?;
            return Ok(true);
        }
        sqlx::query(
            "delete from chunks where rowid in (select value from json_each($3));
             update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .bind(serde_json::json!(unnamed).to_string())
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        write.commit().await?;
        Ok(last)
    }

    async fn finish(&self, garbage: &Garbage) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "delete from scopes where tenant = $1 and scope_id = $2 and not exists
                 (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             delete from garbage where tenant = $1 and thread_key = $3",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .bind(garbage.thread_key)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        write.commit().await
    }
}

/// Numbers that checkpoints and writes of the scope's holders name.
async fn named_values(
    connection: &mut SqliteConnection,
    garbage: &Garbage,
) -> Result<BTreeSet<i64>> {
    const HOLDERS: &str = "
        select t.thread_key from scope_holders h
        join threads t on t.tenant = h.tenant and t.thread_id = h.holder and t.scope_id = h.scope_id
        where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread'";
    let holders = sqlx::query(HOLDERS)
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .fetch_all(&mut *connection)
        .await
        .map_err(storage_error)?;
    let mut named = BTreeSet::new();
    for holder in holders {
        let thread_key: i64 = holder.try_get(0).map_err(storage_error)?;
        named.extend(values_of_thread(connection, &garbage.tenant, thread_key).await?);
    }
    Ok(named)
}

/// Numbers that the rows of one thread key name.
pub(super) async fn values_of_thread(
    connection: &mut SqliteConnection,
    tenant: &str,
    thread_key: i64,
) -> Result<BTreeSet<i64>> {
    let mut named = BTreeSet::new();
    let maps = sqlx::query("select map from checkpoints where tenant = $1 and thread_key = $2")
        .bind(tenant)
        .bind(thread_key)
        .fetch_all(&mut *connection)
        .await
        .map_err(storage_error)?;
    for row in maps {
        let map: Vec<u8> = row.try_get(0).map_err(storage_error)?;
        named.extend(channel_map::unpack(&map)?.iter().map(|entry| i64::from(entry.value_no)));
    }
    let writes = sqlx::query(
        "select value_no from writes where tenant = $1 and thread_key = $2 and value_no is not null",
    )
    .bind(tenant)
    .bind(thread_key)
    .fetch_all(connection)
    .await
    .map_err(storage_error)?;
    for row in writes {
        named.insert(row.try_get(0).map_err(storage_error)?);
    }
    Ok(named)
}

async fn digests(
    connection: &mut SqliteConnection,
    garbage: &Garbage,
    statement: &'static str,
) -> Result<Vec<(i64, Vec<u8>)>> {
    let rows = sqlx::query(statement)
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .fetch_all(connection)
        .await
        .map_err(storage_error)?;
    rows.iter()
        .map(|row| {
            Ok((row.try_get(0).map_err(storage_error)?, row.try_get(1).map_err(storage_error)?))
        })
        .collect()
}
