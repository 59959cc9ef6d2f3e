//! Puts the statements together: where rows come from, in which order, and how many there are.

use super::{ASKED, BUSY_SINCE, COLUMNS, Conditions, FoundBy};
use crate::domain::threads::run_state::Status;
use crate::domain::threads::thread::ThreadSort;
use crate::storage::postgres::{NOW, TENANT_IN_INDEX};
use crate::storage::threads::status_conditions::{self, KNOWS_VALUES};
use crate::storage::threads::thread_filter::{SHOWN, Way, is_of_shown_thread};

/// Matches in the index of details up to which they are found by it. Of more, threads are walked in their order.
const NARROW_ROWS: u32 = 2_000;

/// Details by a part of the title.
const BY_TITLE: &str =
    "(select i.thread_key as details_key, i.has_marks, i.projection, i.title_folded
    from thread_details i where i.tenant = $1 and strpos(i.title_folded, $19) > 0 offset 0) i";

/// The beginning of an id as a range of the primary key.
const BY_ID: &str = " and thread_id >= $20 and ($21 = '' or thread_id < $21)";

/// All details of the tenant.
const ALL_DETAILS: &str =
    "(select i.thread_key as details_key, i.has_marks, i.projection, i.title_folded
    from thread_details i where i.tenant = $1) i";

/// Threads with what conditions on their details look at, one by one.
const WITH_DETAILS: &str = "threads left join lateral (
        select i.has_marks, i.projection, i.title_folded from thread_details i
        where i.tenant = threads.tenant and i.thread_key = threads.thread_key limit 1) i on true
    cross join lateral (select i.projection -> $1 as d, i.projection -> ($1 || '.values') as v) p";

/// Threads whose short values are not known, beside those that the index finds. They are few.
const UNKNOWN: [&str; 2] = ["is_stale", "not is_stale and values_of <> run_of"];

/// Where the rows of a statement come from.
struct Source {
    /// A table expression with `threads`, its details `i` and their projections: `p.d` of metadata, `p.v` of short values.
    from: String,
    /// When it is asked, and what else it needs of a row; begins with `and` where there is something.
    guard: String,
    order: Order,
    /// It goes through the threads in their order.
    is_walk: bool,
    /// The guard says how the threads stand. To say it twice would make an order by times look dear.
    is_of_state: bool,
}

/// How the rows of a source are sorted.
#[derive(Clone, Copy)]
enum Order {
    /// By the column that the query is sorted by.
    AsAsked,
    /// By another column that has the same, and an index.
    By(&'static str),
    /// By the thread's id: all have this status.
    Among(Status),
}

impl Source {
    fn walk(from: &str, guard: &str) -> Self {
        let (from, guard) = (from.into(), guard.into());
        Self { from, guard, order: Order::AsAsked, is_walk: true, is_of_state: false }
    }

    /// Rows `i` of details, each with its thread. A thread is looked up by its key: a plan without statistics would walk all of them
    /// for each row.
    fn with_thread(details: &str) -> Self {
        let from = format!(
            "{details} cross join lateral (select x.* from threads x
                where x.thread_key = i.details_key and x.{TENANT_IN_INDEX} = $1 limit 1) threads
             cross join lateral (select i.projection -> $1 as d, i.projection -> ($1 || '.values') as v) p"
        );
        Self { is_walk: false, ..Self::walk(&from, "") }
    }
}

impl Conditions<'_> {
    /// Threads that the index of details finds, and those of which it may not say what is asked for.
    fn found(&self, guard: &str) -> Vec<Source> {
        let found = Source::with_thread(&self.in_index(guard));
        if self.found_by != FoundBy::Values {
            return vec![found];
        }
        let known = format!(" and {KNOWS_VALUES}");
        let unknown = UNKNOWN.map(|it| {
            // In a table expression of its own: a plan would go through all threads in the order that is asked for. An index has those
            // that are shown.
            let threads = format!(
                "(select x.* from threads x where x.{TENANT_IN_INDEX} = $1 and {SHOWN} and {it} offset 0) threads"
            );
            let from = WITH_DETAILS.replacen("threads", &threads, 1);
            Source { is_walk: false, ..Source::walk(&from, &format!(" and {guard}")) }
        });
        [Source { guard: known, ..found }].into_iter().chain(unknown).collect()
    }

    /// A plan is made without the values, so the statement looks how many rows the index has, and runs one branch of two.
    fn sources(&self) -> Vec<Source> {
        if !self.reads_details {
            return self.walks("threads", "");
        }
        if self.found_by == FoundBy::Words {
            let by_id = Source { is_walk: false, ..Source::walk(WITH_DETAILS, BY_ID) };
            return vec![Source::with_thread(BY_TITLE), by_id];
        }
        if self.indexed.is_empty() || self.is_wide {
            return self.walks(WITH_DETAILS, "");
        }
        let mut sources = self.walks(WITH_DETAILS, " and (select so from wide)");
        sources.extend(self.found("not (select so from wide)"));
        sources
    }

    /// A thread that is not stale has the time of its last change in an index, too. Threads in rare states come state by state, each from an
    /// index in the order that is asked for. Statuses come one after the other, each in the order of the ids.
    fn walks(&self, from: &str, guard: &str) -> Vec<Source> {
        let in_order = |guard: &str, order: Order| {
            let of_state = |state: String| Source {
                order,
                is_of_state: true,
                ..Source::walk(from, &format!("{guard}{state}"))
            };
            match status_conditions::by_states(&self.query.statuses, BUSY_SINCE, NOW) {
                Some(states) => states.into_iter().map(of_state).collect(),
                None => vec![Source { order, ..Source::walk(from, guard) }],
            }
        };
        match self.query.sort {
            ThreadSort::Updated => {
                let mut sources =
                    in_order(&format!("{guard} and not is_stale"), Order::By("run_of"));
                sources.push(Source::walk(from, &format!("{guard} and is_stale")));
                sources
            }
            ThreadSort::Created => in_order(guard, Order::AsAsked),
            ThreadSort::Status => {
                let one = |status: Status| {
                    let stands = status_conditions::condition(&[status], BUSY_SINCE, NOW);
                    let order = Order::Among(status);
                    Source { order, ..Source::walk(from, &format!("{guard}{stands}")) }
                };
                self.order.statuses().map(one).collect()
            }
            _ => vec![Source::walk(from, guard)],
        }
    }

    /// All matches are wanted, so none is passed over on a walk.
    fn sources_of_all(&self) -> Vec<Source> {
        if self.found_by == FoundBy::Words || self.indexed.is_empty() {
            return self.sources();
        }
        self.found("true")
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
    pub(in crate::storage::threads::postgres) fn page(&self, ways: &[Way]) -> Option<String> {
        let order = format!("order by {} limit $8 offset $23", self.order());
        // Of each source there may have to be all that the page passes over.
        let end = |source: &Source| format!("{} limit $8 + $23", self.after_in_order(source.order));
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
        let columns =
            format!("{COLUMNS}, {} as has_asked_values, {width} as is_wide", self.has_values);
        let pages = self.parts(&self.sources(), ways, &columns, end);
        match (ways, &pages[..]) {
            (_, []) => None,
            ([Way::Everything | Way::Owner | Way::Exact], [page]) => {
                Some(format!("{with}select * from ({page}) page {order}"))
            }
            // Sources of walks have no thread in common.
            ([Way::Everything | Way::Owner | Way::Exact], _) if self.found_by != FoundBy::Words => {
                let all = pages.join(") union all (");
                Some(format!("{with}select * from (({all})) pages {order}"))
            }
            // A thread that there are several ways to is listed once.
            _ => {
                let all = pages.join(") union all (");
                Some(format!(
                    "{with}select * from (select distinct {COLUMNS}, {ASKED} from (({all})) pages) pages {order}"
                ))
            }
        }
    }

    /// How many match, and of how many the statement cannot decide. None: there is no way in.
    pub(in crate::storage::threads::postgres) fn count(&self, ways: &[Way]) -> Option<String> {
        const COUNTS: &str =
            "count(*) filter (where not is_uncertain), count(*) filter (where is_uncertain)";
        let uncertain = if self.uncertain.is_empty() { "false" } else { &self.uncertain };
        if ways == [Way::Everything] && self.query.asks_only_metadata() {
            return Some(format!("select {COUNTS} from ({}) found", self.details(uncertain)));
        }
        let columns = format!("thread_id, {uncertain} as is_uncertain");
        let parts = self.parts(&self.sources_of_all(), ways, &columns, |_| String::new());
        let all = parts.join(") union (");
        (!parts.is_empty()).then(|| format!("select {COUNTS} from (({all})) found"))
    }

    /// Whether each of the details that match is uncertain.
    fn details(&self, uncertain: &str) -> String {
        let found =
            if self.indexed.is_empty() { ALL_DETAILS.to_owned() } else { self.in_index("true") };
        let (conditions, is_shown) = (&self.text, is_of_shown_thread("i.details_key"));
        format!(
            "select {uncertain} as is_uncertain from {found} cross join lateral (select i.projection -> $1 as d) p
             where {is_shown}{conditions}"
        )
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
            let (end, standing) =
                (end(source), if source.is_of_state { "" } else { &self.standing });
            format!(
                "select {columns} from {from} where {tenant} = $1 and {SHOWN}{way}{guard}{standing}{conditions} {end}"
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
        match source.order {
            Order::Among(status) => status != Status::Idle,
            Order::By(_) => true,
            Order::AsAsked => !matches!(self.query.sort, ThreadSort::ThreadId | ThreadSort::Size),
        }
    }

    /// Of rows as an answer has them.
    pub(in crate::storage::threads::postgres) fn order(&self) -> String {
        match self.order.column() {
            Some(column) => self.order.by(column),
            None => self.order.by(&status_conditions::place(BUSY_SINCE, NOW)),
        }
    }

    /// What is behind the page before, in order.
    fn after_in_order(&self, order: Order) -> String {
        let page = self.order;
        let by = |column: &str| format!("{} order by {}", page.after(column), page.by(column));
        match (order, page.column()) {
            (Order::Among(status), _) => {
                format!("{} order by {}", page.after_among(status), page.by_id())
            }
            (Order::By(column), _) | (Order::AsAsked, Some(column)) => by(column),
            // By the place of the status, where rows are not found status by status.
            (Order::AsAsked, None) => by(&status_conditions::place(BUSY_SINCE, NOW)),
        }
    }
}
