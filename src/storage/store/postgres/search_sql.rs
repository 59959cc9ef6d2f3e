//! Builds the SQL text of searches and counts of items.

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres};

use super::filter::{Bind, Condition};
use super::items::literal;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{ItemCursor, ItemSort, Scope};
use crate::domain::store::namespace::Namespace;
use crate::storage::postgres::TENANT_IN_INDEX;
use crate::storage::store::order_by;

/// A statement that is put together: its text and what it binds.
pub(in crate::storage) struct Statement {
    pub(in crate::storage) text: String,
    binds: Vec<Bound>,
}

pub(in crate::storage) enum Bound {
    Text(String),
    Texts(Vec<String>),
    Bytes(Vec<u8>),
    Number(i64),
    Reals(Vec<f32>),
}

/// What one statement of a search asks for.
pub(in crate::storage) struct Ask<'a> {
    pub(in crate::storage) scope: &'a Scope,
    pub(in crate::storage) within: &'a [Namespace],
    pub(in crate::storage) sort: ItemSort,
    pub(in crate::storage) after: Option<&'a ItemCursor>,
    /// Matches that are not wanted, then those that are.
    pub(in crate::storage) offset: usize,
    pub(in crate::storage) rows: usize,
    pub(in crate::storage) wants_values: bool,
    pub(super) only_marked: bool,
    pub(in crate::storage) now: Micros,
}

/// Below so many items a range is gone through; above it, the index of projections is asked first.
const NARROW_ROWS: u32 = 2_000;

/// Statements with more values than that are planned each time.
const BINDS_KEPT_MAX: usize = 16;
/// Among so many of the newest of a tenant, those of a range are looked for; then the range is sorted.
const NEWEST_ROWS: i64 = 10_000;
/// Further pages are found faster by sorting than by walking.
const NEWEST_WANTED: u32 = 2_000;

/// The value has all there is. The comparison is never true: without statistics "is null" alone is taken for a row in two hundred,
/// and everything is sorted instead of walked.
const WHOLE: &str = "(i.content_id is null or i.content_id < '')";

/// What a search without a filter needs of a row.
const PLAIN_COLUMNS: &str = "i.tenant, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros, \
    i.expires_at, i.size_bytes, i.has_marks, i.content_id";

/// What a search looks at of a row before it knows that it is a hit.
pub(in crate::storage) const COLUMNS: &str = "i.tenant, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros, \
    i.expires_at, i.size_bytes, i.has_marks, i.content_id, i.projection";

/// Conditions of a search.
pub(in crate::storage) struct SearchConditions {
    /// Life and range, and that the value has all there is.
    pub(in crate::storage) place: String,
    /// Life and range of items that have not.
    kept_elsewhere: String,
    /// There is a range.
    is_part: bool,
    /// Behind a position; begins with `and` where there is one.
    after: String,
    /// On `i` and on `p.d`, the tenant's projection.
    pub(in crate::storage) filter: String,
    indexed: String,
}

impl SearchConditions {
    /// What stands before `select`, and from `from` to the last condition. A plan is made without the values, so it cannot
    /// know which of the two indexes has fewer rows: the statement looks, and runs one branch of two.
    pub(in crate::storage) fn source(&self) -> (String, String) {
        let Self { place, filter, indexed, after, .. } = self;
        let (with, items) = if indexed.is_empty() {
            let items = format!("(select {COLUMNS} from items i where i.tenant = $1 and {place})");
            (String::new(), items)
        } else {
            let with = format!(
                "wide as materialized (select count(*) > {NARROW_ROWS} as so from
                    (select 1 from items i where i.tenant = $1 and {place}
                     limit {NARROW_ROWS} + 1) i)"
            );
            let items = format!(
                "(select {COLUMNS} from items i
                  where not (select so from wide) and i.tenant = $1 and {place}
                  union all
                  select {COLUMNS} from (select {COLUMNS} from items i
                        where (select so from wide) and {indexed} offset 0) i
                  where i.tenant = $1 and {place})"
            );
            (with, items)
        };
        let join = " i cross join lateral (select i.projection -> $1 as d) p where ";
        let from = ["from ", &items, join, filter, after].concat();
        (if with.is_empty() { with } else { format!("with {with}") }, from)
    }

    /// How many are left out of a listing.
    fn count_omitted(&self) -> String {
        // Likewise "is not null" is taken for all there is, and the index of contents left aside.
        format!(
            "(select count(*) from items i where i.tenant = $1 and i.content_id > '' and {})",
            self.kept_elsewhere
        )
    }

    /// The same without a filter, for the `wanted` newest ones. A small range is sorted. Of a large one, or of the whole
    /// tenant, they are looked for among the newest `rows`, by the index. Their number is a value: a plan without statistics
    /// takes it for a part of what there is, and does not sort all of it.
    fn newest(&self, wanted: &str, rows: &str) -> (String, String) {
        let Self { place, after, is_part, .. } = self;
        let items = format!("select {PLAIN_COLUMNS} from items i where i.tenant = $1");
        let by_time = format!("select {PLAIN_COLUMNS} from items i where i.{TENANT_IN_INDEX} = $1");
        if !is_part {
            return (String::new(), format!("from ({by_time} and {place}{after}) i"));
        }
        let order = order_by(ItemSort::Created);
        let with = format!(
            "with wide as materialized (
                select count(*) > {NARROW_ROWS} and {wanted} <= {NEWEST_WANTED} as so from
                    (select 1 from items i where i.tenant = $1 and {place}
                     limit {NARROW_ROWS} + 1) i
             ), quick as materialized (
                select {PLAIN_COLUMNS} from ({by_time} and (select so from wide){after}
                    order by {order} limit {rows}) i
                where {place} order by {order} limit {wanted}
             )"
        );
        let enough = format!("(select count(*) from quick) >= {wanted}");
        let from = format!(
            "from (select {PLAIN_COLUMNS} from quick i where {enough}
                   union all
                   {items} and not {enough} and {place}{after}) i"
        );
        (with, from)
    }
}

impl Statement {
    /// $1 is the tenant, $2 the time.
    pub(in crate::storage) fn new(tenant: &str, now: Micros) -> Self {
        let binds = vec![Bound::Text(tenant.to_owned()), Bound::Number(now)];
        Self { text: String::new(), binds }
    }

    pub(in crate::storage) fn count(
        tenant: &str,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Self {
        let mut statement = Self::new(tenant, now);
        let wanted = statement.conditions(tenant, within, scope);
        let certain = if scope.filter.is_some() { " and not i.has_marks" } else { "" };
        let (with, from) = wanted.source();
        statement.text = format!("{with} select count(*) as count {from}{certain}");
        statement
    }

    /// Where a search found nothing, and so no row says it.
    pub(in crate::storage) fn omitted(
        tenant: &str,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Self {
        let mut statement = Self::new(tenant, now);
        let place = Scope { filter: None, ..scope.clone() };
        let omitted = statement.conditions(tenant, within, &place).count_omitted();
        statement.text = format!("select {omitted} as count");
        statement
    }

    pub(in crate::storage) fn search(tenant: &str, ask: &Ask<'_>) -> Self {
        let mut statement = Self::new(tenant, ask.now);
        let mut wanted = statement.conditions(tenant, ask.within, ask.scope);
        if let Some(after) = ask.after {
            wanted.after = statement.behind(ask.sort, after);
        }
        let number = |it: usize| Bound::Number(i64::try_from(it).unwrap_or(i64::MAX));
        let filtered = ask.scope.filter.is_some();
        // Without a filter every row is a match, and the database skips.
        let (skipped, taken) =
            if filtered { (0, ask.offset + ask.rows) } else { (ask.offset, ask.rows) };
        let (limit, offset) = (statement.bind(number(taken)), statement.bind(number(skipped)));
        let first = statement.bind(number(ask.offset));
        let bytes =
            statement.bind(Bound::Number(i64::try_from(LIMITS.list_bytes_max).unwrap_or(i64::MAX)));
        let omitted = wanted.count_omitted();
        let (with, mut from) = if !filtered && ask.sort == ItemSort::Created {
            let rows = statement.bind(Bound::Number(NEWEST_ROWS));
            wanted.newest(&format!("{limit} + {offset}"), &rows)
        } else {
            wanted.source()
        };
        if ask.only_marked {
            from.push_str(" and i.has_marks");
        }
        let with = if with.is_empty() { "with".to_owned() } else { format!("{with},") };
        let order = order_by(ask.sort);
        let body = match (ask.wants_values, filtered) {
            (true, _) => "true",
            (false, true) => "n.has_marks",
            (false, false) => "false",
        };
        statement.text = format!(
            "{with} hit as materialized (
                select i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros, i.expires_at,
                    i.size_bytes, i.has_marks
                {from}
                order by {order} limit {limit} offset {offset}
             ), numbered as (
                select hit.*, row_number() over (order by {order}) + {offset} as number from hit
             ), n as (
                select numbered.*, sum(size_bytes) filter (where number > {first} or has_marks)
                    over (order by number) as bytes
                from numbered
             )
             select n.*, b.digest, b.body, b.parts, b.scope_id, null::bytea as content_id, {omitted} as omitted
             from n
             left join lateral (
                select b.digest, b.body, b.parts, b.scope_id from items b
                where {body} and n.bytes - n.size_bytes < {bytes}
                    and b.tenant = $1 and b.namespace = n.namespace and b.key = n.key
                limit 1) b on true
             where n.number > {first} or n.has_marks
             order by n.number"
        );
        statement
    }

    pub(in crate::storage) fn conditions(
        &mut self,
        tenant: &str,
        within: &[Namespace],
        scope: &Scope,
    ) -> SearchConditions {
        let lives = "(i.expires_at is null or i.expires_at > $2)";
        let mut all = vec![format!("{lives} and {WHOLE}")];
        if scope.exact {
            let namespace = self.bind(Bound::Text(literal(&scope.prefix)));
            all.push(format!("i.namespace = cast({namespace} as text)::text[]"));
        } else if within.iter().all(|it| !it.labels().is_empty()) {
            let ranges: Vec<String> = within.iter().map(|it| self.range(it)).collect();
            all.push(format!("({})", ranges.join(" or ")));
        }
        let (mut filter, mut indexed) = ("true".to_owned(), String::new());
        if let Some(of_fields) = &scope.filter {
            let condition = Condition::new(tenant, of_fields, self.binds.len() + 1);
            self.binds.extend(condition.binds.into_iter().map(|it| match it {
                Bind::Text(text) => Bound::Text(text),
                Bind::Texts(texts) => Bound::Texts(texts),
            }));
            (filter, indexed) = (condition.text, condition.indexed);
        }
        let is_part = all.len() > 1;
        let place = all.join(" and ");
        let kept_elsewhere = place.replacen(WHOLE, "i.content_id is not null", 1);
        SearchConditions { place, kept_elsewhere, is_part, after: String::new(), filter, indexed }
    }

    /// Everything below a prefix: behind it comes the last label with the least character that a label may have.
    fn range(&mut self, prefix: &Namespace) -> String {
        let (from, to) = bounds(prefix);
        let (from, to) = (self.bind(Bound::Text(from)), self.bind(Bound::Text(to)));
        format!(
            "i.namespace >= cast({from} as text)::text[] and i.namespace < cast({to} as text)::text[]"
        )
    }

    fn behind(&mut self, sort: ItemSort, after: &ItemCursor) -> String {
        let namespace = self.bind(Bound::Text(literal(&after.address.namespace)));
        let key = self.bind(Bound::Bytes(after.address.key.as_bytes().to_vec()));
        let place = format!("(i.namespace, i.key) > (cast({namespace} as text)::text[], {key})");
        let column = match sort {
            ItemSort::Key => return format!(" and {place}"),
            ItemSort::Created | ItemSort::Score => "i.created_at",
            ItemSort::Updated => "i.updated_at",
        };
        let time = self.bind(Bound::Number(after.time));
        // The first condition is the one that an index has.
        format!(" and {column} <= {time} and ({column} < {time} or {place})")
    }

    pub(in crate::storage) fn bind(&mut self, bound: Bound) -> String {
        self.binds.push(bound);
        format!("${}", self.binds.len())
    }

    pub(in crate::storage) fn query(self) -> Query<'static, Postgres, PgArguments> {
        // Planning costs more than running. Filters have any number of forms: those of large ones are not kept, and would
        // drive out the others.
        let is_common = self.binds.len() <= BINDS_KEPT_MAX;
        let query = sqlx::query(AssertSqlSafe(self.text)).persistent(is_common);
        self.binds.into_iter().fold(query, |query, bound| match bound {
            Bound::Text(text) => query.bind(text),
            Bound::Texts(texts) => query.bind(texts),
            Bound::Bytes(bytes) => query.bind(bytes),
            Bound::Number(number) => query.bind(number),
            Bound::Reals(numbers) => query.bind(numbers),
        })
    }
}

/// The range of everything below a prefix that has labels.
pub(in crate::storage) fn bounds(prefix: &Namespace) -> (String, String) {
    let mut end = prefix.labels().to_vec();
    if let Some(last) = end.last_mut() {
        last.push('\u{1}');
    }
    (literal(prefix), literal(&Namespace::stored(end)))
}
