//! Serves `/readyz`: whether the server can serve. Who asks for JSON is told each check, with the reason of one that failed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::request::media::prefers_json;
use super::request::problem::{Code, Problem};
use crate::app::App;

/// A load balancer asks often and must not wait for a storage that hangs.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// What is answered as JSON.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    checks: [Check; 4],
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Ready
///
/// The server does not stop, its keys were read lately, writes succeed and the storage answers. With `Accept: application/json` the
/// answer is JSON in both cases: `{"ready": false, "checks": [{"name": "database", "ok": false, "detail": "…"}, …]}`. The checks are
/// `process`, `keys`, `writes` and `database`; `detail` is there where one failed.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readiness", tag = "operation",
    responses(
        (status = 200, description = "Ready", body = String, content_type = "text/plain", example = "ready\n"),
        (status = 503, description = "`unavailable`"),
    ),
)]
pub async fn ready(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    answer(&app, &headers, Detail::ForAll).await
}

/// The same for who runs the server.
pub async fn ready_for_operators(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(&app, &headers, Detail::WithCause).await
}

async fn answer(app: &App, headers: &HeaderMap, detail: Detail) -> Result<Response, Problem> {
    if prefers_json(headers) {
        return Ok(told(app, detail).await);
    }
    check_process(app)?;
    check_keys(app)?;
    check_writes(app)?;
    check_storage(app).await?;
    Ok("ready\n".into_response())
}

/// All checks, also those behind one that failed.
async fn told(app: &App, detail: Detail) -> Response {
    let checks = [
        detail.of("process", check_process(app)),
        detail.of("keys", check_keys(app)),
        detail.of("writes", check_writes(app)),
        detail.of("database", check_storage(app).await),
    ];
    let ready = checks.iter().all(|it| it.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::to_vec(&Readiness { ready, checks });
    let body = body.expect("texts and booleans always serialize");
    let kind = HeaderValue::from_static("application/json");
    let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
    if !ready {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// What is told of a check that failed.
#[derive(Clone, Copy)]
enum Detail {
    /// No addresses and no paths: everybody may ask.
    ForAll,
    WithCause,
}

impl Detail {
    fn of(self, name: &'static str, done: Result<(), Problem>) -> Check {
        let detail = done.err().map(|it| match (self, it.cause) {
            (Self::WithCause, Some(cause)) => cause.into_string(),
            _ => it.detail.into_owned(),
        });
        Check { name, ok: detail.is_none(), detail }
    }
}

fn check_process(app: &App) -> Result<(), Problem> {
    if app.readiness.is_stopping() {
        return Err(Problem::new(Code::Unavailable, "the server is stopping"));
    }
    Ok(())
}

fn check_keys(app: &App) -> Result<(), Problem> {
    if !app.authenticator.is_fresh() {
        return Err(Problem::new(Code::Unavailable, "the keys could not be read for a while"));
    }
    Ok(())
}

fn check_writes(app: &App) -> Result<(), Problem> {
    let said = "a write failed for a reason of the whole database, and none has succeeded since";
    let told = |error| Problem { detail: said.into(), ..Problem::from(error) };
    app.writes.check().map_err(told)
}

/// # Errors
/// 503 when the storage does not answer in time.
pub async fn check_storage(app: &App) -> Result<(), Problem> {
    let checked = tokio::time::timeout(READY_WITHIN, app.storage.check_ready()).await;
    checked.map_err(|_| Problem::new(Code::Unavailable, "the storage does not answer"))??;
    Ok(())
}
