//! Defines the change feed of the store: the changes of items, in the order in which they became visible. It never has values.

use async_trait::async_trait;

use super::item::Address;
use super::namespace::Namespace;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, SECOND};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::tokens::grants::Action;

const HOUR: Micros = 3_600 * SECOND;

/// How much longer than positions lead on the log keeps its rows: for clocks of servers that differ, and for changes that
/// were long on their way to the database.
const SPARE: Micros = HOUR;
/// How long changes are logged after the last follower of a tenant was seen: longer than any position of his leads on.
const WANTED_FOR: Micros = 48 * HOUR;

/// Up to where a log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Which log: another database, or one that began again, has another name.
    pub feed: String,
    /// PostgreSQL: a transaction; SQLite: the number of a change.
    pub commit: u64,
    /// The last one of that transaction that was read.
    pub n: u32,
    /// When the log was read, or when the change was written that stands here.
    pub at: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Put,
    Delete,
    /// It was removed after the end of its life.
    Expire,
}

/// One change of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub position: Position,
    pub address: Address,
    /// Of a put the version that it made, else the one that is gone.
    pub version: i64,
    pub kind: ChangeKind,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    pub changes: Vec<Change>,
    /// Where to go on.
    pub next: Position,
    /// There was nothing more when it was read.
    pub is_whole: bool,
}

/// What somebody follows.
#[derive(Debug, Clone)]
pub struct Watched {
    prefixes: Vec<Namespace>,
    exact: bool,
}

/// The log of changes. Kept for tenants that somebody follows, and a while longer.
#[async_trait]
pub trait FeedStorage: Send + Sync {
    /// Has the tenant's changes logged for the next two days, and answers where the log ends now. Everything that becomes
    /// visible after this call is behind that position. One round trip; the first time it waits for writes that began before.
    async fn open_feed(&self, tenant: &str, now: Micros) -> Result<Position>;

    /// What follows these positions, each of a tenant, at most so many changes of each. None: the position is not one of the
    /// tenant's log. One round trip.
    async fn read_changes(
        &self,
        after: &[(String, Position)],
        changes_max: usize,
        now: Micros,
    ) -> Result<Vec<Option<ChangePage>>>;
}

impl Position {
    pub fn is_behind(&self, other: &Self) -> bool {
        self.place() > other.place()
    }

    /// # Errors
    /// `PositionGone` for one that this log does not know, or not any more. `end` is where the log ends now.
    pub fn require_known(&self, end: &Self, now: Micros) -> Result<()> {
        let kept = i64::try_from(LIMITS.feed_seconds_kept).unwrap_or(i64::MAX / SECOND) * SECOND;
        // A log that lost its end, by a restored backup, does not reach to it.
        if self.feed != end.feed || self.is_behind(end) || self.at < now - kept {
            return Err(Error::PositionGone);
        }
        Ok(())
    }

    fn place(&self) -> (u64, u32) {
        (self.commit, self.n)
    }
}

impl ChangeKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Expire => "expire",
        }
    }

    /// # Errors
    /// `Integrity` for what no engine writes.
    pub fn stored(name: &str) -> Result<Self> {
        match name {
            "put" => Ok(Self::Put),
            "delete" => Ok(Self::Delete),
            "expire" => Ok(Self::Expire),
            _ => Err(Error::Integrity("a change of an unknown kind".into())),
        }
    }
}

impl Watched {
    /// What of a prefix, or of exactly this namespace, the caller may read.
    pub fn new(caller: &Caller, prefix: &Namespace, exact: bool) -> Self {
        if exact && !caller.may_touch_namespace(prefix.labels(), Action::Read) {
            return Self { prefixes: Vec::new(), exact };
        }
        Self { prefixes: prefix.readable(caller), exact }
    }

    pub fn has(&self, change: &Change) -> bool {
        let namespace = &change.address.namespace;
        if self.exact {
            return self.prefixes.contains(namespace);
        }
        self.prefixes.iter().any(|it| namespace.starts_with(it))
    }
}

/// Changes from before are removed from the logs.
pub fn kept_since(now: Micros) -> Micros {
    now - i64::try_from(LIMITS.feed_seconds_kept).unwrap_or(0) * SECOND - SPARE
}

/// Until when a log is kept that somebody follows now.
pub fn wanted_until(now: Micros) -> Micros {
    now + WANTED_FOR
}

/// Logs that end after this need not be asked for again yet.
pub fn wanted_enough(now: Micros) -> Micros {
    now + WANTED_FOR - HOUR
}
