//! Tests the status of threads through the router, on a real engine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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

/// A checkpoint with values in JSON.
async fn values(shared: &Shared, thread: &str, values: &[(&str, &str, &str)]) {
    let value = |(channel, tag, data): &(&str, &str, &str)| json!({"channel": channel, "version": 1, "tag": tag, "data": STANDARD.encode(data)});
    let versions: Value = values.iter().map(|it| (it.0.to_owned(), json!(1))).collect();
    let values: Vec<Value> = values.iter().map(value).collect();
    let op = json!({"checkpoint": {
        "checkpoint_id": "1", "metadata": {"step": 1, "source": "loop"}, "values": values,
        "skeleton": {"v": 4, "channel_versions": versions, "versions_seen": {}}
    }});
    shared.post(ANN, COMMIT, &commit(thread, &[op])).await.ok();
}

async fn preview(shared: &Shared, who: usize, thread: &str) -> Value {
    let body = json!({"include": ["preview"], "ids": [thread]});
    let page = shared.post(who, SEARCH, &body).await.ok().json();
    page["threads"].get(0).map_or(json!("absent"), |it| it["preview"].clone())
}

#[tokio::test]
async fn a_search_shows_in_a_few_words_what_threads_are_about() {
    let shared = with_one_of_each().await;
    let messages =
        r#"[{"type": "human", "content": "Where to?"}, {"type": "ai", "content": "Rome"}]"#;
    let todos =
        r#"[{"content": "book", "status": "completed"}, {"content": "go", "status": "pending"}]"#;
    values(&shared, "trip", &[("messages", "json", messages), ("todos", "json", todos)]).await;
    let shown = json!({
        "first_human": "Where to?", "last_message": {"type": "ai", "text": "Rome"}, "messages": 2,
        "todos": {"done": 1, "total": 2}, "next": [], "interrupts": 0, "cut": false
    });
    assert_eq!(preview(&shared, ANN, "trip").await, shown);
    assert_eq!(preview(&shared, BOB, "trip").await, "absent", "another's thread");
    let nothing = json!({"next": ["ask"], "interrupts": 0, "cut": false});
    assert_eq!(preview(&shared, ANN, "busy").await, nothing);
    assert_eq!(preview(&shared, ANN, "idle").await, Value::Null, "without checkpoints");
    // What cannot be shown fails nothing.
    values(&shared, "odd", &[("messages", "pickle", "x")]).await;
    let large = format!(r#"[{{"type": "human", "content": "{}"}}]"#, "x".repeat(1 << 20));
    values(&shared, "large", &[("messages", "json", &large), ("todos", "json", todos)]).await;
    for (thread, todos) in [("odd", Value::Null), ("large", json!({"done": 1, "total": 2}))] {
        let shown = preview(&shared, ANN, thread).await;
        assert_eq!((&shown["cut"], &shown["messages"]), (&json!(true), &Value::Null), "{thread}");
        assert_eq!(shown["todos"], todos);
    }
    let page = shared.post(ANN, SEARCH, &json!({"ids": ["trip"]})).await.ok().json();
    assert_eq!(page["threads"][0]["preview"], Value::Null, "only where it is asked for");
}

/// The threads of a search that asks for values and interrupts.
async fn with_states(shared: &Shared, who: usize, body: &Value) -> Value {
    let mut body = body.clone();
    body["include"] = json!(["values", "interrupts"]);
    shared.post(who, SEARCH, &body).await.ok().json()
}

#[tokio::test]
async fn a_search_shows_values_and_questions_of_the_newest_states() {
    let shared = with_one_of_each().await;
    let messages = r#"[{"type": "human", "content": "Where to?"}]"#;
    values(&shared, "trip", &[("messages", "json", messages), ("__private", "json", "1")]).await;
    let found = async |who: usize, thread: &str| {
        let page = with_states(&shared, who, &json!({"ids": [thread]})).await;
        page["threads"].get(0).cloned().unwrap_or(json!("absent"))
    };
    let trip = found(ANN, "trip").await;
    let expected = json!({"messages": [{"type": "human", "content": "Where to?"}]});
    assert_eq!((&trip["values"], &trip["interrupts"]), (&expected, &json!({})));
    assert_eq!((trip.get("values_preview"), trip.get("preview")), (None, None));
    assert_eq!(found(BOB, "trip").await, "absent", "another's thread");
    let state = shared.get(ANN, "/v1/state?thread_id=busy").await.ok().json();
    let task = state["state"]["tasks"][0]["id"].as_str().unwrap();
    let question = STANDARD.encode(r#"[{"id": "q", "value": "Really?"}]"#);
    let write = json!({"idx": -1, "channel": "__interrupt__", "tag": "json", "data": question});
    let asking = json!({"writes": {
        "checkpoint_id": state["state"]["checkpoint_id"], "task_id": task, "writes": [write]
    }});
    shared.post(ANN, COMMIT, &commit("busy", &[asking])).await.ok();
    let asks = found(ANN, "busy").await;
    assert_eq!(asks["interrupts"], json!({task: [{"id": "q", "value": "Really?"}]}));
    assert_eq!((&asks["values"], &asks["status"]), (&json!({}), &json!("interrupted")));
    let idle = found(ANN, "idle").await;
    assert_eq!((idle.get("values"), idle.get("interrupts")), (None, None), "no checkpoints");
    let only = json!({"ids": ["trip"], "include": ["interrupts"]});
    let only = shared.post(ANN, SEARCH, &only).await.ok().json();
    assert_eq!(only["threads"][0].get("values"), None, "only what is asked for");
    // Large values come as a preview, and what cannot be shown in its place.
    let large = format!("\"{}\"", "x".repeat(300 << 10));
    let all = [("messages", "json", messages), ("file", "json", &large), ("odd", "pickle", "x")];
    values(&shared, "large", &all).await;
    let large = found(ANN, "large").await;
    assert_eq!(large["values_preview"], true);
    assert_eq!(large["values"]["messages"], expected["messages"]);
    assert_eq!(large["values"].get("file"), None);
    assert_eq!(large["values"]["odd"]["$opaque"]["codec"], "pickle");
}

#[tokio::test]
async fn a_page_with_many_values_ends_early_and_the_next_one_goes_on() {
    let shared = Shared::new().await;
    let text = format!("\"{}\"", "x".repeat(250 << 10));
    let ids: Vec<String> = (0..36).map(|at| format!("t{at:02}")).collect();
    for id in &ids {
        values(&shared, id, &[("text", "json", &text)]).await;
    }
    let mut body = json!({"sort": "thread_id", "limit": 36});
    let (mut found, mut pages) = (Vec::new(), Vec::new());
    loop {
        let page = with_states(&shared, ANN, &body).await;
        let threads = page["threads"].as_array().unwrap();
        assert!(
            threads.iter().all(|it| it["values"]["text"].as_str().map(str::len) == Some(250 << 10))
        );
        found.extend(threads.iter().map(|it| it["thread_id"].as_str().unwrap().to_owned()));
        pages.push(threads.len());
        let Some(cursor) = page.get("next_cursor") else { break };
        body["cursor"] = cursor.clone();
    }
    assert_eq!((found, pages), (ids, vec![32, 4]));
}
