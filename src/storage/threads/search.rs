//! Finds and counts threads by their details, the same way for both engines. A statement narrows down as far as it can. Where it cannot
//! decide, this file does, by the metadata itself.

use async_trait::async_trait;

use super::details_document;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::limits::LIMITS;
use crate::domain::threads::details::Details;
use crate::domain::threads::run_state::{Run, RunState};
use crate::domain::threads::thread::{PageFill, Thread, ThreadPage, ThreadQuery, ThreadSort};
use crate::domain::{Error, Result};
use crate::storage::sessions::SessionEngine;

/// Rows that one statement reads where most of them may not match.
const PAGE_ROWS: usize = 256;
/// Rows of one statement that are only passed over.
const PASSED_ROWS: usize = 2_000;

/// What a statement is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub query: &'a ThreadQuery,
    /// Only threads that the statement cannot decide about.
    pub only_uncertain: bool,
}

/// A page of threads, by all conditions that a statement can decide.
#[derive(Debug, Default)]
pub struct FoundPage {
    pub threads: Vec<FoundThread>,
    /// More rows were found; their details were too much for one answer.
    pub is_cut: bool,
}

#[derive(Debug)]
pub struct FoundThread {
    pub thread: Thread,
    /// The conditions hold. Else they are to be checked.
    pub is_certain: bool,
}

/// What one statement counted of the threads that may match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// They match.
    pub certain: u64,
    /// The statement cannot decide about them.
    pub uncertain: u64,
}

/// An engine that lists threads.
#[async_trait]
pub trait ThreadPages: Send + Sync {
    /// One round trip.
    async fn thread_page(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        ask: Ask<'_>,
    ) -> Result<FoundPage>;

    /// One round trip. None: a statement cannot count them.
    async fn count_matching(
        &self,
        caller: &Caller,
        secret: Option<&TenantSecret>,
        query: &ThreadQuery,
    ) -> Result<Option<Counted>>;
}

/// What of encrypted details one request may open: no index narrows them down.
struct Opened(Option<u64>);

impl Opened {
    fn of(secret: Option<&TenantSecret>, query: &ThreadQuery) -> Self {
        let is_blind = is_sealed(secret) && !query.details.is_empty();
        Self(is_blind.then_some(LIMITS.encrypted_candidates_max))
    }

    fn take(&mut self, query: &ThreadQuery) -> Result<()> {
        let Some(left) = &mut self.0 else { return Ok(()) };
        let field = if query.details.metadata.is_empty() { "q" } else { "metadata" };
        let limit = LIMITS.encrypted_candidates_max;
        *left = left.checked_sub(1).ok_or(Error::SearchNeedsPlaintext { field, limit })?;
        Ok(())
    }
}

/// Whether no statement can look into details. None is the secret of a tenant whose key was destroyed.
pub fn is_sealed(secret: Option<&TenantSecret>) -> bool {
    secret.is_none_or(|it| it.cipher().is_some())
}

/// The secret of a tenant, as this process knows it. None: its key was destroyed, so nothing of its details can be read.
///
/// # Errors
/// A database that cannot be read.
pub async fn secret_unless_destroyed(
    engine: &impl SessionEngine,
    tenant: &str,
) -> Result<Option<TenantSecret>> {
    match engine.session_secret(tenant).await {
        Err(Error::KeyDestroyed) => Ok(None),
        secret => secret.map(Some),
    }
}

/// A page of a listing or a search; it ends early where details are many bytes. Round trips: one; more where a statement cannot decide.
///
/// # Errors
/// `SearchNeedsPlaintext`; `Integrity` for details that do not open; a database that cannot be read.
pub async fn find(
    engine: &impl ThreadPages,
    (caller, secret): (&Caller, Option<&TenantSecret>),
    query: &ThreadQuery,
) -> Result<ThreadPage> {
    let mut opened = Opened::of(secret, query);
    // Where a statement decides about every thread, it passes over them, too.
    let by_statement = if query.details.is_empty() { query.offset } else { 0 };
    let mut fill = PageFill::new(query, query.offset - by_statement);
    let limit = wanted(&fill, query);
    let mut asked = ThreadQuery { limit, offset: by_statement, ..query.clone() };
    loop {
        let ask = Ask { query: &asked, only_uncertain: false };
        let found = engine.thread_page(caller, secret, ask).await?;
        let is_last = found.threads.len() < asked.limit && !found.is_cut;
        asked.after = found.threads.last().map(|it| it.thread.position(query));
        asked.offset = 0;
        for FoundThread { thread, is_certain } in found.threads {
            opened.take(query)?;
            if !is_certain && !query.details.matches(&thread)? {
                continue;
            }
            if !fill.take(thread) {
                return Ok(fill.page);
            }
        }
        if is_last {
            return Ok(fill.page);
        }
        asked.limit = wanted(&fill, query).max(PAGE_ROWS);
    }
}

/// Rows that a statement is asked for. One more than there may be in an answer tells whether there is a next page.
fn wanted(fill: &PageFill<'_>, query: &ThreadQuery) -> usize {
    query.limit + 1 - fill.page.threads.len() + fill.to_pass.min(PASSED_ROWS)
}

/// Round trips: one; more where a statement cannot decide.
///
/// # Errors
/// As [`find`].
pub async fn count(
    engine: &impl ThreadPages,
    (caller, secret): (&Caller, Option<&TenantSecret>),
    query: &ThreadQuery,
) -> Result<u64> {
    let counted = engine.count_matching(caller, secret, query).await?;
    let only_uncertain = counted.is_some();
    let mut count = counted.map_or(0, |it| it.certain);
    if counted.is_some_and(|it| it.uncertain == 0) {
        return Ok(count);
    }
    let mut opened = Opened::of(secret, query);
    let mut asked =
        ThreadQuery { sort: ThreadSort::ThreadId, ascending: true, after: None, ..query.clone() };
    (asked.limit, asked.offset) = (PAGE_ROWS, 0);
    loop {
        let ask = Ask { query: &asked, only_uncertain };
        let page = engine.thread_page(caller, secret, ask).await?;
        for found in &page.threads {
            opened.take(query)?;
            count += u64::from(found.is_certain || query.details.matches(&found.thread)?);
        }
        if page.threads.len() < asked.limit && !page.is_cut {
            return Ok(count);
        }
        asked.after = page.threads.last().map(|it| it.thread.position(&asked));
    }
}

/// A thread's details as a statement reads them.
pub struct DetailsColumns<'a> {
    pub scope_id: i64,
    /// None: nothing was ever set.
    pub version: Option<i64>,
    /// None where a version is there: the answer has enough bytes.
    pub document: Option<&'a [u8]>,
}

impl DetailsColumns<'_> {
    /// None: the answer ends before this thread.
    ///
    /// # Errors
    /// `Integrity` when the stored bytes are damaged.
    pub fn open(&self, secret: Option<&TenantSecret>) -> Result<Option<Details>> {
        let Some(secret) = secret else { return Ok(Some(Details::default())) };
        match (self.version, self.document) {
            (None, _) => Ok(Some(Details::default())),
            (Some(_), None) => Ok(None),
            (Some(version), Some(document)) => {
                details_document::open(secret, self.scope_id, version, document).map(Some)
            }
        }
    }
}

/// The run of a thread as a statement reads it.
pub struct RunColumns {
    pub thread_key: i64,
    pub run_state: i64,
    pub run_at: Micros,
    pub is_stale: bool,
    pub lease_expires_at: Option<Micros>,
    pub title_misses: i64,
}

impl RunColumns {
    pub fn read(&self) -> Run {
        Run {
            thread_key: self.thread_key,
            state: RunState::of_number(self.run_state),
            changed_at: self.run_at,
            is_stale: self.is_stale,
            is_leased: self.lease_expires_at.is_some_and(|it| it > Clock::System.now()),
            title_misses: self.title_misses,
            has_asked_values: false,
        }
    }
}

/// The columns of a page with the details beside them, in one statement of either engine: a document comes as long as those before it
/// are not too much for one answer. `page` has `thread_key`; `probe` joins the details `d` of a thread `t`.
pub fn with_details(columns: &str, page: &str, probe: &str, order: &str) -> String {
    let bytes_max = LIMITS.list_bytes_max;
    format!(
        "select {columns}, details_version, has_marks, case when bytes_before < {bytes_max} then document end as document
         from (select t.*, d.version as details_version, d.has_marks, d.document, coalesce(sum(length(d.document))
                over (order by {order} rows between unbounded preceding and 1 preceding), 0) as bytes_before
            from ({page}) t left join {probe}) t order by {order}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::threads::details_filter::{DetailsFilter, contained};

    /// So many threads, of which every second one has the metadata that is asked for.
    struct Numbered(usize);

    fn numbered(number: usize) -> FoundThread {
        let metadata = format!(r#"{{"even":{}}}"#, number.is_multiple_of(2));
        let thread = Thread {
            thread_id: format!("{number:06}"),
            created_at: 0,
            updated_at: 0,
            last_step: None,
            checkpoint_count: 0,
            size_bytes: 0,
            generation: String::new(),
            owner: None,
            graph_id: None,
            assistant_id: None,
            user_id: None,
            details: Details { version: 1, metadata, ..Details::default() },
            run: Run::default(),
        };
        FoundThread { thread, is_certain: false }
    }

    #[async_trait]
    impl ThreadPages for Numbered {
        async fn thread_page(
            &self,
            _: &Caller,
            _: Option<&TenantSecret>,
            ask: Ask<'_>,
        ) -> Result<FoundPage> {
            let after = ask.query.after.as_ref().map(|it| it.thread_id.parse::<usize>().unwrap());
            let first = after.map_or(0, |it| it + 1);
            let last = self.0.min(first + ask.query.limit);
            Ok(FoundPage { threads: (first..last).map(numbered).collect(), is_cut: false })
        }

        async fn count_matching(
            &self,
            _: &Caller,
            _: Option<&TenantSecret>,
            _: &ThreadQuery,
        ) -> Result<Option<Counted>> {
            Ok(None)
        }
    }

    fn even(limit: usize) -> ThreadQuery {
        let metadata = contained("metadata", br#"{"even":true}"#).unwrap();
        let details = DetailsFilter { metadata, ..DetailsFilter::default() };
        ThreadQuery {
            limit,
            sort: ThreadSort::ThreadId,
            ascending: true,
            details,
            ..ThreadQuery::default()
        }
    }

    #[tokio::test]
    async fn pages_hold_what_matches_and_say_where_to_go_on() {
        let caller = Caller::of_tenant("t");
        let mut query = even(100);
        let mut seen = 0;
        loop {
            let page = find(&Numbered(1_001), (&caller, None), &query).await.unwrap();
            seen += page.threads.len();
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
            assert_eq!(page.threads.len(), 100);
        }
        assert_eq!(seen, 501);
        assert_eq!(count(&Numbered(1_001), (&caller, None), &query).await.unwrap(), 501);
    }

    #[tokio::test]
    async fn matches_are_passed_over_before_the_first_of_a_page() {
        let caller = Caller::of_tenant("t");
        for (offset, first, length, has_more) in
            [(0, Some(0), 100, true), (450, Some(900), 51, false), (501, None, 0, false)]
        {
            let query = ThreadQuery { offset, ..even(100) };
            let page = find(&Numbered(1_001), (&caller, None), &query).await.unwrap();
            let id = page.threads.first().map(|it| it.thread_id.parse::<usize>().unwrap());
            assert_eq!((id, page.threads.len(), page.next.is_some()), (first, length, has_more));
        }
    }

    #[tokio::test]
    async fn sealed_details_are_opened_up_to_a_limit() {
        let (caller, query) = (Caller::of_tenant("t"), even(100_000));
        let most = usize::try_from(LIMITS.encrypted_candidates_max).unwrap();
        assert_eq!(count(&Numbered(most), (&caller, None), &query).await.unwrap(), 5_000);
        for answer in [
            count(&Numbered(most + 1), (&caller, None), &query).await.unwrap_err(),
            find(&Numbered(most + 1), (&caller, None), &query).await.unwrap_err(),
        ] {
            let Error::SearchNeedsPlaintext { field, limit } = answer else { panic!("{answer}") };
            assert_eq!((field, limit), ("metadata", LIMITS.encrypted_candidates_max));
        }
        let all = ThreadQuery { details: DetailsFilter::default(), ..query };
        assert_eq!(
            find(&Numbered(most + 1), (&caller, None), &all).await.unwrap().threads.len(),
            most + 1
        );
    }
}
