//! Runs CPU work of a caller. Short work runs in place. For long work the async worker continues with other tasks meanwhile.

use tokio::runtime::{Handle, RuntimeFlavor};

/// More bytes or entries take over a millisecond to seal.
const SHORT_BYTES_MAX: usize = 256 << 10;
const SHORT_ENTRIES_MAX: usize = 256;

/// What the work makes. `entries` and `bytes` tell how long it is.
pub fn run_sized<T>((entries, bytes): (usize, usize), work: impl FnOnce() -> T) -> T {
    let has_workers =
        Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_workers && (entries > SHORT_ENTRIES_MAX || bytes > SHORT_BYTES_MAX) {
        return tokio::task::block_in_place(work);
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only worker would else wait for itself.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_work_leaves_its_worker_to_other_tasks() {
        let (other, done) = std::sync::mpsc::channel();
        let long = tokio::spawn(async move {
            tokio::spawn(async move { other.send(()).unwrap() });
            run_sized((1, SHORT_BYTES_MAX + 1), || done.recv().unwrap());
        });
        long.await.unwrap();
    }
}
