//! Finds threads whose ttl may have ended, with one SQL for both engines. The ttl stands in the sealed details; a column says when to look.

use std::collections::HashMap;

use async_trait::async_trait;
use serde_json::json;

use super::derived_rows::limit_value;
use super::details_document::open;
use super::policies::RetentionEngine;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::threads::retention::{Retained, Rule};
use crate::domain::threads::ttl::{DuePage, DueThread, TtlStorage};
use crate::storage::db::access::{OWN_WORK, SqlRow, SqlValue};
use crate::storage::sessions::SessionEngine;

/// For so long other servers leave alone what one has taken.
const TAKEN_FOR: Micros = 120_000_000;

/// $1 the latest time, $2 for how long others leave them alone, $3 limit.
const TAKE: &str = "
with d as materialized (
    select tenant, thread_key from thread_details where ttl_due <= $1 and ttl_due <= {now} order by ttl_due limit $3 {skip_locked}
)
update thread_details set ttl_due = {now} + $2 from d
where thread_details.tenant = d.tenant and thread_details.thread_key = d.thread_key
returning thread_details.tenant, thread_details.thread_key, version, document, {now}";

const THREAD_COLUMNS: &str =
    "t.tenant, t.thread_key, t.thread_id, t.scope_id, t.generation, t.updated_at";
/// $1 tenants and thread keys.
const THREAD_OF: &str =
    "{tenant_in_index} = j.value ->> 0 and t.thread_key = cast(j.value ->> 1 as bigint)";

/// $1 tenant, thread key, version and time of each row. A row that others write to is looked at again when the next server may take it.
const PUT_DUE: &str = "
with d as materialized (
    select j.value ->> 0 as tenant, cast(j.value ->> 1 as bigint) as thread_key,
        cast(j.value ->> 2 as bigint) as version, cast(j.value ->> 3 as bigint) as due
    {from_each}
), f as materialized (select d.tenant, d.thread_key, d.version, d.due from d {probe} {skip_locked})
update thread_details set ttl_due = f.due from f
where thread_details.tenant = f.tenant and thread_details.thread_key = f.thread_key
    and thread_details.version = f.version and f.tenant = f.tenant || ''";
const DETAILS_OF: &str = "x.tenant = d.tenant and x.thread_key = d.thread_key";

/// A row of details that was taken.
struct Taken {
    tenant: String,
    thread_key: i64,
    version: i64,
    document: Vec<u8>,
}

/// What a taken row says.
enum Found {
    Due(DueThread),
    /// When to look again; null for never.
    At(Option<Micros>),
}

#[async_trait]
impl<T: SessionEngine + RetentionEngine> TtlStorage for T {
    /// Two round trips; one where none is due, three where some need not be looked at again.
    async fn take_due_threads(&self, latest: Micros, limit: usize) -> Result<DuePage> {
        let binds = [latest.into(), TAKEN_FOR.into(), limit_value(limit)];
        let rows = self.write_rows(OWN_WORK, &self.dialect().fill(TAKE), &binds).await?;
        let taken = rows.iter().map(Taken::read).collect::<Result<Vec<_>>>()?;
        let Some(first) = rows.first() else { return Ok(DuePage::default()) };
        let threads = find_threads(self, &taken).await?;
        let (now, threads_taken) = (first.integer(4)?, taken.len());
        let mut page = DuePage { now, taken: threads_taken, threads: Vec::new() };
        let mut others = Vec::new();
        for it in &taken {
            match find(self, it, threads.get(&it.key())).await {
                Ok(Found::Due(thread)) => page.threads.push(thread),
                Ok(Found::At(at)) => others.push(json!([it.tenant, it.thread_key, it.version, at])),
                Err(error) => {
                    tracing::error!(%error, tenant = it.tenant, "the ttl of a thread cannot be read");
                }
            }
        }
        put_due(self, &others).await?;
        Ok(page)
    }

    /// One round trip.
    async fn put_due_times(&self, threads: &[(&DueThread, Micros)]) -> Result<()> {
        let row =
            |(it, at): &(&DueThread, Micros)| json!([it.tenant, it.thread_key, it.version, at]);
        put_due(self, &threads.iter().map(row).collect::<Vec<_>>()).await
    }

    async fn apply_rule(&self, tenant: &str, thread_id: &str, rule: Rule) -> Result<Retained> {
        self.retain_by(tenant, thread_id, rule).await
    }
}

impl Taken {
    fn read(row: &SqlRow) -> Result<Self> {
        Ok(Self {
            tenant: row.text(0)?.to_owned(),
            thread_key: row.integer(1)?,
            version: row.integer(2)?,
            document: row.bytes(3)?.to_vec(),
        })
    }

    fn key(&self) -> (String, i64) {
        (self.tenant.clone(), self.thread_key)
    }
}

/// The rows of threads, by tenant and key. One round trip.
async fn find_threads(
    engine: &impl SessionEngine,
    taken: &[Taken],
) -> Result<HashMap<(String, i64), SqlRow>> {
    let probe = engine.dialect().probe(THREAD_COLUMNS, "threads", "t", THREAD_OF);
    let text = engine.dialect().fill(&format!("select {THREAD_COLUMNS} {{from_each}} {probe}"));
    let keys: Vec<_> = taken.iter().map(Taken::key).collect();
    let rows =
        engine.read_rows(OWN_WORK, &text, &[SqlValue::Text(json!(keys).to_string())]).await?;
    let keyed = |row: SqlRow| Ok(((row.text(0)?.to_owned(), row.integer(1)?), row));
    rows.into_iter().map(keyed).collect()
}

/// `thread`: its row; none where it was deleted.
async fn find(engine: &impl SessionEngine, it: &Taken, thread: Option<&SqlRow>) -> Result<Found> {
    let Some(thread) = thread else { return Ok(Found::At(None)) };
    let thread_id = thread.text(2)?;
    if thread_id.len() as u64 > LIMITS.thread_id_bytes_max {
        // A snapshot keeps it. A restore sets the time anew.
        return Ok(Found::At(Some(Micros::MAX)));
    }
    let secret = engine.session_secret(&it.tenant).await?;
    let details = open(&secret, thread.integer(3)?, it.version, &it.document)?;
    let Some(ttl) = details.ttl_of(thread_id) else {
        // It is of another thread, which a restore may make of this one.
        return Ok(Found::At(details.ttl.map(|_| Micros::MAX)));
    };
    Ok(Found::Due(DueThread {
        tenant: it.tenant.clone(),
        thread_key: it.thread_key,
        version: it.version,
        ttl,
        thread_id: thread_id.to_owned(),
        generation: thread.text(4)?.to_owned(),
        updated_at: thread.integer(5)?,
    }))
}

async fn put_due(engine: &impl SessionEngine, rows: &[serde_json::Value]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let probe = engine.dialect().probe("x.thread_key", "thread_details", "x", DETAILS_OF);
    let text = engine.dialect().fill(&PUT_DUE.replace("{probe}", &probe));
    engine.write_rows(OWN_WORK, &text, &[SqlValue::Text(json!(rows).to_string())]).await.map(drop)
}
