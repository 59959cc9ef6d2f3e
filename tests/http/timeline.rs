//! Tests timelines through the router, on a real engine.

use serde_json::{Value, json};

use crate::ownership::{ANN, BOB, Shared};
use crate::sessions::World;
use crate::wire::{COMMIT, base64};

const TIMELINE: &str = "/v1/checkpoints/timeline";

fn checkpoint(ns: &str, id: &str, parent: Option<&str>, step: i64) -> Value {
    let versions = json!({"messages": step.to_string(), "branch:to:model": step.to_string()});
    let value =
        json!({"channel": "messages", "version": step.to_string(), "tag": "null", "data": ""});
    json!({"checkpoint": {
        "checkpoint_ns": ns, "checkpoint_id": id, "parent_checkpoint_id": parent,
        "metadata": {"source": "loop", "step": step, "run_id": "r", "lc_agent_name": "poet", "parents": {"": "1"}},
        "skeleton": {"v": 4, "ts": "2026-01-31T12:00:09+00:00", "channel_versions": versions,
            "versions_seen": {"model": {"branch:to:model": (step - 1).to_string()}}},
        "values": [value]
    }})
}

async fn world() -> World {
    let world = World::new().await;
    let write =
        json!({"idx": -3, "channel": "__interrupt__", "tag": "msgpack", "data": base64(b"\x90")});
    let ops = json!([
        checkpoint("", "1", None, 0),
        checkpoint("", "2", Some("1"), 1),
        checkpoint("tools:1", "3", None, 0),
        {"writes": {"checkpoint_id": "2", "task_id": "task", "writes": [write]}}
    ]);
    world.call(COMMIT, &json!({"thread_id": "t", "ops": ops})).await.ok();
    world
}

fn ids(page: &Value) -> Vec<&str> {
    page["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["checkpoint_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_node_tells_its_step_and_a_namespace_its_agent() {
    let world = world().await;
    let page = world.call(TIMELINE, &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(ids(&page), ["2", "1"], "of the root graph");
    let node = &page["nodes"][0];
    let size = node["size_bytes"].as_u64().unwrap();
    assert!(size > 100, "{size}");
    let expected = json!({
        "checkpoint_ns": "", "checkpoint_id": "2", "parent_checkpoint_id": "1",
        "created_at": "2026-01-31T12:00:09+00:00", "step": 1, "source": "loop", "node": "model",
        "changed": ["messages"], "size_bytes": size, "writes": 1, "interrupts": 1, "error": false, "run_id": "r"
    });
    assert_eq!(*node, expected);
    assert!(page["generation"].is_string());
    let namespaces = json!([
        {"checkpoint_ns": "tools:1", "agent": "poet", "parent_checkpoint_id": "1", "checkpoints": 1, "newest": "3"},
        {"checkpoint_ns": "", "agent": "poet", "checkpoints": 2, "newest": "2"}
    ]);
    assert_eq!(page["namespaces"], namespaces);
}

#[tokio::test]
async fn every_namespace_comes_in_pages() {
    let world = world().await;
    let mut body = json!({"thread_id": "t", "checkpoint_ns": "*", "limit": 2});
    let first = world.call(TIMELINE, &body).await.ok().json();
    assert_eq!(ids(&first), ["3", "2"]);
    body["cursor"] = first["next_cursor"].clone();
    let second = world.call(TIMELINE, &body).await.ok().json();
    assert_eq!(ids(&second), ["1"]);
    assert_eq!((&second["namespaces"], second.get("next_cursor")), (&json!([]), None));
    let one = world.call(TIMELINE, &json!({"thread_id": "t", "checkpoint_ns": "tools:1"})).await;
    assert_eq!(ids(&one.ok().json()), ["3"]);
    let between = json!({"thread_id": "t", "checkpoint_ns": "*", "before": "3", "after": "1"});
    assert_eq!(ids(&world.call(TIMELINE, &between).await.ok().json()), ["2"]);
}

#[tokio::test]
async fn a_thread_that_is_not_there_has_an_empty_timeline() {
    let world = world().await;
    let page = world.call(TIMELINE, &json!({"thread_id": "none", "checkpoint_ns": "*"})).await;
    assert_eq!(page.ok().json(), json!({"nodes": [], "namespaces": []}));
}

#[tokio::test]
async fn a_foreign_thread_is_an_absent_one() {
    let shared = Shared::new().await;
    let ops = json!([checkpoint("", "1", None, 0)]);
    shared.post(ANN, COMMIT, &json!({"thread_id": "of ann", "ops": ops})).await.ok();
    let body = json!({"thread_id": "of ann"});
    assert_eq!(ids(&shared.post(ANN, TIMELINE, &body).await.ok().json()), ["1"]);
    let hidden = shared.post(BOB, TIMELINE, &body).await.ok().json();
    assert_eq!(hidden, json!({"nodes": [], "namespaces": []}));
}

#[tokio::test]
async fn what_no_timeline_has_is_refused_by_its_field() {
    let world = world().await;
    let long = "x".repeat(600);
    let list = world.call("/v1/checkpoints/list", &json!({"thread_id": "t", "limit": 1})).await;
    let other_cursor = list.ok().json()["next_cursor"].clone();
    for (name, value) in [
        ("limit", json!(0)),
        ("limit", json!(1_001)),
        ("limit", json!(-1)),
        ("before", json!("")),
        ("before", json!(long)),
        ("after", json!("")),
        ("after", json!(long)),
        ("checkpoint_ns", json!(long)),
        ("cursor", json!("x")),
        ("cursor", other_cursor),
        ("thread_id", json!("")),
    ] {
        let mut body = json!({"thread_id": "t"});
        body[name] = value;
        let answer = world.call(TIMELINE, &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), name, "{body}");
        if name == "limit" {
            assert_eq!(answer.json()["limit"], 1_000);
        }
    }
    world.call(TIMELINE, &json!({"thread_id": "t", "limit": 1_000})).await.ok();
    world.call(TIMELINE, &json!({"thread_id": "t", "limit": 1})).await.ok();
}
