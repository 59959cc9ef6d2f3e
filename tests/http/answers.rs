//! Tests that the document's examples without a handler are answers of a real server. Every operation is called, and the file has its
//! answer.

use std::path::Path;

use serde_json::{Map, Value};

use crate::compressed::{only_reads, request};
use crate::matrix::{CONTENT, Route, THREAD, World, routes};
use crate::matrix_table::PUBLIC;
use crate::server::{DOCUMENT, JSON};

/// They answer the documents.
const DOCUMENTS: [&str; 3] = ["get_openapi", "get_openapi_msgpack", "get_openapi_agentrail"];

fn recorded() -> Map<String, Value> {
    serde_json::from_str(include_str!("../../openapi/answers.json")).unwrap()
}

/// Whether a handler says what it answers.
fn has_its_own(route: &Route) -> bool {
    let answers = &DOCUMENT["paths"][&route.path][route.method.to_lowercase()]["responses"];
    let all = answers.as_object().unwrap().iter().filter(|(status, _)| status.starts_with('2'));
    let mut json = all.map(|(_, it)| &it["content"][JSON]).filter(|it| it.is_object()).peekable();
    json.peek().is_none()
        || !recorded().contains_key(&route.operation) && json.all(|it| it.get("example").is_some())
}

/// What a server that has something of everything says; with names that tell more to who reads it.
async fn answer(it: &World, route: &Route) -> Value {
    let asked = request(it, route).await;
    let key = ("x-api-key", it.who_may(route));
    let headers = if PUBLIC.contains(&route.operation.as_str()) { &[][..] } else { &[key] };
    let answer = it.ask_with(route, &asked, headers).await;
    assert!((200..300).contains(&answer.status), "{}: {}", route.operation, answer.status);
    let text = String::from_utf8(answer.body).unwrap();
    let text = text.replace(THREAD, "t-1").replace(CONTENT, "Tea, no milk");
    serde_json::from_str(&text).unwrap()
}

/// What differs from run to run does not count: an answer has all that is shown, of the same kind.
fn has(found: &Value, shown: &Value) -> bool {
    match (found, shown) {
        (Value::Object(found), Value::Object(shown)) => {
            shown.iter().all(|(name, it)| found.get(name).is_some_and(|other| has(other, it)))
        }
        (Value::Array(found), Value::Array(shown)) => {
            found.len() == shown.len() && found.iter().zip(shown).all(|(found, it)| has(found, it))
        }
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => true,
        (found, shown) => found == shown,
    }
}

/// And nothing is answered that is not shown.
fn is_like(found: &Value, shown: &Value) -> bool {
    has(found, shown) && has(shown, found)
}

#[tokio::test]
async fn every_operation_shows_an_answer_and_those_of_no_handler_are_real() {
    let (mut all, mut it) = (Map::new(), World::new().await);
    let is_document = |it: &Route| DOCUMENTS.contains(&it.operation.as_str());
    for route in routes().iter().filter(|it| !is_document(it) && !has_its_own(it)) {
        all.insert(route.operation.clone(), answer(&it, route).await);
        if !only_reads(route) {
            it = World::new().await;
        }
    }
    let shown = recorded();
    let is_same = shown.keys().eq(all.keys()) && all.iter().all(|(id, it)| is_like(it, &shown[id]));
    if std::env::var_os("UPDATE_OPENAPI").is_some() && !is_same {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/answers.json");
        std::fs::write(path, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
        panic!("openapi/answers.json is new: once more, for the document to have it");
    }
    assert!(is_same, "UPDATE_OPENAPI=1 asks again; the server says\n{}", Value::Object(all));
}
