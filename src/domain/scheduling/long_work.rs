//! Runs work that may take long and waits for nothing, such as matching patterns. It runs on a few threads beside the async workers, until
//! its time is up or nobody waits for its result any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, Semaphore};

use super::{asker, cpu_threads};
use crate::domain::error::{Error, Result};

/// When work has to end. It asks in between.
#[derive(Debug, Clone)]
pub struct Stop {
    ends: Instant,
    /// Nobody waits any more.
    is_left: Arc<AtomicBool>,
}

impl Stop {
    pub fn at(ends: Instant) -> Self {
        Self { ends, is_left: Arc::default() }
    }

    pub fn is_due(&self) -> bool {
        self.is_left.load(Ordering::Relaxed) || Instant::now() > self.ends
    }
}

/// Threads for long work, so many at one time, at most half of them for one tenant and a quarter for one credential.
#[derive(Debug)]
pub struct LongWork {
    places: Arc<Semaphore>,
    share: usize,
    credential_share: usize,
    /// Of the tenants and credentials that have work.
    shares: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Default for LongWork {
    /// As many as there are cores, and two at least: short work passes beside a long one.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of(cores.max(2))
    }
}

impl LongWork {
    fn of(places: usize) -> Self {
        let (share, credential_share) = ((places / 2).max(1), places.div_ceil(4).max(1));
        let places = Arc::new(Semaphore::new(places));
        Self { places, share, credential_share, shares: Mutex::default() }
    }

    /// What the work makes. It stops when the caller is dropped.
    ///
    /// # Errors
    /// `Unavailable`: there was no place for it until its time was up.
    pub async fn run<T: Send + 'static>(
        &self,
        tenant: &str,
        ends: Instant,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T> {
        let places = Arc::clone(&self.places);
        let share = self.share_of(tenant.to_owned(), self.share);
        let asker = asker::get().filter(|it| it.tenant() == tenant);
        // No tenant has a NUL in its name.
        let key = asker.map(|it| format!("{tenant}\0{}", it.credential()));
        let own = key.map(|it| self.share_of(it, self.credential_share));
        let place = async {
            let own = match own {
                Some(own) => Some(own.acquire_owned().await?),
                None => None,
            };
            let of_tenant = share.acquire_owned().await?;
            Ok::<_, AcquireError>((own, of_tenant, places.acquire_owned().await?))
        };
        let Ok(Ok(place)) = tokio::time::timeout_at(ends.into(), place).await else {
            let detail = "other searches take all the time there is".to_owned();
            return Err(Error::Unavailable { detail, retry_after: Duration::from_secs(1) });
        };
        let stop = Stop::at(ends);
        let leaving = Leaving(Arc::clone(&stop.is_left));
        let done = cpu_threads::spawn(move || {
            let _place = place;
            work(&stop)
        });
        let done = done.await.map_err(|error| Error::Internal(format!("a search broke: {error}")));
        drop(leaving);
        done
    }

    fn share_of(&self, whose: String, places: usize) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&whose).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, it| it.strong_count() > 0);
        let share = Arc::new(Semaphore::new(places));
        shares.insert(whose, Arc::downgrade(&share));
        share
    }
}

/// Says that nobody waits, when it is dropped.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scheduling::shares::Holder;

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        let (long, ends) = (LongWork::default(), Instant::now() + Duration::from_hours(1));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let work = long.run("acme", ends, move |stop| {
            begun.send(()).unwrap();
            while !stop.is_due() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        });
        tokio::select! {
            done = work => panic!("it ended before: {done:?}"),
            begun = has_begun => begun.unwrap(),
        }
        has_ended.await.unwrap();
    }

    #[tokio::test]
    async fn work_without_a_place_is_refused_when_its_time_is_up() {
        let long = LongWork::of(0);
        let refused = long.run("acme", Instant::now(), |_| ()).await;
        assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn one_credential_leaves_half_of_its_tenants_places_to_others() {
        let (long, later) = (LongWork::of(4), Instant::now() + Duration::from_hours(1));
        let by = async |credential: &str, ends, work: Box<dyn FnOnce(&Stop) + Send>| {
            asker::scope(async {
                asker::note(&Holder::new("acme", credential));
                long.run("acme", ends, work).await
            })
            .await
        };
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, has_to_end) = std::sync::mpsc::channel::<()>();
        let wait = Box::new(move |_: &Stop| {
            begun.send(()).unwrap();
            has_to_end.recv().unwrap();
        });
        let others = async {
            has_begun.await.unwrap();
            let second = by("ann", Instant::now(), Box::new(|_| ())).await;
            assert!(matches!(second, Err(Error::Unavailable { .. })), "{second:?}");
            by("bob", later, Box::new(|_| ())).await.unwrap();
            end.send(()).unwrap();
        };
        let (first, ()) = tokio::join!(by("ann", later, wait), others);
        first.unwrap();
        by("ann", later, Box::new(|_| ())).await.unwrap();
    }

    #[tokio::test]
    async fn one_tenant_leaves_half_of_the_places_to_others() {
        let (long, later) = (LongWork::of(2), Instant::now() + Duration::from_hours(1));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, has_to_end) = std::sync::mpsc::channel::<()>();
        let first = long.run("acme", later, move |_| {
            begun.send(()).unwrap();
            has_to_end.recv().unwrap();
        });
        let others = async {
            has_begun.await.unwrap();
            let second = long.run("acme", Instant::now(), |_| ()).await;
            assert!(matches!(second, Err(Error::Unavailable { .. })), "{second:?}");
            long.run("globex", later, |_| ()).await.unwrap();
            end.send(()).unwrap();
        };
        let (first, ()) = tokio::join!(first, others);
        first.unwrap();
        long.run("acme", later, |_| ()).await.unwrap();
    }
}
