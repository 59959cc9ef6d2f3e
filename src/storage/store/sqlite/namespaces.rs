//! Finds namespaces that hold items, by steps through the key, counts the items of some, and finds the largest.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::pages::COUNTED_MAX;
use crate::domain::store::item::{CountedItems, ListNamespaces};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::namespace_storage::NamespaceStorage;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::store::listing::Listing;
use crate::storage::store::namespaces;

#[async_trait]
impl NamespaceStorage for SqliteStorage {
    /// One probe for each namespace, however many items it holds.
    async fn list_namespaces(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &ListNamespaces,
        now: Micros,
    ) -> Result<Vec<Namespace>> {
        const NEXT: &str = "
            select namespace from items where tenant = $1 and namespace >= $2
                and ($3 is null or namespace < $3) and (expires_at is null or expires_at > $4)
            order by namespace limit 1";
        let mut listing = Listing::new(query);
        let depth = listing.depth().map_or(usize::MAX, |it| it.max(1));
        let mut read = self.connections.begin_search(&caller.tenant).await?;
        'ranges: for prefix in within {
            let (mut from, to) = (namespaces::encode(prefix), namespaces::end(prefix));
            if let Some(after) = listing.after(prefix) {
                from = namespaces::behind(after, depth);
            }
            loop {
                let row = sqlx::query(NEXT)
                    .bind(&caller.tenant)
                    .bind(&from)
                    .bind(&to)
                    .bind(now)
                    .fetch_optional(&mut *read)
                    .await?;
                let Some(row) = row else { break };
                let found: Vec<u8> = row.try_get(0)?;
                let namespace = namespaces::decode(&found)?;
                if !listing.take(&namespace) {
                    break 'ranges;
                }
                from = namespaces::behind(&namespace, depth);
            }
        }
        read.end().await?;
        Ok(listing.finish())
    }

    async fn count_below(
        &self,
        tenant: &str,
        within: &[Namespace],
        now: Micros,
    ) -> Result<Vec<CountedItems>> {
        const COUNTS: &str = "
            select count(*), coalesce(sum(size_bytes), 0), max(updated_at) from (
                select size_bytes, updated_at from items where tenant = $1 and namespace >= $2
                    and ($3 is null or namespace < $3) and (expires_at is null or expires_at > $4) limit $5)";
        let rows = self.read_counted(COUNTS, (tenant, within), now, COUNTED_MAX).await?;
        rows.iter().map(counted).collect()
    }

    async fn largest_namespaces(
        &self,
        tenant: &str,
        within: &[Namespace],
        limit: usize,
        now: Micros,
    ) -> Result<Vec<(Namespace, CountedItems)>> {
        const LARGEST: &str = "
            select count(*), sum(size_bytes), max(updated_at), namespace from items where tenant = $1 and namespace >= $2
                and ($3 is null or namespace < $3) and (expires_at is null or expires_at > $4)
            group by namespace order by 2 desc, 4 limit $5";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        for row in &self.read_counted(LARGEST, (tenant, within), now, most).await? {
            let namespace: Vec<u8> = row.try_get(3)?;
            found.push((namespaces::decode(&namespace)?, counted(row)?));
        }
        // Each range has its own order.
        found.sort_by(|(a, one), (b, other)| {
            other.size_bytes.cmp(&one.size_bytes).then_with(|| a.cmp(b))
        });
        found.truncate(limit);
        Ok(found)
    }
}

impl SqliteStorage {
    /// Runs one of the statements above for each range; `most` is its last bind.
    async fn read_counted(
        &self,
        statement: &'static str,
        (tenant, within): (&str, &[Namespace]),
        now: Micros,
        most: i64,
    ) -> Result<Vec<SqliteRow>> {
        let mut rows = Vec::with_capacity(within.len());
        let mut read = self.connections.begin_search(tenant).await?;
        for prefix in within {
            let query = sqlx::query(statement)
                .bind(tenant)
                .bind(namespaces::encode(prefix))
                .bind(namespaces::end(prefix))
                .bind(now)
                .bind(most);
            rows.extend(query.fetch_all(&mut *read).await?);
        }
        read.end().await?;
        Ok(rows)
    }
}

fn counted(row: &SqliteRow) -> Result<CountedItems> {
    Ok(CountedItems {
        items: row.try_get::<i64, _>(0)?.unsigned_abs(),
        size_bytes: row.try_get::<i64, _>(1)?.unsigned_abs(),
        updated_at: row.try_get(2)?,
    })
}
