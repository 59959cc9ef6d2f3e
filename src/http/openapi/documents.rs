//! Builds the documents that are served. Each describes a part of the API with bodies in one form, for generators that know one media type
//! for a body.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::document::whole;

const JSON: &str = "application/json";
const MESSAGE_PACK: &str = "application/msgpack";
const BYTES: &str = "application/octet-stream";
/// Bytes under a name of their own; a route that takes them takes plain bytes too.
const ARCHIVES: [&str; 2] = ["application/x-tar", "application/vnd.threadkeep.export"];
/// Tag of the operations that Agentrail's adapters and its Inspector call.
const AGENTRAIL: &str = "agentrail";
/// How a field differs in MessagePack.
const MARK: &str = "x-msgpack";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiDocument {
    /// Everything but Agentrail's operations, as JSON.
    Json,
    /// Every operation that speaks MessagePack, as MessagePack.
    MessagePack,
    /// Agentrail's operations, as JSON.
    Agentrail,
}

impl ApiDocument {
    pub const ALL: [Self; 3] = [Self::Json, Self::MessagePack, Self::Agentrail];

    /// Where it is served.
    pub fn path(self) -> &'static str {
        match self {
            Self::Json => "/openapi.json",
            Self::MessagePack => "/openapi-msgpack.json",
            Self::Agentrail => "/agentrail/openapi.json",
        }
    }

    /// The document as it is answered and as its file under `openapi/` holds it.
    pub fn text(self) -> &'static str {
        static TEXTS: LazyLock<[String; 3]> = LazyLock::new(|| {
            ApiDocument::ALL.map(|it| {
                let text = serde_json::to_string_pretty(&it.document());
                text.expect("a JSON value always serializes") + "\n"
            })
        });
        &TEXTS[self as usize]
    }

    fn document(self) -> Value {
        let mut document = whole();
        self.keep_operations(&mut document);
        keep_form(
            &mut document["paths"],
            if self == Self::MessagePack { MESSAGE_PACK } else { JSON },
        );
        if self != Self::MessagePack {
            remove_marks(&mut document);
        }
        let (title, about) = self.info();
        document["info"]["title"] = json!(title);
        document["info"]["description"] = json!(about);
        remove_unused(&mut document);
        document
    }

    fn info(self) -> (&'static str, &'static str) {
        match self {
            Self::Json => (
                "threadkeep",
                "Memory for AI agents that outlives their sandbox.\n\nBodies are `application/json`. `/openapi-msgpack.json` has the \
                 same operations with bodies in MessagePack, `/agentrail/openapi.json` those for Agentrail. Unknown fields are \
                 refused; absent and null mean the same. `Content-Encoding` and `Accept-Encoding` with gzip and zstd work \
                 everywhere.",
            ),
            Self::MessagePack => (
                "threadkeep in MessagePack",
                "The operations of `/openapi.json` and `/agentrail/openapi.json` that speak MessagePack, with bodies as \
                 `application/msgpack`, by Content-Type for requests and by Accept for answers. Fields marked `x-msgpack: bin` are \
                 `bin`: exact JSON text and data. Those marked `x-msgpack: str or bin` are a `str`, or a `bin` with the JSON text \
                 of a string that has lone surrogates. Errors are JSON.",
            ),
            Self::Agentrail => (
                "threadkeep for Agentrail",
                "What Agentrail's adapters and its Inspector call, with bodies as `application/json`. The rest of the API is in \
                 `/openapi.json`, bodies in MessagePack are in `/openapi-msgpack.json`.",
            ),
        }
    }

    fn keep_operations(self, document: &mut Value) {
        let Some(paths) = document["paths"].as_object_mut() else { return };
        for item in paths.values_mut().filter_map(Value::as_object_mut) {
            item.retain(|_, operation| self.has(operation));
        }
        paths.retain(|_, item| item.as_object().is_some_and(|it| !it.is_empty()));
    }

    fn has(self, operation: &Value) -> bool {
        let is_agentrails = operation["tags"][0] == AGENTRAIL;
        match self {
            Self::Json => !is_agentrails,
            Self::MessagePack => has_form(operation, MESSAGE_PACK),
            Self::Agentrail => is_agentrails,
        }
    }
}

/// Whether a body of the operation, sent or answered, has the media type.
fn has_form(operation: &Value, media: &str) -> bool {
    let answers = operation["responses"].as_object().into_iter().flat_map(Map::values);
    answers.chain([&operation["requestBody"]]).any(|it| it["content"].get(media).is_some())
}

/// Leaves one form of each body where there is a choice, and names archives as generators know bytes.
fn keep_form(paths: &mut Value, form: &str) {
    let items = paths.as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in items.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if let Some(content) = content_of(operation.get_mut("requestBody")) {
            one_form(content, form);
            for archive in ARCHIVES {
                content.remove(archive).map(|body| content.insert(BYTES.into(), body));
            }
        }
        for answer in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            let Some(content) = content_of(Some(answer)) else { continue };
            one_form(content, form);
            // What is answered has its own name; plain bytes stand beside it for generators that know no other.
            let archive = ARCHIVES.iter().find_map(|it| content.get(*it)).cloned();
            archive.map(|body| content.insert(BYTES.into(), body));
        }
    }
}

fn content_of(body: Option<&mut Value>) -> Option<&mut Map<String, Value>> {
    body?.get_mut("content")?.as_object_mut()
}

fn one_form(content: &mut Map<String, Value>, form: &str) {
    if content.contains_key(form) {
        content.retain(|media, _| media == form);
    }
}

fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove(MARK);
            fields.values_mut().for_each(remove_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_marks),
        _ => {}
    }
}

/// Removes links to operations of other documents, and the tags and components that nothing refers to.
fn remove_unused(document: &mut Value) {
    let operations: HashSet<String> = named(document, "operationId");
    let tags: HashSet<String> = named(document, "tags");
    remove_links(&mut document["paths"], &operations);
    if let Some(all) = document["tags"].as_array_mut() {
        all.retain(|it| it["name"].as_str().is_some_and(|it| tags.contains(it)));
    }
    let mut used = HashSet::new();
    follow(document, &document["paths"], &mut used);
    for kind in ["schemas", "responses"] {
        let prefix = format!("#/components/{kind}/");
        if let Some(all) = document["components"][kind].as_object_mut() {
            all.retain(|name, _| used.contains(&format!("{prefix}{name}")));
        }
    }
}

/// The texts that the document's operations have under this key.
fn named(document: &Value, key: &str) -> HashSet<String> {
    let operations = super::document::operations(document).map(|(_, _, it)| &it[key]);
    let texts =
        operations.flat_map(|it| it.as_array().map_or(std::slice::from_ref(it), Vec::as_slice));
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn remove_links(paths: &mut Value, operations: &HashSet<String>) {
    let items = paths.as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in items.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        for answer in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            let Some(answer) = answer.as_object_mut() else { continue };
            let Some(links) = answer.get_mut("links").and_then(Value::as_object_mut) else {
                continue;
            };
            links.retain(|_, it| {
                it["operationId"].as_str().is_some_and(|it| operations.contains(it))
            });
            if links.is_empty() {
                answer.remove("links");
            }
        }
    }
}

/// Collects what is referred to, and what that refers to.
fn follow(document: &Value, value: &Value, used: &mut HashSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str)
                && used.insert(reference.to_owned())
            {
                let found = document.pointer(reference.trim_start_matches('#'));
                follow(document, found.unwrap_or(&Value::Null), used);
            }
            fields.values().for_each(|it| follow(document, it, used));
        }
        Value::Array(items) => items.iter().for_each(|it| follow(document, it, used)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(media: &[&str]) -> Value {
        let all = media.iter().map(|it| ((*it).to_owned(), json!({})));
        json!({"content": all.collect::<Map<_, _>>()})
    }

    fn operation(sent: &[&str], answered: &[&str]) -> Value {
        json!({"/a": {"post": {"requestBody": content(sent), "responses": {"200": content(answered)}}}})
    }

    #[test]
    fn each_body_keeps_one_form_and_an_archive_is_bytes_too() {
        let both = [JSON, MESSAGE_PACK];
        let archive = ["application/x-tar"];
        let kept = |form: &str, sent: &[&str], answered: &[&str]| {
            let mut paths = operation(sent, answered);
            keep_form(&mut paths, form);
            paths
        };
        assert_eq!(kept(JSON, &both, &both), operation(&[JSON], &[JSON]));
        assert_eq!(kept(MESSAGE_PACK, &both, &both), operation(&[MESSAGE_PACK], &[MESSAGE_PACK]));
        assert_eq!(kept(JSON, &archive, &archive), operation(&[BYTES], &[archive[0], BYTES]));
        assert_eq!(
            kept(MESSAGE_PACK, &[BYTES], &["text/plain"]),
            operation(&[BYTES], &["text/plain"])
        );
    }
}
