//! Tests the store through the router: which requests arrive, which are refused, and their answers, in both media types.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::server::{JSON, MSGPACK, Server};

const BATCH: &str = "/v1/store/batch";

async fn with_items() -> Server {
    let server = Server::keyless().await;
    for (namespace, key, value) in [
        (json!(["ann", "memories"]), "likes", json!({"text": "tea", "score": 1})),
        (json!(["ann", "memories"]), "name", json!({"text": "Ann", "score": 2})),
        (json!(["bob"]), "", json!({"text": "", "score": 3})),
    ] {
        let put = json!({"namespace": namespace, "key": key, "value": value});
        let done = server.post("/v1/store/put", &put).await.ok().json();
        assert_eq!(done, json!({"version": 1}));
    }
    server
}

#[tokio::test]
async fn an_item_is_put_read_and_deleted() {
    let server = with_items().await;
    let place = json!({"namespace": ["ann", "memories"], "key": "likes"});
    let found = server.post("/v1/store/get", &place).await.ok().json();
    assert_eq!(
        found,
        json!({"item": {
            "namespace": ["ann", "memories"], "key": "likes", "version": 1, "created_at": "1970-01-01T00:00:01.000000Z",
            "updated_at": "1970-01-01T00:00:02.000000Z", "size_bytes": 24, "value": {"score": 1, "text": "tea"}
        }})
    );
    assert_eq!(server.post("/v1/store/delete", &place).await.ok().json(), json!({}));
    assert_eq!(server.post("/v1/store/delete", &place).await.ok().json(), json!({}));
    assert_eq!(server.post("/v1/store/get", &place).await.ok().json(), json!({}));
    let empty = json!({"namespace": ["bob"], "key": ""});
    let found = server.post("/v1/store/get", &empty).await.ok().json();
    assert_eq!(found["item"]["value"]["score"], 3);
}

#[tokio::test]
async fn exact_text_and_odd_keys_pass_both_media_types() {
    let server = Server::keyless().await;
    let text = r#"{"a": 1.0,"b":1180591620717411303424 , "c":"\ud800\u0000"}"#;
    for key in [r#""a\ud800""#, r#""a\u0000b""#, r#""""#, r#""/ü%2F../x""#] {
        let body = format!(r#"{{"namespace":["n"],"key":{key},"value":{text}}}"#);
        server.post_bytes("/v1/store/put", JSON, body).await.ok();
        let ask = format!(r#"{{"namespace":["n"],"key":{key}}}"#);
        let answer = server.post_bytes("/v1/store/get", JSON, ask.clone()).await.ok();
        let answer = String::from_utf8(answer.body).unwrap();
        assert!(answer.contains(&format!("\"value\":{text}")), "{answer}");
        let headers = [("content-type", JSON), ("accept", MSGPACK)];
        let answer = server.send("POST", "/v1/store/get", &headers, ask.into_bytes()).await.ok();
        let item: rmp_item::Got = rmp_serde::from_slice(&answer.body).unwrap();
        assert_eq!(item.item.value.into_vec(), text.as_bytes());
        // As a string, or, where that cannot be, as its JSON text.
        let key = match serde_json::from_str(key) {
            Ok(text) => rmp_item::Key::Text(text),
            Err(_) => rmp_item::Key::Json(serde_bytes::ByteBuf::from(key)),
        };
        assert_eq!(item.item.key.len(), key.len());
        let again = rmp_item::Ask { namespace: vec!["n"], key };
        let again = rmp_serde::to_vec_named(&again).unwrap();
        let found = server.post_bytes("/v1/store/get", MSGPACK, again).await.ok();
        assert!(String::from_utf8(found.body).unwrap().contains("\"version\":1,"));
    }
}

mod rmp_item {
    use serde::{Deserialize, Serialize};
    use serde_bytes::ByteBuf;

    #[derive(Deserialize)]
    pub struct Got {
        pub item: Item,
    }

    #[derive(Deserialize)]
    pub struct Item {
        pub key: ByteBuf,
        pub value: ByteBuf,
    }

    #[derive(Serialize)]
    #[serde(untagged)]
    pub enum Key {
        Text(String),
        Json(ByteBuf),
    }

    impl Key {
        pub fn len(&self) -> usize {
            match self {
                Self::Text(text) => text.len(),
                Self::Json(json) => json.len(),
            }
        }
    }

    #[derive(Serialize)]
    pub struct Ask {
        pub namespace: Vec<&'static str>,
        pub key: Key,
    }
}

#[tokio::test]
async fn a_batch_has_a_result_for_each_operation() {
    let server = with_items().await;
    let ops = json!([
        {"get": {"namespace": ["bob"], "key": ""}},
        {"put": {"namespace": ["bob"], "key": "", "value": {}}},
        {"delete": {"namespace": ["ann", "memories"], "key": "name"}},
        {"search": {"prefix": ["ann"], "sort": "key", "limit": 1, "values": false}},
        {"list_namespaces": {"max_depth": 1}},
        {"count": {"filter": {"score": {"$gte": 2}}}},
        {"get": {"namespace": ["bob"], "key": "absent"}},
    ]);
    let answer = server.post(BATCH, &json!({"ops": ops})).await.ok().json();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["item"]["value"]["score"], 3);
    assert_eq!(results[1..3], [json!({"version": 2}), json!({})]);
    assert_eq!(results[3]["items"][0]["key"], "likes");
    assert!(results[3]["next_cursor"].is_string());
    assert_eq!(
        results[4..],
        [json!({"namespaces": [["ann"], ["bob"]]}), json!({"count": 2}), json!({})]
    );
    // All gets are one call of the storage.
    let calls = server.storage.calls();
    assert_eq!(calls.iter().filter(|it| it.starts_with("get_items")).count(), 1, "{calls:?}");
    assert!(
        calls.contains(&"get_items 2".to_owned())
            && calls.contains(&"prepare_changes 2".to_owned())
    );
}

#[tokio::test]
async fn the_largest_namespaces_are_listed() {
    let server = with_items().await;
    let largest = async |body: Value| server.post("/v1/store/namespaces/largest", &body).await;
    let all = largest(json!({})).await.ok().json();
    let found = all["namespaces"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{all}");
    assert_eq!(
        (&found[0]["namespace"], &found[0]["items"]),
        (&json!(["ann", "memories"]), &json!(2))
    );
    assert!(found[0]["size_bytes"].as_u64() > found[1]["size_bytes"].as_u64(), "{all}");
    assert!(found[0]["updated_at"].is_string());
    let below = largest(json!({"prefix": ["bob"], "limit": 1})).await.ok().json();
    assert_eq!(below["namespaces"], json!([found[1]]));
    for (body, field) in [
        (json!({"limit": -1}), "limit"),
        (json!({"prefix": ["a.b"]}), "namespace"),
        (json!({"prefix": [""]}), "namespace"),
    ] {
        let answer = largest(body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
    let calls = server.storage.calls();
    let limits: Vec<_> =
        calls.iter().filter_map(|it| it.strip_prefix("largest_namespaces ")).collect();
    assert_eq!(limits, ["10", "1"]);
    assert!(largest(json!({"limit": 5_000})).await.ok().json()["namespaces"].is_array());
    assert!(server.storage.calls().contains(&"largest_namespaces 100".to_owned()));
}

#[tokio::test]
async fn one_bad_operation_fails_alone_or_for_all() {
    let server = with_items().await;
    let ops = json!([
        {"put": {"namespace": ["a.b"], "key": "k", "value": {}}},
        {"put": {"namespace": ["new"], "key": "k", "value": {}}},
        {"search": {"filter": {"a": {"$bogus": 1}}}},
        {"put": {"namespace": ["new"], "key": "held", "value": {}, "if_version": 7}},
        {"put": {"namespace": ["new"], "key": "list", "value": [1]}},
        {"get": {"namespace": [], "key": "k"}},
    ]);
    let whole = server.post(BATCH, &json!({"ops": ops})).await;
    whole.assert_problem(422, "invalid");
    assert_eq!(whole.field(), "ops[0].namespace");
    assert_eq!(
        server.post("/v1/store/count", &json!({"prefix": ["new"]})).await.json()["count"],
        0
    );
    let each = server.post(BATCH, &json!({"ops": ops, "atomic": false})).await.ok().json();
    let error = |at: usize| each["results"][at]["error"].clone();
    assert_eq!(
        error(0),
        json!({"status": 422, "code": "invalid", "field": "namespace", "detail": "Invalid namespace label 'a.b' found in \
            ('a.b',). Namespace labels cannot contain periods ('.')."})
    );
    assert_eq!(each["results"][1], json!({"version": 1}));
    assert_eq!(error(2)["detail"], "Unsupported operator: $bogus");
    assert_eq!((&error(3)["status"], &error(3)["code"]), (&json!(409), &json!("version_conflict")));
    assert_eq!(error(3)["current_version"], 0);
    assert_eq!(
        (&error(4)["field"], &error(5)["detail"]),
        (&json!("value"), &json!("Namespace cannot be empty."))
    );
    let conflict =
        json!({"ops": [{"put": {"namespace": ["new"], "key": "k", "value": {}, "if_version": 9}}]});
    let answer = server.post(BATCH, &conflict).await;
    answer.assert_problem(409, "version_conflict");
    assert_eq!(answer.json()["current_version"], 1);
}

#[tokio::test]
async fn what_is_out_of_range_is_named() {
    let server = Server::keyless().await;
    let long = "x".repeat(1_025);
    let place = |more: Value| {
        let mut body = json!({"namespace": ["n"], "key": "k", "value": {}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // A cursor of this listing with labels that no namespace has.
    let forged = URL_SAFE_NO_PAD.encode(json!(["namespaces", ["a.b"]]).to_string());
    for (path, body, field) in [
        ("put", place(json!({"key": long})), "key"),
        ("put", place(json!({"key": 5})), "key"),
        ("put", place(json!({"namespace": []})), "namespace"),
        ("put", place(json!({"namespace": ["langgraph"]})), "namespace"),
        ("put", place(json!({"namespace": vec!["a"; 33]})), "namespace"),
        ("put", place(json!({"namespace": ["a".repeat(641)]})), "namespace"),
        ("put", place(json!({"namespace": [""]})), "namespace"),
        ("put", place(json!({"namespace": ["a\u{0}"]})), "namespace"),
        ("put", place(json!({"namespace": ["a", 1]})), "namespace[1]"),
        ("put", place(json!({"value": 1})), "value"),
        ("put", place(json!({"ttl_minutes": -1})), "ttl_minutes"),
        ("put", place(json!({"ttl_minutes": 1e9})), "ttl_minutes"),
        ("put", place(json!({"if_version": -1})), "if_version"),
        ("put", place(json!({"more": 1})), "more"),
        ("put", json!({"namespace": ["n"], "key": "k"}), "value"),
        ("get", json!({"namespace": ["a.b"], "key": "k"}), "namespace"),
        ("search", json!({"limit": -1}), "limit"),
        ("search", json!({"offset": -1}), "offset"),
        ("search", json!({"offset": 1_000_001}), "offset"),
        ("search", json!({"filter": []}), "filter"),
        ("search", json!({"filter": {"a": {"$in": 1}}}), "filter"),
        ("search", json!({"sort": "size"}), "sort"),
        ("search", json!({"cursor": "x"}), "cursor"),
        ("search", json!({"prefix": ["a."]}), "namespace"),
        ("namespaces", json!({"max_depth": -1}), "max_depth"),
        ("namespaces", json!({"cursor": "x"}), "cursor"),
        ("namespaces", json!({"cursor": forged}), "cursor"),
        ("namespaces", json!({"counts": 1}), "counts"),
        (
            "namespaces",
            json!({"conditions": [{"match": "infix", "path": []}]}),
            "conditions[0].match",
        ),
        ("count", json!({"filter": {"$x": 1}}), "filter"),
        ("batch", json!({"ops": [{"patch": {}}]}), "ops[0].patch"),
        ("batch", json!({"ops": vec![json!({"count": {}}); 1_001]}), "ops"),
    ] {
        let answer = server.post(&format!("/v1/store/{path}"), &body).await;
        answer.assert_problem(422, "invalid");
        assert!(
            answer.field().starts_with(field.split(".patch").next().unwrap()),
            "{path} {body}: {}",
            answer.field()
        );
    }
    assert!(server.storage.items.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_item_is_not_changed_twice_with_a_condition() {
    let server = with_items().await;
    let put = |more: Value| {
        let mut put = json!({"namespace": ["n"], "key": "k", "value": {}});
        put.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"put": put})
    };
    for atomic in [true, false] {
        let twice =
            json!({"ops": [put(json!({"if_version": 0})), put(json!({}))], "atomic": atomic});
        server.post(BATCH, &twice).await.assert_problem(422, "invalid");
        let plain = json!({"ops": [put(json!({})), put(json!({}))], "atomic": atomic});
        server.post(BATCH, &plain).await.ok();
    }
}

#[tokio::test]
async fn a_cursor_leads_on_in_its_own_order_only() {
    let server = with_items().await;
    let page = |more: Value| {
        let mut body = json!({"limit": 2, "sort": "key"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let first = server.post("/v1/store/search", &page(json!({}))).await.ok().json();
    let cursor = first["next_cursor"].clone();
    let second =
        server.post("/v1/store/search", &page(json!({"cursor": cursor}))).await.ok().json();
    assert_eq!(
        (first["items"].as_array().unwrap().len(), &second["items"][0]["key"]),
        (2, &json!(""))
    );
    assert!(second.get("next_cursor").is_none());
    let other = page(json!({"cursor": cursor, "sort": "updated"}));
    server.post("/v1/store/search", &other).await.assert_problem(422, "invalid");
}

#[tokio::test]
async fn a_tenant_sees_its_own_items() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let ask = async |key: &str, path: &str, body: &Value| {
        let headers = [("content-type", JSON), ("x-api-key", key)];
        server
            .send("POST", &format!("/v1/store/{path}"), &headers, body.to_string().into_bytes())
            .await
            .ok()
            .json()
    };
    let put = json!({"namespace": ["n"], "key": "k", "value": {"a": 1}});
    ask(&keys[0], "put", &put).await;
    let place = json!({"namespace": ["n"], "key": "k"});
    assert_eq!(ask(&keys[1], "get", &place).await, json!({}));
    assert_eq!(ask(&keys[1], "search", &json!({})).await, json!({"items": []}));
    assert_eq!(ask(&keys[1], "namespaces", &json!({})).await, json!({"namespaces": []}));
    ask(&keys[1], "delete", &place).await;
    assert_eq!(ask(&keys[0], "count", &json!({})).await, json!({"count": 1}));
}
