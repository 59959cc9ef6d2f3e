//! Tests that `GET /v1/info` tells everybody the name of the server, and callers what it has.

use serde_json::json;
use threadkeep::app::{Browsers, Facts, Outside};

use crate::memory::Memory;
use crate::server::{Server, add_key};

const INFO: &str = "/v1/info";

fn outside() -> Outside {
    let browsers = Browsers {
        files_origin: Some("https://files.example.com".to_owned()),
        has_console: true,
        ..Browsers::default()
    };
    let facts = Facts { has_encryption: true, has_object_store: true, has_redis: false };
    Outside { browsers, facts, ..Outside::default() }
}

#[tokio::test]
async fn who_presents_nothing_learns_the_name_alone() {
    let storage = Memory::default();
    add_key(&storage, "acme");
    let server = Server::with(storage, outside()).await;
    let answer = server.get(INFO).await.ok();
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({"name": "threadkeep", "version": version, "keyless": false});
    assert_eq!(answer.json(), expected);
    for key in ["", "tk_nobody", "tks_nobody"] {
        server.get_with(INFO, &[("x-api-key", key)]).await.assert_problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_caller_learns_what_the_server_has() {
    let storage = Memory::default();
    let key = add_key(&storage, "acme");
    let server = Server::with(storage, outside()).await;
    let mut told = server.get_with(INFO, &[("x-api-key", &key)]).await.ok().json();
    let started_at = told.as_object_mut().unwrap().remove("started_at").unwrap();
    assert!(started_at.as_str().unwrap().ends_with('Z'), "{started_at}");
    let features = json!({
        "agent_server": true, "console": true, "encryption": true, "files_origin": "https://files.example.com",
        "object_store": true, "redis": false,
    });
    let expected = json!({
        "name": "threadkeep", "version": env!("CARGO_PKG_VERSION"), "keyless": false, "engine": "memory", "features": features,
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_local_user_of_a_server_without_keys_is_a_caller() {
    let told = Server::keyless().await.get(INFO).await.ok().json();
    assert_eq!((&told["keyless"], &told["features"]["console"]), (&json!(true), &json!(false)));
}
