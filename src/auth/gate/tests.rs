//! What opens the gate, how long, and when the storage is asked.

use std::sync::Mutex as SyncMutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use async_trait::async_trait;

use super::*;
use crate::auth::tokens::{Named, Tokens};
use crate::domain::credential::{Credentials, Revocation};
use crate::domain::key::Key;
use crate::domain::token::{MintRequest, NarrowRequest};

const SECOND: Micros = 1_000_000;
const START: Micros = 1_700_000_000 * SECOND;

/// A storage that counts how often it is read.
#[derive(Default)]
struct Stored {
    all: SyncMutex<Credentials>,
    loads: AtomicU32,
    fails: SyncMutex<bool>,
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

    async fn delete_signing_secrets(&self, _: &str) -> Result<u64> {
        self.all.lock().unwrap().signing_secrets.clear();
        Ok(1)
    }

    async fn revoke_token(&self, revocation: &Revocation, _: u64) -> Result<bool> {
        self.all.lock().unwrap().revocations.push(revocation.clone());
        Ok(true)
    }
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

struct Bench {
    stored: Arc<Stored>,
    clock: Arc<Clock>,
    gate: Arc<Gate>,
    tokens: Tokens,
}

impl Bench {
    async fn new(listen: &str, keys: Vec<Key>) -> Self {
        let stored = Arc::new(Stored::default());
        stored.all.lock().unwrap().keys = keys;
        Self::beside(&stored, listen, &Arc::new(Clock::Fixed(START.into()))).await
    }

    /// Another server on the same storage.
    async fn beside(stored: &Arc<Stored>, listen: &str, clock: &Arc<Clock>) -> Self {
        let (stored, clock) = (Arc::clone(stored), Arc::clone(clock));
        let storage: Arc<dyn CredentialStorage> = stored.clone();
        let listen = listen.parse().unwrap();
        let gate = Gate::load(storage.clone(), Arc::clone(&clock), listen, Issuers::default());
        let gate = Arc::new(gate.await.unwrap());
        let tokens = Tokens::new(storage, Arc::clone(&gate), Arc::clone(&clock));
        Self { stored, clock, gate, tokens }
    }

    async fn ask(&self, text: Option<&str>) -> Result<Identity, Refusal> {
        self.gate.identify(text).await
    }

    async fn mint(&self, with: &str, subject: &str) -> String {
        let identity = self.ask(Some(with)).await.unwrap();
        let subject = Some(subject.to_owned());
        let request = MintRequest { subject, ..MintRequest::default() };
        self.tokens.mint(&identity, request).await.unwrap().text
    }

    async fn narrow(&self, token: &str) -> String {
        let identity = self.ask(Some(token)).await.unwrap();
        self.tokens.narrow(&identity, NarrowRequest::default()).await.unwrap().text
    }

    async fn revoke(&self, with: &str, named: Named) {
        let identity = self.ask(Some(with)).await.unwrap();
        self.tokens.revoke(&identity, named).await.unwrap();
    }

    fn loads(&self) -> u32 {
        self.stored.loads.load(Relaxed)
    }
}

const LOCAL: &str = "127.0.0.1:1";

async fn with_key() -> (Bench, String) {
    let secret = Secret::random();
    let text = secret.text().to_owned();
    (Bench::new(LOCAL, vec![key("one", &secret)]).await, text)
}

#[tokio::test]
async fn a_key_opens_its_own_tenant_and_no_other_text_opens_anything() {
    let (one, two) = (Secret::random(), Secret::random());
    let bench = Bench::new(LOCAL, vec![key("one", &one), key("two", &two)]).await;
    assert_eq!(bench.ask(Some(one.text())).await.unwrap().caller.tenant, "one");
    assert_eq!(bench.ask(Some(two.text())).await.unwrap().caller.tenant, "two");
    for text in
        [None, Some(""), Some("tk_"), Some("tks_"), Some("a.b.c"), Some(Secret::random().text())]
    {
        assert!(matches!(bench.ask(text).await, Err(Refusal::Unauthorized(_))), "{text:?}");
    }
}

#[tokio::test]
async fn a_presented_key_is_never_ignored_by_a_server_without_keys() {
    let bench = Bench::new(LOCAL, vec![]).await;
    let local = bench.ask(None).await.unwrap();
    assert_eq!((local.caller.tenant.as_str(), local.pass), ("default", Pass::Local));
    assert!(bench.ask(Some(Secret::random().text())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn credentials_that_could_not_be_read_lately_let_nobody_in() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    tokio::time::advance(FRESH_FOR).await;
    assert!(bench.ask(Some(&key)).await.is_ok() && bench.ask(Some(&token)).await.is_ok());
    tokio::time::advance(Duration::from_millis(1)).await;
    for text in [key.as_str(), &token, "tks_0123456789abcdef.a.b", "a.b.c"] {
        assert_eq!(bench.ask(Some(text)).await, Err(Refusal::Stale), "{text}");
    }
    assert!(!bench.gate.is_fresh());
}

#[tokio::test]
async fn the_first_key_ends_the_keyless_mode_and_what_was_made_in_it() {
    let (bench, secret) = (Bench::new(LOCAL, vec![]).await, Secret::random());
    let local = bench.ask(None).await.unwrap();
    let request = MintRequest { subject: Some("ann".into()), ..MintRequest::default() };
    let token = bench.tokens.mint(&local, request).await.unwrap().text;
    assert_eq!(bench.ask(Some(&token)).await.unwrap().caller.tenant, "default");
    bench.stored.all.lock().unwrap().keys = vec![key("one", &secret)];
    bench.gate.refresh().await.unwrap();
    assert!(bench.ask(None).await.is_err());
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    assert!(bench.ask(Some(secret.text())).await.is_ok());
    let revoked = Key { revoked_at: Some(1), ..key("one", &secret) };
    bench.stored.all.lock().unwrap().keys = vec![revoked, key("two", &Secret::random())];
    bench.gate.refresh().await.unwrap();
    assert!(bench.ask(Some(secret.text())).await.is_err());
}

#[tokio::test]
async fn without_keys_nothing_is_answered_on_an_address_that_others_reach() {
    let bench = Bench::new("0.0.0.0:1", vec![]).await;
    assert!(bench.gate.is_unprotected());
    assert!(bench.gate.admit(Visit::default).is_err());
}

#[tokio::test]
async fn a_token_ends_exactly_at_its_expiry() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let end = START + 3_600 * SECOND;
    bench.clock.advance(3_600 * SECOND - 1);
    assert_eq!(bench.ask(Some(&token)).await.unwrap().pass.expires_at(), Some(end));
    bench.clock.advance(1);
    let refused = bench.ask(Some(&token)).await.unwrap_err();
    assert_eq!(refused, Refusal::TokenExpired { at: end });
    let text =
        "the token expired at 2023-11-14T23:13:20.000000Z; ask whoever made it for a new one";
    assert_eq!(refused.to_string(), text);
}

#[tokio::test]
async fn a_token_dies_with_any_of_its_ancestors_and_with_its_key() {
    let (bench, key) = with_key().await;
    for killed in 0..3 {
        let mut chain = vec![bench.mint(&key, "ann").await];
        for _ in 0..2 {
            chain.push(bench.narrow(chain.last().unwrap()).await);
        }
        bench.revoke(&key, Named::ByText(chain[killed].clone())).await;
        for (at, token) in chain.iter().enumerate() {
            let lives = bench.ask(Some(token)).await;
            assert_eq!(lives.is_ok(), at < killed, "{killed} {at}");
            assert!(lives.is_ok() || lives == Err(Refusal::TokenRevoked));
        }
    }
    let token = bench.mint(&key, "ann").await;
    let child = bench.narrow(&token).await;
    bench.stored.all.lock().unwrap().keys[0].key_id = "key_other".into();
    bench.gate.refresh().await.unwrap();
    for token in [token, child] {
        assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    }
}

#[tokio::test]
async fn new_secrets_end_all_tokens() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    bench.stored.delete_signing_secrets("one").await.unwrap();
    bench.gate.refresh().await.unwrap();
    assert!(matches!(bench.ask(Some(&token)).await, Err(Refusal::Unauthorized(_))));
    let token = bench.mint(&key, "ann").await;
    assert!(bench.ask(Some(&token)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_steady_state_asks_the_storage_for_nothing() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let before = bench.loads();
    for _ in 0..100 {
        bench.ask(Some(&token)).await.unwrap();
        let child = bench.narrow(&token).await;
        bench.ask(Some(&child)).await.unwrap();
    }
    assert_eq!(bench.loads(), before);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_another_server_just_made_is_looked_up_once_a_second() {
    let (one, key) = with_key().await;
    let two = Bench::beside(&one.stored, LOCAL, &one.clock).await;
    let token = one.mint(&key, "ann").await;
    assert!(two.ask(Some(&token)).await.is_ok());
    let before = two.loads();
    for at in 0..50 {
        let invented = format!("tks_{at:016x}.AAAA.AAAA");
        assert!(matches!(two.ask(Some(&invented)).await, Err(Refusal::Unauthorized(_))));
    }
    assert_eq!(two.loads(), before);
    tokio::time::advance(REREAD_EVERY).await;
    *two.stored.fails.lock().unwrap() = true;
    for _ in 0..50 {
        // Whether it is one cannot be told now.
        assert_eq!(two.ask(Some("tks_0123456789abcdef.A.A")).await, Err(Refusal::Stale));
    }
    assert_eq!(two.loads(), before + 1);
    assert!(two.ask(Some(&token)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_reading_that_comes_late_brings_no_revoked_token_back() {
    let (bench, key) = with_key().await;
    let token = bench.mint(&key, "ann").await;
    let early = Instant::now();
    tokio::time::advance(Duration::from_millis(10)).await;
    bench.revoke(&token, Named::Own).await;
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
    let mut old = bench.stored.all.lock().unwrap().clone();
    old.revocations.clear();
    bench.gate.replace(old, early);
    assert_eq!(bench.ask(Some(&token)).await, Err(Refusal::TokenRevoked));
}
