//! Defines what retention removes and keeps: the rule of one removal, policies that repeat it, and reports of removals.
//! `storage::retention` has the rules for the rows of a thread, the same for every engine.

use serde::Serialize;

use crate::domain::clock::{Micros, SECOND};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;

/// What stays of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The thread goes with everything in it when its last commit is older.
    pub expire_before: Option<Micros>,
    /// Nothing goes of a thread that has changed since.
    pub unchanged_since: Option<Micros>,
    /// None: no checkpoint goes by itself.
    pub keep: Option<Keep>,
    /// A thread that waits at an interrupt (a write on `__interrupt__` on the newest checkpoint of a namespace) does not
    /// expire, and those checkpoints stay with the ones that they were called from.
    pub keep_interrupted: bool,
}

/// A checkpoint goes only when it is outside of `last` **and** older than `since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// So many of the greatest ids of each namespace stay; at least 1.
    pub last: u32,
    /// None: whatever their age, the others go.
    pub since: Option<Micros>,
}

impl Rule {
    /// LangGraph's `keep_latest`.
    pub const KEEP_LATEST: Self = Self::keep(1, None);
    /// LangGraph's `delete`.
    pub const DELETE: Self =
        Self { expire_before: Some(Micros::MAX), keep: None, ..Self::KEEP_LATEST };

    pub const fn keep(last: u32, since: Option<Micros>) -> Self {
        let keep = Some(Keep { last, since });
        Self { expire_before: None, unchanged_since: None, keep, keep_interrupted: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneRequest {
    pub thread_ids: Vec<ThreadId>,
    pub rule: Rule,
    /// Say what would go, remove nothing.
    pub dry_run: bool,
}

/// What went. Bytes fall below zero where more was written, for the delta channels of what stays, than removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    pub checkpoints: i64,
    pub writes: i64,
    /// Values that nothing names any more.
    pub values: i64,
    /// As a thread counts its `size_bytes`: before compression and sharing.
    pub size_bytes: i64,
    /// Content as it is stored: compressed, once where it is shared, in the database or in an
    /// object store. Without rows' own overhead and indexes.
    pub stored_bytes: i64,
}

impl std::ops::AddAssign for Removed {
    fn add_assign(&mut self, other: Self) {
        self.checkpoints += other.checkpoints;
        self.writes += other.writes;
        self.values += other.values;
        self.size_bytes += other.size_bytes;
        self.stored_bytes += other.stored_bytes;
    }
}

/// What one removal did to one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub removed: Removed,
    /// The thread went whole.
    pub deleted: bool,
}

/// What a policy wants. A thread's own replaces its tenant's as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// A thread without a commit for so long is deleted.
    pub expire_after_seconds: Option<i64>,
    pub keep_last: Option<u32>,
    pub older_than_seconds: Option<i64>,
    pub keep_interrupted: bool,
    pub dry_run: bool,
}

impl Rules {
    /// The rule at a time. With `older_than_seconds` alone, the newest checkpoint of each namespace stays.
    pub fn at(&self, now: Micros) -> Rule {
        let before = |seconds: i64| now.saturating_sub(seconds.saturating_mul(SECOND));
        let prunes = self.keep_last.is_some() || self.older_than_seconds.is_some();
        let keep =
            Keep { last: self.keep_last.unwrap_or(1), since: self.older_than_seconds.map(before) };
        Rule {
            expire_before: self.expire_after_seconds.map(before),
            unchanged_since: None,
            keep: prunes.then_some(keep),
            keep_interrupted: self.keep_interrupted,
        }
    }

    /// Whether it ever removes anything. Without, it exempts its thread.
    pub fn removes(&self) -> bool {
        self.expire_after_seconds.is_some() || self.at(0).keep.is_some()
    }
}

/// A policy as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// None: of the tenant, for all threads without their own.
    pub thread_id: Option<String>,
    pub rules: Rules,
    pub created_at: Micros,
    pub updated_at: Micros,
    /// When the next round begins.
    pub due_at: Micros,
}

/// A page of policies to list: the tenant's own first, then those of threads by their ids.
#[derive(Debug, Clone, Default)]
pub struct PolicyQuery {
    pub limit: usize,
    pub after: Option<PolicyCursor>,
}

/// Position of the last policy of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyCursor {
    /// None: of the tenant.
    pub thread_id: Option<ThreadId>,
}

/// A finished round of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub report_id: String,
    pub thread_id: Option<String>,
    pub started_at: Micros,
    pub finished_at: Micros,
    pub dry_run: bool,
    pub done: Done,
    /// Kind of the last error.
    pub last_error: Option<String>,
}

/// Counts of a round: threads, but for `removed`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Threads looked at: those that changed since the last round, or are old enough.
    pub examined: i64,
    pub expired: i64,
    pub pruned: i64,
    /// Their lease was held. The next round looks again.
    pub skipped: i64,
    pub errors: i64,
    pub removed: Removed,
}

/// Position in the order of reports: newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportCursor {
    pub finished_at: Micros,
    pub report_id: String,
}

#[derive(Debug, Clone, Default)]
pub struct ReportQuery {
    /// Only of this thread's policy.
    pub thread_id: Option<ThreadId>,
    pub limit: usize,
    pub after: Option<ReportCursor>,
}

/// A round that this server works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub tenant: String,
    pub thread_id: Option<String>,
    /// Random per claim: nothing is removed under a claim that another server has taken over.
    pub token: String,
    pub rules: Rules,
    pub started_at: Micros,
    /// The last thread that is done; empty at the beginning.
    pub last_thread_id: String,
    /// See the table.
    pub swept_to: Option<Micros>,
}

impl Claim {
    /// One rule for the whole round, also for the server that takes it over.
    pub fn rule(&self) -> Rule {
        self.rules.at(self.started_at)
    }
}

/// What became of a thread in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retained {
    /// It is gone, or nothing of it goes.
    Untouched,
    LeaseHeld,
    /// Another server has the round, or the thread now has a policy of its own. Nothing was removed.
    NotClaimed,
    Pruned(Pruned),
}

/// Progress of a round, counted when a page of threads is done.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub last_thread_id: String,
    /// Without what the removals' own transactions have counted.
    pub done: Done,
    pub last_error: Option<&'static str>,
}

/// # Errors
/// 422 naming the field and the limit.
pub fn keep_last(value: i64) -> Result<u32> {
    let max = LIMITS.keep_last_max;
    let legal = u32::try_from(value).ok().filter(|it| (1..=max).contains(&u64::from(*it)));
    legal.ok_or_else(|| {
        let detail = format!("keep_last must be a whole number from 1 to {max}");
        Error::out_of_range("keep_last", detail, max)
    })
}

/// # Errors
/// 422 naming the field and the limit.
pub fn seconds(field: &str, value: i64) -> Result<i64> {
    let max = LIMITS.retention_seconds_max;
    if u64::try_from(value).is_ok_and(|it| (1..=max).contains(&it)) {
        return Ok(value);
    }
    let detail = format!("{field} must be a whole number of seconds from 1 to {max}");
    Err(Error::out_of_range(field, detail, max))
}

/// The time that many seconds before `now`.
pub fn seconds_before(now: Micros, seconds: i64) -> Micros {
    now.saturating_sub(seconds.saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Rules = Rules {
        expire_after_seconds: None,
        keep_last: None,
        older_than_seconds: None,
        keep_interrupted: true,
        dry_run: false,
    };

    #[test]
    fn an_age_alone_keeps_the_newest_of_each_namespace() {
        let rule = Rules { older_than_seconds: Some(10), ..EMPTY }.at(60 * SECOND);
        assert_eq!(rule.keep, Some(Keep { last: 1, since: Some(50 * SECOND) }));
        assert_eq!(rule.expire_before, None);
    }

    #[test]
    fn a_policy_without_any_limit_removes_nothing() {
        assert!(!EMPTY.removes() && EMPTY.at(0).keep.is_none());
        assert!(Rules { keep_last: Some(3), ..EMPTY }.removes());
        assert!(Rules { expire_after_seconds: Some(3), ..EMPTY }.removes());
    }

    #[test]
    fn bounds_are_named() {
        for value in [0, -1, 1_000_001, i64::MAX, i64::MIN] {
            let error = keep_last(value).unwrap_err();
            assert!(matches!(error, Error::Invalid { limit: Some(1_000_000), .. }), "{error}");
        }
        assert_eq!(keep_last(1_000_000).unwrap(), 1_000_000);
        assert!(seconds("x", 0).is_err() && seconds("x", i64::MAX).is_err());
        assert_eq!(seconds("x", 3_153_600_000).unwrap(), 3_153_600_000);
    }
}
