//! Removes rows that no thread names, in slices that leave room for batches between them.
//!
//! **Invariant:** rows under a thread key in `garbage` cannot be reached, so slices need no atomicity among them.

use std::collections::BTreeSet;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::domain::tenants::erasure::Receipt;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::channel_map;
use crate::storage::checkpoints::sqlite::chunks::read_chunks;
use crate::storage::content::reachability::{Leaves, Reachability};
use crate::storage::objects::pack_location::PackLocation;
use crate::storage::objects::packs::Scope;
use crate::storage::objects::sqlite::pack_writes::release;
use crate::storage::sessions::removal::remove_rows;
use crate::storage::sqlite::SqliteStorage;

/// Rows per slice: some milliseconds.
const SLICE_ROWS: i64 = 500;
/// About 2 MiB at their usual size; those of files are larger.
const SLICE_CHUNKS: usize = 2_000;
const SLICE_BYTES: i64 = 4 << 20;

/// What a removal left: rows of a thread key, and values of a scope that perhaps nobody names any more.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Garbage {
    pub(in crate::storage) tenant: String,
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
}

const DELETE_ROWS: [&str; 6] = [
    "delete from writes where rowid in
        (select rowid from writes where tenant = $1 and thread_key = $2 limit $3)",
    "delete from delta_bases where rowid in
        (select rowid from delta_bases where tenant = $1 and thread_key = $2 limit $3)",
    "delete from checkpoints where rowid in
        (select rowid from checkpoints where tenant = $1 and thread_key = $2 limit $3)",
    "delete from session_entries where rowid in
        (select rowid from session_entries where tenant = $1 and session_no = $2 limit $3)",
    "delete from session_logs where rowid in
        (select rowid from session_logs where tenant = $1 and session_no = $2 limit $3)",
    "delete from thread_details where rowid in
        (select rowid from thread_details where tenant = $1 and thread_key = $2 limit $3)",
];

impl SqliteStorage {
    /// Says what went. Safe to repeat, and to run beside anything else.
    pub(in crate::storage) async fn collect(&self, garbage: &Garbage) -> Result<Receipt> {
        let (mut removed, mut logs, mut details) = (Receipt::default(), 0, 0);
        let counts = [
            &mut removed.writes,
            &mut removed.delta_bases,
            &mut removed.checkpoints,
            &mut removed.entries,
            &mut logs,
            &mut details,
        ];
        for (statement, count) in DELETE_ROWS.into_iter().zip(counts) {
            loop {
                let _turn = self.connections.background().await;
                let mut write = self.connections.begin_write().await?;
                let done = sqlx::query(statement)
                    .bind(&garbage.tenant)
                    .bind(garbage.thread_key)
                    .bind(SLICE_ROWS)
                    .execute(&mut *write)
                    .await?;
                write.commit().await?;
                *count += done.rows_affected();
                if done.rows_affected() < u64::try_from(SLICE_ROWS).unwrap_or(0) {
                    break;
                }
            }
        }
        remove_rows(self, &garbage.tenant, garbage.scope_id).await?;
        self.remove_parts(garbage).await?;
        let packs = self.count_packs(garbage).await?;
        while !self.collect_values(garbage, &mut removed.values).await? {}
        while !self.collect_chunks(garbage, &mut removed.chunks).await? {}
        self.finish(garbage).await?;
        removed.packs = packs - self.count_packs(garbage).await?.min(packs);
        Ok(removed)
    }

    /// Parts of values that waited for a commit, of a scope that nobody holds any more.
    async fn remove_parts(&self, garbage: &Garbage) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "delete from content_slices where tenant = $1 and scope_id = $2
                 and not exists (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             delete from contents where tenant = $1 and scope_id = $2 and length(namespace) = 0
                 and not exists (select 1 from scope_holders where tenant = $1 and scope_id = $2)",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    async fn count_packs(&self, garbage: &Garbage) -> Result<u64> {
        let mut read = self.connections.begin_read().await?;
        let row = sqlx::query("select count(*) from packs where tenant = $1 and scope_id = $2")
            .bind(&garbage.tenant)
            .bind(garbage.scope_id)
            .fetch_one(&mut *read)
            .await?;
        read.end().await?;
        Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
    }

    /// One slice of values that no checkpoint and no write names. Answers whether it was the last.
    async fn collect_values(&self, garbage: &Garbage, count: &mut u64) -> Result<bool> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        // Read again for each slice: a commit in between may carry over a value that nobody named before.
        let named = named_values(&mut write, garbage).await?;
        let rows = sqlx::query("select no from manifests where tenant = $1 and scope_id = $2")
            .bind(&garbage.tenant)
            .bind(garbage.scope_id)
            .fetch_all(&mut *write)
            .await?;
        let mut unnamed: Vec<i64> = Vec::new();
        for row in rows {
            let no: i64 = row.try_get(0)?;
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
        .await?;
        write.commit().await?;
        *count += unnamed.len() as u64;
        Ok(last)
    }

    /// One slice of chunks that no value of the scope names.
    async fn collect_chunks(&self, garbage: &Garbage, count: &mut u64) -> Result<bool> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        let marks = self.mark(&mut write, garbage).await?;
        let stored = sqlx::query(
            "select rowid, name, case when substr(body, 1, 1) = x'02' then body end, length(body)
             from chunks where tenant = $1 and scope_id = $2",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .fetch_all(&mut *write)
        .await?;
        let mut unnamed: Vec<i64> = Vec::new();
        let mut places: Vec<PackLocation> = Vec::new();
        let (mut last, mut bytes) = (true, 0);
        for row in stored {
            if marks.names(&row.try_get::<Vec<u8>, _>(1)?) {
                continue;
            }
            if unnamed.len() == SLICE_CHUNKS || bytes > SLICE_BYTES {
                last = false;
                break;
            }
            bytes += row.try_get::<i64, _>(3)?;
            unnamed.push(row.try_get(0)?);
            let place: Option<Vec<u8>> = row.try_get(2)?;
            // One that is damaged goes like the others; its pack counts it till the scope goes.
            places.extend(PackLocation::read(&place.unwrap_or_default()).unwrap_or_default());
        }
        if unnamed.is_empty() {
            forget_items(&mut write, garbage).await?;
            write.commit().await?;
            return Ok(true);
        }
        let scope = Scope { tenant: garbage.tenant.clone(), id: garbage.scope_id };
        release(&mut write, &scope, places, None).await?;
        sqlx::query(
            "delete from chunks where rowid in (select value from json_each($3));
             update scopes set epoch = epoch + 1 where tenant = $1 and scope_id = $2",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .bind(serde_json::json!(unnamed).to_string())
        .execute(&mut *write)
        .await?;
        if last {
            forget_items(&mut write, garbage).await?;
        }
        write.commit().await?;
        *count += unnamed.len() as u64;
        Ok(last)
    }

    /// What the values of the scope's holders lead to.
    async fn mark(&self, write: &mut SqliteConnection, garbage: &Garbage) -> Result<Reachability> {
        let mut marks = Reachability::default();
        for holder in holders(write, garbage).await? {
            let lists = sqlx::query(
                "select parts from writes
                 where tenant = $1 and thread_key = $2 and parts is not null",
            );
            mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(holder)).await?;
        }
        let lists = sqlx::query(
            "select parts from manifests
             where tenant = $1 and scope_id = $2 and parts is not null",
        );
        mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(garbage.scope_id)).await?;
        let lists = sqlx::query(
            "select parts from items where tenant = $1 and scope_id = $2 and parts is not null",
        );
        mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(garbage.scope_id)).await?;
        let lists = sqlx::query(
            "select parts from item_versions
             where tenant = $1 and scope_id = $2 and parts is not null",
        );
        mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(garbage.scope_id)).await?;
        let lists =
            sqlx::query("select parts from content_slices where tenant = $1 and scope_id = $2");
        mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(garbage.scope_id)).await?;
        let lists = sqlx::query(
            "select e.parts from sessions s
             join session_entries e on e.tenant = s.tenant and e.session_no = s.session_no
             where s.tenant = $1 and s.scope_id = $2 and e.parts is not null",
        );
        mark_lists(write, &mut marks, lists.bind(&garbage.tenant).bind(garbage.scope_id)).await?;
        let nodes = marks.nodes();
        let place = (garbage.tenant.as_str(), garbage.scope_id);
        for (_, body) in read_chunks(write, place, nodes.iter().map(Vec::as_slice)).await? {
            marks.add_node(&body)?;
        }
        Ok(marks)
    }

    /// Names of the chunks with content that the values of a scope lead to, in the order of the values.
    pub(in crate::storage) async fn leaves_of(
        &self,
        scope: &Scope,
    ) -> Result<Vec<crate::content::parts::Name>> {
        let mut read = self.connections.begin_read().await?;
        let mut leaves = Leaves::default();
        let rows = sqlx::query(
            "select parts, 0 as kind, no, 0 as start_at from manifests
             where tenant = $1 and scope_id = $2 and parts is not null
             union all
             select w.parts, 1, 0, 0 from scope_holders h
             join threads t on t.tenant = h.tenant and t.thread_id = h.holder
                 and t.scope_id = h.scope_id
             join writes w on w.tenant = t.tenant and w.thread_key = t.thread_key
             where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread' and w.parts is not null
             union all
             select s.parts, 2, c.finished_at, s.start_at from contents c
             join content_slices s on s.tenant = c.tenant and s.content_id = c.content_id
             where c.tenant = $1 and c.scope_id = $2 and c.finished_at > 0
             order by 2, 3, 4",
        )
        .bind(&scope.tenant)
        .bind(scope.id)
        .fetch_all(&mut *read)
        .await?;
        for row in rows {
            leaves.add_list(&row.try_get::<Vec<u8>, _>(0)?)?;
        }
        let nodes = leaves.nodes();
        let place = (scope.tenant.as_str(), scope.id);
        for (name, body) in read_chunks(&mut read, place, nodes.iter().map(Vec::as_slice)).await? {
            leaves.add_node(&name, &body)?;
        }
        read.end().await?;
        Ok(leaves.in_order())
    }

    async fn finish(&self, garbage: &Garbage) -> Result<()> {
        let mut write = self.connections.begin_write().await?;
        sqlx::query(
            "delete from scopes where tenant = $1 and scope_id = $2 and not exists
                 (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             delete from scope_packing where tenant = $1 and scope_id = $2 and not exists
                 (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             insert into object_deletions (tenant, pack_id, dropped_at, claimed_until)
             select tenant, pack_id, case when not exists (
                    select 1 from garbage where tenant = $1 and scope_id = $2 and erased = 1)
                then cast(unixepoch('subsec') * 1000000 as integer) else 0 end, 0 from packs
             where tenant = $1 and scope_id = $2 and not exists
                 (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             delete from packs where tenant = $1 and scope_id = $2 and not exists
                 (select 1 from scope_holders where tenant = $1 and scope_id = $2);
             delete from garbage where tenant = $1 and thread_key = $3
                 and (thread_key <> scope_id or not exists
                     (select 1 from scope_holders where tenant = $1 and scope_id = $2))",
        )
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .bind(garbage.thread_key)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }
}

/// An entry of items has the scope's id as its key, and goes with the last look at the scope: one that comes after it stands
/// for another one.
async fn forget_items(write: &mut SqliteConnection, garbage: &Garbage) -> Result<()> {
    sqlx::query(
        "delete from garbage where tenant = $1 and thread_key = $2 and scope_id = $2 and $2 = $3
            and exists (select 1 from scope_holders where tenant = $1 and scope_id = $2)",
    )
    .bind(&garbage.tenant)
    .bind(garbage.scope_id)
    .bind(garbage.thread_key)
    .execute(write)
    .await?;
    Ok(())
}

async fn mark_lists(
    connection: &mut SqliteConnection,
    marks: &mut Reachability,
    lists: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
) -> Result<()> {
    for row in lists.fetch_all(connection).await? {
        marks.add_list(&row.try_get::<Vec<u8>, _>(0)?)?;
    }
    Ok(())
}

/// Keys of the threads that hold the scope.
pub(in crate::storage) async fn holders(
    connection: &mut SqliteConnection,
    garbage: &Garbage,
) -> Result<Vec<i64>> {
    const HOLDERS: &str = "
        select t.thread_key from scope_holders h
        join threads t on t.tenant = h.tenant and t.thread_id = h.holder and t.scope_id = h.scope_id
        where h.tenant = $1 and h.scope_id = $2 and h.kind = 'thread'";
    let holders = sqlx::query(HOLDERS)
        .bind(&garbage.tenant)
        .bind(garbage.scope_id)
        .fetch_all(connection)
        .await?;
    holders.iter().map(|row| row.try_get(0).map_err(Error::from)).collect()
}

/// Numbers that checkpoints of the scope's holders name.
async fn named_values(
    connection: &mut SqliteConnection,
    garbage: &Garbage,
) -> Result<BTreeSet<i64>> {
    let mut named = BTreeSet::new();
    for thread_key in holders(connection, garbage).await? {
        named.extend(values_of_thread(connection, &garbage.tenant, thread_key).await?);
    }
    Ok(named)
}

/// Numbers that the rows of one thread key name.
pub(in crate::storage) async fn values_of_thread(
    connection: &mut SqliteConnection,
    tenant: &str,
    thread_key: i64,
) -> Result<BTreeSet<i64>> {
    let mut named = BTreeSet::new();
    let maps = sqlx::query("select map from checkpoints where tenant = $1 and thread_key = $2")
        .bind(tenant)
        .bind(thread_key)
        .fetch_all(connection)
        .await?;
    for row in maps {
        let map: Vec<u8> = row.try_get(0)?;
        named.extend(channel_map::unpack(&map)?.iter().map(|entry| i64::from(entry.value_no)));
    }
    Ok(named)
}
