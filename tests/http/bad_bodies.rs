//! Tests every operation that takes JSON with bodies that none takes, and with each of its fields as null and as something else: the answer
//! says what is wrong and where, never that the server failed, and nothing is written. Entries of sessions have a limit of depth.

use serde_json::{Map, Value, json};

use crate::agent_server::TEXT;
use crate::server::{Answer, DOCUMENT, JSON};
use crate::sessions::World;

struct Operation {
    method: String,
    path: String,
    name: String,
    example: Map<String, Value>,
    schema: Value,
}

impl Operation {
    /// Of the Agent Server's wire: a body is JSON whatever its type says, and fields that it does not know are let be.
    fn is_of_wire(&self) -> bool {
        self.name.starts_with("agent_server")
    }

    async fn send(&self, world: &World, media: &str, body: &[u8]) -> Answer {
        let is_of_operators = self.path.starts_with("/v1/operator/");
        let key = if is_of_operators { &world.operator } else { &world.key };
        let headers = [("content-type", media), ("x-api-key", key.as_str())];
        world.server.send(&self.method, &self.path, &headers, body.to_vec()).await
    }
}

/// All that take JSON.
fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = &operation["requestBody"]["content"][JSON];
            let Some(example) = content["example"].as_object() else { continue };
            let name = operation["operationId"].as_str().unwrap().to_owned();
            let path = path.replace("{thread_id}", "t").replace(['{', '}'], "");
            let schema = content["schema"].clone();
            all.push(Operation {
                method: method.to_uppercase(),
                path,
                name,
                example: example.clone(),
                schema,
            });
        }
    }
    all
}

/// The fields of a schema, through its reference.
fn fields(schema: &Value) -> Vec<String> {
    let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    let schema = name.map_or(schema, |it| &DOCUMENT["components"]["schemas"][it]);
    schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

/// Rows of all tables in which a call could leave something. The act that made the key is older than the audit log keeps.
async fn rows(world: &World) -> u64 {
    let counts = ["/v1/threads/count", "/v1/store/count"];
    let mut all = 0;
    for path in counts {
        all += world.call(path, &json!({})).await.ok().json()["count"].as_u64().unwrap();
    }
    for (path, list) in [
        ("/v1/keys", "keys"),
        ("/v1/tokens", "tokens"),
        ("/v1/snapshots/list", "snapshots"),
        ("/v1/audit?since=1971-01-01T00:00:00Z", "events"),
    ] {
        let answer = if path == "/v1/snapshots/list" {
            world.call(path, &json!({})).await
        } else {
            world.get(path).await
        };
        all += answer.ok().json()[list].as_array().unwrap().len() as u64;
    }
    all += world.call("/v1/sessions/kinds", &json!({})).await.ok().json()["kinds"]
        .as_array()
        .unwrap()
        .len() as u64;
    all
}

fn is_refused(answer: &Answer) -> bool {
    if answer.status < 400 {
        return false;
    }
    let (status, code) = answer.problem();
    // Some of the wire look at their path first, and take no body at all.
    let codes = ["malformed_body", "invalid", "needs_graph", "assistant_not_found"];
    (400..500).contains(&status) && codes.contains(&code.as_str())
}

#[tokio::test]
async fn a_body_that_no_operation_takes_is_refused_by_each_and_writes_nothing() {
    let world = World::new().await;
    let before = rows(&world).await;
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let operations = operations();
    assert!(operations.len() >= 90, "{}", operations.len());
    for operation in &operations {
        // A body that is an entry has any names.
        let field = fields(&operation.schema).into_iter().next();
        let doubled = field.map_or("".into(), |it| format!(r#"{{"{it}":{{}},"{it}":{{}}}}"#));
        let texts = [
            "{",
            "nothing",
            "[]",
            "null",
            "1",
            "true",
            r#""text""#,
            r#"{"a":NaN}"#,
            // The wire lets be what it does not know.
            if operation.is_of_wire() { "{" } else { &deep },
            &doubled,
        ];
        let bodies =
            texts.iter().map(|it| it.as_bytes()).chain([&b"{}\xff"[..], b"\xef\xbb\xbf{}", b"\0"]);
        for body in bodies {
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let answer = operation.send(&world, JSON, body).await;
            assert!(is_refused(&answer), "{} {shown}: {answer:?}", operation.name);
        }
        let whole = Value::Object(operation.example.clone()).to_string();
        let answer = operation
            .send(&world, TEXT, if operation.is_of_wire() { b"{" } else { whole.as_bytes() })
            .await;
        let expected = if operation.is_of_wire() { "invalid" } else { "unsupported_media_type" };
        let code = answer.problem().1;
        assert!(
            code == expected || operation.is_of_wire() && code == "needs_graph",
            "{}: {code}",
            operation.name
        );
    }
    assert_eq!(rows(&world).await, before);
}

#[tokio::test]
async fn each_field_as_null_or_of_another_type_fails_nothing() {
    let world = World::new().await;
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!("\0"),
        json!(""),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({"a": {"b": null}}),
    ];
    let mut asked = 0;
    for operation in operations() {
        for field in fields(&operation.schema) {
            for other in &others {
                let mut body = operation.example.clone();
                body.insert(field.clone(), other.clone());
                let body = Value::Object(body).to_string();
                let answer = operation.send(&world, JSON, body.as_bytes()).await;
                assert!(answer.status < 500, "{} {body}: {answer:?}", operation.name);
                if answer.status == 422 && answer.problem().1 == "invalid" {
                    assert!(!answer.field().is_empty(), "{} {body}: {answer:?}", operation.name);
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 3_000, "{asked}");
}

#[tokio::test]
async fn an_entry_is_as_deep_as_every_client_reads() {
    let it = World::new().await;
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let append =
        |data: &str| format!(r#"{{"kind":"claude","key":["s"],"entries":[{{"data":{data}}}]}}"#);
    let send = async |path: &str, body: String| {
        let headers = [("content-type", JSON), ("x-api-key", it.key.as_str())];
        it.server.send("POST", path, &headers, body.into_bytes()).await
    };
    send("/v1/sessions/append", append(&nested(500))).await.ok();
    for depth in [501, 100_000] {
        let answer = send("/v1/sessions/append", append(&nested(depth))).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(
            (answer.field(), answer.json()["limit"].as_u64()),
            ("entries[0].data".into(), Some(500))
        );
        let skills = send("/agentrail/v1/t/acme/s/s/skill-logs", nested(depth)).await;
        skills.assert_problem(422, "invalid");
    }
    let answer =
        it.call("/v1/sessions/streams", &json!({"kind": "claude", "key": ["s"]})).await.ok().json();
    assert_eq!(answer["streams"][0]["head"], 1);
}
