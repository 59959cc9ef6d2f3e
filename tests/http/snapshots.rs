//! Tests snapshots over HTTP, on a real engine: a taken snapshot comes back, and mistakes are named.

use serde_json::{Value, json};

use crate::server::JSON;
use crate::sessions::World;
use crate::wire::{base64, commit, put};

const TAKE: &str = "/v1/snapshots/take";
const RESTORE: &str = "/v1/snapshots/restore";

async fn commit_to(world: &World, thread: &str, id: &str) -> Value {
    let body = commit(thread, &[put(id, &base64(b"x"))]);
    world.call("/v1/checkpoints/commit", &body).await.ok().json()
}

async fn latest(world: &World, thread: &str) -> Value {
    let body = json!({"thread_id": thread});
    let found = world.call("/v1/checkpoints/get", &body).await.ok().json();
    found["checkpoint"]["checkpoint_id"].clone()
}

#[tokio::test]
async fn what_is_taken_comes_back_exactly() {
    let world = World::new().await;
    let before = commit_to(&world, "t", "1").await;
    // As text: the document's spelling must stay.
    let body = r#"{"snapshot_id": "s", "threads": [{"thread_id": "t"}], "labels": {"sandbox": "a"},
        "document": {"n": 1.0,   "n": 12345678901234567890123}, "expires_in_seconds": 3600}"#;
    let headers = [("content-type", JSON), ("x-api-key", world.key.as_str())];
    let send = || world.server.send("POST", TAKE, &headers, body.as_bytes().to_vec());
    let first = send().await;
    assert_eq!(first.status, 201, "{}", String::from_utf8_lossy(&first.body));
    let again = send().await.ok();
    assert_eq!(first.body, again.body);
    let text = String::from_utf8(first.body.clone()).unwrap();
    assert!(text.contains(r#""document":{"n": 1.0,   "n": 12345678901234567890123}"#), "{text}");
    let shown = world.call("/v1/snapshots/get", &json!({"snapshot_id": "s"})).await.ok();
    assert_eq!(shown.body, first.body);
    let thread = &shown.json()["threads"][0];
    assert_eq!((&thread["checkpoints"], &thread["history"]), (&json!(1), &json!("all")));
    assert_eq!(thread["generation"], before["generation"]);
    commit_to(&world, "t", "2").await;
    assert_eq!(latest(&world, "t").await, json!("2"));
    let would = json!({"snapshot_id": "s", "dry_run": true});
    let would = world.call(RESTORE, &would).await.ok().json();
    assert_eq!(would["threads"][0]["replaced_checkpoints"], json!(2));
    assert_eq!(latest(&world, "t").await, json!("2"));
    let headers = [headers[0], headers[1], ("idempotency-key", "k")];
    let body = json!({"snapshot_id": "s", "threads": "all"}).to_string();
    let restore = || world.server.send("POST", RESTORE, &headers, body.clone().into_bytes());
    let done = restore().await.ok();
    assert_eq!(restore().await.ok().body, done.body);
    assert_eq!(latest(&world, "t").await, json!("1"));
    let safety = done.json()["safety_snapshot_id"].clone();
    let listed = world.call("/v1/snapshots/list", &json!({})).await.ok().json();
    let ids: Vec<&Value> =
        listed["snapshots"].as_array().unwrap().iter().map(|it| &it["snapshot_id"]).collect();
    assert_eq!(ids, [&safety, &json!("s")]);
    // A writer that holds the old generation.
    let mut late = commit("t", &[put("3", &base64(b"x"))]);
    late["generation"] = before["generation"].clone();
    world.call("/v1/checkpoints/commit", &late).await.assert_problem(409, "thread_restored");
    // Into another id, and not a second time.
    let other = json!({"snapshot_id": "s", "threads": [{"thread_id": "t", "into": "b"}]});
    world.call(RESTORE, &other).await.ok();
    assert_eq!(latest(&world, "b").await, json!("1"));
    world.call(RESTORE, &other).await.assert_problem(409, "thread_exists");
    for _ in 0..2 {
        world.call("/v1/snapshots/delete", &json!({"snapshot_id": "s"})).await.ok();
    }
    world
        .call("/v1/snapshots/get", &json!({"snapshot_id": "s"}))
        .await
        .assert_problem(404, "snapshot_not_found");
    world.call(RESTORE, &other).await.assert_problem(404, "snapshot_not_found");
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let world = World::new().await;
    commit_to(&world, "t", "1").await;
    let threads: Vec<Value> = (0..1_001).map(|at| json!({"thread_id": at.to_string()})).collect();
    let labels: serde_json::Map<String, Value> =
        (0..33).map(|at| (at.to_string(), json!(""))).collect();
    let one = json!([{"thread_id": "t"}]);
    for (body, field, limit) in [
        (json!({"snapshot_id": ""}), "snapshot_id", None),
        (json!({"snapshot_id": "x".repeat(257)}), "snapshot_id", Some(256)),
        (json!({"threads": threads}), "threads", Some(1_000)),
        (json!({"threads": [{"thread_id": ""}]}), "threads[0].thread_id", None),
        (json!({"threads": [{"thread_id": "t", "history": "x"}]}), "threads[0].history", None),
        (json!({"labels": labels}), "labels", Some(32)),
        (json!({"labels": {"a": "x".repeat(257)}}), "labels.a", Some(256)),
        (json!({"expires_in_seconds": 0}), "expires_in_seconds", Some(3_153_600_000)),
    ] {
        let answer = world.call(TAKE, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
        assert_eq!(answer.json()["limit"].as_u64(), limit, "{field}");
    }
    let large = json!({"document": "x".repeat(1 << 20)});
    world.call(TAKE, &large).await.assert_problem(413, "too_large");
    let absent = json!({"threads": [{"thread_id": "never was"}]});
    world.call(TAKE, &absent).await.assert_problem(404, "thread_not_found");
    let taken = json!({"snapshot_id": "s", "threads": one});
    assert_eq!(world.call(TAKE, &taken).await.status, 201);
    let other = json!({"snapshot_id": "s", "threads": []});
    let refused = world.call(TAKE, &other).await;
    refused.assert_problem(422, "idempotency_mismatch");
    assert_eq!(refused.field(), "snapshot_id");
    for (threads, field) in [
        (json!("some"), "threads"),
        (json!([{"thread_id": "u"}]), "threads"),
        (json!([{"thread_id": "t", "into": ""}]), "threads[0].thread_id"),
        (json!(7), "threads"),
    ] {
        let answer = world.call(RESTORE, &json!({"snapshot_id": "s", "threads": threads})).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
    for (part, field) in [
        (
            json!({"namespaces": [{"namespace": ["a"], "into": ["b", ""]}]}),
            "namespaces[0].namespace",
        ),
        (json!({"namespaces": [{"namespace": ["a"], "into": ["b"]}]}), "namespaces"),
        (json!({"sessions": [{"kind": "k", "key": ["a"], "into": []}]}), "sessions[0].key"),
        (json!({"sessions": [{"kind": "k", "key": ["a"], "into": ["b"]}]}), "sessions"),
        (json!({"subjects": {"": "ann"}}), "subjects"),
        (json!({"subjects": {"ann": "x".repeat(513)}}), "subjects"),
    ] {
        let mut body = json!({"snapshot_id": "s"});
        body.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let answer = world.call(RESTORE, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
}

#[tokio::test]
async fn namespaces_and_sessions_go_where_there_is_nothing() {
    let world = World::new().await;
    let put = json!({"namespace": ["a"], "key": "k", "value": {"n": 1}});
    world.call("/v1/store/put", &put).await.ok();
    let session = json!({"kind": "k", "key": ["a"]});
    let mut append = session.clone();
    append["entries"] = json!([{"data": {"n": 1}}]);
    world.call("/v1/sessions/append", &append).await.ok();
    let taken = json!({"snapshot_id": "s", "namespaces": [["a"]], "sessions": [session]});
    assert_eq!(world.call(TAKE, &taken).await.status, 201);
    let namespaces = json!([{"namespace": ["a"], "into": ["b", "c"]}]);
    let sessions = json!([{"kind": "k", "key": ["a"], "into": ["b", "c"]}]);
    let both = json!({"snapshot_id": "s", "namespaces": namespaces, "sessions": sessions});
    let done = world.call(RESTORE, &both).await.ok().json();
    assert_eq!(done["namespaces"][0]["into"], json!(["b", "c"]));
    assert_eq!(done["sessions"][0]["into"], json!(["b", "c"]));
    assert!(done.get("safety_snapshot_id").is_none());
    let found = json!({"namespace": ["b", "c"], "key": "k"});
    let found = world.call("/v1/store/get", &found).await.ok().json();
    assert_eq!(found["item"]["value"], json!({"n": 1}));
    let only = |part: &str, of: &Value| json!({"snapshot_id": "s", part: of});
    let again = world.call(RESTORE, &only("namespaces", &namespaces)).await;
    again.assert_problem(409, "namespace_exists");
    let again = world.call(RESTORE, &only("sessions", &sessions)).await;
    again.assert_problem(409, "session_exists");
}
