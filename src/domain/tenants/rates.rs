//! Limits how often a tenant and each of its credentials may ask, with token buckets. They are in this process only, so a tenant has its
//! rate on each server.
//!
//! **Invariant:** a bucket that has refilled equals no bucket, so memory holds only those used within the last second or so.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde::Serialize;

use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};

/// A request, in the unit of buckets: then a microsecond refills a bucket by its rate, exactly.
const REQUEST: u64 = 1_000_000;
/// Full buckets are thrown away when there are so many, and when there are twice as many as stayed then.
const BUCKETS_SWEPT_AT: usize = 1_024;

/// Requests per second; absent is unlimited. At most so many come at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Rates {
    #[serde(rename = "requests_per_second")]
    pub per_tenant: Option<u64>,
    #[serde(rename = "requests_per_second_per_token")]
    pub per_token: Option<u64>,
}

/// The buckets of a server.
#[derive(Default)]
pub struct Buckets {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By tenant and credential; the tenant's own has an empty one, which no credential is.
    buckets: HashMap<(String, String), Bucket>,
    sweep_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: u64,
    /// What was taken and has not come back at `at`.
    taken: u64,
    at: Micros,
}

impl Buckets {
    /// Takes one request from the credential's bucket and from the tenant's, or from neither.
    ///
    /// # Errors
    /// `TooManyRequests` with the time after which there is one.
    pub fn take(&self, rates: &Rates, tenant: &str, credential: &str, now: Micros) -> Result<()> {
        if *rates == Rates::default() {
            return Ok(());
        }
        let mut known = self.known.lock().expect("no code panics while it holds the buckets");
        let own = rates.per_token.map(|rate| (credential, rate, "the key or token"));
        let all = rates.per_tenant.map(|rate| ("", rate, "the tenant"));
        let (mut next, mut refused) = (Vec::with_capacity(2), None);
        for (name, rate, whose) in own.into_iter().chain(all) {
            let key = (tenant.to_owned(), name.to_owned());
            let bucket = known.buckets.get(&key).copied().unwrap_or(Bucket::full(rate, now));
            let before = bucket.at_rate(rate, now);
            let after = before.less_one().unwrap_or_else(|wait| {
                refused = refused.take().or(Some(refuse(whose, rate, wait)));
                before
            });
            next.push((key, before, after));
        }
        for (key, before, after) in next {
            known.buckets.insert(key, if refused.is_some() { before } else { after });
        }
        known.sweep(now);
        refused.map_or(Ok(()), Err)
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.known.lock().expect("no code panics while it holds the buckets").buckets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Known {
    /// What is left may still be many, so the next look is when they have doubled: each request pays for it once.
    fn sweep(&mut self, now: Micros) {
        if self.buckets.len() >= self.sweep_at.max(BUCKETS_SWEPT_AT) {
            self.buckets.retain(|_, it| it.at_rate(it.rate, now).taken > 0);
            self.sweep_at = 2 * self.buckets.len();
        }
    }
}

impl Bucket {
    fn full(rate: u64, at: Micros) -> Self {
        Self { rate, taken: 0, at }
    }

    /// The same now, under the rate that holds now. A clock that was set back refills nothing.
    fn at_rate(self, rate: u64, now: Micros) -> Self {
        let elapsed = u64::try_from(now.saturating_sub(self.at)).unwrap_or(0);
        let taken = self.taken.saturating_sub(elapsed.saturating_mul(rate));
        Self { rate, taken: taken.min(rate.saturating_mul(REQUEST)), at: now }
    }

    /// Or the microseconds until there is one.
    fn less_one(self) -> std::result::Result<Self, u64> {
        let (taken, size) = (self.taken + REQUEST, self.rate.saturating_mul(REQUEST));
        if taken <= size {
            return Ok(Self { taken, ..self });
        }
        Err((taken - size).div_ceil(self.rate.max(1)))
    }
}

fn refuse(whose: &'static str, rate: u64, wait_micros: u64) -> Error {
    Error::TooManyRequests { whose, limit: rate, retry_after: Duration::from_micros(wait_micros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    fn rates(per_tenant: Option<u64>, per_token: Option<u64>) -> Rates {
        Rates { per_tenant, per_token }
    }

    fn taken(buckets: &Buckets, rates: &Rates, credential: &str, now: Micros) -> usize {
        (0..1_000).take_while(|_| buckets.take(rates, "a", credential, now).is_ok()).count()
    }

    #[test]
    fn a_second_of_requests_comes_at_once_and_then_the_rate() {
        let (buckets, ten) = (Buckets::default(), rates(None, Some(10)));
        assert_eq!(taken(&buckets, &ten, "k", 0), 10);
        assert_eq!(taken(&buckets, &ten, "k", SECOND / 10 - 1), 0);
        assert_eq!(taken(&buckets, &ten, "k", SECOND / 10), 1);
        assert_eq!(taken(&buckets, &ten, "k", 100 * SECOND), 10, "no more than a second's worth");
        let refused = buckets.take(&ten, "a", "k", 100 * SECOND);
        let Err(Error::TooManyRequests { retry_after, limit: 10, .. }) = refused else { panic!() };
        assert_eq!(retry_after, Duration::from_millis(100));
    }

    #[test]
    fn tokens_and_tenants_have_their_own() {
        let (buckets, both) = (Buckets::default(), rates(Some(15), Some(10)));
        assert_eq!(taken(&buckets, &both, "k", 0), 10);
        assert_eq!(taken(&buckets, &both, "l", 0), 5, "the tenant has no more");
        assert!(buckets.take(&both, "b", "k", 0).is_ok(), "another tenant has");
        // What was refused for the tenant was not taken from the token.
        assert_eq!(taken(&buckets, &rates(None, Some(10)), "l", 0), 5);
    }

    #[test]
    fn a_changed_rate_and_a_clock_set_back_hold_at_once() {
        let buckets = Buckets::default();
        assert_eq!(taken(&buckets, &rates(None, Some(100)), "k", SECOND), 100);
        assert_eq!(taken(&buckets, &rates(None, Some(10)), "k", SECOND), 0);
        assert_eq!(taken(&buckets, &rates(None, Some(10)), "k", 0), 0);
        assert_eq!(taken(&buckets, &rates(None, Some(10)), "k", SECOND), 10);
    }

    #[test]
    fn memory_holds_no_more_than_was_used_lately() {
        let (buckets, one) = (Buckets::default(), rates(None, Some(1)));
        for at in 0..100_000 {
            buckets.take(&one, "a", &at.to_string(), at * 1_000).unwrap();
        }
        assert!(buckets.len() <= 4 * BUCKETS_SWEPT_AT, "{}", buckets.len());
        assert!(Buckets::default().take(&rates(None, None), "a", "k", 0).is_ok());
    }
}
