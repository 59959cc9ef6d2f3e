//! Tests that every operation of the document compresses its answer on request, in both encodings and both forms. It lists the operations
//! that do not.

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use threadkeep::http::router_compressing;

use crate::matrix::{Route, THREAD, World, routes, row_of};
use crate::matrix_agent_server::REFUSED;
use crate::matrix_sessions::{BY_PATH, look};
use crate::matrix_table::{HOLDER, OF_LARGE_VALUES, PUBLIC, Request, SIGNED};
use crate::server::{Answer, DOCUMENT, JSON, MSGPACK};

/// Events are for now, and a compressor would wait for more.
const EVENTS: [&str; 3] = ["follow_changes", "follow_threads", "agent_server_follow_events"];
/// Have nothing to say; metrics are counted in the program alone.
const EMPTY: [&str; 5] = [
    "agent_server_delete_item",
    "agent_server_delete_thread",
    "agent_server_put_item",
    "delete_from_drive",
    "get_metrics",
];

/// The world of the matrix, where the smallest answer is compressed, too.
async fn world() -> World {
    let mut it = World::new().await;
    it.server.router = router_compressing(&it.server.app, 1);
    it
}

/// One that succeeds.
pub async fn request(it: &World, route: &Route) -> Request {
    let id = route.operation.as_str();
    if id == SIGNED {
        let key = [("x-api-key", it.acme.as_str())];
        let made = "/api/storage/url?subject=ann&path=/f";
        let url = it.server.get_with(made, &key).await.ok().json()["url"].clone();
        let (_, query) = url.as_str().unwrap().split_once(route.path.as_str()).unwrap();
        return Request::Query(query.to_owned());
    }
    if !id.ends_with("_lease") {
        // Writes need it, or that there is none.
        let held = json!({"thread_id": THREAD, "holder": HOLDER, "fence": 1}).to_string();
        let headers = [("content-type", JSON), ("x-api-key", it.acme.as_str())];
        let path = "/v1/threads/lease/release";
        it.server.send("POST", path, &headers, held.into_bytes()).await.ok();
    }
    match id {
        _ if PUBLIC.contains(&id) => Request::Query(String::new()),
        _ if BY_PATH.contains(&id) => look(THREAD),
        _ => (row_of(route).request)(THREAD, &it.token_id),
    }
}

async fn ask(it: &World, route: &Route, encoding: &str, form: &str) -> Answer {
    let request = request(it, route).await;
    let form = if EVENTS.contains(&route.operation.as_str()) { "text/event-stream" } else { form };
    let mut headers = vec![("accept-encoding", encoding), ("accept", form)];
    if !PUBLIC.contains(&route.operation.as_str()) {
        headers.push(("x-api-key", it.who_may(route)));
    }
    it.ask_with(route, &request, &headers).await
}

fn unpacked(answer: &Answer, encoding: &str) -> Vec<u8> {
    if encoding == "zstd" {
        return zstd::decode_all(&answer.body[..]).unwrap();
    }
    let mut unpacked = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&answer.body[..]), &mut unpacked).unwrap();
    unpacked
}

/// That these bytes are a whole answer, in the form that was asked for where the document has it.
fn assert_whole(name: &str, route: &Route, (answer, form): (&Answer, &str), bytes: &[u8]) {
    let operation = &DOCUMENT["paths"][&route.path][route.method.to_lowercase()];
    let content = &operation["responses"][answer.status.to_string()]["content"];
    if content[form].is_object() {
        assert_eq!(answer.header("content-type"), Some(form), "{name}");
    }
    match answer.header("content-type").unwrap() {
        JSON => drop(serde_json::from_slice::<Value>(bytes).expect(name)),
        MSGPACK => drop(rmp_serde::from_slice::<IgnoredAny>(bytes).expect(name)),
        _ => assert!(!bytes.is_empty(), "{name}"),
    }
}

/// Whether the operation leaves everything as it was.
pub fn only_reads(route: &Route) -> bool {
    let operation = &DOCUMENT["paths"][&route.path][route.method.to_lowercase()];
    operation["x-permission"].as_str().is_none_or(|it| it.ends_with(":read"))
}

#[tokio::test]
async fn every_operation_compresses_its_answer_as_the_caller_asks() {
    let mut it = world().await;
    for route in routes() {
        let id = route.operation.as_str();
        if OF_LARGE_VALUES.contains(&id) || REFUSED.contains(&id) {
            continue;
        }
        for (encoding, form) in [("gzip", JSON), ("zstd", MSGPACK), ("identity", JSON)] {
            let name = format!("{id} with {encoding}, {form}");
            let is_write = !only_reads(&route);
            if is_write && encoding == "identity" {
                continue;
            }
            let answer = ask(&it, &route, encoding, form).await;
            if is_write {
                it = world().await;
            }
            assert!((200..300).contains(&answer.status), "{name}: {}", answer.status);
            let is_bare = EVENTS.contains(&id) || EMPTY.contains(&id) || encoding == "identity";
            let found = answer.header("content-encoding");
            assert_eq!(found, (!is_bare).then_some(encoding), "{name}");
            if is_bare {
                assert_eq!(answer.body.is_empty(), EMPTY.contains(&id), "{name}");
                continue;
            }
            assert!(
                answer.header("vary").is_some_and(|it| it.contains("accept-encoding")),
                "{name}"
            );
            assert_whole(&name, &route, (&answer, form), &unpacked(&answer, encoding));
        }
    }
}

#[tokio::test]
async fn a_small_answer_is_not_compressed() {
    let it = World::new().await;
    let all = routes();
    let route = all.iter().find(|it| it.operation == "whoami").unwrap();
    let answer = ask(&it, route, "gzip", JSON).await.ok();
    assert!(answer.body.len() < 1_024 && answer.header("content-encoding").is_none());
}
