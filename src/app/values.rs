//! The values of threads that this server saw lately: bases of differences. Joins the memory of `content` to the
//! callers of `domain`; here it is decided who may use what, and nowhere else.

use std::sync::Arc;

use bytes::Bytes;

use crate::content::recent::{Recent, Scope};
use crate::domain::caller::{Caller, Permission};
use crate::domain::grants::Action;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;

pub use crate::content::difference::{
    Difference, DifferenceError, Digest, Ends, Piece, digest, header_length,
};

/// See the module.
#[derive(Clone)]
pub struct Values {
    recent: Arc<Recent>,
}

/// Those of one thread, for one caller.
#[derive(Clone)]
pub struct ThreadValues {
    recent: Arc<Recent>,
    scope: Scope,
    may_read: bool,
}

impl Values {
    /// Keeps at most so many bytes, over all threads.
    pub fn new(bytes_max: u64) -> Self {
        Self { recent: Arc::new(Recent::new(bytes_max, rand::random())) }
    }

    pub fn of(&self, caller: &Caller, thread_id: &ThreadId) -> ThreadValues {
        let may_read = caller.require(Permission::Threads(Action::Read)).is_ok()
            && caller.may_read_thread(thread_id);
        let scope = self.recent.scope(&[&caller.tenant, thread_id.as_str()]);
        ThreadValues { recent: Arc::clone(&self.recent), scope, may_read }
    }

    /// What is kept now.
    pub fn bytes(&self) -> u64 {
        self.recent.bytes()
    }
}

impl ThreadValues {
    /// None: not known here, or not for this caller, which look the same.
    pub fn get(&self, digest: &Digest) -> Option<Bytes> {
        self.recent.get(self.scope, digest).filter(|_| self.may_read)
    }

    /// The same by the beginning of the digest.
    pub fn find(&self, prefix: &[u8]) -> Option<(Digest, Bytes)> {
        self.recent.find(self.scope, prefix).filter(|_| self.may_read)
    }

    /// Only for values that are stored: committed, or just read. `data` must own no more memory than it shows: a
    /// slice would keep the whole body alive that it is a part of.
    pub fn keep(&self, digest: Digest, data: Bytes) {
        self.recent.put(self.scope, digest, data);
    }

    /// Whether it is kept already; it counts as used now.
    pub fn is_kept(&self, digest: &Digest) -> bool {
        self.recent.get(self.scope, digest).is_some()
    }

    /// The thread is gone, or a part of it.
    pub fn forget(&self) {
        self.recent.remove(self.scope);
    }
}

/// Whether a value is worth remembering; smaller ones travel whole.
pub fn is_worth_keeping(data: &[u8]) -> bool {
    data.len() as u64 >= LIMITS.difference_bytes_min
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_the_thread_gets_no_base_and_sees_no_difference() {
        let values = Values::new(1 << 20);
        let thread_id = ThreadId::new("t").unwrap();
        let reader = values.of(&Caller::of_tenant("acme"), &thread_id);
        let data = Bytes::from(vec![7; 1_000]);
        let name = digest(&data);
        reader.keep(name, data.clone());
        assert_eq!(reader.get(&name), Some(data.clone()));
        assert_eq!(reader.find(&name[..16]), Some((name, data)));
        let writer = ThreadValues { may_read: false, ..reader.clone() };
        assert_eq!((writer.get(&name), writer.find(&name[..16])), (None, None));
        // What it writes is a base for those who may read.
        let other = Bytes::from(vec![8; 1_000]);
        writer.keep(digest(&other), other.clone());
        assert_eq!((writer.get(&digest(&other)), reader.get(&digest(&other))), (None, Some(other)));
    }
}
