//! Puts what every request passes around the routes: compression, the identity of the page that asks, times, and the fallbacks.

use std::sync::Arc;

use axum::extract::Request;
use axum::{Extension, Router, middleware};
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};
use utoipa_axum::router::OpenApiRouter;

use super::agent_server::shown_ids::{ShownIds, UUID_BASE};
use super::connections::edge::Edge;
use super::connections::measures::Measures;
use super::request::problem::{Code, Problem};
use super::{agent_server, connections, console, routes, with_agent_server};
use crate::app::App;

/// The whole server as a service. Small answers gain nothing by being compressed.
pub fn router(app: &Arc<App>) -> Router {
    router_compressing(app, 1_024)
}

/// The same, with answers of this size and more compressed for callers that ask. From one byte on, a test sees every route do it.
pub fn router_compressing(app: &Arc<App>, bytes_min: u64) -> Router {
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        // Events are for now, and a compressor would wait for more.
        .compress_when(
            SizeAbove::new(bytes_min).and(NotForContentType::const_new("text/event-stream")),
        );
    let (router, document) = routes().split_for_parts();
    let (by_alias, aliased) = with_agent_server(OpenApiRouter::default()).split_for_parts();
    let measures = Measures::of(&[("", &document), (UUID_BASE, &aliased)]);
    let edge = Edge { app: Arc::clone(app), measures: Arc::new(measures) };
    let router = router
        .merge(console::routes())
        .nest(UUID_BASE, by_alias.layer(Extension(ShownIds::Aliases)))
        .fallback(agent_server::paths::absent)
        .method_not_allowed_fallback(async || {
            Problem::new(Code::MethodNotAllowed, "the route has other methods, see Allow")
        })
        .layer(compression)
        .layer(middleware::from_fn_with_state(Arc::clone(app), agent_server::paths::hide))
        .layer(middleware::from_fn_with_state(Arc::clone(app), console::lead))
        .layer(middleware::from_fn_with_state(Arc::clone(app), connections::origins::guard))
        .layer(middleware::from_fn_with_state(edge, connections::edge::request_context))
        .with_state(Arc::clone(app));
    // Before a route is chosen.
    Router::new()
        .fallback_service(router)
        .layer(middleware::map_request(async |it: Request| agent_server::paths::name_thread(it)))
}
