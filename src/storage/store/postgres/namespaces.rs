//! Finds namespaces that hold items, by steps through the key: one probe for each, however many items it holds. Counts the items of some,
//! and finds the largest.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::items::literal;
use super::search_sql::bounds;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::pages::COUNTED_MAX;
use crate::domain::store::item::{CountedItems, ListNamespaces};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::namespace_storage::NamespaceStorage;
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::listing::Listing;

/// Namespaces that one statement finds.
const PAGE: i32 = 1_000;

/// From each namespace to the next: the least that is behind it is itself with the least label, and behind
/// everything that begins with its first $5 labels stands the last of them with the least character.
const STEPS: &str = r"
with recursive n (namespace) as (
    (select i.namespace from items i
     where i.tenant = $1 and i.namespace >= cast($2 as text)::text[]
        and ($3::text is null or i.namespace < cast($3 as text)::text[])
        and (i.expires_at is null or i.expires_at > $4)
     order by i.namespace limit 1)
    union all
    select (select i.namespace from items i
        where i.tenant = $1 and i.namespace >= case when cardinality(n.namespace) >= $5
                then n.namespace[1:$5 - 1] || (n.namespace[$5] || E'\x01')
                else n.namespace || E'\x01'::text end
            and ($3::text is null or i.namespace < cast($3 as text)::text[])
            and (i.expires_at is null or i.expires_at > $4)
        order by i.namespace limit 1)
    from n where n.namespace is not null
)
select namespace from n where namespace is not null limit $6
";

/// $1 tenant, $2 the first and $3 the first ones behind each range, $4 now, $5 rows to count at most.
const COUNTS: &str = "
select c.* from unnest(cast($2 as text[]), cast($3 as text[])) with ordinality r (low, high, ord)
cross join lateral (
    select count(*) as items, coalesce(sum(i.size_bytes), 0)::bigint as size_bytes, max(i.updated_at) as updated_at
    from (select i.size_bytes, i.updated_at from items i
        where i.tenant = $1 and i.namespace >= r.low::text[] and i.namespace < r.high::text[]
            and (i.expires_at is null or i.expires_at > $4) limit $5) i) c
order by r.ord";

/// As [`COUNTS`], with $5 the limit.
const LARGEST: &str = "
select g.* from unnest(cast($2 as text[]), cast($3 as text[])) r (low, high)
cross join lateral (
    select i.namespace, count(*) as items, sum(i.size_bytes)::bigint as size_bytes, max(i.updated_at) as updated_at
    from items i
    where i.tenant = $1 and i.namespace >= r.low::text[] and i.namespace < r.high::text[]
        and (i.expires_at is null or i.expires_at > $4)
    group by i.namespace) g
order by g.size_bytes desc, g.namespace limit $5";

#[async_trait]
impl NamespaceStorage for PostgresStorage {
    async fn list_namespaces(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &ListNamespaces,
        now: Micros,
    ) -> Result<Vec<Namespace>> {
        self.clear_pool_on_loss(self.read_namespaces(caller, within, query, now).await)
    }

    async fn count_below(
        &self,
        tenant: &str,
        namespaces: &[Namespace],
        now: Micros,
    ) -> Result<Vec<CountedItems>> {
        let rows = self.read_counted(COUNTS, (tenant, namespaces), now, COUNTED_MAX).await;
        Ok(self.clear_pool_on_loss(rows)?.iter().map(counted).collect())
    }

    async fn largest_namespaces(
        &self,
        tenant: &str,
        within: &[Namespace],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Namespace, CountedItems)>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read_counted(LARGEST, (tenant, within), now, limit).await;
        let found = |row: &PgRow| (Namespace::stored(row.get("namespace")), counted(row));
        Ok(self.clear_pool_on_loss(rows)?.iter().map(found).collect())
    }
}

impl PostgresStorage {
    /// Runs [`COUNTS`] or [`LARGEST`]; `most` is their last bind.
    async fn read_counted(
        &self,
        statement: &'static str,
        (tenant, within): (&str, &[Namespace]),
        now: Micros,
        most: i64,
    ) -> Result<Vec<PgRow>> {
        let (low, high): (Vec<_>, Vec<_>) = within.iter().map(range).unzip();
        let rows = sqlx::query(statement)
            .bind(tenant)
            .bind(low)
            .bind(high)
            .bind(now)
            .bind(most)
            .fetch_all(&mut *self.searches.get(tenant).await?)
            .await?;
        Ok(rows)
    }

    /// Round trips: one per range of the caller's and 1,000 namespaces.
    async fn read_namespaces(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &ListNamespaces,
        now: Micros,
    ) -> Result<Vec<Namespace>> {
        let mut listing = Listing::new(query);
        // Zero labels would be the same for all: one step is enough then, but no label has a number 0.
        let depth =
            listing.depth().map_or(i32::MAX, |it| i32::try_from(it.max(1)).unwrap_or(i32::MAX));
        // Where each step is one that is shown, no more of them are made than are wanted.
        let wanted = query.offset.saturating_add(query.limit).max(1);
        let enough = i32::try_from(wanted).ok().filter(|_| query.conditions.is_empty());
        let page = enough.map_or(PAGE, |it| it.min(PAGE));
        'ranges: for prefix in within {
            let (mut from, to) = bounds(prefix);
            let to = Some(to).filter(|_| !prefix.labels().is_empty());
            if let Some(after) = listing.after(prefix) {
                from = behind(after, depth);
            }
            loop {
                let rows = sqlx::query(STEPS)
                    .bind(&caller.tenant)
                    .bind(&from)
                    .bind(&to)
                    .bind(now)
                    .bind(depth)
                    .bind(page)
                    .fetch_all(&mut *self.searches.get(&caller.tenant).await?)
                    .await?;
                let mut last = None;
                for row in &rows {
                    let namespace = Namespace::stored(row.get("namespace"));
                    if !listing.take(&namespace) {
                        break 'ranges;
                    }
                    last = Some(namespace);
                }
                match last {
                    Some(last) if i32::try_from(rows.len()) == Ok(page) => {
                        from = behind(&last, depth);
                    }
                    _ => break,
                }
            }
        }
        Ok(listing.finish())
    }
}

fn counted(row: &PgRow) -> CountedItems {
    CountedItems {
        items: row.get::<i64, _>("items").unsigned_abs(),
        size_bytes: row.get::<i64, _>("size_bytes").unsigned_abs(),
        updated_at: row.get("updated_at"),
    }
}

/// As [`bounds`], also for all namespaces: their end is a label that is larger than any legal one.
fn range(prefix: &Namespace) -> (String, String) {
    let (from, to) = bounds(prefix);
    if !prefix.labels().is_empty() {
        return (from, to);
    }
    let characters = usize::try_from(LIMITS.namespace_bytes_max).unwrap_or(usize::MAX) / 4 + 1;
    (from, literal(&Namespace::stored(vec!["\u{10ffff}".repeat(characters)])))
}

/// As the statement has it.
fn behind(namespace: &Namespace, depth: i32) -> String {
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    if namespace.labels().len() >= depth {
        return bounds(&namespace.truncated(depth)).1;
    }
    let mut labels = namespace.labels().to_vec();
    labels.push("\u{1}".into());
    literal(&Namespace::stored(labels))
}
