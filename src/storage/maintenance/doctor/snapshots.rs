//! Checks that each snapshot has all that its row says, and that no rows are kept for an absent snapshot. Whether its rows open is checked
//! with threads, sessions, versions of items and chunks.

use super::TenantScan;
use crate::content::keys::TenantSecret;
use crate::domain::doctor::{Noun, Report, State};
use crate::domain::names::ThreadId;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::Snapshot;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlValue};
use crate::storage::snapshots::item_sql::ItemSql;
use crate::storage::snapshots::items::Items;
use crate::storage::snapshots::rows::{COLUMNS, add_parts, read};
use crate::storage::snapshots::{archives, sessions};

const PAGE_ROWS: i64 = 100;

/// Copies of items and names of archives that nothing shows and nothing is going to remove, by the rows that make them.
const STRAY: &str = "
select count(*) from (
    select c.snapshot_no as no from snapshot_items c where c.tenant = $1
    union all
    select -v.version from item_versions v where v.tenant = $1 and v.version < 0 and not exists (
        select 1 from snapshot_items c where c.tenant = v.tenant and c.snapshot_no = -v.version
            and c.namespace = v.namespace and c.key = v.key)
    union all
    select a.snapshot_no from snapshot_archives a where a.tenant = $1) x
where not exists (select 1 from snapshot_leftovers l where l.tenant = $1 and l.snapshot_no = x.no)
    and not exists (select 1 from snapshots s where s.tenant = $1 and s.snapshot_no = x.no)";

/// Contents of archives that nothing knows or that no sweep looks at any more, and archives without a content; what lies in the
/// scope of a thread is a part of a value. $1 tenant.
const STRAY_ARCHIVES: &str = "
select (
    select count(*) from contents c where c.tenant = $1 and length(c.namespace) = 0
        and not exists (select 1 from scope_holders h
            where h.tenant = c.tenant and h.scope_id = c.scope_id and h.kind = 'thread') and (
        not exists (select 1 from archives a where a.tenant = c.tenant and a.content_id = c.content_id)
        or c.idle_since = 0 and not exists (
            select 1 from snapshot_archives s where s.tenant = c.tenant and s.content_id = c.content_id))
) + (
    select count(*) from archives a where a.tenant = $1
        and not exists (select 1 from contents c where c.tenant = a.tenant and c.content_id = a.content_id)
        and not exists (
            select 1 from snapshot_archives s where s.tenant = a.tenant and s.content_id = a.content_id))";

/// What is kept under hidden names.
struct Hidden {
    /// Before all of them, and behind.
    all: [&'static str; 2],
    /// The next name. $1 tenant, $2 after, $3 before.
    next: &'static str,
    /// Those of a number, if nothing shows it and nothing is going to remove it. $1 tenant, $2 and $3 around its names, $4 the
    /// number.
    stray: &'static str,
    range: fn(i64) -> (String, String),
}

const HIDDEN: [Hidden; 2] = [
    Hidden {
        all: ["\u{1}snapshot:", "\u{1}snapshot;"],
        next: "select min(t.thread_id) from threads t
            where t.tenant = $1 and t.thread_id > $2 and t.thread_id < $3",
        stray: "select count(*) from threads t where t.tenant = $1 and t.thread_id > $2 and t.thread_id < $3
            and not exists (select 1 from snapshot_leftovers l where l.tenant = $1 and l.snapshot_no = $4)
            and not exists (select 1 from snapshots s where s.tenant = $1 and s.snapshot_no = $4)",
        range: ThreadId::hidden_range,
    },
    Hidden {
        all: [":", ";"],
        next: "select min(e.kind) from sessions e where e.tenant = $1 and e.kind > $2 and e.kind < $3",
        stray: "select count(*) from sessions e where e.tenant = $1 and e.kind > $2 and e.kind < $3
            and not exists (select 1 from snapshot_leftovers l where l.tenant = $1 and l.snapshot_no = $4)
            and not exists (select 1 from snapshots s where s.tenant = $1 and s.snapshot_no = $4)",
        range: SessionName::hidden_range,
    },
];

/// Whether the archive of a snapshot is not there as a whole. $1 tenant, $2 number.
const ARCHIVE_GONE: &str = "
select 1 from snapshot_archives s where s.tenant = $1 and s.snapshot_no = $2 and not exists (
    select 1 from archives a
    join contents c on c.tenant = a.tenant and c.content_id = a.content_id
    where a.tenant = s.tenant and a.content_id = s.content_id and c.finished_at > 0 and c.size_bytes = (
        select cast(coalesce(sum(l.size_bytes), 0) as bigint) from content_slices l
        where l.tenant = c.tenant and l.content_id = c.content_id and l.start_at >= 0))";

const ITEMS: &str = "
select count(*) from snapshot_items c
join item_versions v on v.tenant = c.tenant and v.namespace = c.namespace and v.key = c.key and v.version = -c.snapshot_no
where c.tenant = $1 and c.snapshot_no = $4 and c.namespace >= {lo} and c.namespace < {hi} and $5 >= 0";

impl TenantScan<'_> {
    pub(super) async fn examine_snapshots(&self, report: &mut Report) -> Result<()> {
        let mut after = String::new();
        loop {
            let mut access = self.engine.begin_read().await?;
            let of = (self.tenant.as_str(), &self.secret);
            let found = page(access.as_mut(), self.dialect, of, &after).await?;
            access.end().await?;
            report.add(State::Checked, Noun::Snapshots, found.examined, 0);
            let kinds = [(State::Damaged, found.damaged), (State::Missing, found.missing)];
            for (state, details) in kinds {
                for detail in details {
                    report.find(state, Noun::Snapshots, 0, self.place(None), detail);
                }
            }
            match found.last {
                Some(last) => after = last,
                None => break,
            }
        }
        let mut stray = 0;
        for text in [STRAY, STRAY_ARCHIVES] {
            let mut access = self.engine.begin_read().await?;
            stray += access.rows(text, &[self.name()]).await?[0].integer(0)?.unsigned_abs();
            access.end().await?;
        }
        for hidden in &HIDDEN {
            stray += self.count_stray(hidden).await?;
        }
        report.add(State::Orphan, Noun::Snapshots, stray, 0);
        Ok(())
    }

    /// How many hidden names there are without a snapshot: each number from one state of the database.
    async fn count_stray(&self, hidden: &Hidden) -> Result<u64> {
        let [first, end] = hidden.all;
        let (mut after, mut stray) = (first.to_owned(), 0);
        loop {
            let mut access = self.engine.begin_read().await?;
            let binds = [self.name(), after.as_str().into(), end.into()];
            let found = access.rows(hidden.next, &binds).await?;
            let Some(name) = found.first().map(|row| row.optional_text(0)).transpose()?.flatten()
            else {
                access.end().await?;
                return Ok(stray);
            };
            let number = name.get(first.len()..first.len() + 16);
            let number = number.and_then(|it| i64::from_str_radix(it, 16).ok());
            if let Some(number) = number {
                let (from, to) = (hidden.range)(number);
                let binds = [self.name(), from.as_str().into(), to.as_str().into(), number.into()];
                let rows = access.rows(hidden.stray, &binds).await?;
                stray += rows[0].integer(0)?.unsigned_abs();
                after = to;
            } else {
                // Nothing ever finds it.
                stray += 1;
                after = name.to_owned();
            }
            access.end().await?;
        }
    }
}

/// What is wrong with a page of snapshots.
#[derive(Default)]
struct Page {
    examined: u64,
    damaged: Vec<&'static str>,
    missing: Vec<&'static str>,
    /// None: it was the last one.
    last: Option<String>,
}

/// Snapshots after one, in the order of their ids.
async fn page(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, secret): (&str, &TenantSecret),
    after: &str,
) -> Result<Page> {
    let text = format!(
        "select {COLUMNS}, length(s.digest) from snapshots s where s.tenant = $1 and s.snapshot_id > $2
        order by s.snapshot_id limit $3"
    );
    let rows = access.rows(&text, &[tenant.into(), after.into(), PAGE_ROWS.into()]).await?;
    let mut page = Page::default();
    let mut snapshots = Vec::new();
    for row in &rows {
        page.examined += 1;
        page.last = Some(row.text(0)?.to_owned());
        match read(secret, row) {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(Error::Integrity(_)) => page.damaged.push("labels or document of a snapshot"),
            Err(error) => return Err(error),
        }
        if !matches!(row.integer(8)?, 0 | 32) {
            page.damaged.push("the digest of what was asked for");
        }
    }
    for snapshot in &mut snapshots {
        let one = std::slice::from_mut(snapshot);
        match archives::add(access, (tenant, secret), one).await {
            Err(Error::Integrity(_)) => page.damaged.push("what is known of an archive"),
            added => added?,
        }
        if !access.rows(ARCHIVE_GONE, &[tenant.into(), one[0].no.into()]).await?.is_empty() {
            page.missing.push("the archive of a snapshot, or some of it");
        }
        match add_parts(access, tenant, one).await {
            // What it should have is not known then.
            Err(Error::Integrity(_)) => page.damaged.push("a part of a snapshot"),
            added => {
                added?;
                page.missing.extend(missing(access, dialect, tenant, snapshot).await?);
            }
        }
    }
    Ok(page)
}

async fn missing(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    snapshot: &Snapshot,
) -> Result<Vec<&'static str>> {
    const THREAD: &str =
        "select checkpoint_count from threads where tenant = $1 and thread_id = $2";
    let mut missing = Vec::new();
    for part in &snapshot.threads {
        let part_no = usize::try_from(part.part_no).unwrap_or(usize::MAX);
        let hidden = ThreadId::hidden(snapshot.no, part_no);
        let rows = access.rows(THREAD, &[SqlValue::from(tenant), hidden.as_str().into()]).await?;
        if rows.first().and_then(|row| row.integer(0).ok()) != Some(part.checkpoints) {
            missing.push("a thread of a snapshot, or some of its checkpoints");
        }
    }
    let items = Items { sql: ItemSql::of(dialect), tenant, number: snapshot.no, now: 0 };
    for part in &snapshot.namespaces {
        if items.counted(access, ITEMS, &part.namespace).await? != part.items {
            missing.push("items of a snapshot");
        }
    }
    for part in &snapshot.sessions {
        let kind = part.session.hidden_kind(snapshot.no);
        if !sessions::is_there(access, tenant, &kind, &part.session).await? {
            missing.push("a session of a snapshot");
        }
    }
    Ok(missing)
}
