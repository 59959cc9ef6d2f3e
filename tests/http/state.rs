//! Tests states and values in plain JSON, through the router.

use serde_json::{Value, json};

use crate::server::{DOCUMENT, MSGPACK, Server};
use crate::wire::{COMMIT, base64};

const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
/// `ask` at step 2 of that checkpoint.
const ASK: &str = "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2";
const STATE: &str = "/v1/state?thread_id=t%2F1";
const VALUES: &str = "/v1/checkpoints/values?thread_id=t%2F1";

fn msgpack(value: &Value) -> Value {
    base64(&rmp_serde::to_vec_named(value).unwrap())
}

/// A thread whose graph waits for an answer.
async fn server() -> Server {
    let server = Server::keyless().await;
    let value = |channel: &str, tag: &str, data: Value| json!({"channel": channel, "version": "2.0", "tag": tag, "data": data});
    let checkpoint = json!({"checkpoint": {
        "checkpoint_id": ID, "metadata": {"source": "loop", "step": 1, "parents": {}},
        "skeleton": {"v": 4, "ts": "2026-01-31T12:00:09+00:00", "versions_seen": {},
            "channel_versions": {"branch:to:ask": "2.0", "title": "2.0", "secret": "2.0"}},
        "values": [
            value("branch:to:ask", "null", base64(b"")),
            value("title", "msgpack", msgpack(&json!("hello"))),
            value("secret", "msgpack+aes", base64(b"sealed")),
        ]
    }});
    let write = json!({"idx": -3, "channel": "__interrupt__", "tag": "msgpack", "data": msgpack(&json!([{"value": "q", "id": "i"}]))});
    let writes = json!({"writes": {"checkpoint_id": ID, "task_id": ASK, "writes": [write]}});
    server.post(COMMIT, &json!({"thread_id": "t/1", "ops": [checkpoint, writes]})).await.ok();
    server
}

fn sealed() -> Value {
    json!({"$opaque": {"codec": "msgpack+aes", "size_bytes": 6, "reason": "it was encrypted by its client"}})
}

#[tokio::test]
async fn a_state_is_plain_json() {
    let server = server().await;
    let interrupt = json!({"id": "i", "value": "q"});
    let expected = json!({"state": {
        "thread_id": "t/1", "checkpoint_ns": "", "checkpoint_id": ID,
        "created_at": "2026-01-31T12:00:09+00:00",
        "metadata": {"source": "loop", "step": 1, "parents": {}},
        "values": {"title": "hello", "secret": sealed()},
        "next": ["ask"],
        "tasks": [{"id": ASK, "name": "ask", "path": ["__pregel_pull", "ask"], "interrupts": [interrupt]}],
        "interrupts": [interrupt],
        "writes": [{"task_id": ASK, "channel": "__interrupt__", "tag": "msgpack", "value": [{"value": "q", "id": "i"}]}]
    }});
    assert_eq!(server.get(STATE).await.ok().json(), expected);
    let named = format!("{STATE}&checkpoint_id={ID}&checkpoint_ns=");
    assert_eq!(server.get(&named).await.ok().json(), expected);
    let packed = server.get_with(STATE, &[("accept", MSGPACK)]).await.ok();
    assert_eq!(rmp_serde::from_slice::<Value>(&packed.body).unwrap(), expected);
}

#[tokio::test]
async fn raw_bytes_come_on_request() {
    let server = server().await;
    let state = server.get(&format!("{STATE}&raw=true")).await.ok().json();
    let raw = json!([
        {"channel": "branch:to:ask", "value": {"tag": "null", "data": ""}, "writes": []},
        {"channel": "secret", "value": {"tag": "msgpack+aes", "data": "c2VhbGVk"}, "writes": []},
        {"channel": "title", "value": {"tag": "msgpack", "data": "pWhlbGxv"}, "writes": []}
    ]);
    assert_eq!(state["state"]["raw"], raw);
    let written = msgpack(&json!([{"value": "q", "id": "i"}]));
    assert_eq!(state["state"]["writes"][0]["raw"], json!({"tag": "msgpack", "data": written}));
    let values = server.get(&format!("{VALUES}&raw=true")).await.ok().json();
    let channels = values["checkpoint"]["channels"].as_array().unwrap();
    assert_eq!(json!(channels.iter().map(|it| &it["raw"]).collect::<Vec<_>>()), raw);
}

#[tokio::test]
async fn values_are_shown_by_channel_with_those_of_the_graph() {
    let server = server().await;
    let title = json!({"channel": "title", "version": "2.0", "tag": "msgpack", "size_bytes": 6, "is_delta": false, "value": "hello"});
    let branch = json!({"channel": "branch:to:ask", "version": "2.0", "tag": "null", "size_bytes": 0, "is_delta": false, "value": null});
    let secret = json!({"channel": "secret", "version": "2.0", "tag": "msgpack+aes", "size_bytes": 6, "is_delta": false, "value": sealed()});
    let found = |channels: &[&Value]| json!({"checkpoint": {"thread_id": "t/1", "checkpoint_ns": "", "checkpoint_id": ID, "channels": channels}});
    assert_eq!(server.get(VALUES).await.ok().json(), found(&[&branch, &secret, &title]));
    let two = format!("{VALUES}&channel=title&channel=branch:to:ask&channel=none");
    assert_eq!(server.get(&two).await.ok().json(), found(&[&branch, &title]));
}

#[tokio::test]
async fn what_is_not_there_is_absent_and_no_error() {
    let server = server().await;
    for (state, values) in [
        ("/v1/state?thread_id=none", "/v1/checkpoints/values?thread_id=none"),
        (&format!("{STATE}&checkpoint_id=none"), &format!("{VALUES}&checkpoint_id=none")),
        (&format!("{STATE}&checkpoint_ns=sub"), &format!("{VALUES}&checkpoint_ns=sub")),
    ] {
        assert_eq!(server.get(state).await.ok().json(), json!({}));
        assert_eq!(server.get(values).await.ok().json(), json!({}));
    }
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let server = server().await;
    let long = "x".repeat(600);
    for path in ["/v1/state", "/v1/checkpoints/values"] {
        for (query, field) in [
            ("", "thread_id"),
            ("?thread_id=", "thread_id"),
            ("?thread_id=t&thread_id=u", "thread_id"),
            ("?thread_id=t&raw=maybe", "raw"),
            ("?thread_id=t&other=1", "other"),
            ("?thread_id=t&checkpoint_id=", "checkpoint_id"),
            (&format!("?thread_id=t&checkpoint_ns={long}"), "checkpoint_ns"),
        ] {
            let answer = server.get(&format!("{path}{query}")).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), field, "{path}{query}");
        }
    }
    server.get(&format!("{VALUES}&channel={long}")).await.assert_problem(422, "invalid");
}

#[tokio::test]
async fn a_checkpoint_that_is_too_large_to_be_shown_names_the_limit() {
    let server = Server::keyless().await;
    let names: Vec<String> = (0..150_000).map(|at| format!("\"{at:0100}\":1")).collect();
    let skeleton = format!("{{\"v\":4,\"channel_versions\":{{}},\"x\":{{{}}}}}", names.join(","));
    let body = format!(
        r#"{{"thread_id":"t/1","ops":[{{"checkpoint":{{"checkpoint_id":"1","metadata":{{}},"skeleton":{skeleton},"values":[]}}}}]}}"#
    );
    server.post_bytes(COMMIT, "application/json", body).await.ok();
    for path in [STATE, VALUES] {
        let answer = server.get(path).await;
        answer.assert_problem(413, "too_large");
        assert_eq!(answer.json()["limit"], 32 << 20);
    }
}

/// The example of an operation's answer.
fn example(path: &str) -> Value {
    let escaped = path.replace('/', "~1");
    let pointer = format!("/paths/{escaped}/get/responses/200/content/application~1json/example");
    DOCUMENT.pointer(&pointer).unwrap().clone()
}

#[tokio::test]
async fn the_examples_of_the_document_are_real_answers() {
    let server = Server::keyless().await;
    let (state, values) = (example("/v1/state"), example("/v1/checkpoints/values"));
    let told = &state["state"];
    let channel = |name: &str, tag: &str, data: Value| json!({"channel": name, "version": "2", "tag": tag, "data": data});
    let messages = channel("messages", "msgpack", msgpack(&told["values"]["messages"]));
    let put = |parent: &Value, values: &[Value]| {
        json!({"checkpoint": {
            "checkpoint_id": told["checkpoint_id"], "parent_checkpoint_id": parent, "metadata": told["metadata"],
            "skeleton": {"v": 4, "ts": told["created_at"], "versions_seen": {},
                "channel_versions": {"branch:to:ask": "2", "branch:to:model": "2", "messages": "2", "title": "1"}},
            "values": values
        }})
    };
    let write = &told["writes"][0];
    let pending = json!({"idx": -3, "channel": write["channel"], "tag": write["tag"], "data": msgpack(&write["value"])});
    let writes = json!({"writes": {
        "checkpoint_id": told["checkpoint_id"], "task_id": write["task_id"], "writes": [pending]
    }});
    let first = put(
        &told["parent_checkpoint_id"],
        &[channel("branch:to:ask", "null", base64(b"")), messages],
    );
    server.post(COMMIT, &json!({"thread_id": "t-1", "ops": [first, writes]})).await.ok();
    assert_eq!(server.get("/v1/state?thread_id=t-1").await.ok().json(), state);

    let server = Server::keyless().await;
    let mut title = channel("title", "msgpack", msgpack(&json!("hello")));
    title["version"] = json!("1");
    let second = put(&Value::Null, &[channel("branch:to:model", "null", base64(b"")), title]);
    server.post(COMMIT, &json!({"thread_id": "t-1", "ops": [second]})).await.ok();
    let found = server.get("/v1/checkpoints/values?thread_id=t-1&raw=true").await.ok().json();
    assert_eq!(found, values);
}
