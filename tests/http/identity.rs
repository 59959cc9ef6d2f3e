//! Tests keys: which ones open a tenant, how, and for how long.

use std::time::Duration;

use serde_json::json;
use threadkeep::auth::secret::Secret;

use crate::memory::Memory;
use crate::server::{JSON, Server, add_key};

async fn whoami(server: &Server, name: &str, value: &str) -> (u16, String) {
    let answer = server.get_with("/v1/whoami", &[(name, value)]).await;
    let tenant = answer.json()["tenant"].as_str().unwrap_or_default().to_owned();
    (answer.status, tenant)
}

#[tokio::test]
async fn both_headers_open_the_tenant_of_the_key() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let acme = (200, "acme".to_owned());
    assert_eq!(whoami(&server, "authorization", &format!("Bearer {}", keys[0])).await, acme);
    assert_eq!(whoami(&server, "authorization", &format!("bearer {}", keys[0])).await, acme);
    assert_eq!(whoami(&server, "x-api-key", &keys[0]).await, acme);
    assert_eq!(whoami(&server, "x-api-key", &keys[1]).await, (200, "globex".to_owned()));
}

#[tokio::test]
async fn nothing_else_opens_anything() {
    let (server, keys) = Server::with_keys(&["acme"]).await;
    let basic = format!("Basic {}", keys[0]);
    let longer = format!("{}x", keys[0]);
    for (name, value) in [
        ("authorization", basic.as_str()),
        ("authorization", keys[0].as_str()),
        ("authorization", "Bearer"),
        ("authorization", "Bearer "),
        ("x-api-key", ""),
        ("x-api-key", &longer),
        ("x-api-key", "tk_"),
    ] {
        let answer = server.get_with("/v1/whoami", &[(name, value)]).await;
        answer.assert_problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    // A key in a query string would end up in logs and histories.
    for name in ["key", "api_key", "x-api-key", "token"] {
        let answer = server.get(&format!("/v1/whoami?{name}={}", keys[0])).await;
        answer.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let put = json!({"thread_id": "t", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": {}, "metadata": {}, "values": []
    }}]});
    let send = async |key: &str, path: &str, body: &serde_json::Value| {
        let headers = [("content-type", JSON), ("x-api-key", key)];
        server.send("POST", path, &headers, body.to_string().into_bytes()).await.ok().json()
    };
    send(&keys[0], "/v1/checkpoints/commit", &put).await;
    let get = json!({"thread_id": "t"});
    assert!(send(&keys[0], "/v1/checkpoints/get", &get).await["checkpoint"].is_object());
    assert!(send(&keys[1], "/v1/checkpoints/get", &get).await["checkpoint"].is_null());
}

#[tokio::test]
async fn a_server_with_keys_answers_other_hosts_and_proxies() {
    let (server, keys) = Server::with_keys(&["acme"]).await;
    let headers =
        [("host", "memory.acme.test"), ("x-forwarded-for", "203.0.113.7"), ("x-api-key", &keys[0])];
    server.get_with("/v1/whoami", &headers).await.ok();
}

#[tokio::test(start_paused = true)]
async fn the_first_key_ends_the_keyless_mode_within_two_seconds() {
    let server = Server::keyless().await;
    server.get("/v1/whoami").await.ok();
    let key = add_key(&server.storage, "acme");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    server.get("/v1/whoami").await.assert_problem(401, "unauthorized");
    assert_eq!(whoami(&server, "x-api-key", &key).await, (200, "acme".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn revoking_the_only_key_opens_nothing() {
    let (server, _) = Server::with_keys(&["default"]).await;
    server.get("/v1/whoami").await.assert_problem(401, "unauthorized");
    server.storage.keys.lock().unwrap()[0].revoked_at = Some(1);
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    server.get("/v1/whoami").await.assert_problem(401, "unauthorized");
    let get = json!({"namespace": ["a"], "key": "k"});
    server.post("/v1/store/get", &get).await.assert_problem(401, "unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_is_refused_within_two_seconds() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    server.storage.keys.lock().unwrap().retain(|key| key.tenant != "acme");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(whoami(&server, "x-api-key", &keys[0]).await.0, 401);
    assert_eq!(whoami(&server, "x-api-key", &keys[1]).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn keys_that_cannot_be_read_for_five_seconds_close_the_server_and_open_it_again() {
    let (server, keys) = Server::with_keys(&["acme"]).await;
    *server.storage.keys_fail.lock().unwrap() = true;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(whoami(&server, "x-api-key", &keys[0]).await.0, 200);
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let answer = server.get_with("/v1/whoami", &[("x-api-key", &keys[0])]).await;
    answer.assert_problem(503, "unavailable");
    server.get("/readyz").await.assert_problem(503, "unavailable");
    server.get("/healthz").await.ok();
    *server.storage.keys_fail.lock().unwrap() = false;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(whoami(&server, "x-api-key", &keys[0]).await.0, 200);
    server.get("/readyz").await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_new_key_among_many_unknown_ones_is_told_to_come_again() {
    let (server, _) = Server::with_keys(&["acme"]).await;
    let ask = async |key: &str| server.get_with("/v1/whoami", &[("x-api-key", key)]).await;
    for _ in 0..20 {
        ask(Secret::random().text()).await.assert_problem(401, "unauthorized");
    }
    let key = add_key(&server.storage, "globex");
    let answer = ask(&key).await;
    answer.assert_problem(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(whoami(&server, "x-api-key", &key).await, (200, "globex".to_owned()));
}

#[tokio::test]
async fn a_subject_comes_with_its_label() {
    let storage = Memory::default();
    let key = add_key(&storage, "acme");
    storage.keys.lock().unwrap()[0].subject = Some("ann@acme.test".into());
    let server = Server::on("127.0.0.1:7070", storage).await;
    let answer = server.get_with("/v1/whoami", &[("x-api-key", &key)]).await.ok().json();
    let owned = json!([{"owned": true, "actions": ["read", "write"]}]);
    let namespaces = json!([{"prefix": ["ann@acme~2etest"], "actions": ["read", "write"]}]);
    let all = json!(["read", "append", "write"]);
    assert_eq!(
        answer,
        json!({
            "tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest",
            "label_with_colons": "ann@acme~2etest",
            "credential": "key_acme",
            "grants": {
                "threads": owned, "sessions": owned, "snapshots": owned, "namespaces": namespaces
            },
            "capabilities": {
                "threads": all, "namespaces": all, "sessions": all, "snapshots": all, "tenant": []
            }
        })
    );
}

#[tokio::test]
async fn limits_are_told() {
    let server = Server::keyless().await;
    let limits = server.get("/v1/limits").await.ok().json();
    assert_eq!(limits["body_bytes_max"], 72 << 20);
    assert_eq!(limits["thread_id_bytes_max"], 512);
}
