//! The gate: from the text of a key to a caller, and what applies while there is no key at all.
//!
//! **Invariant:** answers come from the set in memory, never from the database, so a request cannot be slowed
//! by its key; the set is at most [`FRESH_FOR`] old.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use super::Refusal;
use super::loopback::{self, Visit};
use super::secret::Secret;
use crate::domain::Result;
use crate::domain::caller::{Caller, Grants};
use crate::domain::grants::Scoped;
use crate::domain::key::Key;
use crate::domain::storage::Storage;

/// How often the keys are read again.
pub const POLL_EVERY: Duration = Duration::from_secs(2);
/// Without a successful poll for this long nobody is let in by a key: it may have been revoked.
pub const FRESH_FOR: Duration = Duration::from_secs(5);
/// Tenant of a server without keys.
const KEYLESS_TENANT: &str = "default";

/// Decides who a request comes from.
pub struct Gate {
    listen: SocketAddr,
    known: RwLock<Known>,
}

struct Known {
    set: Arc<KeySet>,
    read_at: Instant,
}

/// Active keys by the first bytes of their hash. The full hash is compared in constant time.
type KeySet = HashMap<[u8; 8], Vec<Key>>;

impl Gate {
    /// Loads the keys for a server that listens on `listen`.
    ///
    /// # Errors
    /// When the keys cannot be read.
    pub async fn load(storage: &dyn Storage, listen: SocketAddr) -> Result<Self> {
        let read_at = Instant::now();
        let set = Arc::new(index(storage.list_active_keys().await?));
        Ok(Self { listen, known: RwLock::new(Known { set, read_at }) })
    }

    /// Whether the server would be open to whoever can reach its address.
    pub fn is_unprotected(&self) -> bool {
        self.is_keyless() && !self.listen.ip().is_loopback()
    }

    pub fn is_keyless(&self) -> bool {
        self.known().0.is_empty()
    }

    /// Whether the keys were read lately; a server without keys has nothing that could be revoked.
    pub fn is_fresh(&self) -> bool {
        let (set, read_at) = self.known();
        set.is_empty() || read_at.elapsed() <= FRESH_FOR
    }

    /// What every request has to pass, whatever it asks for.
    ///
    /// # Errors
    /// Without keys: requests that a local program did not make on its own account.
    pub fn admit<'a>(&self, visit: impl FnOnce() -> Visit<'a>) -> Result<(), Refusal> {
        if !self.is_keyless() {
            return Ok(());
        }
        if !self.listen.ip().is_loopback() {
            return Err(Refusal::Unauthorized("the server has no key and is not local"));
        }
        loopback::check(&visit(), self.listen)
    }

    /// Who holds this key; without a key in the server and in the request, the local user.
    ///
    /// # Errors
    /// Unknown and absent keys; a set of keys that is too old to be trusted.
    pub fn caller(&self, presented: Option<&str>) -> Result<Caller, Refusal> {
        let (set, read_at) = self.known();
        if set.is_empty() && presented.is_none() {
            return Ok(Caller::of_tenant(KEYLESS_TENANT));
        }
        if !set.is_empty() && read_at.elapsed() > FRESH_FOR {
            return Err(Refusal::Stale);
        }
        let text = presented.ok_or(Refusal::Unauthorized("a key is needed"))?;
        let unknown = Refusal::Unauthorized("the key is not known");
        let hash = Secret::parse(text).ok_or(unknown.clone())?.hash();
        let key = find(&set, &hash).ok_or(unknown)?;
        let grants = key.subject.as_deref().map_or(Grants::Tenant, |subject| {
            Grants::Scoped(Arc::new(Scoped::of_subject(subject)))
        });
        Ok(Caller {
            tenant: key.tenant.clone(),
            subject: key.subject.clone(),
            grants,
            credential: key.key_id.clone(),
        })
    }

    /// Reads the keys again, for as long as the task lives.
    pub async fn poll(self: Arc<Self>, storage: Arc<dyn Storage>) {
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            // Taken before the read: a key revoked during it may be missing from the answer.
            let read_at = Instant::now();
            match storage.list_active_keys().await {
                Ok(keys) => self.replace(keys, read_at),
                Err(error) => tracing::warn!(%error, "the keys could not be read"),
            }
        }
    }

    fn replace(&self, keys: Vec<Key>, read_at: Instant) {
        let known = Known { set: Arc::new(index(keys)), read_at };
        *self.known.write().expect("no code panics while it holds the set") = known;
    }

    fn known(&self) -> (Arc<KeySet>, Instant) {
        let known = self.known.read().expect("no code panics while it holds the set");
        (Arc::clone(&known.set), known.read_at)
    }
}

fn index(keys: Vec<Key>) -> KeySet {
    let mut set = KeySet::new();
    for key in keys.into_iter().filter(|key| key.revoked_at.is_none()) {
        set.entry(prefix(&key.hash)).or_default().push(key);
    }
    set
}

fn find<'a>(set: &'a KeySet, hash: &[u8; 32]) -> Option<&'a Key> {
    set.get(&prefix(hash))?.iter().find(|key| bool::from(key.hash.ct_eq(hash)))
}

fn prefix(hash: &[u8; 32]) -> [u8; 8] {
    let mut prefix = [0; 8];
    prefix.copy_from_slice(&hash[..8]);
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(listen: &str, keys: Vec<Key>) -> Gate {
        let known = Known { set: Arc::new(index(keys)), read_at: Instant::now() };
        Gate { listen: listen.parse().unwrap(), known: RwLock::new(known) }
    }

    fn key(tenant: &str, secret: &Secret) -> Key {
        Key {
            key_id: format!("key_{tenant}"),
            tenant: tenant.into(),
            subject: None,
            hash: secret.hash(),
            created_at: 0,
            revoked_at: None,
        }
    }

    #[tokio::test]
    async fn a_key_opens_its_own_tenant_and_no_other_text_opens_anything() {
        let (one, two) = (Secret::random(), Secret::random());
        let gate = gate("127.0.0.1:1", vec![key("one", &one), key("two", &two)]);
        assert_eq!(gate.caller(Some(one.text())).unwrap().tenant, "one");
        assert_eq!(gate.caller(Some(two.text())).unwrap().tenant, "two");
        for text in [None, Some(""), Some("tk_"), Some(Secret::random().text())] {
            assert!(matches!(gate.caller(text), Err(Refusal::Unauthorized(_))), "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_presented_key_is_never_ignored_by_a_server_without_keys() {
        let gate = gate("127.0.0.1:1", vec![]);
        assert_eq!(gate.caller(None).unwrap().tenant, "default");
        assert!(gate.caller(Some(Secret::random().text())).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_could_not_be_read_lately_let_nobody_in() {
        let secret = Secret::random();
        let gate = gate("127.0.0.1:1", vec![key("one", &secret)]);
        tokio::time::advance(FRESH_FOR).await;
        assert!(gate.caller(Some(secret.text())).is_ok());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(gate.caller(Some(secret.text())), Err(Refusal::Stale));
        assert!(!gate.is_fresh());
    }

    #[tokio::test]
    async fn the_first_key_ends_the_keyless_mode_and_a_revoked_one_is_gone() {
        let secret = Secret::random();
        let gate = gate("127.0.0.1:1", vec![]);
        gate.replace(vec![key("one", &secret)], Instant::now());
        assert!(gate.caller(None).is_err());
        assert!(gate.caller(Some(secret.text())).is_ok());
        let revoked = Key { revoked_at: Some(1), ..key("one", &secret) };
        gate.replace(vec![revoked, key("two", &Secret::random())], Instant::now());
        assert!(gate.caller(Some(secret.text())).is_err());
    }

    #[tokio::test]
    async fn without_keys_nothing_is_answered_on_an_address_that_others_reach() {
        let gate = gate("0.0.0.0:1", vec![]);
        assert!(gate.is_unprotected());
        assert!(gate.admit(Visit::default).is_err());
    }
}
