//! Tests the frame of the LangGraph Agent Server's wire: what needs no key, who is let in, bodies, slashes, methods, and runs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use threadkeep::app::{AgentServer, App, Outside};
use threadkeep::domain::clock::Clock;
use threadkeep::http;
use tower::ServiceExt as _;

use crate::memory::Memory;
use crate::server::{HOST, SETTINGS, Server, no_metrics};
use crate::wire::{COMMIT, base64, commit, put};

pub const TEXT: &str = "text/plain;charset=UTF-8";

async fn with_thread() -> Server {
    let server = Server::keyless().await;
    server.post(COMMIT, &commit("t", &[put("1", &base64(b"x"))])).await.ok();
    server
}

#[tokio::test]
async fn clients_learn_without_a_key_that_the_server_answers_and_runs_nothing() {
    let (server, _) = Server::with_keys(&["acme"]).await;
    for path in ["/", "/ok", "/ok?check_db=1", "/ok?check_db=true", "/ok?other=1"] {
        assert_eq!(server.get(path).await.ok().json(), json!({"ok": true}), "{path}");
        let head = server.send("HEAD", path, &[], Vec::new()).await.ok();
        assert!(head.body.is_empty(), "{path}");
    }
    let info = server.get("/info").await.ok().json();
    assert_eq!(info["flags"], json!({"assistants": true, "crons": false, "langsmith": false}));
    assert_eq!(info["threadkeep"]["runs"], false);
    assert!(info["version"].is_string() && info["host"]["project_id"].is_null());
    server.get("/ok?check_db=maybe").await.assert_problem(422, "invalid");
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_told_to_who_asks_for_it() {
    let server = Server::keyless().await;
    server.storage.fail(|| threadkeep::domain::Error::Unavailable {
        detail: "away".into(),
        retry_after: std::time::Duration::from_secs(1),
    });
    assert_eq!(server.get("/ok").await.ok().json(), json!({"ok": true}));
    server.get("/ok?check_db=1").await.assert_problem(503, "unavailable");
}

#[tokio::test]
async fn a_server_that_shall_not_answers_none_of_it() {
    let (clock, listen) = (Arc::new(Clock::System), HOST.parse().unwrap());
    let outside = Outside {
        agent_server: AgentServer { is_off: true, ..AgentServer::default() },
        ..Outside::default()
    };
    let storage = Arc::new(Memory::default());
    let app = App::start(storage, clock, listen, SETTINGS, Some(no_metrics()), outside).await;
    let app = Arc::new(app.unwrap());
    let router = http::router(&app);
    let server = Server { app, storage: Arc::new(Memory::default()), router };
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/ok"),
        ("GET", "/threads/t/state"),
        ("PUT", "/threads/t/state"),
        ("POST", "/runs"),
        ("GET", "/threads/"),
    ] {
        // The document does not know of it.
        let request = Request::builder().method(method).uri(path).header("host", HOST);
        let answer = server.router.clone().oneshot(request.body(Body::empty()).unwrap()).await;
        let body = answer.unwrap().into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("there is no such route"), "{method} {path}: {body}");
    }
    assert_eq!(server.get("/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn a_slash_at_the_end_leads_to_the_address_without_it() {
    let server = with_thread().await;
    for (path, location) in [
        ("/threads/t/state/", "../state"),
        ("/threads/t/state/?subgraphs=1", "../state?subgraphs=1"),
        ("/ok//", "../../ok"),
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.header("location")), (307, Some(location)), "{path}");
    }
    server.get("/v1/threads/").await.assert_problem(404, "not_found");
}

#[tokio::test]
async fn another_method_is_told_which_there_are() {
    let server = with_thread().await;
    for (method, path, allowed) in [
        ("PATCH", "/threads/t/state", "GET,HEAD,POST"),
        ("DELETE", "/threads/t/history", "GET,HEAD,POST"),
        ("POST", "/ok", "GET,HEAD"),
        ("GET", "/runs", "POST"),
    ] {
        let answer = server.send(method, path, &[], Vec::new()).await;
        answer.assert_problem(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
    }
}

const STATE: &str = "/threads/t/state";

#[tokio::test]
async fn without_keys_only_what_could_be_a_key_of_ours_is_looked_at() {
    let server = with_thread().await;
    let ask = async |name: &str, value: &str| server.get_with(STATE, &[(name, value)]).await;
    for foreign in ["", "lsv2_pt_0123", "any text", "sk-0123"] {
        assert_eq!(ask("x-api-key", foreign).await.status, 200, "{foreign}");
    }
    for ours in ["tk_0123", "tks_0123", "eyJ.eyJ.c2ln"] {
        ask("x-api-key", ours).await.assert_problem(401, "unauthorized");
    }
    ask("authorization", "Bearer lsv2_pt_0123").await.assert_problem(401, "unauthorized");
    server
        .get_with("/v1/whoami", &[("x-api-key", "any text")])
        .await
        .assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn with_keys_an_empty_one_is_none_and_a_foreign_one_is_wrong() {
    let (server, keys) = Server::with_keys(&["acme"]).await;
    let key = keys[0].as_str();
    let own = [("x-api-key", key), ("content-type", "application/json")];
    let body = commit("t", &[put("1", &base64(b"x"))]).to_string().into_bytes();
    server.send("POST", COMMIT, &own, body).await.ok();
    let bearer = format!("Bearer {key}");
    for right in [
        vec![("x-api-key", key)],
        vec![("authorization", bearer.as_str())],
        vec![("authorization", &bearer), ("x-api-key", "other")],
        vec![("x-api-key", key), ("x-auth-scheme", "langsmith")],
    ] {
        assert_eq!(server.get_with(STATE, &right).await.status, 200, "{right:?}");
    }
    for wrong in [
        vec![],
        vec![("x-api-key", "")],
        vec![("x-api-key", "lsv2_pt_0123")],
        vec![("authorization", "Bearer other"), ("x-api-key", key)],
        vec![("x-auth-scheme", "langsmith")],
    ] {
        let answer = server.get_with(STATE, &wrong).await;
        answer.assert_problem(401, "unauthorized");
        assert!(answer.json()["detail"].is_string());
    }
    let in_query = format!("{STATE}?api_key={key}&x-api-key={key}");
    server.get(&in_query).await.assert_problem(401, "unauthorized");
}

/// Bodies of the calls about one thread that take one.
pub const CALLS: [&str; 3] =
    ["/threads/t/state/checkpoint", "/threads/t/history", "/threads/t/state"];

#[tokio::test]
async fn a_body_is_json_whatever_its_type_says() {
    let server = with_thread().await;
    let body = json!({"checkpoint": {}, "unknown": {"a": [1, {}]}}).to_string();
    for kind in [TEXT, "application/json", "application/octet-stream", "application/msgpack"] {
        for path in &CALLS[..2] {
            let answer = server.post_bytes(path, kind, body.clone()).await.ok();
            assert_eq!(answer.header("content-type"), Some("application/json"), "{path} {kind}");
        }
    }
    let answer = server.send("POST", CALLS[1], &[("accept", "text/html")], body.into()).await.ok();
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

/// What no call takes for a body.
pub fn bad_bodies() -> Vec<String> {
    let texts = ["", " ", "{", "nothing", "[]", "null", "1", "{\"a\":NaN}", "\"text\""];
    let doubled =
        r#"{"checkpoint":{},"checkpoint":{},"limit":1,"limit":2,"values":{},"values":{}}"#;
    texts.into_iter().chain([doubled]).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_body_that_is_none_is_refused_with_its_field() {
    let server = with_thread().await;
    for path in CALLS {
        for body in bad_bodies() {
            let answer = server.post_bytes(path, TEXT, body.clone()).await;
            assert_eq!(answer.problem(), (422, "invalid".into()), "{path} {body}");
            assert!(!answer.field().is_empty(), "{path} {body}");
        }
        let answer = server.post_bytes(path, TEXT, "{").await;
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with("Invalid JSON in request body"), "{detail}");
        assert_eq!(answer.field(), "body");
    }
}

#[tokio::test]
async fn ids_are_any_text_within_the_limit() {
    let server = Server::keyless().await;
    let long = "x".repeat(513);
    for (path, status) in [
        ("a%2Fb", 404),
        ("%2E%2E", 404),
        ("search", 404),
        ("5F2B7C5E-0000-0000-0000-000000000000", 404),
        ("%00", 422),
        ("%FF", 422),
        (long.as_str(), 422),
    ] {
        let answer = server.get(&format!("/threads/{path}/state")).await;
        let code = if status == 404 { "thread_not_found" } else { "invalid" };
        assert_eq!(answer.problem(), (status, code.to_owned()), "{path}");
    }
    let answer = server.get("/threads/a%2Fb/state").await;
    assert_eq!(answer.json()["detail"], "Thread with ID a/b not found");
    for thread in ["a/b", "..", "search", "ä 1"] {
        server.post(COMMIT, &commit(thread, &[put("1", &base64(b"x"))])).await.ok();
    }
    for path in ["a%2Fb", "%2E%2E", "search", "%C3%A4%201"] {
        server.get(&format!("/threads/{path}/state")).await.ok();
    }
}

#[tokio::test]
async fn runs_are_refused_at_once_and_with_the_reason() {
    let server = with_thread().await;
    server.storage.threads.lock().unwrap().push(thread("t", None));
    for path in ["/runs", "/runs/stream", "/runs/wait", "/runs/batch", "/threads/t/runs", "/mcp"] {
        // Whatever the body is.
        for body in ["", "{", "{\"assistant_id\":\"agent\"}"] {
            let answer = server.post_bytes(path, TEXT, body).await;
            answer.assert_problem(422, "needs_graph");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("ThreadkeepSaver"), "{detail}");
        }
    }
    assert_eq!(server.get("/threads/t/runs").await.ok().json(), json!([]));
    assert_eq!(server.post("/runs/crons/search", &json!({})).await.ok().json(), json!([]));
    assert_eq!(server.post("/runs/crons/count", &json!({})).await.ok().json(), json!(0));
    server.get("/threads/t/runs/r").await.assert_problem(404, "run_not_found");
    server.get("/threads/none/runs").await.assert_problem(404, "thread_not_found");
    let absent = server.post("/threads/none/runs", &json!({})).await;
    absent.assert_problem(404, "thread_not_found");
}

pub fn thread(id: &str, graph_id: Option<&str>) -> threadkeep::domain::threads::thread::Thread {
    threadkeep::domain::threads::thread::Thread {
        thread_id: id.into(),
        created_at: 1,
        updated_at: 2,
        last_step: None,
        checkpoint_count: 1,
        size_bytes: 1,
        generation: "g".into(),
        owner: None,
        graph_id: graph_id.map(str::to_owned),
        assistant_id: None,
        user_id: None,
        details: threadkeep::domain::threads::details::Details::default(),
        run: threadkeep::domain::threads::run_state::Run::default(),
    }
}

#[tokio::test]
async fn an_update_of_a_state_is_refused_as_clients_know_it() {
    let server = Server::keyless().await;
    let mut threads = vec![thread("t", None), thread("u", Some("agent"))];
    threads[0].details.metadata = r#"{"graph_id":1}"#.into();
    threads.push(thread("v", None));
    threads[2].details.metadata = r#"{"graph_id":"agent"}"#.into();
    *server.storage.threads.lock().unwrap() = threads;
    let ask = async |thread: &str, body: Value| {
        server.post(&format!("/threads/{thread}/state"), &body).await
    };
    let answer = ask("t", json!({"values": {"a": 1}})).await;
    answer.assert_problem(400, "bad_request");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for phrase in ["no assigned graph ID", "no associated graph"] {
        assert!(detail.contains(phrase), "{detail}");
    }
    for thread in ["u", "v"] {
        for body in [
            json!({"values": {"a": 1}}),
            json!({"values": null, "as_node": "__end__"}),
            json!({"values": null, "as_node": "__copy__", "checkpoint": {"checkpoint_id": "1", "checkpoint_map": null}}),
            json!({"checkpoint_id": "1"}),
        ] {
            ask(thread, body).await.assert_problem(422, "needs_graph");
        }
        ask(thread, json!({"values": [1]})).await.assert_problem(400, "bad_request");
        for (body, field) in [
            (json!({"values": "text"}), "values"),
            (json!({"values": 1}), "values"),
            (json!({"as_node": 1}), "as_node"),
            (json!({"checkpoint": {"checkpoint_id": ""}}), "checkpoint.checkpoint_id"),
            (json!({"checkpoint": "text"}), "checkpoint"),
        ] {
            let answer = ask(thread, body).await;
            answer.assert_problem(422, "invalid");
            assert_eq!(answer.field(), field);
        }
    }
    ask("none", json!({"values": {}})).await.assert_problem(404, "thread_not_found");
}
