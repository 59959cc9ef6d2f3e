//! Serves operators and tools: liveness, metrics, the API document. Only metrics need a key.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use utoipa::ToSchema;

use super::openapi::docs;
use super::openapi::documents::ApiDocument;
use super::readiness::ready_for_operators;
use super::request::call::{Answer, Holder};
use super::request::problem::{Code, Problem};
use super::request::query_fields::Fields;
use crate::app::App;
use crate::domain::Error;
use crate::domain::engine::PoolUse;
use crate::domain::metric_families as families;
use crate::domain::scheduling::shares::Turn;

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

/// Metrics
///
/// In the text format of Prometheus. They count for all tenants together, and name none. Where the server shows them on a listener
/// of their own (`--metrics-listen`), they are not here.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "operation",
    responses(
        (status = 200, description = "Metrics", body = String, content_type = "text/plain"),
        (status = 404, description = "`not_found`: they have a listener of their own"),
    ),
)]
pub async fn metrics(State(app): State<Arc<App>>, _asks: Holder) -> Answer {
    let metrics = app.metrics.as_ref().ok_or_else(|| {
        Problem::new(Code::NotFound, "metrics have a listener of their own, see --metrics-listen")
    })?;
    Ok(rendered(metrics, &app))
}

/// What a listener that only operators reach answers, without a key: metrics, alive, ready.
pub fn operators(app: &Arc<App>, metrics: PrometheusHandle) -> Router {
    let rendered = async move |State(app): State<Arc<App>>| rendered(&metrics, &app);
    Router::new()
        .route("/metrics", get(rendered))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready_for_operators))
        .fallback(async || {
            Problem::new(Code::NotFound, "only /metrics, /healthz and /readyz are here")
        })
        .with_state(Arc::clone(app))
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52")]
fn rendered(metrics: &PrometheusHandle, app: &App) -> Response {
    for (turn, bytes) in app.shares.held_bytes_by_turn() {
        let turn = match turn {
            Turn::Server => "server",
            Turn::Sender => "sender",
            Turn::Receiver => "receiver",
        };
        metrics::gauge!(families::BODY_BYTES, "turn" => turn).set(bytes as f64);
    }
    for PoolUse { name, in_use, idle, max, waiting, opened } in app.storage.pools() {
        for (state, count) in [("in_use", in_use), ("idle", idle), ("max", max)] {
            let gauge =
                metrics::gauge!(families::DATABASE_CONNECTIONS, "pool" => name, "state" => state);
            gauge.set(count as f64);
        }
        metrics::gauge!(families::DATABASE_WAITING, "pool" => name).set(waiting as f64);
        metrics::counter!(families::DATABASE_OPENED, "pool" => name).absolute(opened);
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.render()).into_response()
}

/// This document
///
/// Everything but Agentrail's operations, with bodies as JSON. `media_type` changes nothing: earlier versions needed it to leave
/// MessagePack out.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "get_openapi", tag = "operation",
    params(("media_type" = inline(Option<MediaType>), Query, description = "Bodies as JSON: they are")),
    responses(
        (status = 200, description = "OpenAPI 3.1", body = OpenApiDocument, content_type = "application/json"),
        (status = 400, description = "`malformed_body`"),
    ),
)]
pub async fn openapi(uri: Uri) -> Result<Response, Problem> {
    let fields = Fields::of(&uri, &["media_type"])?;
    if fields.one("media_type")?.is_some_and(|it| it != "application/json") {
        let detail = "media_type must be application/json";
        return Err(Error::invalid("media_type", detail).into());
    }
    Ok(served(ApiDocument::Json))
}

/// The document of bodies in MessagePack
///
/// The operations that speak MessagePack, Agentrail's too, with bodies in that form alone.
#[utoipa::path(
    get, path = "/openapi-msgpack.json", operation_id = "get_openapi_msgpack", tag = "operation",
    responses((status = 200, description = "OpenAPI 3.1", body = OpenApiDocument, content_type = "application/json")),
)]
pub async fn openapi_msgpack() -> Response {
    served(ApiDocument::MessagePack)
}

/// The document for Agentrail
///
/// What its adapters and its Inspector call, with bodies as JSON.
#[utoipa::path(
    get, path = "/agentrail/openapi.json", operation_id = "get_openapi_agentrail", tag = "operation",
    responses((status = 200, description = "OpenAPI 3.1", body = OpenApiDocument, content_type = "application/json")),
)]
pub async fn openapi_agentrail() -> Response {
    served(ApiDocument::Agentrail)
}

fn served(document: ApiDocument) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document.text()).into_response()
}

/// An OpenAPI document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub struct OpenApiDocument {
    /// The version of OpenAPI.
    openapi: String,
}

/// For the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub enum MediaType {
    #[schema(rename = "application/json")]
    Json,
}

/// The API, for people
#[utoipa::path(
    get, path = "/docs", operation_id = "get_docs", tag = "operation",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")),
)]
pub async fn docs() -> Response {
    docs::answer()
}
