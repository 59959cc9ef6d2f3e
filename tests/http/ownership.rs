//! Tests keys with a subject over a real engine: the bytes of an answer about a foreign thread are those about an absent one.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::storage::Storage;
use threadkeep::storage::{self, StorageConfig};

use crate::server::{Answer, JSON, MSGPACK, Server, create_key};
use crate::wire::{COMMIT, base64, commit, list_of, name, put, writes};

/// A server on SQLite. `ann` and `bob` have subjects, `all` has the tenant.
pub struct Shared {
    pub server: Server,
    pub keys: [String; 3],
    _folder: TempDir,
}

/// The keys of ann, of bob and of their tenant.
pub async fn make_keys(storage: &Arc<dyn Storage>) -> [String; 3] {
    let mut keys = [const { String::new() }; 3];
    for (at, subject) in [Some("ann"), Some("bob"), None].into_iter().enumerate() {
        let key_id = format!("key_{}", subject.unwrap_or("all"));
        keys[at] = create_key(storage, "acme", &key_id, subject).await;
    }
    keys
}

pub const ANN: usize = 0;
pub const BOB: usize = 1;
pub const ALL: usize = 2;

impl Shared {
    pub async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let storage = open(&folder).await;
        let keys = make_keys(&storage).await;
        let server = Server::over(storage, Issuers::default()).await;
        Self { server, keys, _folder: folder }
    }

    pub async fn post(&self, who: usize, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", JSON), ("x-api-key", self.keys[who].as_str())];
        self.server.send("POST", path, &headers, body.to_string().into_bytes()).await
    }

    pub async fn get(&self, who: usize, path: &str) -> Answer {
        self.server.get_with(path, &[("x-api-key", self.keys[who].as_str())]).await
    }

    async fn put(&self, who: usize, thread: &str, id: &str) -> Answer {
        let op = put(id, &base64(&list_of(10)));
        self.post(who, COMMIT, &commit(thread, &[op])).await
    }
}

/// A new SQLite in this folder.
pub async fn open(folder: &TempDir) -> Arc<dyn Storage> {
    let config = StorageConfig {
        create: true,
        url: format!("sqlite://{}", folder.path().join("threadkeep.db").display()),
        migrate: true,
        allow_unsafe: true,
        connections: 4,
        exclusive: true,
        objects: None,
        encryption: threadkeep::storage::Encryption::Off,
        read_times: threadkeep::storage::ReadTimes::default(),
    };
    storage::open(&config).await.unwrap()
}

/// Without what differs between any two answers: the request's id, and how long it took.
fn bytes(answer: &Answer, thread: &str) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<(String, String)> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "server-timing"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    let id = answer.header("x-request-id").unwrap();
    let body = String::from_utf8_lossy(&answer.body).replace(id, "the id");
    (answer.status, headers, body.replace(thread, "a thread"))
}

/// Every call about one thread that is a read or a removal.
fn calls(thread: &str) -> Vec<(&'static str, Value)> {
    let all = json!({"thread_id": thread});
    vec![
        ("/v1/checkpoints/get", all.clone()),
        ("/v1/checkpoints/get", json!({"thread_id": thread, "checkpoint_id": "1"})),
        (
            "/v1/checkpoints/get",
            json!({"thread_id": thread, "have_values": [base64(&name(&list_of(10)))]}),
        ),
        ("/v1/checkpoints/list", all.clone()),
        ("/v1/checkpoints/timeline", all.clone()),
        (
            "/v1/checkpoints/list",
            json!({"thread_id": thread, "history_channels": ["m"], "have_values": []}),
        ),
        ("/v1/checkpoints/history", json!({"thread_id": thread, "channels": ["m"]})),
        ("/v1/threads/get", all.clone()),
        ("/v1/retention/policies/get", all.clone()),
        ("/v1/retention/policies/put", json!({"thread_id": thread, "keep_last": 1})),
        ("/v1/retention/policies/delete", all.clone()),
        ("/v1/retention/run", all.clone()),
        ("/v1/threads/copy", json!({"source_thread_id": thread, "target_thread_id": "new"})),
        ("/v1/checkpoints/prune", json!({"thread_ids": [thread], "keep_last": 1, "dry_run": true})),
        ("/v1/checkpoints/prune", json!({"thread_ids": [thread], "keep_last": 1})),
        ("/v1/checkpoints/prune", json!({"thread_ids": [thread], "strategy": "delete"})),
        ("/v1/threads/delete", json!({"thread_id": thread, "generation": "x", "fence": 9})),
        ("/v1/threads/delete", all),
    ]
}

#[tokio::test]
async fn a_foreign_thread_has_the_bytes_of_an_absent_one() {
    let it = Shared::new().await;
    for (who, thread) in [(BOB, "of-bob"), (ALL, "of-all")] {
        it.put(who, thread, "1").await.ok();
        let policy = json!({"thread_id": thread, "keep_last": 5});
        it.post(ALL, "/v1/retention/policies/put", &policy).await.ok();
        let lease = json!({"thread_id": thread, "holder": "h", "ttl_seconds": 60});
        it.post(who, "/v1/threads/lease/acquire", &lease).await.ok();
    }
    for foreign in ["of-bob", "of-all"] {
        let absent = "nobody";
        for ((path, body), (_, of_absent)) in calls(foreign).into_iter().zip(calls(absent)) {
            let found = bytes(&it.post(ANN, path, &body).await, foreign);
            assert_eq!(
                found,
                bytes(&it.post(ANN, path, &of_absent).await, absent),
                "{path} {body}"
            );
        }
        for path in ["/v1/threads/storage?thread_id=", "/v1/retention/reports?thread_id="] {
            let found = bytes(&it.get(ANN, &format!("{path}{foreign}")).await, foreign);
            assert_eq!(found, bytes(&it.get(ANN, &format!("{path}{absent}")).await, absent));
        }
    }
    let runs = json!({"run_ids": ["r"]});
    it.post(ANN, "/v1/checkpoints/delete-for-runs", &runs).await.ok();
    assert_eq!(it.get(ANN, "/v1/threads").await.ok().json(), json!({"threads": []}));
    let listed = it.post(ANN, "/v1/checkpoints/list", &json!({})).await.ok().json();
    assert_eq!(listed["checkpoints"], json!([]));
    let all = it.get(ALL, "/v1/threads").await.ok().json();
    assert_eq!(all["threads"].as_array().unwrap().len(), 2, "nothing was touched");
    for path in ["/v1/retention/policies/get", "/v1/retention/run", "/v1/retention/policies/delete"]
    {
        it.post(ANN, path, &json!({})).await.assert_problem(403, "not_granted");
    }
    it.get(ANN, "/v1/retention/reports").await.assert_problem(403, "not_granted");
}

#[tokio::test]
async fn a_commit_to_anothers_thread_is_told_that_it_is_taken() {
    let it = Shared::new().await;
    it.put(BOB, "t", "1").await.ok();
    it.put(ANN, "own", "1").await.ok();
    it.put(ANN, "t", "2").await.assert_problem(409, "thread_taken");
    let lease = json!({"thread_id": "t", "holder": "h", "ttl_seconds": 60});
    it.post(ANN, "/v1/threads/lease/acquire", &lease).await.assert_problem(409, "thread_taken");
    let held = json!({"thread_id": "t", "holder": "h", "ttl_seconds": 60, "fence": 1});
    it.post(ANN, "/v1/threads/lease/renew", &held).await.assert_problem(409, "thread_taken");
    let held = json!({"thread_id": "t", "holder": "h", "fence": 1});
    it.post(ANN, "/v1/threads/lease/release", &held).await.assert_problem(409, "thread_taken");
    let copy = json!({"source_thread_id": "own", "target_thread_id": "t"});
    it.post(ANN, "/v1/threads/copy", &copy).await.assert_problem(409, "thread_taken");
    it.put(ALL, "t", "2").await.ok();
    let thread = it.post(BOB, "/v1/threads/get", &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(
        (&thread["thread"]["owner"], &thread["thread"]["checkpoint_count"]),
        (&json!("bob"), &json!(2))
    );
}

/// What the server remembers of others' values tells nothing: neither a difference that resolves nor a shorter answer.
#[tokio::test]
async fn the_memory_of_values_is_no_oracle() {
    let it = Shared::new().await;
    it.put(BOB, "t", "1").await.ok();
    let base = list_of(10);
    let mut value = base.clone();
    value.push(7);
    let grown = json!({
        "base": base64(&name(&base)), "sha256": base64(&name(&value)), "length": value.len(),
        "ops": [{"copy": [0, base.len()]}, {"insert": base64(&[7])}]
    });
    let send = async |who: usize, thread: &str| {
        let op = writes("1", std::slice::from_ref(&grown));
        it.post(who, COMMIT, &commit(thread, &[op])).await
    };
    let (foreign, absent) = (send(ANN, "t").await, send(ANN, "nowhere").await);
    foreign.assert_problem(409, "resend_whole");
    assert_eq!(bytes(&foreign, "t").2, bytes(&absent, "t").2);
    // The tenant's key has not sent or read it; then it has.
    send(ALL, "t").await.assert_problem(409, "resend_whole");
    let read = json!({"thread_id": "t", "have_values": []});
    it.post(ALL, "/v1/checkpoints/get", &read).await.ok();
    send(ALL, "t").await.ok();
    send(BOB, "t").await.ok();
    send(ANN, "t").await.assert_problem(409, "resend_whole");
    // A deletion that finds nothing of the caller's makes nobody forget; one that does makes everybody.
    it.post(ANN, "/v1/threads/delete", &json!({"thread_id": "t"})).await.ok();
    send(BOB, "t").await.ok();
    it.post(BOB, "/v1/threads/delete", &json!({"thread_id": "t"})).await.ok();
    for who in [ANN, BOB, ALL] {
        send(who, "t").await.assert_problem(409, "resend_whole");
    }
    // Its id in other hands.
    it.put(ANN, "t", "1").await.ok();
    send(ANN, "t").await.ok();
    send(BOB, "t").await.assert_problem(409, "resend_whole");
    it.put(BOB, "t", "1").await.assert_problem(409, "thread_taken");
}

#[tokio::test]
async fn both_media_types_tell_the_same() {
    let it = Shared::new().await;
    it.put(BOB, "t", "1").await.ok();
    let headers =
        [("content-type", JSON), ("accept", MSGPACK), ("x-api-key", it.keys[ANN].as_str())];
    let ask = async |thread: &str| {
        let body = json!({"thread_id": thread}).to_string().into_bytes();
        it.server.send("POST", "/v1/checkpoints/get", &headers, body).await.ok().body
    };
    assert_eq!(ask("t").await, ask("u").await);
}
