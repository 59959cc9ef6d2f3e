//! Builds the SQL text of listings, searches and counts of threads.

use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite};

use super::metadata_conditions::MetadataConditions;
use super::threads::COLUMNS;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::threads::run_state::{RunState, Status};
use crate::domain::threads::thread::{ThreadQuery, ThreadSort};
use crate::domain::tokens::grants::Action;
use crate::storage::sqlite::rows::{ids_json, prefixes_json};
use crate::storage::threads::details_document::values_of;
use crate::storage::threads::order::PageOrder;
use crate::storage::threads::search::{Ask, is_sealed};
use crate::storage::threads::status_conditions::{self, KNOWS_VALUES};
use crate::storage::threads::thread_filter::{SHOWN, ThreadFilter, Way, is_of_shown_thread};

/// The bind of [`ThreadQuery::busy_since`].
const BUSY_SINCE: &str = "$20";
const NOW: &str = "cast(unixepoch('subsec') * 1000000 as integer)";

/// $1 tenant, $2 and $3 position, $4 to $7 labels and prefix, $9 to $11 the ways in, $12 ids, $13 owner, $14 to $17 times, $18 the folded
/// text that a title has in it, null where nothing looks at titles, $19 what the id begins with, $21 rows to pass over.
const CONDITIONS: &str = "
    and ($4 is null or graph_id = $4) and ($5 is null or assistant_id = $5)
    and ($6 is null or user_id = $6)
    and ($7 is null or substr(thread_id, 1, length($7)) = $7)
    and ($12 is null or thread_id in (select value from json_each($12)))
    and ($13 is null or owner = $13)
    and ($14 is null or created_at >= $14) and ($15 is null or created_at < $15)
    and ($16 is null or updated_at >= $16) and ($17 is null or updated_at < $17)
    and ($18 is null or substr(thread_id, 1, length($19)) = $19
        or exists (select 1 from thread_details i where i.tenant = $1 and i.thread_key = threads.thread_key
            and instr(i.title_folded, $18) > 0))";

/// The number of the first bind of a condition on metadata.
const FIRST_METADATA_BIND: usize = 22;

/// Threads in a rare state up to which they are found by the index of states. Of more, threads are walked in their order.
const NARROW_ROWS: u32 = 2_000;

/// The details `i` of a thread, behind the kind of the join.
const DETAILS: &str = "(select tenant as of_tenant, thread_key as details_key, has_marks, projection from thread_details) i
    on i.of_tenant = threads.tenant and i.details_key = threads.thread_key";

/// The statement decides about no row.
const UNDECIDED: &str = "1";

/// Where the rows of a statement come from, and in which order.
struct Source {
    from: String,
    /// Begins with ` and `, or is empty.
    guard: String,
    /// What is behind the page before.
    after: String,
    order: String,
}

/// A statement with its binds. Its text is put together from constants only; everything that a caller chose is bound.
pub(super) struct Statement<'a> {
    caller: &'a Caller,
    query: &'a ThreadQuery,
    filter: ThreadFilter,
    /// The folded text that a title has in it, and what an id begins with.
    words: Option<(&'a str, &'a str)>,
    metadata: MetadataConditions,
    /// Conditions on short values, behind ` and `; empty for none.
    values: String,
    value_binds: Vec<String>,
    /// Whether a row has the short values that are asked for, by its details; else that is to be checked. Empty where nothing is asked.
    has_values: String,
    /// Holds where the statement cannot decide about a row; empty where it always can.
    uncertain: String,
    only_uncertain: bool,
    page_order: PageOrder<'a>,
    /// Conditions of rare states that are asked for, where an index has each of them in the order that is asked for.
    states: Option<Vec<String>>,
    /// Of rows as an answer has them.
    order: String,
}

impl<'a> Statement<'a> {
    pub(super) fn new(caller: &'a Caller, secret: Option<&TenantSecret>, ask: Ask<'a>) -> Self {
        let query = ask.query;
        let is_sealed = is_sealed(secret);
        let asked = &query.details.metadata;
        let metadata = if asked.is_empty() || is_sealed {
            MetadataConditions::default()
        } else {
            MetadataConditions::new(&caller.tenant, asked, FIRST_METADATA_BIND)
        };
        let uncertain = match metadata.uncertain.as_str() {
            _ if is_sealed && !query.details.is_empty() => UNDECIDED,
            // Conditions without a text do not join details.
            _ if metadata.text.is_empty() && !asked.is_empty() => UNDECIDED,
            uncertain => uncertain,
        };
        // Where content is encrypted no title can be compared here.
        let words = query.details.words.as_ref().filter(|_| !is_sealed);
        let page_order = PageOrder { query, time_bind: "$2", id_bind: "$3" };
        let order = match page_order.column() {
            Some(column) => page_order.by(column),
            None => page_order.by(&status_conditions::place(BUSY_SINCE, NOW)),
        };
        let first_bind = FIRST_METADATA_BIND + metadata.binds.len();
        let (values, value_binds, has_values) = values(caller, query, is_sealed, first_bind);
        let is_by_time = matches!(query.sort, ThreadSort::Created | ThreadSort::Updated);
        let states = status_conditions::by_states(&query.statuses, BUSY_SINCE, NOW);
        Self {
            caller,
            query,
            filter: ThreadFilter::by(caller, Action::Read),
            words: words.map(|it| (it.folded.as_str(), it.text.as_str())),
            uncertain: uncertain.to_owned(),
            metadata,
            values,
            value_binds,
            has_values,
            only_uncertain: ask.only_uncertain,
            page_order,
            states: states.filter(|_| is_by_time),
            order,
        }
    }

    pub(super) fn order(&self) -> &str {
        &self.order
    }

    pub(super) fn page(&self) -> String {
        let certain =
            if self.uncertain.is_empty() { "1" } else { &format!("not {}", self.uncertain) };
        let has_values = if self.has_values.is_empty() { "0" } else { &self.has_values };
        let conditions = self.conditions();
        let part = |source: Source| {
            let Source { from, guard, after, order } = source;
            let details = self.details();
            format!(
                "select * from (select {COLUMNS}, {certain} as is_certain, {has_values} as has_asked_values from {from}{details}
                 where threads.tenant = $1 and {SHOWN}{guard}{after}{conditions} order by {order} limit $8 + $21)"
            )
        };
        let parts: Vec<String> = self.sources().into_iter().map(part).collect();
        format!(
            "{} select * from ({}) order by {} limit $8 offset $21",
            self.width(),
            parts.join(" union all "),
            self.order
        )
    }

    /// Whether it can decide about some rows.
    pub(super) fn decides(&self) -> bool {
        self.uncertain != UNDECIDED
    }

    /// How many match, and of how many the statement cannot decide.
    pub(super) fn count(&self) -> String {
        let uncertain = if self.uncertain.is_empty() { "0" } else { &self.uncertain };
        let counts = format!("coalesce(sum(not {uncertain}), 0), coalesce(sum({uncertain}), 0)");
        let is_all = self.filter.ways() == [Way::Everything];
        if is_all && self.query.asks_only_metadata() && !self.metadata.text.is_empty() {
            return format!(
                "select {counts} from thread_details i where tenant = $1 and {} and {}",
                self.metadata.text,
                is_of_shown_thread("thread_key")
            );
        }
        let details = self.details();
        format!(
            "select {counts} from threads{details} where threads.tenant = $1 and {SHOWN}{}
                and $8 is not null and $21 is not null",
            self.conditions()
        )
    }

    /// What joins details, where conditions look at them. A thread may have none: it has no metadata then.
    fn details(&self) -> String {
        match (self.metadata.text.is_empty(), self.has_values.is_empty()) {
            (true, true) => String::new(),
            (true, false) => [" left join ", DETAILS].concat(),
            (false, _) => [" cross join ", DETAILS].concat(),
        }
    }

    fn conditions(&self) -> String {
        let status = status_conditions::condition(&self.query.statuses, BUSY_SINCE, NOW);
        let way = self.filter.condition(way_in);
        let metadata = match self.metadata.text.as_str() {
            "" => String::new(),
            text => format!(" and {text}"),
        };
        let only = match self.uncertain.as_str() {
            uncertain if self.only_uncertain => format!(" and {uncertain}"),
            _ => String::new(),
        };
        let values = &self.values;
        // Each statement has the same binds.
        format!(
            "{CONDITIONS}{status}{way}{metadata}{values}{only} and {BUSY_SINCE} is not null and ($2 is null or $2 is not null)
                and ($3 is null or $3 is not null)"
        )
    }

    /// Whether few threads may have the statuses that are asked for, so that the statement looks how many.
    fn asks_width(&self) -> bool {
        let query = self.query;
        let are_rare = !query.statuses.is_empty() && !query.statuses.contains(&Status::Idle);
        are_rare && query.sort != ThreadSort::Status && self.states.is_none()
    }

    fn width(&self) -> String {
        if !self.asks_width() {
            return String::new();
        }
        format!(
            "with wide as materialized (select count(*) > {NARROW_ROWS} as so from (select 1 from threads indexed by threads_run_state
                where tenant = $1 and run_state <> 0 limit {NARROW_ROWS} + 1))"
        )
    }

    fn sources(&self) -> Vec<Source> {
        let query = self.query;
        if let Some(states) = &self.states {
            return self.by_states(states);
        }
        if !self.asks_width() {
            return self.walks("threads", "");
        }
        let mut sources = self.walks("wide cross join threads", " and wide.so");
        let column = self.page_order.column().unwrap_or_default();
        for source in query.statuses.iter().flat_map(|it| rare(*it)) {
            let from = format!("wide cross join {}", source.from);
            sources.push(self.by(from, format!(" and not wide.so{}", source.guard), column));
        }
        sources
    }

    /// A thread that is not stale has the time of its last change in an index, too. Statuses come one after the other, each in the order
    /// of the ids.
    fn walks(&self, from: &str, guard: &str) -> Vec<Source> {
        match (self.query.sort, self.page_order.column()) {
            (ThreadSort::Updated, _) => vec![
                self.by(from.to_owned(), format!("{guard} and not is_stale"), "run_of"),
                self.stale(from, guard),
            ],
            (_, Some(column)) => vec![self.by(from.to_owned(), guard.to_owned(), column)],
            (_, None) => self.by_statuses(),
        }
    }

    /// Rows in the order of a column.
    fn by(&self, from: String, guard: String, column: &str) -> Source {
        let page = self.page_order;
        Source { from, guard, after: page.after(column), order: page.by(column) }
    }

    fn stale(&self, from: &str, guard: &str) -> Source {
        let from = format!("{from} indexed by threads_stale");
        self.by(from, format!("{guard} and is_stale"), "updated_at")
    }

    /// Threads in rare states, each from an index in the order that is asked for.
    fn by_states(&self, states: &[String]) -> Vec<Source> {
        let is_by_change = self.query.sort == ThreadSort::Updated;
        let (index, fresh, column) = if is_by_change {
            ("threads_run_state", " and not is_stale", "run_of")
        } else {
            ("threads_run_state_created", "", "created_at")
        };
        let from = format!("threads indexed by {index}");
        let one = |state: &String| self.by(from.clone(), format!("{state}{fresh}"), column);
        let stale = is_by_change.then(|| self.stale("threads", ""));
        states.iter().map(one).chain(stale).collect()
    }

    fn by_statuses(&self) -> Vec<Source> {
        let page = self.page_order;
        let of_status = |status: Status| {
            let (after, order) = (page.after_among(status), page.by_id());
            rare(status).into_iter().map(move |source| Source {
                after: after.clone(),
                order: order.clone(),
                ..source
            })
        };
        page.statuses().flat_map(of_status).collect()
    }

    pub(super) fn bind(&self, text: String) -> Query<'_, Sqlite, SqliteArguments> {
        let query = self.query;
        let bound = sqlx::query(AssertSqlSafe(text))
            .bind(&self.caller.tenant)
            .bind(query.after.as_ref().map(|it| it.time))
            .bind(query.after.as_ref().map(|it| it.thread_id.as_str()))
            .bind(&query.graph_id)
            .bind(&query.assistant_id)
            .bind(&query.user_id)
            .bind(&query.prefix)
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX))
            .bind(self.filter.owner.clone())
            .bind(ids_json(&self.filter))
            .bind(prefixes_json(&self.filter))
            .bind(query.ids.as_ref().map(|it| serde_json::json!(it).to_string()))
            .bind(&query.owner)
            .bind(query.created.after)
            .bind(query.created.before)
            .bind(query.updated.after)
            .bind(query.updated.before)
            .bind(self.words.map(|it| it.0))
            .bind(self.words.map(|it| it.1))
            .bind(query.busy_since)
            .bind(i64::try_from(query.offset).unwrap_or(i64::MAX));
        self.metadata.binds.iter().chain(&self.value_binds).fold(bound, Query::bind)
    }
}

/// Conditions on short values, their binds, and whether a row that meets them is known to have the values. `first` is the number of the
/// first bind.
fn values(
    caller: &Caller,
    query: &ThreadQuery,
    is_sealed: bool,
    first: usize,
) -> (String, Vec<String>, String) {
    let none = String::new();
    match query.has_known_values {
        Some(true) if is_sealed => return (" and 0".into(), Vec::new(), none),
        _ if is_sealed || query.values.is_empty() => return (String::new(), Vec::new(), none),
        _ => {}
    }
    let asked = MetadataConditions::new(&values_of(&caller.tenant), &query.values, first);
    let mut text = String::new();
    if !asked.text.is_empty() {
        let have = format!("(i.details_key is not null and {})", asked.text);
        text = format!(" and (not {KNOWS_VALUES} or {have})");
    }
    // Where nothing was kept of a thread, nothing is asked of it.
    let has_values = format!("({KNOWS_VALUES} and not coalesce({}, 0))", asked.uncertain);
    match query.has_known_values {
        Some(true) => text += &format!(" and {has_values}"),
        Some(false) => text += &format!(" and not {has_values}"),
        None => {}
    }
    (text, asked.binds, has_values)
}

/// Threads with a status: those that are idle by the primary key, the others by the indexes of rare states.
fn rare(status: Status) -> Vec<Source> {
    let source = |from: &str, guard: String| Source {
        from: from.to_owned(),
        guard,
        after: String::new(),
        order: String::new(),
    };
    let condition = status_conditions::condition(&[status], BUSY_SINCE, NOW);
    let by_state = |states: &[RunState]| {
        let states: Vec<String> = states.iter().map(|it| it.number().to_string()).collect();
        let guard =
            format!(" and run_state <> 0 and run_state in ({}){condition}", states.join(", "));
        source("threads indexed by threads_run_state", guard)
    };
    match status {
        Status::Busy => {
            let leased = status_conditions::is_leased(NOW);
            let mut pending = by_state(&[RunState::Pending]);
            pending.guard += &format!(" and not {leased}");
            vec![source("threads indexed by threads_leased", format!(" and {leased}")), pending]
        }
        Status::Error => vec![by_state(&[RunState::Failed])],
        Status::Interrupted => vec![by_state(&[RunState::Interrupted, RunState::Pending])],
        Status::Idle => vec![source("threads", condition)],
    }
}

/// $9 owner, $10 ids, $11 prefixes. One file's threads are few enough for the other ways to look through them in order.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "owner = $9",
        Way::Exact => "thread_id in (select value from json_each($10))",
        Way::Prefix => {
            "exists (select 1 from jsonb_each($11) r
                where thread_id >= r.value ->> 0 and thread_id < r.value ->> 1)"
        }
    }
}
