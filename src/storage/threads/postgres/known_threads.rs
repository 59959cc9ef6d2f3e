//! Remembers which threads this process has seen.

use std::collections::HashSet;
use std::sync::Mutex;

/// Threads whose existence this process remembers, so that a commit does not look for a new one.
const KNOWN_THREADS_MAX: usize = 100_000;

/// A hint only: a wrong one costs one more statement.
#[derive(Default)]
pub(in crate::storage) struct KnownThreads {
    set: Mutex<HashSet<(String, String)>>,
}

impl KnownThreads {
    pub(in crate::storage) fn contains(&self, tenant: &str, thread_id: &str) -> bool {
        self.set.lock().is_ok_and(|set| set.contains(&(tenant.to_owned(), thread_id.to_owned())))
    }

    pub(in crate::storage) fn insert(&self, tenant: &str, thread_id: &str) {
        if let Ok(mut set) = self.set.lock() {
            if set.len() >= KNOWN_THREADS_MAX {
                set.clear();
            }
            set.insert((tenant.to_owned(), thread_id.to_owned()));
        }
    }

    pub(in crate::storage) fn remove(&self, tenant: &str, thread_id: &str) {
        if let Ok(mut set) = self.set.lock() {
            set.remove(&(tenant.to_owned(), thread_id.to_owned()));
        }
    }
}
