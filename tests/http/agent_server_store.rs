//! Tests the store on the wire of the LangGraph Agent Server, over a real engine.

use serde_json::{Value, json};

use crate::drive_world::World;
use crate::server::{Answer, JSON};

const ITEMS: &str = "/store/items";
const SEARCH: &str = "/store/items/search";

async fn send(it: &World, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", it.tenant.as_str()), ("content-type", JSON)];
    it.server.send(method, path, &headers, body.to_string().into_bytes()).await
}

async fn put(it: &World, labels: &[&str], key: &str, value: Value) {
    let body = json!({"namespace": labels, "key": key, "value": value});
    let answer = send(it, "PUT", ITEMS, &body).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
}

async fn get(it: &World, query: &str) -> Answer {
    it.get(&it.tenant, &format!("{ITEMS}?{query}")).await
}

async fn keys(it: &World, body: Value) -> Vec<String> {
    let found = send(it, "POST", SEARCH, &body).await.ok().json();
    let items = found["items"].as_array().unwrap().iter();
    items.map(|it| it["key"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_item_is_put_got_and_deleted() {
    let it = World::new().await;
    let value =
        json!({"text": "tea \u{0} and more", "n": 1.0, "big": 18_446_744_073_709_551_615_u64});
    put(&it, &["ann", "memories"], "likes", value.clone()).await;
    for query in [
        "namespace=ann.memories&key=likes",
        "namespace=ann&namespace=memories&key=likes&refresh_ttl=false",
        "namespace=%5B%22ann%22,%22memories%22%5D&key=likes&other=1",
    ] {
        let item = get(&it, query).await.ok().json();
        assert_eq!(item["namespace"], json!(["ann", "memories"]), "{query}");
        assert_eq!((&item["key"], &item["value"]), (&json!("likes"), &value));
        assert!(item["created_at"].as_str().unwrap().ends_with("+00:00"));
        assert!(item["updated_at"].is_string() && item.get("score").is_none());
    }
    for query in ["namespace=ann&key=likes", "namespace=ann.memories&key=other"] {
        assert_eq!(get(&it, query).await.ok().body, b"null");
    }
    for _ in 0..2 {
        let name = json!({"namespace": ["ann", "memories"], "key": "likes"});
        assert_eq!(send(&it, "DELETE", ITEMS, &name).await.status, 204);
    }
    assert_eq!(send(&it, "DELETE", ITEMS, &json!({"key": "likes"})).await.status, 204);
    assert_eq!(get(&it, "namespace=ann.memories&key=likes").await.ok().body, b"null");
}

#[tokio::test]
async fn a_read_extends_a_life_unless_it_is_told_not_to() {
    let it = World::new().await;
    let body = json!({"namespace": ["a"], "key": "k", "value": {}, "ttl": 120});
    assert_eq!(send(&it, "PUT", ITEMS, &body).await.status, 204);
    let ends = async || {
        let body = json!({"namespace": ["a"], "key": "k", "refresh_ttl": false});
        let found = send(&it, "POST", "/v1/store/get", &body).await.ok().json();
        found["item"]["expires_at"].as_str().unwrap().to_owned()
    };
    let first = ends().await;
    it.clock.advance(30 * 60 * 1_000_000);
    for flag in ["false", "False", "0"] {
        get(&it, &format!("namespace=a&key=k&refresh_ttl={flag}")).await.ok();
        assert_eq!(ends().await, first, "{flag}");
    }
    let mut before = first;
    for flag in ["", "&refresh_ttl=true", "&refresh_ttl=1", "&refresh_ttl=maybe"] {
        it.clock.advance(30 * 60 * 1_000_000);
        get(&it, &format!("namespace=a&key=k{flag}")).await.ok();
        let after = ends().await;
        assert!(after > before, "{flag}");
        before = after;
    }
}

#[tokio::test]
async fn what_clients_send_besides_is_taken() {
    let it = World::new().await;
    for more in [
        json!({"index": null, "ttl": null}),
        json!({"index": false}),
        json!({"index": []}),
        json!({"index": ["text"], "ttl": 0.5, "unknown": {}}),
    ] {
        let mut body = json!({"namespace": ["a"], "key": "k", "value": {}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(send(&it, "PUT", ITEMS, &body).await.status, 204, "{body}");
    }
    let body = json!({"namespace_prefix": null, "filter": null, "limit": null, "offset": null, "query": null, "refresh_ttl": null});
    assert_eq!(keys(&it, body).await, ["k"]);
    let body =
        json!({"prefix": null, "suffix": [], "max_depth": null, "limit": null, "offset": null});
    let found = send(&it, "POST", "/store/namespaces", &body).await.ok().json();
    assert_eq!(found, json!({"namespaces": [["a"]]}));
}

#[tokio::test]
async fn a_search_shows_what_changed_last_first_and_every_item_has_a_score() {
    let it = World::new().await;
    for key in ["a", "b", "c"] {
        put(&it, &["ann"], key, json!({"n": key, "size": 2})).await;
        it.clock.advance(1_000_000);
    }
    put(&it, &["ann"], "a", json!({"n": "a", "size": 3})).await;
    assert_eq!(keys(&it, json!({})).await, ["a", "c", "b"]);
    assert_eq!(keys(&it, json!({"limit": 1, "offset": 1})).await, ["c"]);
    assert_eq!(keys(&it, json!({"filter": {"size": 2}})).await, ["c", "b"]);
    assert_eq!(keys(&it, json!({"filter": {"size": {"$gt": 2}}})).await, ["a"]);
    assert_eq!(keys(&it, json!({"namespace_prefix": ["bob"]})).await, [""; 0]);
    // Nothing is declared, and there is no endpoint: a listing.
    let body = json!({"query": "tea", "limit": 2});
    let found = send(&it, "POST", SEARCH, &body).await.ok().json();
    assert_eq!(found["items"].as_array().unwrap().len(), 2);
    assert!(found["items"][0].as_object().unwrap().contains_key("score"));
    assert_eq!(found["items"][0]["score"], Value::Null);
}

#[tokio::test]
async fn a_query_goes_by_words_where_they_are_declared() {
    let it = World::new().await;
    let setting = json!({"namespace": ["ann"], "text_fields": ["text"]});
    let headers = [("x-api-key", it.tenant.as_str()), ("content-type", JSON)];
    let path = "/v1/store/settings/put";
    it.server.send("POST", path, &headers, setting.to_string().into_bytes()).await.ok();
    put(&it, &["ann"], "tea", json!({"text": "green tea"})).await;
    put(&it, &["ann"], "coffee", json!({"text": "black coffee"})).await;
    let body = json!({"namespace_prefix": ["ann"], "query": "tea"});
    let found = send(&it, "POST", SEARCH, &body).await.ok().json();
    assert_eq!(found["items"][0]["key"], "tea");
    assert!(found["items"][0]["score"].is_number());
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_long_search_is_whole() {
    let it = World::new().await;
    let text = "x".repeat(200_000);
    for at in 0..40 {
        put(&it, &["ann"], &format!("{at:02}"), json!({"text": text})).await;
    }
    assert_eq!(keys(&it, json!({"limit": 1000})).await.len(), 40);
    assert_eq!(keys(&it, json!({"limit": 35, "offset": 2})).await.len(), 35);
}

#[tokio::test]
async fn namespaces_are_listed_by_their_ends() {
    let it = World::new().await;
    for labels in [&["ann", "a", "x"][..], &["ann", "b", "x"], &["bob", "a"]] {
        put(&it, labels, "k", json!({})).await;
    }
    for (body, expected) in [
        (json!({}), json!([["ann", "a", "x"], ["ann", "b", "x"], ["bob", "a"]])),
        (json!({"prefix": ["ann"], "max_depth": 1}), json!([["ann"]])),
        (json!({"prefix": ["*", "a"]}), json!([["ann", "a", "x"], ["bob", "a"]])),
        (json!({"suffix": ["x"], "limit": 1, "offset": 1}), json!([["ann", "b", "x"]])),
    ] {
        let found = send(&it, "POST", "/store/namespaces", &body).await.ok().json();
        assert_eq!(found["namespaces"], expected, "{body}");
    }
}

#[tokio::test]
async fn bad_input_is_named() {
    let it = World::new().await;
    let with = |field: &str, value: Value| {
        let mut body = json!({"namespace": ["a"], "key": "k", "value": {}});
        body[field] = value;
        body
    };
    for (body, status, field) in [
        (with("namespace", json!([])), 400, "namespace"),
        (with("namespace", json!(["langgraph", "x"])), 400, "namespace"),
        (with("namespace", json!(["a.b"])), 422, "namespace"),
        (with("namespace", json!([""])), 422, "namespace"),
        (with("namespace", json!("a")), 422, "namespace"),
        (with("namespace", json!(vec!["a"; 33])), 422, "namespace"),
        (with("key", json!("")), 422, "key"),
        (with("key", json!(1)), 422, "key"),
        (with("key", json!(null)), 422, "key"),
        (with("value", json!([])), 422, "value"),
        (with("value", json!("text")), 422, "value"),
        (with("value", json!(null)), 422, "value"),
        (with("index", json!(true)), 422, "index"),
        (with("index", json!("text")), 422, "index"),
        (with("ttl", json!(-1)), 422, "ttl"),
        (with("ttl", json!("one")), 422, "ttl"),
    ] {
        let answer = send(&it, "PUT", ITEMS, &body).await;
        let code = if status == 400 { "bad_request" } else { "invalid" };
        assert_eq!(answer.problem(), (status, code.to_owned()), "{body}");
        assert_eq!(answer.field(), field, "{body}");
    }
    let deep = format!(
        "{{\"namespace\":[\"a\"],\"key\":\"k\",\"value\":{{\"x\":{}{}}}}}",
        "[".repeat(101),
        "]".repeat(101)
    );
    let headers = [("x-api-key", it.tenant.as_str())];
    let answer = it.server.send("PUT", ITEMS, &headers, deep.into_bytes()).await;
    answer.assert_problem(422, "invalid");
    for (query, status, field) in [
        ("namespace=a", 400, "key"),
        ("namespace=a&key=", 400, "key"),
        ("key=k", 422, "namespace"),
        ("namespace=&key=k", 422, "namespace"),
        ("namespace=a..b&key=k", 422, "namespace"),
        ("namespace=%5B1%5D&key=k", 422, "namespace"),
    ] {
        let answer = get(&it, query).await;
        assert_eq!((answer.status, answer.field()), (status, field.to_owned()), "{query}");
    }
    for (body, status, field) in [
        (json!({"filter": {"a": {"$bogus": 1}}}), 400, "filter"),
        (json!({"filter": []}), 422, "filter"),
        (json!({"limit": 0}), 422, "limit"),
        (json!({"limit": 1_001}), 422, "limit"),
        (json!({"limit": "ten"}), 422, "limit"),
        (json!({"offset": -1}), 422, "offset"),
        (json!({"offset": 1_000_001}), 422, "offset"),
        (json!({"namespace_prefix": ["a.b"]}), 422, "namespace"),
        (json!({"query": 1}), 422, "query"),
        (json!({"query": "x".repeat(40_000)}), 422, "query"),
    ] {
        let answer = send(&it, "POST", SEARCH, &body).await;
        assert_eq!((answer.status, answer.field()), (status, field.to_owned()), "{body}");
    }
    for (body, field) in [
        (json!({"limit": 0}), "limit"),
        (json!({"max_depth": -1}), "max_depth"),
        (json!({"prefix": ["a.b"]}), "namespace"),
        (json!({"suffix": "a"}), "suffix"),
    ] {
        let answer = send(&it, "POST", "/store/namespaces", &body).await;
        assert_eq!((answer.status, answer.field()), (422, field.to_owned()), "{body}");
    }
    let answer = send(&it, "DELETE", ITEMS, &json!({"namespace": ["a"]})).await;
    assert_eq!((answer.status, answer.field()), (422, "key".to_owned()));
}
