//! Accepts connections and ends them gracefully. HTTP/1.1 with keep-alive, and HTTP/2 with prior knowledge.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

/// Requests that run when the server stops get this long.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);
/// A connection whose request head does not arrive in this time is closed.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const HEAD_BYTES_MAX: u32 = 64 << 10;
/// Out of file descriptors: wait until some are free again, instead of spinning.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Serves until `stop` resolves, then lets running requests finish within [`DRAIN_MAX`].
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let connections = GracefulShutdown::new();
    let builder = builder();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => spawn(stream, &builder, &router, &connections),
                Err(error) => pause(&error).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    drop(router);
    if tokio::time::timeout(DRAIN_MAX, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and are cut off");
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_WITHIN)
        .max_header_list_size(HEAD_BYTES_MAX);
    builder
}

fn spawn(
    stream: TcpStream,
    builder: &Builder<TokioExecutor>,
    router: &Router,
    connections: &GracefulShutdown,
) {
    // Small answers must not wait for the acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let service = TowerToHyperService::new(router.clone());
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    let watched = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
}
