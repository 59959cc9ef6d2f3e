//! Keeps the first messages of threads as their titles, with one SQL for both engines. They are in the sealed details.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::derived_rows::ROW_OF_ID;
use super::details_document::{DetailsRow, open};
use crate::domain::Result;
use crate::domain::threads::details::Details;
use crate::domain::threads::run_state::{Derived, FirstMessage};
use crate::storage::db::access::SqlValue;
use crate::storage::sessions::SessionEngine;
use crate::storage::sessions::rows::{Rows, bytes, number};

/// $1 threads, $2 tenant. Those that nobody else writes to, with their scopes; their details stay as they are meanwhile.
const LOCK: &str = "
with d as materialized (
    select cast($2 as text) as tenant, cast(j.value ->> 0 as bigint) as thread_key, j.value ->> 1 as thread_id
    {from_each}
)
select x.thread_key, x.scope_id from d {probe} where x.thread_key = d.thread_key {skip_locked}";

/// Keeps the first messages of those that have no title. Answers the keys of the threads that have one then; a thread that is being written
/// to is left for its next derivation. Round trips: five, none without a first message.
///
/// # Errors
/// `Integrity` for details that do not open; a database that cannot be written.
pub async fn put_first_messages(
    engine: &impl SessionEngine,
    tenant: &str,
    derived: &[Derived],
) -> Result<HashSet<i64>> {
    let found = derived.iter().filter_map(|it| match &it.first_message {
        FirstMessage::Found(text) => {
            Some((it.seen.thread_key, (it.thread_id.as_str(), text.as_str())))
        }
        _ => None,
    });
    let found: HashMap<i64, (&str, &str)> = found.collect();
    if found.is_empty() {
        return Ok(HashSet::new());
    }
    let secret = engine.session_secret(tenant).await?;
    let dialect = engine.dialect();
    let mut access = engine.begin_write_for(tenant).await?;
    let threads: Vec<_> =
        found.iter().map(|(key, (thread_id, _))| json!([key, thread_id])).collect();
    let binds: [SqlValue; 2] = [json!(threads).to_string().as_str().into(), tenant.into()];
    let probe = dialect.probe("x.thread_key, x.scope_id", "threads", "x", ROW_OF_ID);
    let locked = access.rows(&dialect.fill(&LOCK.replace("{probe}", &probe)), &binds).await?;
    let mut stored = HashMap::new();
    let columns = "d.thread_key, d.version, d.document";
    let key = "d.tenant = $2 and d.thread_key = cast(j.value ->> 0 as bigint)";
    let probe = dialect.probe(columns, "thread_details", "d", key);
    let get = dialect.fill(&format!("select {columns} {{from_each}} {probe}"));
    for row in access.rows(&get, &binds).await? {
        stored.insert(row.integer(0)?, (row.integer(1)?, row.bytes(2)?.to_vec()));
    }
    let (mut titled, mut rows) = (HashSet::new(), Rows::default());
    for row in &locked {
        let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
        titled.insert(thread_key);
        let mut details = match stored.get(&thread_key) {
            Some((version, document)) => open(&secret, scope_id, *version, document)?,
            None => Details::default(),
        };
        if details.shown_title().is_some() {
            continue;
        }
        details.first_message = found.get(&thread_key).map(|(_, text)| (*text).to_owned());
        DetailsRow::new(tenant, &secret, scope_id, &details)?.push(thread_key, &mut rows);
    }
    if !rows.is_empty() {
        let put = dialect.fill(&put_text(dialect.thread_projection));
        let binds = [rows.binds(), vec![tenant.into()]].concat();
        access.rows(&put, &binds).await?;
    }
    access.end().await?;
    Ok(titled)
}

/// $1 rows and $2 bytes of [`DetailsRow::push`], $3 tenant.
fn put_text(projection: &str) -> String {
    let [key, version, has_marks] = [0, 1, 5].map(number);
    let (document, projection) = (bytes(2), projection.replace("$5", "(j.value ->> 4)"));
    format!(
        "insert into thread_details (tenant, thread_key, version, document, projection, has_marks, title_folded)
         select $3, {key}, {version}, {document}, {projection}, {has_marks} <> 0, nullif(j.value ->> 6, '')
         {{from_each}} where true
         on conflict (tenant, thread_key) do update set document = excluded.document, title_folded = excluded.title_folded
         returning 1"
    )
}
