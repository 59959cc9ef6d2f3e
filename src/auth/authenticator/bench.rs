//! Defines a test bench: an authenticator on a storage that counts how often it is read, and fails or hangs on demand.

use std::sync::Mutex as SyncMutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use async_trait::async_trait;

use super::*;
use crate::auth::tokens::{Named, Tokens};
use crate::domain::tenants::audit::{Act, AuditStorage, Event, EventQuery};
use crate::domain::tenants::refusals::Counted;
use crate::domain::tokens::credential::{Credentials, Revocation};
use crate::domain::tokens::key::{Key, ShownKey};
use crate::domain::tokens::token::{MintRequest, NarrowRequest};

pub(super) const SECOND: Micros = 1_000_000;
pub(super) const START: Micros = 1_700_000_000 * SECOND;

/// A storage that counts how often it is read.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) all: SyncMutex<Credentials>,
    pub(super) loads: AtomicU32,
    pub(super) lookups: AtomicU32,
    /// Look-ups that have begun never end.
    pub(super) hangs: SyncMutex<bool>,
    pub(super) fails: SyncMutex<bool>,
    pub(super) acts: SyncMutex<Vec<Act>>,
}

#[async_trait]
impl AuditStorage for Stored {
    async fn record_act(&self, act: &Act) -> Result<()> {
        self.acts.lock().unwrap().push(act.clone());
        Ok(())
    }

    async fn add_refusals(&self, _: &[Counted]) -> Result<()> {
        unreachable!("the authenticator counts nothing")
    }

    async fn list_events(&self, _: &str, _: &EventQuery) -> Result<Vec<Event>> {
        unreachable!("the authenticator reads no log")
    }

    async fn expire_events(&self, _: Micros) -> Result<()> {
        unreachable!("the authenticator removes nothing")
    }
}

#[async_trait]
impl CredentialStorage for Stored {
    async fn load_credentials(&self) -> Result<Credentials> {
        self.loads.fetch_add(1, Relaxed);
        if *self.fails.lock().unwrap() {
            return Err(Error::Internal("on demand".into()));
        }
        Ok(self.all.lock().unwrap().clone())
    }

    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool> {
        self.lookups.fetch_add(1, Relaxed);
        let hangs = *self.hangs.lock().unwrap();
        if hangs {
            std::future::pending::<()>().await;
        }
        if *self.fails.lock().unwrap() {
            return Err(Error::Internal("on demand".into()));
        }
        let all = self.all.lock().unwrap();
        Ok(all.keys.iter().any(|key| key.hash == *hash && key.revoked_at.is_none()))
    }

    async fn put_signing_secret(
        &self,
        fresh: &SigningSecret,
        after: Micros,
    ) -> Result<SigningSecret> {
        let mut all = self.all.lock().unwrap();
        let fits = |it: &&SigningSecret| it.tenant == fresh.tenant && it.created_at > after;
        let known = all.signing_secrets.iter().find(fits).cloned();
        all.signing_secrets.push(fresh.clone());
        Ok(known.unwrap_or_else(|| fresh.clone()))
    }

    async fn delete_signing_secrets(&self, _: &str, _: &Act) -> Result<u64> {
        self.all.lock().unwrap().signing_secrets.clear();
        Ok(1)
    }

    async fn revoke_token(&self, revocation: &Revocation, _: u64, _: &Act) -> Result<bool> {
        self.all.lock().unwrap().revocations.push(revocation.clone());
        Ok(true)
    }
}

pub(super) fn key(tenant: &str, secret: &Secret) -> Key {
    Key {
        key_id: format!("key_{tenant}"),
        tenant: tenant.into(),
        subject: None,
        hash: secret.hash(),
        created_at: 0,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    }
}

pub(super) struct Bench {
    pub(super) stored: Arc<Stored>,
    pub(super) clock: Arc<Clock>,
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) tokens: Tokens,
}

impl Bench {
    pub(super) async fn new(listen: &str, keys: Vec<Key>) -> Self {
        let stored = Arc::new(Stored::default());
        stored.all.lock().unwrap().keys = keys;
        Self::beside(&stored, listen, &Arc::new(Clock::Fixed(START.into()))).await
    }

    /// Another server on the same storage.
    pub(super) async fn beside(stored: &Arc<Stored>, listen: &str, clock: &Arc<Clock>) -> Self {
        let (stored, clock) = (Arc::clone(stored), Arc::clone(clock));
        let storage: Arc<dyn CredentialStorage> = stored.clone();
        let listen = listen.parse().unwrap();
        let authenticator =
            Authenticator::load(storage.clone(), Arc::clone(&clock), listen, Issuers::default());
        let authenticator = Arc::new(authenticator.await.unwrap());
        let tokens =
            Tokens::new(storage, stored.clone(), Arc::clone(&authenticator), Arc::clone(&clock));
        Self { stored, clock, authenticator, tokens }
    }

    pub(super) async fn ask(&self, text: Option<&str>) -> Result<Identity, Refusal> {
        self.authenticator.identify(text).await
    }

    pub(super) async fn mint(&self, with: &str, subject: &str) -> String {
        let identity = self.ask(Some(with)).await.unwrap();
        let subject = Some(subject.to_owned());
        let request = MintRequest { subject, ..MintRequest::default() };
        self.tokens.mint(&identity, request).await.unwrap().text
    }

    pub(super) async fn narrow(&self, token: &str) -> String {
        let identity = self.ask(Some(token)).await.unwrap();
        self.tokens.narrow(&identity, NarrowRequest::default()).await.unwrap().text
    }

    pub(super) async fn revoke(&self, with: &str, named: Named) {
        let identity = self.ask(Some(with)).await.unwrap();
        self.tokens.revoke(&identity, named).await.unwrap();
    }

    pub(super) fn add(&self, key: Key) {
        self.stored.all.lock().unwrap().keys.push(key);
    }

    pub(super) fn lookups(&self) -> u32 {
        self.stored.lookups.load(Relaxed)
    }

    pub(super) fn loads(&self) -> u32 {
        self.stored.loads.load(Relaxed)
    }
}
