//! Tests metrics: every request counts under its route and status. No text of a caller becomes a label, and strangers cannot read them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use metrics_exporter_prometheus::PrometheusBuilder;
use threadkeep::app::App;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use threadkeep::http;
use tower::ServiceExt as _;

use crate::memory::Memory;
use crate::server::{HOST, SETTINGS, Server, add_key};

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let storage = Arc::new(Memory::default());
    let metrics = Some(recorder.handle());
    let listen = HOST.parse().unwrap();
    let clock = Arc::new(Clock::System);
    let app = App::start(storage.clone(), clock, listen, SETTINGS, metrics, Issuers::default())
        .await
        .unwrap();
    let app = Arc::new(app);
    let server = Server { router: http::router(&app), app, storage };
    server.get("/v1/whoami").await.ok();
    server.get("/v1/whoami?x=1").await.ok();
    server.get("/v1/threads?limit=x").await;
    server.get("/invented-1").await;
    server.send("INVENTED", "/invented-2", &[], vec![]).await;
    let text = String::from_utf8(server.get("/metrics").await.ok().body).unwrap();
    for (labels, count) in [
        (r#"operation="whoami",method="GET",route="/v1/whoami",status="200""#, 2),
        (r#"operation="list_threads",method="GET",route="/v1/threads",status="422""#, 1),
        (r#"operation="none",method="GET",route="none",status="404""#, 1),
        (r#"operation="none",method="other",route="none",status="404""#, 1),
    ] {
        let line = format!("threadkeep_http_request_seconds_count{{{labels}}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    for (name, labels, count) in [
        ("connections_opened_total", r#"pool="data""#, 9),
        ("connections", r#"pool="data",state="in_use""#, 3),
        ("connections", r#"pool="data",state="idle""#, 1),
        ("connections", r#"pool="data",state="max""#, 8),
        ("waiting", r#"pool="data""#, 2),
    ] {
        let line = format!("threadkeep_database_{name}{{{labels}}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    for (code, count) in [("not_found", 2), ("invalid", 1), ("internal", 0)] {
        let line = format!("threadkeep_problems_total{{code=\"{code}\"}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    assert!(!text.contains("invented"));
}

#[tokio::test]
async fn what_is_shown_on_a_listener_of_its_own_is_not_shown_to_keys() {
    let storage = Memory::default();
    let key = add_key(&storage, "acme");
    let storage = Arc::new(storage);
    let recorder = PrometheusBuilder::new().build_recorder();
    let clock = Arc::new(Clock::System);
    let listen = HOST.parse().unwrap();
    let app = App::start(storage.clone(), clock, listen, SETTINGS, None, Issuers::default())
        .await
        .unwrap();
    let app = Arc::new(app);
    let api =
        Server { router: http::router(&app), app: Arc::clone(&app), storage: storage.clone() };
    api.get("/metrics").await.assert_problem(401, "unauthorized");
    let with_key = [("authorization", &*format!("Bearer {key}"))];
    api.get_with("/metrics", &with_key).await.assert_problem(404, "not_found");

    let router = http::operators(&app, recorder.handle());
    let _guard = metrics::set_default_local_recorder(&recorder);
    let answers = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let (status, text) = answers("/metrics").await;
    assert_eq!(status, 200);
    assert!(text.contains("threadkeep_body_bytes"), "{text}");
    assert_eq!(answers("/healthz").await.0, 200);
    assert_eq!(answers("/readyz").await.0, 200);
    for path in ["/v1/whoami", "/openapi.json", "/docs", "/"] {
        assert_eq!(answers(path).await.0, 404, "{path}");
    }
}
