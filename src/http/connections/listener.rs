//! Accepts connections, up to a number, and ends them gracefully. It speaks HTTP/1.1 with keep-alive, and HTTP/2 with prior knowledge; both
//! over TLS where there is a certificate.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;

use super::connection::{self, Begun, Version};
use super::in_flight::InFlight;
use super::tls::{self, Tls};
use super::watch::{Crowd, Noted, Patience, Verdict, Watch};
use crate::domain::metric_families as families;
use crate::domain::scheduling::pace::PATIENCE;
use crate::http::request::problem::{Code, Problem};

/// Connections that wait to be accepted. Who finds no place there is not told: the kernel lets him believe that he is connected,
/// and a client that waits for us to speak waits for ever. The kernel's own limit (`net.core.somaxconn`, 4,096) counts as well.
const WAITING_MAX: u32 = 4_096;
/// Connections that are cut off let go of what they hold within this time.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(1);
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
/// Of all places, one in so many is for connections on which nobody known has asked yet, and for one address.
const PART: usize = 4;
/// How often a connection is looked at, in a part of its patience.
const LOOKS: u32 = 4;
const LOOK_EVERY_MIN: Duration = Duration::from_millis(10);

/// What connections may take.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Open at one time.
    pub connections_max: usize,
    /// Of one address; None: a quarter of all.
    pub per_address_max: Option<usize>,
    /// Addresses of proxies, which stand for many clients. Those of this machine are trusted: who is on it can do more than connect.
    pub trusted: Vec<IpNet>,
    /// A connection on which no whole head of a request arrives in this time is closed, and one of HTTP/2 without a request.
    pub head_within: Duration,
    /// A connection that takes nothing of what it is sent for this long is closed.
    pub stall_max: Duration,
    /// Requests that run when the server stops get this long; then their connections are cut off.
    pub finish_within: Duration,
}

/// What connections have to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serve,
    /// Requests that run, and no other.
    Finish,
    CutOff,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections_max: 8_192,
            per_address_max: None,
            trusted: Vec::new(),
            head_within: Duration::from_secs(30),
            stall_max: PATIENCE,
            finish_within: Duration::from_secs(30),
        }
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

/// Serves until `stop` resolves, then lets running requests finish within [`Bounds::finish_within`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) {
    serve_over(listener, None, router, bounds, stop).await;
}

/// As [`serve`], over TLS where there is a certificate.
pub async fn serve_over(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    router: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) {
    let away = Away { tls: tls.clone(), places: Arc::new(Semaphore::new(TURNED_AWAY_AT_ONCE)) };
    let connections = GracefulShutdown::new();
    let (order, phase) = watch::channel(Phase::Serve);
    let one = Connections::new(router, tls, &bounds, phase);
    let per_address_max = bounds.per_address_max.unwrap_or(bounds.connections_max.div_ceil(PART));
    let crowd = Crowd::new(bounds.connections_max.div_ceil(PART), per_address_max);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match Arc::clone(&one.places).try_acquire_owned() {
                    Ok(place) => match crowd.enter(peer.ip(), bounds.limits(peer.ip())) {
                        Some(watch) => {
                            let stream = Noted { stream, watch };
                            let mut one = one.clone();
                            if bounds.limits(peer.ip()) {
                                one.in_flight = None;
                            }
                            tokio::spawn(one.serve(stream, place, connections.watcher()));
                        }
                        None => away.tell(stream, per_address_max),
                    },
                    Err(_) => away.tell(stream, bounds.connections_max),
                },
                Err(error) => pause(&error).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    drop(one);
    order.send_replace(Phase::Finish);
    let mut ended = std::pin::pin!(connections.shutdown());
    if tokio::time::timeout(bounds.finish_within, ended.as_mut()).await.is_err() {
        tracing::warn!("some requests did not finish in time and are cut off");
        order.send_replace(Phase::CutOff);
        tokio::time::timeout(CUT_OFF_WITHIN, ended).await.ok();
    }
}

impl Bounds {
    /// Whether the number of connections from there is limited.
    fn limits(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        !peer.is_loopback() && !self.trusted.iter().any(|it| it.contains(&peer))
    }
}

/// What every connection is served with.
#[derive(Clone)]
struct Connections {
    router: Router,
    tls: Option<Arc<Tls>>,
    one: Builder<TokioExecutor>,
    two: Builder<TokioExecutor>,
    patience: Patience,
    places: Arc<Semaphore>,
    /// Where connections are not counted by their address.
    in_flight: Option<Arc<InFlight>>,
    phase: watch::Receiver<Phase>,
}

impl Connections {
    fn new(
        router: Router,
        tls: Option<Arc<Tls>>,
        bounds: &Bounds,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        let &Bounds { connections_max, head_within, stall_max, .. } = bounds;
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
            tls,
            one: builder.clone().http1_only(),
            two: builder.http2_only(),
            patience: Patience { idle: head_within, stalled: stall_max },
            places: Arc::new(Semaphore::new(connections_max)),
            in_flight: Some(InFlight::new(connections_max)),
            phase,
        }
    }

    /// Until the connection ends. The watcher goes last: when it has, nothing here holds the router any more.
    async fn serve(
        mut self,
        mut stream: Noted<TcpStream>,
        place: OwnedSemaphorePermit,
        watcher: Watcher,
    ) {
        let _last = (watcher, place);
        // Small answers must not wait for the acknowledgement of the one before.
        if let Err(error) = stream.stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let watch = Arc::clone(&stream.watch);
        match self.tls.clone() {
            None => {
                let begun = self.in_time(&watch, connection::begin(stream)).await;
                self.serve_begun(begun, watch).await;
            }
            Some(tls) => {
                let begun = async {
                    if !speaks_tls(&mut stream.stream).await? {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    connection::begin(tls.accept(stream).await?).await
                };
                let begun = self.in_time(&watch, begun).await;
                self.serve_begun(begun, watch).await;
            }
        }
    }

    /// What a connection begins with, if it does so in time.
    async fn in_time<T>(
        &mut self,
        watch: &Watch,
        begun: impl Future<Output = io::Result<T>>,
    ) -> Option<T> {
        tokio::select! {
            begun = tokio::time::timeout(self.patience.idle, begun) => begun.ok()?.ok(),
            () = watch.turned_out() => None,
            _ = self.phase.wait_for(|it| *it != Phase::Serve) => None,
        }
    }

    async fn serve_begun<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self,
        begun: Option<(Version, Begun<S>)>,
        watch: Arc<Watch>,
    ) {
        let Some((version, stream)) = begun else { return };
        let Self { router, one, two, patience, in_flight, mut phase, .. } = self;
        let reached = stream.reached();
        let service = TowerToHyperService::new(router);
        let on = Arc::clone(&watch);
        let service = service_fn(move |mut request: Request<_>| {
            reached.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(Arc::clone(&on));
            let mut running = on.request();
            if let Some(flight) = in_flight.as_ref().map(InFlight::begin) {
                request.extensions_mut().insert(Arc::clone(&flight));
                running = running.counted(flight);
            }
            let answered = service.call(request);
            async move {
                let answer = answered.await?;
                Ok::<_, std::convert::Infallible>(answer.map(|it: Body| running.answer(it)))
            }
        });
        let builder = if version == Version::Two { two } else { one };
        let mut served =
            std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service).into_owned());
        let every = (patience.idle.min(patience.stalled) / LOOKS).max(LOOK_EVERY_MIN);
        let mut looks = tokio::time::interval(every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ordered_off = phase.clone();
        let mut finishes = false;
        loop {
            tokio::select! {
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                    break;
                }
                _ = phase.wait_for(|it| *it != Phase::Serve), if !finishes => {
                    finishes = true;
                    served.as_mut().graceful_shutdown();
                }
                _ = ordered_off.wait_for(|it| *it == Phase::CutOff) => break,
                () = watch.turned_out() => break,
                _ = looks.tick() => match watch.verdict(version, patience) {
                    Verdict::Stays => {}
                    Verdict::Finishes if finishes => {}
                    Verdict::Finishes => {
                        finishes = true;
                        served.as_mut().graceful_shutdown();
                    }
                    Verdict::Ends => {
                        metrics::counter!(families::CONNECTIONS_CUT_OFF).increment(1);
                        break;
                    }
                },
            }
        }
    }
}

/// Says that there are too many, to a few at one time.
struct Away {
    tls: Option<Arc<Tls>>,
    places: Arc<Semaphore>,
}

impl Away {
    fn tell(&self, stream: TcpStream, limit: usize) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        metrics::counter!(families::CONNECTIONS_TURNED_AWAY).increment(1);
        let detail = "the server has as many connections as it may; try again";
        let problem = Problem::new(Code::Overloaded, detail).limited(limit as u64);
        let tls = self.tls.clone();
        tokio::spawn(async move {
            let told = async {
                match tls {
                    None => last_answer(stream, &problem).await,
                    Some(tls) => last_answer(tls.accept(stream).await?, &problem).await,
                }
            };
            tokio::time::timeout(TURN_AWAY_WITHIN, told).await.ok();
            drop(place);
        });
    }
}

/// The problem as an answer, after which the connection ends.
async fn last_answer(mut stream: impl AsyncWrite + Unpin, problem: &Problem) -> io::Result<()> {
    stream.write_all(&connection::whole(problem)).await?;
    stream.shutdown().await
}

/// Whether the client speaks TLS. Who speaks plain HTTP is told.
async fn speaks_tls(stream: &mut TcpStream) -> io::Result<bool> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 || first[0] == tls::FIRST_BYTE {
        return Ok(true);
    }
    let detail = "this port speaks HTTPS: the address begins with https://";
    last_answer(stream, &Problem::new(Code::BadRequest, detail)).await?;
    Ok(false)
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
}
