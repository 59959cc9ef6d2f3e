//! Keeps recently used values of threads in memory, as bases of differences. Joins the memory of `content` to the callers of `domain`. Only
//! this file decides which caller may use which value.

use std::sync::Arc;

use bytes::Bytes;

use crate::content::recent::{Recent, Scope};
use crate::domain::caller::{Caller, Permission};
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::tokens::grants::Action;

pub use crate::content::difference::{
    Difference, DifferenceError, Digest, Ends, Piece, digest, header_length,
};

/// See the module.
#[derive(Clone)]
pub struct Values {
    recent: Arc<Recent>,
}

/// Those of one thread, for one caller. A caller who reaches the thread only as its owner has a memory of its own: what
/// nobody kept who had to be that owner is not known there, so an answer tells nothing of a thread that is another's.
#[derive(Clone)]
pub struct ThreadValues {
    recent: Arc<Recent>,
    /// Where its reads look, and what they leave.
    read: Scope,
    /// What its commits leave.
    written: Scope,
    may_read: bool,
    /// Whether its removals touch the thread whoever owns it.
    may_forget: bool,
}

impl Values {
    /// Keeps at most so many bytes, over all threads.
    pub fn new(bytes_max: u64) -> Self {
        Self { recent: Arc::new(Recent::new(bytes_max, rand::random())) }
    }

    pub fn of(&self, caller: &Caller, thread_id: &ThreadId) -> ThreadValues {
        let may_read = caller.require(Permission::Threads(Action::Read)).is_ok()
            && caller.may_read_thread(thread_id);
        let thread = thread_id.as_str();
        let scope = |action| {
            let owner = caller.thread_owner(thread, action);
            self.recent.scope(&[&caller.tenant, thread], owner.as_slice())
        };
        ThreadValues {
            recent: Arc::clone(&self.recent),
            read: scope(Action::Read),
            written: scope(Action::Append),
            may_read,
            may_forget: caller.thread_owner(thread, Action::Write).is_none(),
        }
    }

    /// What is kept now.
    pub fn bytes(&self) -> u64 {
        self.recent.bytes()
    }
}

impl ThreadValues {
    /// None: not known here, or not for this caller, which look the same.
    pub fn get(&self, digest: &Digest) -> Option<Bytes> {
        self.recent.get(self.read, digest).filter(|_| self.may_read)
    }

    /// The same by the beginning of the digest.
    pub fn find(&self, prefix: &[u8]) -> Option<(Digest, Bytes)> {
        self.recent.find(self.read, prefix).filter(|_| self.may_read)
    }

    /// Only for values that a commit of this caller has stored. `data` must own no more memory than it shows: a
    /// slice would keep the whole body alive that it is a part of.
    pub fn keep_committed(&self, digest: Digest, data: Bytes) {
        self.recent.put(self.written, digest, data);
    }

    /// The same for values that this caller has just read.
    pub fn keep_read(&self, digest: Digest, data: Bytes) {
        self.recent.put(self.read, digest, data);
    }

    /// Whether it is kept already; it counts as used now.
    pub fn is_kept(&self, digest: &Digest) -> bool {
        self.recent.get(self.read, digest).is_some()
    }

    /// The thread is gone, or a part of it: for everybody.
    pub fn forget(&self) {
        self.recent.remove(self.read);
    }

    /// After a removal that found nothing, which may be the second of two. Who would have to own the thread forgets nothing:
    /// it may be another's.
    pub fn forget_if_granted(&self) {
        if self.may_forget {
            self.forget();
        }
    }
}

/// Whether a value is worth remembering; smaller ones travel whole.
pub fn is_worth_keeping(data: &[u8]) -> bool {
    data.len() as u64 >= LIMITS.difference_bytes_min
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::caller::Grants;
    use crate::domain::tokens::grants::{Actions, Grant, Scoped, Selector};

    #[test]
    fn who_may_not_read_the_thread_gets_no_base_and_sees_no_difference() {
        let values = Values::new(1 << 20);
        let thread_id = ThreadId::new("t").unwrap();
        let reader = values.of(&Caller::of_tenant("acme"), &thread_id);
        let data = Bytes::from(vec![7; 1_000]);
        let name = digest(&data);
        reader.keep_committed(name, data.clone());
        assert_eq!(reader.get(&name), Some(data.clone()));
        assert_eq!(reader.find(&name[..16]), Some((name, data)));
        let writer = ThreadValues { may_read: false, ..reader.clone() };
        assert_eq!((writer.get(&name), writer.find(&name[..16])), (None, None));
        // What it writes is a base for those who may read.
        let other = Bytes::from(vec![8; 1_000]);
        writer.keep_committed(digest(&other), other.clone());
        assert_eq!((writer.get(&digest(&other)), reader.get(&digest(&other))), (None, Some(other)));
    }

    fn with(subject: &str, threads: Vec<Grant>) -> Caller {
        Caller {
            subject: Some(subject.into()),
            grants: Grants::Scoped(Arc::new(Scoped { threads, ..Scoped::default() })),
            ..Caller::of_tenant("acme")
        }
    }

    fn grant(selector: Selector, actions: Actions) -> Grant {
        Grant { selector, actions }
    }

    #[test]
    fn who_has_to_own_the_thread_sees_only_what_such_a_caller_kept() {
        let values = Values::new(1 << 20);
        let thread_id = ThreadId::new("a:t").unwrap();
        let owned = |subject| with(subject, vec![grant(Selector::Owned, Actions::ALL)]);
        let prefix = with("ann", vec![grant(Selector::Prefix("a:".into()), Actions::ALL)]);
        let appends = with("ann", vec![grant(Selector::Owned, Actions::APPEND)]);
        // Reads what is its own, writes to whatever has this name.
        let named = vec![
            grant(Selector::Owned, Actions::READ),
            grant(Selector::Exact("a:t".into()), Actions::APPEND),
        ];
        let callers = [
            ("tenant", Caller::of_tenant("acme")),
            ("prefix", prefix),
            ("ann", owned("ann")),
            ("ann appends", appends),
            ("ann named", with("ann", named)),
            ("bob", owned("bob")),
            ("other tenant", Caller::of_tenant("globex")),
        ];
        for (at, (who, keeper)) in callers.iter().enumerate() {
            let data = Bytes::from(vec![u8::try_from(at).unwrap(); 1_000]);
            values.of(keeper, &thread_id).keep_committed(digest(&data), data.clone());
            let found: Vec<&str> = callers
                .iter()
                .filter(|(_, it)| values.of(it, &thread_id).get(&digest(&data)).is_some())
                .map(|(name, _)| *name)
                .collect();
            let expected: &[&str] = match *who {
                "tenant" | "prefix" | "ann named" => &["tenant", "prefix"],
                "ann" | "ann appends" => &["ann", "ann named"],
                "bob" => &["bob"],
                _ => &["other tenant"],
            };
            assert_eq!(found, expected, "{who}");
        }
        let kept = values.bytes();
        values.of(&callers[2].1, &thread_id).forget_if_granted();
        assert_eq!(values.bytes(), kept, "perhaps another's");
        values.of(&callers[1].1, &thread_id).forget_if_granted();
        assert_eq!(values.bytes() * 7, kept, "all but the other tenant's");
    }
}
