//! Stores the log of changes: records which logs are followed, reads them, and removes old changes. The one writer numbers the changes of a
//! tenant in the order in which they become visible.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::domain::clock::{Micros, random_hex};
use crate::domain::store::feed::{
    Change, ChangeKind, ChangePage, FeedStorage, Position, kept_since, wanted_enough, wanted_until,
};
use crate::domain::store::item::{Address, Key};
use crate::domain::{Error, Result};
use crate::storage::sqlite::SqliteStorage;
use crate::storage::store::namespaces;

/// Rows per slice of the sweep: some milliseconds.
const SWEPT_ROWS: i64 = 500;

/// A log that has ended begins anew.
const OPEN: &str = "
insert into item_feeds (tenant, feed_id, changes, wanted_until) values ($1, $2, 0, $4)
on conflict (tenant) do update set wanted_until = excluded.wanted_until,
    feed_id = iif(wanted_until > $3, feed_id, excluded.feed_id)
returning feed_id, changes";

const READ: &str = "
select n, namespace, key, version, kind, written_at from item_changes
where tenant = $1 and n > $2 order by n limit $3";

/// Each tenant's range begins with what is oldest.
const SWEEP: &str = "
delete from item_changes where (tenant, n) in (
    select c.tenant, c.n from item_feeds f
    join item_changes c on c.tenant = f.tenant and c.n < $2 + coalesce(
        (select min(o.n) from item_changes o where o.tenant = f.tenant and o.written_at is not null), 0)
    where c.written_at < $1 limit $2)";

/// After all that it logged is gone.
const SWEEP_FEEDS: &str = "
delete from item_feeds where wanted_until < $1 and not exists
    (select 1 from item_changes c where c.tenant = item_feeds.tenant)";

#[async_trait]
impl FeedStorage for SqliteStorage {
    async fn open_feed(&self, tenant: &str, now: Micros) -> Result<Position> {
        let mut read = self.connections.begin_read_for(tenant).await?;
        let found = end(&mut read, tenant).await?;
        read.end().await?;
        if let Some((feed, changes, until)) = found
            && until > wanted_enough(now)
        {
            return Ok(Position { feed, commit: changes, n: 0, at: now });
        }
        let mut write = self.connections.begin_write_for(tenant).await?;
        let row = sqlx::query(OPEN)
            .bind(tenant)
            .bind(&random_hex()[..16])
            .bind(now)
            .bind(wanted_until(now))
            .fetch_one(&mut *write)
            .await?;
        write.commit().await?;
        let changes: i64 = row.try_get(1)?;
        let feed = row.try_get(0)?;
        Ok(Position { feed, commit: changes.unsigned_abs(), n: 0, at: now })
    }

    async fn read_changes(
        &self,
        after: &[(String, Position)],
        changes_max: usize,
        now: Micros,
    ) -> Result<Vec<Option<ChangePage>>> {
        let mut read = self.connections.begin_read().await?;
        let mut pages = Vec::with_capacity(after.len());
        for (tenant, position) in after {
            let end = end(&mut read, tenant).await?;
            let known = end
                .filter(|(feed, changes, _)| *feed == position.feed && *changes >= position.commit);
            pages.push(match known {
                Some((feed, changes, _)) => {
                    let end = Position { feed, commit: changes, n: 0, at: now };
                    Some(page(&mut read, tenant, position, end, changes_max).await?)
                }
                None => None,
            });
        }
        read.end().await?;
        Ok(pages)
    }
}

impl SqliteStorage {
    /// Removes what is older than any position that leads on, in slices; then logs that nobody wants.
    pub(in crate::storage) async fn sweep_changes(&self, now: Micros) -> Result<()> {
        let since = kept_since(now);
        loop {
            let _turn = self.connections.background().await;
            let mut write = self.connections.begin_write().await?;
            let done = sqlx::query(SWEEP).bind(since).bind(SWEPT_ROWS).execute(&mut *write).await?;
            sqlx::query(SWEEP_FEEDS).bind(since).execute(&mut *write).await?;
            write.commit().await?;
            if done.rows_affected() == 0 {
                return Ok(());
            }
        }
    }
}

/// Name of a log, the last number in it, and until when it is kept.
async fn end(read: &mut SqliteConnection, tenant: &str) -> Result<Option<(String, u64, Micros)>> {
    let row =
        sqlx::query("select feed_id, changes, wanted_until from item_feeds where tenant = $1")
            .bind(tenant)
            .fetch_optional(read)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let changes: i64 = row.try_get(1)?;
    let (feed, until) = (row.try_get(0)?, row.try_get(2)?);
    Ok(Some((feed, changes.unsigned_abs(), until)))
}

async fn page(
    read: &mut SqliteConnection,
    tenant: &str,
    after: &Position,
    end: Position,
    changes_max: usize,
) -> Result<ChangePage> {
    let rows = sqlx::query(READ)
        .bind(tenant)
        .bind(after.commit.cast_signed())
        .bind(i64::try_from(changes_max).unwrap_or(i64::MAX))
        .fetch_all(read)
        .await?;
    let changes: Vec<Change> =
        rows.iter().map(|it| change(it, &end.feed)).collect::<Result<_>>()?;
    let is_whole = changes.len() < changes_max;
    let last = changes.last().filter(|_| !is_whole).map(|it| it.position.clone());
    Ok(ChangePage { next: last.unwrap_or(end), changes, is_whole })
}

fn change(row: &SqliteRow, feed: &str) -> Result<Change> {
    let number = |at: usize| row.try_get::<i64, _>(at).map_err(Error::from);
    let namespace = namespaces::decode(row.try_get(1)?)?;
    let key = Key::stored(row.try_get(2)?);
    let (commit, at) = (number(0)?.unsigned_abs(), number(5)?);
    Ok(Change {
        position: Position { feed: feed.to_owned(), commit, n: 0, at },
        address: Address { namespace, key },
        version: number(3)?,
        kind: ChangeKind::stored(row.try_get(4)?)?,
    })
}
