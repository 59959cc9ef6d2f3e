//! Builds the SQL text of listings, searches and counts of threads.

mod statements;

use serde_json::Value;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres, Row};

use super::labels::{self, SETS_GRAPH};
use crate::domain::json::filter::{Filter, Test};
use crate::domain::threads::details_filter::is_label;
use crate::domain::threads::thread::ThreadQuery;
use crate::storage::postgres::NOW;
use crate::storage::store::postgres::filter::{Bind, Condition, MARKED};
use crate::storage::threads::details_document::values_of;
use crate::storage::threads::order::PageOrder;
use crate::storage::threads::search::Ask;
use crate::storage::threads::status_conditions::{self, KNOWS_VALUES};
use crate::storage::threads::thread_filter::{ThreadFilter, end};

pub(super) const COLUMNS: &str = "thread_id, created_at, updated_at, last_step, checkpoint_count, size_bytes, \
     generation, owner, graph_id, assistant_id, user_id, thread_key, scope_id, mac, run_state, run_at, is_stale, lease_expires_at, \
     title_misses";

/// What a page has of each thread besides: whether it has the short values that are asked for, and whether the index has too many rows.
pub(super) const ASKED: &str = "has_asked_values, is_wide";

/// The number of the first bind of a condition on details.
const FIRST_FILTER_BIND: usize = 24;

/// The bind of [`ThreadQuery::busy_since`].
const BUSY_SINCE: &str = "$22";

/// Which conditions on details find the rows; the others are held against what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundBy {
    Metadata,
    /// Threads whose values are not known are looked at besides.
    Values,
    /// A part of a title, or the beginning of an id.
    Words,
}

/// The conditions of one statement, and the texts made of them. Only fixed fragments enter a text; every value is bound.
pub(super) struct Conditions<'a> {
    query: &'a ThreadQuery,
    /// Begins with `and` where there is one.
    text: String,
    /// That the threads stand as it is asked; as `text`.
    standing: String,
    /// What the index of details answers; empty where it answers nothing.
    indexed: String,
    /// Whether conditions look at details.
    reads_details: bool,
    /// The index of details is known to have too many rows.
    is_wide: bool,
    found_by: FoundBy,
    /// Whether a row that was found has the short values that are asked for.
    has_values: String,
    /// Holds where a statement cannot decide about a thread; empty where it always can.
    uncertain: String,
    binds: Vec<Bind>,
    order: PageOrder<'a>,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(tenant: &str, ask: Ask<'a>, is_sealed: bool, is_wide: bool) -> Self {
        let query = ask.query;
        let mut it = Self {
            query,
            text: plain_conditions(query),
            standing: status_conditions::condition(&query.statuses, BUSY_SINCE, NOW),
            indexed: String::new(),
            reads_details: false,
            is_wide,
            found_by: FoundBy::Metadata,
            has_values: "false".into(),
            uncertain: String::new(),
            binds: Vec::new(),
            order: PageOrder { query, time_bind: "$6", id_bind: "$7" },
        };
        if is_sealed {
            if query.has_known_values == Some(true) {
                it.text += " and false";
            }
            return it;
        }
        it.reads_details = !query.details.is_empty() || !query.values.is_empty();
        if !query.details.metadata.is_empty() {
            it.add_metadata(tenant, &query.details.metadata);
        }
        if !query.values.is_empty() {
            it.add_values(tenant, &query.values);
        }
        if query.details.words.is_some() {
            if it.indexed.is_empty() {
                it.found_by = FoundBy::Words;
            } else {
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
                    let is_default = self.query.details.is_by_default(name, text);
                    if is_default {
                        self.uncertain += &format!(" or {SETS_GRAPH}");
                    }
                    labels::said(name, bind, is_default)
                }
                _ => String::new(),
            };
            self.text += &format!(" and ({set} or {hidden}{said})");
        }
        self.uncertain = format!("({})", self.uncertain);
    }

    /// A thread of which they are not known passes.
    fn add_values(&mut self, tenant: &str, all: &[Filter]) {
        let first = FIRST_FILTER_BIND + self.binds.len();
        let condition = Condition::new(&values_of(tenant), &Filter::All(all.to_vec()), first);
        let have = condition.text.replace("p.d", "p.v");
        self.binds.extend(condition.binds);
        self.text += &format!(" and (not {KNOWS_VALUES} or {have})");
        self.has_values = format!("({KNOWS_VALUES} and not coalesce(i.has_marks, false))");
        if let Some(are_known) = self.query.has_known_values {
            let not = if are_known { "" } else { "not " };
            self.text += &format!(" and {not}{}", self.has_values);
        }
        if self.indexed.is_empty() {
            self.found_by = FoundBy::Values;
            self.indexed = condition.indexed;
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
            .bind(query.busy_since)
            .bind(i64::try_from(query.offset).unwrap_or(i64::MAX));
        self.binds.iter().fold(bound, |bound, bind| match bind {
            Bind::Text(text) => bound.bind(text),
            Bind::Texts(texts) => bound.bind(texts),
        })
    }
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
    conditions
}
