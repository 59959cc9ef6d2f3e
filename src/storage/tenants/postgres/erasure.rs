//! Erases a subject, slice by slice. It locks the scope locks of many threads in the order in which batches lock them.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::scheduling::contention::Contention;
use crate::domain::tenants::erasure::ErasureStorage;
use crate::domain::tenants::erasure::{More, Receipt, Slice, Stage};
use crate::domain::tenants::subjects::{Subject, SubjectQuery};
use crate::domain::{Error, Result};
use crate::storage::maintenance::postgres::garbage::remove_garbage;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;
use crate::storage::sessions::removal;
use crate::storage::snapshots;
use crate::storage::tenants::audit_rows::erase_objects;
use crate::storage::tenants::subject_rows;
use crate::storage::threads::postgres::removal::begin;
use crate::storage::tokens::key_rows::erase_keys;

/// Threads that one transaction cuts off.
const SLICE_THREADS: i64 = 100;
const SLICE_ROWS: i64 = 5_000;

/// $1 tenant, $2 subject, $3 thread keys. Everything that names the threads; their content becomes garbage, and so does
/// what removals of before left of their scopes.
const CUT_OFF: &str = r"
with gone as (
    delete from threads where tenant = $1 and owner = $2 and thread_key = any ($3)
    returning thread_id, thread_key, scope_id, size_bytes
), holders as (
    delete from scope_holders h using gone g where h.tenant = $1 and h.scope_id = g.scope_id
        and h.kind = 'thread' and h.holder = g.thread_key::text
), raised as (
    update scopes s set epoch = s.epoch + 1
    where s.tenant = $1 and s.scope_id in (select scope_id from gone)
), left_before as (
    update garbage g set owner = $2, erased = true
    where g.tenant = $1 and g.scope_id in (select scope_id from gone)
), trash as (
    insert into garbage (tenant, thread_key, scope_id, created_at, owner, erased)
    select $1, thread_key, scope_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, $2, true
    from gone
), policies as (
    delete from retention_policies p using gone g
    where p.tenant = $1 and p.kind = 'thread' and p.thread_id = g.thread_id returning 1
), reports as (
    delete from retention_reports r using gone g
    where r.tenant = $1 and r.kind = 'thread' and r.thread_id = g.thread_id returning 1
), tombstones as (
    delete from thread_tombstones d using gone g
    where d.tenant = $1 and d.thread_id = g.thread_id returning 1
), cursors as (
    update retention_policies p set last_thread_id = coalesce((select max(t.thread_id) from threads t
        where t.tenant = $1 and t.thread_id < p.last_thread_id and t.thread_key <> all ($3)), '')
    where p.tenant = $1 and p.kind = 'tenant' and p.last_thread_id in (select thread_id from gone)
)
select array(select thread_id from gone) as thread_ids,
    (select coalesce(sum(size_bytes), 0)::bigint from gone) as size_bytes,
    (select count(*) from policies) as policies, (select count(*) from reports) as reports,
    (select count(*) from tombstones) as tombstones
";

#[async_trait]
impl ErasureStorage for PostgresStorage {
    async fn erase_slice(&self, caller: &Caller, subject: &str, stage: Stage) -> Result<Slice> {
        let tenant = caller.tenant.as_str();
        let mut contention = Contention::default();
        loop {
            let done = match stage {
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
            };
            match done {
                Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
                done => return self.clear_pool_on_loss(done),
            }
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

impl PostgresStorage {
    async fn cut_off_threads(&self, tenant: &str, subject: &str) -> Result<Slice> {
        let mut connection = self.pool.get().await?;
        let found = sqlx::query(
            "select scope_id from threads where tenant = $1 and owner = $2 order by thread_id limit $3",
        )
        .bind(tenant)
        .bind(subject)
        .bind(SLICE_THREADS)
        .fetch_all(&mut *connection)
        .await?;
        if found.is_empty() {
            return Ok(Slice::default());
        }
        let mut transaction = begin(&mut connection).await?;
        let scopes: Vec<i64> = found.iter().map(|row| row.get("scope_id")).collect();
        let row = cut_off(&mut transaction, tenant, subject, scopes).await?;
        transaction.commit().await?;
        let thread_ids: Vec<String> = row.get("thread_ids");
        for thread_id in &thread_ids {
            self.known.remove(tenant, thread_id);
            self.chunks.forget(tenant, thread_id);
        }
        let removed = Receipt {
            threads: thread_ids.len() as u64,
            size_bytes: count(&row, "size_bytes"),
            retention_policies: count(&row, "policies"),
            retention_reports: count(&row, "reports"),
            tombstones: count(&row, "tombstones"),
            ..Receipt::default()
        };
        let is_full = found.len() as u64 == SLICE_THREADS.unsigned_abs();
        let more = if is_full { More::Certainly } else { More::Perhaps };
        Ok(Slice { removed, thread_ids, more })
    }

    async fn erase_traces(&self, tenant: &str, subject: &str) -> Result<Slice> {
        erase_objects(self, tenant, subject).await?;
        let mut connection = self.pool.get().await?;
        let mut counts = [0; 4];
        for (at, text) in [
            "delete from thread_tombstones where ctid = any (array(select ctid
                from thread_tombstones where tenant = $1 and owner = $2 limit $3))",
            "delete from retention_reports where ctid = any (array(select ctid
                from retention_reports where tenant = $1 and owner = $2 limit $3))",
            "delete from idempotency where ctid = any (array(select ctid from idempotency
                where tenant = $1 and (subject = $2 or subject is null and caller = $2) limit $3))",
            // What it did stays, but not that it was it. The name of an issuer has no colon.
            "update audit_events set actor = 'issuer:' || split_part(actor, ':', 2) || ':'
             where ctid = any (array(select ctid from audit_events where tenant = $1 and actor like 'issuer:%'
                and substr(actor, length(split_part(actor, ':', 2)) + 9) = $2 limit $3))",
        ]
        .into_iter()
        .enumerate()
        {
            counts[at] = delete(&mut connection, text, tenant, subject).await?;
        }
        let [tombstones, retention_reports, answers, _] = counts;
        let removed = Receipt { retention_reports, tombstones, answers, ..Receipt::default() };
        let largest = counts.into_iter().max().unwrap_or(0);
        Ok(Slice { removed, thread_ids: Vec::new(), more: more(largest) })
    }

    /// One entry of the garbage; rows of it go in slices of their own.
    async fn erase_content(&self, tenant: &str, subject: &str) -> Result<Slice> {
        let mut connection = self.pool.get().await?;
        let row = sqlx::query(
            "update garbage set erased = true where tenant = $1 and thread_key = (
                select thread_key from garbage where tenant = $1 and owner = $2 limit 1)
             returning thread_key, scope_id",
        )
        .bind(tenant)
        .bind(subject)
        .fetch_optional(&mut *connection)
        .await?;
        let mut slice = Slice::default();
        if let Some(row) = row {
            let (key, scope_id) = (row.get("thread_key"), row.get("scope_id"));
            slice.removed = remove_garbage(&mut connection, tenant, key, scope_id).await?;
            slice.more = More::Certainly;
        }
        Ok(slice)
    }
}

/// Under the scope locks; a thread whose scope is another one by now, or one too many, is left to the next slice.
async fn cut_off(
    connection: &mut Connection,
    tenant: &str,
    subject: &str,
    mut scopes: Vec<i64>,
) -> Result<PgRow> {
    scopes.sort_unstable();
    scopes.dedup();
    sqlx::query(
        "select scope_id from scopes where tenant = $1 and scope_id = any ($2)
         order by scope_id for update",
    )
    .bind(tenant)
    .bind(&scopes)
    .execute(&mut *connection)
    .await?;
    let threads = sqlx::query(
        "select thread_key from threads where tenant = $1 and owner = $2 and scope_id = any ($3)
         order by thread_id limit $4 for update",
    )
    .bind(tenant)
    .bind(subject)
    .bind(&scopes)
    .bind(SLICE_THREADS)
    .fetch_all(&mut *connection)
    .await?;
    let keys: Vec<i64> = threads.iter().map(|row| row.get("thread_key")).collect();
    sqlx::query(CUT_OFF)
        .bind(tenant)
        .bind(subject)
        .bind(keys)
        .fetch_one(connection)
        .await
        .map_err(Error::from)
}

/// One slice of rows.
async fn delete(
    connection: &mut Connection,
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

fn count(row: &PgRow, column: &str) -> u64 {
    row.get::<i64, _>(column).unsigned_abs()
}
