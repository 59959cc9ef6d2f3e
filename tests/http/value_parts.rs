//! Tests large values on the wire: parts ahead of a commit, parts behind an answer, and who gets them.

use serde_json::{Value, json};
use threadkeep::domain::limits::LIMITS;

use crate::matrix::{THREAD, World, post};
use crate::server::{Answer, JSON};
use crate::wire::{COMMIT, base64, commit, from_base64, put};

const PUT: &str = "/v1/checkpoints/parts/put";
const GET_PART: &str = "/v1/checkpoints/parts/get";
const GET: &str = "/v1/checkpoints/get";
const PART: usize = 2 << 20;
const MISSING: (u16, &str) = (409, "parts_missing");

/// Bytes of which no stretch is like another.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 9_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

impl World {
    async fn asks(&self, who: &str, path: &str, body: &Value) -> Answer {
        post(&self.server, who, path, body).await
    }

    /// Puts the parts of a value as its owner. Answers the `data` of a commit.
    async fn put_parts(&self, value: &[u8]) -> Value {
        let mut names = Vec::new();
        for (index, part) in value.chunks(PART).enumerate() {
            let body =
                json!({"thread_id": THREAD, "index": index, "data": base64(part), "fence": 1});
            names.push(self.asks(&self.ann, PUT, &body).await.ok().json()["name"].clone());
        }
        json!({"parts": names, "length": value.len()})
    }

    async fn commits(&self, data: &Value) -> Answer {
        let mut body = commit(THREAD, &[put("2", data)]);
        body["fence"] = json!(1);
        self.asks(&self.ann, COMMIT, &body).await
    }

    async fn reads(&self, who: &str, value_parts: Option<bool>) -> Value {
        let mut body = json!({"thread_id": THREAD});
        if let Some(it) = value_parts {
            body["value_parts"] = json!(it);
        }
        let answer = self.asks(who, GET, &body).await.ok().json();
        answer["checkpoint"]["values"][0]["data"].clone()
    }
}

#[tokio::test]
async fn a_large_value_goes_and_comes_in_parts() {
    let it = World::new().await;
    let value = noise((8 << 20) + 77);
    let data = it.put_parts(&value).await;
    it.commits(&data).await.ok();
    it.commits(&data).await.ok();
    for plain in [None, Some(false)] {
        assert!(from_base64(&it.reads(&it.ann, plain).await) == value);
    }
    let named = it.reads(&it.ann, Some(true)).await;
    assert_eq!(named["length"], value.len());
    let names = named["parts"].as_array().unwrap();
    let (mut fetched, get) =
        (Vec::new(), |name: &Value| json!({"thread_id": THREAD, "name": name}));
    for name in names {
        let part = it.asks(&it.ann, GET_PART, &get(name)).await.ok().json();
        fetched.extend(from_base64(&part["data"]));
    }
    assert!(fetched == value);
    let headers =
        [("content-type", JSON), ("x-api-key", it.ann.as_str()), ("accept-encoding", "gzip")];
    let body = get(&names[0]).to_string().into_bytes();
    let packed = it.server.send("POST", GET_PART, &headers, body).await.ok();
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    // Who gets a part is who reads the thread.
    for who in [&it.acme, &it.ann, &it.reader] {
        it.asks(who, GET_PART, &get(&names[0])).await.ok();
    }
    for who in [&it.globex, &it.bob, &it.elsewhere] {
        let refused = it.asks(who, GET_PART, &get(&names[0])).await;
        refused.assert_problem(MISSING.0, MISSING.1);
        assert_eq!(refused.field(), "name");
        let absent = json!({"thread_id": "no-such-thread", "name": names[0]});
        it.asks(who, GET_PART, &absent).await.assert_problem(MISSING.0, MISSING.1);
    }
    it.asks(&it.appender, GET_PART, &get(&names[0])).await.assert_problem(403, "not_granted");
    for (method, listed) in [("/v1/checkpoints/list", true), ("/v1/checkpoints/list", false)] {
        let body = json!({"thread_id": THREAD, "value_parts": listed, "limit": 1});
        let page = it.asks(&it.ann, method, &body).await.ok().json();
        let data = &page["checkpoints"][0]["values"][0]["data"];
        assert_eq!(data["parts"].is_array(), listed, "{data:.60}");
    }
}

#[tokio::test]
async fn what_is_no_value_in_parts_is_refused_by_its_field() {
    let it = World::new().await;
    let name = it.put_parts(b"small").await["parts"][0].clone();
    let at = "ops[0].checkpoint.values[0].data";
    let many = vec![name.clone(); 129];
    let over = LIMITS.value_bytes_max + 1;
    for (data, status, field) in [
        (json!({"parts": [name], "length": 6}), 422, "values.data".to_owned()),
        (json!({"parts": [name]}), 422, format!("{at}.length")),
        (json!({"parts": [name], "length": -1}), 422, format!("{at}.length")),
        (json!({"parts": [5], "length": 5}), 422, format!("{at}.parts[0]")),
        (json!({"parts": name, "length": 5}), 422, format!("{at}.parts")),
        (json!({"parts": [name], "length": 5, "sha256": name}), 422, at.to_owned()),
        (json!({"parts": many, "length": 5}), 422, "values.data.parts".to_owned()),
        (json!({"parts": [name], "length": over}), 413, "values.data".to_owned()),
        (json!({"parts": [base64(&[7; 16])], "length": 5}), 409, "values.data".to_owned()),
    ] {
        let answer = it.commits(&data).await;
        assert_eq!((answer.status, answer.field()), (status, field), "{data:.80}");
    }
    it.commits(&json!({"parts": [name], "length": 5})).await.ok();
    assert_eq!(from_base64(&it.reads(&it.ann, Some(true)).await), b"small");
    let part = |index: i64, data: &[u8]| json!({"thread_id": THREAD, "index": index, "data": base64(data), "fence": 1});
    for (body, field) in [
        (part(-1, b"x"), "index"),
        (part(128, b"x"), "index"),
        (part(0, b""), "data"),
        (part(0, &noise(PART + 1)), "data"),
    ] {
        let answer = it.asks(&it.ann, PUT, &body).await;
        assert_eq!((answer.status, answer.field()), (422, field.to_owned()));
    }
}

#[tokio::test]
async fn what_is_too_large_to_be_shown_is_told_by_its_size() {
    let it = World::new().await;
    let value = noise(usize::try_from(LIMITS.display_bytes_max).unwrap() + 1);
    let data = it.put_parts(&value).await;
    it.commits(&data).await.ok();
    for path in ["/v1/state?thread_id=", "/v1/checkpoints/values?thread_id="] {
        let shown = it.server.get_with(&format!("{path}{THREAD}"), &[("x-api-key", &it.ann)]).await;
        let shown = shown.ok().json().to_string();
        assert!(shown.contains(&format!("\"size_bytes\":{}", value.len())), "{shown:.400}");
        assert!(shown.len() < 4_000, "{} bytes", shown.len());
    }
}
