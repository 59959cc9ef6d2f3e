//! Keeps what is derived of the details of threads, in the sealed details, with one SQL for both engines: the first message, and fields of
//! the metadata of checkpoints.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::derived_rows::ROW_OF_ID;
use super::details_document::{DetailsRow, open};
use crate::domain::Result;
use crate::domain::threads::details::Details;
use crate::domain::threads::run_state::{Derived, FirstMessage, SeenThread};
use crate::storage::db::access::SqlValue;
use crate::storage::sessions::SessionEngine;
use crate::storage::sessions::rows::{Rows, bytes, number};

/// $1 threads, $2 tenant. Those that nobody else writes to, with their scopes; their details stay as they are meanwhile.
const LOCK: &str = "
with d as materialized (
    select cast($2 as text) as tenant, cast(j.value ->> 0 as bigint) as thread_key, j.value ->> 1 as thread_id
    {from_each}
)
select {columns} from d {probe} where x.thread_key = d.thread_key {skip_locked}";

const LOCKED_COLUMNS: &str =
    "x.thread_key, x.scope_id, x.updated_at, x.checkpoint_count, x.size_bytes";

/// What became of the details of threads, by their keys.
#[derive(Debug, Default)]
pub struct PutDetails {
    /// They have a title now.
    pub titled: HashSet<i64>,
    /// Others write to them, so that their metadata was not kept: they are to stay stale.
    pub left: HashSet<i64>,
}

/// Keeps the first messages of threads that have no title, and the metadata of those that did not change since they were seen. A thread that is
/// being written to is left for its next derivation. Round trips: five; four where nothing changes; none where nothing was found.
///
/// # Errors
/// `Integrity` for details that do not open; a database that cannot be written.
pub async fn put_derived_details(
    engine: &impl SessionEngine,
    tenant: &str,
    derived: &[Derived],
) -> Result<PutDetails> {
    let has_details =
        |it: &&Derived| it.metadata.is_some() || matches!(it.first_message, FirstMessage::Found(_));
    let found = derived.iter().filter(has_details).map(|it| (it.seen.thread_key, it));
    let mut found: HashMap<i64, &Derived> = found.collect();
    let mut done = PutDetails::default();
    if found.is_empty() {
        return Ok(done);
    }
    let secret = engine.session_secret(tenant).await?;
    let dialect = engine.dialect();
    let mut access = engine.begin_write_for(tenant).await?;
    let threads: Vec<_> = found.iter().map(|(key, it)| json!([key, it.thread_id])).collect();
    let binds: [SqlValue; 2] = [json!(threads).to_string().as_str().into(), tenant.into()];
    let probe = dialect.probe(LOCKED_COLUMNS, "threads", "x", ROW_OF_ID);
    let lock = LOCK.replace("{columns}", LOCKED_COLUMNS).replace("{probe}", &probe);
    let locked = access.rows(&dialect.fill(&lock), &binds).await?;
    let mut stored = HashMap::new();
    let columns = "d.thread_key, d.version, d.document";
    let key = "d.tenant = $2 and d.thread_key = cast(j.value ->> 0 as bigint)";
    let probe = dialect.probe(columns, "thread_details", "d", key);
    let get = dialect.fill(&format!("select {columns} {{from_each}} {probe}"));
    for row in access.rows(&get, &binds).await? {
        stored.insert(row.integer(0)?, (row.integer(1)?, row.bytes(2)?.to_vec()));
    }
    let mut rows = Rows::default();
    for row in &locked {
        let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
        let Some(derived) = found.remove(&thread_key) else { continue };
        let before = match stored.get(&thread_key) {
            Some((version, document)) => open(&secret, scope_id, *version, document)?,
            None => Details::default(),
        };
        let now = SeenThread {
            thread_key,
            updated_at: row.integer(2)?,
            checkpoint_count: row.integer(3)?,
            size_bytes: row.integer(4)?,
        };
        let details = with_derived(before.clone(), derived, now)?;
        if matches!(derived.first_message, FirstMessage::Found(_)) {
            done.titled.insert(thread_key);
        }
        if details != before {
            DetailsRow::new(tenant, &secret, scope_id, &details)?.push(thread_key, &mut rows);
        }
    }
    if !rows.is_empty() {
        let put = dialect.fill(&put_text(dialect.thread_projection));
        let binds = [rows.binds(), vec![tenant.into()]].concat();
        access.rows(&put, &binds).await?;
    }
    access.end().await?;
    done.left =
        found.values().filter(|it| it.metadata.is_some()).map(|it| it.seen.thread_key).collect();
    Ok(done)
}

/// `now`: the thread as it is. Metadata of a checkpoint that may not be the newest is not taken: the thread is derived again.
fn with_derived(mut details: Details, derived: &Derived, now: SeenThread) -> Result<Details> {
    if let FirstMessage::Found(text) = &derived.first_message
        && details.shown_title().is_none()
    {
        details.first_message = Some(text.clone());
    }
    if let Some(fields) = &derived.metadata
        && now == derived.seen
    {
        details.take_from_checkpoint(fields)?;
    }
    Ok(details)
}

/// $1 rows and $2 bytes of [`DetailsRow::push`], $3 tenant.
fn put_text(projection: &str) -> String {
    let [key, version, has_marks] = [0, 1, 5].map(number);
    let (document, projection) = (bytes(2), projection.replace("$5", "(j.value ->> 4)"));
    format!(
        "insert into thread_details (tenant, thread_key, version, document, projection, has_marks, title_folded)
         select $3, {key}, {version}, {document}, {projection}, {has_marks} <> 0, nullif(j.value ->> 6, '')
         {{from_each}} where true
         on conflict (tenant, thread_key) do update set document = excluded.document,
             projection = excluded.projection, has_marks = excluded.has_marks, title_folded = excluded.title_folded
         returning 1"
    )
}
