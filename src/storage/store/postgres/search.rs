//! Searches and counts items. The statement narrows down by namespace and by projection. Where a projection has marks, this file decides by
//! the text of the value.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::items::read_item;
use super::search_sql::{Ask, Statement};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::json::exact_json;
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{
    Item, ItemCursor, ItemPage, ItemSort, Scope, SearchItems, Select,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::content::opening::Chunks;
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::opening::opening_size;
use crate::storage::store::{Candidates, StoredItem, selected};

/// Rows with marks that one statement looks at, where nothing is known of how many match.
const MARKED_PAGE: usize = 256;

/// A row of a search, and how many matches stand before it.
struct Hit {
    stored: StoredItem,
    has_marks: bool,
    number: usize,
    omitted: u64,
}

/// What does not change while a page is collected.
struct Collecting<'a> {
    secret: &'a TenantSecret,
    query: &'a SearchItems,
    skip: usize,
    limit: usize,
}

/// How the hits of one statement ended.
enum End {
    Done,
    /// Values behind this position were too much for one answer.
    Cut(ItemCursor),
    /// There is a match that the page has no room for.
    Full,
}

impl PostgresStorage {
    /// Round trips: one; more where values lie in chunks, and where rows with marks do not match after all.
    pub(in crate::storage) async fn read_item_page(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        now: Micros,
    ) -> Result<ItemPage> {
        let secret = self.secret(&caller.tenant).await?;
        let limit = query.limit.min(usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX));
        let (mut skip, mut after) = (query.offset, query.after.clone());
        let mut page = ItemPage::default();
        let mut candidates = Candidates::of(&secret, &query.scope);
        let mut is_again = false;
        loop {
            // One more than asked for tells whether there is a next page.
            let wanted = limit - page.items.len() + 1;
            // Where the index says nothing, most rows do not match; nor where what came first did not.
            let looks_into_all = is_again || candidates.are_limited();
            is_again = query.scope.filter.is_some();
            let rows = if looks_into_all { wanted.max(MARKED_PAGE) } else { wanted };
            let ask = Ask {
                scope: &query.scope,
                within,
                sort: query.sort,
                after: after.as_ref(),
                offset: skip,
                rows,
                wants_values: query.select != Select::Nothing,
                only_marked: false,
                now,
            };
            let asked = if query.scope.filter.is_some() { skip + rows } else { rows };
            let hits = self.search(&caller.tenant, &ask).await?;
            if let Some(hit) = hits.first().filter(|_| query.after.is_none()) {
                page.omitted = hit.omitted;
            } else if query.after.is_none() && page.items.is_empty() {
                let ask = Statement::omitted(&caller.tenant, within, &query.scope, now);
                page.omitted = self.read_count(&caller.tenant, ask).await?;
            }
            let last = hits.last().map(|it| (it.number, it.stored.item.position(query.sort)));
            let collecting = Collecting { secret: &secret, query, skip, limit };
            let onto = (&mut page, &mut candidates);
            let (matched, end) = self.collect(&caller.tenant, &collecting, hits, onto).await?;
            let more = last.filter(|(number, _)| *number >= asked && query.scope.filter.is_some());
            after = match (end, more) {
                (End::Full, _) | (End::Done, None) => return Ok(page),
                // The page has its bytes, or what is skipped had them.
                (End::Cut(position), _) if page.items.is_empty() => Some(position),
                (End::Cut(_), _) => {
                    page.next = page.items.last().map(|it| it.position(query.sort));
                    return Ok(page);
                }
                (End::Done, Some((_, position))) => Some(position),
            };
            skip = skip.saturating_sub(matched);
        }
    }

    /// Adds what matches to the page. Answers how many matches there were.
    async fn collect(
        &self,
        tenant: &str,
        collecting: &Collecting<'_>,
        hits: Vec<Hit>,
        onto: (&mut ItemPage, &mut Candidates),
    ) -> Result<(usize, End)> {
        let items: Vec<&StoredItem> = hits.iter().map(|it| &it.stored).collect();
        let chunks = self.content_of_items(tenant, collecting.secret, &items).await?;
        let size = opening_size(&items);
        let take = || collecting.take(hits, &chunks, onto);
        cpu_pool::run_here(tenant, size, take).await?
    }

    /// Round trips: one, and one for each page of rows with marks where there is a filter.
    pub(in crate::storage) async fn read_item_count(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64> {
        let secret = self.secret(&caller.tenant).await?;
        let mut count = self.count_certain(&caller.tenant, within, scope, now).await?;
        let Some(filter) = &scope.filter else { return Ok(count) };
        let mut candidates = Candidates::of(&secret, scope);
        let mut after: Option<ItemCursor> = None;
        loop {
            let ask = Ask {
                scope,
                within,
                sort: ItemSort::Key,
                after: after.as_ref(),
                offset: 0,
                rows: MARKED_PAGE,
                wants_values: true,
                only_marked: true,
                now,
            };
            let hits = self.search(&caller.tenant, &ask).await?;
            let items: Vec<&StoredItem> = hits.iter().map(|it| &it.stored).collect();
            let chunks = self.content_of_items(&caller.tenant, &secret, &items).await?;
            let asked = items.len();
            let take = || {
                for item in items.iter().filter(|it| it.body.is_some()) {
                    candidates.take()?;
                    count += u64::from(holds(filter, &item.open(&secret, &chunks)?, true)?);
                    after = Some(item.item.position(ItemSort::Key));
                }
                Ok::<_, Error>(())
            };
            cpu_pool::run_here(&caller.tenant, opening_size(&items), take).await??;
            if asked < MARKED_PAGE && items.iter().all(|it| it.body.is_some()) {
                return Ok(count);
            }
        }
    }

    async fn count_certain(
        &self,
        tenant: &str,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64> {
        self.read_count(tenant, Statement::count(tenant, within, scope, now)).await
    }

    async fn read_count(&self, tenant: &str, statement: Statement) -> Result<u64> {
        let row = statement.query().fetch_one(&mut *self.searches.get(tenant).await?).await;
        let row = row?;
        Ok(row.get::<i64, _>("count").unsigned_abs())
    }

    async fn search(&self, tenant: &str, ask: &Ask<'_>) -> Result<Vec<Hit>> {
        let statement = Statement::search(tenant, ask);
        let rows = statement.query().fetch_all(&mut *self.searches.get(tenant).await?).await;
        let rows = rows?;
        Ok(rows.iter().map(hit).collect())
    }
}

impl Collecting<'_> {
    /// Opens hits and adds what matches to the page. Answers how many matches there were.
    fn take(
        &self,
        hits: Vec<Hit>,
        chunks: &Chunks,
        (page, candidates): (&mut ItemPage, &mut Candidates),
    ) -> Result<(usize, End)> {
        let Self { secret, query, skip, limit } = self;
        let filter = query.scope.filter.as_ref();
        let wants_value = query.select != Select::Nothing;
        // Rows that are not among the hits are matches before the first one that is wanted.
        let mut number = if filter.is_some() { 0 } else { *skip };
        let mut matched = number;
        let mut end = End::Done;
        for hit in hits {
            let needs_text = wants_value || hit.has_marks && filter.is_some();
            if hit.stored.body.is_none() && needs_text {
                return Ok((matched, end));
            }
            candidates.take()?;
            matched += hit.number - number - 1;
            number = hit.number;
            end = End::Cut(hit.stored.item.position(query.sort));
            let text = match &hit.stored.body {
                Some(_) => Some(hit.stored.open(secret, chunks)?),
                None => None,
            };
            if let (Some(filter), Some(text)) = (filter, &text)
                && !holds(filter, text, hit.has_marks)?
            {
                continue;
            }
            matched += 1;
            if matched <= *skip {
                continue;
            }
            if page.items.len() == *limit {
                page.next = page.items.last().map(|it| it.position(query.sort));
                return Ok((matched, End::Full));
            }
            let value = text.map(|it| selected(it, &query.select)).transpose()?.flatten();
            page.items.push(Item { value, ..hit.stored.item });
        }
        Ok((matched, End::Done))
    }
}

/// Whether the text matches. One that the database found without marks must.
fn holds(filter: &Filter, text: &[u8], has_marks: bool) -> Result<bool> {
    let matches = filter.matches(&exact_json::parse("value", text)?);
    if !matches && !has_marks {
        // The value stays out; that it was found is a defect that somebody has to see.
        tracing::error!("a projection says other than its value");
    }
    Ok(matches)
}

fn hit(row: &PgRow) -> Hit {
    Hit {
        stored: read_item(row),
        has_marks: row.get("has_marks"),
        number: usize::try_from(row.get::<i64, _>("number")).unwrap_or(usize::MAX),
        omitted: row.get::<i64, _>("omitted").unsigned_abs(),
    }
}
