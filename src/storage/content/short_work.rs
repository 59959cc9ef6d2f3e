//! Runs CPU work of a caller that borrows what it works on. Short work runs in place. Long work has a place of the CPU pool, where tenants
//! take turns, and the async worker continues with other tasks meanwhile.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::domain::Result;
use crate::domain::scheduling::cpu_pool::take_place;

/// More bytes or entries take over a millisecond to seal.
const SHORT_BYTES_MAX: usize = 256 << 10;
const SHORT_ENTRIES_MAX: usize = 256;

/// What the work makes. `entries` and `bytes` tell how long it is.
///
/// # Errors
/// None of its own.
pub async fn run_sized<T>(
    tenant: &str,
    (entries, bytes): (usize, usize),
    work: impl FnOnce() -> T,
) -> Result<T> {
    if entries <= SHORT_ENTRIES_MAX && bytes <= SHORT_BYTES_MAX {
        return Ok(work());
    }
    let _place = take_place(tenant).await?;
    let has_workers =
        Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    Ok(if has_workers { tokio::task::block_in_place(work) } else { work() })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// The only worker would else wait for itself.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_work_leaves_its_worker_to_other_tasks() {
        let (other, done) = std::sync::mpsc::channel();
        let long = tokio::spawn(async move {
            tokio::spawn(async move { other.send(()).unwrap() });
            let wait = move || done.recv().unwrap();
            run_sized("acme", (1, SHORT_BYTES_MAX + 1), wait).await.unwrap();
        });
        long.await.unwrap();
    }

    #[tokio::test]
    async fn long_work_waits_for_a_place_and_short_work_does_not() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut places = Vec::new();
        for _ in 0..cores {
            places.push(take_place("acme").await.unwrap());
        }
        let short = run_sized("acme", (1, SHORT_BYTES_MAX), || 1);
        assert_eq!(short.now_or_never().unwrap().unwrap(), 1);
        let mut long = Box::pin(run_sized("acme", (SHORT_ENTRIES_MAX + 1, 1), || 2));
        assert!(long.as_mut().now_or_never().is_none());
        drop(places);
        assert_eq!(long.await.unwrap(), 2);
    }
}
