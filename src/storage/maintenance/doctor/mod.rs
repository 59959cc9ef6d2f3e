//! Examines all stored rows, and repairs only where the repair cannot lose data. It is the same for every engine.
//!
//! **Invariant:** a finding rests on one state of the database. Each page is read in a transaction of its own, with everything that it is
//! compared with. That transaction sees one snapshot, and no finding compares two of them. So a commit or a prune that runs meanwhile is
//! never taken for damage.
//!
//! Damage does not end the examination: unreadable rows are a finding, and the rest is examined (`pass.rs`). After the first such finding
//! nothing is repaired.
//!
//! Memory: one page, one value, and the ids of the scopes of small threads. Of one scope it holds the numbers of its values, up to a
//! million names of chunks, and the pack locations of its packed chunks.

mod aliases;
mod batches;
mod content;
mod details;
mod items;
mod maps;
mod owners;
mod packs;
mod pass;
mod repair;
mod scopes;
mod sessions;
mod snapshots;
mod survey;
mod threads;

use std::collections::{BTreeSet, HashSet};

pub use self::maps::read_map;
use self::pass::find_unread;

use crate::content::keys::TenantSecret;
use crate::domain::clock::Micros;
use crate::domain::doctor::{Examine, FindingPlace, Noun, Report, State};
use crate::domain::progress::Progress;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, Dialect, SqlValue};
use crate::storage::db::damage::{Keys, is_damage};

/// Younger garbage is still being worked on: by a removal, or by a copy that stages its rows.
const GARBAGE_AGE: Micros = 3_600 * 1_000_000;
const KEYS_PER_PAGE: i64 = 500;

/// The tenant that is being examined.
struct TenantScan<'a> {
    engine: &'a dyn Accessible,
    dialect: &'static Dialect,
    tenant: String,
    secret: TenantSecret,
    fix: bool,
    /// A holder names a thread that is not there: rows without a thread may be that one's, and stay.
    thread_lost: bool,
    /// Scopes that were examined with the one thread that holds them.
    examined: HashSet<i64>,
    progress: &'a Progress,
}

/// The next keys of some tables, and which of these could not be read.
#[derive(Default)]
struct KeysFound {
    keys: Vec<i64>,
    unread: Vec<(&'static str, Error)>,
}

/// Examines what is asked for.
///
/// # Errors
/// A database that cannot be read. Damage is no error: it is in the report.
pub async fn examine(
    engine: &dyn Accessible,
    request: &Examine,
    progress: &Progress,
) -> Result<Report> {
    let only = request.tenant.as_deref().unwrap_or_default();
    match packs::require_store(engine, only).await {
        // What of the packs cannot be read is found below.
        Err(Error::Integrity(_)) => {}
        required => required?,
    }
    let mut report = Report::default();
    progress.begin("", "pages of the database", 0);
    for bad in engine.check_pages().await? {
        let place = FindingPlace { table: bad.table, ..FindingPlace::default() };
        report.find(State::Damaged, Noun::Pages, 0, place, bad.detail);
    }
    let keys = Keys {
        columns: "tenant, secret",
        rows: "from tenants where tenant > $2 and ($1 = '' or tenant = $1) order by tenant",
        before: vec![request.tenant.as_deref().unwrap_or_default().into()],
    };
    let mut after = vec![SqlValue::from("")];
    loop {
        let listed = keys.list_on(engine, (&after, KEYS_PER_PAGE)).await?;
        if let Some(damage) = &listed.damage {
            find_unread((Noun::Tenants, "tenants"), FindingPlace::default(), damage, &mut report);
        }
        for row in &listed.rows {
            let Ok(tenant) = row.text(0).map(str::to_owned) else {
                let detail = "the name of a tenant is damaged";
                report.find(State::Damaged, Noun::Tenants, 0, FindingPlace::default(), detail);
                continue;
            };
            report.add(State::Checked, Noun::Tenants, 1, 0);
            let stored = row.bytes(1).unwrap_or(&[0]);
            let secret = match secret_of(engine, &tenant, stored).await {
                Ok(secret) => secret,
                Err(Error::KeyDestroyed) => {
                    report.add(State::Destroyed, Noun::Tenants, 1, 0);
                    continue;
                }
                Err(Error::Integrity(_)) => {
                    let place = FindingPlace { tenant, ..FindingPlace::default() };
                    let detail = "the secret is damaged: nothing of the tenant can be read";
                    report.find(State::Damaged, Noun::Tenants, 0, place, detail);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let dialect = engine.dialect();
            let (fix, thread_lost) = (request.fix, false);
            let examined = HashSet::new();
            let mut scan = TenantScan {
                engine,
                dialect,
                tenant,
                secret,
                fix,
                thread_lost,
                examined,
                progress,
            };
            let examined = scan.examine(request.now, &mut report).await;
            scan.note(examined, (Noun::Tenants, "tenants", None), &mut report)?;
        }
        let Some(mut next) = listed.next else { return Ok(report) };
        next.truncate(1);
        after = next;
    }
}

/// As the tenant's row has it, not as this process remembers it; where it is empty the tenant's content is encrypted.
async fn secret_of(engine: &dyn Accessible, tenant: &str, stored: &[u8]) -> Result<TenantSecret> {
    if stored.is_empty() {
        return engine.secret_of(tenant).await;
    }
    let damaged = |_| Error::Integrity("the secret has a wrong length".into());
    Ok(TenantSecret::new(stored.try_into().map_err(damaged)?))
}

impl TenantScan<'_> {
    /// Threads first, so that a scope's repair finds counters as they were; scopes before rows without a thread,
    /// because only holders tell whether a thread was lost.
    async fn examine(&mut self, now: Micros, report: &mut Report) -> Result<()> {
        let done = self.examine_garbage(now, report).await;
        self.note(done, (Noun::Rows, "garbage", None), report)?;
        self.progress.begin(&self.tenant, "threads", self.count("threads").await?);
        let done = self.examine_threads(report).await;
        self.note(done, (Noun::Threads, "threads", None), report)?;
        let done = self.examine_details(report).await;
        self.note(done, (Noun::ThreadDetails, "thread_details", None), report)?;
        let done = self.examine_aliases(report).await;
        self.note(done, (Noun::Aliases, "threads", None), report)?;
        self.examine_owners(report).await?;
        self.progress.begin(&self.tenant, "items", 0);
        let done = self.examine_items(report).await;
        self.note(done, (Noun::Items, "items", None), report)?;
        let done = self.examine_versions(report).await;
        self.note(done, (Noun::ItemVersions, "item_versions", None), report)?;
        self.progress.begin(&self.tenant, "sessions", 0);
        let done = self.examine_sessions(report).await;
        self.note(done, (Noun::Entries, "session_entries", None), report)?;
        self.progress.begin(&self.tenant, "snapshots", 0);
        let done = self.examine_snapshots(report).await;
        self.note(done, (Noun::Snapshots, "snapshots", None), report)?;
        self.progress.begin(&self.tenant, "content scopes", self.count("scopes").await?);
        let done = self.examine_scopes(report).await;
        self.note(done, (Noun::Scopes, "scopes", None), report)?;
        self.progress.begin(&self.tenant, "rows without a thread", 0);
        let done = self.examine_stray_rows(report).await;
        self.note(done, (Noun::Rows, "checkpoints", None), report)
    }

    /// How many there are, for those who wait; 0 where it cannot be read.
    async fn count(&self, table: &'static str) -> Result<u64> {
        let text = format!("select count(*) from {table} where tenant = $1");
        let mut access = self.engine.begin_read().await?;
        match access.rows(&text, &[self.name()]).await {
            Ok(rows) => {
                access.end().await?;
                Ok(rows[0].integer(0)?.unsigned_abs())
            }
            Err(error) if is_damage(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Whether something may be put right: asked for, and nothing was found so far that could not be read.
    fn repairs(&self, report: &Report) -> bool {
        self.fix && report.is_all_read()
    }

    /// Rows of thread keys that neither a thread nor the garbage has.
    async fn examine_stray_rows(&self, report: &mut Report) -> Result<()> {
        let (mut after, mut unread) = (i64::MIN, BTreeSet::new());
        loop {
            let KeysFound { keys, unread: damaged } =
                self.keys(&STRAY_TABLES, "thread_key", after).await?;
            self.note_unread(damaged, (Noun::Rows, &mut unread), report);
            let mut access = self.engine.begin_read().await?;
            let mut stray = Vec::new();
            for &key in &keys {
                let text =
                    "select exists (select 1 from threads where tenant = $1 and thread_key = $2)
                    or exists (select 1 from garbage where tenant = $1 and thread_key = $2)";
                let known = access.rows(text, &[self.name(), key.into()]).await?;
                if known[0].integer(0)? == 0 {
                    let rows = access.rows(STRAY_ROWS, &[self.name(), key.into()]).await?;
                    stray.push((key, rows[0].integer(0)?, rows[0].integer(1)?));
                }
            }
            access.end().await?;
            for (key, count, bytes) in stray {
                let (count, bytes) = (count.unsigned_abs(), bytes.unsigned_abs());
                if self.repairs(report) && !self.thread_lost {
                    // No scope has this id: only the rows go.
                    self.engine.remove_unreachable(&self.tenant, key, 0).await?;
                    report.add(State::Repaired, Noun::Rows, count, bytes);
                } else {
                    report.add(State::Orphan, Noun::Rows, count, bytes);
                }
            }
            let Some(last) = keys.last() else { return Ok(()) };
            after = *last;
        }
    }

    /// The next distinct keys that some tables have, in order.
    async fn keys(
        &self,
        tables: &[&'static str],
        column: &'static str,
        after: i64,
    ) -> Result<KeysFound> {
        let mut found = KeysFound::default();
        let keys = &mut found.keys;
        for table in tables {
            // From key to key through the index: a table has thousands of rows for each.
            let text = format!(
                "with recursive k (key) as (
                    select min({column}) from {table} where tenant = $1 and {column} > $2
                    union all
                    select (select min(x.{column}) from {table} x where x.tenant = $1 and x.{column} > k.key)
                    from k where k.key is not null
                 ) select key from k where key is not null limit $3"
            );
            let binds = [self.name(), after.into(), KEYS_PER_PAGE.into()];
            let mut access = self.engine.begin_read().await?;
            match access.rows(&text, &binds).await {
                Ok(rows) => {
                    access.end().await?;
                    keys.extend(rows.iter().filter_map(|row| row.integer(0).ok()));
                }
                // Other tables have the same keys, and lead on behind the damage.
                Err(damage) if is_damage(&damage) => found.unread.push((table, damage)),
                Err(error) => return Err(error),
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(usize::try_from(KEYS_PER_PAGE).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// Notes each table once that could not be gone through.
    fn note_unread(
        &self,
        unread: Vec<(&'static str, Error)>,
        (noun, known): (Noun, &mut BTreeSet<&'static str>),
        report: &mut Report,
    ) {
        for (table, damage) in unread {
            if known.insert(table) {
                find_unread((noun, table), self.place(None), &damage, report);
            }
        }
    }

    /// What removals left. Entries that are still worked on are only counted.
    async fn examine_garbage(&self, now: Micros, report: &mut Report) -> Result<()> {
        let mut access = self.engine.begin_read().await?;
        let text = "select count(*) from garbage where tenant = $1";
        let count = access.rows(text, &[self.name()]).await?[0].integer(0)?;
        access.end().await?;
        let mut done = 0;
        loop {
            let text = "select thread_key, scope_id from garbage
                where tenant = $1 and created_at < $2 limit $3";
            let binds = [self.name(), (now - GARBAGE_AGE).into(), KEYS_PER_PAGE.into()];
            let mut access = self.engine.begin_read().await?;
            let old = access.rows(text, &binds).await?;
            access.end().await?;
            if old.is_empty() || !self.repairs(report) {
                break;
            }
            for row in &old {
                let (key, scope_id) = (row.integer(0)?, row.integer(1)?);
                self.engine.remove_unreachable(&self.tenant, key, scope_id).await?;
                done += 1;
            }
        }
        report.add(State::Repaired, Noun::Rows, done, 0);
        report.add(State::Garbage, Noun::Rows, count.unsigned_abs().saturating_sub(done), 0);
        Ok(())
    }

    fn name(&self) -> SqlValue {
        SqlValue::Text(self.tenant.clone())
    }

    fn place(&self, thread_id: Option<&str>) -> FindingPlace {
        let thread_id = thread_id.map(str::to_owned);
        FindingPlace { tenant: self.tenant.clone(), thread_id, ..FindingPlace::default() }
    }
}

/// Bytes that a row takes, as counts of the report have them.
fn size(bytes: usize) -> u64 {
    bytes as u64
}

const STRAY_TABLES: [&str; 4] = ["checkpoints", "writes", "delta_bases", "thread_details"];

const STRAY_ROWS: &str = "
select cast(coalesce(sum(n), 0) as bigint), cast(coalesce(sum(bytes), 0) as bigint) from (
    select count(*) as n, sum(length(documents)) as bytes from checkpoints
    where tenant = $1 and thread_key = $2
    union all
    select count(*), sum(length(body) + coalesce(length(parts), 0)) from writes
    where tenant = $1 and thread_key = $2
    union all
    select count(*), sum(length(document)) from delta_bases where tenant = $1 and thread_key = $2
    union all
    select count(*), sum(length(document)) from thread_details where tenant = $1 and thread_key = $2
) parts";
