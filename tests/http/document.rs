//! Tests that the API documents are generated, complete, and in agreement with the served routes.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use threadkeep::http;
use threadkeep::http::openapi::documents::ApiDocument;
use threadkeep::http::request::problem::Code;

use crate::server::{DOCUMENT, JSON, MSGPACK, Server};

pub fn operations() -> Vec<(String, String, Value)> {
    operations_of(&DOCUMENT)
}

fn operations_of(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, it)| (path.clone(), method.to_uppercase(), it.clone()))
    });
    all.collect()
}

fn parsed(document: ApiDocument) -> Value {
    serde_json::from_str(document.text()).unwrap()
}

#[test]
fn the_files_are_what_the_code_generates() {
    for document in ApiDocument::ALL {
        let name = match document {
            ApiDocument::Json => "openapi.json",
            ApiDocument::MessagePack => "openapi-msgpack.json",
            ApiDocument::Agentrail => "agentrail.json",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi").join(name);
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(&path, document.text()).unwrap();
        }
        let same = std::fs::read_to_string(&path).unwrap_or_default() == document.text();
        assert!(same, "openapi/{name} is not up to date; UPDATE_OPENAPI=1 rewrites it");
    }
}

/// Each body of an operation, sent or answered with success, and the media types that are its archives.
fn bodies(document: &Value) -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    for (_, _, operation) in operations_of(document) {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        let answers = operation["responses"].as_object().unwrap().iter();
        let sent = [("sent", &operation["requestBody"])].into_iter();
        let all = answers.map(|(status, it)| (status.as_str(), it)).chain(sent);
        for (place, body) in all {
            for media in body["content"].as_object().into_iter().flatten().map(|(media, _)| media) {
                found.insert((id.clone(), place.to_owned(), media.clone()));
            }
        }
    }
    found
}

/// What generators do not know by its name is called bytes, too.
const ARCHIVES: [&str; 2] = ["application/x-tar", EXPORT];

#[test]
fn the_documents_together_describe_every_form_of_every_body() {
    let all = bodies(&DOCUMENT);
    let described: BTreeSet<_> =
        ApiDocument::ALL.iter().flat_map(|it| bodies(&parsed(*it))).collect();
    let is_archive = |it: &&(String, String, String)| ARCHIVES.contains(&it.2.as_str());
    let missing: Vec<_> = all.difference(&described).collect();
    assert!(missing.iter().all(|it| is_archive(it) && it.1 == "sent"), "{missing:?}");
    for (id, place, media) in described.difference(&all) {
        let has_archive = all.iter().filter(is_archive).any(|it| (&it.0, &it.1) == (id, place));
        assert!(has_archive && media == "application/octet-stream", "{id} {place} {media}");
    }
    let ids = |of: &Value| -> BTreeSet<String> {
        operations_of(of)
            .iter()
            .map(|it| it.2["operationId"].as_str().unwrap().to_owned())
            .collect()
    };
    let (json, agentrail) = (ids(&parsed(ApiDocument::Json)), ids(&parsed(ApiDocument::Agentrail)));
    assert!(json.is_disjoint(&agentrail) && agentrail.len() == 39);
    assert_eq!(&json | &agentrail, ids(&DOCUMENT));
}

#[test]
fn each_document_has_one_form_of_each_body_and_nothing_that_it_does_not_use() {
    for document in ApiDocument::ALL {
        let (form, other) = match document {
            ApiDocument::MessagePack => (MSGPACK, JSON),
            _ => (JSON, MSGPACK),
        };
        let text = document.text();
        let found = bodies(&parsed(document));
        assert!(found.iter().any(|it| it.2 == form), "{document:?}");
        assert_eq!(found.iter().find(|it| it.2 == other), None);
        assert_eq!(text.contains("\"x-msgpack\""), document == ApiDocument::MessagePack);
        let document = parsed(document);
        for kind in ["schemas", "responses"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                let reference = format!("\"#/components/{kind}/{name}\"");
                assert!(text.contains(&reference), "{reference}");
            }
        }
        let operations = operations_of(&document);
        for tag in document["tags"].as_array().unwrap() {
            assert!(operations.iter().any(|it| it.2["tags"][0] == tag["name"]), "{tag}");
        }
    }
}

#[tokio::test]
async fn every_documented_operation_is_served() {
    let server = Server::keyless().await;
    let all = operations();
    let again = all.iter().filter(|it| it.2["tags"][0] == "agent-server" && it.0 != "/");
    let below_uuid = again.map(|(path, method, _)| (format!("/uuid{path}"), method.clone()));
    let own = all.iter().map(|(path, method, _)| (path.clone(), method.clone()));
    for (path, method) in own.chain(below_uuid) {
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
    let (_, page) = source.split_once("pub(crate) fn routes()").unwrap();
    assert_eq!(page.matches("routes!(").count(), operations().len());
    // The routes of the Agent Server a second time, and the files of the console: their guides tell of them.
    let again = ".nest(UUID_BASE, by_alias.layer(Extension(ShownIds::Aliases)))";
    let layers = include_str!("../../src/http/layers.rs");
    assert!(!layers.contains("routes!("));
    let others = format!("{source}{layers}");
    let others = others.replacen(again, "", 1).replacen(".merge(console::routes())", "", 1);
    for direct in [".route(", ".nest(", ".merge(", ".route_service("] {
        assert!(!others.contains(direct), "{direct} makes routes that are not documented");
    }
}

const EXPORT: &str = "application/vnd.threadkeep.export";

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
        let is_raw = ["multipart/form-data", "application/x-tar", EXPORT]
            .iter()
            .any(|it| content[it].is_object());
        let is_file = operation["responses"]["200"]["content"][EXPORT].is_object();
        if tag == "agent-server" {
            // In JSON alone, and some without a body.
            assert!(content.is_null() || content[JSON]["example"].is_object(), "{name}");
            assert!(content[MSGPACK].is_null(), "{name}");
            continue;
        }
        if method == "POST" && !is_raw && !is_file {
            assert!(content[JSON]["example"].is_object(), "{name}");
            for media in [JSON, "application/msgpack"] {
                assert!(content[media]["schema"].is_object(), "{name} {media}");
                assert!(operation["responses"]["200"]["content"][media].is_object(), "{name}");
            }
        }
    }
}

/// What an operation does; the rest of its id says to what.
const VERBS: [&str; 38] = [
    "abort", "acquire", "add", "append", "begin", "break", "commit", "compact", "complete", "copy",
    "count", "create", "delete", "download", "edit", "export", "find", "follow", "fork", "get",
    "glob", "grep", "import", "inspect", "list", "load", "log", "mint", "move", "narrow", "open",
    "prune", "put", "read", "record", "release", "renew", "restore",
];
const MORE_VERBS: [&str; 16] = [
    "call", "revoke", "rewind", "rotate", "run", "search", "stage", "stat", "store", "stream",
    "take", "update", "upload", "wait", "write", "whoami",
];

#[test]
fn every_operation_has_an_id_that_makes_a_good_name_of_a_method() {
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap();
        let words: Vec<&str> = id
            .trim_start_matches("agentrail_")
            .trim_start_matches("agent_server_")
            .split('_')
            .collect();
        let legal = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_lowercase());
        assert!(words.iter().all(legal), "{method} {path}: {id}");
        let verb = words[0];
        let is_verb = VERBS.contains(&verb) || MORE_VERBS.contains(&verb);
        assert!(is_verb, "{method} {path}: {id} begins with no verb");
        // One word would be a keyword of some language, and says too little.
        assert!(words.len() > 1 || verb == "whoami", "{method} {path}: {id}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let found = document.pointer(reference.trim_start_matches('#'));
            assert!(found.is_some(), "{reference}");
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|it| walk(document, it)),
            Value::Array(items) => items.iter().for_each(|it| walk(document, it)),
            _ => {}
        }
    }
    for document in [DOCUMENT.clone()].into_iter().chain(ApiDocument::ALL.map(parsed)) {
        walk(&document, &document);
    }
}

/// Who sends null where exact JSON or null is taken would be told that it is neither: it fits both.
#[test]
fn nothing_fits_two_of_alternatives_that_exclude_each_other() {
    fn walk(value: &Value) {
        let fits_all = |it: &Value| it["$ref"] == "#/components/schemas/Exact";
        let all = value.get("oneOf").and_then(Value::as_array);
        assert!(!all.is_some_and(|all| all.iter().any(fits_all)), "{value}");
        match value {
            Value::Object(fields) => fields.values().for_each(walk),
            Value::Array(items) => items.iter().for_each(walk),
            _ => {}
        }
    }
    walk(&DOCUMENT);
}

/// Generators of types take a field with a default for one that is always there, also where it is sent.
#[test]
fn no_field_of_a_body_has_a_default() {
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        for (field, it) in schema["properties"].as_object().into_iter().flatten() {
            assert!(it.get("default").is_none(), "{name}.{field}");
        }
    }
}

#[test]
fn every_link_takes_fields_that_are_there_to_fields_that_are_taken() {
    let document = parsed(ApiDocument::Json);
    let schema = |content: &Value| {
        let reference = content[JSON]["schema"]["$ref"].as_str().unwrap_or("#/none");
        document.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default()
    };
    let all = operations_of(&document);
    let mut count = 0;
    for (_, _, operation) in &all {
        let answers = operation["responses"].as_object().unwrap().values();
        let links = answers.flat_map(|it| {
            it["links"].as_object().into_iter().flatten().map(move |(name, link)| (it, name, link))
        });
        for (answer, name, link) in links {
            let (_, _, other) =
                all.iter().find(|it| it.2["operationId"] == link["operationId"]).unwrap();
            let body = schema(&other["requestBody"]["content"]);
            let parameters = other["parameters"].as_array().cloned().unwrap_or_default();
            let fields = link["x-request-body"].as_object().into_iter().flatten();
            for (field, from) in fields.chain(link["parameters"].as_object().into_iter().flatten())
            {
                let is_parameter = parameters.iter().any(|it| it["name"] == *field);
                assert!(is_parameter || body["properties"][field].is_object(), "{name}: {field}");
                let (place, field) = from.as_str().unwrap().split_once(".body#/").unwrap();
                let source = if place == "$request" {
                    &operation["requestBody"]["content"]
                } else {
                    &answer["content"]
                };
                assert!(schema(source)["properties"][field].is_object(), "{name}: {from}");
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count}");
}

#[tokio::test]
async fn the_media_type_that_earlier_versions_had_to_be_asked_for_changes_nothing() {
    let server = Server::keyless().await;
    let answer = server.get("/openapi.json?media_type=application/json").await.ok();
    assert_eq!(String::from_utf8(answer.body).unwrap(), ApiDocument::Json.text());
    for (query, field) in [("media_type=text/html", "media_type"), ("form=plain", "form")] {
        let answer = server.get(&format!("/openapi.json?{query}")).await;
        assert_eq!((answer.problem(), answer.field()), ((422, "invalid".into()), field.into()));
    }
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

/// The document is made at the first request for it, on the stack of a worker.
#[tokio::test]
async fn the_routes_are_built_on_half_the_stack_of_a_worker() {
    const WORKER: usize = 2 << 20;
    let app = Server::keyless().await.app;
    let build = move || drop(http::router(&app));
    std::thread::Builder::new().stack_size(WORKER / 2).spawn(build).unwrap().join().unwrap();
}

#[tokio::test]
async fn the_documents_and_their_page_are_served() {
    let server = Server::keyless().await;
    for document in ApiDocument::ALL {
        let answer = server.get(document.path()).await.ok();
        assert_eq!(String::from_utf8(answer.body).unwrap(), document.text());
    }
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
            None => {
                let is_document = ApiDocument::ALL.iter().any(|it| it.path()[1..] == **link);
                assert!(is_document || *link == "data:,", "{link}");
            }
        }
    }
    assert!(ApiDocument::ALL.iter().all(|it| links.contains(&it.path()[1..])));
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
