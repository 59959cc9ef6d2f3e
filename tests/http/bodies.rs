//! Tests limits of bodies: their size, their compression, and how many are read at once.

use std::io::Write as _;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use serde_json::json;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::scheduling::shares::{Held, Holder};

use crate::server::{Answer, JSON, MSGPACK, Server};
use crate::wire::gzip;

/// Bodies that the server works at hold all bytes but so many: two tenants, each with its share.
pub fn fill(server: &Server, but: u64) -> Vec<Held> {
    let share = LIMITS.bytes_in_flight_per_tenant_max;
    let hold = |tenant: &str, bytes: u64| {
        let mut held = server.app.shares.account(Holder::new(tenant, "key")).open();
        held.grow(usize::try_from(bytes).unwrap()).unwrap();
        held
    };
    vec![hold("one", share), hold("two", LIMITS.bytes_in_flight_max - share - but)]
}

/// Until the count of held bytes is what is wanted.
pub async fn held(server: &Server, is_wanted: impl Fn(u64) -> bool) -> u64 {
    let look = async {
        while !is_wanted(server.app.shares.held_bytes()) {
            tokio::task::yield_now().await;
        }
        server.app.shares.held_bytes()
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), look)
        .await
        .expect("the ledger comes to what is wanted")
}

const GET: &str = "/v1/threads/get";

async fn packed(server: &Server, encoding: &str, body: Vec<u8>) -> Answer {
    let headers = [("content-type", JSON), ("content-encoding", encoding)];
    server.send("POST", GET, &headers, body).await
}

#[track_caller]
fn assert_too_large(answer: &Answer) {
    answer.assert_problem(413, "too_large");
    assert_eq!(answer.json()["limit"], LIMITS.body_bytes_max);
    assert_eq!(answer.field(), "body");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_announced_or_not() {
    let server = Server::keyless().await;
    let length = usize::try_from(LIMITS.body_bytes_max + 1).unwrap();
    let announced = [("content-type", JSON), ("content-length", &length.to_string())];
    assert_too_large(&server.send("POST", GET, &announced, b"{}".to_vec()).await);
    let chunk = Bytes::from(vec![b' '; 1 << 20]);
    let chunks = (0..73).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
    let body = Body::from_stream(stream::iter(chunks));
    assert_too_large(&server.send_body("POST", GET, &[("content-type", JSON)], body).await);
}

#[tokio::test]
async fn a_small_body_that_stands_for_a_large_one_is_refused() {
    let server = Server::keyless().await;
    let spaces = vec![b' '; usize::try_from(LIMITS.body_bytes_max + 1).unwrap()];
    assert_too_large(&packed(&server, "gzip", gzip(&spaces)).await);
    assert_too_large(&packed(&server, "zstd", zstd::encode_all(&spaces[..], 1).unwrap()).await);
}

#[tokio::test]
async fn compressed_bodies_are_read_and_damaged_ones_are_malformed() {
    let server = Server::keyless().await;
    let body = br#"{"thread_id":"t"}"#;
    packed(&server, "gzip", gzip(body)).await.ok();
    packed(&server, "zstd", zstd::encode_all(&body[..], 1).unwrap()).await.ok();
    packed(&server, "identity", body.to_vec()).await.ok();
    for encoding in ["gzip", "zstd"] {
        packed(&server, encoding, b"hello".to_vec()).await.assert_problem(400, "malformed_body");
    }
    let cut = gzip(body);
    let cut = cut[..cut.len() - 4].to_vec();
    packed(&server, "gzip", cut).await.assert_problem(400, "malformed_body");
}

#[tokio::test]
async fn a_frame_that_asks_for_a_huge_window_is_refused() {
    let server = Server::keyless().await;
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.write_all(br#"{"thread_id":"t""#).unwrap();
    encoder.write_all(&vec![b' '; 64 << 20]).unwrap();
    encoder.write_all(b"}").unwrap();
    let body = encoder.finish().unwrap();
    packed(&server, "zstd", body).await.assert_problem(400, "malformed_body");
}

#[tokio::test]
async fn a_body_that_ends_early_is_malformed() {
    let server = Server::keyless().await;
    let chunks = [Ok(Bytes::from_static(b"{\"thr")), Err(std::io::Error::other("gone"))];
    let body = Body::from_stream(stream::iter(chunks));
    let answer = server.send_body("POST", GET, &[("content-type", JSON)], body).await;
    answer.assert_problem(400, "malformed_body");
}

#[tokio::test]
async fn bytes_in_flight_are_bounded_and_given_back() {
    let server = Server::keyless().await;
    let body = json!({"thread_id": "t"});
    let taken = fill(&server, 5);
    server.post(GET, &body).await.assert_problem(503, "overloaded");
    let packed_answer = packed(&server, "gzip", gzip(&[b' '; 100])).await;
    packed_answer.assert_problem(503, "overloaded");
    drop(taken);
    server.post(GET, &body).await.ok();
    server.post_bytes(GET, JSON, "{").await.assert_problem(400, "malformed_body");
    assert_eq!(server.app.shares.held_bytes(), 0);
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_ask() {
    let server = Server::keyless().await;
    let data = "A".repeat(8_000);
    let put = json!({"thread_id": "t", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": {"v": 4, "channel_versions": {"m": 1}}, "metadata": {},
        "values": [{"channel": "m", "version": 1, "tag": "x", "data": data}]
    }}]});
    server.post("/v1/checkpoints/commit", &put).await.ok();
    let get = async |accepted: Option<&str>| {
        let mut headers = vec![("content-type", JSON)];
        headers.extend(accepted.map(|it| ("accept-encoding", it)));
        let body = br#"{"thread_id":"t"}"#.to_vec();
        server.send("POST", "/v1/checkpoints/get", &headers, body).await.ok()
    };
    let plain = get(None).await;
    assert_eq!(plain.header("content-encoding"), None);
    let zstd = get(Some("zstd, gzip;q=0.5")).await;
    assert_eq!(zstd.header("content-encoding"), Some("zstd"));
    assert_eq!(zstd::decode_all(&zstd.body[..]).unwrap(), plain.body);
    assert_eq!(get(Some("gzip")).await.header("content-encoding"), Some("gzip"));
    let small = server.get_with("/v1/whoami", &[("accept-encoding", "gzip")]).await;
    assert_eq!(small.header("content-encoding"), None);
}

#[tokio::test]
async fn a_large_body_is_decoded_beside_the_other_requests() {
    let server = Server::keyless().await;
    let ids: Vec<String> = (0..1_000).map(|it| format!("{it:0500}")).collect();
    let body = json!({"thread_ids": ids, "strategy": "delete"});
    server.post("/v1/checkpoints/prune", &body).await.ok();
    let packed = rmp_serde::to_vec_named(&body).unwrap();
    server.post_bytes("/v1/checkpoints/prune", MSGPACK, packed).await.ok();
    assert_eq!(server.storage.calls().len(), 2);
}
