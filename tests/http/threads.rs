//! Tests threads and their leases through the router.

use serde_json::{Value, json};
use threadkeep::domain::tenants::storage_use::{ChannelUse, StorageUse};
use threadkeep::domain::threads::details::Details;
use threadkeep::domain::threads::run_state::Run;
use threadkeep::domain::threads::thread::Thread;

use crate::server::{JSON, Server};

pub fn thread(id: &str, created_at: i64, updated_at: i64) -> Thread {
    Thread {
        thread_id: id.into(),
        created_at,
        updated_at,
        last_step: None,
        checkpoint_count: 2,
        size_bytes: 9,
        generation: "g".into(),
        owner: None,
        graph_id: Some("agent".into()),
        assistant_id: None,
        user_id: None,
        details: Details::default(),
        run: Run::default(),
    }
}

async fn with_threads() -> Server {
    let server = Server::keyless().await;
    let threads = vec![thread("a", 3, 30), thread("b", 1, 50), thread("c", 2, 40)];
    *server.storage.threads.lock().unwrap() = threads;
    server
}

async fn ids(server: &Server, query: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/v1/threads?{query}{cursor}")).await.ok().json();
        let threads = page["threads"].as_array().unwrap();
        seen.extend(threads.iter().map(|it| it["thread_id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { return seen };
        cursor = format!("&cursor={next}");
    }
}

#[tokio::test]
async fn every_order_is_walked_without_gap_or_repetition() {
    let server = with_threads().await;
    for (query, expected) in [
        ("sort=created", ["a", "c", "b"]),
        ("sort=created&order=asc", ["b", "c", "a"]),
        ("sort=updated", ["b", "c", "a"]),
        ("sort=thread_id", ["a", "b", "c"]),
        ("sort=thread_id&order=desc", ["c", "b", "a"]),
    ] {
        for limit in [1, 2, 3, 100] {
            assert_eq!(ids(&server, &format!("{query}&limit={limit}")).await, expected, "{query}");
        }
    }
    assert_eq!(ids(&server, "limit=0").await, [""; 0]);
}

#[tokio::test]
async fn a_cursor_of_one_order_is_refused_by_another() {
    let server = with_threads().await;
    let page = server.get("/v1/threads?limit=1").await.ok().json();
    let cursor = page["next_cursor"].as_str().unwrap();
    for query in ["sort=updated", "order=asc", "sort=thread_id"] {
        let answer = server.get(&format!("/v1/threads?{query}&cursor={cursor}")).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), "cursor");
    }
}

#[tokio::test]
async fn filters_reach_the_storage() {
    let server = with_threads().await;
    server.get("/v1/threads?graph_id=g%20%C3%BC&assistant_id=&prefix=a%2Fb&limit=7").await.ok();
    let call = server.storage.calls().remove(0);
    for part in [
        "limit: 7",
        "graph_id: Some(\"g ü\")",
        "assistant_id: Some(\"\")",
        "user_id: None",
        "prefix: Some(\"a/b\")",
    ] {
        assert!(call.contains(part), "{call}");
    }
}

#[tokio::test]
async fn a_thread_shows_what_is_known_of_it() {
    let server = with_threads().await;
    let found = server.post("/v1/threads/get", &json!({"thread_id": "a"})).await.ok().json();
    assert_eq!(
        found,
        json!({"thread": {
            "thread_id": "a", "uuid": "28ab903e-7147-5db3-83b0-a7da1f6d1f70", "created_at": "1970-01-01T00:00:00.000003Z", "updated_at": "1970-01-01T00:00:00.000030Z",
            "checkpoint_count": 2, "forks": 0, "size_bytes": 9, "generation": "g", "graph_id": "agent",
            "metadata": {"graph_id": "agent"}, "version": 0,
            "status": "idle", "state_updated_at": "1970-01-01T00:00:00.000003Z"
        }})
    );
    let absent = server.post("/v1/threads/get", &json!({"thread_id": "zz"})).await.ok().json();
    assert_eq!(absent, json!({}));
}

#[tokio::test]
async fn a_deletion_carries_its_conditions() {
    let server = Server::keyless().await;
    let ask = json!({"thread_id": "t", "generation": "g", "fence": 4});
    assert_eq!(server.post("/v1/threads/delete", &ask).await.ok().json(), json!({}));
    assert_eq!(server.storage.calls(), ["delete Some(\"g\") Some(4)"]);
}

#[tokio::test]
async fn a_copy_is_known_by_its_key_and_its_body() {
    let server = Server::keyless().await;
    let copy = async |key: Option<&str>, target: &str| {
        let mut headers = vec![("content-type", JSON)];
        headers.extend(key.map(|it| ("idempotency-key", it)));
        let body = json!({"source_thread_id": "s", "target_thread_id": target}).to_string();
        server.send("POST", "/v1/threads/copy", &headers, body.into_bytes()).await
    };
    assert_eq!(copy(Some("k"), "x").await.ok().json(), json!({"checkpoints": 3}));
    copy(Some("k"), "x").await.ok();
    copy(Some("k"), "y").await.assert_problem(422, "idempotency_mismatch");
    copy(Some("l"), "y").await.ok();
    copy(None, "z").await.ok();
}

#[tokio::test]
async fn a_lease_is_acquired_renewed_and_released() {
    let server = Server::keyless().await;
    let ask = |more: Value| {
        let mut body = json!({"thread_id": "t", "holder": "h"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let acquired =
        server.post("/v1/threads/lease/acquire", &ask(json!({"ttl_seconds": 9}))).await.ok();
    assert_eq!(acquired.json(), json!({"fence": 1, "expires_at": "1970-01-01T00:00:01.000000Z"}));
    let renew = ask(json!({"ttl_seconds": 9, "fence": 1}));
    server.post("/v1/threads/lease/renew", &renew).await.ok();
    let released = server.post("/v1/threads/lease/release", &ask(json!({"fence": 1}))).await.ok();
    assert_eq!(released.json(), json!({}));
    assert_eq!(server.storage.calls(), ["acquire h 9", "renew Some(1)", "release Some(1)"]);
}

#[tokio::test]
async fn what_a_thread_takes_is_shown_to_its_tenant_alone() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let channel =
        ChannelUse { channel: "ü".into(), versions: 2, logical_bytes: 900, newest_bytes: 500 };
    let takes = StorageUse {
        writes_bytes: 100,
        logical_bytes: 1_000,
        stored_bytes: 250,
        content_bytes: 200,
        checkpoints: 3,
        versions: 2,
        writes: 1,
        chunks: 7,
        shared_with: 1,
        channels: vec![channel],
    };
    let ids = ["t", ".", "..", "a/b", "%2F", "a b&c=d", "ü"];
    for id in ids {
        let key = ("acme".to_owned(), id.to_owned());
        server.storage.storage_uses.lock().unwrap().insert(key, takes.clone());
    }
    let ask = async |key: &str, id: &str| {
        let encoded = id.bytes().fold(String::new(), |text, it| text + &format!("%{it:02X}"));
        let path = format!("/v1/threads/storage?thread_id={encoded}");
        server.get_with(&path, &[("x-api-key", key)]).await.ok().json()
    };
    for id in ids {
        let found = ask(&keys[0], id).await;
        assert_eq!(
            found,
            json!({"storage": {
                "logical_bytes": 1000, "stored_bytes": 250, "content_bytes": 200, "share_saved": 0.75,
                "checkpoints": 3, "versions": 2, "writes": 1, "chunks": 7, "shared_with": 1,
                "channels": [{"channel": "ü", "versions": 2, "logical_bytes": 900, "newest_bytes": 500}]
            }}),
            "{id}"
        );
        // A thread of another tenant and one that never was look the same.
        assert_eq!(ask(&keys[1], id).await, json!({}));
    }
    assert_eq!(ask(&keys[0], "never was").await, json!({}));
}

#[tokio::test]
async fn a_question_for_the_storage_of_no_thread_is_refused() {
    let server = Server::keyless().await;
    let long = format!("?thread_id={}", "x".repeat(513));
    for (query, field) in [
        ("", "thread_id"),
        ("?thread_id=", "thread_id"),
        ("?thread_id=%00", "thread_id"),
        (long.as_str(), "thread_id"),
        ("?thread_id=t&more=1", "more"),
    ] {
        let answer = server.get(&format!("/v1/threads/storage{query}")).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{query}");
    }
    assert!(server.storage.is_untouched());
}
