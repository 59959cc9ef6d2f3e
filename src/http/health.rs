//! For operators and tools: alive, ready, metrics, the API document. Needs no key.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse as _, Response};

use utoipa::ToSchema;

use super::generators::PLAIN;
use super::problem::{Code, Problem};
use super::query_fields::Fields;
use super::{docs, document};
use crate::app::App;
use crate::domain::Error;

/// A load balancer asks often and must not wait for a storage that hangs.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Alive
///
/// The process answers; says nothing about its storage.
#[utoipa::path(
    get, path = "/healthz", operation_id = "get_health", tag = "operation",
    responses((status = 200, description = "Alive", body = String, content_type = "text/plain", example = "ok\n")),
)]
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Ready
///
/// The storage answers and the keys were read lately.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readiness", tag = "operation",
    responses(
        (status = 200, description = "Ready", body = String, content_type = "text/plain", example = "ready\n"),
        (status = 503, description = "`unavailable`"),
    ),
)]
pub async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    if !app.gate.is_fresh() {
        return Err(Problem::new(Code::Unavailable, "the keys could not be read for a while"));
    }
    let checked = tokio::time::timeout(READY_WITHIN, app.storage.check_ready()).await;
    checked.map_err(|_| Problem::new(Code::Unavailable, "the storage does not answer"))??;
    Ok("ready\n")
}

/// Metrics
///
/// In the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "operation",
    responses((status = 200, description = "Metrics", body = String, content_type = "text/plain")),
)]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app
        .metrics
        .as_ref()
        .map(metrics_exporter_prometheus::PrometheusHandle::render)
        .unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// This document
///
/// Generators of clients that know one media type for a body get on with `media_type=application/json`.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "get_openapi", tag = "operation",
    params(("media_type" = inline(Option<MediaType>), Query, description = "Bodies as JSON only. Absent: in both forms")),
    responses(
        (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"),
        (status = 400, description = "`malformed_body`"),
    ),
)]
pub async fn openapi(uri: Uri) -> Result<Response, Problem> {
    let fields = Fields::of(&uri, &["media_type"])?;
    let text = match fields.one("media_type")? {
        None => document::text(),
        Some(PLAIN) => document::plain_text(),
        Some(_) => {
            let detail = format!("media_type must be {PLAIN}");
            return Err(Error::invalid("media_type", detail).into());
        }
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// For the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub enum MediaType {
    #[schema(rename = "application/json")]
    Json,
}

/// This document, for people
#[utoipa::path(
    get, path = "/docs", operation_id = "get_docs", tag = "operation",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")),
)]
pub async fn docs() -> Response {
    docs::answer()
}
