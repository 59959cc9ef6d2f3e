//! Tests hostile input: each kind has its typed answer, names the field, and stores nothing.

use serde_json::{Value, json};

use crate::server::{JSON, MSGPACK, Server};

const COMMIT: &str = "/v1/checkpoints/commit";
const LIST: &str = "/v1/checkpoints/list";
const DEPTH: usize = 10_000;

/// MessagePack of a JSON document; texts that begin with `bin:` become `bin`.
fn msgpack(value: &Value) -> Vec<u8> {
    fn write(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::String(text) => match text.strip_prefix("bin:") {
                Some(data) => {
                    out.extend([0xc6]);
                    out.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
                    out.extend(data.as_bytes());
                }
                None => out.extend(rmp_serde::to_vec(text).unwrap()),
            },
            Value::Array(items) => {
                out.extend([0xdd]);
                out.extend(u32::try_from(items.len()).unwrap().to_be_bytes());
                for item in items {
                    write(item, out);
                }
            }
            Value::Object(fields) => {
                out.extend([0xdf]);
                out.extend(u32::try_from(fields.len()).unwrap().to_be_bytes());
                for (name, value) in fields {
                    out.extend(rmp_serde::to_vec(name).unwrap());
                    write(value, out);
                }
            }
            Value::Number(number) => {
                out.extend(rmp_serde::to_vec(&number.as_i64().unwrap()).unwrap());
            }
            other => out.extend(rmp_serde::to_vec(other).unwrap()),
        }
    }
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn good() -> Value {
    json!({"thread_id": "t", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": "bin:{\"v\":4,\"channel_versions\":{\"m\":1}}", "metadata": "bin:{}",
        "values": [{"channel": "m", "version": "bin:1", "tag": "msgpack", "data": "bin:x"}]
    }}]})
}

fn good_with(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut body = good();
    change(&mut body);
    msgpack(&body)
}

#[track_caller]
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|it| it == from).expect("the part is there");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// What is at fault in a well-formed body; [`MALFORMED`] ones are at fault as a whole.
type Fault = Option<&'static str>;
const MALFORMED: Fault = None;

async fn expect(path: &str, media: &str, cases: Vec<(&str, Vec<u8>, Fault)>) {
    let server = Server::keyless().await;
    for (name, body, fault) in cases {
        let answer = server.post_bytes(path, media, body).await;
        let expected = match fault {
            None => (400, "malformed_body".to_owned(), "body".to_owned()),
            Some(field) => (422, "invalid".to_owned(), field.to_owned()),
        };
        let (status, code) = answer.problem();
        assert_eq!((status, code, answer.field()), expected, "{name}: {}", answer.json());
        assert!(server.storage.commits.lock().unwrap().is_empty(), "{name}: something was stored");
    }
}

#[tokio::test]
async fn the_good_request_is_accepted() {
    let server = Server::keyless().await;
    server.post_bytes(COMMIT, MSGPACK, msgpack(&good())).await.ok();
}

#[tokio::test]
async fn malformed_message_pack_is_a_bad_request() {
    let whole = msgpack(&good());
    let truncated = whole[..whole.len() - 3].to_vec();
    let utf8 = replaced(&whole, b"thread_id\xa1t", b"thread_id\xa1\xff");
    let exact_utf8 = replaced(&whole, b"{}", b"\xff\xfe");
    expect(
        COMMIT,
        MSGPACK,
        vec![
            ("empty", vec![], MALFORMED),
            ("truncated", truncated, MALFORMED),
            ("trailing bytes", [&whole[..], b"\xc0"].concat(), MALFORMED),
            ("a byte that is never used", vec![0xc1], MALFORMED),
            ("wrong UTF-8 in a string", utf8, MALFORMED),
            ("wrong UTF-8 in exact text", exact_utf8, MALFORMED),
            ("a text of 4 GiB", b"\x81\xa9thread_id\xdb\xff\xff\xff\xff".into(), MALFORMED),
            ("a list of 4 G entries", b"\x81\xa3ops\xdd\xff\xff\xff\xff".into(), MALFORMED),
            ("a map of 4 G entries", b"\xdf\xff\xff\xff\xff".into(), MALFORMED),
        ],
    )
    .await;
}

#[tokio::test]
async fn message_pack_of_the_wrong_shape_is_invalid_and_names_the_field() {
    let op = "/ops/0/checkpoint";
    let set = |path: &'static str, value: Value| {
        move |body: &mut Value| *body.pointer_mut(path).unwrap() = value
    };
    let push =
        |value: Value| move |body: &mut Value| body["ops"].as_array_mut().unwrap().push(value);
    let remove = |path: &'static str, name: &'static str| {
        move |body: &mut Value| {
            body.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(name);
        }
    };
    let value = "/ops/0/checkpoint/values/0";
    expect(
        COMMIT,
        MSGPACK,
        vec![
            ("an array for the document", vec![0x91, 0x01], Some("body")),
            ("a number for a text", good_with(set("/thread_id", json!(5))), Some("thread_id")),
            ("bin for a text", good_with(set("/thread_id", json!("bin:t"))), Some("thread_id")),
            (
                "an extension for a text",
                b"\x81\xa9thread_id\xc7\x05\x01hello".into(),
                Some("thread_id"),
            ),
            ("missing", good_with(remove("", "thread_id")), Some("thread_id")),
            (
                "missing inside",
                good_with(remove(value, "tag")),
                Some("ops[0].checkpoint.values[0].tag"),
            ),
            ("missing data", good_with(remove(value, "data")), Some("values.data")),
            ("unknown", good_with(|it| it["zz"] = json!(1)), Some("zz")),
            ("unknown op", good_with(push(json!({"zz": 1}))), Some("ops[1]")),
            ("no op", good_with(push(json!({}))), Some("ops[1]")),
            (
                "two ops in one",
                good_with(push(json!({"checkpoint": 1, "writes": 2}))),
                Some("ops[1]"),
            ),
            (
                "text for exact",
                good_with(|it| it.pointer_mut(op).unwrap()["metadata"] = json!("{}")),
                Some("ops[0].checkpoint.metadata"),
            ),
            (
                "exact that is not JSON",
                good_with(|it| it.pointer_mut(op).unwrap()["skeleton"] = json!("bin:{")),
                Some("skeleton"),
            ),
            (
                "an id over its limit",
                good_with(set("/thread_id", json!("x".repeat(513)))),
                Some("thread_id"),
            ),
            ("NUL in an id", good_with(set("/thread_id", json!("a\0b"))), Some("thread_id")),
            (
                "NUL in a generation",
                good_with(|it| it["generation"] = json!("\0")),
                Some("generation"),
            ),
            ("no ops at all", good_with(set("/ops", json!([]))), Some("ops")),
            (
                "too many ops",
                good_with(|it| it["ops"] = vec![it["ops"][0].clone(); 257].into()),
                Some("ops"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn deep_nesting_is_refused_and_crashes_nothing() {
    let brackets = ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat();
    let objects = ["{\"a\":".repeat(DEPTH), "1".into(), "}".repeat(DEPTH)].concat();
    let exact = |name: &'static str, text: &str| {
        good_with(|it| it["ops"][0]["checkpoint"][name] = json!(format!("bin:{text}")))
    };
    let version = good_with(|it| {
        it["ops"][0]["checkpoint"]["values"][0]["version"] = json!(format!("bin:{brackets}"));
    });
    expect(
        COMMIT,
        MSGPACK,
        vec![
            ("lists", [vec![0x91; DEPTH], vec![0xc0]].concat(), Some("body")),
            ("maps", b"\x81\xa9thread_id".repeat(DEPTH), Some("thread_id")),
            ("lists in ops", [&b"\x81\xa3ops"[..], &vec![0x91; DEPTH]].concat(), Some("ops[0]")),
            ("skeleton", exact("skeleton", &objects), Some("skeleton")),
            ("metadata", exact("metadata", &objects), Some("metadata")),
            ("version", version, Some("values.version")),
        ],
    )
    .await;
    let json = |text: String| text.into_bytes();
    let checkpoint = format!(
        r#"{{"thread_id":"t","ops":[{{"checkpoint":{{"checkpoint_id":"1","values":[],"metadata":{{}},"skeleton":{objects}}}}}]}}"#
    );
    expect(
        COMMIT,
        JSON,
        vec![
            ("document", json(brackets.clone()), Some("body")),
            ("text", json(format!(r#"{{"thread_id":{brackets}}}"#)), Some("thread_id")),
            ("unknown field", json(format!(r#"{{"zz":{brackets}}}"#)), Some("zz")),
            ("skeleton", json(checkpoint), Some("skeleton")),
        ],
    )
    .await;
    expect(
        LIST,
        JSON,
        vec![("filter", json(format!(r#"{{"filter":{objects}}}"#)), Some("filter"))],
    )
    .await;
}

#[tokio::test]
async fn malformed_and_misshapen_json_have_their_answers() {
    let json = |text: &str| text.as_bytes().to_vec();
    let write = |data: &str| {
        let op = format!(r#"{{"idx":0,"channel":"c","tag":"x","data":{data}}}"#);
        json(&format!(
            r#"{{"thread_id":"t","ops":[{{"writes":{{"checkpoint_id":"1","task_id":"","writes":[{op}]}}}}]}}"#
        ))
    };
    expect(
        COMMIT,
        JSON,
        vec![
            ("empty", vec![], MALFORMED),
            ("truncated", json(r#"{"thread_id":"t""#), MALFORMED),
            ("MessagePack", msgpack(&good()), MALFORMED),
            ("not JSON", json("hello"), MALFORMED),
            ("a list", json("[1]"), Some("body")),
            ("trailing", json(r#"{"thread_id":"t","ops":[]} x"#), MALFORMED),
            ("wrong UTF-8", b"{\"thread_id\":\"\xff\"}".into(), MALFORMED),
            ("a lone surrogate in an id", json(r#"{"thread_id":"\ud800","ops":[]}"#), MALFORMED),
            ("twice", json(r#"{"thread_id":"t","thread_id":"u","ops":[]}"#), Some("thread_id")),
            ("not base64", write("\"%%\""), Some("ops[0].writes.writes[0].data")),
            ("base64 without padding", write("\"YQ\""), Some("ops[0].writes.writes[0].data")),
            ("null data", write("null"), Some("writes.data")),
            (
                "a fraction for a count",
                json(r#"{"thread_id":"t","fence":1.5,"ops":[]}"#),
                Some("fence"),
            ),
            (
                "a number that is too large",
                json(r#"{"thread_id":"t","fence":9223372036854775808,"ops":[]}"#),
                Some("fence"),
            ),
        ],
    )
    .await;
}
