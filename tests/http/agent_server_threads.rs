//! Tests threads on the wire of the LangGraph Agent Server, over a real engine.

use serde_json::{Value, json};
use threadkeep::domain::clock::Clock;

use crate::drive_world::World;
use crate::server::{Answer, JSON};
use crate::wire::{COMMIT, base64};

const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
/// `ask` at step 2 of that checkpoint.
const ASK: &str = "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2";
const UUID: &str = "01a1fd27-88d5-7136-a8f3-1c19969e5021";

async fn send(it: &World, who: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", who), ("content-type", JSON)];
    it.server.send(method, path, &headers, body.to_string().into_bytes()).await
}

async fn post(it: &World, path: &str, body: Value) -> Answer {
    send(it, &it.ann, "POST", path, &body).await
}

async fn get(it: &World, path: &str) -> Answer {
    it.get(&it.ann, path).await
}

fn msgpack(value: &Value) -> Value {
    base64(&rmp_serde::to_vec_named(value).unwrap())
}

/// A checkpoint with these values; where it waits, `ask` has asked.
async fn put(it: &World, thread: &str, values: &Value, waits: bool) {
    let value = |channel: &str, tag: &str, data: Value| json!({"channel": channel, "version": "2.0", "tag": tag, "data": data});
    let all = values.as_object().unwrap().iter();
    let mut stored: Vec<Value> =
        all.map(|(name, it)| value(name, "msgpack", msgpack(it))).collect();
    if waits {
        stored.push(value("branch:to:ask", "null", base64(b"")));
    }
    let names = stored.iter().map(|it| (it["channel"].as_str().unwrap().to_owned(), json!("2.0")));
    let versions: serde_json::Map<String, Value> = names.collect();
    let checkpoint = json!({"checkpoint": {
        "checkpoint_id": ID, "metadata": {"source": "loop", "step": 1, "parents": {}, "graph_id": "agent"},
        "skeleton": {"v": 4, "ts": "2026-01-31T12:00:09+00:00", "versions_seen": {}, "channel_versions": versions},
        "values": stored
    }});
    let write = json!({"idx": -3, "channel": "__interrupt__", "tag": "msgpack", "data": msgpack(&json!([{"value": "q", "id": "i"}]))});
    let writes = json!({"writes": {"checkpoint_id": ID, "task_id": ASK, "writes": [write]}});
    let ops = if waits { json!([checkpoint, writes]) } else { json!([checkpoint]) };
    post(it, COMMIT, json!({"thread_id": thread, "ops": ops})).await.ok();
}

fn ids(found: &Answer) -> Vec<String> {
    let all = found.json();
    let all = all.as_array().unwrap().iter();
    all.map(|it| it["thread_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_thread_is_made_found_changed_and_deleted() {
    let it = World::new().await;
    let body = json!({"thread_id": "t", "metadata": {"a": 1.0, "big": null}});
    let made = post(&it, "/threads", body.clone()).await.ok();
    let thread = made.json();
    assert_eq!(thread["metadata"], json!({"a": 1.0, "big": null}));
    assert_eq!((&thread["status"], &thread["values"]), (&json!("idle"), &Value::Null));
    assert_eq!((&thread["config"], &thread["interrupts"]), (&json!({}), &json!({})));
    assert_eq!(thread["error"], Value::Null);
    for time in ["created_at", "updated_at", "state_updated_at"] {
        let text = thread[time].as_str().unwrap();
        assert!(text.ends_with("+00:00") && text.len() == 32, "{text}");
    }
    let text = String::from_utf8(made.body).unwrap();
    assert!(text.contains(r#""a":1.0"#), "{text}");
    let again = post(&it, "/threads", body.clone()).await;
    again.assert_problem(409, "thread_exists");
    assert_eq!(again.json()["detail"], "Thread with ID t already exists");
    let kept = json!({"thread_id": "t", "metadata": {"other": 1}, "if_exists": "do_nothing"});
    assert_eq!(post(&it, "/threads", kept).await.ok().json(), thread);
    assert_eq!(get(&it, "/threads/t?include=ttl").await.ok().json(), thread);
    let change = json!({"metadata": {"b": {"c": [1]}, "a": null}});
    let changed = send(&it, &it.ann, "PATCH", "/threads/t", &change).await.ok().json();
    assert_eq!(changed["metadata"], json!({"a": null, "big": null, "b": {"c": [1]}}));
    let same = send(&it, &it.ann, "PATCH", "/threads/t", &json!({})).await.ok().json();
    assert_eq!(same["metadata"], changed["metadata"]);
    assert!(same["updated_at"].as_str() > changed["updated_at"].as_str());
    let headers = [("x-api-key", it.ann.as_str()), ("prefer", "return=minimal")];
    let minimal = it.server.send("PATCH", "/threads/t", &headers, b"{}".to_vec()).await;
    assert_eq!((minimal.status, minimal.body.len()), (204, 0));
    assert_eq!(send(&it, &it.ann, "DELETE", "/threads/t", &Value::Null).await.status, 204);
    let gone = send(&it, &it.ann, "DELETE", "/threads/t", &Value::Null).await;
    gone.assert_problem(404, "thread_not_found");
    get(&it, "/threads/t").await.assert_problem(404, "thread_not_found");
    let absent = send(&it, &it.ann, "PATCH", "/threads/t", &json!({})).await;
    absent.assert_problem(404, "thread_not_found");
    assert_eq!(absent.json()["detail"], "Thread with ID t not found");
}

#[tokio::test]
async fn a_new_thread_gets_a_uuid_and_uuids_have_one_spelling() {
    let it = World::new().await;
    let headers = [("x-api-key", it.ann.as_str())];
    for body in [
        "",
        "{}",
        r#"{"thread_id":null,"metadata":null,"if_exists":null,"ttl":null,"supersteps":null}"#,
    ] {
        let made = it.server.send("POST", "/threads", &headers, body.into()).await.ok().json();
        let id = made["thread_id"].as_str().unwrap();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'7', "{id}");
    }
    let capitals = json!({"thread_id": UUID.to_uppercase()});
    assert_eq!(post(&it, "/threads", capitals).await.ok().json()["thread_id"], UUID);
    let bare = json!({"thread_id": UUID.replace('-', "")});
    post(&it, "/threads", bare).await.assert_problem(409, "thread_exists");
}

#[tokio::test]
async fn names_of_operations_are_threads_for_other_methods() {
    let it = World::new().await;
    for name in ["search", "count", "prune"] {
        post(&it, "/threads", json!({"thread_id": name})).await.ok();
        let path = format!("/threads/{name}");
        assert_eq!(get(&it, &path).await.ok().json()["thread_id"], name);
        send(&it, &it.ann, "PATCH", &path, &json!({"metadata": {"a": 1}})).await.ok();
        assert_eq!(send(&it, &it.ann, "DELETE", &path, &Value::Null).await.status, 204);
    }
    let answer = get(&it, "/threads").await;
    answer.assert_problem(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("POST"));
}

#[tokio::test]
async fn a_thread_shows_its_newest_state() {
    let it = World::new().await;
    put(&it, "t", &json!({"title": "hello"}), true).await;
    let thread = get(&it, "/threads/t").await.ok().json();
    assert_eq!(thread["values"], json!({"title": "hello"}));
    assert_eq!(thread["status"], "interrupted");
    assert_eq!(thread["interrupts"], json!({ASK: [{"id": "i", "value": "q"}]}));
    assert_eq!(thread["config"], json!({"configurable": {}}));
    assert_eq!(thread["metadata"], json!({"graph_id": "agent"}));
    let lease = json!({"thread_id": "t", "holder": "h", "ttl_seconds": 60});
    post(&it, "/v1/threads/lease/acquire", lease).await.ok();
    assert_eq!(get(&it, "/threads/t").await.ok().json()["status"], "busy");
    let held = send(&it, &it.ann, "DELETE", "/threads/t", &Value::Null).await;
    held.assert_problem(409, "lease_held");
}

#[tokio::test]
async fn a_copy_has_all_of_it_under_a_new_id() {
    let it = World::new().await;
    put(&it, "t", &json!({"title": "hello"}), true).await;
    let metadata = json!({"metadata": {"customer": "acme"}});
    send(&it, &it.ann, "PATCH", "/threads/t", &metadata).await.ok();
    let headers = [("x-api-key", it.ann.as_str())];
    let copy = it.server.send("POST", "/threads/t/copy", &headers, vec![]).await.ok().json();
    let id = copy["thread_id"].as_str().unwrap().to_owned();
    assert_ne!(id, "t");
    assert_eq!(copy["values"], json!({"title": "hello"}));
    assert_eq!(copy["metadata"], json!({"graph_id": "agent", "customer": "acme"}));
    let state = get(&it, &format!("/threads/{id}/state")).await.ok().json();
    assert_eq!(
        state["checkpoint"],
        json!({"checkpoint_id": ID, "thread_id": id, "checkpoint_ns": ""})
    );
    post(&it, "/threads", json!({"thread_id": "empty", "metadata": {"a": 1}})).await.ok();
    let copy = it.server.send("POST", "/threads/empty/copy", &headers, vec![]).await.ok().json();
    assert_eq!(copy["metadata"], json!({"a": 1}));
    for path in ["/threads/none/copy", "/threads/t/copy"] {
        let who = if path.contains("none") { &it.ann } else { &it.bob };
        send(&it, who, "POST", path, &Value::Null).await.assert_problem(409, "thread_absent");
    }
}

#[tokio::test]
async fn many_threads_are_pruned_at_once() {
    let it = World::new().await;
    for thread in ["a", "b", "c"] {
        put(&it, thread, &json!({"n": 1}), false).await;
    }
    let prune =
        async |who: &str, body: Value| send(&it, who, "POST", "/threads/prune", &body).await;
    let none = prune(&it.tenant, json!({"thread_ids": []})).await.ok().json();
    assert_eq!(none, json!({"pruned_count": 0}));
    let latest = json!({"thread_ids": ["a", "a", "none"], "strategy": "keep_latest"});
    assert_eq!(prune(&it.tenant, latest).await.ok().json(), json!({"pruned_count": 1}));
    get(&it, "/threads/a").await.ok();
    for (who, ids) in [(&it.bob, json!(["a"])), (&it.ann, json!(["a", "none"]))] {
        let refused = prune(who, json!({"thread_ids": ids})).await;
        refused.assert_problem(404, "thread_not_found");
    }
    let deleted = prune(&it.ann, json!({"thread_ids": ["a", "b"]})).await.ok().json();
    assert_eq!(deleted, json!({"pruned_count": 2}));
    let gone = prune(&it.tenant, json!({"thread_ids": ["a", "c"], "strategy": null})).await;
    assert_eq!(gone.ok().json(), json!({"pruned_count": 1}));
    let found = post(&it, "/threads/search", json!({})).await.ok();
    assert_eq!(ids(&found), [""; 0]);
}

#[tokio::test]
async fn a_search_finds_by_what_threads_say_and_sorts_them() {
    let it = World::new().await;
    for (thread, metadata) in [
        ("a", json!({"n": 1, "o": {"x": 1, "y": 2}, "l": [1, 2]})),
        ("b", json!({"n": "1", "l": [1]})),
        ("c", json!({"n": true, "z": null})),
    ] {
        post(&it, "/threads", json!({"thread_id": thread, "metadata": metadata})).await.ok();
    }
    // Commits have the time of the server, creations that of the database.
    it.clock.advance(Clock::System.now() - it.clock.now());
    put(&it, "b", &json!({"title": "waits"}), true).await;
    let find = async |body: Value| ids(&post(&it, "/threads/search", body).await.ok());
    assert_eq!(find(json!({})).await, ["b", "c", "a"]);
    for (body, expected) in [
        (json!({"metadata": {"n": 1}}), vec!["a"]),
        (json!({"metadata": {"n": 1.0}}), vec!["a"]),
        (json!({"metadata": {"n": "1"}}), vec!["b"]),
        (json!({"metadata": {"n": true}}), vec!["c"]),
        (json!({"metadata": {"o": {"x": 1}}}), vec!["a"]),
        (json!({"metadata": {"l": [1]}}), vec!["b"]),
        (json!({"metadata": {"z": null}}), vec!["c"]),
        (json!({"metadata": {"graph_id": "agent"}}), vec!["b"]),
        (json!({"values": {"title": "waits"}}), vec!["b"]),
        (json!({"values": {"title": "wait"}}), vec![]),
        (json!({"values": {"title": "waits"}, "metadata": {"n": 1}}), vec![]),
        (json!({"values": {"absent": null}}), vec![]),
        (json!({"status": "interrupted"}), vec!["b"]),
        (json!({"status": "idle", "sort_by": "thread_id", "sort_order": "asc"}), vec!["a", "c"]),
        (json!({"status": "busy"}), vec![]),
        (json!({"ids": ["a", "none"]}), vec!["a"]),
        (json!({"ids": [], "metadata": {}, "values": {}, "select": []}), vec!["b", "c", "a"]),
        (json!({"sort_by": "created_at", "sort_order": "asc"}), vec!["a", "b", "c"]),
        (json!({"sort_by": "status", "sort_order": "desc"}), vec!["b", "c", "a"]),
        (json!({"sort_by": "state_updated_at", "limit": 1}), vec!["b"]),
        (json!({"sort_by": "thread_id", "offset": 1}), vec!["b", "a"]),
        (json!({"created_after": "2100-01-01T00:00:00Z"}), vec![]),
        (json!({"updated_before": "2100-01-01T00:00:00+00:00"}), vec!["b", "c", "a"]),
        (
            json!({"metadata": null, "status": null, "ids": null, "limit": null, "sort_by": null}),
            vec!["b", "c", "a"],
        ),
    ] {
        assert_eq!(find(body.clone()).await, expected, "{body}");
        let mut conditions = body.clone();
        for name in ["sort_by", "sort_order", "limit", "offset", "select"] {
            conditions.as_object_mut().unwrap().remove(name);
        }
        let count = post(&it, "/threads/count", conditions).await.ok().json();
        let is_page =
            body.get("limit").is_some_and(Value::is_number) || body.get("offset").is_some();
        assert!(is_page || count == json!(expected.len()), "{body}: {count}");
    }
    let of_bob = send(&it, &it.bob, "POST", "/threads/search", &json!({})).await.ok();
    assert_eq!(ids(&of_bob), [""; 0]);
}

#[tokio::test]
async fn a_page_says_whether_there_are_more() {
    let it = World::new().await;
    for at in 0..5 {
        post(&it, "/threads", json!({"thread_id": format!("t{at}")})).await.ok();
    }
    for (body, total, next) in [
        (json!({"limit": 2}), "3", Some("2")),
        (json!({"limit": 2, "offset": 2}), "5", Some("4")),
        (json!({"limit": 2, "offset": 4}), "5", None),
        (json!({"limit": 5}), "5", None),
        (json!({"offset": 9}), "9", None),
    ] {
        let found = post(&it, "/threads/search", body.clone()).await.ok();
        assert_eq!(found.header("x-pagination-total"), Some(total), "{body}");
        assert_eq!(found.header("x-pagination-next"), next, "{body}");
    }
}

#[tokio::test]
async fn only_what_is_selected_and_extracted_is_answered() {
    let it = World::new().await;
    let messages = json!([{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello"}]);
    put(&it, "t", &json!({"messages": messages}), true).await;
    let body = json!({
        "select": ["thread_id", "status", "context"],
        "extract": {"last": "values.messages[-1].content", "graph": "metadata.graph_id", "none": "values.x[3]", "asks": "interrupts"}
    });
    let found = post(&it, "/threads/search", body).await.ok().json();
    let extracted = json!({"last": "hello", "graph": "agent", "none": null, "asks": {ASK: [{"id": "i", "value": "q"}]}});
    let expected =
        json!({"thread_id": "t", "status": "interrupted", "context": {}, "extracted": extracted});
    assert_eq!(found, json!([expected]));
}

#[tokio::test]
async fn large_values_come_as_a_preview_in_lists() {
    let it = World::new().await;
    let long = "x".repeat(100_000);
    let message = |kind: &str| json!({"type": kind, "content": long});
    let messages: Vec<Value> = (0..9).map(|at| message(["human", "ai", "tool"][at % 3])).collect();
    put(&it, "t", &json!({"messages": messages, "files": long, "todos": ["a"]}), false).await;
    let found = post(&it, "/threads/search", json!({})).await.ok().json();
    let row = &found[0];
    assert_eq!((&row["values_preview"], &row["values"]["todos"]), (&json!(true), &json!(["a"])));
    assert_eq!(row["values"]["messages"].as_array().unwrap().len(), 6);
    assert!(row["values"].get("files").is_none());
    let whole = get(&it, "/threads/t").await.ok().json();
    assert_eq!(whole["values"]["messages"].as_array().unwrap().len(), 9);
    assert!(whole.get("values_preview").is_none());
}

#[tokio::test]
async fn sizes_of_a_thread_are_told_by_channel() {
    let it = World::new().await;
    put(&it, "t", &json!({"title": "hello"}), true).await;
    let sizes = get(&it, "/threads/t/storage").await.ok().json();
    assert_eq!((&sizes["thread_id"], &sizes["checkpoints"]["count"]), (&json!("t"), &json!(1)));
    assert_eq!(sizes["channel_values"]["by_channel"]["title"], json!({"versions": 1, "bytes": 6}));
    assert_eq!(sizes["pending_writes"]["count"], 1);
    let part = |name: &str| sizes[name]["bytes"].as_u64().unwrap();
    let parts = part("checkpoints") + part("channel_values") + part("pending_writes");
    assert_eq!(sizes["total_bytes"], parts);
    assert!(part("pending_writes") > 0 && part("checkpoints") > 0);
    get(&it, "/threads/none/storage").await.assert_problem(404, "thread_not_found");
}

#[tokio::test]
async fn bad_input_is_named() {
    let it = World::new().await;
    let long = "x".repeat(513);
    let large = json!({"a": "x".repeat(65_537)});
    for (body, status, field) in [
        (json!({"thread_id": ""}), 422, "thread_id"),
        (json!({"thread_id": long}), 422, "thread_id"),
        (json!({"thread_id": "a\0"}), 422, "thread_id"),
        (json!({"thread_id": 1}), 422, "thread_id"),
        (json!({"metadata": []}), 422, "metadata"),
        (json!({"metadata": "text"}), 422, "metadata"),
        (json!({"metadata": large}), 413, "metadata"),
        (json!({"if_exists": "maybe"}), 422, "if_exists"),
        (json!({"ttl": {"ttl": 0}}), 422, "ttl"),
        (json!({"ttl": {"ttl": 1e300}}), 422, "ttl"),
        (json!({"ttl": {"ttl": "1"}}), 422, "ttl.ttl"),
        (json!({"ttl": {"ttl": 1, "strategy": "archive"}}), 422, "ttl.strategy"),
        (json!({"supersteps": [{"updates": []}]}), 422, ""),
    ] {
        let answer = post(&it, "/threads", body.clone()).await;
        assert_eq!((answer.status, answer.field()), (status, field.to_owned()), "{body}");
    }
    assert_eq!(post(&it, "/threads/count", json!({})).await.ok().json(), 0, "nothing was made");
    post(&it, "/threads", json!({"supersteps": [1]})).await.assert_problem(422, "needs_graph");
    post(&it, "/threads", json!({"thread_id": "t", "supersteps": []})).await.ok();
    for (body, status, field) in [
        (json!({"metadata": 1}), 422, "metadata"),
        (json!({"metadata": large}), 413, "metadata"),
        (json!({"ttl": 1}), 422, "ttl"),
        (json!([]), 422, "body"),
    ] {
        let answer = send(&it, &it.ann, "PATCH", "/threads/t", &body).await;
        assert_eq!((answer.status, answer.field()), (status, field.to_owned()), "{body}");
    }
    let aliases: serde_json::Map<String, Value> =
        (0..11).map(|at| (at.to_string(), json!("values"))).collect();
    for (body, status, field) in [
        (json!({"limit": 0}), 422, "limit"),
        (json!({"limit": -1}), 422, "limit"),
        (json!({"limit": 1_001}), 422, "limit"),
        (json!({"limit": "ten"}), 422, "limit"),
        (json!({"offset": -1}), 422, "offset"),
        (json!({"offset": 1_000_001}), 422, "offset"),
        (json!({"sort_by": "name"}), 422, "sort_by"),
        (json!({"sort_order": "up"}), 422, "sort_order"),
        (json!({"status": "asleep"}), 422, "status"),
        (json!({"select": ["nothing"]}), 422, "select"),
        (json!({"extract": {"a": "bogus.x"}}), 422, "extract"),
        (json!({"extract": {"a": "values[x]"}}), 422, "extract"),
        (json!({"extract": aliases}), 422, "extract"),
        (json!({"ids": [""]}), 400, "ids"),
        (json!({"ids": [long]}), 400, "ids"),
        (json!({"ids": "t"}), 422, "ids"),
        (json!({"metadata": []}), 422, "metadata"),
        (json!({"values": []}), 422, "values"),
        (json!({"values": "text"}), 422, "values"),
        (json!({"values": large}), 413, "values"),
        (json!({"created_after": "yesterday"}), 422, "created_after"),
    ] {
        let answer = post(&it, "/threads/search", body.clone()).await;
        assert_eq!((answer.status, answer.field()), (status, field.to_owned()), "{body}");
    }
    for (body, field) in [
        (json!({}), "thread_ids"),
        (json!({"thread_ids": [""]}), "thread_ids.thread_id"),
        (json!({"thread_ids": vec!["t"; 1_001]}), "thread_ids"),
        (json!({"thread_ids": ["t"], "strategy": "all"}), "strategy"),
    ] {
        let answer = post(&it, "/threads/prune", body.clone()).await;
        assert_eq!((answer.status, answer.field()), (422, field.to_owned()), "{body}");
    }
    get(&it, "/threads/t?include=nothing").await.assert_problem(422, "invalid");
}
