//! Tests states and values of which only a part is shown, through the router.

use serde_json::{Value, json};

use crate::server::Server;
use crate::wire::{COMMIT, base64};

const ID: &str = "1ef4f797-8335-6428-8001-8a1503f9b875";
const STATE: &str = "/v1/state?thread_id=t";
const VALUES: &str = "/v1/checkpoints/values?thread_id=t";

fn channel(name: &str, tag: &str, data: &[u8]) -> Value {
    json!({"channel": name, "version": "2.0", "tag": tag, "data": base64(data)})
}

fn msgpack(name: &str, value: &Value) -> Value {
    channel(name, "msgpack", &rmp_serde::to_vec_named(value).unwrap())
}

fn json_text(name: &str, value: &Value) -> Value {
    channel(name, "json", value.to_string().as_bytes())
}

fn message(at: usize) -> Value {
    json!({"type": "human", "id": format!("m{at}"), "content": format!("{at}: {}", "é".repeat(1_000))})
}

fn messages() -> Vec<Value> {
    (0..60).map(message).collect()
}

/// The messages lie in MessagePack and in JSON, as Python and JavaScript write them.
fn values() -> Vec<Value> {
    let messages = json!(messages());
    let odd = json!({"looks": {"$cut": {"head": "mine"}}, "more": {"$cut": "1", "x": "2"}});
    let list = json!(["", "a/b", {"x~y": {"z": ["1", "2", "3", "4"]}}]);
    vec![
        msgpack("messages", &messages),
        json_text("texts", &messages),
        msgpack("odd", &odd),
        msgpack("a/b", &list),
        msgpack("title", &json!("hello")),
    ]
}

async fn server() -> Server {
    let server = Server::keyless().await;
    let versions: serde_json::Map<String, Value> = values()
        .iter()
        .map(|it| (it["channel"].as_str().unwrap().to_owned(), json!("2.0")))
        .collect();
    let checkpoint = json!({"checkpoint": {
        "checkpoint_id": ID, "metadata": {"source": "loop", "step": 1, "note": "n".repeat(50)},
        "skeleton": {"v": 4, "versions_seen": {}, "channel_versions": versions}, "values": values()
    }});
    server.post(COMMIT, &json!({"thread_id": "t", "ops": [checkpoint]})).await.ok();
    server
}

/// The value of a channel in an answer about values.
async fn shown(server: &Server, channel: &str, query: &str) -> Value {
    let found = server.get(&format!("{VALUES}&channel={channel}&{query}")).await.ok().json();
    let channels = found["checkpoint"]["channels"].as_array().unwrap().clone();
    assert_eq!(channels.len(), 1, "{channel} {query}");
    assert_eq!(channels[0]["channel"], json!(channel.replace("%2F", "/")));
    channels[0]["value"].clone()
}

/// In the JSON text of a value no text has an escape here.
fn size_bytes(value: &Value) -> usize {
    value.to_string().len()
}

#[tokio::test]
async fn a_window_of_a_list_has_its_length_and_begins_where_it_says() {
    let server = server().await;
    let all = messages();
    for name in ["messages", "texts"] {
        let whole = shown(&server, name, "items_max=60").await;
        assert_eq!(whole, json!(all), "nothing is left out");
        for (query, from, until) in [
            ("from=-50&items_max=50", 10, 60),
            ("from=-50&items_max=5", 10, 15),
            ("from=3&items_max=4", 3, 7),
            ("items_max=4", 0, 4),
            ("from=58", 58, 60),
            ("from=99", 60, 60),
            ("from=-99&items_max=3", 0, 3),
            ("items_max=0", 0, 0),
        ] {
            let cut = shown(&server, name, query).await;
            let expected = json!({"$cut": {
                "size_bytes": size_bytes(&json!(all)), "length": 60, "from": from, "head": all[from..until],
                "pointer": format!("/{name}")
            }});
            assert_eq!(cut, expected, "{name} {query}");
        }
    }
}

#[tokio::test]
async fn a_long_text_has_its_head_and_a_pointer_to_the_whole() {
    let server = server().await;
    for name in ["messages", "texts"] {
        // Before and after the size from which reading itself leaves something out.
        for bytes in [8, 1_500] {
            let query = format!("from=-2&items_max=9&string_bytes_max={bytes}");
            let window = shown(&server, name, &query).await;
            let cut = &window["$cut"]["head"][1]["content"]["$cut"];
            let whole = message(59)["content"].as_str().unwrap().to_owned();
            let head = &whole[..whole.floor_char_boundary(bytes)];
            let pointer = format!("/{name}/59/content");
            let expected = json!({"size_bytes": whole.len(), "head": head, "pointer": pointer});
            assert_eq!(*cut, expected, "{name} {bytes}");
            assert_eq!(window["$cut"]["size_bytes"], size_bytes(&json!(messages())));
            assert_eq!(window["$cut"]["head"][1]["id"], "m59");
            let text = shown(&server, name, &format!("pointer={pointer}")).await;
            assert_eq!(text, json!(whole));
        }
    }
    assert_eq!(shown(&server, "title", "string_bytes_max=5").await, "hello");
    let cut = shown(&server, "title", "string_bytes_max=4").await;
    assert_eq!(cut, json!({"$cut": {"size_bytes": 5, "head": "hell", "pointer": "/title"}}));
}

#[tokio::test]
async fn a_pointer_names_one_place_with_the_escapes_of_its_names() {
    let server = server().await;
    let at = async |pointer: &str, more: &str| {
        server.get(&format!("{VALUES}&pointer={pointer}{more}")).await.ok().json()["checkpoint"]
            ["channels"]
            .clone()
    };
    assert_eq!(at("/a~1b/1", "").await[0]["value"], "a/b");
    assert_eq!(at("/a~1b/2/x~0y/z/3", "").await[0]["value"], "4");
    let cut = at("/a~1b/2/x~0y/z", "&from=1&items_max=2").await;
    let expected = json!({"$cut": {
        "size_bytes": 17, "length": 4, "from": 1, "head": ["2", "3"], "pointer": "/a~1b/2/x~0y/z"
    }});
    assert_eq!(cut[0]["value"], expected);
    assert_eq!(cut.as_array().unwrap().len(), 1);
    assert_eq!(at("/messages/7", "").await[0]["value"], message(7));
    for none in
        ["/none", "/messages/60", "/messages/-1", "/messages/07", "/title/0", "/messages/1/x"]
    {
        assert_eq!(at(none, "").await, json!([]), "{none}");
    }
    assert_eq!(at("/title", "&channel=messages").await, json!([]));
}

#[tokio::test]
async fn what_looks_cut_is_answered_as_cut_and_whole_by_its_pointer() {
    let server = server().await;
    let whole = json!({"looks": {"$cut": {"head": "mine"}}, "more": {"$cut": "1", "x": "2"}});
    assert_eq!(shown(&server, "odd", "pointer=/odd").await, whole);
    let cut = shown(&server, "odd", "items_max=9").await;
    let looks = json!({"$cut": {
        "size_bytes": 24, "length": 1, "from": 0, "head": {}, "pointer": "/odd/looks"
    }});
    assert_eq!(cut, json!({"looks": looks, "more": {"$cut": "1", "x": "2"}}));
    assert_eq!(shown(&server, "odd", "pointer=/odd/looks").await, whole["looks"]);
}

#[tokio::test]
async fn a_state_is_cut_in_all_its_parts() {
    let server = server().await;
    let raised = rmp_serde::to_vec_named(&json!([{"value": "q".repeat(40), "id": "i".repeat(20)}]));
    let write = json!({"idx": -3, "channel": "__interrupt__", "tag": "msgpack", "data": base64(&raised.unwrap())});
    let writes = json!({"writes": {"checkpoint_id": ID, "task_id": "task", "writes": [write]}});
    server.post(COMMIT, &json!({"thread_id": "t", "ops": [writes]})).await.ok();
    let cut = server.get(&format!("{STATE}&string_bytes_max=4")).await.ok().json();
    let state = &cut["state"];
    assert_eq!(state["values"]["title"]["$cut"]["pointer"], "/title");
    assert_eq!(state["metadata"]["note"], json!({"$cut": {"size_bytes": 50, "head": "nnnn"}}));
    let value = &state["writes"][0]["value"][0]["value"];
    assert_eq!(*value, json!({"$cut": {"size_bytes": 40, "head": "qqqq"}}));
    let one = server.get(&format!("{STATE}&pointer=/messages/3/content")).await.ok().json();
    assert_eq!(one["state"]["values"], json!({"messages": message(3)["content"]}));
    let none = server.get(&format!("{STATE}&pointer=/messages/99")).await.ok().json();
    assert_eq!(none["state"]["values"], json!({}));
}

#[tokio::test]
async fn what_is_no_cut_is_refused_with_its_field_and_limit() {
    let server = Server::keyless().await;
    let long = format!("pointer={}", "/a".repeat(102));
    for path in [STATE, VALUES] {
        for (query, field) in [
            ("string_bytes_max=-1", "string_bytes_max"),
            ("string_bytes_max=x", "string_bytes_max"),
            ("items_max=1.5", "items_max"),
            ("items_max=1&items_max=1", "items_max"),
            ("from=x", "from"),
            ("from=99999999999999999999", "from"),
            ("pointer=", "pointer"),
            ("pointer=messages", "pointer"),
            ("pointer=/a~2", "pointer"),
            (&long, "pointer"),
        ] {
            let answer = server.get(&format!("{path}&{query}")).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), field, "{path} {query}");
        }
        let answer = server.get(&format!("{path}&{long}")).await;
        assert_eq!(answer.json()["limit"], 101);
    }
}

#[tokio::test]
async fn a_named_checkpoint_is_not_sent_to_who_holds_it() {
    let server = server().await;
    for path in [STATE, VALUES] {
        assert_eq!(server.get(path).await.ok().header("etag"), None, "the newest has none");
        let named = format!("{path}&checkpoint_id={ID}");
        let first = server.get(&named).await.ok();
        let etag = first.header("etag").unwrap().to_owned();
        assert!(etag.starts_with("W/\""), "{etag}");
        let held = server.get_with(&named, &[("if-none-match", &etag)]).await;
        assert_eq!((held.status, held.body.len()), (304, 0));
        assert_eq!(held.header("etag"), Some(etag.as_str()));
        let other = format!("{named}&items_max=1");
        server.get_with(&other, &[("if-none-match", &etag)]).await.ok();
        let absent = format!("{path}&checkpoint_id=none");
        assert_eq!(server.get(&absent).await.ok().header("etag"), None);
    }
}

#[tokio::test]
async fn a_pending_write_makes_another_answer() {
    let server = server().await;
    let named = format!("{STATE}&checkpoint_id={ID}");
    let before = server.get(&named).await.ok();
    let etag = before.header("etag").unwrap().to_owned();
    let write = json!({"idx": 0, "channel": "title", "tag": "null", "data": ""});
    let writes = json!({"writes": {"checkpoint_id": ID, "task_id": "task", "writes": [write]}});
    server.post(COMMIT, &json!({"thread_id": "t", "ops": [writes]})).await.ok();
    let after = server.get_with(&named, &[("if-none-match", &etag)]).await.ok();
    assert_ne!(after.header("etag"), Some(etag.as_str()));
    assert_eq!(after.json()["state"]["writes"].as_array().unwrap().len(), 1);
}
