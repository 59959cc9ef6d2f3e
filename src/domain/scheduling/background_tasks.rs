//! Puts aside background work that ends the process. A group of units is noted before it begins. After two groups that ended with their
//! process, the units of that kind run alone, each with its own row. A unit that ends the process alone is not tried again.
//!
//! A healthy server writes two small rows per group, and nothing where there is nothing to do. An error is no death: the work itself
//! handles its errors.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::domain::clock::Micros;
use crate::domain::error::Result;

/// After so many groups that ended with their process, units run alone.
pub const ATTEMPTS_TOGETHER: i64 = 2;
/// Deaths count together when they are not further apart. Longer than any claim that a dead server leaves, because the same
/// work is not met again before that ends.
pub const DEATHS_COUNT: Micros = 3_600 * 1_000_000;

/// Kinds of work that have clients' data in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words of items; a unit is a version of an item.
    Words,
    /// Vectors of items; a unit is a version of an item.
    Vectors,
    /// Packs of an object store; a unit is a content scope.
    Packing,
    /// Retention policies; a unit is the generation of a thread.
    Retention,
    /// States of threads; a unit is the key of a thread.
    RunStates,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::Words, Self::Vectors, Self::Packing, Self::Retention, Self::RunStates];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Vectors => "vectors",
            Self::Packing => "packing",
            Self::Retention => "retention",
            Self::RunStates => "run_states",
        }
    }
}

/// What the rows say of a kind of work.
#[derive(Debug, Default)]
pub struct Standing {
    /// Groups that ended with their process.
    pub deaths: i64,
    /// (tenant, unit)
    pub parked: HashSet<(String, String)>,
}

/// A unit that is put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    pub tenant: String,
    pub kind: String,
    pub unit: String,
    /// How often a process ended with it.
    pub attempts: i64,
    pub reason: String,
    /// Microseconds since 1970.
    pub parked_at: Micros,
}

/// Background work of this process.
#[derive(Debug)]
pub struct Running {
    /// Which server a row is of.
    pub server: i64,
    /// Groups share it, a unit that runs alone has it for itself: it is not to be blamed for its neighbours.
    turn: RwLock<()>,
    stopped: AtomicBool,
}

impl Default for Running {
    fn default() -> Self {
        // PostgreSQL's locks have numbers of 32 bits.
        let server = i64::from(rand::random::<u32>() >> 1).max(1);
        Self { server, turn: RwLock::default(), stopped: AtomicBool::new(false) }
    }
}

impl Running {
    /// Work that would begin while the server stops never does: its task is aborted.
    async fn unless_stopped(&self) {
        if self.stopped.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
pub trait BackgroundTaskStorage: Send + Sync {
    fn running(&self) -> &Running;

    /// Counts groups of servers that died, puts aside what ran alone in one, then notes that a group of this server begins.
    async fn begin_group(&self, kind: Kind, now: Micros) -> Result<Standing>;

    async fn end_group(&self, kind: Kind) -> Result<()>;

    async fn begin_alone(&self, kind: Kind, tenant: &str, unit: &str, now: Micros) -> Result<()>;

    async fn end_alone(&self, kind: Kind, tenant: &str, unit: &str) -> Result<()>;

    /// What this server has begun counts no more.
    async fn forget_begun(&self) -> Result<()>;

    /// Units that are put aside, of one tenant or of all.
    async fn list_parked(&self, tenant: Option<&str>) -> Result<Vec<Parked>>;

    /// Lets them be tried again. Answers how many there were.
    async fn release_parked(&self, tenant: Option<&str>) -> Result<u64>;
}

/// A group of work that was begun. Dropped without `end` it counts as a death, unless the server stops in order.
pub struct Group<'a> {
    storage: &'a dyn BackgroundTaskStorage,
    kind: Kind,
    standing: Standing,
    /// None: units run alone.
    together: Option<RwLockReadGuard<'a, ()>>,
}

/// Call it when there is something to do, before any of it is read.
///
/// # Errors
/// Those of the storage: nothing may be done then.
pub async fn begin(
    storage: &dyn BackgroundTaskStorage,
    kind: Kind,
    now: Micros,
) -> Result<Group<'_>> {
    let running = storage.running();
    running.unless_stopped().await;
    let turn = running.turn.read().await;
    let standing = storage.begin_group(kind, now).await?;
    let together = (standing.deaths < ATTEMPTS_TOGETHER).then_some(turn);
    Ok(Group { storage, kind, standing, together })
}

/// Takes back what was begun, and lets nothing begin: the server stops in order.
pub async fn stop(storage: &dyn BackgroundTaskStorage) {
    storage.running().stopped.store(true, Ordering::SeqCst);
    if let Err(error) = storage.forget_begun().await {
        tracing::warn!(%error, "background work that was begun counts as if it had ended the process");
    }
}

impl Group<'_> {
    pub fn is_together(&self) -> bool {
        self.together.is_some()
    }

    /// Whether units have to be named at all: not while they run together and none is put aside.
    pub fn names_units(&self) -> bool {
        !self.is_together() || !self.standing.parked.is_empty()
    }

    pub fn is_parked(&self, tenant: &str, unit: &str) -> bool {
        !self.standing.parked.is_empty()
            && self.standing.parked.contains(&(tenant.to_owned(), unit.to_owned()))
    }

    /// Does the work of one unit, alone where that is needed. None: the unit is put aside.
    ///
    /// # Errors
    /// Those of the work, and of the storage.
    pub async fn run<T>(
        &self,
        (tenant, unit): (&str, &str),
        now: Micros,
        work: impl Future<Output = Result<T>>,
    ) -> Result<Option<T>> {
        if self.is_parked(tenant, unit) {
            return Ok(None);
        }
        if self.is_together() {
            return work.await.map(Some);
        }
        let running = self.storage.running();
        let _alone = running.turn.write().await;
        running.unless_stopped().await;
        self.storage.begin_alone(self.kind, tenant, unit, now).await?;
        let result = work.await;
        self.storage.end_alone(self.kind, tenant, unit).await?;
        result.map(Some)
    }

    /// It ended, well or with an error, and the process lives.
    ///
    /// # Errors
    /// That of the work first, then those of the storage.
    pub async fn end<T>(self, result: Result<T>) -> Result<T> {
        let ended = self.storage.end_group(self.kind).await;
        let result = result?;
        ended.map(|()| result)
    }
}
