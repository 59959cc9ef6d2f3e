//! Enforces quotas: how much a tenant may keep and how often it may ask. Usage is added up from the threads every [`POLL_EVERY`], never
//! counted in a row that commits would contend for. So a quota may be overshot by what arrives in that time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::audit::Act;
use super::rates::{Buckets, Rates};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Full, Result};
use crate::domain::scheduling::task_health::TaskHealth;

/// How often quotas and usage are read again.
pub const POLL_EVERY: Duration = Duration::from_secs(10);
pub const BYTES: &str = "bytes";
pub const THREADS: &str = "threads";
pub const ITEMS: &str = "items";
/// Largest limit of a quota: numbers that every client reads exactly.
pub const QUOTA_MAX: u64 = 1 << 53;
pub const REQUESTS_PER_SECOND_MAX: u64 = 1_000_000;

/// What a tenant may have; absent is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Quota {
    /// Of values, writes, skeletons and metadata, before compression and sharing: as threads count them.
    pub bytes_max: Option<u64>,
    pub threads_max: Option<u64>,
    pub items_max: Option<u64>,
    #[serde(flatten)]
    pub rates: Rates,
}

/// What a tenant has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub bytes: u64,
    pub threads: u64,
    pub items: u64,
}

/// Usage, and when it was added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub usage: Usage,
    pub at: Micros,
}

#[async_trait]
pub trait QuotaStorage: Send + Sync {
    /// Creates or replaces a tenant's quota; one without any limit removes it.
    async fn put_quota(&self, tenant: &str, quota: &Quota, act: &Act) -> Result<()>;

    /// Of all tenants: servers poll this.
    async fn list_quotas(&self) -> Result<Vec<(String, Quota)>>;

    /// Adds up what a tenant has, from its threads.
    async fn measure_usage(&self, tenant: &str) -> Result<Usage>;
}

/// The quotas of all tenants, as this server knows them.
pub struct Quotas {
    storage: Arc<dyn QuotaStorage>,
    clock: Arc<Clock>,
    /// Rates of tenants whose quota does not say.
    defaults: Rates,
    set: RwLock<Arc<HashMap<String, Quota>>>,
    /// Held from a reading to its place in `set`: one that began earlier must not bring an older quota back.
    reading: tokio::sync::Mutex<()>,
    measured: Mutex<HashMap<String, Measured>>,
    buckets: Buckets,
}

impl Quota {
    /// # Errors
    /// 422 naming the limit that is out of range.
    pub fn check(&self) -> Result<()> {
        let within = |field: &str, value: Option<u64>, min: u64, max: u64| match value {
            Some(value) if !(min..=max).contains(&value) => {
                let detail = format!("{field} must be from {min} to {max}");
                Err(Error::out_of_range(field, detail, max))
            }
            _ => Ok(()),
        };
        within("bytes_max", self.bytes_max, 0, QUOTA_MAX)?;
        within("threads_max", self.threads_max, 0, QUOTA_MAX)?;
        within("items_max", self.items_max, 0, QUOTA_MAX)?;
        let Rates { per_tenant, per_token } = self.rates;
        within("requests_per_second", per_tenant, 1, REQUESTS_PER_SECOND_MAX)?;
        within("requests_per_second_per_token", per_token, 1, REQUESTS_PER_SECOND_MAX)
    }

    /// Whether usage has to be known to hold it.
    fn needs_usage(&self) -> bool {
        self.bytes_max.or(self.threads_max).or(self.items_max).is_some()
    }
}

impl Quotas {
    /// # Errors
    /// When the quotas cannot be read.
    pub async fn load(
        storage: Arc<dyn QuotaStorage>,
        clock: Arc<Clock>,
        defaults: Rates,
    ) -> Result<Self> {
        let set = RwLock::new(Arc::new(storage.list_quotas().await?.into_iter().collect()));
        let (reading, measured, buckets) = Default::default();
        Ok(Self { storage, clock, defaults, set, reading, measured, buckets })
    }

    /// Counts a request. No look-up but in memory.
    ///
    /// # Errors
    /// `TooManyRequests` when the tenant or the credential asks too often.
    pub fn admit(&self, caller: &Caller) -> Result<()> {
        let own = self.set().get(&caller.tenant).map(|it| it.rates).unwrap_or_default();
        let rates = Rates {
            per_tenant: own.per_tenant.or(self.defaults.per_tenant),
            per_token: own.per_token.or(self.defaults.per_token),
        };
        if rates == Rates::default() {
            return Ok(());
        }
        self.buckets.take(&rates, &caller.tenant, &caller.credential, self.clock.now())
    }

    /// Before anything that adds bytes.
    ///
    /// # Errors
    /// `QuotaExceeded` when there were too many at the last look.
    pub fn require_bytes(&self, caller: &Caller) -> Result<()> {
        self.bytes_full(caller).map_or(Ok(()), |full| Err(Error::QuotaExceeded(full)))
    }

    /// Why no bytes may be added.
    pub fn bytes_full(&self, caller: &Caller) -> Option<Full> {
        self.full(caller, BYTES, |quota| quota.bytes_max, |usage| usage.bytes)
    }

    /// Why no thread may be made. Statements decide with it, because only they know whether the thread exists.
    pub fn threads_full(&self, caller: &Caller) -> Option<Full> {
        self.full(caller, THREADS, |quota| quota.threads_max, |usage| usage.threads)
    }

    /// Why no item may be made; decided as for threads.
    pub fn items_full(&self, caller: &Caller) -> Option<Full> {
        self.full(caller, ITEMS, |quota| quota.items_max, |usage| usage.items)
    }

    fn full(
        &self,
        caller: &Caller,
        resource: &'static str,
        limit: fn(&Quota) -> Option<u64>,
        used: fn(&Usage) -> u64,
    ) -> Option<Full> {
        let limit = limit(self.set().get(&caller.tenant)?)?;
        let used = used(&self.last(&caller.tenant)?.usage);
        (used >= limit).then_some(Full { resource, limit, used })
    }

    /// The caller's tenant's usage, at most [`POLL_EVERY`] old, and its quota.
    ///
    /// # Errors
    /// `NotGranted` without the whole tenant; a storage that cannot be read.
    pub async fn usage(&self, caller: &Caller) -> Result<(Measured, Quota)> {
        caller.require_tenant_read()?;
        let mut quota = self.set().get(&caller.tenant).copied().unwrap_or_default();
        quota.rates.per_tenant = quota.rates.per_tenant.or(self.defaults.per_tenant);
        quota.rates.per_token = quota.rates.per_token.or(self.defaults.per_token);
        let young = |it: &Measured| self.clock.now() - it.at <= poll_micros();
        let known = self.last(&caller.tenant).filter(young);
        let measured = match known {
            Some(measured) => measured,
            None => self.measure(&caller.tenant).await?,
        };
        Ok((measured, quota))
    }

    /// Never returns.
    pub async fn run(self: Arc<Self>, health: TaskHealth) {
        let health = health.every(POLL_EVERY);
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let polled = self.poll().await;
            health.note(&polled);
            if let Err(error) = polled {
                tracing::warn!(%error, "quotas could not be read; the last ones still hold");
            }
        }
    }

    /// Reads the quotas, and adds up the usage of the tenants that have one: one statement each.
    ///
    /// # Errors
    /// When they cannot be read; what is known still holds.
    pub async fn poll(&self) -> Result<()> {
        let reading = self.reading.lock().await;
        let set: HashMap<String, Quota> = self.storage.list_quotas().await?.into_iter().collect();
        let set = Arc::new(set);
        *self.set.write().expect("no code panics while it holds the quotas") = Arc::clone(&set);
        drop(reading);
        let counted = |tenant: &str| set.get(tenant).is_some_and(Quota::needs_usage);
        // Others were asked for once.
        self.measured_now().retain(|tenant, _| counted(tenant));
        let mut done = Ok(());
        for tenant in set.keys().filter(|it| counted(it)) {
            done = done.and(self.measure(tenant).await.map(drop));
        }
        done
    }

    async fn measure(&self, tenant: &str) -> Result<Measured> {
        // Taken before: what arrives meanwhile may be missing.
        let at = self.clock.now();
        let measured = Measured { usage: self.storage.measure_usage(tenant).await?, at };
        self.measured_now().insert(tenant.to_owned(), measured);
        Ok(measured)
    }

    fn last(&self, tenant: &str) -> Option<Measured> {
        self.measured_now().get(tenant).copied()
    }

    fn measured_now(&self) -> std::sync::MutexGuard<'_, HashMap<String, Measured>> {
        self.measured.lock().expect("no code panics while it holds the usage")
    }

    fn set(&self) -> Arc<HashMap<String, Quota>> {
        Arc::clone(&self.set.read().expect("no code panics while it holds the quotas"))
    }
}

fn poll_micros() -> Micros {
    Micros::try_from(POLL_EVERY.as_micros()).unwrap_or(Micros::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Its second list is answered last, and is older than the third.
    #[derive(Default)]
    struct Slow {
        lists: AtomicUsize,
        begun: tokio::sync::Notify,
        go_on: tokio::sync::Notify,
    }

    #[async_trait]
    impl QuotaStorage for Slow {
        async fn put_quota(&self, _: &str, _: &Quota, _: &Act) -> Result<()> {
            Ok(())
        }

        async fn list_quotas(&self) -> Result<Vec<(String, Quota)>> {
            let at = self.lists.fetch_add(1, Ordering::Relaxed);
            if at == 1 {
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            let quota = Quota { items_max: Some(0), ..Quota::default() };
            Ok(if at < 2 { Vec::new() } else { vec![("acme".to_owned(), quota)] })
        }

        async fn measure_usage(&self, _: &str) -> Result<Usage> {
            Ok(Usage::default())
        }
    }

    #[tokio::test]
    async fn a_reading_that_began_earlier_brings_no_older_quota_back() {
        let storage = Arc::new(Slow::default());
        let asked: Arc<dyn QuotaStorage> = Arc::clone(&storage) as _;
        let quotas = Quotas::load(asked, Arc::new(Clock::System), Rates::default()).await.unwrap();
        let later = async {
            storage.begun.notified().await;
            let (done, ()) = tokio::join!(quotas.poll(), async {
                tokio::task::yield_now().await;
                storage.go_on.notify_one();
            });
            done
        };
        let (earlier, later) = tokio::join!(quotas.poll(), later);
        assert!(earlier.is_ok() && later.is_ok());
        let (_, quota) = quotas.usage(&Caller::of_tenant("acme")).await.unwrap();
        assert_eq!(quota.items_max, Some(0));
    }
}
