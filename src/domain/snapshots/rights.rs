//! Decides who may read a snapshot: whoever may read all that is in it.

use super::Snapshot;
use crate::domain::caller::Caller;
use crate::domain::tokens::grants::{Access, Action};

impl Caller {
    /// Whether the caller may read everything that the snapshot has, wherever it lies now. A snapshot would else make whoever may only
    /// write a reader: of what was shared, and of what a restore replaced.
    pub fn may_read_all_of(&self, snapshot: &Snapshot) -> bool {
        let owns = |access: Access<'_>, owner: Option<&String>| match access {
            Access::Granted => true,
            Access::IfOwnedBy(subject) => owner.is_some_and(|it| it == subject),
            Access::Denied => false,
        };
        let read = Action::Read;
        let threads = snapshot
            .threads
            .iter()
            .all(|it| owns(self.thread_access(&it.thread_id, read), it.owner.as_ref()));
        let sessions = snapshot
            .sessions
            .iter()
            .all(|it| owns(self.session_access(&it.session, read), it.owner.as_ref()));
        let mut namespaces = snapshot.namespaces.iter().map(|it| it.namespace.labels());
        threads && sessions && namespaces.all(|it| self.may_touch_namespace(it, read))
    }
}
