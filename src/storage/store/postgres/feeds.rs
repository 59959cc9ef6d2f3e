//! Stores the log of changes: records which logs are followed, reads them, and removes old changes.
//!
//! **Invariant:** a log is read below the oldest transaction that still runs. The same statement's snapshot tells which one that is. So a
//! change that commits late is read later, and never missed.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::domain::clock::{Micros, random_hex};
use crate::domain::store::feed::{
    Change, ChangeKind, ChangePage, FeedStorage, Position, kept_since, wanted_enough, wanted_until,
};
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;

const SWEPT_ROWS: i64 = 5_000;
/// Statements that began before a log was opened write nothing into it. They are over soon; a stuck one is not waited for.
const SETTLE_POLL: Duration = Duration::from_millis(20);
const SETTLE_POLLS_MAX: u32 = 500;

/// The name of the log in this cluster: ids of transactions mean nothing in another one, nor after a standby was promoted,
/// which may have lost some. And up to where it can be read.
const END: &str = "
    select f.feed_id || '-' || (select system_identifier::text from pg_control_system()) || '-'
            || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as feed,
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin, f.wanted_until,
        f.feed_id, f.is_settled
    from item_feeds f where f.tenant = $1";

/// A log that has ended begins anew.
const OPEN: &str = "
    insert into item_feeds as f (tenant, feed_id, is_settled, wanted_until)
    values ($1, $2, false, $4)
    on conflict (tenant) do update set wanted_until = excluded.wanted_until,
        feed_id = case when f.wanted_until > $3 then f.feed_id else excluded.feed_id end,
        is_settled = f.wanted_until > $3 and f.is_settled";

/// Statements of the servers that run now. One that began before the log writes nothing into it.
const RUNNING: &str = "
    select a.pid, coalesce(a.xact_start::text, '') || ' ' || a.backend_xmin as began
    from pg_stat_activity a
    where a.datname = current_database() and a.usename = current_user
        and a.application_name = 'threadkeep' and a.pid <> pg_backend_pid()
        and a.backend_xmin is not null";

const SETTLED: &str = "
    update item_feeds set is_settled = true where tenant = $1 and feed_id = $2";

const READ: &str = "
    with s as materialized (
        select pg_snapshot_xmin(pg_current_snapshot()) as xmin,
            (select system_identifier::text from pg_control_system()) || '-'
                || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as cluster
    )
    select w.ord, s.xmin::text::bigint as xmin, c.xid::text::bigint as xid, c.n, c.namespace, c.key, c.version,
        c.kind, c.written_at
    from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) with ordinality as w (tenant, feed, xid, n, ord)
    cross join s
    cross join lateral (select f.tenant from item_feeds f
        where f.tenant = w.tenant and w.feed = f.feed_id || '-' || s.cluster limit 1) f
    left join lateral (
        select c.xid, c.n, c.namespace, c.key, c.version, c.kind, c.written_at from item_changes c
        where c.tenant = w.tenant and (c.xid, c.n) > (w.xid::xid8, w.n) and c.xid < s.xmin
        order by c.xid, c.n limit $5
    ) c on true
    order by w.ord, c.xid, c.n";

/// Each tenant's range begins with what is oldest.
const SWEEP: &str = "
    delete from item_changes where tenant is not null and ctid = any (array(
        select c.ctid from item_feeds f
        cross join lateral (select c.written_at from item_changes c
            where c.tenant = f.tenant order by c.xid, c.n limit 1) first
        cross join lateral (select c.ctid, c.written_at from item_changes c
            where c.tenant = f.tenant and first.written_at < $1 order by c.xid, c.n limit $2) c
        where c.written_at < $1 limit $2))";

/// Rows of transactions that this cluster has not seen yet came with a copy of another one.
const SWEEP_FOREIGN: &str = "
    delete from item_changes c using item_feeds f
    where c.tenant = f.tenant and c.xid >= pg_snapshot_xmax(pg_current_snapshot())";

/// After all that it logged is gone.
const SWEEP_FEEDS: &str = "
    delete from item_feeds f where f.wanted_until < $1
        and not exists (select from item_changes c where c.tenant = f.tenant)";

#[async_trait]
impl FeedStorage for PostgresStorage {
    async fn open_feed(&self, tenant: &str, now: Micros) -> Result<Position> {
        self.clear_pool_on_loss(self.end_of_log(tenant, now).await)
    }

    async fn read_changes(
        &self,
        after: &[(String, Position)],
        changes_max: usize,
        now: Micros,
    ) -> Result<Vec<Option<ChangePage>>> {
        self.clear_pool_on_loss(self.read_log(after, changes_max, now).await)
    }
}

impl PostgresStorage {
    /// More round trips for a log that begins.
    async fn end_of_log(&self, tenant: &str, now: Micros) -> Result<Position> {
        let mut connection = self.pool.get_for(tenant).await?;
        loop {
            let row = sqlx::query(END).bind(tenant).fetch_optional(&mut *connection).await;
            let row = row?;
            let is_wanted = |row: &PgRow| row.get::<i64, _>("wanted_until") > wanted_enough(now);
            let Some(row) = row.filter(is_wanted) else {
                sqlx::query(OPEN)
                    .bind(tenant)
                    .bind(&random_hex()[..16])
                    .bind(now)
                    .bind(wanted_until(now))
                    .execute(&mut *connection)
                    .await?;
                continue;
            };
            if row.get("is_settled") {
                let commit = row.get::<i64, _>("xmin").unsigned_abs();
                return Ok(Position { feed: row.get("feed"), commit, n: 0, at: now });
            }
            wait_for_earlier(&mut connection).await?;
            sqlx::query(SETTLED)
                .bind(tenant)
                .bind(row.get::<&str, _>("feed_id"))
                .execute(&mut *connection)
                .await?;
        }
    }

    async fn read_log(
        &self,
        after: &[(String, Position)],
        changes_max: usize,
        now: Micros,
    ) -> Result<Vec<Option<ChangePage>>> {
        let limit = i64::try_from(changes_max).unwrap_or(i64::MAX);
        let rows = sqlx::query(READ)
            .bind(after.iter().map(|it| it.0.as_str()).collect::<Vec<_>>())
            .bind(after.iter().map(|it| it.1.feed.as_str()).collect::<Vec<_>>())
            .bind(after.iter().map(|it| it.1.commit.to_string()).collect::<Vec<_>>())
            .bind(after.iter().map(|it| it.1.n.cast_signed()).collect::<Vec<_>>())
            .bind(limit)
            .fetch_all(&mut *self.pool.get().await?)
            .await?;
        let mut pages: Vec<Option<ChangePage>> = after.iter().map(|_| None).collect();
        for row in &rows {
            let at = usize::try_from(row.get::<i64, _>("ord") - 1).unwrap_or(0);
            let feed = &after[at].1.feed;
            let next = Position { feed: feed.clone(), commit: number(row, "xmin"), n: 0, at: now };
            let page =
                pages[at].get_or_insert(ChangePage { changes: Vec::new(), next, is_whole: true });
            if row.get::<Option<i64>, _>("xid").is_some() {
                page.changes.push(change(row, feed)?);
            }
        }
        for page in pages.iter_mut().flatten() {
            if let Some(last) = page.changes.last().filter(|_| page.changes.len() >= changes_max) {
                (page.next, page.is_whole) = (last.position.clone(), false);
            }
        }
        Ok(pages)
    }

    /// Removes what is older than any position that leads on, in slices; then logs that nobody wants.
    pub(in crate::storage) async fn sweep_changes(&self, now: Micros) -> Result<()> {
        let since = kept_since(now);
        let mut connection = self.pool.get().await?;
        loop {
            let done =
                sqlx::query(SWEEP).bind(since).bind(SWEPT_ROWS).execute(&mut *connection).await?;
            if done.rows_affected() < SWEPT_ROWS.unsigned_abs() {
                break;
            }
        }
        sqlx::query(SWEEP_FOREIGN).execute(&mut *connection).await?;
        sqlx::query(SWEEP_FEEDS).bind(since).execute(&mut *connection).await?;
        Ok(())
    }
}

/// Until no statement runs any more that runs now.
async fn wait_for_earlier(connection: &mut Connection) -> Result<()> {
    let mut earlier: Option<HashSet<(i32, String)>> = None;
    for _ in 0..SETTLE_POLLS_MAX {
        let rows = sqlx::query(RUNNING).fetch_all(&mut *connection).await;
        let rows = rows?;
        let running: HashSet<(i32, String)> =
            rows.iter().map(|it| (it.get("pid"), it.get("began"))).collect();
        let still = match earlier {
            Some(earlier) => earlier.intersection(&running).cloned().collect(),
            None => running,
        };
        if still.is_empty() {
            return Ok(());
        }
        earlier = Some(still);
        tokio::time::sleep(SETTLE_POLL).await;
    }
    Err(Error::Unavailable {
        detail: "a statement that began before the log of changes does not end".into(),
        retry_after: Duration::from_secs(5),
    })
}

fn number(row: &PgRow, column: &str) -> u64 {
    row.get::<i64, _>(column).unsigned_abs()
}

fn change(row: &PgRow, feed: &str) -> Result<Change> {
    let position = Position {
        feed: feed.to_owned(),
        commit: number(row, "xid"),
        n: row.get::<i32, _>("n").unsigned_abs(),
        at: row.get("written_at"),
    };
    let address = Address {
        namespace: Namespace::stored(row.get("namespace")),
        key: Key::stored(row.get("key")),
    };
    let kind = ChangeKind::stored(row.get("kind"))?;
    Ok(Change { position, address, version: row.get("version"), kind })
}
