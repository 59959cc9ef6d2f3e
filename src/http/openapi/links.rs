//! Adds links to the document: fields of one call that another call takes, for people and for programs that test the API. Fields of a body
//! are under `x-request-body`: OpenAPI's own `requestBody` of a link may be an object, but openapi-generator takes text alone.

use serde_json::{Map, Value, json};

/// From an operation to others, with the fields that they take of it: in the address or in the body, as the other has them.
type Links = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// Extension of a link: the fields that go into the body.
const REQUEST_BODY: &str = "x-request-body";

const THREAD: (&str, &str) = ("thread_id", "$request.body#/thread_id");
const NAMESPACE: (&str, &str) = ("namespace", "$request.body#/namespace");
const KEY: (&str, &str) = ("key", "$request.body#/key");
const PATH: (&str, &str) = ("path", "$request.body#/path");
const KIND: (&str, &str) = ("kind", "$request.body#/kind");
const NAME: (&str, &str) = ("name", "$request.body#/name");
const VERSION: (&str, &str) = ("version", "$response.body#/version");
const NEXT: (&str, &str) = ("cursor", "$response.body#/next_cursor");

const ALL: [Links; 20] = [
    (
        "commit_checkpoints",
        &[
            "get_checkpoint",
            "list_checkpoints",
            "get_state",
            "get_thread",
            "get_thread_storage",
            "acquire_lease",
            "delete_thread",
        ],
        &[THREAD],
    ),
    ("commit_checkpoints", &["copy_thread"], &[("source_thread_id", "$request.body#/thread_id")]),
    (
        "acquire_lease",
        &["renew_lease", "release_lease"],
        &[THREAD, ("holder", "$request.body#/holder"), ("fence", "$response.body#/fence")],
    ),
    ("put_item", &["get_item", "delete_item", "list_item_versions"], &[NAMESPACE, KEY]),
    ("put_item", &["get_item_version", "restore_item_version"], &[NAMESPACE, KEY, VERSION]),
    ("put_namespace_setting", &["get_namespace_setting", "delete_namespace_setting"], &[NAMESPACE]),
    ("write_file", &["read_file", "edit_file", "append_file", "stat_file"], &[NAMESPACE, PATH]),
    (
        "begin_upload",
        &["put_upload_part", "get_upload", "complete_upload", "abort_upload"],
        &[("upload_id", "$response.body#/upload_id")],
    ),
    ("create_session", &["append_entries", "list_streams", "delete_session"], &[KIND, KEY]),
    ("append_entries", &["load_entries", "compact_stream"], &[KIND, KEY]),
    ("put_document", &["get_document", "append_document", "delete_document"], &[KIND, KEY, NAME]),
    ("mint_token", &["revoke_token"], &[("token_id", "$response.body#/token_id")]),
    ("put_retention_policy", &["get_retention_policy", "delete_retention_policy"], &[THREAD]),
    (
        "take_snapshot",
        &["get_snapshot", "restore_snapshot", "delete_snapshot"],
        &[("snapshot_id", "$response.body#/snapshot_id")],
    ),
    ("list_checkpoints", &["list_checkpoints"], &[NEXT]),
    ("list_threads", &["list_threads"], &[NEXT]),
    ("search_items", &["search_items"], &[NEXT]),
    ("list_item_versions", &["list_item_versions"], &[NAMESPACE, KEY, NEXT]),
    ("list_sessions", &["list_sessions"], &[NEXT]),
    ("list_snapshots", &["list_snapshots"], &[NEXT]),
];

/// Adds the links to the answers that they begin with.
pub fn add(document: &mut Value) {
    let parameters: Map<String, Value> = super::document::operations(document)
        .map(|(_, _, operation)| {
            let all = operation["parameters"].as_array().into_iter().flatten();
            let names: Vec<Value> = all.map(|it| it["name"].clone()).collect();
            (operation["operationId"].as_str().unwrap_or_default().to_owned(), json!(names))
        })
        .collect();
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in paths.flat_map(|it| it.as_object_mut().into_iter().flat_map(Map::values_mut)) {
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        for (_, others, fields) in ALL.iter().filter(|(from, ..)| *from == id) {
            for other in *others {
                let names = parameters.get(*other).and_then(Value::as_array);
                let link = link(other, fields, names.map_or(&[][..], Vec::as_slice));
                let answers = operation["responses"].as_object_mut().into_iter().flatten();
                for (_, answer) in answers.filter(|(status, _)| status.starts_with('2')) {
                    answer["links"][*other] = link.clone();
                }
            }
        }
    }
}

fn link(other: &str, fields: &[(&str, &str)], parameters: &[Value]) -> Value {
    let (in_address, in_body): (Vec<_>, Vec<_>) =
        fields.iter().partition(|(name, _)| parameters.iter().any(|it| it == name));
    let object = |fields: Vec<(&str, &str)>| -> Map<String, Value> {
        fields.into_iter().map(|(name, from)| (name.to_owned(), json!(from))).collect()
    };
    let mut link = json!({"operationId": other});
    if !in_address.is_empty() {
        link["parameters"] = Value::Object(object(in_address));
    }
    if !in_body.is_empty() {
        link[REQUEST_BODY] = Value::Object(object(in_body));
    }
    link
}
