//! Tests versions of items and settings of namespaces through the router.

use serde_json::{Value, json};

use crate::server::{JSON, Server};

const SETTINGS: &str = "/v1/store/settings";

fn place(more: &Value) -> Value {
    let mut body = json!({"namespace": ["ann", "files"], "key": "/a.md"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn with_versions() -> Server {
    let server = Server::keyless().await;
    let setting = json!({"namespace": ["ann"], "history": 2});
    server.post(&format!("{SETTINGS}/put"), &setting).await.ok();
    for at in 0..4 {
        let put = place(&json!({"value": {"at": at}, "ttl_minutes": 5}));
        server.post("/v1/store/put", &put).await.ok();
    }
    server
}

#[tokio::test]
async fn versions_are_listed_read_and_restored() {
    let server = with_versions().await;
    let page = server.post("/v1/store/history", &place(&json!({"limit": 2}))).await.ok().json();
    let newest = json!({"version": 4, "current": true, "updated_at": "1970-01-01T00:00:02.000000Z",
        "ttl_minutes": 5.0, "size_bytes": 8});
    assert_eq!((&page["versions"][0], &page["versions"][1]["version"]), (&newest, &json!(3)));
    let rest = json!({"limit": 2, "values": true, "cursor": page["next_cursor"]});
    let rest = server.post("/v1/store/history", &place(&rest)).await.ok().json();
    assert_eq!(rest["versions"][0]["value"], json!({"at": 1}));
    assert_eq!((rest["versions"].as_array().unwrap().len(), rest.get("next_cursor")), (1, None));
    let one = |version: i64| place(&json!({"version": version}));
    let found = server.post("/v1/store/history/get", &one(3)).await.ok().json();
    assert_eq!(found["version"]["value"], json!({"at": 2}));
    assert_eq!(server.post("/v1/store/history/get", &one(1)).await.ok().json(), json!({}));
    let wrong = place(&json!({"version": 2, "if_version": 3}));
    let refused = server.post("/v1/store/history/restore", &wrong).await;
    refused.assert_problem(409, "version_conflict");
    assert_eq!(refused.json()["current_version"], 4);
    let done = server.post("/v1/store/history/restore", &one(2)).await.ok().json();
    assert_eq!(done, json!({"version": 5}));
    let item = server.post("/v1/store/get", &place(&json!({}))).await.ok().json();
    assert_eq!(
        (&item["item"]["value"], &item["item"]["ttl_minutes"]),
        (&json!({"at": 1}), &json!(5.0))
    );
    server.post("/v1/store/history/restore", &one(1)).await.assert_problem(404, "not_found");
    let other = json!({"namespace": ["ann"], "key": "none"});
    let none = server.post("/v1/store/history", &other).await.ok().json();
    assert_eq!(none, json!({"versions": []}));
}

#[tokio::test]
async fn settings_are_put_read_listed_and_deleted() {
    let server = with_versions().await;
    let put = json!({"namespace": ["ann", "notes"], "text_fields": ["a.b", "$"]});
    let done = server.post(&format!("{SETTINGS}/put"), &put).await.ok().json();
    assert_eq!(done["setting"]["text_fields"], json!(["a.b", "$"]));
    let of = json!({"namespace": ["ann", "notes", "x"]});
    let found = server.post(&format!("{SETTINGS}/get"), &of).await.ok().json();
    assert_eq!(found, json!({"effective": {"history": 2, "text_fields": ["a.b", "$"]}}));
    let of = json!({"namespace": ["ann", "notes"]});
    let found = server.post(&format!("{SETTINGS}/get"), &of).await.ok().json();
    assert_eq!(found["setting"]["namespace"], json!(["ann", "notes"]));
    let all = server.post(&format!("{SETTINGS}/list"), &json!({})).await.ok().json();
    assert_eq!(all["settings"].as_array().unwrap().len(), 2);
    let below = server.post(&format!("{SETTINGS}/list"), &json!({"prefix": ["bob"]})).await;
    assert_eq!(below.ok().json(), json!({"settings": []}));
    for _ in 0..2 {
        let done = server.post(&format!("{SETTINGS}/delete"), &of).await.ok().json();
        assert_eq!(done, json!({}));
    }
    let found = server.post(&format!("{SETTINGS}/get"), &of).await.ok().json();
    assert_eq!(found, json!({"effective": {"history": 2}}));
    let calls = server.storage.calls();
    let named = "put_setting namespace_setting_put [\"ann\",\"notes\"]".to_owned();
    assert!(calls.contains(&named), "{calls:?}");
}

#[tokio::test]
async fn what_is_out_of_range_is_named() {
    let server = Server::keyless().await;
    let of = |more: Value| {
        let mut body = json!({"namespace": ["n"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (path, body, field) in [
        ("settings/put", of(json!({"history": -1})), "history"),
        ("settings/put", of(json!({"history": 1_001})), "history"),
        ("settings/put", of(json!({"history": 1e30})), "history"),
        ("settings/put", of(json!({"history": "3"})), "history"),
        ("settings/put", of(json!({})), "history"),
        ("settings/put", of(json!({"text_fields": vec!["a"; 33]})), "text_fields"),
        ("settings/put", of(json!({"text_fields": ["a".repeat(257)]})), "text_fields"),
        ("settings/put", of(json!({"text_fields": [""]})), "text_fields"),
        ("settings/put", of(json!({"text_fields": [1]})), "text_fields[0]"),
        ("settings/put", of(json!({"history": 1, "more": 1})), "more"),
        ("settings/put", json!({"namespace": ["a.b"], "history": 1}), "namespace"),
        ("settings/put", json!({"history": 1}), "namespace"),
        ("settings/get", json!({"namespace": vec!["a"; 33]}), "namespace"),
        ("settings/delete", json!({"namespace": [""]}), "namespace"),
        ("settings/list", json!({"prefix": ["a."]}), "namespace"),
        ("history", json!({"namespace": [], "key": "k"}), "namespace"),
        ("history", place(&json!({"limit": -1})), "limit"),
        ("history", place(&json!({"cursor": "x"})), "cursor"),
        ("history", place(&json!({"values": 1})), "values"),
        ("history", place(&json!({"key": "x".repeat(1_025)})), "key"),
        ("history/get", place(&json!({"version": -1})), "version"),
        ("history/get", place(&json!({})), "version"),
        ("history/restore", place(&json!({"version": -1})), "version"),
        ("history/restore", place(&json!({"version": 1, "if_version": -1})), "if_version"),
        ("history/restore", place(&json!({"version": 1.5})), "version"),
    ] {
        let answer = server.post(&format!("/v1/store/{path}"), &body).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{path} {body}");
    }
    assert!(server.storage.settings.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_tenant_has_a_limited_number_of_settings() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let put = async |key: &str, label: String| {
        let body = json!({"namespace": [label], "history": 1}).to_string().into_bytes();
        let headers = [("content-type", JSON), ("x-api-key", key)];
        server.send("POST", &format!("{SETTINGS}/put"), &headers, body).await
    };
    for at in 0..1_000 {
        // On a slow machine the puts take longer than keys may go unread.
        if at % 100 == 0 {
            server.app.authenticator.refresh().await.unwrap();
        }
        put(&keys[0], format!("n{at}")).await.ok();
    }
    put(&keys[0], "n7".into()).await.ok();
    let refused = put(&keys[0], "one-more".into()).await;
    refused.assert_problem(422, "invalid");
    assert_eq!((refused.field(), &refused.json()["limit"]), ("namespace".into(), &json!(1_000)));
    put(&keys[1], "one-more".into()).await.ok();
}
