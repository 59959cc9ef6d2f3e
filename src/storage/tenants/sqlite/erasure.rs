//! Erases a subject, slice by slice. Each is one short transaction, and batches are written between them.

use async_trait::async_trait;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::tenants::erasure::ErasureStorage;
use crate::domain::tenants::erasure::{More, Receipt, Slice, Stage};
use crate::domain::tenants::subjects::{Subject, SubjectQuery};
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::sessions::removal;
use crate::storage::snapshots;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::tenants::audit_rows::erase_objects;
use crate::storage::tenants::subject_rows;
use crate::storage::tokens::key_rows::erase_keys;

/// Threads that one transaction cuts off: some milliseconds.
const SLICE_THREADS: i64 = 50;
const SLICE_ROWS: i64 = 500;

/// $1 tenant, $2 thread ids, $3 thread keys, $4 scopes: what names the threads; one statement each, so that each says how
/// many went.
const TRACES_OF_THREADS: [&str; 3] = [
    "delete from retention_policies where tenant = $1 and kind = 'thread'
        and thread_id in (select value from json_each($2))",
    "delete from retention_reports where tenant = $1 and kind = 'thread'
        and thread_id in (select value from json_each($2))",
    "delete from thread_tombstones where tenant = $1
        and thread_id in (select value from json_each($2))",
];

/// The same binds and $5 the subject. The content becomes garbage, and so does what removals of before left of the scopes.
const CUT_OFF: &str = "
update garbage set owner = $5, erased = 1
where tenant = $1 and scope_id in (select value from json_each($4));
insert into garbage (tenant, thread_key, scope_id, created_at, owner, erased)
select tenant, thread_key, scope_id, cast(unixepoch('subsec') * 1000000 as integer), $5, 1 from threads
where tenant = $1 and thread_key in (select value from json_each($3));
delete from scope_holders where tenant = $1 and kind = 'thread'
    and holder in (select value from json_each($2)) and scope_id in (select value from json_each($4));
update scopes set epoch = epoch + 1 where tenant = $1 and scope_id in (select value from json_each($4));
delete from threads where tenant = $1 and thread_key in (select value from json_each($3));
update retention_policies set last_thread_id = coalesce((select max(t.thread_id) from threads t
    where t.tenant = $1 and t.thread_id < retention_policies.last_thread_id), '')
where tenant = $1 and kind = 'tenant' and last_thread_id in (select value from json_each($2))";

#[async_trait]
impl ErasureStorage for SqliteStorage {
    async fn erase_slice(&self, caller: &Caller, subject: &str, stage: Stage) -> Result<Slice> {
        let tenant = caller.tenant.as_str();
        match stage {
            Stage::Keys => erase_keys(self, tenant, subject).await,
            Stage::Snapshots => snapshots::removal::erase(self, tenant, subject).await,
            Stage::Threads => self.cut_off_threads(tenant, subject).await,
            Stage::Sessions => {
                let now = Clock::System.now();
                removal::erase(self, tenant, subject, now).await
            }
            Stage::Items => self.erase_items(tenant, subject).await,
            Stage::Traces => self.erase_traces(tenant, subject).await,
            Stage::Content => self.erase_content(tenant, subject).await,
        }
    }

    async fn list_subjects(
        &self,
        tenant: &str,
        query: &SubjectQuery,
        now: Micros,
    ) -> Result<Vec<Subject>> {
        subject_rows::list(self, tenant, query, now).await
    }
}

impl SqliteStorage {
    async fn cut_off_threads(&self, tenant: &str, subject: &str) -> Result<Slice> {
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        let found = sqlx::query(
            "select thread_id, thread_key, scope_id, size_bytes from threads
             where tenant = $1 and owner = $2 order by thread_id limit $3",
        )
        .bind(tenant)
        .bind(subject)
        .bind(SLICE_THREADS)
        .fetch_all(&mut *write)
        .await?;
        if found.is_empty() {
            write.rollback().await?;
            return Ok(Slice::default());
        }
        let (mut thread_ids, mut keys, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
        let mut removed = Receipt { threads: found.len() as u64, ..Receipt::default() };
        for row in &found {
            thread_ids.push(row.try_get::<String, _>(0)?);
            keys.push(row.try_get::<i64, _>(1)?);
            scopes.push(row.try_get::<i64, _>(2)?);
            removed.size_bytes += row.try_get::<i64, _>(3)?.unsigned_abs();
        }
        let [ids, keys, scopes] =
            [json!(thread_ids), json!(keys), json!(scopes)].map(|it| it.to_string());
        let counts = [
            &mut removed.retention_policies,
            &mut removed.retention_reports,
            &mut removed.tombstones,
        ];
        for (text, count) in TRACES_OF_THREADS.into_iter().zip(counts) {
            let done = sqlx::query(text).bind(tenant).bind(&ids).execute(&mut *write).await;
            *count = done?.rows_affected();
        }
        sqlx::query(CUT_OFF)
            .bind(tenant)
            .bind(&ids)
            .bind(&keys)
            .bind(&scopes)
            .bind(subject)
            .execute(&mut *write)
            .await?;
        write.commit().await?;
        for thread_id in &thread_ids {
            self.chunks.forget(tenant, thread_id);
        }
        let is_full = found.len() as u64 == SLICE_THREADS.unsigned_abs();
        let more = if is_full { More::Certainly } else { More::Perhaps };
        Ok(Slice { removed, thread_ids, more })
    }

    async fn erase_traces(&self, tenant: &str, subject: &str) -> Result<Slice> {
        erase_objects(self, tenant, subject).await?;
        let mut counts = [0; 4];
        for (at, text) in [
            "delete from thread_tombstones where rowid in (select rowid
                from thread_tombstones where tenant = $1 and owner = $2 limit $3)",
            "delete from retention_reports where rowid in (select rowid
                from retention_reports where tenant = $1 and owner = $2 limit $3)",
            "delete from idempotency where rowid in (select rowid from idempotency
                where tenant = $1 and (subject = $2 or subject is null and caller = $2) limit $3)",
            // What it did stays, but not that it was it. The name of an issuer has no colon.
            "update audit_events set actor = substr(actor, 1, 7 + instr(substr(actor, 8), ':'))
             where (tenant, at, event_id) in (select tenant, at, event_id from audit_events
                where tenant = $1 and actor like 'issuer:%'
                    and substr(actor, 8 + instr(substr(actor, 8), ':')) = $2 limit $3)",
        ]
        .into_iter()
        .enumerate()
        {
            let _turn = self.connections.background().await;
            let mut write = self.connections.begin_write().await?;
            counts[at] = delete(&mut write, text, tenant, subject).await?;
            write.commit().await?;
        }
        let [tombstones, retention_reports, answers, _] = counts;
        let removed = Receipt { retention_reports, tombstones, answers, ..Receipt::default() };
        let largest = counts.into_iter().max().unwrap_or(0);
        Ok(Slice { removed, thread_ids: Vec::new(), more: more(largest) })
    }

    /// One entry of the garbage; rows of it go in slices of their own.
    async fn erase_content(&self, tenant: &str, subject: &str) -> Result<Slice> {
        let mut write = self.connections.begin_write().await?;
        let row = sqlx::query(
            "update garbage set erased = 1 where tenant = $1 and thread_key = (
                select thread_key from garbage where tenant = $1 and owner = $2 limit 1)
             returning thread_key, scope_id",
        )
        .bind(tenant)
        .bind(subject)
        .fetch_optional(&mut *write)
        .await?;
        write.commit().await?;
        let Some(row) = row else { return Ok(Slice::default()) };
        let garbage = Garbage {
            tenant: tenant.to_owned(),
            thread_key: row.try_get(0)?,
            scope_id: row.try_get(1)?,
        };
        let removed = self.collect(&garbage).await?;
        Ok(Slice { removed, thread_ids: Vec::new(), more: More::Certainly })
    }
}

/// One slice of rows.
async fn delete(
    connection: &mut SqliteConnection,
    text: &'static str,
    tenant: &str,
    subject: &str,
) -> Result<u64> {
    let done = sqlx::query(text).bind(tenant).bind(subject).bind(SLICE_ROWS);
    Ok(done.execute(connection).await?.rows_affected())
}

fn more(count: u64) -> More {
    if count == SLICE_ROWS.unsigned_abs() { More::Certainly } else { More::Nothing }
}
