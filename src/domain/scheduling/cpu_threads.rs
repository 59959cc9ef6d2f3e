//! Threads for CPU work that takes more than a moment. The threads that answer calls go first: where the processors do not suffice for both,
//! the operating system gives these what the others leave.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// A thread of this nice value gets a tenth of a processor that it shares with one of value 0 (`sched(7)`).
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// It drives nothing: only its blocking threads are used. A thread cannot raise its priority again, so the ones of the main runtime are left
/// alone.
static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
    let threads =
        Builder::new_current_thread().thread_name("cpu-work").on_thread_start(give_way).build();
    threads.expect("a runtime without I/O opens nothing that could fail")
});

/// Runs work on a thread of lower priority. Whoever calls this bounds how many run at one time.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    THREADS.spawn_blocking(work)
}

/// Elsewhere a nice value counts for the whole process.
#[cfg(target_os = "linux")]
fn give_way() {
    use rustix::process::{getpriority_process, setpriority_process};

    // Zero is the calling thread here. Where a system forbids this, the work runs all the same.
    if getpriority_process(None).is_ok_and(|now| now < NICE) {
        let _ = setpriority_process(None, NICE);
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn threads_that_answer_calls_go_first() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(spawn(nice).await.unwrap(), NICE.max(before));
        assert_eq!(tokio::task::spawn_blocking(nice).await.unwrap(), before);
        assert_eq!(nice(), before);
    }

    #[tokio::test]
    async fn work_that_panics_is_told() {
        assert!(spawn(|| panic!("broken")).await.unwrap_err().is_panic());
        spawn(|| ()).await.unwrap();
    }
}
