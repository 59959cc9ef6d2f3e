//! Runs work on large bodies beside the async workers: on as many threads at one time as there are cores, in the order of asking.

use std::sync::LazyLock;

use tokio::sync::Semaphore;

use super::problem::Problem;

/// More threads would take the processors from the workers and the database.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)));

/// What the work makes. It waits for nothing.
///
/// # Errors
/// `internal`, when it panics.
pub async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let place = PLACES.acquire().await.map_err(|error| Problem::internal(error.to_string()))?;
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        work()
    });
    done.await.map_err(|error| Problem::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_runs_at_one_time_than_there_are_cores() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let one = || {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            beside(move || {
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
}
