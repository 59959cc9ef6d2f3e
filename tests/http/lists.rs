//! Tests lists of requests: each has a limit, reading ends there, and the answer names the field and the limit.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use threadkeep::domain::limits::LIMITS;
use threadkeep::http::request::entries;

use crate::server::{DOCUMENT, JSON, MSGPACK, Server};
use crate::wire::gzip;

const COMMIT: &str = "/v1/checkpoints/commit";

/// Fields of request bodies that are lists, or objects with names of the client's.
fn lists() -> BTreeSet<String> {
    fn walk(
        schema: &Value,
        field: &str,
        found: &mut BTreeSet<String>,
        seen: &mut BTreeSet<String>,
    ) {
        if let Some(name) = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
            // The same schema in another field is another list.
            if seen.insert(format!("{name} {field}")) {
                walk(&DOCUMENT["components"]["schemas"][name], field, found, seen);
            }
            return;
        }
        if schema["items"].is_object() || schema["additionalProperties"].is_object() {
            found.insert(field.to_owned());
        }
        walk_all([&schema["items"], &schema["additionalProperties"]], field, found, seen);
        let choices = ["oneOf", "anyOf", "allOf"].iter().filter_map(|it| schema[it].as_array());
        walk_all(choices.flatten(), field, found, seen);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(property, name, found, seen);
        }
    }
    fn walk_all<'a>(
        all: impl IntoIterator<Item = &'a Value>,
        field: &str,
        found: &mut BTreeSet<String>,
        seen: &mut BTreeSet<String>,
    ) {
        all.into_iter().filter(|it| it.is_object()).for_each(|it| walk(it, field, found, seen));
    }
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let operations = DOCUMENT["paths"].as_object().unwrap().values();
    for operation in operations.flat_map(|it| it.as_object().unwrap().values()) {
        for (media, content) in
            operation["requestBody"]["content"].as_object().into_iter().flatten()
        {
            if media == JSON {
                walk(&content["schema"], "", &mut found, &mut seen);
            }
        }
    }
    found
}

#[test]
fn every_list_of_a_request_has_a_limit() {
    let all = lists();
    assert!(all.len() > 30 && all.contains("writes") && all.contains("labels"), "{all:?}");
    let unknown: Vec<_> = all.iter().filter(|it| entries::known(it).is_empty()).collect();
    assert!(unknown.is_empty(), "src/http/request/entries.rs says nothing of {unknown:?}");
}

/// A body whose list has one entry more than its limit and then ends: who reads on finds it damaged.
fn cut_off(path: &str, before: &str, entry: &str, limit: u64) -> (String, String) {
    let entries = vec![entry; usize::try_from(limit + 1).unwrap()].join(",");
    (path.to_owned(), format!("{before}[{entries}"))
}

#[tokio::test]
async fn reading_ends_where_a_list_has_more_than_it_may() {
    let server = Server::keyless().await;
    let write = r#"{"idx":0,"channel":"c","tag":"t","data":""}"#;
    let group = r#"{"thread_id":"t","ops":[{"writes":{"checkpoint_id":"1","task_id":"a","writes":"#;
    for (path, before, entry, field, limit) in [
        (
            "checkpoints/prune",
            r#"{"thread_ids":"#,
            r#""""#,
            "thread_ids",
            LIMITS.ids_per_request_max,
        ),
        (
            "checkpoints/delete-for-runs",
            r#"{"run_ids":"#,
            r#""""#,
            "run_ids",
            LIMITS.ids_per_request_max,
        ),
        (
            "checkpoints/history",
            r#"{"thread_id":"t","channels":"#,
            r#""a""#,
            "channels",
            LIMITS.channels_max,
        ),
        (
            "checkpoints/get",
            r#"{"thread_id":"t","have_values":"#,
            r#""""#,
            "have_values",
            LIMITS.have_values_max,
        ),
        (
            "checkpoints/commit",
            r#"{"thread_id":"t","ops":"#,
            r#"{"writes":{"checkpoint_id":"1","task_id":"a","writes":[]}}"#,
            "ops",
            LIMITS.ops_per_commit_max,
        ),
        ("checkpoints/commit", group, write, "writes", LIMITS.writes_per_op_max),
        ("store/batch", r#"{"ops":"#, r#"{"count":{}}"#, "ops", LIMITS.store_ops_max),
        ("store/get", r#"{"namespace":"#, r#""a""#, "namespace", LIMITS.namespace_labels_max),
        (
            "store/put",
            r#"{"namespace":["a"],"key":"k","value":{},"index":"#,
            r#""a""#,
            "index",
            LIMITS.index_paths_max,
        ),
        (
            "snapshots/restore",
            r#"{"snapshot_id":"s","threads":"#,
            r#"{"thread_id":"t"}"#,
            "threads",
            LIMITS.snapshot_threads_max,
        ),
        (
            "snapshots/take",
            r#"{"namespaces":[["a"],"#,
            r#""a""#,
            "namespaces",
            LIMITS.namespace_labels_max,
        ),
        (
            "sessions/append",
            r#"{"kind":"k","key":["a"],"entries":"#,
            r#"{"data":{}}"#,
            "entries",
            LIMITS.session_entries_max,
        ),
        (
            "tokens/narrow",
            r#"{"grants":{"threads":"#,
            r#"{"id":"t","actions":["read"]}"#,
            "grants.threads",
            LIMITS.grants_max,
        ),
    ] {
        let (path, body) = cut_off(&format!("/v1/{path}"), before, entry, limit);
        let answer = server.post_bytes(&path, JSON, body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(
            (answer.field().as_str(), &answer.json()["limit"]),
            (field, &json!(limit)),
            "{path}"
        );
    }
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn a_small_body_that_stands_for_millions_of_entries_is_refused() {
    let server = Server::keyless().await;
    for (path, name, entry) in [
        ("/v1/checkpoints/prune", "thread_ids", &b"\xa0"[..]),
        ("/v1/checkpoints/delete-for-runs", "run_ids", b"\xa1a"),
        ("/v1/checkpoints/history", "channels", b"\xa1a"),
    ] {
        let count = 5_000_000_u32;
        let head =
            [&[0x81, 0xa0 | u8::try_from(name.len()).unwrap()], name.as_bytes(), &[0xdd]].concat();
        let body = [&head[..], &count.to_be_bytes(), &entry.repeat(count as usize)].concat();
        let headers = [("content-type", MSGPACK), ("content-encoding", "gzip")];
        let answer = server.send("POST", path, &headers, gzip(&body)).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), name);
    }
}

fn group(task: usize, writes: u64) -> Value {
    let write = |idx| json!({"idx": idx, "channel": "c", "tag": "t", "data": ""});
    let writes: Vec<Value> = (0..writes).map(write).collect();
    json!({"writes": {"checkpoint_id": "1", "task_id": task.to_string(), "writes": writes}})
}

#[tokio::test]
async fn the_writes_of_a_commit_have_a_limit_together() {
    let server = Server::keyless().await;
    let most = LIMITS.writes_per_commit_max;
    let commit = async |counts: &[u64]| {
        let ops = counts.iter().enumerate().map(|(at, it)| group(at, *it));
        let body = json!({"thread_id": "t", "ops": ops.collect::<Vec<_>>()});
        server.post(COMMIT, &body).await
    };
    commit(&[most / 2, most - most / 2]).await.ok();
    let answer = commit(&[most / 2, most - most / 2, 1]).await;
    answer.assert_problem(422, "invalid");
    assert_eq!((answer.field().as_str(), &answer.json()["limit"]), ("writes", &json!(most)));
    assert_eq!(server.storage.calls().len(), 1);
}

#[tokio::test]
async fn an_error_does_not_repeat_a_body() {
    let server = Server::keyless().await;
    let long = "x".repeat(1 << 20);
    for body in [
        format!(r#"{{"{long}":1}}"#),
        format!(r#"{{"thread_id":["{long}"]}}"#),
        format!(r#"{{"thread_id":"t","generation":1,"ops":[{{"{long}":1}}]}}"#),
        format!(r#"{{"thread_id":"t","ops":"{long}"}}"#),
    ] {
        let answer = server.post_bytes(COMMIT, JSON, body).await;
        answer.assert_problem(422, "invalid");
        assert!(answer.body.len() < 8_192, "{} bytes", answer.body.len());
    }
}
