//! Tests tokens through the routes: made, narrowed, used, revoked, on one server and on two.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::{Value, json};
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::{Clock, Micros};

use crate::memory::Memory;
use crate::server::{Answer, JSON, Server, add_key};

pub const SECOND: Micros = 1_000_000;
/// In the past: what a database stages at its own time is not old then.
pub const START: Micros = 1_700_000_000 * SECOND;

/// Servers on one storage, with one clock.
pub struct Fleet {
    pub servers: Vec<Server>,
    pub storage: Arc<Memory>,
    pub clock: Arc<Clock>,
    /// Of the tenants `acme` and `globex`.
    pub keys: Vec<String>,
}

impl Fleet {
    pub async fn of(count: usize) -> Self {
        let storage = Arc::new(Memory::default());
        let keys = ["acme", "globex"].map(|tenant| add_key(&storage, tenant)).to_vec();
        let clock = Arc::new(Clock::Fixed(START.into()));
        let mut servers = Vec::new();
        for _ in 0..count {
            servers.push(Server::beside(&storage, &clock, Issuers::default()).await);
        }
        Self { servers, storage, clock, keys }
    }

    pub fn key(&self) -> &str {
        &self.keys[0]
    }

    pub async fn post(&self, path: &str, credential: &str, body: &Value) -> Answer {
        post(&self.servers[0], path, credential, body).await
    }

    /// The text of a token that the first server makes.
    pub async fn mint(&self, credential: &str, body: &Value) -> String {
        text(&self.post("/v1/tokens", credential, body).await.ok())
    }

    pub async fn narrow(&self, credential: &str, body: &Value) -> String {
        text(&self.post("/v1/tokens/narrow", credential, body).await.ok())
    }
}

pub async fn post(server: &Server, path: &str, credential: &str, body: &Value) -> Answer {
    let headers = [("content-type", JSON), ("x-api-key", credential)];
    server.send("POST", path, &headers, body.to_string().into_bytes()).await
}

pub async fn whoami(server: &Server, credential: &str) -> Answer {
    let bearer = format!("Bearer {credential}");
    server.get_with("/v1/whoami", &[("authorization", &bearer)]).await
}

pub fn text(answer: &Answer) -> String {
    answer.json()["token"].as_str().unwrap().to_owned()
}

pub fn id(answer: &Answer) -> String {
    answer.json()["token_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_token_is_made_and_says_who_it_is() {
    let fleet = Fleet::of(1).await;
    let grants = json!({
        "threads": [
            {"id": "acme:1", "actions": ["read", "append"]},
            {"prefix": "acme:", "actions": ["read", "write"]},
            {"owned": true, "actions": ["write"]}
        ],
        "namespaces": [{"prefix": ["ann@acme~2etest", "notes"], "actions": ["read"]}],
        "sessions": [{"prefix": "s/", "actions": ["append"]}],
        "snapshots": [{"id": "x", "actions": ["read"]}]
    });
    let body = json!({"subject": "ann@acme.test", "ttl_seconds": 60, "grants": grants});
    let answer = fleet.post("/v1/tokens", fleet.key(), &body).await.ok();
    let end = "2023-11-14T22:14:20.000000Z";
    assert_eq!(answer.json()["expires_at"], end);
    assert_eq!(answer.json()["grants"], grants);
    assert_eq!(answer.json()["subject"], "ann@acme.test");
    let token = text(&answer);
    for header in [("x-api-key", token.clone()), ("authorization", format!("Bearer {token}"))] {
        let found = fleet.servers[0].get_with("/v1/whoami", &[(header.0, &header.1)]).await.ok();
        let expected = json!({
            "tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest",
            "label_with_colons": "ann@acme~2etest",
            "credential": id(&answer), "expires_at": end, "grants": grants,
            "capabilities": {
                "threads": ["read", "append", "write"], "namespaces": ["read"], "sessions": ["append"],
                "snapshots": ["read"], "tenant": []
            }
        });
        assert_eq!(found.json(), expected);
    }
}

#[tokio::test]
async fn a_subject_without_grants_has_its_own_and_a_token_needs_one_of_the_two() {
    let fleet = Fleet::of(1).await;
    let answer =
        fleet.post("/v1/tokens", fleet.key(), &json!({"subject": "ann"})).await.ok().json();
    let owned = json!([{"owned": true, "actions": ["read", "write"]}]);
    let own = json!([{"prefix": ["ann"], "actions": ["read", "write"]}]);
    let grants =
        json!({"threads": owned, "namespaces": own, "sessions": owned, "snapshots": owned});
    assert_eq!(answer["grants"], grants);
    let grants = json!({"threads": [{"id": "t", "actions": ["read"]}]});
    let answer =
        fleet.post("/v1/tokens", fleet.key(), &json!({"grants": grants})).await.ok().json();
    assert!(answer["subject"].is_null());
    let refused = fleet.post("/v1/tokens", fleet.key(), &json!({})).await;
    refused.assert_problem(422, "invalid");
    assert_eq!(refused.field(), "grants");
}

#[tokio::test]
async fn a_token_reaches_only_what_it_says() {
    let fleet = Fleet::of(1).await;
    let grants = json!({"threads": [{"prefix": "acme:", "actions": ["append"]}]});
    let token = fleet.mint(fleet.key(), &json!({"grants": grants})).await;
    let commit = async |thread: &str| {
        let body = json!({"thread_id": thread, "ops": [{"checkpoint": {
            "checkpoint_id": "1", "skeleton": {}, "metadata": {}, "values": []
        }}]});
        fleet.post("/v1/checkpoints/commit", &token, &body).await
    };
    commit("acme:1").await.ok();
    for thread in ["acme", "acme-corp", "other"] {
        commit(thread).await.assert_problem(403, "not_granted");
    }
    let get = fleet.post("/v1/checkpoints/get", &token, &json!({"thread_id": "acme:1"})).await;
    get.assert_problem(403, "not_granted");
}

#[tokio::test]
async fn a_token_narrows_itself_and_nothing_else() {
    let fleet = Fleet::of(1).await;
    let grants = json!({"threads": [{"prefix": "acme:", "actions": ["read", "append"]}]});
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann", "grants": grants})).await;
    let read = json!({"threads": [{"id": "acme:1", "actions": ["read"]}]});
    let narrowed = fleet.post("/v1/tokens/narrow", &token, &json!({"grants": read})).await.ok();
    assert_eq!((&narrowed.json()["grants"], &narrowed.json()["subject"]), (&read, &json!("ann")));
    let same = fleet.post("/v1/tokens/narrow", &token, &json!({"ttl_seconds": 5})).await.ok();
    assert_eq!(same.json()["grants"], grants);
    let wider = [
        json!({"threads": [{"prefix": "acme:", "actions": ["read", "write"]}]}),
        json!({"threads": [{"prefix": "b:", "actions": ["read"]}]}),
        json!({"threads": [{"owned": true, "actions": ["read"]}]}),
        json!({"namespaces": [{"prefix": ["ann"], "actions": ["read"]}]}),
        json!({"sessions": [{"id": "s", "actions": ["read"]}]}),
        json!({"snapshots": [{"id": "s", "actions": ["read"]}]}),
    ];
    for grants in wider {
        for token in [&token, &text(&narrowed)] {
            let body = json!({"grants": grants});
            let refused = fleet.post("/v1/tokens/narrow", token, &body).await;
            refused.assert_problem(403, "not_granted");
        }
    }
    let mint = fleet.post("/v1/tokens", &token, &json!({"subject": "ann"})).await;
    mint.assert_problem(403, "not_granted");
    let longer = fleet.post("/v1/tokens/narrow", &token, &json!({"ttl_seconds": 3_601})).await;
    longer.assert_problem(422, "invalid");
    assert_eq!((longer.field().as_str(), &longer.json()["limit"]), ("ttl_seconds", &json!(3_600)));
}

#[tokio::test]
async fn an_expired_token_says_so_to_whoever_reads_it() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann", "ttl_seconds": 10})).await;
    fleet.clock.advance(10 * SECOND - 1);
    whoami(&fleet.servers[0], &token).await.ok();
    fleet.clock.advance(1);
    let refused = whoami(&fleet.servers[0], &token).await;
    refused.assert_problem(401, "token_expired");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let detail =
        "the token expired at 2023-11-14T22:13:30.000000Z; ask whoever made it for a new one";
    assert_eq!(refused.json()["detail"], detail);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_dies_here_at_once_and_elsewhere_within_two_seconds() {
    let fleet = Fleet::of(2).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let child = fleet.narrow(&token, &json!({})).await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    for (server, token) in [(0, &token), (1, &token), (0, &child), (1, &child)] {
        whoami(&fleet.servers[server], token).await.ok();
    }
    fleet.post("/v1/tokens/revoke", &token, &json!({})).await.ok();
    for token in [&token, &child] {
        let refused = whoami(&fleet.servers[0], token).await;
        refused.assert_problem(401, "token_revoked");
        whoami(&fleet.servers[1], token).await.ok();
    }
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    for token in [&token, &child] {
        whoami(&fleet.servers[1], token).await.assert_problem(401, "token_revoked");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_dies_with_its_key() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let other = fleet.mint(&fleet.keys[1], &json!({"subject": "ann"})).await;
    fleet.storage.keys.lock().unwrap().retain(|key| key.tenant != "acme");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    whoami(&fleet.servers[0], &token).await.assert_problem(401, "token_revoked");
    whoami(&fleet.servers[0], &other).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_poll_refuses_tokens_too() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    *fleet.storage.keys_fail.lock().unwrap() = true;
    tokio::time::sleep(Duration::from_secs(4)).await;
    whoami(&fleet.servers[0], &token).await.ok();
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    for text in [token.as_str(), "tks_0123456789abcdef.A.A", "nonsense"] {
        whoami(&fleet.servers[0], text).await.assert_problem(503, "unavailable");
    }
    fleet.servers[0].get("/readyz").await.assert_problem(503, "unavailable");
}

#[tokio::test(start_paused = true)]
async fn the_steady_state_asks_the_storage_for_nothing() {
    let fleet = Fleet::of(1).await;
    let token = fleet.mint(fleet.key(), &json!({"subject": "ann"})).await;
    let (loads, calls) = (fleet.storage.loads.load(Relaxed), fleet.storage.calls());
    for _ in 0..20 {
        whoami(&fleet.servers[0], &token).await.ok();
        let child = fleet.narrow(&token, &json!({})).await;
        whoami(&fleet.servers[0], &child).await.ok();
    }
    assert_eq!((fleet.storage.loads.load(Relaxed), fleet.storage.calls()), (loads, calls));
    // Minting asks for nothing either, and tells the audit log.
    fleet.mint(fleet.key(), &json!({"subject": "bob"})).await;
    assert_eq!(fleet.storage.loads.load(Relaxed), loads);
    assert!(fleet.storage.calls().last().unwrap().starts_with("act token_minted tok_"));
}

#[tokio::test]
async fn a_server_without_keys_makes_tokens_for_its_own_machine() {
    let server = Server::keyless().await;
    let answer = server.post("/v1/tokens", &json!({"subject": "ann"})).await.ok();
    let found = whoami(&server, &text(&answer)).await.ok().json();
    assert_eq!((&found["tenant"], &found["subject"]), (&json!("default"), &json!("ann")));
    whoami(&server, "nonsense").await.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_token_is_handed_out_only_when_the_log_has_it() {
    let fleet = Fleet::of(1).await;
    let made = id(&fleet.post("/v1/tokens", fleet.key(), &json!({"subject": "ann"})).await.ok());
    let revoked = fleet.post("/v1/tokens/revoke", fleet.key(), &json!({"token_id": made})).await;
    revoked.ok();
    let calls = fleet.storage.calls();
    assert_eq!(
        calls,
        ["put_signing_secret", &format!("act token_minted {made}"), &format!("revoke {made}")]
    );
    fleet.storage.fail(|| threadkeep::domain::Error::Internal("no log".into()));
    let refused = fleet.post("/v1/tokens", fleet.key(), &json!({"subject": "ann"})).await;
    refused.assert_problem(500, "internal");
    assert!(!String::from_utf8_lossy(&refused.body).contains("tks_"));
}

#[tokio::test]
async fn grants_are_asked_before_a_pattern_is_read() {
    let fleet = Fleet::of(1).await;
    let grants = json!({"namespaces": [{"prefix": ["zzz"], "actions": ["read"]}]});
    let token = fleet.mint(fleet.key(), &json!({"grants": grants})).await;
    let pattern = "{a,".repeat(8_000);
    let glob = json!({"namespace": ["other"], "pattern": pattern});
    let grep = json!({"namespace": ["other"], "pattern": "a", "glob": pattern});
    for (path, body) in [("/v1/files/glob", glob), ("/v1/files/grep", grep)] {
        let found = fleet.post(path, &token, &body).await.ok();
        assert_eq!(found.json(), json!({"matches": [], "truncated": false}));
        fleet.post(path, fleet.key(), &body).await.assert_problem(422, "invalid_glob");
    }
}
