//! Tests the status of threads through the router, on a real engine.

use serde_json::{Value, json};

use crate::ownership::{ALL, ANN, BOB, Shared};
use crate::wire::{COMMIT, commit};

const SEARCH: &str = "/v1/threads/search";
const NULL: &str = "wA==";

/// A checkpoint after which a node is to run, and a write on it where one is given.
async fn checkpoint(shared: &Shared, thread: &str, source: &str, write: Option<&str>) {
    let value = json!({"channel": "branch:to:ask", "version": "2", "tag": "msgpack", "data": NULL});
    let mut ops = vec![json!({"checkpoint": {
        "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875", "metadata": {"step": 1, "source": source},
        "skeleton": {"v": 4, "channel_versions": {"branch:to:ask": "2"}, "versions_seen": {}}, "values": [value]
    }})];
    ops.extend(write.map(|channel| {
        let write = json!({"idx": -1, "channel": channel, "tag": "msgpack", "data": NULL});
        json!({"writes": {
            "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875", "task_id": "a", "writes": [write]
        }})
    }));
    shared.post(ANN, COMMIT, &commit(thread, &ops)).await.ok();
}

async fn with_one_of_each() -> Shared {
    let shared = Shared::new().await;
    shared.post(ANN, "/v1/threads/create", &json!({"thread_id": "idle"})).await.ok();
    checkpoint(&shared, "busy", "loop", None).await;
    checkpoint(&shared, "left", "update", None).await;
    checkpoint(&shared, "asks", "loop", Some("__interrupt__")).await;
    checkpoint(&shared, "failed", "loop", Some("__error__")).await;
    shared
}

async fn found(shared: &Shared, who: usize, body: &Value) -> Vec<String> {
    let page = shared.post(who, SEARCH, body).await.ok().json();
    let ids = page["threads"].as_array().unwrap().iter();
    ids.map(|it| it["thread_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn threads_show_their_status_and_are_found_by_it() {
    let shared = with_one_of_each().await;
    for (thread, status) in [
        ("idle", "idle"),
        ("busy", "busy"),
        ("left", "interrupted"),
        ("asks", "interrupted"),
        ("failed", "error"),
    ] {
        let got = shared.post(ANN, "/v1/threads/get", &json!({"thread_id": thread})).await;
        let got = got.ok().json();
        assert_eq!(got["thread"]["status"], status, "{thread}");
        assert_eq!(got["thread"]["state_updated_at"], got["thread"]["updated_at"], "{thread}");
    }
    for (status, expected) in [
        (json!(["idle"]), vec!["idle"]),
        (json!(["interrupted"]), vec!["asks", "left"]),
        (json!(["busy", "error"]), vec!["busy", "failed"]),
        (json!([]), vec!["asks", "busy", "failed", "idle", "left"]),
    ] {
        let body = json!({"status": status, "sort": "thread_id"});
        assert_eq!(found(&shared, ANN, &body).await, expected, "{body}");
        let count = shared.post(ANN, "/v1/threads/count", &json!({"status": status})).await;
        assert_eq!(count.ok().json(), json!({"count": expected.len()}));
        assert!(found(&shared, BOB, &body).await.is_empty(), "another's threads look absent");
    }
    let body = json!({"status": ["interrupted"], "q": "le"});
    assert_eq!(found(&shared, ALL, &body).await, ["left"]);
    let by_status = json!({"sort": "status", "order": "asc"});
    let all = ["busy", "failed", "idle", "asks", "left"];
    assert_eq!(found(&shared, ANN, &by_status).await, all);
}

#[tokio::test]
async fn a_lease_makes_a_thread_busy_and_details_move_no_state() {
    let shared = with_one_of_each().await;
    let lease = json!({"thread_id": "failed", "holder": "h", "ttl_seconds": 60});
    let lease = shared.post(ANN, "/v1/threads/lease/acquire", &lease).await.ok().json();
    assert_eq!(found(&shared, ANN, &json!({"status": ["error"]})).await, [""; 0]);
    let busy = json!({"status": ["busy"], "sort": "thread_id"});
    assert_eq!(found(&shared, ANN, &busy).await, ["busy", "failed"]);
    let release = json!({"thread_id": "failed", "holder": "h", "fence": lease["fence"]});
    shared.post(ANN, "/v1/threads/lease/release", &release).await.ok();
    assert_eq!(found(&shared, ANN, &json!({"status": ["error"]})).await, ["failed"]);
    let title = json!({"thread_id": "asks", "title": "A question"});
    let changed = shared.post(ANN, "/v1/threads/update", &title).await.ok().json();
    assert_eq!(changed["thread"]["status"], "interrupted");
    assert!(
        changed["thread"]["state_updated_at"].as_str() < changed["thread"]["updated_at"].as_str()
    );
    let newest = json!({"sort": "updated", "limit": 1});
    assert_eq!(found(&shared, ANN, &newest).await, ["asks"]);
    let newest = json!({"sort": "state_updated", "limit": 1});
    assert_eq!(found(&shared, ANN, &newest).await, ["failed"]);
}
