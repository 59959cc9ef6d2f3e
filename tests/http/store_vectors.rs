//! Tests vectors through the router: they arrive in both media types, and a refusal names its field.

use serde::Serialize;
use serde_bytes::ByteBuf;
use serde_json::{Value, json};

use crate::server::{MSGPACK, Server};

const PUT: &str = "/v1/store/put";
const SEARCH: &str = "/v1/store/search";

fn put_of(vectors: &Value, model: Option<&str>) -> Value {
    let mut body = json!({"namespace": ["n"], "key": "k", "value": {}, "vectors": vectors});
    if let Some(model) = model {
        body["model"] = json!(model);
    }
    body
}

#[tokio::test]
async fn wrong_vectors_are_refused_by_name_and_nothing_is_stored() {
    let server = Server::keyless().await;
    let long: Vec<f32> = vec![0.5; 4_097];
    let many: Vec<Value> = (0..129).map(|_| json!({"vector": [1]})).collect();
    for (vectors, model, field) in [
        (json!([]), None, "vectors"),
        (json!([{"vector": []}]), None, "vectors[0].vector"),
        (json!([{"vector": [1]}, {"vector": [1e39]}]), None, "vectors[1].vector"),
        (json!([{"vector": [1]}, {"vector": [1, 2]}]), None, "vectors[1].vector"),
        (json!([{"vector": long}]), None, "vectors[0].vector"),
        (json!(many), None, "vectors"),
        (json!([{"vector": [1], "field": "x".repeat(513)}]), None, "vectors.field"),
        (json!([{"vector": [1, "2"]}]), None, "vectors[0].vector[1]"),
        (json!([{"vector": "1"}]), None, "vectors[0].vector"),
        (json!([{"vector": null}]), None, "vectors[0].vector"),
        (json!([{"field": "a"}]), None, "vectors[0].vector"),
        (json!([{"vector": [1], "more": 1}]), None, "vectors[0].more"),
        (json!({"vector": [1]}), None, "vectors"),
        (json!([{"vector": [1]}]), Some(""), "model"),
        (json!([{"vector": [1]}]), Some("it's"), "model"),
        (json!([{"vector": [1]}]), Some(&*"m".repeat(129)), "model"),
    ] {
        let refused = server.post(PUT, &put_of(&vectors, model)).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{vectors}");
    }
    for (index, field) in [
        (json!(true), "index"),
        (json!("text"), "index"),
        (json!([1]), "index"),
        (json!(["x".repeat(513)]), "index"),
        (json!(vec!["x"; 33]), "index"),
        (json!(["nobody embeds it"]), "index"),
    ] {
        let body = json!({"namespace": ["n"], "key": "k", "value": {}, "index": index});
        let refused = server.post(PUT, &body).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{index}");
    }
    let both = json!({"namespace": ["n"], "key": "k", "value": {}, "index": ["$"], "vectors": [{"vector": [1]}]});
    assert_eq!(server.post(PUT, &both).await.field(), "index");
    assert!(server.storage.is_untouched());
}

#[tokio::test]
async fn wrong_questions_are_refused_by_name() {
    let server = Server::keyless().await;
    for (body, field) in [
        (json!({"query_vector": []}), "query_vector"),
        (json!({"query_vector": [1, 1e39]}), "query_vector"),
        (json!({"query_vector": [null]}), "query_vector[0]"),
        (json!({"mode": "vector"}), "query_vector"),
        (json!({"mode": "other", "query_vector": [1]}), "mode"),
        (json!({"query_vector": [1], "metric": "hamming"}), "metric"),
        (json!({"query_vector": [1], "model": "a b"}), "model"),
        (json!({"query_vector": [1], "sort": "key"}), "sort"),
        (json!({"query_vector": [1], "offset": 9_999, "limit": 2}), "offset"),
        (json!({"query_vector": [1], "limit": -1}), "limit"),
        (json!({"query": "x", "query_vector": [1]}), "query"),
        (json!({"query": "  "}), "query"),
        (json!({"query": "x".repeat(32_769)}), "query"),
        (json!({"query": "x", "model": "m"}), "model"),
        (json!({"query": "nobody embeds it"}), "query"),
    ] {
        let refused = server.post(SEARCH, &body).await;
        refused.assert_problem(422, "invalid");
        assert_eq!(refused.field(), field, "{body}");
    }
    assert!(server.storage.is_untouched());
    let batch = json!({"ops": [{"get": {"namespace": ["n"], "key": "k"}}, {"search": {"query_vector": []}}]});
    let refused = server.post("/v1/store/batch", &batch).await;
    assert_eq!(refused.field(), "ops[1].query_vector");
}

#[derive(Serialize)]
struct Put<V> {
    namespace: [&'static str; 1],
    key: &'static str,
    value: ByteBuf,
    vectors: [Named<V>; 1],
}

#[derive(Serialize)]
struct Named<V> {
    field: &'static str,
    vector: V,
}

fn packed<V: Serialize>(vector: V) -> Vec<u8> {
    let vectors = [Named { field: "text", vector }];
    let value = ByteBuf::from("{}");
    rmp_serde::to_vec_named(&Put { namespace: ["n"], key: "k", value, vectors }).unwrap()
}

fn bytes(numbers: &[f32]) -> ByteBuf {
    ByteBuf::from(numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>())
}

#[tokio::test]
async fn numbers_and_their_bytes_are_the_same_vector() {
    let server = Server::keyless().await;
    let numbers = [0.5_f32, -2.0, 1e-3];
    server.post_bytes(PUT, MSGPACK, packed(bytes(&numbers))).await.ok();
    server.post_bytes(PUT, MSGPACK, packed(numbers)).await.ok();
    server.post_bytes(PUT, MSGPACK, packed(numbers.map(f64::from))).await.ok();
    server.post_bytes(PUT, MSGPACK, packed([1_i64, -2])).await.ok();
    let json = put_of(&json!([{"vector": [0.5, -2, 1e-3], "field": "text"}]), Some("m"));
    server.post(PUT, &json).await.ok();
    let calls = server.storage.calls();
    let vectors: Vec<&str> = calls.iter().filter_map(|it| it.strip_prefix("vectors ")).collect();
    let same = "default text [0.5, -2.0, 0.001]";
    let of_m = "m text [0.5, -2.0, 0.001]";
    assert_eq!(vectors, [same, same, same, "default text [1.0, -2.0]", of_m]);
    for wrong in [
        packed(bytes(&[1.0, f32::NAN])),
        packed(bytes(&[f32::INFINITY])),
        packed([f64::NEG_INFINITY]),
        packed([f32::NAN]),
        packed(ByteBuf::from(vec![0; 6])),
        packed(ByteBuf::new()),
    ] {
        let refused = server.post_bytes(PUT, MSGPACK, wrong).await;
        refused.assert_problem(422, "invalid");
        assert!(refused.field().starts_with("vectors[0].vector"), "{}", refused.field());
    }
}

#[tokio::test]
async fn scores_are_answered_and_cursors_stay_in_their_order() {
    let server = Server::keyless().await;
    for key in ["a", "b", "c"] {
        let body = json!({"namespace": ["n"], "key": key, "value": {},
            "vectors": [{"vector": [1.0, 0.5]}]});
        server.post(PUT, &body).await.ok();
    }
    let first = json!({"query_vector": [1, 0], "limit": 2, "metric": "inner_product"});
    let page = server.post(SEARCH, &first).await.ok().json();
    assert_eq!(
        (page["items"].as_array().unwrap().len(), &page["items"][0]["score"]),
        (2, &json!(1.0))
    );
    let cursor = page["next_cursor"].clone();
    let mut second = first.clone();
    second["cursor"] = cursor.clone();
    let page = server.post(SEARCH, &second).await.ok().json();
    assert_eq!(page["items"][0]["key"], "c");
    let listing = server.post(SEARCH, &json!({"cursor": cursor})).await;
    listing.assert_problem(422, "invalid");
    assert_eq!(listing.field(), "cursor");
    let plain = server.post(SEARCH, &json!({})).await.ok().json();
    assert_eq!(plain["items"][0].get("score"), None);
    let limits = server.get("/v1/limits").await.ok().json();
    assert_eq!(
        (&limits["vector_dims_max"], &limits["vectors_per_item_max"]),
        (&json!(4_096), &json!(128))
    );
}
