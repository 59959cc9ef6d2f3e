//! Defines threads: the facts about a conversation without its values, and the lease on it.

use super::details::Details;
use super::details_filter::DetailsFilter;
use super::run_state::{Run, Status};
use crate::domain::clock::Micros;
use crate::domain::error::Full;
use crate::domain::json::filter::Filter;
use crate::domain::limits::LIMITS;
use crate::domain::names::{LeaseHolder, ThreadId};

/// What is not there, in errors.
pub const THREAD: &str = "the thread";

/// A thread as listings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub thread_id: String,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub last_step: Option<i64>,
    pub checkpoint_count: i64,
    /// Bytes of values, writes, skeletons and metadata, before compression and sharing.
    pub size_bytes: i64,
    pub generation: String,
    pub owner: Option<String>,
    pub graph_id: Option<String>,
    pub assistant_id: Option<String>,
    pub user_id: Option<String>,
    pub details: Details,
    pub run: Run,
}

/// Order of a listing. `Created` and `ThreadId` neither skip nor repeat; the others move while people work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadSort {
    #[default]
    Created,
    Updated,
    StateUpdated,
    /// By its name.
    Status,
    /// No index has it: each page reads all that match.
    Size,
    ThreadId,
}

#[derive(Debug, Clone, Default)]
pub struct ThreadQuery {
    pub limit: usize,
    /// Matches to pass over, behind `after`.
    pub offset: usize,
    /// Sort key and thread id of the last row of the page before.
    pub after: Option<ThreadCursor>,
    pub sort: ThreadSort,
    pub ascending: bool,
    pub graph_id: Option<String>,
    pub assistant_id: Option<String>,
    pub user_id: Option<String>,
    /// Only ids that begin with it.
    pub prefix: Option<String>,
    /// Only these.
    pub ids: Option<Vec<String>>,
    pub owner: Option<String>,
    pub created: TimeRange,
    pub updated: TimeRange,
    pub details: DetailsFilter,
    /// Conditions on short values ([`is_short`](super::short_values::is_short)). A thread of which they are not known passes.
    pub values: Vec<Filter>,
    /// Only threads of which short values are known, or only the others.
    pub has_known_values: Option<bool>,
    /// Any of these; empty for all.
    pub statuses: Vec<Status>,
    /// As in [`Run::status`].
    pub busy_since: Micros,
}

impl ThreadQuery {
    /// Whether no other condition is there than on metadata that people set.
    pub fn asks_only_metadata(&self) -> bool {
        // All fields are named, so that who adds one looks here.
        let Self {
            graph_id,
            assistant_id,
            user_id,
            prefix,
            ids,
            owner,
            created,
            updated,
            details,
            values,
            has_known_values,
            statuses,
            limit: _,
            offset: _,
            after: _,
            sort: _,
            ascending: _,
            busy_since: _,
        } = self;
        let texts = [graph_id, assistant_id, user_id, prefix, owner];
        !details.metadata.is_empty()
            && !details.asks_labels()
            && details.words.is_none()
            && statuses.is_empty()
            && values.is_empty()
            && has_known_values.is_none()
            && ids.is_none()
            && texts.iter().all(|it| it.is_none())
            && [created, updated].iter().all(|it| **it == TimeRange::default())
    }

    /// Whether the states of threads decide what is found, or where it stands.
    pub fn is_by_state(&self) -> bool {
        !self.statuses.is_empty()
            || matches!(self.sort, ThreadSort::StateUpdated | ThreadSort::Status)
    }
}

/// From `after` on, up to and without `before`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub after: Option<Micros>,
    pub before: Option<Micros>,
}

/// A page of a listing.
#[derive(Debug, Default)]
pub struct ThreadPage {
    pub threads: Vec<Thread>,
    /// Set when there are more.
    pub next: Option<ThreadCursor>,
}

/// A page while it is filled with the matches of a query, in their order.
pub struct PageFill<'a> {
    query: &'a ThreadQuery,
    pub page: ThreadPage,
    /// Matches that are still to be passed over.
    pub to_pass: usize,
    metadata_bytes: u64,
}

impl<'a> PageFill<'a> {
    /// The page has the order of `query`, and its limit.
    pub fn new(query: &'a ThreadQuery, to_pass: usize) -> Self {
        Self { query, page: ThreadPage::default(), to_pass, metadata_bytes: 0 }
    }

    /// Takes the next match. False: the page is full, and says where the next one begins.
    pub fn take(&mut self, thread: Thread) -> bool {
        if self.to_pass > 0 {
            self.to_pass -= 1;
            return true;
        }
        let page = &mut self.page;
        if page.threads.len() == self.query.limit || self.metadata_bytes >= LIMITS.list_bytes_max {
            page.next = page.threads.last().map(|it| it.position(self.query));
            return false;
        }
        self.metadata_bytes += thread.details.metadata.len() as u64;
        page.threads.push(thread);
        true
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCursor {
    /// The time that is sorted by; the place of a status; 0 when sorted by id.
    pub time: Micros,
    pub thread_id: String,
}

/// A lease: while it is held every kind of write to the thread needs its fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Only grows, survives the thread by 7 days.
    pub fence: i64,
    /// By the database's clock.
    pub expires_at: Micros,
}

#[derive(Debug, Clone)]
pub struct LeaseRequest {
    pub thread_id: ThreadId,
    pub holder: LeaseHolder,
    /// None to acquire; the fence held to renew or release.
    pub fence: Option<i64>,
    pub ttl_seconds: i64,
    /// Set when no thread may be made.
    pub full: Option<Full>,
}

impl Thread {
    /// Where it stands in the listing of a query.
    pub fn position(&self, query: &ThreadQuery) -> ThreadCursor {
        let time = match query.sort {
            ThreadSort::Created => self.created_at,
            ThreadSort::Updated => self.updated_at,
            ThreadSort::StateUpdated => self.run.changed_at,
            ThreadSort::Status => self.run.status(query.busy_since).place(),
            ThreadSort::Size => self.size_bytes,
            ThreadSort::ThreadId => 0,
        };
        ThreadCursor { time, thread_id: self.thread_id.clone() }
    }

    /// When checkpoints or writes last changed; of a thread without any, when it was made.
    pub fn state_updated_at(&self) -> Micros {
        self.run.changed_at.max(self.created_at)
    }
}
