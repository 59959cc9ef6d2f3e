//! Works off retention policies and ttls that are due, thread by thread. Any number of servers may do so: the one that has claimed a policy
//! works on it. A round that a crash left is taken over where it stopped.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::retention::{Claim, Progress, Retained};
use super::thread::Thread;
use super::ttl::{PAGE_THREADS, expire_due};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::background_tasks::{self, Group, Kind};
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::threads::storage::ThreadStorage;

const REPORTS_KEPT: Micros = 30 * 24 * 3_600 * 1_000_000;

/// The sweeper of one server.
pub struct Sweeper {
    storage: Arc<dyn ThreadStorage>,
    clock: Arc<Clock>,
    interval: Duration,
    /// Somebody made a policy due.
    wake: Arc<Notify>,
}

impl Sweeper {
    pub fn new(
        storage: Arc<dyn ThreadStorage>,
        clock: Arc<Clock>,
        interval: Duration,
        wake: Arc<Notify>,
    ) -> Self {
        Self { storage, clock, interval, wake }
    }

    /// Never returns.
    pub async fn run(self, health: TaskHealth) {
        let health = health.every(self.interval);
        loop {
            let swept = self.sweep().await;
            health.note(&swept);
            if let Err(error) = swept {
                tracing::warn!(%error, "retention stopped; the next round goes on where it stands");
            }
            tokio::select! {
                () = tokio::time::sleep(self.interval) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// Works off what is due now. Answers how many rounds it finished.
    ///
    /// # Errors
    /// A storage that does not answer; the round in progress is taken over later.
    pub async fn sweep(&self) -> Result<u64> {
        self.storage.expire_reports(self.clock.now() - REPORTS_KEPT).await?;
        let finished = self.sweep_policies().await?;
        self.expire_threads().await?;
        Ok(finished)
    }

    async fn sweep_policies(&self) -> Result<u64> {
        let mut finished = 0;
        loop {
            let now = self.clock.now();
            let interval = Micros::try_from(self.interval.as_micros()).unwrap_or(Micros::MAX / 2);
            let Some(claim) = self.storage.claim_policy(now, now + interval).await? else {
                return Ok(finished);
            };
            let group = background_tasks::begin(&*self.storage, Kind::Retention, now).await?;
            let finishes = self.work_off(&group, claim).await;
            finished += u64::from(group.end(finishes).await?);
        }
    }

    /// Applies the ttl of threads that have not changed for so long. Answers how many of them went or lost something.
    ///
    /// # Errors
    /// As [`Self::sweep`].
    pub async fn expire_threads(&self) -> Result<u64> {
        let first = self.storage.take_due_threads(Micros::MAX, PAGE_THREADS).await?;
        if first.taken == 0 {
            return Ok(0);
        }
        let now = self.clock.now();
        let group = background_tasks::begin(&*self.storage, Kind::Retention, now).await?;
        let expired = expire_due(&*self.storage, &group, &self.clock, first).await;
        group.end(expired).await
    }

    /// Whether the round was finished, and by this server.
    async fn work_off(&self, group: &Group<'_>, mut claim: Claim) -> Result<bool> {
        loop {
            let page = self.storage.list_claimed_threads(&claim, PAGE_THREADS).await?;
            let Some(last) = page.last() else {
                return self.storage.finish_claim(&claim, self.clock.now()).await;
            };
            let mut progress = Progress { last_thread_id: last.clone(), ..Progress::default() };
            for thread_id in &page {
                if !self.retain(group, &claim, thread_id, &mut progress).await? {
                    return Ok(false);
                }
            }
            if !self.storage.advance_claim(&claim, &progress, self.clock.now()).await? {
                return Ok(false);
            }
            claim.last_thread_id = progress.last_thread_id;
        }
    }

    /// Whether the round goes on.
    async fn retain(
        &self,
        group: &Group<'_>,
        claim: &Claim,
        thread_id: &str,
        progress: &mut Progress,
    ) -> Result<bool> {
        let retained = self.retain_in(group, claim, thread_id).await.transpose();
        progress.done.examined += 1;
        let Some(retained) = retained else {
            progress.done.skipped += 1;
            return Ok(true);
        };
        match retained {
            Ok(Retained::Untouched) => {}
            Ok(Retained::LeaseHeld) => progress.done.skipped += 1,
            Ok(Retained::Pruned(pruned)) if claim.rules.dry_run => {
                progress.done.expired += i64::from(pruned.deleted);
                progress.done.pruned += i64::from(!pruned.deleted);
                progress.done.removed += pruned.removed;
            }
            // Counted with its removal.
            Ok(Retained::Pruned(_)) => progress.done.examined -= 1,
            // The round is lost, or only this thread: it has a policy of its own now.
            Ok(Retained::NotClaimed) => {
                progress.done.examined -= 1;
                let held = Progress {
                    last_thread_id: claim.last_thread_id.clone(),
                    ..Progress::default()
                };
                return self.storage.advance_claim(claim, &held, self.clock.now()).await;
            }
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => {
                tracing::error!(%error, tenant = claim.tenant, "retention cannot prune a thread");
                progress.done.errors += 1;
                progress.last_error = Some(kind(&error));
            }
        }
        Ok(true)
    }

    /// None: work on the thread is put aside. What a thread is called there is its generation, because its id is a client's text.
    async fn retain_in(
        &self,
        group: &Group<'_>,
        claim: &Claim,
        thread_id: &str,
    ) -> Result<Option<Retained>> {
        let now = self.clock.now();
        let work = self.storage.retain_thread(claim, thread_id, now);
        if !group.names_units() {
            return work.await.map(Some);
        }
        let caller = Caller::of_tenant(&claim.tenant);
        let thread = self.storage.get_thread(&caller, &ThreadId::new(thread_id)?).await?;
        let Some(Thread { generation, .. }) = thread else {
            return Ok(Some(Retained::Untouched));
        };
        group.run((&claim.tenant, &generation), now, work).await
    }
}

/// What reports say of an error: never its text, which may hold more than a tenant should read.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Integrity(_) => "integrity",
        Error::Conflict(_) => "conflict",
        Error::BaseTooLarge { .. } => "too_large",
        _ => "internal",
    }
}
