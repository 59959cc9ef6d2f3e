//! Tests states and histories on the wire of the LangGraph Agent Server, over a real engine.

use serde_json::{Value, json};

use crate::drive_world::World;
use crate::server::{Answer, JSON};
use crate::wire::{COMMIT, base64};

const FIRST: &str = "1ef4f797-8335-6428-8000-8a1503f9b875";
const SECOND: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
/// `ask` at step 2 of the second, and its subgraph's checkpoint.
const ASK: &str = "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2";
const INNER: &str = "1ef4f797-8335-6428-8002-8a1503f9b875";

fn msgpack(value: &Value) -> Value {
    base64(&rmp_serde::to_vec_named(value).unwrap())
}

fn value(channel: &str, tag: &str, data: Value) -> Value {
    json!({"channel": channel, "version": "2.0", "tag": tag, "data": data})
}

fn checkpoint(id: &str, parent: Option<&str>, step: i64, values: &[Value]) -> Value {
    let names = values.iter().map(|it| (it["channel"].as_str().unwrap().to_owned(), json!("2.0")));
    let versions: serde_json::Map<String, Value> = names.collect();
    json!({"checkpoint": {
        "checkpoint_id": id, "parent_checkpoint_id": parent,
        "metadata": {"source": "loop", "step": step, "parents": {}, "thread_id": "another"},
        "skeleton": {"v": 4, "ts": format!("2026-01-31T12:00:0{step}+00:00"), "versions_seen": {}, "channel_versions": versions},
        "values": values
    }})
}

/// Ann's thread `t`, whose graph waits for an answer in a subgraph, and the thread `empty`.
pub async fn world() -> World {
    let it = World::new().await;
    let first = checkpoint(FIRST, None, 0, &[value("title", "msgpack", msgpack(&json!("one")))]);
    let second = checkpoint(
        SECOND,
        Some(FIRST),
        1,
        &[
            value("branch:to:ask", "null", base64(b"")),
            value("title", "msgpack", msgpack(&json!("two"))),
            value("secret", "msgpack+aes", base64(b"sealed")),
        ],
    );
    let asks = msgpack(&json!([{"value": "q", "id": "i"}]));
    let write = json!({"idx": -3, "channel": "__interrupt__", "tag": "msgpack", "data": asks});
    let writes = json!({"writes": {"checkpoint_id": SECOND, "task_id": ASK, "writes": [write]}});
    let mut inner = checkpoint(INNER, None, 0, &[value("x", "msgpack", msgpack(&json!(1)))]);
    inner["checkpoint"]["checkpoint_ns"] = json!(format!("ask:{ASK}"));
    inner["checkpoint"]["metadata"]["parents"] = json!({"": SECOND});
    let body = json!({"thread_id": "t", "ops": [first, second, writes, inner]});
    post(&it, COMMIT, &body).await.ok();
    post(&it, "/v1/threads/create", &json!({"thread_id": "empty"})).await.ok();
    it
}

async fn post(it: &World, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    it.server.send("POST", path, &headers, body.to_string().into_bytes()).await
}

async fn get(it: &World, path: &str) -> Answer {
    it.get(&it.ann, path).await
}

fn shown_second() -> Value {
    let interrupt = json!({"id": "i", "value": "q"});
    let sealed = json!({"$opaque": {"codec": "msgpack+aes", "size_bytes": 6, "reason": "it was encrypted by its client"}});
    json!({
        "values": {"title": "two", "secret": sealed},
        "next": ["ask"],
        "tasks": [{
            "id": ASK, "name": "ask", "path": ["__pregel_pull", "ask"], "error": null, "interrupts": [interrupt],
            "checkpoint": {"thread_id": "t", "checkpoint_ns": format!("ask:{ASK}")}, "state": null, "result": null
        }],
        "metadata": {"source": "loop", "step": 1, "parents": {}, "thread_id": "t"},
        "created_at": "2026-01-31T12:00:01+00:00",
        "checkpoint": {"checkpoint_id": SECOND, "thread_id": "t", "checkpoint_ns": ""},
        "parent_checkpoint": {"checkpoint_id": FIRST, "thread_id": "t", "checkpoint_ns": ""},
        "interrupts": [interrupt],
        "checkpoint_id": SECOND, "parent_checkpoint_id": FIRST
    })
}

fn empty() -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "metadata": null, "created_at": null, "checkpoint": null,
        "parent_checkpoint": null, "interrupts": [], "checkpoint_id": null, "parent_checkpoint_id": null
    })
}

fn ids(list: &Answer) -> Vec<String> {
    let all = list.json();
    let all = all.as_array().unwrap().iter();
    all.map(|it| it["checkpoint_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_state_has_every_field_in_the_order_that_clients_know() {
    let it = world().await;
    let answer = get(&it, "/threads/t/state").await.ok();
    assert_eq!(answer.json(), shown_second());
    let text = String::from_utf8(answer.body).unwrap();
    let names = [
        "values",
        "next",
        "tasks",
        "metadata",
        "created_at",
        "checkpoint",
        "parent_checkpoint",
        "interrupts",
        "checkpoint_id",
        "parent_checkpoint_id",
    ];
    let at = |name: &&str| text.rfind(&format!("\"{name}\":")).unwrap();
    let places: Vec<usize> = names.iter().map(at).collect();
    assert!(text.starts_with("{\"values\":") && places[2..].is_sorted(), "{text}");
}

#[tokio::test]
async fn a_state_is_found_by_its_checkpoint_in_every_form() {
    let it = world().await;
    let shown = shown_second();
    let by_path = format!("/threads/t/state/{SECOND}");
    assert_eq!(get(&it, &by_path).await.ok().json(), shown);
    for checkpoint in [
        json!({}),
        json!({"thread_id": "other", "checkpoint_ns": "", "checkpoint_id": SECOND}),
        json!({"checkpoint_ns": null, "checkpoint_id": null, "checkpoint_map": null}),
        json!({"checkpoint_map": {"": SECOND, "x": null}}),
    ] {
        let body = json!({"checkpoint": checkpoint, "subgraphs": null, "select": null});
        let found = post(&it, "/threads/t/state/checkpoint", &body).await.ok();
        assert_eq!(found.json(), shown, "{body}");
    }
    let first = json!({"checkpoint": {"checkpoint_map": {"": FIRST}}});
    let found = post(&it, "/threads/t/state/checkpoint", &first).await.ok().json();
    assert_eq!(
        (&found["checkpoint_id"], &found["values"]),
        (&json!(FIRST), &json!({"title": "one"}))
    );
}

#[tokio::test]
async fn without_a_checkpoint_the_state_is_empty_and_without_a_thread_there_is_none() {
    let it = world().await;
    for path in ["/threads/empty/state", "/threads/t/state/unknown", "/threads/empty/state/1"] {
        assert_eq!(get(&it, path).await.ok().json(), empty(), "{path}");
    }
    let body = json!({"checkpoint": {"checkpoint_ns": "nowhere"}});
    assert_eq!(post(&it, "/threads/t/state/checkpoint", &body).await.ok().json(), empty());
    assert_eq!(get(&it, "/threads/empty/history").await.ok().json(), json!([]));
    for path in ["/threads/none/state", "/threads/none/state/1", "/threads/none/history"] {
        let answer = get(&it, path).await;
        answer.assert_problem(404, "thread_not_found");
        assert_eq!(answer.json()["detail"], "Thread with ID none not found");
    }
    for path in ["/threads/t/state", "/threads/t/history"] {
        it.get(&it.bob, path).await.assert_problem(404, "thread_not_found");
    }
}

#[tokio::test]
async fn subgraphs_stand_in_their_tasks_on_request() {
    let it = world().await;
    let answer = get(&it, "/threads/t/state?subgraphs=True").await.ok().json();
    let task = &answer["tasks"][0];
    assert_eq!(task["checkpoint"], Value::Null);
    let inner = &task["state"];
    let ns = format!("ask:{ASK}");
    assert_eq!(inner["values"], json!({"x": 1}));
    assert_eq!(
        inner["checkpoint"],
        json!({"checkpoint_id": INNER, "thread_id": "t", "checkpoint_ns": ns, "checkpoint_map": {"": SECOND, &ns: INNER}})
    );
    let body = json!({"checkpoint": {"checkpoint_ns": ns}});
    let alone = post(&it, "/threads/t/state/checkpoint", &body).await.ok().json();
    assert_eq!(&alone, inner);
    let history = post(&it, "/threads/t/history", &body).await.ok().json();
    assert_eq!(history, json!([alone]));
}

#[tokio::test]
async fn only_what_is_selected_is_answered() {
    let it = world().await;
    let selected = json!({"values": {"title": "two"}, "next": ["ask"]});
    for query in [
        "select=values.title,next",
        "select=values.title&select=next",
        "select=%5B%22values.title%22,%22next%22%5D",
    ] {
        assert_eq!(
            get(&it, &format!("/threads/t/state?{query}")).await.ok().json(),
            selected,
            "{query}"
        );
    }
    let body = json!({"checkpoint": {}, "select": ["values.title", "next"], "limit": 1});
    assert_eq!(post(&it, "/threads/t/state/checkpoint", &body).await.ok().json(), selected);
    assert_eq!(post(&it, "/threads/t/history", &body).await.ok().json(), json!([selected]));
    assert_eq!(
        get(&it, "/threads/empty/state?select=checkpoint").await.ok().json(),
        json!({"checkpoint": null})
    );
    let all = json!({"checkpoint": {}, "select": []});
    assert_eq!(post(&it, "/threads/t/state/checkpoint", &all).await.ok().json(), shown_second());
}

#[tokio::test]
async fn a_history_is_newest_first_and_as_long_as_asked() {
    let it = world().await;
    let both = get(&it, "/threads/t/history").await.ok();
    assert_eq!(ids(&both), [SECOND, FIRST]);
    assert_eq!(both.json()[0], shown_second());
    assert_eq!(ids(&post(&it, "/threads/t/history", &json!({})).await.ok()), [SECOND]);
    assert_eq!(ids(&get(&it, "/threads/t/history?limit=1").await.ok()), [SECOND]);
    let step = json!({"limit": 10, "metadata": {"step": 0}});
    assert_eq!(ids(&post(&it, "/threads/t/history", &step).await.ok()), [FIRST]);
    let one = json!({"limit": 10, "checkpoint": {"checkpoint_id": FIRST}});
    assert_eq!(ids(&post(&it, "/threads/t/history", &one).await.ok()), [FIRST]);
    let none = json!({"limit": 10, "metadata": {"step": "0"}});
    assert_eq!(post(&it, "/threads/t/history", &none).await.ok().json(), json!([]));
}

#[tokio::test]
async fn before_comes_in_four_forms() {
    let it = world().await;
    for before in [
        json!(SECOND),
        json!({"checkpoint_id": SECOND}),
        json!({"configurable": {"checkpoint_id": SECOND, "x": [1]}}),
        json!({"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": SECOND, "checkpoint_map": {"": SECOND}}),
    ] {
        let body = json!({"limit": 10, "before": before});
        assert_eq!(ids(&post(&it, "/threads/t/history", &body).await.ok()), [FIRST], "{before}");
    }
    for before in [json!(null), json!({}), json!({"configurable": null})] {
        let body = json!({"limit": 10, "before": before});
        assert_eq!(
            ids(&post(&it, "/threads/t/history", &body).await.ok()),
            [SECOND, FIRST],
            "{before}"
        );
    }
    assert_eq!(ids(&get(&it, &format!("/threads/t/history?before={SECOND}")).await.ok()), [FIRST]);
}

#[tokio::test]
async fn bad_input_is_named() {
    let it = world().await;
    let long = "x".repeat(600);
    for (body, field) in [
        (json!({}), "checkpoint"),
        (json!({"checkpoint": null}), "checkpoint"),
        (json!({"checkpoint": []}), "checkpoint"),
        (json!({"checkpoint": {"checkpoint_id": ""}}), "checkpoint.checkpoint_id"),
        (json!({"checkpoint": {"checkpoint_id": 1}}), "checkpoint.checkpoint_id"),
        (json!({"checkpoint": {"checkpoint_ns": long}}), "checkpoint_ns"),
        (json!({"checkpoint": {"checkpoint_ns": "a\0"}}), "checkpoint_ns"),
        (json!({"checkpoint": {}, "subgraphs": "yes"}), "subgraphs"),
        (json!({"checkpoint": {}, "select": ["nothing"]}), "select"),
        (json!({"checkpoint": {}, "select": "values"}), "select"),
    ] {
        let answer = post(&it, "/threads/t/state/checkpoint", &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{body}");
    }
    for (body, field) in [
        (json!({"limit": 0}), "limit"),
        (json!({"limit": -1}), "limit"),
        (json!({"limit": 1_001}), "limit"),
        (json!({"limit": "ten"}), "limit"),
        (json!({"limit": 1.5}), "limit"),
        (json!({"before": 1}), "before"),
        (json!({"before": ""}), "before.checkpoint_id"),
        (json!({"before": {"checkpoint_id": 1}}), "before.checkpoint_id"),
        (json!({"metadata": []}), "metadata"),
        (json!({"metadata": "text"}), "metadata"),
        (json!({"checkpoint": {"checkpoint_id": ""}}), "checkpoint.checkpoint_id"),
        (json!({"select": ["tasks.0"]}), "select"),
    ] {
        let answer = post(&it, "/threads/t/history", &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{body}");
    }
    for (path, field) in [
        ("/threads/t/history?limit=abc", "limit"),
        ("/threads/t/history?limit=0", "limit"),
        ("/threads/t/history?limit=1001", "limit"),
        ("/threads/t/history?select=x", "select"),
        ("/threads/t/state?subgraphs=2", "subgraphs"),
        ("/threads/t/state?select=%5B1%5D", "select"),
        (&*format!("/threads/t/state/{long}"), "checkpoint_id"),
    ] {
        let answer = get(&it, path).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{path}");
    }
    let answer = get(&it, "/threads/t/history?limit=abc").await;
    assert_eq!(answer.json()["detail"], "Invalid limit abc");
}

#[tokio::test]
async fn a_long_history_is_whole_and_as_each_state_alone() {
    let it = World::new().await;
    let text = "x".repeat(40_000);
    let mut parent: Option<String> = None;
    for step in 0..60 {
        let id = format!("1ef4f797-8335-6428-8{step:03}-8a1503f9b875");
        let values = [value("text", "msgpack", msgpack(&json!(format!("{step} {text}"))))];
        let op = checkpoint(&id, parent.as_deref(), step % 10, &values);
        post(&it, COMMIT, &json!({"thread_id": "t", "ops": [op]})).await.ok();
        parent = Some(id);
    }
    let all = get(&it, "/threads/t/history?limit=1000").await.ok().json();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 60);
    for state in all.iter().step_by(7) {
        let id = state["checkpoint_id"].as_str().unwrap();
        assert_eq!(&get(&it, &format!("/threads/t/state/{id}")).await.ok().json(), state);
    }
}
