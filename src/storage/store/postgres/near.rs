//! Searches items by meaning. Up to some thousand candidates, after namespace and filter, are all compared. Above that an index finds the
//! nearest. Where it finds too few, or is missing, all are compared again: a page is never short.
//!
//! Whether there are more costs a look at some thousand rows. What had more is remembered for a minute, and the index is asked at once.
//!
//! Every number in the text of a statement is one of ours. Names of models have no quotes.

use std::collections::HashSet;
use std::time::Duration;

use moka::sync::Cache;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Executor, Row};

use super::search_sql::{Bound, COLUMNS, Statement};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{Address, Item, ItemPage, Key, Scope, SearchItems, Select};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::vector::{Metric, Near};
use crate::domain::{Error, Result};
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::nearest::{Paging, fits};
use crate::storage::store::opening::{count_opened, opening_size};
use crate::storage::store::{StoredItem, selected};

/// Candidates up to which all are compared.
const EXACT_MAX: i64 = 5_000;
/// Neighbours that an index looks at before it is asked for more. More find nearer ones and take little longer: of 50,000 vectors
/// in 100 tight groups 200 found 5 of the 10 nearest, 400 found 7 and 1,000 found 9, in 7, 6 and 8 ms.
const NEIGHBOURS_MIN: usize = 600;
const NEIGHBOURS_MAX: usize = 1_000;
/// Entries after which an index gives up: what it looks for is rare among its neighbours then.
const SCANNED_MAX: usize = 40_000;
/// Candidates that are held in memory.
const CANDIDATES_MAX: usize = 250_000;
/// Items that are read at one time. Fewer are opened where they are large.
const SLICE: usize = 64;
/// For how long a search is taken to have more candidates than are compared, and how many such searches are remembered.
const WIDE_FOR: Duration = Duration::from_mins(1);
const WIDE_MAX: u64 = 10_000;

/// Searches that lately had more candidates than are compared: tenant, namespaces, prefix and filter.
pub struct WideSearches(Cache<(String, Vec<Namespace>, Scope), ()>);

impl Default for WideSearches {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(WIDE_MAX).time_to_live(WIDE_FOR).build())
    }
}

/// An item that may be a hit, in the order of the answer.
struct Candidate {
    address: Address,
    version: i64,
    score: Option<f64>,
    /// Its text decides whether it matches.
    has_marks: bool,
}

/// What is looked for and where.
struct NearestSearch<'a> {
    tenant: &'a str,
    within: &'a [Namespace],
    query: &'a SearchItems,
    near: &'a Near,
    now: Micros,
}

impl PostgresStorage {
    /// Round trips: two up to some thousand candidates, five above, six the first time in a minute; more where values lie in chunks.
    pub(in crate::storage) async fn read_nearest(
        &self,
        caller: &Caller,
        within: &[Namespace],
        (query, near): (&SearchItems, &Near),
        now: Micros,
    ) -> Result<ItemPage> {
        let secret = self.secret(&caller.tenant).await?;
        self.models.check_search(self, (&caller.tenant, &secret), near).await?;
        self.vector_indexes.require(&self.pool).await?;
        let search = NearestSearch { tenant: &caller.tenant, within, query, near, now };
        let mut wanted = Paging::of(query).rows();
        loop {
            let candidates = self.candidates(&search, wanted).await?;
            let found = candidates.len();
            if let Some(page) = self.page_of(&search, &secret, candidates, found < wanted).await? {
                return Ok(page);
            }
            // Of the rows with marks some do not match.
            if wanted > CANDIDATES_MAX {
                let detail = format!(
                    "the filter asks for long values, which no index has, and of the {CANDIDATES_MAX} nearest items \
                     too few match: search below a longer prefix"
                );
                return Err(Error::out_of_range("filter", detail, CANDIDATES_MAX as u64));
            }
            wanted *= 4;
        }
    }

    /// None: matches are missing that further candidates may bring.
    async fn page_of(
        &self,
        search: &NearestSearch<'_>,
        secret: &TenantSecret,
        candidates: Vec<Candidate>,
        are_all: bool,
    ) -> Result<Option<ItemPage>> {
        let NearestSearch { tenant, query, now, .. } = search;
        let mut paging = Paging::of(query);
        let mut candidates = candidates.into_iter().peekable();
        if query.scope.filter.is_none() {
            while paging.skips() && candidates.next().is_some() {
                paging.skip();
            }
        }
        while candidates.peek().is_some() {
            let part: Vec<Candidate> = candidates.by_ref().take(SLICE).collect();
            let addresses: Vec<Address> = part.iter().map(|it| it.address.clone()).collect();
            let mut stored: Vec<Option<StoredItem>> = part.iter().map(|_| None).collect();
            for (at, item) in self.read_items(tenant, &addresses, *now).await? {
                stored[at] = Some(item);
            }
            let found = part.into_iter().zip(stored);
            let mut found: Vec<(Candidate, StoredItem)> =
                found.filter_map(|(candidate, it)| Some((candidate, it?))).collect();
            while !found.is_empty() {
                let count = count_opened(found.iter().map(|it| &it.1));
                let some = found.drain(..count).collect();
                if !self.open_some(search, secret, some, &mut paging).await? {
                    return Ok(Some(paging.finish()));
                }
            }
        }
        Ok(are_all.then(|| paging.finish()))
    }

    /// Opens some items together. False: the page is full.
    async fn open_some(
        &self,
        search: &NearestSearch<'_>,
        secret: &TenantSecret,
        some: Vec<(Candidate, StoredItem)>,
        paging: &mut Paging,
    ) -> Result<bool> {
        let NearestSearch { tenant, query, .. } = search;
        let opened: Vec<&StoredItem> = some.iter().map(|it| &it.1).collect();
        let chunks = self.content_of_items(tenant, secret, &opened).await?;
        let size = opening_size(&opened);
        let take = || {
            for (candidate, stored) in some {
                let text = stored.open(secret, &chunks)?;
                let changed = stored.item.version != candidate.version;
                if (candidate.has_marks || changed) && !fits(query.scope.filter.as_ref(), &text)? {
                    continue;
                }
                let value = match query.select {
                    Select::Nothing => None,
                    _ => selected(text, &query.select)?,
                };
                if !paging.take(Item { value, score: candidate.score, ..stored.item }) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        cpu_pool::run_here(tenant, size, take).await?
    }

    async fn candidates(&self, search: &NearestSearch<'_>, rows: usize) -> Result<Vec<Candidate>> {
        let WideSearches(wide) = &self.wide_searches;
        let NearestSearch { tenant, within, query, .. } = search;
        let key = ((*tenant).to_owned(), within.to_vec(), query.scope.clone());
        if !wide.contains_key(&key) {
            let (total, found) = self.compare(search, rows, EXACT_MAX).await?;
            if total <= EXACT_MAX {
                return Ok(found);
            }
            wide.insert(key.clone(), ());
        }
        let Near { model, metric, vector } = search.near;
        let has_angle = *metric != Metric::Cosine || !vector.is_zero();
        if has_angle && self.vector_indexes.find(model, *metric, vector.dims()) {
            let found = self.ask_index(search, rows).await?;
            if found.len() >= rows {
                return Ok(found);
            }
        }
        let (total, found) = self.compare(search, rows, i64::MAX - 1).await?;
        if total <= EXACT_MAX {
            wide.invalidate(&key);
        }
        Ok(found)
    }

    /// How many candidates there are, up to one more than `most`, and the nearest where they are not more.
    async fn compare(
        &self,
        search: &NearestSearch<'_>,
        rows: usize,
        most: i64,
    ) -> Result<(i64, Vec<Candidate>)> {
        let statement = exact(search, rows, most);
        let found =
            statement.query().fetch_all(&mut *self.searches.get(search.tenant).await?).await;
        let found = found?;
        let total = found.first().map_or(0, |row| row.get::<i64, _>("total"));
        let metric = search.near.metric;
        let size = cpu_pool::size_of_sorting(found.len());
        let hits = move || {
            let hits = found.iter().filter(|row| row.get::<Option<i64>, _>("version").is_some());
            hits.map(|row| candidate(row, metric)).collect()
        };
        Ok((total, cpu_pool::run_here(search.tenant, size, hits).await?))
    }

    /// The nearest that the index finds, at most so many items; fewer when it gives up.
    async fn ask_index(&self, search: &NearestSearch<'_>, rows: usize) -> Result<Vec<Candidate>> {
        let mut limit = rows * 2;
        loop {
            let found = self.neighbours(search, limit).await?;
            let few = found.len() < limit;
            let (size, metric) = (cpu_pool::size_of_sorting(found.len()), search.near.metric);
            let nearest = move || nearest_of_each(&found, metric);
            let mut best = cpu_pool::run_here(search.tenant, size, nearest).await?;
            if best.len() >= rows || few {
                best.truncate(rows);
                return Ok(best);
            }
            limit *= 4;
        }
    }

    async fn neighbours(&self, search: &NearestSearch<'_>, limit: usize) -> Result<Vec<PgRow>> {
        let looked_at = limit.clamp(NEIGHBOURS_MIN, NEIGHBOURS_MAX);
        let settings = format!(
            "set local hnsw.ef_search = {looked_at}; set local hnsw.max_scan_tuples = {SCANNED_MAX};
             set local hnsw.iterative_scan = relaxed_order; set local hnsw.scan_mem_multiplier = 4;
             set local enable_sort = off; set local enable_bitmapscan = off"
        );
        let statement = indexed(search, limit);
        let mut connection = self.searches.get(search.tenant).await?;
        let mut transaction = connection.begin().await?;
        transaction.execute(AssertSqlSafe(settings)).await?;
        let found = statement.query().fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(found)
    }
}

/// Items in the order of their nearest vectors. An index that is asked for more gives it out of order.
fn nearest_of_each(found: &[PgRow], metric: Metric) -> Vec<Candidate> {
    let mut found: Vec<(f64, Candidate)> =
        found.iter().map(|row| (distance(row), candidate(row, metric))).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen = HashSet::new();
    let is_nearest = |it: &Candidate| seen.insert(it.address.clone());
    found.into_iter().map(|it| it.1).filter(is_nearest).collect()
}

/// $1 tenant, $2 time. One row at least, with the count. Where no angle is defined the two have nothing in common, which is
/// the distance 1.
fn exact(search: &NearestSearch<'_>, rows: usize, most: i64) -> Statement {
    let NearestSearch { tenant, within, query, near, now } = search;
    let mut statement = Statement::new(tenant, *now);
    let (with, from) = statement.conditions(tenant, within, &query.scope).source();
    let with = if with.is_empty() { "with".to_owned() } else { format!("{with},") };
    let asked = statement.bind(Bound::Reals(near.vector.numbers().to_vec()));
    let looked_at = statement.bind(Bound::Number(most + 1));
    let most = statement.bind(Bound::Number(most));
    let limit = statement.bind(Bound::Number(i64::try_from(rows).unwrap_or(i64::MAX)));
    let (dims, model, operator) =
        (near.vector.dims(), near.model.as_str(), operator_of(near.metric));
    statement.text = format!(
        "{with} c as materialized (
            select i.namespace, i.key, i.version, i.created_at, i.has_marks {from} limit {looked_at}
         ), t as materialized (
            select count(*) as total from c
         ), s as (
            select c.*, d.distance from c left join lateral (
                select min(coalesce(nullif(
                    (v.vector::vector({dims})) {operator} (select {asked}::real[]::vector({dims})), 'NaN'), 1))
                    as distance
                from item_vectors v
                where v.tenant = $1 and v.namespace = c.namespace and v.key = c.key
                    and v.version = c.version and v.model = '{model}' and v.dims = {dims}
            ) d on true
         )
         select t.total, s.* from t left join lateral (
            select s.* from s where t.total <= {most}
            order by s.distance nulls last, s.created_at desc, s.namespace, s.key
            limit {limit}) s on true"
    );
    statement
}

/// $1 tenant, $2 time. What stands behind `order by`, and the conditions on `v`, are those of the index.
fn indexed(search: &NearestSearch<'_>, rows: usize) -> Statement {
    let NearestSearch { tenant, within, query, near, now } = search;
    let mut statement = Statement::new(tenant, *now);
    let wanted = statement.conditions(tenant, within, &query.scope);
    let asked = statement.bind(Bound::Reals(near.vector.numbers().to_vec()));
    let limit = statement.bind(Bound::Number(i64::try_from(rows).unwrap_or(i64::MAX)));
    let (dims, model, operator) =
        (near.vector.dims(), near.model.as_str(), operator_of(near.metric));
    let kind = super::vector_indexes::kind_of(dims);
    let (place, filter) = (wanted.place, wanted.filter);
    statement.text = format!(
        "select i.namespace, i.key, i.version, i.has_marks,
            (v.vector::vector({dims})) {operator} (select {asked}::real[]::vector({dims})) as distance
         from item_vectors v
         cross join lateral (select {COLUMNS} from items i
            where i.tenant = $1 and i.namespace = v.namespace and i.key = v.key and i.version = v.version
                and {place} limit 1) i
         cross join lateral (select i.projection -> $1 as d) p
         where v.tenant = $1 and v.model = '{model}' and v.dims = {dims} and {filter}
         order by (v.vector::{kind}({dims})) {operator} (select {asked}::real[]::{kind}({dims}))
         limit {limit}"
    );
    statement
}

fn operator_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "<=>",
        Metric::L2 => "<->",
        Metric::InnerProduct => "<#>",
    }
}

/// Without vectors it is the last.
fn distance(row: &PgRow) -> f64 {
    row.get::<Option<f64>, _>("distance").unwrap_or(f64::NAN)
}

fn candidate(row: &PgRow, metric: Metric) -> Candidate {
    let distance: Option<f64> = row.get("distance");
    let score = distance.map(|it| match metric {
        Metric::Cosine => 1.0 - it,
        Metric::L2 | Metric::InnerProduct => -it,
    });
    Candidate {
        address: Address {
            namespace: Namespace::stored(row.get("namespace")),
            key: Key::stored(row.get("key")),
        },
        version: row.get("version"),
        score,
        has_marks: row.get("has_marks"),
    }
}
