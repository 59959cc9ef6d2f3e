//! Searches and counts items. SQL narrows down by namespace. This file decides filters on the texts.

use serde_json::json;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{AssertSqlSafe, Row, Sqlite, query::Query};

use super::items::{COLUMNS, content_of, read_item};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::{
    Item, ItemCursor, ItemPage, ItemSort, Scope, SearchItems, Select,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::storage::checkpoints::sqlite::views::Tenant;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::Read;
use crate::storage::store::opening::{count_opened, opening_size};
use crate::storage::store::{Candidates, StoredItem, namespaces, order_by, selected};

/// Rows that are read at one time. Fewer are opened where they are large.
const SLICE: usize = 64;

/// The value has all there is.
const WHOLE: &str = "i.content_id is null";

/// A statement that is put together: its conditions and what they bind.
pub(super) struct BoundStatement {
    pub(in crate::storage) text: String,
    binds: Vec<Bound>,
}

pub(in crate::storage) enum Bound {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
}

/// What becomes of the matches, in their order. False ends the search.
type Take<'a> = dyn FnMut(StoredItem, Option<bytes::Bytes>) -> Result<bool> + Send + 'a;

impl SqliteStorage {
    pub(in crate::storage) async fn read_item_page(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        now: Micros,
    ) -> Result<ItemPage> {
        let limit = query.limit.min(usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX));
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch);
        let mut wanted = BoundStatement::new(&caller.tenant, within, &query.scope, now);
        wanted.behind(query.sort, query.after.as_ref());
        loop {
            let (mut page, mut skipped, mut bytes) = (ItemPage::default(), 0, 0);
            let mut take = |stored: StoredItem, text: Option<bytes::Bytes>| {
                if skipped < query.offset {
                    skipped += 1;
                    return Ok(true);
                }
                let full = page.items.len() == limit || bytes >= LIMITS.list_bytes_max;
                if full {
                    page.next = page.items.last().map(|it: &Item| it.position(query.sort));
                    return Ok(false);
                }
                let value = text.map(|it| selected(it, &query.select)).transpose()?.flatten();
                bytes += value.as_ref().map_or(0, |_| stored.item.size_bytes.unsigned_abs());
                page.items.push(Item { value, ..stored.item });
                Ok(true)
            };
            let wants_values = query.select != Select::Nothing;
            let mut read = self.connections.begin_search(&caller.tenant).await?;
            let scan = Scan {
                tenant,
                wanted: &wanted,
                sort: query.sort,
                scope: &query.scope,
                wants_values,
            };
            scan.run(&mut read, &mut take).await?;
            if query.after.is_none() {
                page.omitted = wanted.count_omitted(&mut read).await?;
            }
            read.end().await?;
            if prefetch.is_complete() {
                return Ok(page);
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    pub(in crate::storage) async fn read_item_count(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64> {
        let wanted = BoundStatement::new(&caller.tenant, within, scope, now);
        if scope.filter.is_none() {
            let text =
                format!("select count(*) from items i where i.tenant = $1 and {}", wanted.text);
            let mut read = self.connections.begin_search(&caller.tenant).await?;
            let row = wanted.query(text).fetch_one(&mut *read).await?;
            read.end().await?;
            return Ok(row.try_get::<i64, _>(0)?.unsigned_abs());
        }
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch);
        loop {
            let mut count = 0;
            let mut take = |_, _| {
                count += 1;
                Ok(true)
            };
            let mut read = self.connections.begin_search(&caller.tenant).await?;
            let scan =
                Scan { tenant, wanted: &wanted, sort: ItemSort::Key, scope, wants_values: false };
            scan.run(&mut read, &mut take).await?;
            read.end().await?;
            if prefetch.is_complete() {
                return Ok(count);
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }
}

/// Goes through rows in an order, opens them and decides.
struct Scan<'a> {
    tenant: Tenant<'a>,
    wanted: &'a BoundStatement,
    sort: ItemSort,
    scope: &'a Scope,
    wants_values: bool,
}

impl Scan<'_> {
    async fn run(&self, read: &mut Read<'_>, take: &mut Take<'_>) -> Result<()> {
        let order = order_by(self.sort);
        // Only the numbers are sorted; values are read as far as they are needed.
        let text = format!(
            "select i.rowid from items i where i.tenant = $1 and {} order by {order}",
            self.wanted.text
        );
        let rows = self.wanted.query(text).fetch_all(&mut **read).await?;
        let numbers: Vec<i64> =
            rows.iter().map(|it| it.try_get(0).map_err(Error::from)).collect::<Result<_>>()?;
        let text = format!(
            "select {COLUMNS} from jsonb_each($2) j cross join items i on i.rowid = j.value
             where i.tenant = $1 order by j.key"
        );
        let opens = self.wants_values || self.scope.filter.is_some();
        let mut candidates = Candidates::of(self.tenant.secret, self.scope);
        for slice in numbers.chunks(SLICE) {
            read.check_time()?;
            let rows = sqlx::query(AssertSqlSafe(text.clone()))
                .bind(self.tenant.name)
                .bind(json!(slice).to_string())
                .fetch_all(&mut **read)
                .await?;
            let mut stored = rows.iter().map(read_item).collect::<Result<Vec<_>>>()?;
            while !stored.is_empty() {
                let count = if opens { count_opened(stored.iter()) } else { stored.len() };
                let some: Vec<StoredItem> = stored.drain(..count).collect();
                if !self.open_some(read, (some, opens), &mut candidates, take).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Opens some items together. False: the search has ended.
    async fn open_some(
        &self,
        read: &mut Read<'_>,
        (some, opens): (Vec<StoredItem>, bool),
        candidates: &mut Candidates,
        take: &mut Take<'_>,
    ) -> Result<bool> {
        let opened: Vec<&StoredItem> = some.iter().filter(|_| opens).collect();
        let chunks = content_of(read, self.tenant, &opened).await?;
        let size = opening_size(&opened);
        cpu_pool::run_here_at_once(self.tenant.name, size, || {
            for stored in some {
                candidates.take()?;
                let value =
                    if opens { Some(stored.open(self.tenant.secret, &chunks)?) } else { None };
                let matches = match (&self.scope.filter, &value) {
                    // Placeholders of content that is still to be fetched match nothing.
                    (Some(filter), Some(text)) => exact_json::parse("value", text)
                        .is_ok_and(|document| filter.matches(&document)),
                    _ => true,
                };
                if matches && !take(stored, value.filter(|_| self.wants_values))? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

impl BoundStatement {
    pub(in crate::storage) fn new(
        tenant: &str,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Self {
        let binds = vec![Bound::Text(tenant.to_owned()), Bound::Number(now)];
        let text = format!("(i.expires_at is null or i.expires_at > $2) and {WHOLE}");
        let mut wanted = Self { text, binds };
        if scope.exact {
            let namespace = wanted.bind(Bound::Bytes(namespaces::encode(&scope.prefix)));
            wanted.text.push_str(&format!(" and i.namespace = {namespace}"));
        } else {
            let ranges: Vec<String> = within.iter().filter_map(|it| wanted.range(it)).collect();
            // The prefix of everything has no end, and needs no condition.
            if ranges.len() == within.len() {
                wanted.text.push_str(&format!(" and ({})", ranges.join(" or ")));
            }
        }
        wanted
    }

    fn range(&mut self, prefix: &Namespace) -> Option<String> {
        let to = namespaces::end(prefix)?;
        let from = self.bind(Bound::Bytes(namespaces::encode(prefix)));
        let to = self.bind(Bound::Bytes(to));
        Some(format!("i.namespace >= {from} and i.namespace < {to}"))
    }

    fn behind(&mut self, sort: ItemSort, after: Option<&ItemCursor>) {
        let Some(after) = after else { return };
        let namespace = self.bind(Bound::Bytes(namespaces::encode(&after.address.namespace)));
        let key = self.bind(Bound::Bytes(after.address.key.as_bytes().to_vec()));
        let place = format!("(i.namespace, i.key) > ({namespace}, {key})");
        let column = match sort {
            ItemSort::Key => {
                self.text.push_str(&format!(" and {place}"));
                return;
            }
            ItemSort::Created | ItemSort::Score => "i.created_at",
            ItemSort::Updated => "i.updated_at",
        };
        let time = self.bind(Bound::Number(after.time));
        self.text.push_str(&format!(" and ({column} < {time} or {column} = {time} and {place})"));
    }

    /// How many are left out of a listing.
    async fn count_omitted(&self, read: &mut SqliteConnection) -> Result<u64> {
        let place = self.text.replacen(WHOLE, "i.content_id is not null", 1);
        let text = format!("select count(*) from items i where i.tenant = $1 and {place}");
        let row = self.query(text).fetch_one(read).await?;
        Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
    }

    pub(in crate::storage) fn bind(&mut self, bound: Bound) -> String {
        self.binds.push(bound);
        format!("${}", self.binds.len())
    }

    pub(in crate::storage) fn query(
        &self,
        text: String,
    ) -> Query<'static, Sqlite, SqliteArguments> {
        self.binds.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, bound| match bound {
            Bound::Text(text) => query.bind(text.clone()),
            Bound::Bytes(bytes) => query.bind(bytes.clone()),
            Bound::Number(number) => query.bind(*number),
        })
    }
}
