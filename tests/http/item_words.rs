//! Tests searches by words through the router.

use serde_json::{Value, json};

use crate::server::Server;

async fn with_words() -> Server {
    let server = Server::keyless().await;
    let setting = json!({"namespace": ["ann"], "text_fields": ["$"]});
    let done = server.post("/v1/store/settings/put", &setting).await.ok().json();
    assert_eq!(done["setting"]["indexing"], true);
    for (key, text) in [("a", "green tea"), ("b", "Tea tea"), ("c", "water")] {
        let put = json!({"namespace": ["ann"], "key": key, "value": {"text": text}});
        server.post("/v1/store/put", &put).await.ok();
    }
    server
}

#[tokio::test]
async fn words_are_searched_alone_and_in_batches() {
    let server = with_words().await;
    let search = json!({"prefix": ["ann"], "mode": "text", "query": "TEA", "limit": 1});
    let page = server.post("/v1/store/search", &search).await.ok().json();
    assert_eq!(
        (&page["items"][0]["key"], page["items"].as_array().unwrap().len()),
        (&json!("b"), 1)
    );
    assert!(page["items"][0]["score"].as_f64().unwrap() > 0.0);
    let mut more = search.clone();
    more["cursor"] = page["next_cursor"].clone();
    let rest = server.post("/v1/store/search", &more).await.ok().json();
    assert_eq!((&rest["items"][0]["key"], rest.get("next_cursor")), (&json!("a"), None));
    let ops = json!({"ops": [{"search": search}, {"search": {"mode": "text", "query": "x"}}], "atomic": false});
    let results = server.post("/v1/store/batch", &ops).await.ok().json();
    assert_eq!(results["results"][0]["items"][0]["key"], "b");
    let refused = &results["results"][1]["error"];
    assert_eq!((&refused["code"], &refused["field"]), (&json!("invalid"), &json!("mode")));
    assert!(refused["detail"].as_str().unwrap().contains("/v1/store/settings/put"));
    let fields = json!({"prefix": ["ann"], "mode": "text", "query": "tea", "select": ["none"]});
    let page = server.post("/v1/store/search", &fields).await.ok().json();
    assert_eq!(page["items"][0]["value"], json!({}));
}

#[tokio::test]
async fn what_does_not_fit_is_named() {
    let server = with_words().await;
    let of = |more: Value| {
        let mut body = json!({"prefix": ["ann"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let many = "a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7";
    for (body, field) in [
        (of(json!({"mode": "text"})), "query"),
        (of(json!({"mode": "words", "query": "x"})), "mode"),
        (of(json!({"query": "x", "query_vector": [1.0]})), "query"),
        (of(json!({"mode": "text", "query": "x", "query_vector": [1.0]})), "query_vector"),
        (of(json!({"mode": "vector", "query": "x", "query_vector": [1.0]})), "query"),
        (of(json!({"mode": "vector"})), "query_vector"),
        (of(json!({"mode": "hybrid", "query": "x"})), "query"),
        (of(json!({"mode": "hybrid", "query_vector": [1.0]})), "query"),
        (of(json!({"mode": "text", "query": "x".repeat(1_025)})), "query"),
        (of(json!({"mode": "text", "query": many})), "query"),
        (of(json!({"mode": "text", "query": 5})), "query"),
        (of(json!({"mode": "text", "query": "x", "sort": "key"})), "sort"),
        (of(json!({"mode": "text", "query": "x", "offset": 10_000})), "offset"),
        (of(json!({"mode": "text", "query": "x", "cursor": "x"})), "cursor"),
    ] {
        let answer = server.post("/v1/store/search", &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{body}");
    }
    let empty = of(json!({"mode": "text", "query": " ?! \u{0}"}));
    assert_eq!(server.post("/v1/store/search", &empty).await.ok().json(), json!({"items": []}));
}
