//! Runs CPU work on large values on a few threads, so that the async workers go on with small calls. Tenants take turns.

use std::sync::{Arc, LazyLock};

use super::cpu_threads;
use super::fair_places::{FairPlaces, Place, Share};
use crate::domain::{Error, Result};

/// Decoding or hashing more bytes takes about a millisecond.
pub const INLINE_BYTES_MAX: usize = 256 << 10;

/// One per core: more threads would take the processors from the async workers and the database.
static PLACES: LazyLock<Arc<FairPlaces>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    FairPlaces::new(cores, Share::WhileOthersWait)
});

/// Runs work on so many bytes: at once where they are few, else on a thread of the pool.
///
/// # Errors
/// `Internal` when the work panics.
pub async fn run_sized<T: Send + 'static>(
    tenant: &str,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    if bytes <= INLINE_BYTES_MAX { Ok(work()) } else { run(tenant, work).await }
}

/// Runs work on a thread of the pool. It must not wait for anything.
///
/// # Errors
/// `Internal` when the work panics.
pub async fn run<T: Send + 'static>(
    tenant: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    run_at(take_place(tenant).await?, work).await
}

/// Waits for a place of the pool. Whoever reads a large value takes it before, so that no more values are in memory than are worked on.
///
/// # Errors
/// None: the pool is never closed.
pub async fn take_place(tenant: &str) -> Result<Place> {
    PLACES.take(tenant).await
}

/// As [`run`], at a place that was taken before.
///
/// # Errors
/// `Internal` when the work panics.
pub async fn run_at<T: Send + 'static>(
    place: Place,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = cpu_threads::spawn(move || {
        let _place = place;
        work()
    });
    done.await.map_err(|error| Error::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_runs_at_one_time_than_there_are_cores() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let one = || {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            run("acme", move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        };
        for done in futures::future::join_all((0..50).map(|_| one())).await {
            done.unwrap();
        }
        assert!((1..=cores).contains(&most.load(Ordering::SeqCst)));
    }

    #[tokio::test]
    async fn few_bytes_are_worked_on_at_once() {
        let here = std::thread::current().id();
        let there = move || std::thread::current().id() == here;
        assert!(run_sized("acme", INLINE_BYTES_MAX, there).await.unwrap());
        assert!(!run_sized("acme", INLINE_BYTES_MAX + 1, there).await.unwrap());
    }

    /// A tenant that has much to do is overtaken by one that has little.
    #[tokio::test]
    async fn a_tenant_waits_for_one_work_of_each_other_tenant() {
        let places = FairPlaces::new(1, Share::WhileOthersWait);
        let first = places.take("acme").await.unwrap();
        let done = Arc::new(Mutex::new(Vec::new()));
        let one = |tenant: &'static str| {
            let (places, done) = (Arc::clone(&places), Arc::clone(&done));
            async move {
                let place = places.take(tenant).await.unwrap();
                run_at(place, move || done.lock().unwrap().push(tenant)).await
            }
        };
        let much: Vec<_> = (0..20).map(|_| tokio::spawn(one("acme"))).collect();
        while places.waiting_count() < 20 {
            tokio::task::yield_now().await;
        }
        let little = tokio::spawn(one("globex"));
        while places.waiting_count() < 21 {
            tokio::task::yield_now().await;
        }
        drop(first);
        little.await.unwrap().unwrap();
        let before = done.lock().unwrap().iter().position(|it| *it == "globex").unwrap();
        assert!(before <= 2, "{before} of acme went first");
        for work in much {
            work.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn work_that_panics_fails_alone() {
        let failed = run("acme", || panic!("broken")).await;
        assert!(matches!(failed, Err(Error::Internal(_))), "{failed:?}");
        run("acme", || ()).await.unwrap();
    }
}
