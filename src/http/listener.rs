//! Accepts connections, up to a number, and ends them gracefully. HTTP/1.1 with keep-alive, and HTTP/2 with prior knowledge.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::connection::{self, Version};
use super::problem::{Code, Problem};

/// Connections that wait to be accepted. Who finds no place there is not told: the kernel lets him believe that he is connected,
/// and a client that waits for us to speak waits for ever. The kernel's own limit (`net.core.somaxconn`, 4,096) counts as well.
const WAITING_MAX: u32 = 4_096;
/// Requests that run when the server stops get this long.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);
/// What the machinery reads of a head at most; one within it is refused by the edge, which says more.
const HEAD_BUFFER_BYTES: usize = 128 << 10;
const HEAD_LIST_BYTES: u32 = 128 << 10;
/// Requests of one HTTP/2 connection at one time.
const STREAMS_MAX: u32 = 128;
/// Out of file descriptors: wait until some are free again, instead of spinning.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// Connections that are told at one time that there are too many; beyond, they are closed without a word.
const TURNED_AWAY_AT_ONCE: usize = 64;
const TURN_AWAY_WITHIN: Duration = Duration::from_secs(1);

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Open at one time.
    pub connections_max: usize,
    /// A connection on which no whole head of a request arrives in this time is closed.
    pub head_within: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections_max: 8_192, head_within: Duration::from_secs(30) }
    }
}

/// Listens at the first address of `host:port` that can be had.
///
/// # Errors
/// That of the last address that was tried.
pub async fn bind(address: &str) -> io::Result<TcpListener> {
    let mut refused = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for at in lookup_host(address).await? {
        match bind_at(at) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn bind_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that was just stopped may be followed by the next one.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

/// Serves until `stop` resolves, then lets running requests finish within [`DRAIN_MAX`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let (stopping, stopped) = watch::channel(false);
    let one = Connections::new(router, bounds, stopped);
    let away = Arc::new(Semaphore::new(TURNED_AWAY_AT_ONCE));
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match Arc::clone(&one.places).try_acquire_owned() {
                    Ok(place) => {
                        tokio::spawn(one.clone().serve(stream, place, connections.watcher()));
                    }
                    Err(_) => turn_away(stream, &away, bounds.connections_max),
                },
                Err(error) => pause(&error).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    drop(one);
    stopping.send_replace(true);
    if tokio::time::timeout(DRAIN_MAX, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and are cut off");
    }
}

/// What every connection is served with.
#[derive(Clone)]
struct Connections {
    router: Router,
    one: Builder<TokioExecutor>,
    two: Builder<TokioExecutor>,
    head_within: Duration,
    places: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
}

impl Connections {
    fn new(router: Router, bounds: Bounds, stopped: watch::Receiver<bool>) -> Self {
        let Bounds { connections_max, head_within } = bounds;
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(head_within)
            .max_buf_size(HEAD_BUFFER_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(head_within)
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEAD_LIST_BYTES);
        Self {
            router,
            one: builder.clone().http1_only(),
            two: builder.http2_only(),
            head_within,
            places: Arc::new(Semaphore::new(connections_max)),
            stopped,
        }
    }

    /// Until the connection ends. The watcher goes last: when it has, nothing here holds the router any more.
    async fn serve(self, stream: TcpStream, place: OwnedSemaphorePermit, watcher: Watcher) {
        // Small answers must not wait for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let Self { router, one, two, head_within, mut stopped, .. } = self;
        let begun = tokio::select! {
            begun = tokio::time::timeout(head_within, connection::begin(stream)) => begun,
            _ = stopped.wait_for(|it| *it) => return,
        };
        let Ok(Ok((version, stream))) = begun else { return };
        let reached = stream.reached();
        let service = TowerToHyperService::new(router);
        let service = service_fn(move |request: Request<_>| {
            reached.store(true, Ordering::Relaxed);
            service.call(request)
        });
        let builder = if version == Version::Two { two } else { one };
        let served = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(served).await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(place);
    }
}

/// Says that there are too many, to a few at one time.
fn turn_away(mut stream: TcpStream, away: &Arc<Semaphore>, limit: usize) {
    let Ok(place) = Arc::clone(away).try_acquire_owned() else { return };
    metrics::counter!("threadkeep_connections_turned_away_total").increment(1);
    let detail = "the server has as many connections as it may; try again";
    let problem = Problem::new(Code::Overloaded, detail).limited(limit as u64);
    tokio::spawn(async move {
        let told = async {
            stream.write_all(&connection::whole(&problem)).await?;
            stream.shutdown().await
        };
        tokio::time::timeout(TURN_AWAY_WITHIN, told).await.ok();
        drop(place);
    });
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
}
