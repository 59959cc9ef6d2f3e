//! Remembers which content scope a thread has. Encrypted content is sealed for a scope before the batch knows whether the thread exists. It
//! is only a hint: the batch compares it under the scope lock. A commit that was sealed for another scope is sealed again. This file also
//! remembers key and owner, once the MAC of the thread's row was checked. A batch that finds others writes nothing, and the row is checked
//! again.

use std::sync::Arc;

use moka::sync::Cache;

use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::planner::ThreadRow;
use crate::domain::checkpoints::prepared::PlannedScope;
use crate::domain::checkpoints::storage::Outcome;
use crate::domain::clock::random_id;

/// An entry takes about 200 bytes.
const THREADS_MAX: u64 = 200_000;

type Key = (String, String);

/// Key and owner of a thread as its row had them when its MAC was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedRow {
    pub thread_key: i64,
    pub owner: Option<Arc<str>>,
}

/// What is known of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownThread {
    pub scope: PlannedScope,
    pub row: Option<CheckedRow>,
}

pub struct ScopeMemory {
    threads: Cache<Key, KnownThread>,
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
        let new = || KnownThread { scope: new(), row: None };
        self.threads.get_with(key(tenant, thread_id), new).scope
    }

    /// The scope of a batch's thread, now that it is sent, and what is known of its row. A scope that was made up may create the
    /// thread only while nobody has seen it: what was sealed with it may have waited while the thread was made and deleted.
    pub fn checked(&self, thread: &ThreadRow) -> Option<KnownThread> {
        let planned = thread.condition.scope?;
        let known = self.threads.get(&key(&thread.tenant, &thread.thread_id));
        let is_planned = known.as_ref().is_some_and(|it| it.scope == planned);
        let scope = PlannedScope { exists: planned.exists || !is_planned, ..planned };
        let row = known.filter(|it| it.scope.id == planned.id).and_then(|it| it.row);
        Some(KnownThread { scope, row })
    }

    /// Notes what a read has seen and checked, where content is encrypted.
    pub fn saw_encrypted(
        &self,
        secret: &TenantSecret,
        thread: (&str, &str),
        (thread_key, scope_id): (i64, i64),
        owner: Option<&str>,
    ) {
        if secret.cipher().is_some() {
            self.insert(thread, scope_id, Some((thread_key, owner)));
        }
    }

    fn insert(&self, thread: (&str, &str), scope_id: i64, row: Option<(i64, Option<&str>)>) {
        let key = key(thread.0, thread.1);
        let known = self.threads.get(&key);
        let known = known.filter(|it| it.scope == PlannedScope { id: scope_id, exists: true });
        let is_same = |it: &CheckedRow| row == Some((it.thread_key, it.owner.as_deref()));
        if known.is_some_and(|it| row.is_none() || it.row.as_ref().is_some_and(is_same)) {
            return;
        }
        let scope = PlannedScope { id: scope_id, exists: true };
        let row =
            row.map(|(thread_key, owner)| CheckedRow { thread_key, owner: owner.map(Arc::from) });
        self.threads.insert(key, KnownThread { scope, row });
    }

    pub fn forget(&self, tenant: &str, thread_id: &str) {
        self.threads.invalidate(&key(tenant, thread_id));
    }

    /// Learns from a batch that was written.
    pub fn record(&self, thread: &ThreadRow, outcome: &Outcome) {
        let Some(planned) = thread.condition.scope else { return };
        let name = (thread.tenant.as_str(), thread.thread_id.as_str());
        match outcome {
            // Epochs are random: with this one the batch made the thread.
            Outcome::Done { epoch, .. } if *epoch == thread.fresh.thread_key => {
                let row = (thread.fresh.thread_key, thread.owner.as_deref());
                self.insert(name, planned.id, Some(row));
            }
            Outcome::Done { .. } => self.insert(name, planned.id, None),
            Outcome::ScopeStale { current: Some(current) } => self.insert(name, *current, None),
            Outcome::ScopeStale { current: None } | Outcome::ThreadForged => {
                self.forget(name.0, name.1);
            }
            _ => {}
        }
    }

    /// After a batch whose end is not known: a scope that was made up must not be made up twice.
    pub fn mark_uncertain(&self, thread: &ThreadRow) {
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
        memory.insert(("t", "a"), 7, None);
        assert_eq!(memory.plan("t", "a"), PlannedScope { id: 7, exists: true });
        memory.forget("t", "a");
        assert!(!memory.plan("t", "a").exists);
    }
}
