//! Tells followers which threads have changed, on whatever server. Commits pay nothing for it: one task reads the threads of each followed
//! tenant by the time of their last change, four times a second, and tells what it has not seen before.
//!
//! **Invariant:** nothing is missed. A change gets its time before it can be seen, so each reading looks back, and the seldom ones look back
//! for longer than any write takes. What was told is known by its mark, so looking back tells nothing twice.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;

use super::run_state::{Run, Status};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, SECOND};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::tokens::grants::{Access, Action};

const POLL_EVERY: Duration = Duration::from_millis(250);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// A reading looks back so far: nearly all writes can be seen within this time.
const NEAR: Look = Look { back: 5 * SECOND, threads_max: 1_000 };
/// Some readings look back so far: longer than a write may take.
const FAR: Look = Look { back: 300 * SECOND, threads_max: 5_000 };
const LOOK_FAR_EVERY: Duration = Duration::from_secs(15);
/// Changes that wait for a slow follower.
const QUEUE_MAX: usize = 1_024;
/// How long a new follower waits for the first reading.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// How far a reading looks back, and for how many threads. Where more have changed, followers are told to list the threads anew.
#[derive(Clone, Copy)]
struct Look {
    back: Micros,
    threads_max: usize,
}

/// A thread that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadChange {
    pub thread_id: String,
    pub owner: Option<String>,
    pub generation: String,
    /// By the clock of the database: its last change, or when it was deleted.
    pub at: Micros,
    pub kind: ThreadChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadChangeKind {
    /// It was made, or something of it changed. The status is told as soon as it is derived, by another change.
    Update(Run),
    Delete,
}

/// A message to a follower.
#[derive(Debug, Clone)]
pub enum Told {
    Change(Arc<ThreadChange>),
    /// Changes were left out: list the threads anew.
    Resync,
}

/// The threads that a follower asks for, of those that it may read.
#[derive(Debug, Clone, Default)]
pub struct WatchedThreads {
    /// Empty: all.
    pub ids: Vec<String>,
    pub prefix: Option<String>,
}

#[async_trait]
pub trait ThreadChangeStorage: Send + Sync {
    /// Threads that were last changed at this time or later, and threads that were deleted since, newest first. One round trip. A thread whose
    /// owner is not proved is left out.
    async fn list_changed_threads(
        &self,
        tenant: &str,
        since: Micros,
        limit: usize,
    ) -> Result<Vec<ThreadChange>>;
}

/// The feed.
pub struct ThreadChanges {
    storage: Arc<dyn ThreadChangeStorage>,
    clock: Arc<Clock>,
    tenants: Mutex<HashMap<String, Followed>>,
    came: Notify,
}

/// A tenant with followers.
struct Followed {
    told: broadcast::Sender<Told>,
    /// Threads were read once: what changes from then on is told.
    is_ready: watch::Sender<bool>,
}

/// The state of the reader for a tenant.
struct Read {
    newest: Micros,
    /// By thread: what was told last, and its time. All are hashes, so that a tenant takes little memory.
    marks: HashMap<u64, (u64, Micros)>,
    looked_far_at: Instant,
}

/// A follower.
pub struct ThreadFollower {
    caller: Caller,
    watched: WatchedThreads,
    told: broadcast::Receiver<Told>,
    /// Changes behind the position with which it began.
    missed: VecDeque<Told>,
    position: Micros,
}

impl ThreadChangeKind {
    /// `busy_since` as in [`Run::status`]. None: deleted, or not derived yet.
    pub fn status(self, busy_since: Micros) -> Option<Status> {
        match self {
            Self::Update(run) if !run.is_stale => Some(run.status(busy_since)),
            _ => None,
        }
    }
}

impl WatchedThreads {
    fn has(&self, thread_id: &str) -> bool {
        let is_named = self.ids.is_empty() || self.ids.iter().any(|it| it == thread_id);
        is_named && self.prefix.as_deref().is_none_or(|it| thread_id.starts_with(it))
    }
}

impl ThreadChanges {
    pub fn new(storage: Arc<dyn ThreadChangeStorage>, clock: Arc<Clock>) -> Self {
        Self { storage, clock, tenants: Mutex::default(), came: Notify::new() }
    }

    /// Follows what the caller may read, behind the position of an event, or from now on.
    ///
    /// # Errors
    /// `PositionGone` for a position that is too old; `Unavailable` where the threads cannot be read.
    pub async fn follow(
        &self,
        caller: &Caller,
        watched: WatchedThreads,
        after: Option<Micros>,
    ) -> Result<ThreadFollower> {
        if let Some(after) = after {
            let kept = i64::try_from(LIMITS.feed_seconds_kept).unwrap_or(0) * SECOND;
            let now = self.clock.now();
            if after < now - kept || after > now + kept {
                return Err(Error::PositionGone);
            }
        }
        let (told, mut is_ready) = {
            let mut tenants = self.tenants();
            let followed = tenants.entry(caller.tenant.clone()).or_insert_with(Followed::new);
            (followed.told.subscribe(), followed.is_ready.subscribe())
        };
        self.came.notify_one();
        let first = async { is_ready.wait_for(|it| *it).await.is_ok() };
        if tokio::time::timeout(READY_WITHIN, first).await != Ok(true) {
            return Err(Error::Unavailable {
                detail: "the threads that have changed cannot be read".into(),
                retry_after: PAUSE_AFTER_ERROR,
            });
        }
        let (missed, position) = match after {
            Some(after) => (self.missed(&caller.tenant, after).await?, after),
            // The clock of the database may be behind.
            None => (VecDeque::new(), self.clock.now() - FAR.back),
        };
        Ok(ThreadFollower { caller: caller.clone(), watched, told, missed, position })
    }

    /// Reads the changes behind a position, and some from shortly before.
    async fn missed(&self, tenant: &str, after: Micros) -> Result<VecDeque<Told>> {
        let since = after - FAR.back;
        let changed = self.storage.list_changed_threads(tenant, since, FAR.threads_max).await?;
        if changed.len() >= FAR.threads_max {
            return Ok(VecDeque::from([Told::Resync]));
        }
        Ok(changed.into_iter().rev().map(|it| Told::Change(Arc::new(it))).collect())
    }

    /// Reads for as long as the task lives.
    pub async fn run(self: Arc<Self>) {
        let mut known = HashMap::new();
        loop {
            let tenants = self.followed();
            known.retain(|tenant, _| tenants.contains(tenant));
            if tenants.is_empty() {
                self.came.notified().await;
                continue;
            }
            let mut pause = POLL_EVERY;
            for tenant in tenants {
                if let Err(error) = self.read(&tenant, &mut known).await {
                    tracing::warn!(%error, "changed threads could not be read; the next round tries again");
                    pause = PAUSE_AFTER_ERROR;
                }
            }
            // A follower that comes meanwhile waits for a first reading.
            let _ = tokio::time::timeout(pause, self.came.notified()).await;
        }
    }

    /// Forgets tenants whose followers have all left.
    fn followed(&self) -> Vec<String> {
        let mut tenants = self.tenants();
        tenants.retain(|_, it| it.told.receiver_count() > 0);
        tenants.keys().cloned().collect()
    }

    async fn read(&self, tenant: &str, known: &mut HashMap<String, Read>) -> Result<()> {
        let read = match known.get_mut(tenant) {
            Some(read) => read,
            None => known.entry(tenant.to_owned()).or_insert(self.read_first(tenant).await?),
        };
        let is_far = read.looked_far_at.elapsed() >= LOOK_FAR_EVERY;
        let look = if is_far { FAR } else { NEAR };
        let since = read.newest - look.back;
        let changed = self.storage.list_changed_threads(tenant, since, look.threads_max).await?;
        if is_far {
            read.looked_far_at = Instant::now();
        }
        let is_cut = changed.len() >= look.threads_max;
        // What is older was read before, but for what could not be seen then.
        let has_gap = is_cut && (is_far || changed.last().is_some_and(|it| it.at > read.newest));
        let new = read.take(changed);
        let tenants = self.tenants();
        let Some(followed) = tenants.get(tenant) else { return Ok(()) };
        let resync = has_gap.then_some(Told::Resync);
        for told in new.into_iter().map(Told::Change).chain(resync) {
            // Nobody hears it where the last one has left.
            let _ = followed.told.send(told);
        }
        followed.is_ready.send_replace(true);
        Ok(())
    }

    /// Reads the threads that changed before anything is told.
    async fn read_first(&self, tenant: &str) -> Result<Read> {
        let newest = self.storage.list_changed_threads(tenant, 0, 1).await?;
        let newest = newest.first().map_or(0, |it| it.at);
        let since = newest - FAR.back;
        let changed = self.storage.list_changed_threads(tenant, since, FAR.threads_max).await?;
        let mut read = Read { newest, marks: HashMap::new(), looked_far_at: Instant::now() };
        read.take(changed);
        Ok(read)
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<String, Followed>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Followed {
    fn new() -> Self {
        Self { told: broadcast::Sender::new(QUEUE_MAX), is_ready: watch::Sender::new(false) }
    }
}

impl Read {
    /// Takes note of changes. Returns the new ones, oldest first.
    fn take(&mut self, changed: Vec<ThreadChange>) -> Vec<Arc<ThreadChange>> {
        let mut new = Vec::new();
        for change in changed.into_iter().rev() {
            self.newest = self.newest.max(change.at);
            let (thread, mark) = (hash(&change.thread_id), change.mark());
            if self.marks.get(&thread).is_none_or(|(told, _)| *told != mark) {
                self.marks.insert(thread, (mark, change.at));
                new.push(Arc::new(change));
            }
        }
        let oldest = self.newest - FAR.back;
        self.marks.retain(|_, (_, at)| *at >= oldest);
        new
    }
}

impl ThreadChange {
    /// Tells it from other changes of the thread.
    fn mark(&self) -> u64 {
        let run = match self.kind {
            ThreadChangeKind::Update(run) => {
                Some((run.state.number(), run.is_stale, run.is_leased, run.title_misses))
            }
            ThreadChangeKind::Delete => None,
        };
        hash(&(&self.generation, self.at, run))
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl ThreadFollower {
    /// The time up to which everything was told that concerns this follower.
    pub fn position(&self) -> Micros {
        self.position
    }

    /// Waits for what is told next. It may be asked again when it was not waited for.
    pub async fn next(&mut self) -> Told {
        loop {
            let told = match self.missed.pop_front() {
                Some(told) => told,
                // The sender lives as long as there are followers.
                None => self.told.recv().await.unwrap_or(Told::Resync),
            };
            let Told::Change(change) = &told else { return told };
            if self.may_hear(change) {
                // Of others not even the time is told.
                self.position = self.position.max(change.at);
                return told;
            }
        }
    }

    fn may_hear(&self, change: &ThreadChange) -> bool {
        let may_read = match self.caller.thread_access(&change.thread_id, Action::Read) {
            Access::Granted => true,
            Access::IfOwnedBy(subject) => change.owner.as_deref() == Some(subject),
            Access::Denied => false,
        };
        may_read && self.watched.has(&change.thread_id)
    }
}
