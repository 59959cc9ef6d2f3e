//! The API document: generated, complete, and in agreement with what is served.

use std::collections::HashSet;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
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
        let prefixes = ["/v1/", "/api/", "/agentrail/v1/", "/__inspector/", "/i/{token}/"];
        let is_below = prefixes.iter().any(|it| path.starts_with(it));
        // A signed address is a key itself.
        assert_eq!(is_below && path != "/api/storage/open", needs_key, "{method} {path}");
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
        let answers = ["200", "201"].map(|it| operation["responses"][it]["content"].is_object());
        let is_empty = operation["responses"]["204"].is_object();
        assert!(answers.contains(&true) || is_empty, "{name}");
        let content = &operation["requestBody"]["content"];
        let is_raw =
            ["multipart/form-data", "application/x-tar"].iter().any(|it| content[it].is_object());
        if method == "POST" && !is_raw {
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

#[tokio::test]
async fn the_page_loads_and_runs_nothing_and_every_link_leads_somewhere() {
    let answer = Server::keyless().await.get("/docs").await.ok();
    let policy = answer.header("content-security-policy").unwrap().to_owned();
    let page = String::from_utf8(answer.body).unwrap();
    for way_out in ["<script", " src=", "@import", "url(", " on", "<form", "<iframe"] {
        let tags = page.split('<').filter_map(|it| it.split('>').next());
        let found = tags.map(|it| format!("<{it}")).find(|it| it.contains(way_out));
        assert_eq!(found, None, "{way_out}");
    }
    let (_, style) = page.split_once("<style>").unwrap();
    let (style, _) = style.split_once("</style>").unwrap();
    assert!(!style.contains("@import") && !style.contains("url("));
    let digest = STANDARD.encode(Sha256::digest(style));
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains(&format!("style-src 'sha256-{digest}';")), "{policy}");
    let links: HashSet<&str> =
        page.split("href=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    for link in &links {
        match link.strip_prefix('#') {
            Some(id) => assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}"),
            None => assert!(["data:,", "openapi.json"].contains(link), "{link}"),
        }
    }
    assert!(links.len() > 2 * operations().len());
}

#[tokio::test]
async fn the_page_shows_parameters_fields_and_examples() {
    let page = Server::keyless().await.get("/docs").await.ok().body;
    let page = String::from_utf8(page).unwrap();
    let article = |id: &str| {
        let (_, after) = page.split_once(&format!("<article id=\"{id}\">")).unwrap();
        after.split_once("</article>").unwrap().0.to_owned()
    };
    let state = article("get_state");
    assert!(state.contains("<tr><td><code>thread_id</code><td>query, string<td>required<td>"));
    assert!(state.contains("<a href=\"#schema-GotState\">GotState</a>"));
    assert!(state.contains("&quot;next&quot;: ["), "the example");
    assert!(state.contains("Needs <code>threads:read</code>."));
    assert!(article("commit_checkpoints").contains("<h4>Request</h4>"));
    let schema = article("schema-State");
    assert!(
        schema.contains("<code>interrupts</code><td>array of <a href=\"#schema-StateInterrupt\">")
    );
}
