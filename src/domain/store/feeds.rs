//! Delivers the change feed to its followers on this server. One task reads the logs for all of them.
//!
//! **Invariant:** the changes that wait for a follower are bounded, in number and in bytes. A follower that falls behind is told so, and
//! continues from the end of the log. No other follower waits for it.

mod seat;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::feed::{Change, ChangePage, Position, Watched};
use super::subscription::Subscription;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::Result;
use crate::domain::store::feed::FeedStorage;

pub(in crate::domain) use seat::Seat;

/// Changes of other servers are met within this time; those of this one wake the reader.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// Writes that come all the time are read in steps, not one by one.
const POLL_PAUSE: Duration = Duration::from_millis(5);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
const RENEW_EVERY: Micros = 3_600 * 1_000_000;
/// Tenants in one statement, and changes of one of them.
const TENANTS_MAX: usize = 20;
pub(in crate::domain) const PAGE_CHANGES: usize = 500;
/// What waits for one follower.
const QUEUE_CHANGES_MAX: usize = 1_024;
const QUEUE_BYTES_MAX: usize = 256 << 10;
/// What a follower takes from there at one time.
const STEP_BYTES: usize = 16 << 10;

/// The change feed.
pub struct Feeds {
    pub(in crate::domain) storage: Arc<dyn FeedStorage>,
    pub(in crate::domain) clock: Arc<Clock>,
    hub: Mutex<Hub>,
    /// Something was written, or somebody came.
    wake: Arc<Notify>,
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Hub {
    /// Those with a follower.
    tenants: HashMap<String, Followed>,
    followers: u64,
}

#[derive(Default)]
struct Followed {
    followers: u64,
    /// Of these, those that are not the whole tenant; by who holds them.
    scoped: u64,
    holders: HashMap<String, u64>,
    /// Up to where the log was read for those who have caught up.
    next: Option<Position>,
    queues: Vec<Arc<Queue>>,
    renewed_at: Micros,
}

/// What waits for one follower.
pub(in crate::domain) struct Queue {
    watched: Watched,
    waiting: Mutex<Waiting>,
    pub(in crate::domain) arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    /// What is not behind this was taken from the log already.
    from: Option<Position>,
    changes: VecDeque<Arc<Change>>,
    size_bytes: usize,
    /// Changes were left out behind these.
    is_over: bool,
}

/// What a follower takes from his queue.
pub(in crate::domain) enum Taken {
    Changes(Vec<Arc<Change>>),
    /// Everything up to here was taken.
    Nothing(Option<Position>),
    /// Something was left out; what comes now is behind this.
    Lost(Option<Position>),
}

impl Feeds {
    /// `wake` is told of writes on this server.
    pub fn new(storage: Arc<dyn FeedStorage>, clock: Arc<Clock>, wake: Arc<Notify>) -> Self {
        let closed = watch::Sender::new(false);
        Self { storage, clock, hub: Mutex::default(), wake, closed }
    }

    /// Follows what the caller may read of `watched`, behind a position, or from now on. `holder` is in whose share it counts: the same
    /// for all tokens that are narrowed from one.
    ///
    /// # Errors
    /// `TooManyFollowers`; `PositionGone` for a position that does not lead on.
    pub async fn follow(
        self: &Arc<Self>,
        caller: &Caller,
        holder: &str,
        watched: Watched,
        after: Option<Position>,
    ) -> Result<Subscription> {
        let now = self.clock.now();
        let tenant = caller.tenant.clone();
        let is_scoped = caller.require_tenant_write().is_err();
        let seat = Seat::take(self, tenant.clone(), is_scoped.then_some(holder))?;
        let end = self.storage.open_feed(&tenant, now).await?;
        let from = match after {
            Some(after) => {
                after.require_known(&end, now)?;
                after
            }
            None => end,
        };
        let queue = Queue { watched, waiting: Mutex::default(), arrived: Notify::new() };
        Ok(Subscription::new(seat, Arc::new(queue), from))
    }

    /// Reads the logs for as long as the task lives.
    pub async fn run(self: Arc<Self>) {
        loop {
            if self.is_followed() {
                // A wake-up that comes while the logs are being read is met by the next round.
                let _ = tokio::time::timeout(POLL_EVERY, self.wake.notified()).await;
            } else {
                self.wake.notified().await;
            }
            if let Err(error) = self.read_once().await {
                tracing::warn!(%error, "the logs of changes could not be read; the next round tries again");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }

    /// Ends every subscription, now and later.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Resolves when the server stops.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }

    fn is_followed(&self) -> bool {
        !self.hub().tenants.is_empty()
    }

    async fn read_once(&self) -> Result<()> {
        let mut asked = self.due();
        while !asked.is_empty() {
            let rest = asked.split_off(asked.len().min(TENANTS_MAX));
            let now = self.clock.now();
            let pages = self.storage.read_changes(&asked, PAGE_CHANGES, now).await?;
            let mut again = Vec::new();
            for ((tenant, from), page) in asked.into_iter().zip(pages) {
                let Some(page) = page else {
                    self.begin_anew(&tenant, &from).await?;
                    continue;
                };
                if !page.is_whole {
                    again.push((tenant.clone(), page.next.clone()));
                }
                self.deliver(&tenant, &from, page);
            }
            again.extend(rest);
            asked = again;
        }
        self.renew().await
    }

    /// Where each log is to be read from.
    fn due(&self) -> Vec<(String, Position)> {
        let hub = self.hub();
        let due = hub.tenants.iter().filter(|(_, it)| !it.queues.is_empty());
        let due = due.filter_map(|(tenant, it)| Some((tenant, it.next.as_ref()?)));
        due.map(|(tenant, next)| (tenant.clone(), next.clone())).collect()
    }

    /// A log that is not the one that was followed: its followers have missed what is before its end.
    async fn begin_anew(&self, tenant: &str, from: &Position) -> Result<()> {
        let next = self.storage.open_feed(tenant, self.clock.now()).await?;
        let mut hub = self.hub();
        if let Some(followed) =
            hub.tenants.get_mut(tenant).filter(|it| it.next.as_ref() == Some(from))
        {
            followed.queues.iter().for_each(|it| it.lose());
            followed.next = Some(next);
        }
        Ok(())
    }

    fn deliver(&self, tenant: &str, from: &Position, page: ChangePage) {
        let mut hub = self.hub();
        let Some(followed) = hub.tenants.get_mut(tenant) else { return };
        // The last one left and another one came meanwhile.
        if followed.next.as_ref() != Some(from) {
            return;
        }
        for change in page.changes {
            let change = Arc::new(change);
            followed.queues.iter().for_each(|it| it.push(&change));
        }
        followed.next = Some(page.next);
        followed.queues.iter().for_each(|it| it.arrived.notify_one());
    }

    async fn renew(&self) -> Result<()> {
        let now = self.clock.now();
        let old: Vec<String> = {
            let mut hub = self.hub();
            let old = hub.tenants.iter_mut().filter(|(_, it)| it.renewed_at < now - RENEW_EVERY);
            old.map(|(tenant, it)| {
                it.renewed_at = now;
                tenant.clone()
            })
            .collect()
        };
        for tenant in old {
            self.storage.open_feed(&tenant, now).await?;
        }
        Ok(())
    }

    /// Lets a queue have what comes, if `position`, up to which its follower has read the log, is not before what the others
    /// have got. `is_end`: there was nothing behind it.
    pub(in crate::domain) fn join(
        &self,
        tenant: &str,
        queue: &Arc<Queue>,
        position: &Position,
        is_end: bool,
    ) -> bool {
        let mut hub = self.hub();
        let Some(followed) = hub.tenants.get_mut(tenant) else { return false };
        if followed.queues.is_empty() {
            followed.next = None;
        }
        match &followed.next {
            Some(next) if next.is_behind(position) => return false,
            Some(_) => {}
            // The first one: the log is read for all from here.
            None if !is_end => return false,
            None => followed.next = Some(position.clone()),
        }
        queue.waiting().from = Some(position.clone());
        followed.queues.push(Arc::clone(queue));
        self.wake.notify_one();
        true
    }

    /// What a follower has not got yet.
    pub(in crate::domain) fn take(&self, tenant: &str, queue: &Queue) -> Taken {
        let hub = self.hub();
        let next = hub.tenants.get(tenant).and_then(|it| it.next.clone());
        queue.take(next)
    }

    pub(in crate::domain) fn leave(&self, tenant: &str, queue: &Arc<Queue>) {
        if let Some(followed) = self.hub().tenants.get_mut(tenant) {
            followed.queues.retain(|it| !Arc::ptr_eq(it, queue));
        }
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().expect("nothing panics while it holds the followers")
    }
}

impl Queue {
    fn push(&self, change: &Arc<Change>) {
        let mut waiting = self.waiting();
        let is_new = waiting.from.as_ref().is_none_or(|it| change.position.is_behind(it));
        if waiting.is_over || !is_new || !self.watched.has(change) {
            return;
        }
        let size = weight(change);
        if waiting.changes.len() >= QUEUE_CHANGES_MAX || waiting.size_bytes + size > QUEUE_BYTES_MAX
        {
            waiting.is_over = true;
            return;
        }
        waiting.size_bytes += size;
        waiting.changes.push_back(Arc::clone(change));
    }

    fn lose(&self) {
        let mut waiting = self.waiting();
        (waiting.is_over, waiting.from) = (true, None);
        drop(waiting);
        self.arrived.notify_one();
    }

    fn take(&self, next: Option<Position>) -> Taken {
        let mut waiting = self.waiting();
        if waiting.changes.is_empty() {
            // Before the log was read for the first time since he came, he is ahead of it.
            let from = waiting.from.clone();
            let at = next.filter(|it| from.as_ref().is_none_or(|from| !from.is_behind(it)));
            if std::mem::take(&mut waiting.is_over) {
                waiting.from.clone_from(&at);
                return Taken::Lost(at);
            }
            return Taken::Nothing(at);
        }
        let (mut taken, mut size) = (Vec::new(), 0);
        while size < STEP_BYTES
            && let Some(change) = waiting.changes.pop_front()
        {
            size += weight(&change);
            taken.push(change);
        }
        waiting.size_bytes -= size;
        Taken::Changes(taken)
    }

    pub(in crate::domain) fn has(&self, change: &Change) -> bool {
        self.watched.has(change)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("nothing panics while it holds the queue")
    }
}

/// About what a change takes in memory.
fn weight(change: &Change) -> usize {
    let labels = change.address.namespace.labels();
    let names: usize = labels.iter().map(|it| it.len() + size_of::<String>()).sum();
    names + change.address.key.as_bytes().len() + change.position.feed.len() + size_of::<Change>()
}
