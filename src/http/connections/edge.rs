//! Wraps every request: sets its id, measures it, records its span and metric, and renders every refusal. It also protects a server without
//! keys. Logs name the request, its route and its status, and never its contents.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use tracing::Instrument as _;

use super::connection::head_too_large;
use super::measures::{Answered, Measures};
use super::origins;
use super::turned_away;
use crate::app::App;
use crate::auth::loopback::{Visit, is_of_proxy};
use crate::domain::clock::random_hex;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::asker;
use crate::http::console;
use crate::http::request::problem::{Code, Problem};
use crate::http::tenants::refusals::{self, Seen};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const NEVER_CACHED: [&str; 3] =
    ["application/json", "application/problem+json", "application/msgpack"];
const REQUEST_ID_BYTES_MAX: usize = 128;

/// What every request needs.
#[derive(Clone)]
pub struct Edge {
    pub app: Arc<App>,
    pub measures: Arc<Measures>,
}

pub async fn request_context(
    State(Edge { app, measures }): State<Edge>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map(|it| it.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".into());
    let seen = Seen::default();
    request.extensions_mut().insert(seen.clone());
    let span = tracing::info_span!("request", id, method, route);
    let response = answer(&app, request, next).instrument(span.clone()).await;
    refusals::count(&app, &seen, &route, &response);
    note_failed_write(&app, &response);
    if let Some(problem) = response.extensions().get::<Problem>() {
        measures.count(problem.code);
    }
    let response = span.in_scope(|| finish(response, &id, started));
    let answered = Answered { method, route: &route, status: response.status().as_u16() };
    measures.record(answered, started.elapsed().as_secs_f64());
    response
}

/// Readiness is for what is in the way of every request.
fn note_failed_write(app: &App, response: &Response) {
    let Some(problem) = response.extensions().get::<Problem>() else { return };
    let cause = problem.cause.as_deref().unwrap_or_default();
    if problem.is_obstacle {
        app.writes.note_obstacle(cause);
    } else if problem.code == Code::CommitUnknown {
        app.writes.request_check();
    }
}

async fn answer(app: &App, request: Request, next: Next) -> Response {
    if let Some(field) = too_large(&request) {
        return head_too_large(field).into_response();
    }
    // A link on another page may lead to the console: its files are the same for everybody.
    if !console::is_file(&request)
        && let Err(refusal) = app.authenticator.admit(|| visit(app, &request))
    {
        return Problem::from(refusal).into_response();
    }
    match AssertUnwindSafe(asker::scope(next.run(request))).catch_unwind().await {
        Ok(response) => response,
        // The panic hook has logged where it happened.
        Err(_) => Problem::internal("a handler panicked").into_response(),
    }
}

/// What of the head is larger than its limit.
fn too_large(request: &Request) -> Option<&'static str> {
    let uri = request.uri();
    let host = uri.authority().map_or(0, |it| it.as_str().len());
    let url = host + uri.path_and_query().map_or(0, |it| it.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
    let exceeds = |bytes: usize, limit: u64| bytes as u64 > limit;
    exceeds(url, LIMITS.url_bytes_max)
        .then_some("url")
        .or_else(|| exceeds(url + fields.sum::<usize>(), LIMITS.head_bytes_max).then_some("head"))
}

/// Renders problems, logs the causes of internal ones, adds the request's id.
fn finish(response: Response, id: &str, started: Instant) -> Response {
    let mut response = match response.extensions().get::<Problem>() {
        Some(problem) => {
            log(problem);
            let mut rendered = problem.render(id);
            rendered.headers_mut().extend(origins::kept(response.headers()));
            rendered
        }
        None => response,
    };
    protect(response.headers_mut());
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let milliseconds = started.elapsed().as_secs_f64() * 1_000.0;
    if let Ok(value) = HeaderValue::from_str(&format!("total;dur={milliseconds:.3}")) {
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    tracing::debug!(status = response.status().as_u16(), milliseconds, "answered");
    response
}

/// What is answered to one caller stays in no cache, and no browser takes it for another type. Answers that say so themselves, as files
/// do, are left alone.
fn protect(headers: &mut HeaderMap) {
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !NEVER_CACHED.iter().any(|it| media.starts_with(it.as_bytes())) {
        return;
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
}

fn log(problem: &Problem) {
    let (status, code, _) = problem.code.parts();
    let cause = problem.cause.as_deref().unwrap_or_default();
    match status {
        500 => tracing::error!(code, cause, "the request failed"),
        503 => turned_away::log(code, cause),
        _ => {}
    }
}

/// The caller's own id when it is harmless in logs and headers, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sane = |text: &&str| {
        let legal = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
        (1..=REQUEST_ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(legal)
    };
    let sent = headers.get(REQUEST_ID).and_then(|it| it.to_str().ok()).filter(sane);
    sent.map_or_else(random_hex, str::to_owned)
}

/// Callers can invent methods; metrics must not grow with them.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn visit<'a>(app: &'a App, request: &'a Request) -> Visit<'a> {
    let headers = request.headers();
    let all = |name: HeaderName| headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    let mut hosts: Vec<&[u8]> = all(header::HOST);
    hosts.extend(request.uri().authority().map(|it| it.as_str().as_bytes()));
    Visit {
        hosts,
        origins: all(header::ORIGIN),
        fetch_sites: all(HeaderName::from_static("sec-fetch-site")),
        forwarded: headers.keys().any(|name| is_of_proxy(name.as_str())),
        pages: &app.browsers.cors_origins,
    }
}
