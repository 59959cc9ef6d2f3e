//! Runs CPU work on large values beside the async workers, so that these go on with small calls. Tenants take turns for its places. Work on
//! few bytes runs at once.
//!
//! | function | the work | it waits for a place |
//! |---|---|---|
//! | [`run_sized`] | owns what it works on, and moves to a thread of lower priority | yes |
//! | [`run_here`] | borrows, and stays on its thread; another one goes on with the async worker's tasks | yes |
//! | [`run_here_at_once`] | as [`run_here`], of who holds a connection or a lock | no |
//!
//! **Invariant:** nobody waits for a place while holding a connection, a transaction or a lock of the database, and no work waits for anything.
//! So places cannot be waited for in a circle. Long work ends by itself when its caller has left, and its result is dropped.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::cpu_threads;
use super::fair_places::{FairPlaces, Place, Share};
use crate::domain::{Error, Result};

/// Decoding or hashing more bytes takes about a millisecond.
pub const INLINE_BYTES_MAX: usize = 256 << 10;
/// Sealing or opening one of many small values takes as long as working on so many bytes.
const ENTRY_BYTES: usize = 1 << 10;
/// The same of scoring and sorting one of many candidates.
const CANDIDATE_BYTES: usize = 1 << 8;

/// One per core: more threads would take the processors from the async workers and the database.
static PLACES: LazyLock<Arc<FairPlaces>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    FairPlaces::new(cores, Share::WhileOthersWait)
});

thread_local! {
    /// This thread is at work that has a place.
    static IS_WORKING: Cell<bool> = const { Cell::new(false) };
}

tokio::task_local! {
    static COUNTED: Arc<AtomicUsize>;
}

/// How much work so many values are that have so many bytes together.
pub fn size_of(entries: usize, bytes: usize) -> usize {
    bytes.max(entries.saturating_mul(ENTRY_BYTES))
}

/// How much work it is to score and sort so many candidates of a search.
pub fn size_of_sorting(candidates: usize) -> usize {
    candidates.saturating_mul(CANDIDATE_BYTES)
}

/// Runs work on so many bytes: at once where they are few, else on a thread of the pool.
///
/// # Errors
/// `Internal` when the work panics.
pub async fn run_sized<T: Send + 'static>(
    tenant: &str,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    if bytes <= INLINE_BYTES_MAX {
        return Ok(work());
    }
    count(bytes);
    run(tenant, work).await
}

/// Runs work on so many bytes that it borrows: at once where they are few, else at a place of the pool.
///
/// # Errors
/// None: the pool is never closed.
pub async fn run_here<T>(tenant: &str, bytes: usize, work: impl FnOnce() -> T) -> Result<T> {
    if bytes <= INLINE_BYTES_MAX {
        return Ok(work());
    }
    let place = take_place(tenant).await?;
    Ok(run_beside(Some(place), bytes, work))
}

/// As [`run_here`], for who holds what others wait for: a connection, a transaction, a lock. It takes a place that is free, and runs without
/// where there is none: the number of connections bounds it, and tenants take turns for these.
pub fn run_here_at_once<T>(tenant: &str, bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= INLINE_BYTES_MAX || IS_WORKING.get() {
        return work();
    }
    run_beside(PLACES.take_free(tenant), bytes, work)
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

/// What a task makes, and the bytes of its long work that left the async workers. Tests see by it that work has not come back to them; what the
/// task spawns is not counted.
pub async fn count_long_work<T>(task: impl Future<Output = T>) -> (T, usize) {
    let counted = Arc::default();
    let made = count_long_work_in(&counted, task).await;
    (made, counted.load(Ordering::Relaxed))
}

/// As [`count_long_work`], for who looks at the count while the task runs.
pub async fn count_long_work_in<T>(counted: &Arc<AtomicUsize>, task: impl Future<Output = T>) -> T {
    COUNTED.scope(Arc::clone(counted), task).await
}

fn count(bytes: usize) {
    let _ = COUNTED.try_with(|it| it.fetch_add(bytes, Ordering::Relaxed));
}

/// Waits for a place of the pool.
///
/// # Errors
/// None: the pool is never closed.
pub async fn take_place(tenant: &str) -> Result<Place> {
    PLACES.take(tenant).await
}

async fn run_at<T: Send + 'static>(
    place: Place,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = cpu_threads::spawn(move || {
        let _place = place;
        as_work(work)
    });
    done.await.map_err(|error| Error::Internal(error.to_string()))
}

/// The async worker goes on with its other tasks on another thread.
fn run_beside<T>(place: Option<Place>, bytes: usize, work: impl FnOnce() -> T) -> T {
    count(bytes);
    let _place = place;
    let has_workers =
        Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_workers { tokio::task::block_in_place(|| as_work(work)) } else { as_work(work) }
}

/// Work inside of it needs no place of its own.
fn as_work<T>(work: impl FnOnce() -> T) -> T {
    struct Ended(bool);
    impl Drop for Ended {
        fn drop(&mut self) {
            IS_WORKING.set(self.0);
        }
    }
    let _ended = Ended(IS_WORKING.replace(true));
    work()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt as _;

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

    /// The only worker would else wait for itself.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_that_borrows_leaves_its_worker_to_other_tasks() {
        for at_once in [false, true] {
            let (other, done) = std::sync::mpsc::channel();
            let long = tokio::spawn(async move {
                tokio::spawn(async move { other.send(()).unwrap() });
                let wait = move || done.recv().unwrap();
                if at_once {
                    run_here_at_once("acme", INLINE_BYTES_MAX + 1, wait);
                } else {
                    run_here("acme", INLINE_BYTES_MAX + 1, wait).await.unwrap();
                }
            });
            long.await.unwrap();
        }
    }

    #[tokio::test]
    async fn long_work_waits_for_a_place_and_short_work_does_not() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut places = Vec::new();
        for _ in 0..cores {
            places.push(take_place("acme").await.unwrap());
        }
        let short = run_here("acme", size_of(256, INLINE_BYTES_MAX), || 1);
        assert_eq!(short.now_or_never().unwrap().unwrap(), 1);
        let at_once = run_here_at_once("acme", size_of(257, 1), || 4);
        assert_eq!(at_once, 4, "it needs none");
        let mut long = Box::pin(run_here("acme", size_of(257, 1), || 2));
        assert!(long.as_mut().now_or_never().is_none());
        drop(places);
        assert_eq!(long.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn long_work_is_counted_once_and_short_work_not_at_all() {
        let long = INLINE_BYTES_MAX + 1;
        let task = async {
            run_sized("acme", 1, || ()).await.unwrap();
            run_here("acme", 1, || ()).await.unwrap();
            run_here_at_once("acme", 1, || ());
            let inner = || run_here_at_once("acme", long, || ());
            run_here("acme", long, inner).await.unwrap();
            run_here_at_once("acme", long, inner);
            run_sized("acme", long, move || run_here_at_once("acme", long, || ())).await.unwrap();
        };
        assert_eq!(count_long_work(task).await.1, 3 * long);
    }
}
