//! Searches items by meaning. It compares every vector that matches namespace and model. It opens texts in the order of their scores, as
//! far as the page needs them.

use std::cmp::Ordering;

use futures::TryStreamExt;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::items::{COLUMNS, content_of, read_item};
use super::search::{Bound, BoundStatement};
use super::vectors::of_bytes;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{Item, ItemPage, SearchItems, Select};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::vector::Near;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::sqlite::views::Tenant;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::store::nearest::{Paging, fits};
use crate::storage::store::opening::{count_opened, opening_size};
use crate::storage::store::{StoredItem, selected};

/// Items that are read at one time. Fewer are opened where they are large.
const SLICE: usize = 64;

/// A candidate, in few bytes: there is one for each item below the prefix where a filter decides later.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked {
    /// None comes last.
    score: Option<f64>,
    created_at: Micros,
    /// Place in the order of namespaces and keys.
    place: usize,
    row: i64,
}

impl SqliteStorage {
    pub(in crate::storage) async fn read_nearest(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (query, near): (&SearchItems, &Near),
        now: Micros,
    ) -> Result<ItemPage> {
        let secret = self.secret(&caller.tenant).await?;
        self.models.check_search(self, (&caller.tenant, &secret), near).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch);
        loop {
            let wanted = BoundStatement::new(&caller.tenant, within, &query.scope, now);
            let mut read = self.connections.begin_search(&caller.tenant).await?;
            let ranked = rank(&mut read, tenant.name, wanted, (query, near)).await?;
            let page = page_of(&mut read, tenant, query, &ranked).await?;
            read.end().await?;
            if prefetch.is_complete() {
                return Ok(page);
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }
}

/// The best candidates in their order: all where a filter decides later, else as many as the page needs.
async fn rank(
    read: &mut SqliteConnection,
    tenant: &str,
    mut wanted: BoundStatement,
    (query, near): (&SearchItems, &Near),
) -> Result<Vec<Ranked>> {
    let model = wanted.bind(Bound::Text(near.model.as_str().to_owned()));
    let dims = i64::try_from(near.vector.dims()).unwrap_or(i64::MAX);
    let dims = wanted.bind(Bound::Number(dims));
    let text = format!(
        "select i.rowid, i.created_at, v.vector from items i
         left join item_vectors v on v.tenant = i.tenant and v.namespace = i.namespace and v.key = i.key
            and v.version = i.version and v.model = {model} and v.dims = {dims}
         where i.tenant = $1 and {} order by i.namespace, i.key",
        wanted.text
    );
    let needed = match query.scope.filter {
        Some(_) => usize::MAX,
        None => Paging::of(query).rows(),
    };
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut place = 0;
    let mut rows = wanted.query(text).fetch(read);
    while let Some(row) = rows.try_next().await? {
        let number: i64 = row.try_get(0)?;
        let vector: Option<&[u8]> = row.try_get(2)?;
        let score = vector.map(|it| near.metric.score(near.vector.numbers(), &of_bytes(it)));
        // The nearest vector of an item is its score.
        if let Some(same) = ranked.last_mut()
            && same.row == number
        {
            same.score = higher(same.score, score);
            continue;
        }
        if ranked.len() > needed.saturating_mul(2).max(1_024) {
            best_first(tenant, &mut ranked, needed);
        }
        let created_at = row.try_get(1)?;
        ranked.push(Ranked { score, created_at, place, row: number });
        place += 1;
    }
    drop(rows);
    best_first(tenant, &mut ranked, needed);
    Ok(ranked)
}

fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn best_first(tenant: &str, ranked: &mut Vec<Ranked>, needed: usize) {
    let size = cpu_pool::size_of_sorting(ranked.len());
    cpu_pool::run_here_at_once(tenant, size, || ranked.sort_by(better));
    ranked.truncate(needed);
}

/// Highest score first, none last; then newest first, then by namespace and key.
fn better(a: &Ranked, b: &Ranked) -> Ordering {
    let by_score = match (a.score, b.score) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    by_score.then_with(|| b.created_at.cmp(&a.created_at)).then_with(|| a.place.cmp(&b.place))
}

async fn page_of(
    read: &mut SqliteConnection,
    tenant: Tenant<'_>,
    query: &SearchItems,
    ranked: &[Ranked],
) -> Result<ItemPage> {
    let mut paging = Paging::of(query);
    let filter = query.scope.filter.as_ref();
    let mut ranked = ranked;
    while filter.is_none() && paging.skips() {
        let Some((_, rest)) = ranked.split_first() else { break };
        paging.skip();
        ranked = rest;
    }
    let text = format!(
        "select {COLUMNS} from jsonb_each($2) j cross join items i on i.rowid = j.value
         where i.tenant = $1 order by j.key"
    );
    let opens = query.select != Select::Nothing || filter.is_some();
    for slice in ranked.chunks(SLICE) {
        let numbers: Vec<i64> = slice.iter().map(|it| it.row).collect();
        let rows = sqlx::query(sqlx::AssertSqlSafe(text.clone()))
            .bind(tenant.name)
            .bind(json!(numbers).to_string())
            .fetch_all(&mut *read)
            .await?;
        let stored = rows.iter().map(read_item).collect::<Result<Vec<_>>>()?;
        let (mut slice, mut stored) = (slice, stored);
        while !stored.is_empty() {
            let count = if opens { count_opened(stored.iter()) } else { stored.len() };
            let some: Vec<StoredItem> = stored.drain(..count).collect();
            let opened: Vec<&StoredItem> = some.iter().filter(|_| opens).collect();
            let chunks = content_of(read, tenant, &opened).await?;
            let size = opening_size(&opened);
            let (of_some, rest) = slice.split_at(count);
            slice = rest;
            let has_room = cpu_pool::run_here_at_once(tenant.name, size, || {
                for (ranked, stored) in of_some.iter().zip(some) {
                    let text =
                        if opens { Some(stored.open(tenant.secret, &chunks)?) } else { None };
                    // Placeholders of content that is still to be fetched match nothing.
                    if let Some(text) = &text
                        && !fits(filter, text).unwrap_or(false)
                    {
                        continue;
                    }
                    let value = match text {
                        Some(text) if query.select != Select::Nothing => {
                            selected(text, &query.select)?
                        }
                        _ => None,
                    };
                    if !paging.take(Item { value, score: ranked.score, ..stored.item }) {
                        return Ok(false);
                    }
                }
                Ok::<_, Error>(true)
            })?;
            if !has_room {
                return Ok(paging.finish());
            }
        }
    }
    Ok(paging.finish())
}
