//! Tests answers to callers that hold values: names and differences instead of bytes, and only on request.

use serde_json::{Value, json};
use threadkeep::domain::checkpoints::history::{Chain, Node};
use threadkeep::domain::limits::LIMITS;

use crate::server::Server;
use crate::wire::{COMMIT, base64, commit, from_base64, list_of, name, put};

const GET: &str = "/v1/checkpoints/get";
const LIST: &str = "/v1/checkpoints/list";
const HISTORY: &str = "/v1/checkpoints/history";

/// Thread `t` with checkpoints whose lists grow from 10 entries on.
async fn with_checkpoints(count: usize) -> Server {
    let server = Server::keyless().await;
    for at in 0..count {
        let op = put(&format!("{at:02}"), &base64(&list_of(10 + at)));
        server.post(COMMIT, &commit("t", &[op])).await.ok();
    }
    server
}

fn forget(server: &Server) {
    let caller = threadkeep::domain::caller::Caller::of_tenant("default");
    let thread_id = threadkeep::domain::names::ThreadId::new("t").unwrap();
    server.app.values.of(&caller, &thread_id).forget();
}

async fn get(server: &Server, have_values: &Value) -> Value {
    let body = json!({"thread_id": "t", "have_values": have_values});
    server.post(GET, &body).await.ok().json()["checkpoint"]["values"][0]["data"].clone()
}

/// What the caller makes of `data`.
fn resolved(data: &Value, held: &[Vec<u8>]) -> Vec<u8> {
    if data.is_string() {
        return from_base64(data);
    }
    let find =
        |digest: &Value| held.iter().find(|it| base64(&name(it)) == *digest).expect("it is held");
    if data["same"].is_string() {
        return find(&data["same"]).clone();
    }
    let base = find(&data["base"]);
    let mut result = Vec::new();
    for op in data["ops"].as_array().unwrap() {
        match op["copy"].as_array() {
            Some(copy) => {
                let at = |index: usize| usize::try_from(copy[index].as_u64().unwrap()).unwrap();
                result.extend(&base[at(0)..at(0) + at(1)]);
            }
            None => result.extend(from_base64(&op["insert"])),
        }
    }
    assert_eq!(data["sha256"], base64(&name(&result)));
    assert_eq!(data["length"], result.len());
    result
}

#[tokio::test]
async fn a_value_that_the_caller_holds_goes_by_its_name() {
    let server = with_checkpoints(1).await;
    let value = list_of(10);
    let same = json!({"same": base64(&name(&value))});
    for length in [16, 20, 32] {
        assert_eq!(get(&server, &json!([base64(&name(&value)[..length])])).await, same, "{length}");
    }
    // The name is enough: the server compares with what it read, not with what it remembers.
    forget(&server);
    assert_eq!(get(&server, &json!([base64(&name(&value)[..16])])).await, same);
    let mut other = name(&value);
    other[31] ^= 1;
    assert_eq!(get(&server, &json!([base64(&other)])).await, base64(&value));
}

#[tokio::test]
async fn a_small_change_of_a_held_value_goes_as_a_difference() {
    let server = with_checkpoints(2).await;
    let held = list_of(10);
    let data = get(&server, &json!([base64(&name(&held)[..16])])).await;
    assert_eq!(data["base"], base64(&name(&held)));
    assert!(data.to_string().len() < 400, "{data}");
    assert!(resolved(&data, std::slice::from_ref(&held)) == list_of(11));
    // Whole, where the server does not remember the base.
    forget(&server);
    assert_eq!(get(&server, &json!([base64(&name(&held)[..16])])).await, base64(&list_of(11)));
}

#[tokio::test]
async fn who_does_not_ask_gets_bytes() {
    let server = with_checkpoints(3).await;
    let answer = server.post(GET, &json!({"thread_id": "t"})).await.ok().json();
    assert_eq!(answer["checkpoint"]["values"][0]["data"], base64(&list_of(12)));
    let page = server.post(LIST, &json!({"thread_id": "t"})).await.ok().json();
    for at in 0..3 {
        assert_eq!(page["checkpoints"][at]["values"][0]["data"], base64(&list_of(12 - at)));
    }
}

#[tokio::test]
async fn values_of_a_page_are_bases_of_those_behind_them() {
    let server = with_checkpoints(20).await;
    forget(&server);
    let whole = server.post(LIST, &json!({"thread_id": "t"})).await.ok().body.len();
    let body = json!({"thread_id": "t", "have_values": []});
    let answer = server.post(LIST, &body).await.ok();
    assert!(answer.body.len() * 3 < whole, "{} of {whole}", answer.body.len());
    let mut held: Vec<Vec<u8>> = Vec::new();
    for (at, view) in answer.json()["checkpoints"].as_array().unwrap().iter().enumerate() {
        let value = resolved(&view["values"][0]["data"], &held);
        assert!(value == list_of(29 - at), "{at}");
        held.push(value);
    }
}

#[tokio::test]
async fn seeds_are_shortened_and_small_values_are_not() {
    let server = with_checkpoints(1).await;
    let value = |data: Vec<u8>| {
        let tag = threadkeep::domain::names::Tag::new("x").unwrap();
        threadkeep::domain::checkpoints::checkpoint::Value::new(tag, data.into())
    };
    let node = Node {
        id: "0".into(),
        seeds: vec![("a".into(), value(list_of(10))), ("b".into(), value(vec![7; 511]))],
        writes: vec![("a".into(), "task".into(), value(list_of(10)))],
        ..Node::default()
    };
    server.storage.chain.lock().unwrap().add(vec![node]);
    let have = json!([base64(&name(&list_of(10))), base64(&name(&[7; 511]))]);
    for (path, body) in [
        (GET, json!({"thread_id": "t", "have_values": have})),
        (HISTORY, json!({"thread_id": "t", "channels": ["a"], "have_values": have})),
        (LIST, json!({"thread_id": "t", "have_values": have})),
    ] {
        let node = server.post(path, &body).await.ok().json()["chain"][0].clone();
        assert_eq!(
            node["seeds"][0]["data"],
            json!({"same": base64(&name(&list_of(10)))}),
            "{path}"
        );
        assert_eq!(node["seeds"][1]["data"], base64(&[7; 511]), "{path}");
        assert_eq!(node["writes"][0]["data"], base64(&list_of(10)), "{path}");
    }
    *server.storage.chain.lock().unwrap() = Chain::default();
}

#[tokio::test]
async fn a_large_answer_is_put_together_beside_the_other_requests() {
    let server = Server::keyless().await;
    for count in [5_000, 5_001] {
        let op = put(&count.to_string(), &base64(&list_of(count)));
        server.post(COMMIT, &commit("t", &[op])).await.ok();
    }
    let data = get(&server, &json!([base64(&name(&list_of(5_000))[..16])])).await;
    assert!(data["ops"].is_array());
    assert!(resolved(&data, &[list_of(5_000)]) == list_of(5_001));
}

#[tokio::test]
async fn names_that_are_none_and_too_many_are_refused() {
    let server = with_checkpoints(1).await;
    let many = usize::try_from(LIMITS.have_values_max).unwrap() + 1;
    for (path, more) in [(GET, ""), (LIST, ""), (HISTORY, "channels")] {
        for have in [
            json!([base64(&[0; 15])]),
            json!([base64(&[0; 33])]),
            json!([base64(&[])]),
            json!(vec![base64(&[0; 16]); many]),
        ] {
            let mut body = json!({"thread_id": "t", "have_values": have});
            if !more.is_empty() {
                body[more] = json!([]);
            }
            let answer = server.post(path, &body).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), "have_values");
        }
    }
    let answer = server.post(LIST, &json!({"have_values": []})).await;
    answer.assert_problem(422, "invalid");
    assert_eq!(answer.field(), "have_values");
}
