//! Tests every route of the document for what holds on all: compressed bodies, HTTP/1.1 with keep-alive and HTTP/2 on one port, the request
//! id, and the time it took.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::app::App;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use threadkeep::http::connections::listener::{self, Bounds};
use tokio::net::{TcpListener, TcpStream};

use crate::memory::Memory;
use crate::ownership;
use crate::server::{Answer, DOCUMENT, HOST, JSON, MSGPACK, SETTINGS, Server, no_metrics};
use crate::wire::gzip;

const ID: &str = "req-1";

/// A request of the document: its example where it has one.
struct Asked {
    method: String,
    path: String,
    tag: String,
    media: Option<&'static str>,
    body: Vec<u8>,
}

fn every_route() -> Vec<Asked> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| {
            let content = &operation["requestBody"]["content"];
            let raw = ["application/octet-stream", "application/x-tar", "multipart/form-data"];
            let media = [JSON].into_iter().chain(raw).find(|it| content[*it].is_object());
            let body = match media {
                Some(JSON) => content[JSON]["example"].to_string().into_bytes(),
                Some(_) => b"raw".to_vec(),
                None => Vec::new(),
            };
            let tag = operation["tags"][0].as_str().unwrap().to_owned();
            Asked { method: method.to_uppercase(), path: path.clone(), tag, media, body }
        })
    });
    all.collect()
}

/// To a server on which nothing has happened yet.
async fn to_a_fresh_server(asked: &Asked, encoding: &str, body: Vec<u8>) -> Answer {
    let mut headers = vec![("content-type", asked.media.unwrap()), ("content-encoding", encoding)];
    let (server, operator) = if asked.tag == "operators" {
        Server::with_operator().await
    } else {
        (Server::keyless().await, String::new())
    };
    if !operator.is_empty() {
        headers.push(("x-api-key", &operator));
    }
    server.send(&asked.method, &asked.path, &headers, body).await
}

#[tokio::test]
async fn a_body_may_be_compressed_wherever_it_is_json_and_raw_bytes_never() {
    let mut families = HashSet::new();
    for asked in every_route().iter().filter(|it| it.media.is_some()) {
        let name = format!("{} {}", asked.method, asked.path);
        let plain = to_a_fresh_server(asked, "identity", asked.body.clone()).await;
        let packed =
            [("gzip", gzip(&asked.body)), ("zstd", zstd::encode_all(&asked.body[..], 1).unwrap())];
        for (encoding, body) in packed {
            let answer = to_a_fresh_server(asked, encoding, body).await;
            if asked.media == Some(JSON) {
                assert_ne!(plain.status, 400, "{name}");
                assert_eq!(answer.status, plain.status, "{name} with {encoding}");
                families.insert(asked.tag.clone());
            } else {
                answer.assert_problem(415, "unsupported_media_type");
                assert_eq!(answer.field(), "Content-Encoding", "{name}");
            }
        }
        if asked.media == Some(JSON) {
            let damaged = to_a_fresh_server(asked, "zstd", asked.body.clone()).await;
            assert_eq!(damaged.problem(), (400, "malformed_body".to_owned()), "{name}");
        }
    }
    assert!(families.len() >= 8, "{families:?}");
}

/// Without keys, on a real engine.
async fn on_sqlite(host: &str) -> (Server, TempDir) {
    let folder = TempDir::new().unwrap();
    let storage = ownership::open(&folder).await;
    let (clock, listen) = (Arc::new(Clock::System), host.parse().unwrap());
    let app =
        App::start(storage, clock, listen, SETTINGS, Some(no_metrics()), Issuers::default()).await;
    let app = Arc::new(app.unwrap());
    let router = threadkeep::http::router(&app);
    (Server { app, storage: Arc::new(Memory::default()), router }, folder)
}

/// Something large of each family, and how to read it.
async fn large_answers(server: &Server) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let text = "a long line of words, again and again. ".repeat(200);
    let namespace = json!(["ann", "workspace"]);
    let long: Vec<Value> =
        (0..40).map(|it| json!({"data": {"number": it, "text": "x".repeat(60)}})).collect();
    let commit = json!({"thread_id": "t", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": {"v": 4, "channel_versions": {"m": 1}},
        "metadata": {"text": text}, "values": []
    }}]});
    let made = [
        ("/v1/checkpoints/commit", commit),
        ("/v1/store/put", json!({"namespace": namespace, "key": "k", "value": {"text": text}})),
        ("/v1/files/write", json!({"namespace": namespace, "path": "/f.txt", "content": text})),
        ("/v1/sessions/append", json!({"kind": "k", "key": ["s"], "entries": long})),
    ];
    for (path, body) in made {
        let answer = server.post(path, &body).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let body = |it: Value| it.to_string().into_bytes();
    vec![
        ("POST", "/v1/checkpoints/get", body(json!({"thread_id": "t"}))),
        ("GET", "/v1/state?thread_id=t", Vec::new()),
        ("POST", "/v1/store/get", body(json!({"namespace": namespace, "key": "k"}))),
        ("POST", "/v1/store/search", body(json!({"prefix": ["ann"]}))),
        ("POST", "/v1/files/read", body(json!({"namespace": namespace, "path": "/f.txt"}))),
        ("GET", "/v1/files/content?ns=ann&ns=workspace&path=/f.txt", Vec::new()),
        ("POST", "/v1/sessions/load", body(json!({"kind": "k", "key": ["s"]}))),
        ("GET", "/v1/limits", Vec::new()),
        ("GET", "/openapi.json", Vec::new()),
        ("GET", "/docs", Vec::new()),
    ]
}

#[tokio::test]
async fn a_large_answer_is_compressed_as_the_caller_asks_in_both_forms() {
    let (server, _folder) = on_sqlite(HOST).await;
    for (method, path, body) in large_answers(&server).await {
        for form in [JSON, MSGPACK] {
            let ask = async |encoding: &str| {
                let headers =
                    [("content-type", JSON), ("accept", form), ("accept-encoding", encoding)];
                server.send(method, path, &headers, body.clone()).await.ok()
            };
            let plain = ask("identity").await;
            assert!(plain.body.len() > 1_024, "{path} is not large");
            assert_eq!(plain.header("content-encoding"), None, "{path}");
            let (gzip, zstd) = (ask("gzip").await, ask("zstd").await);
            assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{path}");
            assert_eq!(zstd.header("content-encoding"), Some("zstd"), "{path}");
            let mut unpacked = Vec::new();
            std::io::copy(&mut flate2::read::GzDecoder::new(&gzip.body[..]), &mut unpacked)
                .unwrap();
            assert_eq!(unpacked, plain.body, "{path}");
            assert_eq!(zstd::decode_all(&zstd.body[..]).unwrap(), plain.body, "{path}");
            assert!(gzip.header("vary").is_some_and(|it| it.contains("accept-encoding")), "{path}");
        }
    }
}

/// A real listener, and where it is.
async fn listening() -> (String, Server, TempDir) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = socket.local_addr().unwrap().to_string();
    let (server, folder) = on_sqlite(&host).await;
    let router = server.router.clone();
    tokio::spawn(listener::serve(socket, router, Bounds::default(), std::future::pending()));
    (host, server, folder)
}

fn request(asked: &Asked, address: &str, host: Option<&str>) -> Request<Full<bytes::Bytes>> {
    let mut request = Request::builder().method(&*asked.method).uri(address);
    request = request.header("x-request-id", ID);
    if let Some(host) = host {
        request = request.header("host", host);
    }
    if let Some(media) = asked.media {
        request = request.header("content-type", media);
    }
    request.body(Full::from(asked.body.clone())).unwrap()
}

fn assert_told(name: &str, headers: &HeaderMap) {
    assert_eq!(headers.get("x-request-id").unwrap(), ID, "{name}");
    let timing = headers.get("server-timing").unwrap().to_str().unwrap();
    let milliseconds = timing.strip_prefix("total;dur=").unwrap();
    assert!(milliseconds.parse::<f64>().unwrap() >= 0.0, "{name}: {timing}");
}

#[tokio::test]
async fn every_route_is_served_on_one_connection_of_either_version_and_tells_id_and_time() {
    let (host, _server, _folder) = listening().await;
    let io = TokioIo::new(TcpStream::connect(&host).await.unwrap());
    let (mut one, connection) = http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let io = TokioIo::new(TcpStream::connect(&host).await.unwrap());
    let (mut two, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for asked in every_route() {
        let name = format!("{} {}", asked.method, asked.path);
        let path = asked.path.replace(['{', '}'], "");
        one.ready().await.unwrap_or_else(|error| panic!("before {name}: {error}"));
        let first = one.send_request(request(&asked, &path, Some(&host))).await.unwrap();
        two.ready().await.unwrap_or_else(|error| panic!("before {name}: {error}"));
        let address = format!("http://{host}{path}");
        let second = two.send_request(request(&asked, &address, None)).await.unwrap();
        assert_told(&name, first.headers());
        assert_told(&name, second.headers());
        let is_feed =
            first.headers().get("content-type").is_some_and(|it| it == "text/event-stream");
        // What is there already may be told to the second.
        assert!(!first.status().is_server_error() && !second.status().is_server_error(), "{name}");
        let same = first.status() == second.status()
            || first.status().is_success() && second.status().is_success();
        assert!(same || second.status().is_client_error(), "{name}: {}", second.status());
        if is_feed {
            // It does not end: the connection goes on with another.
            let io = TokioIo::new(TcpStream::connect(&host).await.unwrap());
            let (again, connection) = http1::handshake(io).await.unwrap();
            tokio::spawn(connection);
            one = again;
            continue;
        }
        first.into_body().collect().await.unwrap();
        second.into_body().collect().await.unwrap();
    }
}

#[tokio::test]
async fn a_refusal_before_any_route_tells_id_and_time_too() {
    let server = Server::keyless().await;
    for (method, path, headers) in [
        ("GET", "/v1/nothing", [("x-request-id", ID), ("accept", JSON)]),
        ("PATCH", "/v1/whoami", [("x-request-id", ID), ("accept", JSON)]),
        ("GET", "/v1/whoami", [("x-request-id", ID), ("host", "evil.example")]),
        ("GET", "/v1/whoami", [("x-request-id", ID), ("accept", "image/png")]),
    ] {
        let answer = server.send_body(method, path, &headers, Body::empty()).await;
        assert!(answer.status >= 400, "{method} {path}");
        assert_told(path, &answer.headers);
    }
}
