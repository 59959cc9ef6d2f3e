//! Reads threads for listings, without their values.

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row};

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::domain::threads::thread::{Thread, ThreadQuery, ThreadSort};
use crate::domain::tokens::grants::Action;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::{ids_json, prefixes_json};
use crate::storage::threads::thread_filter::{OwnedThread, SHOWN, ThreadFilter, Way};
use crate::storage::tokens::owner_macs::{OwnerRow, secrets_of};

const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes,
    generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac";

impl SqliteStorage {
    pub(in crate::storage) async fn read_thread(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<Thread>> {
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        let mut reader = self.connections.begin_read_for(&caller.tenant).await?;
        let statement = format!(
            "select {COLUMNS} from threads
             where tenant = $1 and thread_id = $2 and ($3 is null or owner = $3)"
        );
        let row = sqlx::query(AssertSqlSafe(statement))
            .bind(thread.tenant)
            .bind(thread.thread_id)
            .bind(thread.owner)
            .fetch_optional(&mut *reader)
            .await?;
        reader.end().await?;
        Ok(self.checked(&caller.tenant, row.as_slice()).await?.pop())
    }

    pub(in crate::storage) async fn read_threads(
        &self,
        caller: &Caller,
        query: &ThreadQuery,
    ) -> Result<Vec<Thread>> {
        let listed = ThreadFilter::by(caller, Action::Read);
        // The text is put together from constants only; everything a caller chose is bound.
        let (direction, beyond) = if query.ascending { ("asc", ">") } else { ("desc", "<") };
        let timed = |time: &str| {
            (
                format!("({time}, thread_id) {beyond} ($2, $3)"),
                format!("{time} {direction}, thread_id {direction}"),
            )
        };
        let (after, order) = match query.sort {
            ThreadSort::Created => timed("created_at"),
            ThreadSort::Updated => timed("updated_at"),
            ThreadSort::ThreadId => {
                (format!("thread_id {beyond} $3"), format!("thread_id {direction}"))
            }
        };
        let statement = format!(
            "select {COLUMNS} from threads
             where tenant = $1 and {SHOWN} and ($3 is null or {after})
               and ($4 is null or graph_id = $4) and ($5 is null or assistant_id = $5)
               and ($6 is null or user_id = $6)
               and ($7 is null or substr(thread_id, 1, length($7)) = $7){}
             order by {order} limit $8",
            listed.condition(way_in)
        );
        let mut reader = self.connections.begin_search(&caller.tenant).await?;
        let rows = sqlx::query(AssertSqlSafe(statement))
            .bind(&caller.tenant)
            .bind(query.after.as_ref().map(|it| it.time))
            .bind(query.after.as_ref().map(|it| it.thread_id.clone()))
            .bind(&query.graph_id)
            .bind(&query.assistant_id)
            .bind(&query.user_id)
            .bind(&query.prefix)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .bind(&listed.owner)
            .bind(ids_json(&listed))
            .bind(prefixes_json(&listed))
            .fetch_all(&mut *reader)
            .await?;
        reader.end().await?;
        self.checked(&caller.tenant, &rows).await
    }

    /// Rows of [`COLUMNS`], each held against its MAC.
    async fn checked(&self, tenant: &str, rows: &[SqliteRow]) -> Result<Vec<Thread>> {
        let secrets = secrets_of(self, rows.first().map(|_| tenant).into_iter()).await?;
        let thread = |row: &SqliteRow| {
            let thread = read(row)?;
            let Some(secret) = secrets.get(tenant) else { return Ok(thread) };
            let thread_key = row.try_get("thread_key")?;
            let scope_id = row.try_get("scope_id")?;
            let mac: Option<&[u8]> = row.try_get("mac")?;
            let ids = (thread_key, scope_id);
            OwnerRow::thread(&thread.thread_id, ids, thread.owner.as_deref()).check(secret, mac)?;
            Ok(thread)
        };
        rows.iter().map(thread).collect()
    }
}

/// $9 owner, $10 ids, $11 prefixes. One file's threads are few enough for the other ways to look through them in order.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "owner = $9",
        Way::Exact => "thread_id in (select value from json_each($10))",
        Way::Prefix => {
            "exists (select 1 from jsonb_each($11) r
                where thread_id >= r.value ->> 0 and thread_id < r.value ->> 1)"
        }
    }
}

fn read(row: &SqliteRow) -> Result<Thread> {
    Ok(Thread {
        thread_id: row.try_get("thread_id")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        last_step: row.try_get("last_step")?,
        checkpoint_count: row.try_get("checkpoint_count")?,
        size_bytes: row.try_get("size_bytes")?,
        generation: row.try_get("generation")?,
        owner: row.try_get("owner")?,
        graph_id: row.try_get("graph_id")?,
        assistant_id: row.try_get("assistant_id")?,
        user_id: row.try_get("user_id")?,
    })
}
