//! Tests checkpoints through the router: bytes out are bytes in, in both media types; pages; histories.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use threadkeep::domain::checkpoints::checkpoint::Value as Stored;
use threadkeep::domain::checkpoints::history::{Base, Chain, Node};
use threadkeep::domain::names::Tag;

use crate::server::{JSON, MSGPACK, Server};

const COMMIT: &str = "/v1/checkpoints/commit";
const GET: &str = "/v1/checkpoints/get";
const LIST: &str = "/v1/checkpoints/list";
/// NUL, a lone surrogate, 2^70, a fraction, an exponent, odd blanks, keys out of order.
const SKELETON: &str = r#"{"v":4,  "z":"\u0000\ud800","a":1180591620717411303424,"f":1.0,"e":1E400,"channel_versions":{"m":1.0}}"#;

#[derive(Serialize)]
struct CommitOut<'a> {
    thread_id: &'a str,
    ops: Vec<OpOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OpOut<'a> {
    Checkpoint(CheckpointOut<'a>),
}

#[derive(Serialize)]
struct CheckpointOut<'a> {
    checkpoint_id: &'a str,
    skeleton: &'a serde_bytes::Bytes,
    metadata: &'a serde_bytes::Bytes,
    values: Vec<ValueOut<'a>>,
}

#[derive(Serialize)]
struct ValueOut<'a> {
    channel: &'a str,
    version: &'a serde_bytes::Bytes,
    tag: &'a str,
    data: &'a serde_bytes::Bytes,
}

fn packed_commit() -> Vec<u8> {
    let checkpoint = CheckpointOut {
        checkpoint_id: "1",
        skeleton: serde_bytes::Bytes::new(SKELETON.as_bytes()),
        metadata: serde_bytes::Bytes::new(b"{}"),
        values: vec![ValueOut {
            channel: "m",
            version: serde_bytes::Bytes::new(b"1.0"),
            tag: "raw",
            data: serde_bytes::Bytes::new(&[0, 255, 1]),
        }],
    };
    let ops = vec![OpOut::Checkpoint(checkpoint)];
    rmp_serde::to_vec_named(&CommitOut { thread_id: "t", ops }).unwrap()
}

fn text_commit() -> String {
    format!(
        r#"{{"thread_id":"t","ops":[{{"checkpoint":{{"checkpoint_id":"1","skeleton": {SKELETON} ,"metadata":{{}},
        "values":[{{"channel":"m","version":1.0,"tag":"raw","data":"AP8B"}}]}}}}]}}"#
    )
}

fn contains(whole: &[u8], part: &[u8]) -> bool {
    whole.windows(part.len()).any(|it| it == part)
}

#[tokio::test]
async fn bytes_out_are_bytes_in_whichever_way_they_travel() {
    for (media, body) in [(MSGPACK, packed_commit()), (JSON, text_commit().into_bytes())] {
        let server = Server::keyless().await;
        let done = server.post_bytes(COMMIT, media, body).await.ok();
        assert_eq!(done.header("content-type"), Some(JSON));
        assert_eq!(done.json(), json!({"generation": "generation-1"}));
        let ask = br#"{"thread_id":"t"}"#.to_vec();
        let plain = server.post_bytes(GET, JSON, ask.clone()).await.ok();
        assert!(contains(&plain.body, format!("\"skeleton\":{SKELETON},").as_bytes()), "{media}");
        let headers = [("content-type", JSON), ("accept", MSGPACK)];
        let packed = server.send("POST", GET, &headers, ask).await.ok();
        assert_eq!(packed.header("content-type"), Some(MSGPACK));
        let length = u8::try_from(SKELETON.len()).unwrap();
        let skeleton = [&[0xa8][..], b"skeleton", &[0xc4, length], SKELETON.as_bytes()].concat();
        assert!(contains(&packed.body, &skeleton), "{media}");
        assert!(contains(&packed.body, b"\xa4data\xc4\x03\x00\xff\x01"), "{media}");
        let version = server.storage.commits.lock().unwrap();
        let commits = version.values().next().unwrap();
        assert!(format!("{:?}", commits[0].ops[0]).contains("version: b\"1.0\""));
    }
}

#[tokio::test]
async fn absent_and_null_fields_mean_the_same() {
    let server = Server::keyless().await;
    let body = json!({"thread_id": "t", "generation": null, "fence": null, "writer": null, "ops": [{"checkpoint": {
        "checkpoint_ns": null, "checkpoint_id": "1", "parent_checkpoint_id": null, "skeleton": {}, "metadata": {},
        "values": [{"channel": "m", "version": 1, "tag": "empty", "data": null}], "carried": null
    }}]});
    server.post(COMMIT, &body).await.ok();
    let ask =
        json!({"thread_id": "t", "checkpoint_id": null, "have": null, "history_channels": null});
    let found = server.post(GET, &ask).await.ok().json();
    let checkpoint = found["checkpoint"].as_object().unwrap();
    assert!(!checkpoint.contains_key("parent_checkpoint_id"));
    assert_eq!(checkpoint["values"], json!([]));
    assert_eq!(found["generation"], "generation-1");
}

#[tokio::test]
async fn a_checkpoint_that_is_not_there_is_absent_and_no_error() {
    let server = Server::keyless().await;
    let found = server.post(GET, &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(found, json!({"chain": [], "history_channels": []}));
    let ask = json!({"thread_id": "t", "channels": ["m"]});
    let history = server.post("/v1/checkpoints/history", &ask).await.ok().json();
    assert_eq!(history, json!({"bases": [], "chain": []}));
}

#[tokio::test]
async fn any_text_can_be_a_thread_id() {
    let server = Server::keyless().await;
    for id in [".", "..", "a/b", "%2F", "%2E%2E", " ", "ü\u{1f600}", "a?b#c&d=e"] {
        let op = json!({"checkpoint_id": "1", "skeleton": {}, "metadata": {}, "values": []});
        server.post(COMMIT, &json!({"thread_id": id, "ops": [{"checkpoint": op}]})).await.ok();
        let found = server.post(GET, &json!({"thread_id": id})).await.ok().json();
        assert_eq!(found["checkpoint"]["thread_id"], id);
    }
}

#[tokio::test]
async fn pages_follow_each_other_to_the_end() {
    let server = Server::keyless().await;
    let put = |id: usize| {
        json!({"checkpoint": {
            "checkpoint_id": format!("{id:02}"), "skeleton": {}, "metadata": {}, "values": []
        }})
    };
    let ops: Vec<Value> = (0..5).map(put).collect();
    server.post(COMMIT, &json!({"thread_id": "t", "ops": ops})).await.ok();
    let mut seen = Vec::new();
    let mut ask = json!({"thread_id": "t", "limit": 2});
    loop {
        let page = server.post(LIST, &ask).await.ok().json();
        let ids = page["checkpoints"].as_array().unwrap().iter();
        seen.extend(ids.map(|it| it["checkpoint_id"].as_str().unwrap().to_owned()));
        if page["next_cursor"].is_null() {
            break;
        }
        ask["cursor"] = page["next_cursor"].clone();
    }
    assert_eq!(seen, ["04", "03", "02", "01", "00"]);
}

#[tokio::test]
async fn a_listing_asks_the_storage_for_what_fits_and_for_histories_of_one_thread_only() {
    let server = Server::keyless().await;
    let none = server.post(LIST, &json!({"limit": 0})).await.ok().json();
    assert_eq!(none["checkpoints"], json!([]));
    assert!(server.storage.is_untouched(), "a page of nothing asks nobody");
    server.post(LIST, &json!({"limit": 5_000, "filter": {"a": 1}})).await.ok();
    server.post(LIST, &json!({"thread_id": "t", "history_channels": ["m"]})).await.ok();
    server.post(LIST, &json!({"thread_id": "t", "values": false})).await.ok();
    assert_eq!(
        server.storage.calls(),
        [
            "list 1000 Some(Object {\"a\": Number(1)}) None",
            "list 1000 None Some([\"m\"])",
            "list 1000 None None",
        ]
    );
}

fn node(id: &str, parent: Option<&str>) -> Node {
    let value = || Stored::new(Tag::new("raw").unwrap(), Bytes::from(id.to_owned()));
    Node {
        id: id.into(),
        parent: parent.map(Into::into),
        writes: vec![("m".into(), "task".into(), value())],
        bases: vec![Base {
            channel: "b".into(),
            seed: Some(value()),
            writes: vec![("x".into(), value())],
        }],
        ..Node::default()
    }
}

#[tokio::test]
async fn a_client_that_holds_the_older_part_of_a_chain_gets_the_newer_part() {
    let server = Server::keyless().await;
    let op = json!({"checkpoint_id": "4", "skeleton": {}, "metadata": {}, "values": []});
    server.post(COMMIT, &json!({"thread_id": "t", "ops": [{"checkpoint": op}]})).await.ok();
    let chain = |ids: &[&str]| {
        let mut chain = Chain::default();
        let nodes = ids.iter().enumerate().map(|(at, id)| node(id, ids.get(at + 1).copied()));
        chain.add(nodes.collect());
        chain
    };
    let ids = |answer: &Value| -> Vec<String> {
        let nodes = answer["chain"].as_array().unwrap().iter();
        nodes.map(|it| it["checkpoint_id"].as_str().unwrap().to_owned()).collect()
    };
    *server.storage.chain.lock().unwrap() = chain(&["2", "1"]);
    let first = server.post(GET, &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(ids(&first), ["2", "1"]);
    assert_eq!(first["chain"][0]["parent_checkpoint_id"], "1");
    assert_eq!(
        first["chain"][0]["writes"][0],
        json!({"task_id": "task", "channel": "m", "tag": "raw", "data": "Mg=="})
    );
    assert!(first["chain"][0].get("checkpoint_ns").is_none());

    *server.storage.chain.lock().unwrap() = chain(&["3", "2", "1"]);
    let whole = server.post(GET, &json!({"thread_id": "t"})).await.ok().json();
    let have = json!({"checkpoint_id": "2", "digest": first["digest"]});
    for path in [GET, "/v1/checkpoints/history"] {
        let mut ask = json!({"thread_id": "t", "have": have});
        if path != GET {
            ask["channels"] = json!(["m"]);
        }
        let next = server.post(path, &ask).await.ok().json();
        assert_eq!((ids(&next), &next["continues_at"]), (vec!["3".to_owned()], &json!("2")));
        assert_eq!(next["digest"], whole["digest"], "the digest names the whole chain");
    }
    for digest in [whole["digest"].clone(), json!("zz"), json!("")] {
        let ask = json!({"thread_id": "t", "have": {"checkpoint_id": "2", "digest": digest}});
        let other = server.post(GET, &ask).await.ok().json();
        assert_eq!((ids(&other).len(), &other["continues_at"]), (3, &Value::Null));
    }
    let page = server.post(LIST, &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(page["chain"][0]["checkpoint_ns"], "");
}

#[tokio::test]
async fn removals_reach_the_storage_as_they_were_asked() {
    let server = Server::keyless().await;
    let runs = json!({"run_ids": ["r1", "r2"]});
    assert_eq!(server.post("/v1/checkpoints/delete-for-runs", &runs).await.ok().json(), json!({}));
    assert_eq!(server.storage.calls(), ["delete_for_runs [\"r1\", \"r2\"]"]);
}
