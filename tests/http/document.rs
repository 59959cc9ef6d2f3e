//! The API document: generated, complete, and in agreement with what is served.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;
use threadkeep::http::document;
use threadkeep::http::problem::Code;

use crate::server::{DOCUMENT, JSON, Server};

fn operations() -> Vec<(String, String, Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, it)| (path.clone(), method.to_uppercase(), it.clone()))
    });
    all.collect()
}

#[test]
fn the_file_is_what_the_code_generates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, document::text()).unwrap();
    }
    let same = std::fs::read_to_string(&path).unwrap_or_default() == document::text();
    assert!(same, "openapi/openapi.json is not up to date; UPDATE_OPENAPI=1 rewrites it");
}

#[tokio::test]
async fn every_documented_operation_is_served() {
    let server = Server::keyless().await;
    for (path, method, _) in operations() {
        let answer = server.send(&method, &path, &[("content-type", JSON)], b"{}".to_vec()).await;
        // What is not there may be a document or a stream, but not the route.
        let is_absent = answer.status == 404 && answer.problem().1 != "not_found";
        let is_served = is_absent || ![404, 405].contains(&answer.status);
        assert!(is_served, "{method} {path}: {}", answer.status);
    }
}

#[test]
fn every_served_route_is_documented() {
    // Routes can only be made by `routes!`, which documents them; so many there are, so many are documented.
    let source = include_str!("../../src/http/mod.rs");
    let (_, after) = source.split_once("pub(crate) fn routes()").unwrap();
    let (page, _) = after.split_once("\n}\n").unwrap();
    assert_eq!(page.matches("routes!(").count(), operations().len());
    for direct in [".route(", ".nest(", ".merge(", ".route_service("] {
        assert!(!source.contains(direct), "{direct} makes routes that are not documented");
    }
}

#[tokio::test]
async fn a_route_needs_a_key_exactly_when_the_document_says_so() {
    let (server, _) = Server::with_keys(&["acme"]).await;
    for (path, method, operation) in operations() {
        let answer = server.send(&method, &path, &[("content-type", JSON)], b"{}".to_vec()).await;
        let needs_key = !operation["security"].as_array().unwrap().is_empty();
        assert_eq!(answer.status == 401, needs_key, "{method} {path}: {}", answer.status);
        assert_eq!(operation["x-permission"].is_string(), needs_key, "{method} {path}");
        let prefixes = ["/v1/", "/agentrail/v1/", "/__inspector/", "/i/{token}/"];
        let is_below = prefixes.iter().any(|it| path.starts_with(it));
        assert_eq!(is_below, needs_key, "{method} {path}");
    }
}

#[test]
fn every_operation_is_described_completely() {
    let mut ids = HashSet::new();
    for (path, method, operation) in operations() {
        let name = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{name}");
        assert!(operation["summary"].as_str().is_some_and(|it| !it.is_empty()), "{name}");
        let tag = &operation["tags"][0];
        let tags = DOCUMENT["tags"].as_array().unwrap();
        assert!(tags.iter().any(|it| it["name"] == *tag), "{name}");
        assert!(operation["responses"]["200"]["content"].is_object(), "{name}");
        if method == "POST" {
            let content = &operation["requestBody"]["content"];
            assert!(content[JSON]["example"].is_object(), "{name}");
            for media in [JSON, "application/msgpack"] {
                assert!(content[media]["schema"].is_object(), "{name} {media}");
                assert!(operation["responses"]["200"]["content"][media].is_object(), "{name}");
            }
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value) {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let found = DOCUMENT.pointer(reference.trim_start_matches('#'));
            assert!(found.is_some(), "{reference}");
        }
        match value {
            Value::Object(fields) => fields.values().for_each(walk),
            Value::Array(items) => items.iter().for_each(walk),
            _ => {}
        }
    }
    walk(&DOCUMENT);
}

#[test]
fn every_code_is_an_answer_of_some_operation() {
    let responses = DOCUMENT["components"]["responses"].as_object().unwrap();
    let documented: HashSet<&str> =
        responses.keys().flat_map(|name| name.split('.').skip(1)).collect();
    let codes = Code::ALL.iter().map(|it| it.parts().1);
    let missing: Vec<&str> = codes.filter(|code| !documented.contains(code)).collect();
    // A wrong method is by definition not an operation.
    assert_eq!(missing, ["method_not_allowed"]);
}

#[tokio::test]
async fn the_document_and_its_page_are_served() {
    let server = Server::keyless().await;
    assert_eq!(server.get("/openapi.json").await.ok().json(), *DOCUMENT);
    let page = String::from_utf8(server.get("/docs").await.ok().body).unwrap();
    for (path, _, _) in operations() {
        assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
    }
}
