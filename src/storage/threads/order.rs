//! Writes the order of a list of threads, and what is behind the page before, for both engines.

use crate::domain::threads::run_state::Status;
use crate::domain::threads::thread::{ThreadQuery, ThreadSort};

/// The order of a query, with the binds of the position behind which a page begins.
#[derive(Clone, Copy)]
pub struct PageOrder<'a> {
    pub query: &'a ThreadQuery,
    /// Of [`ThreadCursor::time`](crate::domain::threads::thread::ThreadCursor::time).
    pub time_bind: &'static str,
    pub id_bind: &'static str,
}

impl PageOrder<'_> {
    /// The column that the query is sorted by. None: the place of a status.
    pub const fn column(&self) -> Option<&'static str> {
        match self.query.sort {
            ThreadSort::Created => Some("created_at"),
            ThreadSort::Updated => Some("updated_at"),
            ThreadSort::StateUpdated => Some("run_at"),
            ThreadSort::Size => Some("size_bytes"),
            ThreadSort::ThreadId => Some("thread_id"),
            ThreadSort::Status => None,
        }
    }

    /// By a column or an expression; threads with the same value in the order of their ids.
    pub fn by(&self, column: &str) -> String {
        match self.query.sort {
            ThreadSort::ThreadId => self.by_id(),
            _ => format!("{column} {}, {}", self.direction(), self.by_id()),
        }
    }

    pub fn by_id(&self) -> String {
        format!("thread_id {}", self.direction())
    }

    /// A condition, behind ` and `; empty for the first page.
    pub fn after(&self, column: &str) -> String {
        let (beyond, time, id) = (self.beyond(), self.time_bind, self.id_bind);
        match (&self.query.after, self.query.sort) {
            (None, _) => String::new(),
            (_, ThreadSort::ThreadId) => format!(" and thread_id {beyond} {id}"),
            _ => format!(" and ({column}, thread_id) {beyond} ({time}, {id})"),
        }
    }

    /// As [`Self::after`], among threads that have one status, in the order of their ids.
    pub fn after_among(&self, status: Status) -> String {
        match &self.query.after {
            Some(after) if after.time == status.place() => {
                format!(" and thread_id {} {}", self.beyond(), self.id_bind)
            }
            _ => String::new(),
        }
    }

    /// Statuses that threads on the page may have.
    pub fn statuses(&self) -> impl Iterator<Item = Status> {
        let query = self.query;
        let is_asked = |it: &Status| query.statuses.is_empty() || query.statuses.contains(it);
        let is_behind = |it: &Status| {
            query.after.as_ref().is_none_or(|after| {
                if query.ascending { it.place() >= after.time } else { it.place() <= after.time }
            })
        };
        Status::ALL.into_iter().filter(move |it| is_asked(it) && is_behind(it))
    }

    const fn direction(&self) -> &'static str {
        if self.query.ascending { "asc" } else { "desc" }
    }

    const fn beyond(&self) -> &'static str {
        if self.query.ascending { ">" } else { "<" }
    }
}
