//! Tests streams of events on the wire of the LangGraph Agent Server: they are held open, without events.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures::StreamExt as _;
use serde_json::json;
use threadkeep::domain::limits::LIMITS;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use crate::server::{HOST, JSON, Server};
use crate::tokens::{Fleet, SECOND, text};

const STREAM: &str = "/threads/t/stream/events";

async fn open(server: &Server, key: Option<&str>) -> BodyDataStream {
    let mut request = Request::builder().method("POST").uri(STREAM).header("host", HOST);
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    let request = request.body(Body::from(r#"{"channels":["messages"]}"#)).unwrap();
    let response = server.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body().into_data_stream()
}

async fn next(stream: &mut BodyDataStream) -> Option<String> {
    let bytes = stream.next().await?.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn with_thread() -> Server {
    let server = Server::keyless().await;
    server.post("/v1/threads/create", &json!({"thread_id": "t"})).await.ok();
    server
}

#[tokio::test(start_paused = true)]
async fn a_stream_beats_and_tells_nothing() {
    let server = with_thread().await;
    let mut stream = open(&server, None).await;
    let began = Instant::now();
    for beats in 0..4 {
        assert_eq!(next(&mut stream).await.as_deref(), Some(": heartbeat\n\n"));
        let at = Duration::from_secs(5 * beats);
        assert!(began.elapsed() >= at && began.elapsed() < at + Duration::from_secs(2));
    }
}

#[tokio::test]
async fn a_stream_of_an_absent_thread_and_too_many_are_refused() {
    let server = with_thread().await;
    let absent = server.post("/threads/none/stream/events", &json!({})).await;
    absent.assert_problem(404, "thread_not_found");
    let max = LIMITS.event_streams_per_credential_max;
    let mut all = Vec::new();
    for _ in 0..max {
        all.push(open(&server, None).await);
    }
    let refused = server.post(STREAM, &json!({})).await;
    refused.assert_problem(429, "too_many_requests");
    assert_eq!(refused.json()["limit"], json!(max));
    drop(all.pop());
    // Its place is free when its task has seen that nobody listens.
    let is_free = async || {
        while server.post(STREAM, &json!({})).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), is_free()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_its_credential_and_with_the_server() {
    let fleet = Fleet::of(2).await;
    let headers = [("content-type", JSON), ("x-api-key", fleet.key())];
    let post = async |path: &str, body: serde_json::Value| {
        fleet.servers[1].send("POST", path, &headers, body.to_string().into_bytes()).await.ok()
    };
    for server in &fleet.servers {
        let body = json!({"thread_id": "t"}).to_string().into_bytes();
        server.send("POST", "/v1/threads/create", &headers, body).await.ok();
    }
    let grants = json!({"grants": {"threads": [{"id": "t", "actions": ["read"]}]}});
    let reader = text(&post("/v1/tokens", grants).await);
    let server = &fleet.servers[0];
    let (mut revoked, mut kept) =
        (open(server, Some(&reader)).await, open(server, Some(fleet.key())).await);
    for stream in [&mut revoked, &mut kept] {
        next(stream).await.unwrap();
    }
    post("/v1/tokens/revoke", json!({"token": reader})).await;
    fleet.clock.advance(4 * SECOND);
    assert_eq!(next(&mut revoked).await, None);
    assert!(next(&mut kept).await.is_some());
    server.app.feeds.close();
    while next(&mut kept).await.is_some() {}
}
