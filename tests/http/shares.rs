//! Tests the memory that clients hold: slow senders and readers are cut off, everybody has a share, and others are answered all the time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde_json::json;
use threadkeep::auth::secret::Secret;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::scheduling::shares::Holder;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tokens::key::{Key, ShownKey};
use tower::ServiceExt as _;

use crate::bodies::{fill, held};
use crate::drive_world::World;
use crate::server::{HOST, JSON, Server};

const ATTACKERS: usize = 64;

/// Another tenant's calls of every kind.
async fn assert_answered(server: &Server, key: &str) {
    let headers = [("x-api-key", key), ("content-type", JSON)];
    let item = json!({"namespace": ["n"], "key": "k", "value": {"a": 1}}).to_string();
    server.send("POST", "/v1/store/put", &headers, item.into_bytes()).await.ok();
    let thread = json!({"thread_id": "t"}).to_string();
    server.send("POST", "/v1/checkpoints/get", &headers, thread.into_bytes()).await.ok();
    let file = "/v1/files/content?ns=n&path=/f";
    server.send("PUT", file, &headers[..1], vec![b'x'; 100_000]).await.ok();
    assert_eq!(server.send("GET", file, &headers[..1], Vec::new()).await.ok().body.len(), 100_000);
}

async fn begin_upload(server: &Server, key: &str) -> String {
    let headers = [("x-api-key", key), ("content-type", JSON)];
    let place = json!({"namespace": ["n"], "path": "/large.bin"}).to_string();
    let begun = server.send("POST", "/v1/files/uploads", &headers, place.into_bytes()).await.ok();
    format!("/v1/files/uploads/{}", begun.json()["upload_id"].as_str().unwrap())
}

/// A server on a real engine with two tenants: a key of each.
async fn world() -> (World, String) {
    let world = World::new().await;
    let secret = Secret::random();
    let key = Key {
        key_id: "key_globex".into(),
        tenant: "globex".into(),
        subject: None,
        hash: secret.hash(),
        created_at: 0,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    };
    let act = Act::of_operator("globex", ActKind::KeyCreated, &key.key_id, 0);
    world.storage.create_key(&key, &act).await.unwrap();
    (world, secret.text().to_owned())
}

/// Parts of which one byte comes and then nothing, or one more every twenty seconds.
#[tokio::test]
async fn idle_and_trickling_uploads_hold_what_they_sent_and_are_cut_off() {
    let (world, globex) = world().await;
    let upload = begin_upload(&world.server, &world.tenant).await;
    let server = Arc::new(world.server);
    let attack = |number: usize| {
        let (server, key) = (Arc::clone(&server), world.tenant.clone());
        let path = format!("{upload}/parts/{}", number + 1);
        let byte = || Ok::<_, std::io::Error>(Bytes::from_static(b"x"));
        let trickle = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Some((byte(), ()))
        });
        let first = stream::iter([byte()]);
        let body = if number.is_multiple_of(2) {
            Body::from_stream(first.chain(stream::pending()))
        } else {
            Body::from_stream(first.chain(trickle))
        };
        tokio::spawn(async move {
            let headers = [("x-api-key", key.as_str()), ("content-length", "1000000")];
            server.send_body("PUT", &path, &headers, body).await
        })
    };
    let attackers: Vec<_> = (0..ATTACKERS).map(attack).collect();
    let sent = 2 * ATTACKERS as u64;
    held(&server, |it| it >= sent).await;
    assert_eq!(server.app.shares.held_bytes(), sent);
    assert_answered(&server, &globex).await;
    tokio::time::pause();
    // One byte comes after twenty seconds; ten more, and the patience is at its end.
    for seconds in [20, 11] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }
    for attacker in attackers {
        assert!(attacker.is_finished());
        attacker.await.unwrap().assert_problem(400, "malformed_body");
    }
    assert_eq!(server.app.shares.held_bytes(), 0);
}

async fn ask(server: &Server, path: &str, key: Option<&str>) -> Response {
    let request = Request::get(path).header("host", HOST);
    let request = key.into_iter().fold(request, |it, key| it.header("x-api-key", key));
    server.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn downloads_that_nobody_takes_leave_room_for_everybody_else() {
    let (world, globex) = world().await;
    world.upload(&world.ann, "/large.bin", &vec![7; 20 << 20]).await;
    let url = world.url(&world.ann, "?path=/large.bin").await;
    let server = &world.server;
    let mut taken = Vec::new();
    for _ in 0..ATTACKERS {
        taken.push(ask(server, &url, None).await);
    }
    held(server, |it| it > 0).await;
    assert!(server.app.shares.held_bytes() <= LIMITS.bytes_in_flight_per_tenant_max);
    assert_answered(server, &globex).await;
    // The tenant's own key, too: addresses have a share of their own.
    assert_answered(server, &world.tenant).await;
    drop(taken);
    held(server, |it| it == 0).await;
}

/// Time stands still until what is returned is dropped, also while threads that the runtime does not know are at work: they would let it pass.
fn stand_still() -> std::sync::mpsc::Sender<()> {
    let (end, ended) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || ended.recv());
    end
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_until_it_was_taken() {
    let _still = stand_still();
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let headers = [("x-api-key", keys[0].as_str()), ("content-type", JSON)];
    let file = "/v1/files/content?ns=n&path=/f";
    let size = 12 << 20;
    server.send("PUT", file, &headers[..1], vec![b'x'; size]).await.ok();
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(ask(&server, file, Some(&keys[0])).await);
    }
    let held = server.app.shares.held_bytes();
    assert!(held >= 5 * size as u64, "{held}");
    assert!(held <= LIMITS.bytes_in_flight_per_credential_max + size as u64, "{held}");
    assert!(answers.iter().any(|it| it.status() == 503));
    assert_answered(&server, &keys[1]).await;
    let mut body = answers.remove(0).into_body().into_data_stream();
    let mut left = size;
    while let Some(frame) = body.next().await {
        let frame = frame.unwrap();
        assert!(frame.len() <= 64 << 10);
        left -= frame.len();
        drop(frame);
        let now = server.app.shares.held_bytes();
        assert_eq!(now, held - (size - left) as u64);
    }
    assert_eq!(left, 0);
    drop(answers);
    assert_eq!(server.app.shares.held_bytes(), 0);
}

/// Two tenants hold nearly everything; a third comes.
#[tokio::test]
async fn the_slowest_body_of_a_larger_holder_is_answered_503_when_a_smaller_one_comes() {
    let (server, keys) = Server::with_keys(&["acme", "globex"]).await;
    let (server, size) = (Arc::new(server), 10_usize << 20);
    let taken = fill(&server, size as u64);
    let slow = {
        let (server, key) = (Arc::clone(&server), keys[0].clone());
        let pieces = stream::iter((0..10).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20])));
        tokio::spawn(async move {
            let headers = [("x-api-key", key.as_str()), ("content-type", JSON)];
            let body = Body::from_stream(pieces.chain(stream::pending()));
            server.send_body("POST", "/v1/threads/get", &headers, body).await
        })
    };
    held(&server, |it| it >= LIMITS.bytes_in_flight_max).await;
    let headers = [("x-api-key", keys[1].as_str()), ("content-type", JSON)];
    let thread = json!({"thread_id": "t"}).to_string();
    // The body may not yet be waiting for more when the first one comes.
    loop {
        let body = thread.clone().into_bytes();
        let answer = server.send("POST", "/v1/checkpoints/get", &headers, body).await;
        if answer.status != 503 {
            answer.ok();
            break;
        }
        tokio::task::yield_now().await;
    }
    slow.await.unwrap().assert_problem(503, "overloaded");
    drop(taken);
    assert_eq!(server.app.shares.ended(), 1);
    assert_eq!(server.app.shares.held_bytes(), 0);
}

#[tokio::test]
async fn every_legal_body_fits_for_one_credential() {
    let (server, keys) = Server::with_keys(&["acme"]).await;
    let headers = [("x-api-key", keys[0].as_str()), ("content-type", JSON)];
    let size = usize::try_from(LIMITS.body_bytes_max).unwrap();
    let mut body = br#"{"thread_id":"t"}"#.to_vec();
    body.resize(size, b' ');
    // Beside another request of the same credential.
    let credential = Holder::new("acme", "key_acme");
    let mut other = server.app.shares.account(credential).open();
    other.grow(20 << 20).unwrap();
    let piece = |at: usize| Bytes::copy_from_slice(&body[at..(at + (1 << 20)).min(size)]);
    let pieces: Vec<_> =
        (0..size).step_by(1 << 20).map(|at| Ok::<_, std::io::Error>(piece(at))).collect();
    let body = Body::from_stream(stream::iter(pieces));
    server.send_body("POST", "/v1/threads/get", &headers, body).await.ok();
}
