//! Tests failures: each kind of the domain's error has its answer, and its cause is only in the log.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::error::Full;
use threadkeep::domain::{Conflict, Error};
use tracing_subscriber::fmt::MakeWriter;

use crate::server::{Answer, JSON, Server};

const COPY: &str = "/v1/threads/copy";

async fn copy(server: &Server) -> Answer {
    server.post(COPY, &json!({"source_thread_id": "a", "target_thread_id": "b"})).await
}

async fn commit(server: &Server) -> Answer {
    let body = json!({"thread_id": "t", "ops": [{"writes": {"checkpoint_id": "1", "task_id": "", "writes": []}}]});
    server.post("/v1/checkpoints/commit", &body).await
}

#[tokio::test]
async fn every_error_of_the_domain_has_its_answer() {
    type Case = (fn() -> Error, u16, &'static str);
    const FULL: Full = Full { resource: "bytes", limit: 1, used: 1 };
    let cases: [Case; 9] = [
        (|| Error::Conflict(Conflict::ThreadExists), 409, "thread_exists"),
        (|| Error::Conflict(Conflict::ThreadTaken), 409, "thread_taken"),
        (|| Error::Conflict(Conflict::LeaseHeld), 409, "lease_held"),
        (|| Error::NotGranted("threads"), 403, "not_granted"),
        (|| Error::IdempotencyMismatch, 422, "idempotency_mismatch"),
        (|| Error::DeadlineExceeded, 503, "deadline_exceeded"),
        (|| Error::QuotaExceeded(FULL), 413, "quota_exceeded"),
        (|| Error::TooLarge { field: "body".into(), limit: 7 }, 413, "too_large"),
        (|| Error::NoRoom { limit: 7 }, 503, "overloaded"),
    ];
    for (make, status, code) in cases {
        let server = Server::keyless().await;
        server.storage.fail(make);
        copy(&server).await.assert_problem(status, code);
    }
    let server = Server::keyless().await;
    server.storage.fail(|| Error::NotFound("thread"));
    let policy = json!({"thread_id": "t", "keep_last": 1});
    server.post("/v1/retention/policies/put", &policy).await.assert_problem(404, "not_found");
}

#[tokio::test]
async fn the_end_of_a_batch_has_its_answer() {
    let cases = [
        (Outcome::ThreadRestored { current: "g2".into() }, 409, "thread_restored"),
        (Outcome::ThreadTaken, 409, "thread_taken"),
        (Outcome::LeaseHeld, 409, "lease_held"),
        (Outcome::FenceStale { current: 4 }, 409, "fence_stale"),
    ];
    for (outcome, status, code) in cases {
        let server = Server::keyless().await;
        *server.storage.outcome.lock().unwrap() = Some(outcome);
        commit(&server).await.assert_problem(status, code);
    }
}

#[tokio::test]
async fn a_batch_that_fails_has_its_answer() {
    type Case = (fn() -> BatchError, u16, &'static str);
    let cases: [Case; 3] = [
        (|| BatchError::ConnectionLost("x".into()), 503, "commit_unknown"),
        (|| BatchError::Unavailable("x".into()), 503, "unavailable"),
        (|| BatchError::Statement("SECRET".into()), 500, "internal"),
    ];
    for (make, status, code) in cases {
        let server = Server::keyless().await;
        *server.storage.batch_failure.lock().unwrap() = Some(Box::new(make));
        commit(&server).await.assert_problem(status, code);
    }
}

#[tokio::test]
async fn a_destroyed_key_has_a_code_of_its_own() {
    let server = Server::keyless().await;
    server.storage.fail(|| Error::KeyDestroyed);
    copy(&server).await.assert_problem(410, "key_destroyed");
}

#[tokio::test]
async fn causes_of_internal_errors_are_not_shown() {
    let server = Server::keyless().await;
    for make in [
        || Error::Internal("SECRET".into()),
        || Error::Integrity("SECRET".into()),
        || Error::Unavailable {
            detail: "SECRET".into(),
            retry_after: Duration::from_millis(2_500),
        },
    ] {
        server.storage.fail(make);
        let answer = copy(&server).await;
        assert!(answer.status >= 500);
        assert!(!String::from_utf8_lossy(&answer.body).contains("SECRET"));
    }
    let answer = copy(&server).await;
    assert_eq!(answer.header("retry-after"), Some("3"));
    server.get("/readyz").await.assert_problem(503, "unavailable");
    server.storage.fail(|| Error::KeyDestroyed);
    copy(&server).await.assert_problem(410, "key_destroyed");
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_the_server_goes_on() {
    let server = Server::keyless().await;
    *server.storage.panics.lock().unwrap() = true;
    let answer = copy(&server).await;
    answer.assert_problem(500, "internal");
    assert!(!String::from_utf8_lossy(&answer.body).contains("SECRET"));
    *server.storage.panics.lock().unwrap() = false;
}

#[tokio::test]
async fn unknown_routes_and_methods_are_problems_too() {
    let server = Server::keyless().await;
    for path in ["/nope", "/v1/", "/v1/checkpoints", "/v1/checkpoints/commit/x", "/V1/whoami"] {
        server.get(path).await.assert_problem(404, "not_found");
    }
    let answer = server.get("/v1/checkpoints/commit").await;
    answer.assert_problem(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("POST"));
    let answer = server.send("DELETE", "/v1/threads", &[], vec![]).await;
    answer.assert_problem(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
}

#[tokio::test]
async fn a_sane_request_id_is_kept_and_another_replaced() {
    let server = Server::keyless().await;
    let id = async |sent: &str| {
        let answer = server.get_with("/v1/whoami", &[("x-request-id", sent)]).await.ok();
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(id("abc-1.2_Z").await, "abc-1.2_Z");
    for sent in ["", "a b", "a\"b", "<x>", &"x".repeat(129)] {
        let made = id(sent).await;
        assert_ne!(made, sent);
        assert_eq!(made.len(), 32);
    }
    assert_ne!(id("").await, id("").await);
}

#[tokio::test]
async fn logs_name_the_request_and_never_what_is_in_it() {
    // Without one for the process, a span that another test reaches first, and nobody there wants, may stay switched off.
    let nowhere =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(std::io::sink);
    let _ = tracing::subscriber::set_global_default(nowhere.finish());
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (server, keys) = Server::with_keys(&["acme"]).await;
    let body = json!({"thread_id": "t-HIDDEN", "ops": [{"checkpoint": {
        "checkpoint_id": "1", "skeleton": {"v": 4, "channel_versions": {"m": 1}}, "metadata": {"x": "HIDDEN"},
        "values": [{"channel": "m", "version": 1, "tag": "x", "data": "SElEREVO"}]
    }}]});
    let headers =
        [("content-type", JSON), ("x-api-key", keys[0].as_str()), ("x-request-id", "req-1")];
    let send = async |path: &str, body: String| {
        server.send("POST", path, &headers, body.into_bytes()).await
    };
    send("/v1/checkpoints/commit", body.to_string()).await.ok();
    send("/v1/checkpoints/commit", r#"{"thread_id": "HIDDEN", "fence": "HIDDEN"}"#.into()).await;
    server.storage.fail(|| Error::Internal("the cause".into()));
    send("/v1/checkpoints/get", r#"{"thread_id": "HIDDEN"}"#.into()).await;
    server.storage.fail(|| Error::Unavailable {
        detail: "no connection".into(),
        retry_after: Duration::from_secs(1),
    });
    send("/v1/checkpoints/get", r#"{"thread_id": "HIDDEN"}"#.into()).await;
    let text = log.text();
    assert!(text.contains("req-1") && text.contains("the cause"), "{text}");
    assert_eq!(text.matches("the cause").count(), 1, "{text}");
    // Requests that are turned away have one line a second together, which another test may have had.
    assert!(text.matches("no connection").count() <= 1, "{text}");
    for secret in ["HIDDEN", "SElEREVO", &keys[0]] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
