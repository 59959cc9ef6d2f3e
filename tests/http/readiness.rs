//! Tests readiness: as text for load balancers, and as JSON for whoever asks why a server is not ready.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use threadkeep::domain::Error;
use threadkeep::http;
use tower::ServiceExt as _;

use crate::server::{JSON, Server};

async fn told(server: &Server) -> (u16, Value) {
    let answer = server.get_with("/readyz", &[("accept", JSON)]).await;
    assert_eq!(answer.header("content-type"), Some(JSON));
    (answer.status, answer.json())
}

/// The checks, with the reason of one that failed.
fn checks(failed: &str, detail: &str) -> Value {
    let all = ["process", "keys", "writes", "database"].map(|name| {
        if name == failed {
            json!({"name": name, "ok": false, "detail": detail})
        } else {
            json!({"name": name, "ok": true})
        }
    });
    json!({"ready": failed.is_empty(), "checks": all})
}

#[tokio::test]
async fn a_server_that_is_ready_says_so_as_it_is_asked() {
    let server = Server::keyless().await;
    assert_eq!(told(&server).await, (200, checks("", "")));
    for accept in ["*/*", "text/plain", "application/msgpack"] {
        let answer = server.get_with("/readyz", &[("accept", accept)]).await.ok();
        assert_eq!(answer.body, b"ready\n");
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    }
}

#[tokio::test]
async fn a_database_that_fails_is_named_without_its_cause() {
    let server = Server::keyless().await;
    let retry_after = Duration::from_secs(1);
    server.storage.fail(move || Error::Unavailable { detail: "SECRET".into(), retry_after });
    let (status, body) = told(&server).await;
    assert_eq!(status, 503);
    let detail = body["checks"][3]["detail"].as_str().unwrap();
    assert!(!detail.is_empty() && !detail.contains("SECRET"), "{detail}");
    assert_eq!(body, checks("database", detail));
    server.get("/readyz").await.assert_problem(503, "unavailable");
}

#[tokio::test]
async fn a_server_that_stops_says_so_and_makes_the_other_checks() {
    let server = Server::keyless().await;
    server.app.readiness.begin_stop();
    assert_eq!(told(&server).await, (503, checks("process", "the server is stopping")));
    server.get("/readyz").await.assert_problem(503, "unavailable");
}

#[tokio::test(start_paused = true)]
async fn keys_that_cannot_be_read_are_named() {
    let (server, _) = Server::with_keys(&["acme"]).await;
    *server.storage.keys_fail.lock().unwrap() = true;
    tokio::time::sleep(Duration::from_millis(7_500)).await;
    let (status, body) = told(&server).await;
    assert_eq!(status, 503);
    let detail = "the keys could not be read for a while";
    assert_eq!(body, checks("keys", detail));
}

#[tokio::test]
async fn writes_that_fail_are_named() {
    let server = Server::keyless().await;
    server.app.writes.note_obstacle("the disk is full");
    let answer = server.get_with("/readyz", &[("accept", JSON)]).await;
    assert_eq!(answer.status, 503);
    let writes = &answer.json()["checks"][2];
    assert_eq!(writes["ok"], false);
    let detail = writes["detail"].as_str().unwrap();
    assert!(detail.contains("a write failed") && !detail.contains("disk"), "{detail}");
    assert_eq!(answer.json()["checks"][3]["ok"], true);
}

#[tokio::test]
async fn who_runs_the_server_is_told_the_cause() {
    let server = Server::keyless().await;
    let retry_after = Duration::from_secs(1);
    server.storage.fail(move || Error::Unavailable { detail: "db-1 is away".into(), retry_after });
    let metrics = PrometheusBuilder::new().build_recorder().handle();
    let request = Request::get("/readyz").header("accept", JSON).body(Body::empty()).unwrap();
    let answer = http::operators(&server.app, metrics).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 503);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let detail = body["checks"][3]["detail"].as_str().unwrap();
    assert!(detail.contains("db-1 is away"), "{detail}");
}
