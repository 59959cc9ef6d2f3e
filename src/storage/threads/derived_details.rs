//! Keeps what is derived of the details of threads, in the sealed details, with one SQL for both engines: the first message, fields of
//! the metadata of checkpoints, and short values of the newest state.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::derived_rows::ROW_OF_ID;
use super::details_document::{DetailsRow, open};
use crate::content::keys::TenantSecret;
use crate::domain::threads::details::{Details, NO_METADATA};
use crate::domain::threads::run_state::{Derived, FirstMessage, SeenThread};
use crate::domain::{Error, Result};
use crate::storage::db::access::{SqlRow, SqlValue};
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

/// $1 threads, $2 tenant. Their details, with the scopes that those are sealed in.
const GET: &str = "select d.thread_key, x.scope_id, d.version, d.document {from_each} {details} {thread} where x.thread_key = d.thread_key";
const DETAILS_OF: &str = "d.tenant = $2 and d.thread_key = cast(j.value ->> 0 as bigint)";
const THREAD_OF: &str = "x.tenant = $2 and x.thread_id = j.value ->> 1";

/// What became of the details of threads, by their keys.
#[derive(Debug, Default)]
pub struct PutDetails {
    /// They have a title now.
    pub titled: HashSet<i64>,
    /// Their short values are kept as they were derived.
    pub kept_values: HashSet<i64>,
    /// Others write to them, so that their metadata was not kept: they are to stay stale.
    pub left: HashSet<i64>,
    /// Their details do not open, so that nothing is kept of them.
    pub damaged: HashSet<i64>,
}

impl PutDetails {
    fn add(&mut self, derived: &Derived, are_values_kept: bool) {
        let thread_key = derived.seen.thread_key;
        if matches!(derived.first_message, FirstMessage::Found(_)) {
            self.titled.insert(thread_key);
        }
        if are_values_kept && derived.short_values.is_some() {
            self.kept_values.insert(thread_key);
        }
    }
}

/// Keeps the first messages of threads that have no title, and the metadata and short values of those that did not change since they were
/// seen. A thread that is being written to is left for its next derivation. Round trips: one; four more where something changes, and one
/// for the changes; none where nothing was derived.
///
/// # Errors
/// A database that cannot be written.
pub async fn put_derived_details(
    engine: &impl SessionEngine,
    tenant: &str,
    derived: &[Derived],
) -> Result<PutDetails> {
    let has_details = |it: &&Derived| {
        it.metadata.is_some()
            || it.short_values.is_some()
            || matches!(it.first_message, FirstMessage::Found(_))
    };
    let found: Vec<&Derived> = derived.iter().filter(has_details).collect();
    let mut done = PutDetails::default();
    if found.is_empty() {
        return Ok(done);
    }
    let secret = engine.session_secret(tenant).await?;
    let (get, binds) = (get_text(engine), binds(tenant, &found));
    let stored = Stored::of(&engine.read_rows(tenant, &get, &binds).await?)?;
    let secret = &secret;
    let mut changing = HashMap::new();
    for it in found {
        // A commit since then makes the row of the thread refuse what was derived before it.
        match stored.changed(secret, it, None) {
            Ok(None) => done.add(it, true),
            Ok(Some(_)) => drop(changing.insert(it.seen.thread_key, it)),
            Err(Error::Integrity(_)) => drop(done.damaged.insert(it.seen.thread_key)),
            Err(error) => return Err(error),
        }
    }
    if !changing.is_empty() {
        change(engine, (tenant, secret), &get, &mut changing, &mut done).await?;
    }
    let is_left = |it: &&&Derived| it.metadata.is_some();
    done.left = changing.values().filter(is_left).map(|it| it.seen.thread_key).collect();
    Ok(done)
}

/// As [`RunStateStorage::list_wrong_values`](crate::domain::threads::run_state::RunStateStorage::list_wrong_values).
///
/// # Errors
/// A database that cannot be read.
pub async fn list_wrong_values(
    engine: &impl SessionEngine,
    tenant: &str,
    derived: &[&Derived],
) -> Result<Vec<i64>> {
    if derived.is_empty() {
        return Ok(Vec::new());
    }
    let secret = engine.session_secret(tenant).await?;
    // No index has values of a tenant whose content is encrypted.
    if secret.cipher().is_some() {
        return Ok(Vec::new());
    }
    let rows = engine.read_rows(tenant, &get_text(engine), &binds(tenant, derived)).await?;
    let stored = Stored::of(&rows)?;
    let mut wrong = Vec::new();
    for it in derived {
        let thread_key = it.seen.thread_key;
        match stored.details(&secret, thread_key) {
            Ok(details) if details.short_values == kept_values(it.short_values.as_deref()) => {}
            Ok(_) => wrong.push(thread_key),
            Err(Error::Integrity(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(wrong)
}

fn get_text(engine: &impl SessionEngine) -> String {
    let dialect = engine.dialect();
    let details = "d.thread_key, d.version, d.document";
    let details = dialect.probe(details, "thread_details", "d", DETAILS_OF);
    let thread = dialect.probe("x.thread_key, x.scope_id", "threads", "x", THREAD_OF);
    dialect.fill(&GET.replace("{details}", &details).replace("{thread}", &thread))
}

/// Takes those out of `changing` that nobody else writes to.
async fn change(
    engine: &impl SessionEngine,
    (tenant, secret): (&str, &TenantSecret),
    get: &str,
    changing: &mut HashMap<i64, &Derived>,
    done: &mut PutDetails,
) -> Result<()> {
    let dialect = engine.dialect();
    let mut access = engine.begin_write_for(tenant).await?;
    let binds = binds(tenant, &changing.values().copied().collect::<Vec<_>>());
    let probe = dialect.probe(LOCKED_COLUMNS, "threads", "x", ROW_OF_ID);
    let lock = LOCK.replace("{columns}", LOCKED_COLUMNS).replace("{probe}", &probe);
    let locked = access.rows(&dialect.fill(&lock), &binds).await?;
    let stored = Stored::of(&access.rows(get, &binds).await?)?;
    let mut rows = Rows::default();
    for row in &locked {
        let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
        let Some(derived) = changing.remove(&thread_key) else { continue };
        let now = SeenThread {
            thread_key,
            updated_at: row.integer(2)?,
            checkpoint_count: row.integer(3)?,
            size_bytes: row.integer(4)?,
        };
        if let Some(details) = stored.changed(secret, derived, Some(now))? {
            DetailsRow::new(tenant, secret, scope_id, &details)?.push(thread_key, &mut rows);
        }
        done.add(derived, now == derived.seen);
    }
    if !rows.is_empty() {
        let put = dialect.fill(&put_text(dialect.thread_projection));
        let binds = [rows.binds(), vec![tenant.into()]].concat();
        access.rows(&put, &binds).await?;
    }
    access.end().await
}

/// Details by the keys of threads: scope, version and document.
struct Stored(HashMap<i64, (i64, i64, Vec<u8>)>);

impl Stored {
    fn of(rows: &[SqlRow]) -> Result<Self> {
        let one = |row: &SqlRow| {
            let details = (row.integer(1)?, row.integer(2)?, row.bytes(3)?.to_vec());
            Ok((row.integer(0)?, details))
        };
        rows.iter().map(one).collect::<Result<_>>().map(Self)
    }

    fn details(&self, secret: &TenantSecret, thread_key: i64) -> Result<Details> {
        match self.0.get(&thread_key) {
            Some((scope_id, version, document)) => open(secret, *scope_id, *version, document),
            None => Ok(Details::default()),
        }
    }

    /// What becomes of the details of a thread. None: they stay as they are. `now` is the thread as it is, where that is known.
    fn changed(
        &self,
        secret: &TenantSecret,
        derived: &Derived,
        now: Option<SeenThread>,
    ) -> Result<Option<Details>> {
        let before = self.details(secret, derived.seen.thread_key)?;
        let is_sealed = secret.cipher().is_some();
        let after = with_derived(before.clone(), derived, now, is_sealed)?;
        Ok((after != before).then_some(after))
    }
}

fn binds(tenant: &str, threads: &[&Derived]) -> [SqlValue; 2] {
    let threads: Vec<_> =
        threads.iter().map(|it| json!([it.seen.thread_key, it.thread_id])).collect();
    [json!(threads).to_string().as_str().into(), tenant.into()]
}

/// `now`: the thread as it is. What was derived of a checkpoint that may not be the newest is not taken: the thread is derived again.
fn with_derived(
    mut details: Details,
    derived: &Derived,
    now: Option<SeenThread>,
    is_sealed: bool,
) -> Result<Details> {
    if let FirstMessage::Found(text) = &derived.first_message
        && details.shown_title().is_none()
    {
        details.first_message = Some(text.clone());
    }
    if now.is_some_and(|it| it != derived.seen) {
        return Ok(details);
    }
    if let Some(fields) = &derived.metadata {
        details.take_from_checkpoint(fields)?;
    }
    // Where content is encrypted no index has them.
    if is_sealed {
        details.short_values = None;
    } else if let Some(values) = &derived.short_values {
        details.short_values = kept_values(Some(values));
    }
    Ok(details)
}

fn kept_values(derived: Option<&str>) -> Option<String> {
    derived.filter(|it| *it != NO_METADATA).map(str::to_owned)
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
