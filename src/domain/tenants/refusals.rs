//! Adds up refusals: one row per minute, credential, code and route. They are counted in memory and written every [`FLUSH_EVERY`], never by
//! the refused request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::domain::clock::{Clock, DAY, Micros, SECOND};
use crate::domain::error::Result;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::tenants::audit::AuditStorage;

pub const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Tenant of refusals of which nobody knows whom they refused. No key can open it.
pub const UNKNOWN_TENANT: &str = "";
const MINUTE: Micros = 60 * SECOND;
/// Different refusals that are remembered at a time; what goes beyond loses its credential.
const KINDS_MAX: usize = 10_000;
/// What stands for credentials beyond [`KINDS_MAX`].
const OTHERS: &str = "others";
/// Rows of one transaction.
const SLICE: usize = 200;
/// Old events are looked for once in so many rounds.
const ROUNDS_PER_SWEEP: u32 = 60;

/// What refusals of one minute have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Refusal {
    /// [`UNKNOWN_TENANT`] when the credential opens none.
    pub tenant: String,
    /// When the minute began.
    pub minute: Micros,
    /// Empty when it is not known.
    pub credential: String,
    /// Of the problem: `not_granted`, `too_many_requests`, …
    pub code: &'static str,
    /// As it is declared; never what was asked for.
    pub route: String,
}

/// How often it happened.
pub type Counted = (Refusal, i64);

/// The refusals of a server that are not written yet.
pub struct Refusals {
    storage: Arc<dyn AuditStorage>,
    clock: Arc<Clock>,
    keep: Micros,
    counts: Mutex<HashMap<Refusal, i64>>,
}

impl Refusals {
    /// Events are kept for so many days.
    pub fn new(storage: Arc<dyn AuditStorage>, clock: Arc<Clock>, keep_days: u32) -> Self {
        Self { storage, clock, keep: Micros::from(keep_days) * DAY, counts: Mutex::default() }
    }

    /// Counts one. `who` is tenant and credential, where they are known.
    pub fn count(&self, who: Option<(&str, &str)>, code: &'static str, route: &str) {
        let (tenant, credential) = who.unwrap_or((UNKNOWN_TENANT, ""));
        let now = self.clock.now();
        let refusal = Refusal {
            tenant: tenant.to_owned(),
            minute: now - now.rem_euclid(MINUTE),
            credential: credential.to_owned(),
            code,
            route: route.to_owned(),
        };
        self.add(refusal, 1);
    }

    fn add(&self, mut refusal: Refusal, count: i64) {
        let mut counts = self.counts.lock().expect("no code panics while it holds the counts");
        if counts.len() >= KINDS_MAX && !counts.contains_key(&refusal) {
            OTHERS.clone_into(&mut refusal.credential);
        }
        *counts.entry(refusal).or_default() += count;
    }

    /// Never returns.
    pub async fn run(self: Arc<Self>, health: TaskHealth) {
        let health = health.every(FLUSH_EVERY);
        let mut ticks = tokio::time::interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for round in 0_u32.. {
            ticks.tick().await;
            let mut done = self.flush().await;
            if round % ROUNDS_PER_SWEEP == 0 {
                done = done.and(self.sweep().await);
            }
            health.note(&done);
            if let Err(error) = done {
                tracing::warn!(%error, "the audit log could not be written; the next round tries again");
            }
        }
    }

    /// Writes what was counted. What could not be written is counted on; after a connection that broke in the middle some
    /// may have been written, and are counted twice.
    ///
    /// # Errors
    /// A storage that cannot be written.
    pub async fn flush(&self) -> Result<()> {
        let counts = std::mem::take(
            &mut *self.counts.lock().expect("no code panics while it holds the counts"),
        );
        let mut counted: Vec<Counted> = counts.into_iter().collect();
        // Servers that write the same rows take them in the same order.
        counted.sort();
        let mut slices = counted.chunks(SLICE);
        while let Some(slice) = slices.next() {
            if let Err(error) = self.storage.add_refusals(slice).await {
                for (refusal, count) in slice.iter().chain(slices.flatten()) {
                    self.add(refusal.clone(), *count);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes events that were kept for long enough.
    ///
    /// # Errors
    /// A storage that cannot be written.
    pub async fn sweep(&self) -> Result<()> {
        self.storage.expire_events(self.clock.now().saturating_sub(self.keep)).await
    }

    /// How many different ones are waiting.
    pub fn len(&self) -> usize {
        self.counts.lock().expect("no code panics while it holds the counts").len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
