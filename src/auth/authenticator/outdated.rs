//! Detects that the database was encrypted while this server has no master key. Such a server must not write any more.

use super::Authenticator;

impl Authenticator {
    /// Whether content is encrypted with a master key that this server was not given.
    pub fn is_outdated(&self) -> bool {
        *self.outdated.borrow()
    }

    /// Returns once [`Self::is_outdated`].
    pub async fn outdated(&self) {
        // The sender lives as long as the authenticator.
        drop(self.outdated.subscribe().wait_for(|it| *it).await);
    }
}
