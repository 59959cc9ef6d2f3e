//! Tests tokens of other issuers through the routes: their subjects, and how the issuers' keys are fetched and withdrawn.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use tokio::net::TcpListener;

use crate::memory::Memory;
use crate::server::{Server, add_key};
use crate::tokens::{SECOND, START, post, text, whoami};

/// A key pair of the issuer.
struct Pair {
    kid: &'static str,
    pair: Ed25519KeyPair,
}

impl Pair {
    fn new(kid: &'static str) -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { kid, pair: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap() }
    }

    fn public(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": self.kid, "x": x})
    }

    fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "EdDSA", "kid": self.kid});
        let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let message = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.pair.sign(message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Valid for a day.
    fn token(&self, subject: &str) -> String {
        let exp = START / SECOND + 86_400;
        self.sign(&json!({"iss": "https://login.test", "aud": "tk", "sub": subject, "exp": exp}))
    }
}

/// What the issuer answers, and how often it was asked.
#[derive(Default)]
struct Published {
    keys: Mutex<Vec<Value>>,
    status: Mutex<StatusCode>,
    asked: AtomicU32,
}

impl Published {
    fn asked(&self) -> u32 {
        self.asked.load(Relaxed)
    }

    fn publish(&self, pairs: &[&Pair]) {
        *self.keys.lock().unwrap() = pairs.iter().map(|it| it.public()).collect();
    }
}

/// A server with one issuer, which publishes keys at a URL.
struct Bench {
    server: Server,
    clock: Arc<Clock>,
    published: Arc<Published>,
}

impl Bench {
    async fn new(pairs: &[&Pair]) -> Self {
        let published = Arc::new(Published::default());
        published.publish(pairs);
        let answer = async |State(published): State<Arc<Published>>| {
            published.asked.fetch_add(1, Relaxed);
            let keys = json!({"keys": *published.keys.lock().unwrap()});
            (*published.status.lock().unwrap(), keys.to_string())
        };
        let router = Router::new().route("/keys", get(answer)).with_state(published.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        let clock = Arc::new(Clock::Fixed(START.into()));
        let storage = Arc::new(Memory::default());
        let server = Server::beside(&storage, &clock, issuers(&url)).await;
        Self { server, clock, published }
    }

    async fn whoami(&self, token: &str) -> u16 {
        whoami(&self.server, token).await.status
    }
}

fn issuers(url: &str) -> Issuers {
    let file = json!({"issuers": [{
        "name": "login", "tenant": "acme", "issuer": "https://login.test", "audience": "tk",
        "algorithm": "EdDSA", "jwks_url": url
    }]});
    Issuers::parse(&file.to_string(), &|_| None).unwrap()
}

#[tokio::test]
async fn a_subject_of_an_issuer_has_what_is_its_own() {
    let pair = Pair::new("a");
    let bench = Bench::new(&[&pair]).await;
    let found = whoami(&bench.server, &pair.token("ann@acme.test")).await.ok().json();
    let owned = json!([{"owned": true, "actions": ["read", "write"]}]);
    let own = json!([{"prefix": ["ann@acme~2etest"], "actions": ["read", "write"]}]);
    let all = json!(["read", "append", "write"]);
    let expected = json!({
        "tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest",
        "label_with_colons": "ann@acme~2etest",
        "credential": "issuer:login:ann@acme.test", "expires_at": "2023-11-15T22:13:20.000000Z",
        "grants": {"threads": owned, "sessions": owned, "snapshots": owned, "namespaces": own},
        "capabilities": {"threads": all, "namespaces": all, "sessions": all, "snapshots": all, "tenant": []}
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_issuer_ends_the_keyless_mode() {
    let pair = Pair::new("a");
    let bench = Bench::new(&[&pair]).await;
    bench.server.get("/v1/whoami").await.assert_problem(401, "unauthorized");
    bench.server.get_with("/healthz", &[("host", "memory.acme.test")]).await.ok();
    assert_eq!(bench.whoami("tk_nobody").await, 401);
}

#[tokio::test]
async fn refusals_tell_what_their_reader_can_do() {
    let (pair, stranger) = (Pair::new("a"), Pair::new("a"));
    let bench = Bench::new(&[&pair]).await;
    let now = START / SECOND;
    let claims = |more: Value| {
        let mut claims =
            json!({"iss": "https://login.test", "aud": "tk", "sub": "ann", "exp": now + 60});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    assert_eq!(bench.whoami(&pair.sign(&claims(json!({})))).await, 200);
    let expired = whoami(&bench.server, &pair.sign(&claims(json!({"exp": now})))).await;
    expired.assert_problem(401, "token_expired");
    for token in [
        stranger.sign(&claims(json!({}))),
        // It is not told when a forged token would have expired.
        stranger.sign(&claims(json!({"exp": now}))),
        pair.sign(&claims(json!({"iss": "https://other.test"}))),
        pair.sign(&claims(json!({"aud": "other"}))),
        pair.sign(&claims(json!({"nbf": now + 60}))),
    ] {
        whoami(&bench.server, &token).await.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_token_of_an_issuer_narrows_itself_and_makes_none() {
    let pair = Pair::new("a");
    let bench = Bench::new(&[&pair]).await;
    let exp = START / SECOND + 100;
    let claims = json!({"iss": "https://login.test", "aud": "tk", "sub": "ann", "exp": exp});
    let jwt = pair.sign(&claims);
    let mint = post(&bench.server, "/v1/tokens", &jwt, &json!({"subject": "ann"})).await;
    mint.assert_problem(403, "not_granted");
    let narrow = async |body: Value| post(&bench.server, "/v1/tokens/narrow", &jwt, &body).await;
    narrow(json!({"ttl_seconds": 101})).await.assert_problem(422, "invalid");
    let beyond = json!({"grants": {"threads": [{"id": "t", "actions": ["read"]}]}});
    narrow(beyond).await.assert_problem(403, "not_granted");
    let answer = narrow(json!({})).await.ok();
    assert_eq!(answer.json()["expires_at"], "2023-11-14T22:15:00.000000Z");
    let token = text(&answer);
    assert_eq!(whoami(&bench.server, &token).await.ok().json()["subject"], "ann");
    // A server that does not know the issuer any more takes nothing that came from it.
    let storage = Arc::clone(&bench.server.storage);
    add_key(&storage, "acme");
    let other = Server::beside(&storage, &bench.clock, Issuers::default()).await;
    whoami(&other, &token).await.assert_problem(401, "token_revoked");
    whoami(&other, &jwt).await.assert_problem(401, "unauthorized");
    let revoke = json!({"token": token});
    post(&bench.server, "/v1/tokens/revoke", &pair.token("bob"), &revoke)
        .await
        .assert_problem(404, "not_found");
    post(&bench.server, "/v1/tokens/revoke", &jwt, &revoke).await.ok();
    whoami(&bench.server, &token).await.assert_problem(401, "token_revoked");
}

#[tokio::test]
async fn a_new_key_is_fetched_when_it_is_met_and_at_most_once_a_minute() {
    let (a, b, c) = (Pair::new("a"), Pair::new("b"), Pair::new("c"));
    let bench = Bench::new(&[&a]).await;
    for _ in 0..5 {
        assert_eq!(bench.whoami(&a.token("ann")).await, 200);
    }
    assert_eq!(bench.published.asked(), 1, "kept");
    bench.published.publish(&[&a, &b]);
    assert_eq!(bench.whoami(&b.token("ann")).await, 401, "asked a moment ago");
    bench.clock.advance(60 * SECOND);
    assert_eq!(bench.whoami(&b.token("ann")).await, 200);
    assert_eq!(bench.published.asked(), 2);
    for _ in 0..5 {
        assert_eq!(bench.whoami(&c.token("ann")).await, 401);
        assert_eq!(bench.whoami(&a.token("ann")).await, 200);
    }
    assert_eq!(bench.published.asked(), 2);
}

#[tokio::test]
async fn many_requests_that_meet_a_new_key_ask_once() {
    let pair = Pair::new("a");
    let bench = Bench::new(&[&pair]).await;
    let token = pair.token("ann");
    let all = (0..20).map(|_| bench.whoami(&token));
    assert_eq!(futures::future::join_all(all).await, vec![200; 20]);
    assert_eq!(bench.published.asked(), 1);
}

#[tokio::test]
async fn a_key_that_was_withdrawn_is_refused_after_ten_minutes() {
    let (a, b) = (Pair::new("a"), Pair::new("b"));
    let bench = Bench::new(&[&a, &b]).await;
    assert_eq!(bench.whoami(&a.token("ann")).await, 200);
    bench.published.publish(&[&b]);
    bench.clock.advance(599 * SECOND);
    assert_eq!(bench.whoami(&a.token("ann")).await, 200);
    bench.clock.advance(SECOND);
    assert_eq!(bench.whoami(&a.token("ann")).await, 401);
    assert_eq!(bench.whoami(&b.token("ann")).await, 200);
    assert_eq!(bench.published.asked(), 2);
}

#[tokio::test]
async fn an_issuer_that_is_away_stops_only_whom_it_has_to_vouch_for() {
    let (a, b) = (Pair::new("a"), Pair::new("b"));
    let bench = Bench::new(&[&a, &b]).await;
    *bench.published.status.lock().unwrap() = StatusCode::INTERNAL_SERVER_ERROR;
    let refused = whoami(&bench.server, &a.token("ann")).await;
    refused.assert_problem(503, "unavailable");
    assert_eq!(bench.whoami(&a.token("ann")).await, 503, "it is not asked again");
    assert_eq!(bench.published.asked(), 1);
    *bench.published.status.lock().unwrap() = StatusCode::OK;
    bench.published.publish(&[&a]);
    bench.clock.advance(60 * SECOND);
    assert_eq!(bench.whoami(&a.token("ann")).await, 200);
    *bench.published.status.lock().unwrap() = StatusCode::NOT_FOUND;
    bench.clock.advance(3_600 * SECOND);
    assert_eq!(bench.whoami(&a.token("ann")).await, 200, "known");
    assert_eq!(bench.whoami(&b.token("ann")).await, 503, "who can tell");
    // What is no set of keys takes no known key away.
    *bench.published.status.lock().unwrap() = StatusCode::OK;
    bench.published.publish(&[]);
    bench.clock.advance(3_600 * SECOND);
    assert_eq!(bench.whoami(&a.token("ann")).await, 200);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_hangs_is_waited_for_five_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let clock = Arc::new(Clock::Fixed(START.into()));
    let storage = Arc::new(Memory::default());
    let server = Server::beside(&storage, &clock, issuers(&url)).await;
    let started = tokio::time::Instant::now();
    whoami(&server, &Pair::new("a").token("ann")).await.assert_problem(503, "unavailable");
    assert!(started.elapsed() <= Duration::from_secs(6), "{:?}", started.elapsed());
    drop(listener);
}
