//! Knows the paths of the wire: which they are, where they end with a slash, and which ids are spelled like an operation.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::shown_ids::UUID_BASE;
use crate::app::App;
use crate::http::request::problem::{Code, Problem};

/// First segments of its paths.
const FIRST: [&str; 9] =
    ["threads", "store", "assistants", "runs", "ok", "info", "mcp", "ui", "a2a"];
/// Operations on threads, which are ids of threads for other methods than POST.
const OPERATIONS: [&str; 3] = ["/threads/search", "/threads/count", "/threads/prune"];

/// Whether the path is one of the wire.
pub fn is_ours(path: &str) -> bool {
    let Some(rest) = base_and_rest(path).1.strip_prefix('/') else { return path == UUID_BASE };
    rest.is_empty() || FIRST.contains(&rest.split('/').next().unwrap_or_default())
}

/// Hides the routes of the wire where they are not wanted.
pub async fn hide(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if app.agent_server.is_off && is_ours(request.uri().path()) {
        return Problem::new(Code::NotFound, "there is no such route").into_response();
    }
    next.run(request).await
}

/// `GET /threads/search` means the thread `search`: an escaped letter tells the router so.
pub fn name_thread(mut request: Request) -> Request {
    let is_thread = [Method::GET, Method::HEAD, Method::PATCH, Method::DELETE]
        .contains(request.method())
        && OPERATIONS.contains(&base_and_rest(request.uri().path()).1);
    if is_thread && let Some(uri) = escaped(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// The part before the routes of the wire, and theirs.
fn base_and_rest(path: &str) -> (&str, &str) {
    let rest = path.strip_prefix(UUID_BASE).filter(|it| it.is_empty() || it.starts_with('/'));
    rest.map_or(("", path), |rest| (UUID_BASE, rest))
}

fn escaped(uri: &Uri) -> Option<Uri> {
    let (base, rest) = base_and_rest(uri.path());
    let name = rest.strip_prefix("/threads/")?;
    let first = name.bytes().next()?;
    let query = uri.query().map_or_else(String::new, |it| format!("?{it}"));
    let path = format!("{base}/threads/%{first:02X}{}{query}", &name[1..]);
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// What no route answers. An address of the wire with a slash at its end leads to the one without it, relative to where it is: a proxy
/// may have taken the beginning away.
pub async fn absent(uri: Uri) -> Response {
    let path = uri.path();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if is_ours(path) && path.ends_with('/') && !name.is_empty() {
        let query = uri.query().map_or_else(String::new, |it| format!("?{it}"));
        let up = "../".repeat(path.len() - path.trim_end_matches('/').len());
        let location = [(header::LOCATION, format!("{up}{name}{query}"))];
        return (StatusCode::TEMPORARY_REDIRECT, location).into_response();
    }
    Problem::new(Code::NotFound, "there is no such route").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(method: Method, uri: &str) -> String {
        let request = Request::builder().method(method).uri(uri);
        name_thread(request.body(axum::body::Body::empty()).unwrap()).uri().to_string()
    }

    #[test]
    fn an_operation_is_a_thread_for_other_methods() {
        assert_eq!(named(Method::POST, "/threads/search"), "/threads/search");
        assert_eq!(named(Method::GET, "/threads/search"), "/threads/%73earch");
        assert_eq!(
            named(Method::DELETE, "http://h:1/threads/prune?x=1"),
            "http://h:1/threads/%70rune?x=1"
        );
        assert_eq!(named(Method::GET, "/threads/other"), "/threads/other");
        assert_eq!(named(Method::GET, "/uuid/threads/count"), "/uuid/threads/%63ount");
    }

    #[test]
    fn paths_of_the_wire_are_known_by_their_first_segment() {
        for path in [
            "/",
            "/threads",
            "/threads/a/state",
            "/store/items",
            "/ok",
            "/mcp/",
            "/uuid",
            "/uuid/",
            "/uuid/threads",
        ] {
            assert!(is_ours(path), "{path}");
        }
        for path in [
            "",
            "/v1/threads",
            "/healthz",
            "/threadsx",
            "/api/storage/list",
            "/uuidx",
            "/uuid/v1/threads",
        ] {
            assert!(!is_ours(path), "{path}");
        }
    }
}
