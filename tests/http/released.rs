//! Tests the API against the last release: older clients find everything that they use, or the version announces the break.
//! The test compares all served documents together, because moving an operation to another document changes nothing on the wire.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::compatibility::{breaks, may_break};
use crate::server::DOCUMENT;

/// Was for everybody who reaches the server, which told strangers how busy it is: now for keys, or on a listener of its own.
const CLOSED: &str = "GET /metrics ";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn file() -> PathBuf {
    root().join("openapi/released.json")
}

fn released() -> Value {
    serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap()
}

fn version(document: &Value) -> &str {
    document["info"]["version"].as_str().unwrap()
}

#[test]
fn what_clients_of_the_last_release_rely_on_is_there() {
    let released = released();
    let mut found = breaks(&released, &DOCUMENT);
    found.retain(|it| !it.starts_with(CLOSED));
    assert!(
        found.is_empty() || may_break(version(&released), version(&DOCUMENT)),
        "older clients break, and the version does not say so:\n{}",
        found.join("\n")
    );
}

#[test]
fn the_released_document_is_that_of_the_last_release() {
    if std::env::var_os("UPDATE_RELEASED").is_some() {
        let text = serde_json::to_string_pretty(&*DOCUMENT).unwrap() + "\n";
        std::fs::write(file(), text).unwrap();
    }
    let changes = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let headings = changes.lines().filter_map(|it| it.strip_prefix("## "));
    let last =
        headings.filter_map(|it| it.split_whitespace().next()).find(|it| *it != "Unreleased");
    assert_eq!(Some(version(&released())), last, "UPDATE_RELEASED=1 at a release");
}

#[test]
fn the_present_document_breaks_nothing_of_itself() {
    assert_eq!(breaks(&DOCUMENT, &DOCUMENT), [""; 0]);
}

/// One operation, with a body that is sent and one that is received.
fn api(sent: Value, received: Value) -> Value {
    let body = |schema: Value| json!({"application/json": {"schema": schema}});
    json!({
        "paths": {"/v1/things": {"post": {
            "operationId": "put_thing", "security": [{"bearer": []}],
            "parameters": [{"name": "dry", "in": "query", "required": false, "schema": {"type": "boolean"}}],
            "requestBody": {"required": true, "content": body(json!({"$ref": "#/components/schemas/Sent"}))},
            "responses": {"200": {"content": body(json!({"$ref": "#/components/schemas/Received"}))}}
        }}},
        "components": {"schemas": {"Sent": sent, "Received": received}}
    })
}

fn object(fields: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": fields, "required": required})
}

fn thing() -> Value {
    let kind = json!({"type": "string", "enum": ["a", "b"]});
    let size = json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9});
    object(
        json!({"kind": kind, "size": size, "all": {"type": "array", "items": {"type": "string"}}}),
        &["kind"],
    )
}

/// What breaks when the schema of both bodies becomes this, on the way to the server and back.
fn changed(new: &Value) -> (Vec<String>, Vec<String>) {
    let before = api(thing(), thing());
    let sent = breaks(&before, &api(new.clone(), thing()));
    (sent, breaks(&before, &api(thing(), new.clone())))
}

#[track_caller]
fn assert_breaks(change: impl Fn(&mut Value), sent: &str, received: &str) {
    let mut new = thing();
    change(&mut new);
    let (found_sent, found_received) = changed(&new);
    for (found, expected) in [(found_sent, sent), (found_received, received)] {
        match expected {
            "" => assert_eq!(found, [""; 0]),
            words => {
                assert!(found.len() == 1 && found[0].ends_with(words), "{found:?} is not {words}");
            }
        }
    }
}

#[test]
fn a_field_that_goes_breaks_both_ways_and_one_that_comes_breaks_none() {
    assert_breaks(
        |it| drop(it["properties"].as_object_mut().unwrap().remove("size")),
        ".size is gone",
        ".size is gone",
    );
    assert_breaks(|it| it["properties"]["new"] = json!({"type": "string"}), "", "");
}

#[test]
fn required_matters_to_who_has_to_send_or_may_rely() {
    assert_breaks(|it| it["required"] = json!(["kind", "size"]), ".size is required now", "");
    assert_breaks(|it| it["required"] = json!([]), "", ".kind may be absent now");
}

#[test]
fn types_narrow_for_what_is_sent_and_widen_for_what_is_received() {
    let narrower = r#".size was ["integer", "null"] and is ["integer"]"#;
    assert_breaks(|it| it["properties"]["size"]["type"] = json!("integer"), narrower, "");
    let wider = r#".size was ["integer", "null"] and is ["integer", "null", "string"]"#;
    assert_breaks(
        |it| it["properties"]["size"]["type"] = json!(["integer", "null", "string"]),
        "",
        wider,
    );
    assert_breaks(
        |it| it["properties"]["size"]["type"] = json!(["number", "null"]),
        "",
        r#".size was ["integer", "null"] and is ["number", "null"]"#,
    );
    let other = r#".all[] was ["string"] and is ["integer"]"#;
    assert_breaks(|it| it["properties"]["all"]["items"] = json!({"type": "integer"}), other, other);
}

#[test]
fn values_and_bounds_too() {
    let values = ".kind has other values";
    assert_breaks(|it| it["properties"]["kind"]["enum"] = json!(["a"]), values, "");
    assert_breaks(|it| it["properties"]["kind"]["enum"] = json!(["a", "b", "c"]), "", values);
    assert_breaks(
        |it| it["properties"]["size"]["maximum"] = json!(8),
        ".size has a narrower maximum",
        "",
    );
    assert_breaks(|it| it["properties"]["size"]["minimum"] = json!(0), "", "");
    assert_breaks(
        |it| it["properties"]["all"]["maxItems"] = json!(3),
        ".all has a narrower maxItems",
        "",
    );
    assert_breaks(
        |it| it["additionalProperties"] = json!(false),
        "takes no other fields any more",
        "",
    );
}

#[test]
fn alternatives_have_to_be_known_to_who_gets_them() {
    let one = json!({"type": "string"});
    let two = json!({"oneOf": [{"type": "string"}, {"type": "integer"}]});
    let of = |size: &Value| object(json!({"size": size}), &[]);
    let (narrow, wide) = (api(of(&one), of(&one)), api(of(&two), of(&one)));
    assert_eq!(breaks(&narrow, &wide), [""; 0]);
    assert_eq!(
        breaks(&wide, &narrow),
        ["POST /v1/things application/json.size has other alternatives"]
    );
    let told = api(of(&one), of(&two));
    assert_eq!(
        breaks(&narrow, &told),
        ["POST /v1/things 200 application/json.size has other alternatives"]
    );
    assert_eq!(breaks(&told, &narrow), [""; 0]);
}

#[test]
fn operations_parameters_bodies_and_answers_stay() {
    let before = api(thing(), thing());
    let operation = "/paths/~1v1~1things/post";
    let with = |change: &dyn Fn(&mut Value)| {
        let mut after = before.clone();
        change(after.pointer_mut(operation).unwrap());
        breaks(&before, &after)
    };
    let at = "POST /v1/things";
    assert_eq!(breaks(&before, &json!({"paths": {}})), [format!("{at} is gone")]);
    let other = with(&|it| it["operationId"] = json!("other"));
    assert_eq!(other, [format!("{at} has another operationId")]);
    let permission = with(&|it| it["x-permission"] = json!("tenant"));
    assert_eq!(permission, [format!("{at} needs another permission")]);
    let (mut whole, mut reads) = (before.clone(), before.clone());
    for (api, name) in [(&mut whole, "tenant"), (&mut reads, "tenant:read")] {
        api.pointer_mut(operation).unwrap()["x-permission"] = json!(name);
    }
    assert_eq!(breaks(&whole, &reads), [""; 0], "who had the tenant may read it");
    assert_eq!(breaks(&reads, &whole), [format!("{at} needs another permission")]);
    assert_eq!(
        with(&|it| it["parameters"] = json!([])),
        [format!("{at} parameter \"dry\" is gone")]
    );
    let required = with(&|it| it["parameters"][0]["required"] = json!(true));
    assert_eq!(required, [format!("{at} parameter \"dry\" is required now")]);
    let new = json!({"name": "who", "in": "query", "required": true, "schema": {}});
    let added = with(&|it| it["parameters"].as_array_mut().unwrap().push(new.clone()));
    assert_eq!(added, [format!("{at} has the new required parameter \"who\"")]);
    assert_eq!(
        with(&|it| it["requestBody"] = Value::Null),
        [format!("{at} takes no body any more")]
    );
    assert_eq!(
        with(&|it| it["responses"] = json!({"204": {}})),
        [format!("{at} does not answer 200 any more")]
    );
    let media = with(&|it| it["responses"]["200"]["content"] = json!({}));
    assert_eq!(media, [format!("{at} 200 application/json is gone")]);
    let mut open = before.clone();
    open.pointer_mut(operation).unwrap()["security"] = json!([]);
    assert_eq!(breaks(&open, &before), [format!("{at} needs a key now")]);
    assert_eq!(breaks(&before, &open), [""; 0]);
}

#[test]
fn a_version_may_break_when_its_first_number_that_counts_is_raised() {
    assert!(
        may_break("0.1.4", "0.2.0") && may_break("1.4.0", "2.0.0") && may_break("0.9.0", "1.0.0")
    );
    assert!(
        !may_break("0.1.4", "0.1.5")
            && !may_break("1.4.0", "1.5.0")
            && !may_break("0.2.0", "0.1.9")
    );
}
