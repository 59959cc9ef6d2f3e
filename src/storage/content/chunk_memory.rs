//! Remembers which chunks a scope is known to have, so that a commit leaves them out. It is only a hint: the batch checks the epoch under
//! the scope lock. A commit that was planned for another epoch is planned again with all of its chunks.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use moka::sync::Cache;

use super::scope_memory::ScopeMemory;
use crate::content::parts::{NAME_BYTES, Name};
use crate::domain::checkpoints::planner::Batch;
use crate::domain::checkpoints::storage::Outcome;

/// About what the memory of all threads may take, in bytes.
const MEMORY_BYTES_MAX: u64 = 128 << 20;
/// A name in a hash set, and a thread's entry, with what they need around them.
const BYTES_PER_NAME: usize = NAME_BYTES * 2;
const BYTES_PER_THREAD: usize = 256;

/// What is known of one thread's scope. An epoch belongs to one scope: it starts at random.
#[derive(Debug, Default)]
pub struct Known {
    pub epoch: i64,
    pub names: HashSet<Name>,
}

type Key = (String, String);

/// The scopes of the threads that this process wrote lately.
pub struct ChunkMemory {
    threads: Cache<Key, Arc<Mutex<Known>>>,
    /// Of threads whose content is encrypted.
    pub scopes: ScopeMemory,
}

impl Default for ChunkMemory {
    fn default() -> Self {
        let weight = |key: &Key, known: &Arc<Mutex<Known>>| {
            let names = known.lock().unwrap_or_else(PoisonError::into_inner).names.len();
            let bytes = BYTES_PER_THREAD + key.0.len() + key.1.len() + names * BYTES_PER_NAME;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self {
            threads: Cache::builder().max_capacity(MEMORY_BYTES_MAX).weigher(weight).build(),
            scopes: ScopeMemory::default(),
        }
    }
}

impl ChunkMemory {
    /// What is known of a thread's scope.
    pub fn known(&self, tenant: &str, thread_id: &str) -> Option<Arc<Mutex<Known>>> {
        self.threads.get(&(tenant.to_owned(), thread_id.to_owned()))
    }

    /// Learns from a batch that was written which chunks are there now, and forgets what is stale.
    pub fn record(&self, batch: &Batch, outcomes: &[Outcome]) {
        for (at, (thread, outcome)) in batch.threads.iter().zip(outcomes).enumerate() {
            self.scopes.record(thread, outcome);
            match outcome {
                Outcome::Done { epoch, .. } => {
                    let names = batch.chunks.iter().filter(|it| it.thread == at);
                    self.add(&thread.tenant, &thread.thread_id, *epoch, names.map(|it| it.name));
                }
                Outcome::EpochStale { .. } | Outcome::ScopeStale { .. } => {
                    self.threads.invalidate(&(thread.tenant.clone(), thread.thread_id.clone()));
                }
                _ => {}
            }
        }
    }

    /// Adds chunks that were seen in a scope at an epoch.
    pub fn add(
        &self,
        tenant: &str,
        thread_id: &str,
        epoch: i64,
        names: impl Iterator<Item = Name>,
    ) {
        let mut names = names.peekable();
        if names.peek().is_none() {
            return;
        }
        let key = (tenant.to_owned(), thread_id.to_owned());
        let known = self.threads.get(&key).unwrap_or_default();
        {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.epoch != epoch {
                *known = Known { epoch, names: HashSet::new() };
            }
            known.names.extend(names);
        }
        // Again, so that it is weighed again.
        self.threads.insert(key, known);
    }

    /// After a batch whose end is not known.
    pub fn mark_uncertain(&self, batch: &Batch) {
        batch.threads.iter().for_each(|thread| self.scopes.mark_uncertain(thread));
    }

    pub fn forget(&self, tenant: &str, thread_id: &str) {
        self.scopes.forget(tenant, thread_id);
        self.threads.invalidate(&(tenant.to_owned(), thread_id.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_epoch_makes_it_forget_what_it_knew() {
        let memory = ChunkMemory::default();
        memory.add("t", "a", 7, [[1; NAME_BYTES], [2; NAME_BYTES]].into_iter());
        memory.add("t", "a", 7, [[3; NAME_BYTES]].into_iter());
        assert_eq!(memory.known("t", "a").unwrap().lock().unwrap().names.len(), 3);
        memory.add("t", "a", 8, [[4; NAME_BYTES]].into_iter());
        let known = memory.known("t", "a").unwrap();
        assert_eq!(known.lock().unwrap().names, HashSet::from([[4; NAME_BYTES]]));
        assert!(memory.known("t", "b").is_none());
        memory.forget("t", "a");
        assert!(memory.known("t", "a").is_none());
    }
}
