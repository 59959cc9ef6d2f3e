//! Searches threads by the values of their newest states. An index knows short scalars; candidates of which it does not decide are opened.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};

use crate::app::App;
use crate::decode::Json;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::json::exact_json;
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;
use crate::domain::threads::details_filter::contained;
use crate::domain::threads::short_values::is_short;
use crate::domain::threads::thread::{PageFill, Thread, ThreadPage, ThreadQuery, ThreadSort};
use crate::domain::{Error, Result};
use crate::http::checkpoints::newest::newest_state;
use crate::http::request::exact::Exact;

pub const VALUES: &str = "values";
/// Candidates that are listed together.
const PAGE_THREADS: usize = 100;
/// Threads that are opened at one time. Their values are in memory meanwhile.
const AT_ONCE: usize = 4;

/// What the values of a thread's newest state have to contain. Empty: anything.
#[derive(Debug, Clone, Default)]
pub struct ValuesFilter(Vec<Filter>);

impl ValuesFilter {
    /// Objects are contained field by field, lists and all else as a whole.
    ///
    /// # Errors
    /// As [`contained`].
    pub fn read(given: Option<Exact<'_>>) -> Result<Self> {
        let filter = given.map(|it| contained(VALUES, it.0)).transpose()?;
        Ok(Self(filter.unwrap_or_default()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The conditions that the index knows.
    fn short(&self) -> Vec<Filter> {
        self.0.iter().filter(|it| is_short(it)).cloned().collect()
    }

    /// A value that cannot be shown equals nothing.
    fn matches(&self, values: Json) -> Result<bool> {
        let Json::Object(fields) = values else { return Ok(false) };
        let asked = fields.into_iter().filter(|(name, _)| self.asks(name)).collect();
        let text = serde_json::to_vec(&Json::Object(asked));
        let text = text.map_err(|error| Error::Internal(error.to_string()))?;
        let document = exact_json::parse(VALUES, &text)?;
        Ok(self.0.iter().all(|it| it.matches(&document)))
    }

    fn asks(&self, name: &str) -> bool {
        // Conditions have this character in another form.
        let is_asked = |it: &Filter| matches!(it, Filter::Field(field, _) if field.name == name);
        name.contains('\u{fdd0}') || self.0.iter().any(is_asked)
    }
}

/// A page of the threads that meet a query and contain these values. Round trips: those of a listing; with values one for each
/// page of candidates, and one for each candidate of which the index does not decide.
///
/// # Errors
/// `SearchTooWide` and `ReadTooLong` for too many candidates; else as [`Threads::list`](crate::domain::threads::service::Threads::list).
pub async fn find(
    app: &App,
    caller: &Caller,
    query: ThreadQuery,
    values: &ValuesFilter,
) -> Result<ThreadPage> {
    if values.is_empty() || query.limit == 0 {
        return app.threads.list(caller, query).await;
    }
    let query = ThreadQuery { busy_since: app.threads.busy_since(), ..query };
    let mut fill = PageFill::new(&query, query.offset);
    let mut candidates = Candidates::of(app, caller, &query, values);
    // No more are opened than the page takes, where all of them match.
    candidates.query.limit = PAGE_THREADS.min(query.offset + query.limit + 1);
    while let Some(matching) = candidates.next_matching().await? {
        for thread in matching {
            if !fill.take(thread) {
                return Ok(fill.page);
            }
        }
    }
    Ok(fill.page)
}

/// How many threads meet a query and contain these values. Round trips: one for those of which the index decides, and for the others as of
/// [`find`].
///
/// # Errors
/// As [`find`].
pub async fn count(
    app: &App,
    caller: &Caller,
    query: ThreadQuery,
    values: &ValuesFilter,
) -> Result<u64> {
    if values.is_empty() {
        return app.threads.count(caller, query).await;
    }
    let query = ThreadQuery { sort: ThreadSort::ThreadId, ascending: true, ..query };
    let mut candidates = Candidates::of(app, caller, &query, values);
    let mut count = 0;
    if candidates.are_all_short {
        let known = ThreadQuery { has_known_values: Some(true), ..candidates.query.clone() };
        count = app.threads.count(caller, known).await?;
        candidates.query.has_known_values = Some(false);
    }
    while let Some(matching) = candidates.next_matching().await? {
        count += matching.len() as u64;
    }
    Ok(count)
}

/// Threads that meet the other conditions.
struct Candidates<'a> {
    app: &'a App,
    caller: &'a Caller,
    values: &'a ValuesFilter,
    /// With the conditions that the index knows.
    query: ThreadQuery,
    /// The index knows all conditions.
    are_all_short: bool,
    is_last: bool,
    allowed: Allowed,
}

/// What one request may still open.
struct Allowed {
    threads: u64,
    until: Instant,
}

impl Allowed {
    fn new() -> Self {
        let until = Instant::now() + Duration::from_secs(LIMITS.search_seconds_max);
        Self { threads: LIMITS.value_candidates_max, until }
    }

    fn take(&mut self, now: Instant) -> Result<()> {
        let too_wide = Error::SearchTooWide { field: VALUES, limit: LIMITS.value_candidates_max };
        self.threads = self.threads.checked_sub(1).ok_or(too_wide)?;
        if now > self.until { Err(Error::ReadTooLong) } else { Ok(()) }
    }
}

impl<'a> Candidates<'a> {
    fn of(app: &'a App, caller: &'a Caller, query: &ThreadQuery, values: &'a ValuesFilter) -> Self {
        let short = values.short();
        let are_all_short = short.len() == values.0.len();
        let query = ThreadQuery { limit: PAGE_THREADS, offset: 0, values: short, ..query.clone() };
        let allowed = Allowed::new();
        Self { app, caller, values, query, are_all_short, is_last: false, allowed }
    }

    /// Those of the next page that match. None: no page is left.
    async fn next_matching(&mut self) -> Result<Option<Vec<Thread>>> {
        if self.is_last {
            return Ok(None);
        }
        let page = self.app.threads.list(self.caller, self.query.clone()).await?;
        self.is_last = page.next.is_none();
        self.query.after = page.next;
        let candidates = page.threads.into_iter().filter(|it| it.checkpoint_count > 0);
        let (app, caller, values) = (self.app, self.caller, self.values);
        let are_all_short = self.are_all_short;
        let look = |thread: Thread| async move {
            if are_all_short && thread.run.has_asked_values {
                return Ok::<_, Error>((Some(thread), false));
            }
            Ok((open(app, caller, values, thread).await?, true))
        };
        let mut looked = stream::iter(candidates.map(look)).buffered(AT_ONCE);
        let mut matching = Vec::new();
        while let Some(found) = looked.next().await {
            let (thread, is_opened) = found?;
            matching.extend(thread);
            if is_opened {
                self.allowed.take(Instant::now())?;
            }
        }
        Ok(Some(matching))
    }
}

/// The thread, if its values match.
async fn open(
    app: &App,
    caller: &Caller,
    values: &ValuesFilter,
    thread: Thread,
) -> Result<Option<Thread>> {
    let most = (LargeValues::Shown, LIMITS.display_bytes_max);
    let state = newest_state(app, caller, &thread.thread_id, most).await?;
    let Some(state) = state else { return Ok(None) };
    Ok(values.matches(state.values)?.then_some(thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_threads_are_opened_and_for_so_long() {
        let (mut allowed, now) = (Allowed::new(), Instant::now());
        for _ in 0..LIMITS.value_candidates_max {
            allowed.take(now).unwrap();
        }
        let refused = allowed.take(now).unwrap_err();
        let limit = LIMITS.value_candidates_max;
        assert!(
            matches!(refused, Error::SearchTooWide { field: VALUES, limit: it } if it == limit),
            "{refused}"
        );
        let later = now + Duration::from_secs(LIMITS.search_seconds_max + 1);
        assert!(matches!(Allowed::new().take(later), Err(Error::ReadTooLong)));
    }

    fn holds(values: &Json, wanted: &str) -> bool {
        ValuesFilter::read(Some(Exact(wanted.as_bytes()))).unwrap().matches(values.clone()).unwrap()
    }

    #[test]
    fn values_are_compared_exactly_and_only_those_that_are_asked_for() {
        let inner = vec![("a".to_owned(), Json::Int(1)), ("b".to_owned(), Json::Null)];
        let values = Json::Object(vec![
            ("topic".to_owned(), Json::Text("Rome".to_owned())),
            ("count".to_owned(), Json::Int(3)),
            ("share".to_owned(), Json::Float(1.0)),
            ("done".to_owned(), Json::Bool(true)),
            ("plan".to_owned(), Json::Object(inner)),
            ("list".to_owned(), Json::List(vec![Json::Int(1), Json::Int(2)])),
        ]);
        for (wanted, is_held) in [
            (r#"{"topic":"Rome"}"#, true),
            (r#"{"topic":"rome"}"#, false),
            (r#"{"topic":"Rome","count":3}"#, true),
            (r#"{"topic":"Rome","count":4}"#, false),
            (r#"{"count":3.0}"#, true),
            (r#"{"share":1}"#, true),
            (r#"{"done":1}"#, false),
            (r#"{"plan":{"a":1}}"#, true),
            (r#"{"plan":{"b":null}}"#, true),
            (r#"{"plan":{"c":null}}"#, false),
            (r#"{"list":[1,2]}"#, true),
            (r#"{"list":[1]}"#, false),
            (r#"{"absent":null}"#, false),
        ] {
            assert_eq!(holds(&values, wanted), is_held, "{wanted}");
        }
        assert!(!holds(&Json::List(Vec::new()), r#"{"topic":"Rome"}"#));
    }
}
