//! Tests updates of a state on the wire of the LangGraph Agent Server, over a real engine: what each makes, and what is refused.

use serde_json::{Value, json};
use threadkeep::domain::threads::alias::alias;

use crate::drive_world::World;
use crate::server::{Answer, JSON};
use crate::wire::{COMMIT, base64};

pub const FIRST: &str = "1ef4f797-8335-6428-8000-8a1503f9b875";
pub const SECOND: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
pub const UPDATE: &str = "/threads/t/state";

pub fn msgpack(value: &Value) -> Value {
    base64(&rmp_serde::to_vec_named(value).unwrap())
}

pub fn version(number: u32) -> String {
    format!("{number:032}.0.5")
}

fn value(channel: &str, number: u32, tag: &str, data: Value) -> Value {
    json!({"channel": channel, "version": version(number), "tag": tag, "data": data})
}

fn checkpoint(id: &str, parent: Option<&str>, step: i64, values: &[Value]) -> Value {
    let named = values.iter().map(|it| (it["channel"].as_str().unwrap(), it["version"].clone()));
    let versions: serde_json::Map<String, Value> =
        named.map(|(name, version)| (name.to_owned(), version)).collect();
    json!({"checkpoint": {
        "checkpoint_id": id, "parent_checkpoint_id": parent,
        "metadata": {"source": "loop", "step": step, "parents": {}, "graph_id": "agent"},
        "skeleton": {"v": 4, "ts": "2026-01-31T12:00:00+00:00", "id": id, "versions_seen": {"before": {}}, "channel_versions": versions},
        "values": values
    }})
}

/// Ann's thread `t`, whose graph would run `ask` next, and the thread `empty`.
async fn world() -> World {
    let it = World::new().await;
    let first = checkpoint(FIRST, None, 0, &[value("title", 2, "msgpack", msgpack(&json!("one")))]);
    let second = checkpoint(
        SECOND,
        Some(FIRST),
        1,
        &[
            value("branch:to:ask", 3, "null", base64(b"")),
            value("title", 3, "msgpack", msgpack(&json!("two"))),
            value("secret", 3, "msgpack+aes", base64(b"sealed")),
        ],
    );
    post(&it, COMMIT, &json!({"thread_id": "t", "ops": [first, second]})).await.ok();
    post(&it, "/v1/threads/create", &json!({"thread_id": "empty"})).await.ok();
    it
}

pub async fn post(it: &World, path: &str, body: &Value) -> Answer {
    send(it, &it.ann, path, body).await
}

async fn send(it: &World, who: &str, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", who), ("content-type", JSON)];
    it.server.send("POST", path, &headers, body.to_string().into_bytes()).await
}

/// The stored checkpoint, as savers read it.
async fn stored(it: &World, id: Option<&str>) -> Value {
    let body = json!({"thread_id": "t", "checkpoint_id": id});
    post(it, "/v1/checkpoints/get", &body).await.ok().json()
}

pub async fn count(it: &World) -> (i64, i64) {
    (
        it.count("select count(*) from checkpoints").await,
        it.count("select count(*) from writes").await,
    )
}

fn copy() -> Value {
    json!({"values": null, "as_node": "__copy__"})
}

fn end() -> Value {
    json!({"as_node": "__end__"})
}

#[tokio::test]
async fn a_copy_stands_beside_the_original_with_its_content() {
    let it = world().await;
    let made = post(&it, UPDATE, &copy()).await.ok().json();
    let id = made["checkpoint_id"].as_str().unwrap();
    assert!(id > SECOND && id[14..].starts_with('6') && id[19..].starts_with("8001-"), "{id}");
    let named = json!({"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": id});
    assert_eq!(made, json!({"checkpoint": named, "configurable": named, "checkpoint_id": id}));
    let state = it.get(&it.ann, UPDATE).await.ok().json();
    assert_eq!(
        (&state["checkpoint_id"], &state["parent_checkpoint_id"]),
        (&json!(id), &json!(FIRST))
    );
    assert_eq!(
        (&state["values"]["title"], &state["next"], &state["metadata"]),
        (&json!("two"), &json!(["ask"]), &json!({"source": "fork", "step": 2, "parents": {}}))
    );
    let (copied, original) = (stored(&it, None).await, stored(&it, Some(SECOND)).await);
    assert_eq!(copied["checkpoint"]["values"], original["checkpoint"]["values"]);
}

#[tokio::test]
async fn a_fork_begins_with_the_checkpoint_that_is_named() {
    let it = world().await;
    for body in [
        json!({"as_node": "__copy__", "checkpoint_id": FIRST}),
        json!({"as_node": "__copy__", "values": null, "checkpoint": {"checkpoint_id": FIRST, "checkpoint_ns": "", "checkpoint_map": null}}),
    ] {
        let made = post(&it, UPDATE, &body).await.ok().json();
        let state = it.get(&it.ann, UPDATE).await.ok().json();
        assert_eq!(state["checkpoint_id"], made["checkpoint_id"]);
        assert_eq!(state["values"], json!({"title": "one"}));
        assert_eq!(state["parent_checkpoint"], Value::Null);
    }
}

#[tokio::test]
async fn nothing_is_next_after_the_end() {
    let it = world().await;
    let made = post(&it, UPDATE, &end()).await.ok().json();
    let state = it.get(&it.ann, UPDATE).await.ok().json();
    assert_eq!(state["checkpoint_id"], made["checkpoint_id"]);
    assert_eq!(state["parent_checkpoint_id"], SECOND);
    assert_eq!(
        (&state["values"]["title"], &state["next"], &state["metadata"]),
        (&json!("two"), &json!([]), &json!({"source": "update", "step": 2, "parents": {}}))
    );
    let thread = it.get(&it.ann, "/threads/t").await.ok().json();
    assert_eq!(
        (&thread["status"], &thread["metadata"]),
        (&json!("idle"), &json!({"graph_id": "agent"}))
    );
    // And once more, with nothing to clear.
    post(&it, UPDATE, &end()).await.ok();
}

#[tokio::test]
async fn below_uuid_the_answer_shows_the_alias() {
    let it = world().await;
    let path = format!("/uuid/threads/{}/state", alias("t"));
    let made = post(&it, &path, &copy()).await.ok().json();
    assert_eq!(made["checkpoint"]["thread_id"], alias("t"));
    assert_eq!(made["configurable"]["thread_id"], alias("t"));
}

#[tokio::test]
async fn what_the_graph_decides_is_refused_and_nothing_is_written() {
    let it = world().await;
    let before = count(&it).await;
    for (body, part) in [
        (json!({"values": {"title": "x"}, "as_node": "ask"}), "\"ask\""),
        (json!({"values": {"title": "x"}, "as_node": "__copy__"}), "\"__copy__\""),
        (json!({"values": {"title": "x"}, "as_node": "__end__"}), "\"__end__\""),
        (json!({"values": null}), "without values"),
        (json!({"as_node": "__copy__", "checkpoint_id": "unknown"}), "no such checkpoint"),
        (
            json!({"as_node": "__end__", "checkpoint": {"checkpoint_ns": "other"}}),
            "no such checkpoint",
        ),
    ] {
        let answer = post(&it, UPDATE, &body).await;
        answer.assert_problem(422, "needs_graph");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(part) && detail.contains("ThreadkeepSaver"), "{detail}");
    }
    for (body, status, code) in [
        (json!({"values": [1]}), 400, "bad_request"),
        (json!({"values": [1], "as_node": "__copy__"}), 400, "bad_request"),
        (json!({"values": "text"}), 422, "invalid"),
        (json!({"values": 1, "as_node": "__end__"}), 422, "invalid"),
    ] {
        post(&it, UPDATE, &body).await.assert_problem(status, code);
    }
    let nameless = post(&it, "/threads/empty/state", &copy()).await;
    nameless.assert_problem(400, "bad_request");
    let detail = nameless.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("no assigned graph ID") && detail.contains("no associated graph"),
        "{detail}"
    );
    post(&it, "/threads/none/state", &copy()).await.assert_problem(404, "thread_not_found");
    assert_eq!(count(&it).await, before);
}

#[tokio::test]
async fn tasks_that_have_written_are_not_cleared() {
    for (task, part) in [
        ("another", "a task has written"),
        ("00000000-0000-0000-0000-000000000000", "an answer has written"),
    ] {
        let it = world().await;
        let write =
            json!({"idx": 0, "channel": "title", "tag": "msgpack", "data": msgpack(&json!("x"))});
        let writes =
            json!({"writes": {"checkpoint_id": SECOND, "task_id": task, "writes": [write]}});
        post(&it, COMMIT, &json!({"thread_id": "t", "ops": [writes]})).await.ok();
        let before = count(&it).await;
        let answer = post(&it, UPDATE, &end()).await;
        answer.assert_problem(422, "needs_graph");
        assert!(answer.json()["detail"].as_str().unwrap().contains(part));
        assert_eq!(count(&it).await, before);
        post(&it, UPDATE, &copy()).await.ok();
    }
}

#[tokio::test]
async fn a_deferred_node_that_waits_is_not_passed_over() {
    let it = World::new().await;
    let waits = msgpack(&json!([null, false]));
    let first = checkpoint(
        FIRST,
        None,
        0,
        &[
            value("branch:to:last", 2, "msgpack", waits),
            value("branch:to:ask", 2, "null", base64(b"")),
        ],
    );
    post(&it, COMMIT, &json!({"thread_id": "t", "ops": [first]})).await.ok();
    let answer = post(&it, UPDATE, &end()).await;
    answer.assert_problem(422, "needs_graph");
    assert!(answer.json()["detail"].as_str().unwrap().contains("deferred node \"last\""));
    assert_eq!(count(&it).await.0, 1);
}

#[tokio::test]
async fn a_thread_with_a_lease_is_in_flight() {
    let it = world().await;
    let lease = json!({"thread_id": "t", "holder": "h", "ttl_seconds": 60});
    post(&it, "/v1/threads/lease/acquire", &lease).await.ok();
    let before = count(&it).await;
    for body in [copy(), end(), json!({"values": {"title": "x"}})] {
        let answer = post(&it, UPDATE, &body).await;
        answer.assert_problem(409, "lease_held");
        assert!(answer.json()["detail"].as_str().unwrap().contains("in-flight"));
    }
    assert_eq!(count(&it).await, before);
}

#[tokio::test]
async fn an_update_needs_a_grant_to_append() {
    let it = world().await;
    let before = count(&it).await;
    let mint = async |actions: Value| {
        let grants = json!({"grants": {"threads": [{"id": "t", "actions": actions}]}});
        let minted = send(&it, &it.tenant, "/v1/tokens", &grants).await.ok().json();
        minted["token"].as_str().unwrap().to_owned()
    };
    let reads = mint(json!(["read"])).await;
    send(&it, &reads, UPDATE, &copy()).await.assert_problem(403, "not_granted");
    send(&it, &it.bob, UPDATE, &copy()).await.assert_problem(404, "thread_not_found");
    assert_eq!(count(&it).await, before);
    let appends = mint(json!(["read", "append"])).await;
    send(&it, &appends, UPDATE, &copy()).await.ok();
}
