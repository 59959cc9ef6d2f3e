//! Authenticates requests: turns the text of a key or token into a caller. Decides which requests are answered while there is no key.
//!
//! **Invariant:** answers come from the set in memory, never from the database, so a key cannot slow its request. The set is at most
//! [`FRESH_FOR`] old. There are two exceptions, for credentials that may be new. If a token's secret or key is not in the set, the set is
//! read again, at most once in [`REREAD_EVERY`]. An unknown key is looked up, as often as [`Lookups`] allows. A caller with a known key
//! waits for neither.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};

use super::Refusal;
use super::credentials::CredentialSet;
use super::issuers::Issuers;
use super::lookups::{Lookups, Verdict};
use super::loopback::{self, Visit};
use super::secret::Secret;
use super::signed_url::{self, SignedUrl};
use super::token_text;
use crate::domain::caller::{Caller, Grants};
use crate::domain::clock::{Clock, Micros};
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::scheduling::task_health::TaskHealth;
use crate::domain::tokens::credential::{Credentials, SigningSecret};
use crate::domain::tokens::grants::{Actions, NamespaceGrant, Scoped};
use crate::domain::tokens::key_uses::KeyUses;
use crate::domain::tokens::storage::CredentialStorage;
use crate::domain::tokens::token::{Pass, Token};
use crate::domain::{Error, Result};

/// How often keys and revocations are read again.
pub const POLL_EVERY: Duration = Duration::from_secs(2);
/// Without a successful poll for this long nobody is let in by a key or token: it may have been revoked.
pub const FRESH_FOR: Duration = Duration::from_secs(5);
/// A database that hangs must not keep the next poll from trying.
const POLL_WITHIN: Duration = Duration::from_secs(4);
/// An unknown key is answered after this long at the latest.
const LOOKUP_WITHIN: Duration = Duration::from_secs(1);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(250);
/// A token whose secret or key is not known: it may have been made on another server just now.
const REREAD_EVERY: Duration = Duration::from_secs(1);
/// Tenant of a server without keys.
pub const KEYLESS_TENANT: &str = "default";
/// One answer for whatever opens nothing: it says no more than that.
pub(super) const UNKNOWN: Refusal = Refusal::Unauthorized("the key or token is not known");

/// Decides who a request comes from.
pub struct Authenticator {
    listen: SocketAddr,
    issuers: Issuers,
    /// Local programs need no key although there was one: the person who starts the server wants it so.
    reopens: bool,
    storage: Arc<dyn CredentialStorage>,
    clock: Arc<Clock>,
    known: RwLock<Known>,
    /// Content is encrypted with a master key that this server was not given: it must write nothing more.
    outdated: watch::Sender<bool>,
    reread: Mutex<Option<Reread>>,
    /// Locked while a key is looked up, so that one look-up runs at a time.
    lookups: Mutex<Lookups>,
    /// Told of every key that lets somebody in.
    uses: Option<Arc<KeyUses>>,
}

/// Who asks, and how he came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub caller: Caller,
    pub pass: Pass,
}

/// The last reading for the sake of an unknown secret.
struct Reread {
    at: Instant,
    failed: bool,
}

struct Known {
    set: Arc<CredentialSet>,
    read_at: Instant,
}

impl Authenticator {
    /// Loads the credentials for a server that listens on `listen`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn load(
        storage: Arc<dyn CredentialStorage>,
        clock: Arc<Clock>,
        listen: SocketAddr,
        issuers: Issuers,
    ) -> Result<Self> {
        let read_at = Instant::now();
        let all = storage.load_credentials().await?;
        let (outdated, reopens) = (watch::Sender::new(all.needs_master_key), false);
        let known = RwLock::new(Known { set: Arc::new(CredentialSet::new(all)), read_at });
        let (reread, lookups) = (Mutex::default(), Mutex::default());
        Ok(Self {
            listen,
            issuers,
            reopens,
            storage,
            clock,
            known,
            outdated,
            reread,
            lookups,
            uses: None,
        })
    }

    /// Whether local programs need no key once every key was revoked.
    #[must_use]
    pub fn reopening(self, reopens: bool) -> Self {
        Self { reopens, ..self }
    }

    /// Notes the uses of keys there.
    #[must_use]
    pub fn noting(self, uses: &Arc<KeyUses>) -> Self {
        Self { uses: Some(Arc::clone(uses)), ..self }
    }

    /// Whether the server would be open to whoever can reach its address.
    pub fn is_unprotected(&self) -> bool {
        self.is_keyless() && !self.listen.ip().is_loopback()
    }

    /// Whether local programs need no key: there is no issuer, and there never was a key.
    pub fn is_keyless(&self) -> bool {
        self.opens_keyless(&self.known().0)
    }

    /// Whether nobody can get in: every key was revoked or has expired.
    pub fn is_closed(&self) -> bool {
        let set = self.known().0;
        let is_empty = !set.has_living_key(self.clock.now()) && self.issuers.is_empty();
        is_empty && !self.opens_keyless(&set)
    }

    /// Revoking the last key must not open to everybody what it protected. One that has expired was not revoked: nobody acted.
    fn opens_keyless(&self, set: &CredentialSet) -> bool {
        let is_open = !set.had_keys() || self.reopens;
        !set.has_keys() && self.issuers.is_empty() && is_open
    }

    /// Whether the credentials were read lately; a server without keys has nothing that could be revoked.
    pub fn is_fresh(&self) -> bool {
        self.is_keyless() || self.known().1.elapsed() <= FRESH_FOR
    }

    /// What every request has to pass, whatever it asks for.
    ///
    /// # Errors
    /// Without keys: requests that a local program did not make on its own account.
    pub fn admit<'a>(&self, visit: impl FnOnce() -> Visit<'a>) -> Result<(), Refusal> {
        if self.is_outdated() || !self.is_keyless() {
            return if self.is_outdated() { Err(Refusal::Stale) } else { Ok(()) };
        }
        if !self.listen.ip().is_loopback() {
            return Err(Refusal::Unauthorized("the server has no key and is not local"));
        }
        loopback::check(&visit(), self.listen)
    }

    /// Who holds this key or token; without a key in the server and in the request, the local user.
    ///
    /// # Errors
    /// Unknown, absent, expired and revoked credentials; a set of them that is too old to be trusted.
    pub async fn identify(&self, presented: Option<&str>) -> Result<Identity, Refusal> {
        let (set, read_at) = self.known();
        let Some(text) = presented else {
            if self.opens_keyless(&set) {
                return Ok(Identity {
                    caller: Caller::of_tenant(KEYLESS_TENANT),
                    pass: Pass::Local,
                });
            }
            return Err(Refusal::Unauthorized("a key or token is needed"));
        };
        if read_at.elapsed() > FRESH_FOR {
            return Err(Refusal::Stale);
        }
        if let Some(kid) = token_text::kid(text) {
            let set = self.set_where(|it| it.has_secret(kid), set).await?;
            return self.by_token(text, set).await;
        }
        match Secret::parse(text) {
            Some(secret) => {
                let set = self.set_with_key(&secret.hash(), set).await?;
                self.by_key(&secret, &set)
            }
            None => self.by_issuer(text).await,
        }
    }

    /// What an address says, and who it speaks for: somebody who may read its namespace and nothing else.
    ///
    /// # Errors
    /// Texts that are no address, what has expired, what it was made with is gone; credentials that are too old to be trusted.
    pub async fn open_url(&self, text: &str) -> Result<(SignedUrl, Caller), Refusal> {
        const NO_ADDRESS: Refusal = Refusal::Unauthorized("this is not an address of a file");
        let (set, read_at) = self.known();
        if !self.opens_keyless(&set) && read_at.elapsed() > FRESH_FOR {
            return Err(Refusal::Stale);
        }
        let kid = signed_url::kid(text).ok_or(NO_ADDRESS)?;
        let set = self.set_where(|it| it.has_secret(kid), set).await?;
        let url = set.open_url(text).ok_or(NO_ADDRESS)?;
        let has_minter = |set: &CredentialSet| self.minter_lives(&url.minter, &url.tenant, set);
        let set = self.set_where(has_minter, set).await?;
        if self.clock.now() >= url.expires_at {
            return Err(Refusal::TokenExpired { at: url.expires_at });
        }
        if set.has_revoked(&url.tenant, url.chain.iter()) || !has_minter(&set) {
            return Err(Refusal::TokenRevoked);
        }
        let grant = NamespaceGrant { prefix: url.namespace.clone(), actions: Actions::READ };
        let grants = Scoped { namespaces: vec![grant], ..Scoped::default() };
        let caller = Caller {
            tenant: url.tenant.clone(),
            subject: url.subject.clone(),
            grants: Grants::Scoped(Arc::new(grants)),
            credential: url.minter.clone(),
            memory: ReadMemory::default(),
        };
        Ok((url, caller))
    }

    /// What a tenant signs with now, if it was made after that and this server knows it.
    pub fn signing_secret(&self, tenant: &str, made_after: Micros) -> Option<SigningSecret> {
        self.known().0.signing_secret(tenant, made_after).cloned()
    }

    /// What a text says, if it is a genuine token, whatever became of it since.
    pub fn open_token(&self, text: &str) -> Option<Token> {
        self.known().0.open(text)
    }

    /// Reads the credentials again, for as long as the task lives.
    pub async fn poll(self: Arc<Self>, health: TaskHealth) {
        let health = health.every(POLL_EVERY);
        let mut ticks = tokio::time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            // A database that comes back is met before what was read last is too old.
            loop {
                let refreshed = self.refresh().await;
                health.note(&refreshed);
                let Err(error) = refreshed else { break };
                tracing::warn!(%error, "the keys could not be read");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }

    /// Reads the credentials now.
    ///
    /// # Errors
    /// When they cannot be read in time.
    pub async fn refresh(&self) -> Result<()> {
        // Taken before the read: a key revoked during it may be missing from the answer.
        let read_at = Instant::now();
        let late = |_| Error::Unavailable {
            detail: "the database does not answer".into(),
            retry_after: Duration::from_secs(1),
        };
        let loaded = timeout(POLL_WITHIN, self.storage.load_credentials()).await;
        self.replace(loaded.map_err(late)??, read_at);
        Ok(())
    }

    /// Reads them after a change that was made here. Where that fails, the next poll does.
    pub async fn refresh_or_poll(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(%error, "a change of the credentials is known here with the next poll only");
        }
    }

    /// A reading that began earlier and came later must not bring a revoked token back.
    fn replace(&self, all: Credentials, read_at: Instant) {
        // Once it is, it stays so.
        self.outdated.send_modify(|it| *it |= all.needs_master_key);
        let set = Arc::new(CredentialSet::new(all));
        let mut known = self.known.write().expect("no code panics while it holds the set");
        if read_at >= known.read_at {
            *known = Known { set, read_at };
        }
    }

    /// The set, read again if it does not have what is needed.
    async fn set_where(
        &self,
        has_it: impl Fn(&CredentialSet) -> bool,
        set: Arc<CredentialSet>,
    ) -> Result<Arc<CredentialSet>, Refusal> {
        if has_it(&set) {
            return Ok(set);
        }
        let mut last = self.reread.lock().await;
        let set = self.known().0;
        if has_it(&set) {
            return Ok(set);
        }
        if let Some(last) = last.as_ref().filter(|it| it.at.elapsed() < REREAD_EVERY) {
            return if last.failed { Err(Refusal::Stale) } else { Ok(set) };
        }
        let at = Instant::now();
        let read = self.refresh().await;
        *last = Some(Reread { at, failed: read.is_err() });
        read.map_err(|error| {
            tracing::warn!(%error, "the keys could not be read");
            Refusal::Stale
        })?;
        Ok(self.known().0)
    }

    /// The set, read again if the storage has a key that it does not have.
    async fn set_with_key(
        &self,
        hash: &[u8; 32],
        set: Arc<CredentialSet>,
    ) -> Result<Arc<CredentialSet>, Refusal> {
        if set.key(hash).is_some() {
            return Ok(set);
        }
        let looked_up = timeout(LOOKUP_WITHIN, self.look_up(hash, Instant::now())).await;
        looked_up.map_err(|_| Refusal::Stale)?
    }

    async fn look_up(
        &self,
        hash: &[u8; 32],
        asked_at: Instant,
    ) -> Result<Arc<CredentialSet>, Refusal> {
        let mut lookups = self.lookups.lock().await;
        if asked_at.elapsed() >= LOOKUP_WITHIN {
            return Err(Refusal::Stale);
        }
        let set = self.known().0;
        if set.key(hash).is_some() {
            return Ok(set);
        }
        match lookups.begin(hash, self.clock.now()) {
            Verdict::LookUp => {}
            Verdict::Unknown => return Ok(set),
            Verdict::TooMany => return Err(Refusal::TooManyLookups),
            Verdict::Failed => return Err(Refusal::Stale),
        }
        let failed = |error| {
            tracing::warn!(%error, "a key could not be looked up");
            Refusal::Stale
        };
        if self.storage.has_key(hash).await.map_err(failed)? {
            // Whole, so that no poll that began before brings the set without the key back.
            self.refresh().await.map_err(failed)?;
        }
        lookups.answered(hash);
        Ok(self.known().0)
    }

    async fn by_token(&self, text: &str, set: Arc<CredentialSet>) -> Result<Identity, Refusal> {
        let token = Arc::new(set.open(text).ok_or(UNKNOWN)?);
        if token.is_expired(self.clock.now()) {
            return Err(Refusal::TokenExpired { at: token.expires_at });
        }
        let has_minter = |set: &CredentialSet| self.minter_lives(&token.minter, &token.tenant, set);
        let set = self.set_where(has_minter, set).await?;
        if set.is_revoked(&token) || !has_minter(&set) {
            return Err(Refusal::TokenRevoked);
        }
        let caller = Caller {
            tenant: token.tenant.clone(),
            subject: token.subject.clone(),
            grants: identities::of_token(&token),
            credential: token.token_id.to_string(),
            memory: ReadMemory::default(),
        };
        Ok(Identity { caller, pass: Pass::Token(token) })
    }

    fn known(&self) -> (Arc<CredentialSet>, Instant) {
        let known = self.known.read().expect("no code panics while it holds the set");
        (Arc::clone(&known.set), known.read_at)
    }
}

mod identities;
mod outdated;

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
