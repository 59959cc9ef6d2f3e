//! Limits the requests of pages of other origins. Configured front ends may call the API, the drive and the Agent Server. Files that agents
//! wrote have their own host, which serves nothing else. Both are off by default.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::http::agent_server::paths;
use crate::http::request::problem::{Code, Problem};

/// What front ends may call, besides the routes of the Agent Server.
const FOR_PAGES: [&str; 2] = ["/v1/", "/api/storage/"];
/// What is answered on the host of files.
const SIGNED: &str = "/api/storage/open";
/// Stands for every origin, where there are keys.
const ANY: &str = "*";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
const ANSWER_HEADERS: &str = "etag, content-length, content-range, content-disposition, content-location, location, retry-after, \
     server-timing, x-request-id, x-pagination-total, x-pagination-next";
const PREFLIGHT_SECONDS: &str = "600";
/// A page of the internet asks whether it may call a program of this machine.
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

pub async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if let Some(origin) = &app.browsers.files_origin {
        let on_files_host = hosts(&request).any(|it| is_host_of(origin, it));
        if on_files_host != (path == SIGNED) && (on_files_host || path == SIGNED) {
            let detail = "on the host of files nothing is answered but signed addresses, and these nowhere else";
            return Problem::new(Code::ForbiddenHost, detail).into_response();
        }
    }
    let is_for_pages = FOR_PAGES.iter().any(|it| path.starts_with(it)) || paths::is_ours(path);
    if app.browsers.cors_origins.is_empty() || !is_for_pages {
        return next.run(request).await;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let names_any = || !app.authenticator.is_keyless();
    let known = |it: &HeaderValue| {
        let mut named = app.browsers.cors_origins.iter();
        named.any(|own| own.as_str() == it || own == ANY && names_any())
    };
    let Some(origin) = origin.filter(known) else {
        let mut response = next.run(request).await;
        response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
        return response;
    };
    let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if request.method() == Method::OPTIONS && asks {
        preflight(request.headers())
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = HeaderValue::from_static(ANSWER_HEADERS);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    response
}

/// Credentials come later, in a header that the page has to set: there are no cookies. So any header may be sent.
fn preflight(asked: &HeaderMap) -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
    ];
    let mut response = (StatusCode::NO_CONTENT, headers).into_response();
    let answer = response.headers_mut();
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if asked.contains_key(ASKS_PRIVATE) {
        answer.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
    }
    response
}

/// Headers that an answer keeps when it is rendered as a problem.
pub fn kept(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let ours = [
        header::ALLOW,
        header::VARY,
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
    ];
    let kept = headers.iter().filter(|(name, _)| ours.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Every host that the request names.
fn hosts(request: &Request) -> impl Iterator<Item = &str> {
    let named = request.headers().get_all(header::HOST).iter();
    let named = named.map(|it| it.to_str().unwrap_or_default());
    named.chain(request.uri().authority().map(Authority::as_str))
}

/// Whether it names the host of the origin, however it is spelled. Its port counts only where the origin has one.
fn is_host_of(origin: &str, host: &str) -> bool {
    let (scheme, authority) = origin.split_once("://").unwrap_or(("https", origin));
    let (own, named) = (name_and_port(authority), name_and_port(host));
    let usual = if scheme == "http" { "80" } else { "443" };
    let same_port = own.1.is_none_or(|port| named.1.unwrap_or(usual) == port);
    own.0.eq_ignore_ascii_case(named.0) && same_port
}

/// Without user, and without the dot at the end that makes a name absolute.
fn name_and_port(authority: &str) -> (&str, Option<&str>) {
    let host = authority.rsplit_once('@').map_or(authority, |(_, it)| it);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            (name, Some(port).filter(|it| !it.is_empty()))
        }
        _ => (host, None),
    };
    (name.trim_end_matches('.'), port)
}
