//! Defines the life of a thread that nobody changes: what becomes of it then, and who looks for it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::retention::{Retained, Rule};
use super::storage::ThreadStorage;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::background_tasks::Group;

const MINUTE: Micros = 60_000_000;
/// Threads of a page of the sweeper.
pub(super) const PAGE_THREADS: usize = 100;

/// How long a thread lives without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ttl {
    /// At least 1.
    pub micros: Micros,
    pub strategy: TtlStrategy,
}

/// A ttl that was set for one thread. Copies of the thread keep it, and have none: else who may not delete a thread could copy one onto its
/// id that deletes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtlOf {
    pub thread_id: String,
    pub ttl: Ttl,
}

/// What becomes of a thread whose ttl has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TtlStrategy {
    Delete,
    /// The newest checkpoint of each namespace stays.
    KeepLatest,
}

/// A thread whose ttl may have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueThread {
    pub tenant: String,
    pub thread_key: i64,
    /// That of its details when it was taken. A change since then sets by itself when to look at the thread again.
    pub version: i64,
    pub ttl: Ttl,
    pub thread_id: String,
    pub generation: String,
    pub updated_at: Micros,
}

/// Threads that were taken together.
#[derive(Debug, Default)]
pub struct DuePage {
    /// The time, by the database's clock: so are the last changes of threads, and a server whose clock is ahead must not end a ttl early.
    pub now: Micros,
    /// How many were taken; without any there are no more.
    pub taken: usize,
    /// Those of them that have a ttl.
    pub threads: Vec<DueThread>,
}

#[async_trait]
pub trait TtlStorage: Send + Sync {
    /// Takes threads of any tenant that are to be looked at by now, but none that was due after `latest`. Other servers leave them alone for a
    /// while.
    async fn take_due_threads(&self, latest: Micros, limit: usize) -> Result<DuePage>;

    /// Says when to look at threads again, where their details are as they were when they were taken.
    async fn put_due_times(&self, threads: &[(&DueThread, Micros)]) -> Result<()>;

    /// Applies a rule to a thread. `LeaseHeld` and `Untouched` change nothing.
    async fn apply_rule(&self, tenant: &str, thread_id: &str, rule: Rule) -> Result<Retained>;
}

impl Ttl {
    /// # Errors
    /// 422 for a number that is not above 0, or over the limit.
    pub fn of_minutes(field: &str, minutes: f64, strategy: TtlStrategy) -> Result<Self> {
        let max = LIMITS.ttl_minutes_max;
        // In range: at most 3.2e15.
        #[allow(clippy::cast_possible_truncation)]
        let micros = (minutes * MINUTE as f64).round() as Micros;
        if minutes > max as f64 || minutes.is_nan() || micros < 1 {
            let detail = format!("{field} must be a number of minutes above 0, at most {max}");
            return Err(Error::out_of_range(field, detail, max));
        }
        Ok(Self { micros, strategy })
    }

    pub fn minutes(self) -> f64 {
        self.micros as f64 / MINUTE as f64
    }

    /// When it ends for a thread that was last changed at this time.
    pub fn expires_at(self, updated_at: Micros) -> Micros {
        updated_at.saturating_add(self.micros)
    }

    /// What removes from a thread that has not changed for the ttl.
    fn rule_at(self, now: Micros) -> Rule {
        let rule = match self.strategy {
            TtlStrategy::Delete => Rule::DELETE,
            TtlStrategy::KeepLatest => Rule::KEEP_LATEST,
        };
        Rule { unchanged_since: Some(now.saturating_sub(self.micros)), ..rule }
    }
}

/// Looks at the threads that are due; the first page was taken before. Answers how many of them went or lost something.
///
/// # Errors
/// A storage that does not answer; what was taken is looked at later.
pub async fn expire_due(
    storage: &dyn ThreadStorage,
    group: &Group<'_>,
    clock: &Clock,
    mut page: DuePage,
) -> Result<u64> {
    let mut expired = 0;
    // What becomes due meanwhile is left to the next sweep.
    let latest = page.now;
    while page.taken > 0 {
        let (now, mut due_at) = (page.now, Vec::new());
        for thread in &page.threads {
            let ends_at = thread.ttl.expires_at(thread.updated_at);
            if ends_at > now {
                due_at.push((thread, ends_at));
                continue;
            }
            let rule = thread.ttl.rule_at(now);
            let work = storage.apply_rule(&thread.tenant, &thread.thread_id, rule);
            match group.run((&thread.tenant, &thread.generation), clock.now(), work).await {
                // It is looked at again when others may take it.
                Ok(None | Some(Retained::LeaseHeld | Retained::NotClaimed)) => {}
                Ok(Some(Retained::Pruned(pruned))) => {
                    expired += 1;
                    if !pruned.deleted {
                        due_at.push((thread, thread.ttl.expires_at(now)));
                    }
                }
                Ok(Some(Retained::Untouched)) => due_at.push((thread, thread.ttl.expires_at(now))),
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, tenant = thread.tenant, "the ttl of a thread cannot be applied");
                }
            }
        }
        storage.put_due_times(&due_at).await?;
        page = storage.take_due_threads(latest, PAGE_THREADS).await?;
    }
    Ok(expired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_above_zero_and_within_the_limit() {
        let of = |minutes| Ttl::of_minutes("ttl", minutes, TtlStrategy::Delete);
        for bad in [0.0, -1.0, 1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let error = of(bad).unwrap_err();
            assert!(matches!(&error, Error::Invalid { field, .. } if field == "ttl"), "{error}");
        }
        assert_eq!(of(0.5).unwrap().micros, 30_000_000);
        let longest = of(LIMITS.ttl_minutes_max as f64).unwrap();
        assert_eq!(longest.micros, 52_560_000 * MINUTE);
    }
}
