//! Which content scope a thread has, as far as this process knows: what is encrypted is sealed for a scope, before the
//! batch knows whether the thread exists. A hint only: the batch compares it under the gate, and a commit that was sealed
//! for another scope is sealed again.

use moka::sync::Cache;

use crate::content::keys::TenantSecret;
use crate::domain::clock::random_id;
use crate::domain::planner::ThreadRow;
use crate::domain::prepared::PlannedScope;
use crate::domain::storage::Outcome;

/// An entry takes about 150 bytes.
const THREADS_MAX: u64 = 200_000;

type Key = (String, String);

pub struct ScopeMemory {
    threads: Cache<Key, PlannedScope>,
}

impl Default for ScopeMemory {
    fn default() -> Self {
        Self { threads: Cache::new(THREADS_MAX) }
    }
}

impl ScopeMemory {
    /// The scope of a thread. Of one that is not known: the one that it gets if it is new, the same for everybody who asks.
    pub fn plan(&self, tenant: &str, thread_id: &str) -> PlannedScope {
        let new = || PlannedScope { id: random_id(), exists: false };
        self.threads.get_with(key(tenant, thread_id), new)
    }

    /// The scope of a batch's thread, now that it is sent. One that was made up may create the thread only while nobody has
    /// seen it: what was sealed with it may have waited while the thread was made and deleted.
    pub fn checked(&self, thread: &ThreadRow) -> Option<PlannedScope> {
        let planned = thread.condition.scope?;
        let known = self.threads.get(&key(&thread.tenant, &thread.thread_id));
        Some(PlannedScope { exists: planned.exists || known != Some(planned), ..planned })
    }

    /// Notes what a read has seen, where it matters.
    pub fn saw_encrypted(&self, secret: &TenantSecret, thread: (&str, &str), scope_id: i64) {
        if secret.cipher().is_some() {
            self.saw(thread.0, thread.1, scope_id);
        }
    }

    fn saw(&self, tenant: &str, thread_id: &str, scope_id: i64) {
        let seen = PlannedScope { id: scope_id, exists: true };
        if self.threads.get(&key(tenant, thread_id)) != Some(seen) {
            self.threads.insert(key(tenant, thread_id), seen);
        }
    }

    pub fn forget(&self, tenant: &str, thread_id: &str) {
        self.threads.invalidate(&key(tenant, thread_id));
    }

    /// Learns from a batch that was written.
    pub fn learn(&self, thread: &ThreadRow, outcome: &Outcome) {
        let Some(planned) = thread.condition.scope else { return };
        match outcome {
            Outcome::Done { .. } => self.saw(&thread.tenant, &thread.thread_id, planned.id),
            Outcome::ScopeStale { current: Some(current) } => {
                self.saw(&thread.tenant, &thread.thread_id, *current);
            }
            Outcome::ScopeStale { current: None } => self.forget(&thread.tenant, &thread.thread_id),
            _ => {}
        }
    }

    /// After a batch whose end is not known: a scope that was made up must not be made up twice.
    pub fn doubt(&self, thread: &ThreadRow) {
        if thread.condition.scope.is_some_and(|it| !it.exists) {
            self.forget(&thread.tenant, &thread.thread_id);
        }
    }
}

fn key(tenant: &str, thread_id: &str) -> Key {
    (tenant.to_owned(), thread_id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_thread_has_one_scope_for_all_who_ask_until_it_is_known_better() {
        let memory = ScopeMemory::default();
        let planned = memory.plan("t", "a");
        assert!(!planned.exists);
        assert_eq!(memory.plan("t", "a"), planned);
        assert_ne!(memory.plan("t", "b").id, planned.id);
        memory.saw("t", "a", 7);
        assert_eq!(memory.plan("t", "a"), PlannedScope { id: 7, exists: true });
        memory.forget("t", "a");
        assert!(!memory.plan("t", "a").exists);
    }
}
