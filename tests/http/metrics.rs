//! Metrics: every request counts under its route and status, and nothing a caller invents becomes a label.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use threadkeep::app::App;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use threadkeep::http;

use crate::memory::Memory;
use crate::server::{HOST, SETTINGS, Server};

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let storage = Arc::new(Memory::default());
    let metrics = Some(recorder.handle());
    let listen = HOST.parse().unwrap();
    let clock = Arc::new(Clock::System);
    let app = App::start(storage.clone(), clock, listen, SETTINGS, metrics, Issuers::default())
        .await
        .unwrap();
    let app = Arc::new(app);
    let server = Server { router: http::router(&app), app, storage };
    let _guard = metrics::set_default_local_recorder(&recorder);
    server.get("/v1/whoami").await.ok();
    server.get("/v1/whoami?x=1").await.ok();
    server.get("/v1/threads?limit=x").await;
    server.get("/invented-1").await;
    server.send("INVENTED", "/invented-2", &[], vec![]).await;
    let text = String::from_utf8(server.get("/metrics").await.ok().body).unwrap();
    for (labels, count) in [
        (r#"method="GET",route="/v1/whoami",status="200""#, 2),
        (r#"method="GET",route="/v1/threads",status="422""#, 1),
        (r#"method="GET",route="none",status="404""#, 1),
        (r#"method="other",route="none",status="404""#, 1),
    ] {
        let line = format!("threadkeep_http_request_seconds_count{{{labels}}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    assert!(!text.contains("invented"));
}
