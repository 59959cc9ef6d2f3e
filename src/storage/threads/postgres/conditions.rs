//! Builds the SQL text of listings, searches and counts of threads.

use serde_json::Value;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres, Row};

use crate::domain::json::filter::{Filter, Test};
use crate::domain::threads::details_filter::is_label;
use crate::domain::threads::thread::{ThreadQuery, ThreadSort};
use crate::storage::postgres::{NOW, TENANT_IN_INDEX};
use crate::storage::store::postgres::filter::{Bind, Condition, MARKED};
use crate::storage::threads::search::Ask;
use crate::storage::threads::status_conditions;
use crate::storage::threads::thread_filter::{SHOWN, ThreadFilter, Way, end};

pub(super) const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes, \
     generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac, run_state, run_at, is_stale, lease_expires_at";

/// The number of the first bind of a condition on details.
const FIRST_FILTER_BIND: usize = 23;

/// The bind of [`ThreadQuery::busy_since`].
const BUSY_SINCE: &str = "$22";

/// Matches in the index of details up to which they are found by it. Of more, threads are walked in their order.
const NARROW_ROWS: u32 = 2_000;

/// Details by a part of the title.
const BY_TITLE: &str =
    "(select i.thread_key as details_key, i.has_marks, i.projection, i.title_folded
    from thread_details i where i.tenant = $1 and strpos(i.title_folded, $19) > 0 offset 0) i";

/// The beginning of an id as a range of the primary key.
const BY_ID: &str = " and thread_id >= $20 and ($21 = '' or thread_id < $21)";

/// Threads with what conditions on their details look at, one by one.
const WITH_DETAILS: &str = "threads left join lateral (
        select i.has_marks, i.projection, i.title_folded from thread_details i
        where i.tenant = threads.tenant and i.thread_key = threads.thread_key limit 1) i on true
    cross join lateral (select i.projection -> $1 as d) p";

/// Where the rows of a statement come from.
struct Source {
    /// A table expression with `threads`, its details `i` and their projection `p.d`.
    from: String,
    /// When it is asked, and what else it needs of a row; begins with `and` where there is something.
    guard: &'static str,
    /// Another column that has what the threads are sorted by, and an index.
    sorted_by: Option<&'static str>,
    /// It goes through the threads in their order.
    is_walk: bool,
}

/// The conditions of one statement, and the texts made of them. Only fixed fragments enter a text; every value is bound.
pub(super) struct Conditions<'a> {
    query: &'a ThreadQuery,
    /// Begins with `and` where there is one.
    text: String,
    /// What the index of details answers; empty where it answers nothing.
    indexed: String,
    /// Whether conditions look at details.
    reads_details: bool,
    /// The index of details is known to have too many rows.
    is_wide: bool,
    /// A part of a title finds the rows, or the beginning of an id.
    is_by_words: bool,
    /// Holds where a statement cannot decide about a thread; empty where it always can.
    uncertain: String,
    binds: Vec<Bind>,
    /// The place of a thread's status in an order.
    status_place: String,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(tenant: &str, ask: Ask<'a>, is_sealed: bool, is_wide: bool) -> Self {
        let query = ask.query;
        let mut it = Self {
            query,
            text: plain_conditions(query),
            indexed: String::new(),
            reads_details: false,
            is_wide,
            is_by_words: false,
            uncertain: String::new(),
            binds: Vec::new(),
            status_place: status_conditions::place(BUSY_SINCE, NOW),
        };
        if is_sealed {
            return it;
        }
        it.reads_details = !query.details.is_empty();
        if !query.details.metadata.is_empty() {
            it.add_metadata(tenant, &query.details.metadata);
        }
        if query.details.words.is_some() {
            it.is_by_words = it.indexed.is_empty();
            if !it.is_by_words {
                it.text += " and (strpos(i.title_folded, $19) > 0 or starts_with(thread_id, $20))";
            }
        }
        if ask.only_uncertain {
            it.text += &format!(" and {}", it.uncertain);
        }
        it
    }

    /// Fields that checkpoints set too are asked for in both places, and each thread is looked at again.
    fn add_metadata(&mut self, tenant: &str, all: &[Filter]) {
        let (labels, set): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_label);
        self.uncertain = "coalesce(i.has_marks, false)".into();
        if !set.is_empty() {
            let condition = Condition::new(tenant, &Filter::All(set), FIRST_FILTER_BIND);
            self.text += &format!(" and {}", condition.text);
            self.indexed = condition.indexed;
            self.binds = condition.binds;
        }
        for label in &labels {
            let Filter::Field(field, test) = label else { continue };
            let name = &field.name;
            let set = format!("coalesce(jsonb_exists(p.d, '{name}'), false)");
            let hidden = format!("coalesce(p.d = {MARKED}, false)");
            self.uncertain += &format!(" or {set} or {hidden}");
            let said = match test {
                // A column of text holds no NUL.
                Test::Equal(Value::String(text)) if !text.contains('\0') => {
                    self.binds.push(Bind::Text(text.clone()));
                    let bind = FIRST_FILTER_BIND + self.binds.len() - 1;
                    format!(" or {name} = ${bind}")
                }
                _ => String::new(),
            };
            self.text += &format!(" and ({set} or {hidden}{said})");
        }
        self.uncertain = format!("({})", self.uncertain);
    }

    /// A plan is made without the values, so the statement looks how many rows the index has, and runs one branch of two.
    fn sources(&self) -> Vec<Source> {
        let walk =
            |guard| Source { from: WITH_DETAILS.into(), guard, sorted_by: None, is_walk: true };
        if !self.reads_details {
            return self.walks(&Source { from: "threads".into(), ..walk("") });
        }
        if self.is_by_words {
            return vec![with_thread(BY_TITLE), Source { is_walk: false, ..walk(BY_ID) }];
        }
        if self.indexed.is_empty() || self.is_wide {
            return self.walks(&walk(""));
        }
        let found = self.in_index("not (select so from wide)");
        vec![walk(" and (select so from wide)"), with_thread(&found)]
    }

    /// A thread that is not stale has the time of its last change in an index, too.
    fn walks(&self, all: &Source) -> Vec<Source> {
        let from = || all.from.clone();
        if self.query.sort != ThreadSort::Updated {
            return vec![Source { from: from(), ..*all }];
        }
        vec![
            Source { from: from(), guard: " and not is_stale", sorted_by: Some("run_of"), ..*all },
            Source { from: from(), guard: " and is_stale", ..*all },
        ]
    }

    /// All matches are wanted, so none is passed over on a walk.
    fn sources_of_all(&self) -> Vec<Source> {
        if self.is_by_words || self.indexed.is_empty() {
            return self.sources();
        }
        vec![with_thread(&self.in_index("true"))]
    }

    /// Details `i` that the index finds. Its entries are the tenant's own.
    fn in_index(&self, guard: &str) -> String {
        let indexed = &self.indexed;
        format!(
            "(select i.details_key, i.has_marks, i.projection, i.title_folded
                from (select i.tenant, i.thread_key as details_key, i.has_marks, i.projection, i.title_folded
                    from thread_details i where {guard} and {indexed} offset 0) i
                where i.tenant = $1) i"
        )
    }

    /// Whether the statement looks how many rows the index has.
    fn asks_width(&self) -> bool {
        !self.indexed.is_empty() && !self.is_wide
    }

    /// Each way in is a page of its own by its own index; the page is the first of them all. None: there is no way in.
    pub(super) fn page(&self, ways: &[Way]) -> Option<String> {
        let order = format!("order by {} limit $8", self.order());
        let end = |source: &Source| {
            let column = source.sorted_by.unwrap_or(self.column());
            let after = self.after(column);
            format!("{after} order by {} limit $8", self.order_by(column))
        };
        let (with, width) = if self.asks_width() {
            let found = self.in_index("true");
            let with = format!(
                "with wide as materialized (select count(*) > {NARROW_ROWS} as so
                    from (select 1 from {found} limit {NARROW_ROWS} + 1) i) "
            );
            (with, "(select so from wide)")
        } else {
            (String::new(), "false")
        };
        let columns = format!("{COLUMNS}, {width} as is_wide");
        let pages = self.parts(&self.sources(), ways, &columns, end);
        match (ways, &pages[..]) {
            (_, []) => None,
            ([Way::Everything | Way::Owner | Way::Exact], [page]) => Some(format!("{with}{page}")),
            // A thread that there are several ways to is listed once.
            _ => {
                let all = pages.join(") union all (");
                Some(format!(
                    "{with}select * from (select distinct {COLUMNS}, is_wide from (({all})) pages) pages {order}"
                ))
            }
        }
    }

    /// None: there is no way in.
    pub(super) fn count(&self, ways: &[Way]) -> Option<String> {
        let certain = if self.uncertain.is_empty() { "" } else { " and not " };
        let certain = format!("{certain}{}", self.uncertain);
        let parts = self.parts(&self.sources_of_all(), ways, "thread_id", |_| certain.clone());
        let all = parts.join(") union (");
        (!parts.is_empty()).then(|| format!("select count(*) from (({all})) found"))
    }

    /// One text for each way and each source. `end` is what comes behind the conditions.
    fn parts(
        &self,
        sources: &[Source],
        ways: &[Way],
        columns: &str,
        end: impl Fn(&Source) -> String,
    ) -> Vec<String> {
        let conditions = &self.text;
        let of_tenant = |source: &Source, tenant: &str, way: &str| {
            let Source { from, guard, .. } = source;
            let end = end(source);
            format!(
                "select {columns} from {from} where {tenant} = $1 and {SHOWN}{way}{guard}{conditions} {end}"
            )
        };
        let mut parts = Vec::new();
        for way in ways {
            for source in sources {
                let page = |way: &str| of_tenant(source, "threads.tenant", way);
                parts.push(match way {
                    Way::Everything if source.is_walk && self.has_index(source) => {
                        of_tenant(source, TENANT_IN_INDEX, "")
                    }
                    Way::Everything => page(""),
                    Way::Owner => page(" and owner = $9"),
                    Way::Exact => page(" and thread_id = any ($10)"),
                    Way::Prefix => {
                        let one = page(" and thread_id >= r.first and thread_id < r.last");
                        format!(
                            "select p.* from unnest($11::text[], $12::text[]) r (first, last)
                             cross join lateral ({one}) p"
                        )
                    }
                });
            }
        }
        parts
    }

    /// Whether an index has the threads of the tenant in the order that is asked for, or the few that are in a rare state.
    fn has_index(&self, source: &Source) -> bool {
        match self.query.sort {
            ThreadSort::Created | ThreadSort::StateUpdated => true,
            ThreadSort::Updated => source.sorted_by.is_some(),
            ThreadSort::Status | ThreadSort::ThreadId => false,
        }
    }

    fn column(&self) -> &str {
        match self.query.sort {
            ThreadSort::Created => "created_at",
            ThreadSort::Updated => "updated_at",
            ThreadSort::StateUpdated => "run_at",
            ThreadSort::Status => &self.status_place,
            ThreadSort::ThreadId => "thread_id",
        }
    }

    pub(super) fn order(&self) -> String {
        self.order_by(self.column())
    }

    fn order_by(&self, column: &str) -> String {
        let direction = if self.query.ascending { "asc" } else { "desc" };
        match self.query.sort {
            ThreadSort::ThreadId => format!("thread_id {direction}"),
            _ => format!("{column} {direction}, thread_id {direction}"),
        }
    }

    /// Behind the page before.
    fn after(&self, column: &str) -> String {
        let beyond = if self.query.ascending { ">" } else { "<" };
        match (&self.query.after, self.query.sort) {
            (None, _) => String::new(),
            (_, ThreadSort::ThreadId) => format!(" and thread_id {beyond} $7"),
            _ => format!(" and ({column}, thread_id) {beyond} ($6, $7)"),
        }
    }

    /// Whether the statement has decided about a row.
    pub(super) fn are_certain(&self, row: &PgRow) -> bool {
        let details = &self.query.details;
        if details.is_empty() {
            return true;
        }
        let has_marks = row.get::<Option<bool>, _>("has_marks").unwrap_or(false);
        self.reads_details && !details.asks_labels() && !has_marks
    }

    pub(super) fn bind<'q>(
        &'q self,
        tenant: &'q str,
        filter: ThreadFilter,
        text: &str,
    ) -> Query<'q, Postgres, PgArguments> {
        let query = self.query;
        let after = query.after.as_ref();
        let words = query.details.words.as_ref();
        let bound = sqlx::query(AssertSqlSafe(text.to_owned()))
            .bind(tenant)
            .bind(&query.graph_id)
            .bind(&query.assistant_id)
            .bind(&query.user_id)
            .bind(&query.prefix)
            .bind(after.map(|it| it.time))
            .bind(after.map(|it| it.thread_id.clone()))
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .bind(filter.owner)
            .bind(filter.exact)
            .bind(filter.firsts)
            .bind(filter.ends)
            .bind(&query.ids)
            .bind(&query.owner)
            .bind(query.created.after)
            .bind(query.created.before)
            .bind(query.updated.after)
            .bind(query.updated.before)
            .bind(words.map(|it| it.folded.as_str()))
            .bind(words.map(|it| it.text.as_str()))
            .bind(words.map(|it| end(&it.text)))
            .bind(query.busy_since);
        self.binds.iter().fold(bound, |bound, bind| match bind {
            Bind::Text(text) => bound.bind(text),
            Bind::Texts(texts) => bound.bind(texts),
        })
    }
}

/// Rows `i` of details, each with its thread. A thread is looked up by its key: a plan without statistics would walk all of them for
/// each row.
fn with_thread(details: &str) -> Source {
    let from = format!(
        "{details} cross join lateral (select x.* from threads x
            where x.thread_key = i.details_key and x.{TENANT_IN_INDEX} = $1 limit 1) threads
         cross join lateral (select i.projection -> $1 as d) p"
    );
    Source { from, guard: "", sorted_by: None, is_walk: false }
}

/// Conditions on the row of a thread; begins with `and` where there is one.
fn plain_conditions(query: &ThreadQuery) -> String {
    let mut conditions = String::new();
    for (given, condition) in [
        (query.graph_id.is_some(), " and graph_id = $2"),
        (query.assistant_id.is_some(), " and assistant_id = $3"),
        (query.user_id.is_some(), " and user_id = $4"),
        (query.prefix.is_some(), " and starts_with(thread_id, $5)"),
        (query.ids.is_some(), " and thread_id = any ($13)"),
        (query.owner.is_some(), " and owner = $14"),
        (query.created.after.is_some(), " and created_at >= $15"),
        (query.created.before.is_some(), " and created_at < $16"),
        (query.updated.after.is_some(), " and updated_at >= $17"),
        (query.updated.before.is_some(), " and updated_at < $18"),
    ] {
        if given {
            conditions += condition;
        }
    }
    conditions += &status_conditions::condition(query, BUSY_SINCE, NOW);
    conditions
}
