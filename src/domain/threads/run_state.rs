//! Defines how the run of a thread stands: what its stored rows say, and what callers see.
//!
//! The state is derived after commits, so that none waits for it. A thread that changed since is stale, and is derived again before its
//! state is shown or asked for.

use std::ops::Bound;

use async_trait::async_trait;

use super::thread::Thread;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// Stale threads of a tenant that one search derives.
pub const DERIVED_PER_SEARCH_MAX: usize = 10_000;

/// Derivations that read the messages of a thread without finding a title, before nobody reads on.
pub const TITLE_MISSES_MAX: i64 = 8;

/// Statuses that there are.
pub const STATUSES_MAX: u64 = 4;

/// What the newest checkpoint of the root graph and its writes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunState {
    /// Nothing is left to do.
    #[default]
    Idle,
    /// It waits for somebody to answer.
    Interrupted,
    /// A task ended with an error.
    Failed,
    /// Tasks have still to run.
    Pending,
}

impl RunState {
    /// As databases have it.
    pub const fn number(self) -> i64 {
        match self {
            Self::Idle => 0,
            Self::Interrupted => 1,
            Self::Failed => 2,
            Self::Pending => 3,
        }
    }

    pub const fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Interrupted,
            2 => Self::Failed,
            3 => Self::Pending,
            _ => Self::Idle,
        }
    }
}

/// How a thread stands, in the words of the Agent Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Busy,
    Error,
    Idle,
    Interrupted,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Busy, Self::Error, Self::Idle, Self::Interrupted];

    /// In the order of the names.
    pub const fn place(self) -> i64 {
        self as i64
    }
}

/// The run of a thread, as its row has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    pub thread_key: i64,
    pub state: RunState,
    /// When checkpoints or writes last changed, in microseconds; 0 for never.
    pub changed_at: Micros,
    /// Something changed since the state was derived.
    pub is_stale: bool,
    /// Somebody holds the lease.
    pub is_leased: bool,
    /// As in [`StaleThread::title_misses`].
    pub title_misses: i64,
    /// Of a search: the conditions on short values hold, by what was derived of the newest state.
    pub has_asked_values: bool,
}

impl Run {
    /// `busy_since`: a process that committed before this time is taken for gone.
    pub fn status(&self, busy_since: Micros) -> Status {
        match self.state {
            _ if self.is_leased => Status::Busy,
            RunState::Idle => Status::Idle,
            RunState::Failed => Status::Error,
            RunState::Pending if self.changed_at >= busy_since => Status::Busy,
            RunState::Interrupted | RunState::Pending => Status::Interrupted,
        }
    }
}

/// A thread whose state is stale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleThread {
    pub tenant: String,
    pub thread_id: String,
    pub seen: SeenThread,
    /// Derivations that read messages and found no title. Negative: the thread has a title.
    pub title_misses: i64,
}

/// A thread that is not stale, with what is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptState {
    pub thread: StaleThread,
    pub state: RunState,
    /// Searches decide by its short values and do not open it.
    pub has_values: bool,
}

/// What a derivation found in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    pub thread_id: String,
    pub seen: SeenThread,
    pub state: RunState,
    pub first_message: FirstMessage,
    /// Fields of the checkpoint's metadata that the thread shows: the exact text of an object that is not empty.
    pub metadata: Option<String>,
    /// The short scalars among the values of the newest state: an exact JSON object. None: not all of them can be told.
    pub short_values: Option<String>,
}

/// The first human text of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstMessage {
    /// There are no messages, or nobody looked for it.
    Unread,
    /// None of the messages is such a text, or they are too large.
    Absent,
    /// One line that is not empty.
    Found(String),
}

/// What tells whether a thread changed while its state was derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenThread {
    pub thread_key: i64,
    pub updated_at: Micros,
    pub checkpoint_count: i64,
    pub size_bytes: i64,
}

impl StaleThread {
    pub fn of(tenant: &str, thread: &Thread) -> Self {
        let seen = SeenThread {
            thread_key: thread.run.thread_key,
            updated_at: thread.updated_at,
            checkpoint_count: thread.checkpoint_count,
            size_bytes: thread.size_bytes,
        };
        Self {
            tenant: tenant.to_owned(),
            thread_id: thread.thread_id.clone(),
            seen,
            title_misses: thread.run.title_misses,
        }
    }

    /// Whether its messages are read for a title.
    pub fn wants_title(&self) -> bool {
        (0..TITLE_MISSES_MAX).contains(&self.title_misses)
    }
}

impl Derived {
    /// The state of a thread whose messages nobody can read.
    pub fn untitled(stale: &StaleThread, state: RunState) -> Self {
        let thread_id = stale.thread_id.clone();
        let first_message = FirstMessage::Unread;
        let (metadata, short_values) = (None, None);
        Self { thread_id, seen: stale.seen, state, first_message, metadata, short_values }
    }
}

/// Where a walk through stale threads goes on: behind this tenant and thread key.
pub type StalePosition = (String, i64);

#[async_trait]
pub trait RunStateStorage: Send + Sync {
    /// Stale threads of one tenant, in the order of their keys.
    async fn list_stale_threads(
        &self,
        tenant: &str,
        after_key: i64,
        limit: usize,
    ) -> Result<Vec<StaleThread>>;

    /// Stale threads of all tenants that changed before a time, in the order of their tenants and keys.
    async fn list_quiet_stale_threads(
        &self,
        after: &StalePosition,
        changed_before: Micros,
        limit: usize,
    ) -> Result<Vec<StaleThread>>;

    /// Threads that are not stale, in the order of tenants and ids, from this thread on or behind it.
    async fn list_run_states(
        &self,
        from: Bound<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<KeptState>>;

    /// Which of these threads have other short values than were derived, by their keys. Threads whose details do not open are left out.
    async fn list_wrong_values(&self, tenant: &str, derived: &[&Derived]) -> Result<Vec<i64>>;

    /// How many threads are stale, counted up to a limit.
    async fn count_stale_threads(&self, limit: u64) -> Result<u64>;

    /// Lets the state of a thread be derived again.
    async fn mark_stale(&self, tenant: &str, thread_key: i64) -> Result<()>;

    /// Lets threads be derived again whose states are of a version that read no short values. How many: up to `limit`.
    async fn mark_unread_stale(&self, limit: usize) -> Result<usize>;

    /// Keeps what was derived after the threads were seen. A thread that changed meanwhile stays stale, and keeps its metadata. A first
    /// message is kept only where the thread has no title yet.
    async fn put_run_states(&self, tenant: &str, derived: &[Derived]) -> Result<()>;
}

/// Derives the states of threads.
#[async_trait]
pub trait RunStates: Send + Sync {
    /// Those of all stale threads of the tenant, before its threads are searched by them.
    ///
    /// # Errors
    /// `ThreadsIndexing` over [`DERIVED_PER_SEARCH_MAX`]; a storage that cannot be read or written.
    async fn refresh_all(&self, tenant: &str) -> Result<()>;

    /// Whether metadata is derived, too.
    fn derives_metadata(&self) -> bool;

    /// Those of the threads that are stale among these, before they are shown.
    ///
    /// # Errors
    /// A storage that cannot be read.
    async fn refresh(&self, caller: &Caller, threads: &mut [Thread]) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_busy_and_pending_tasks_are_for_a_while() {
        let run =
            |state, changed_at, is_leased| Run { state, changed_at, is_leased, ..Run::default() };
        for (state, changed_at, is_leased, status) in [
            (RunState::Idle, 0, false, Status::Idle),
            (RunState::Idle, 0, true, Status::Busy),
            (RunState::Failed, 0, true, Status::Busy),
            (RunState::Failed, 9, false, Status::Error),
            (RunState::Interrupted, 9, false, Status::Interrupted),
            (RunState::Pending, 10, false, Status::Busy),
            (RunState::Pending, 9, false, Status::Interrupted),
        ] {
            assert_eq!(run(state, changed_at, is_leased).status(10), status, "{state:?}");
        }
        for state in [RunState::Idle, RunState::Interrupted, RunState::Failed, RunState::Pending] {
            assert_eq!(RunState::of_number(state.number()), state);
        }
    }
}
