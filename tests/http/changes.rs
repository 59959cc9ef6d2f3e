//! Tests the change feed through the router: which changes it sends, to whom, from where, and how it ends.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures::StreamExt as _;
use serde_json::{Value, json};
use threadkeep::domain::limits::LIMITS;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use crate::bodies::{fill, held};
use crate::server::{HOST, JSON, Server};
use crate::tokens::{Fleet, SECOND, text};

const FEED: &str = "/v1/store/changes";

/// A follower.
pub struct Stream {
    body: BodyDataStream,
    unread: String,
}

/// `id`, `event`, `data`; empty where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: String,
}

impl Event {
    pub fn told(&self) -> (String, Value) {
        (self.name.clone(), serde_json::from_str(&self.data).unwrap())
    }
}

impl Stream {
    async fn open(server: &Server, query: &str, headers: &[(&str, &str)]) -> Self {
        Self::at(server, &format!("{FEED}{query}"), headers).await
    }

    pub async fn at(server: &Server, uri: &str, headers: &[(&str, &str)]) -> Self {
        let mut request = Request::builder().uri(uri).header("host", HOST);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), unread: String::new() }
    }

    /// None: the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let mut read = Event::default();
                for line in event.lines() {
                    match line.split_once(": ") {
                        Some(("id", it)) => it.clone_into(&mut read.id),
                        Some(("event", it)) => it.clone_into(&mut read.name),
                        Some(("data", it)) => it.clone_into(&mut read.data),
                        _ => assert!(line.starts_with(':'), "{line}"),
                    }
                }
                let rest = rest.to_owned();
                self.unread = rest;
                return Some(read);
            }
            let more = self.body.next().await?.unwrap();
            self.unread.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    pub async fn change(&mut self) -> Value {
        let (name, data) = self.next().await.unwrap().told();
        assert_eq!(name, "change", "{data}");
        data
    }
}

async fn put_as(server: &Server, key: Option<&str>, namespace: &[&str], item: &str) {
    let put = json!({"namespace": namespace, "key": item, "value": {"secret": "VALUE"}});
    let mut headers = vec![("content-type", JSON)];
    headers.extend(key.map(|it| ("x-api-key", it)));
    server.send("POST", "/v1/store/put", &headers, put.to_string().into_bytes()).await.ok();
}

async fn put(server: &Server, namespace: &[&str], item: &str) {
    put_as(server, None, namespace, item).await;
}

#[tokio::test]
async fn what_happens_below_a_prefix_is_told_without_values() {
    let server = Server::keyless().await;
    put(&server, &["a", "b"], "before").await;
    let mut all = Stream::open(&server, "", &[("accept", "text/event-stream")]).await;
    let mut below = Stream::open(&server, "?ns=a&ns=b", &[]).await;
    let mut exact = Stream::open(&server, "?ns=a&exact=true", &[]).await;
    for stream in [&mut all, &mut below, &mut exact] {
        let first = stream.next().await.unwrap();
        assert_eq!((first.name.as_str(), first.data.as_str()), ("ready", "{}"));
    }
    put(&server, &["a", "b", "c"], "k").await;
    put(&server, &["a", "bc"], "k").await;
    put(&server, &["a"], "k").await;
    put(&server, &["a", "b"], "before").await;
    let gone = json!({"namespace": ["a", "b"], "key": "before"});
    server.post("/v1/store/delete", &gone).await.ok();
    let told = |namespace: Value, key: &str, version: i64, kind: &str| json!({"namespace": namespace, "key": key, "version": version, "kind": kind});
    let expected = [
        told(json!(["a", "b", "c"]), "k", 1, "put"),
        told(json!(["a", "bc"]), "k", 1, "put"),
        told(json!(["a"]), "k", 1, "put"),
        told(json!(["a", "b"]), "before", 2, "put"),
        told(json!(["a", "b"]), "before", 2, "delete"),
    ];
    for change in &expected {
        assert_eq!(all.change().await, *change);
    }
    for change in [&expected[0], &expected[3], &expected[4]] {
        assert_eq!(below.change().await, *change);
    }
    assert_eq!(exact.change().await, expected[2]);
}

#[tokio::test]
async fn a_follower_comes_back_where_it_was() {
    let server = Server::keyless().await;
    let mut first = Stream::open(&server, "?ns=n", &[]).await;
    let ready = first.next().await.unwrap();
    let mut ids = Vec::new();
    for at in 0..3 {
        put(&server, &["n"], &at.to_string()).await;
        ids.push(first.next().await.unwrap().id);
    }
    drop(first);
    // More than a page, and more than waits for a slow one.
    for at in 3..1_500 {
        put(&server, &["n"], &at.to_string()).await;
    }
    let query = format!("?ns=n&after={}", ready.id);
    // The header of a browser that comes back is stronger than the address it was given.
    let mut again = Stream::open(&server, &query, &[("last-event-id", &ids[1])]).await;
    assert_eq!(again.next().await.unwrap().id, ids[1]);
    for at in 2..1_500 {
        assert_eq!(again.change().await["key"], at.to_string());
    }
    put(&server, &["n"], "live").await;
    assert_eq!(again.change().await["key"], "live");
    let mut whole = Stream::open(&server, &query, &[("last-event-id", "")]).await;
    whole.next().await.unwrap();
    assert_eq!(whole.change().await["key"], "0");
}

#[tokio::test]
async fn a_position_that_does_not_lead_on_is_refused() {
    let fleet = Fleet::of(1).await;
    let (server, key) = (&fleet.servers[0], ("x-api-key", fleet.key()));
    let mut stream = Stream::open(server, "", &[key]).await;
    let id = stream.next().await.unwrap().id;
    let ask = async |id: &str| server.get_with(&format!("{FEED}?after={id}"), &[key]).await;
    fleet.clock.advance(24 * 3_600 * SECOND);
    ask(&id).await.ok();
    fleet.clock.advance(SECOND);
    ask(&id).await.assert_problem(410, "position_gone");
    let mut stream = Stream::open(server, "", &[key]).await;
    let id = stream.next().await.unwrap().id;
    ask(&id).await.ok();
    fleet.storage.logs.losses.fetch_add(1, Relaxed);
    ask(&id).await.assert_problem(410, "position_gone");
    for nonsense in ["x", "AAAA", "WyJjaGFuZ2VzIixbXV0"] {
        let answer = ask(nonsense).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), "after");
    }
}

#[tokio::test]
async fn a_lost_log_is_told_and_followed_on() {
    let server = Server::keyless().await;
    let mut stream = Stream::open(&server, "", &[]).await;
    stream.next().await.unwrap();
    put(&server, &["n"], "a").await;
    stream.change().await;
    server.storage.logs.losses.fetch_add(1, Relaxed);
    assert_eq!(stream.next().await.unwrap().name, "resync");
    put(&server, &["n"], "b").await;
    assert_eq!(stream.change().await["key"], "b");
}

/// The one who takes nothing does not hold up the other, and is told what he missed.
#[tokio::test]
async fn who_takes_nothing_is_told_to_look_again() {
    let server = Server::keyless().await;
    let mut slow = Stream::open(&server, "", &[]).await;
    let mut quick = Stream::open(&server, "", &[]).await;
    for stream in [&mut slow, &mut quick] {
        stream.next().await.unwrap();
        put(&server, &["n"], "live").await;
        stream.change().await;
    }
    let write = async {
        for at in 0..3_000 {
            put(&server, &["n"], &at.to_string()).await;
        }
    };
    let read = async { while quick.change().await["key"] != "2999" {} };
    tokio::join!(write, read);
    let mut taken = 0;
    let resync = loop {
        let event = slow.next().await.unwrap();
        match event.name.as_str() {
            "change" => taken += 1,
            _ => break event,
        }
    };
    assert_eq!(resync.name, "resync");
    assert!(taken < 2_000, "{taken} waited for him");
    put(&server, &["n"], "after").await;
    assert_eq!(slow.change().await["key"], "after");
    // With an earlier position he gets it all.
    let mut again = Stream::open(&server, &format!("?after={}", resync.id), &[]).await;
    again.next().await.unwrap();
    assert_eq!(again.change().await["key"], "after");
}

#[tokio::test]
async fn grants_decide_what_is_told() {
    let fleet = Fleet::of(1).await;
    let server = &fleet.servers[0];
    let headers = [("content-type", JSON), ("x-api-key", fleet.key())];
    let mint = json!({"grants": {"namespaces": [
        {"prefix": ["ann"], "actions": ["read"]}, {"prefix": ["bob"], "actions": ["append"]}
    ]}});
    let minted = server.send("POST", "/v1/tokens", &headers, mint.to_string().into_bytes()).await;
    let token = text(&minted.ok());
    let mut own = Stream::open(server, "", &[("x-api-key", &token)]).await;
    let mut other = Stream::open(server, "?ns=bob&exact=true", &[("x-api-key", &token)]).await;
    let mut globex = Stream::open(server, "", &[("x-api-key", &fleet.keys[1])]).await;
    for stream in [&mut own, &mut other, &mut globex] {
        stream.next().await.unwrap();
    }
    put_as(server, Some(fleet.key()), &["bob"], "hidden").await;
    put_as(server, Some(fleet.key()), &["ann", "x"], "shown").await;
    assert_eq!(own.change().await["key"], "shown");
    put_as(server, Some(&fleet.keys[1]), &["ann"], "elsewhere").await;
    assert_eq!(globex.change().await["key"], "elsewhere");
    let nothing = Duration::from_millis(400);
    assert!(timeout(nothing, other.next()).await.is_err());
    assert!(timeout(nothing, own.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_what_it_was_opened_with() {
    let fleet = Fleet::of(2).await;
    let headers = [("content-type", JSON), ("x-api-key", fleet.key())];
    let post = async |path: &str, body: Value| {
        fleet.servers[1].send("POST", path, &headers, body.to_string().into_bytes()).await.ok()
    };
    let minted = post("/v1/tokens", json!({"subject": "ann"})).await;
    let short = text(&post("/v1/tokens", json!({"subject": "ann", "ttl_seconds": 3})).await);
    let token = text(&minted);
    let mut revoked = Stream::open(&fleet.servers[0], "", &[("x-api-key", &token)]).await;
    let mut expired = Stream::open(&fleet.servers[0], "", &[("x-api-key", &short)]).await;
    let mut kept = Stream::open(&fleet.servers[0], "", &[("x-api-key", fleet.key())]).await;
    for stream in [&mut revoked, &mut expired, &mut kept] {
        stream.next().await.unwrap();
    }
    // On another server.
    post("/v1/tokens/revoke", json!({"token": token})).await;
    fleet.clock.advance(4 * SECOND);
    let began = Instant::now();
    let end = revoked.next().await.unwrap().told();
    assert_eq!(end, ("end".into(), json!({"code": "token_revoked"})));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(revoked.next().await, None);
    let end = expired.next().await.unwrap().told();
    assert_eq!(end, ("end".into(), json!({"code": "token_expired"})));
    // What lives tells so, and from where to go on.
    let beat = kept.next().await.unwrap();
    assert_eq!((beat.name.as_str(), beat.data.as_str(), beat.id.is_empty()), ("", "", false));
}

#[tokio::test]
async fn a_stop_ends_every_stream() {
    let server = Server::keyless().await;
    let mut stream = Stream::open(&server, "", &[]).await;
    stream.next().await.unwrap();
    server.app.feeds.close();
    let end = timeout(Duration::from_millis(500), stream.next()).await.unwrap().unwrap().told();
    assert_eq!(end, ("end".into(), json!({"code": "stopping"})));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn followers_are_counted() {
    let server = Server::keyless().await;
    let mut streams = Vec::new();
    for _ in 0..LIMITS.feed_followers_per_tenant_max {
        streams.push(Stream::open(&server, "", &[]).await);
    }
    let refused = server.get(FEED).await;
    refused.assert_problem(429, "too_many_requests");
    assert_eq!(refused.json()["limit"], LIMITS.feed_followers_per_tenant_max);
    streams.pop();
    // It leaves when its task has seen that nobody listens.
    let mut left = server.get(FEED).await;
    for _ in 0..100 {
        if left.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        left = server.get(FEED).await;
    }
    left.ok();
}

#[tokio::test]
async fn odd_questions_are_refused() {
    let server = Server::keyless().await;
    for (query, field) in [
        ("?exact=perhaps", "exact"),
        ("?ns=a.b", "namespace"),
        ("?ns=", "namespace"),
        ("?x=1", "x"),
    ] {
        let answer = server.get(&format!("{FEED}{query}")).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field);
    }
    let headers = [("accept", JSON)];
    server.get_with(FEED, &headers).await.assert_problem(406, "not_acceptable");
    server.get_with(FEED, &[("accept", "text/event-stream, */*;q=0.1")]).await.ok();
}

#[tokio::test]
async fn events_count_in_the_ledger_until_they_are_taken() {
    let server = Server::keyless().await;
    let mut stream = Stream::open(&server, "", &[]).await;
    assert_eq!(stream.next().await.unwrap().name, "ready");
    let between = server.app.shares.held_bytes();
    put(&server, &["a"], "first").await;
    put(&server, &["a"], "second").await;
    let waiting = held(&server, |it| it > between + 200).await;
    assert!(waiting < between + 2_000, "{waiting}");
    for key in ["first", "second"] {
        assert_eq!(stream.change().await["key"], key);
    }
    assert_eq!(held(&server, |it| it <= between).await, between);
    drop(stream);
    held(&server, |it| it == 0).await;
}

#[tokio::test]
async fn a_stream_for_which_there_is_no_room_ends_with_a_reason() {
    let server = Server::keyless().await;
    // Not for the end of a stream; for that, and for no event.
    let mut others = fill(&server, 100);
    server.get(FEED).await.assert_problem(503, "overloaded");
    others.clear();
    others.extend(fill(&server, 260));
    let mut stream = Stream::open(&server, "", &[]).await;
    let end = stream.next().await.unwrap().told();
    assert_eq!(end, ("end".to_owned(), json!({"code": "overloaded"})));
    assert_eq!(stream.next().await, None);
    others.clear();
    held(&server, |it| it == 0).await;
}
