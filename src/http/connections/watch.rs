//! Watches each connection: whether it has requests, takes what it is sent, and has had a request with a known credential. Closes those
//! that do none of it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use metrics::Counter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::connection::Version;
use super::in_flight::Flight;
use crate::domain::metric_families as families;
use crate::domain::scheduling::pace::{Pace, time_of};

/// One connection.
pub struct Watch {
    id: u64,
    address: IpAddr,
    crowd: Arc<Crowd>,
    is_known: AtomicBool,
    doing: Arc<Doing>,
}

struct Doing {
    state: Mutex<State>,
    turned_out: Notify,
}

struct State {
    requests: usize,
    quiet_since: Instant,
    /// The socket takes nothing.
    blocked_since: Option<Instant>,
    /// Frames that the connection has and that were not taken yet.
    sending: HashMap<u64, Frames>,
    next_body: u64,
}

#[derive(Clone, Copy, Default)]
struct Frames {
    pace: Pace,
    bytes: u64,
}

/// What is to become of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Stays,
    /// It finishes what it has, and takes nothing new.
    Finishes,
    Ends,
}

/// How long connections may do nothing.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Without a request.
    pub idle: Duration,
    /// Without taking what it is sent.
    pub stalled: Duration,
}

/// All connections.
pub struct Crowd {
    strangers_max: usize,
    per_address_max: usize,
    received: Counter,
    sent: Counter,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    /// On which nobody known has asked yet, the oldest first.
    strangers: BTreeMap<u64, Arc<Doing>>,
    addresses: HashMap<IpAddr, usize>,
}

impl Crowd {
    pub fn new(strangers_max: usize, per_address_max: usize) -> Arc<Self> {
        Arc::new(Self {
            strangers_max: strangers_max.max(1),
            per_address_max,
            received: metrics::counter!(families::RECEIVED_BYTES),
            sent: metrics::counter!(families::SENT_BYTES),
            inner: Mutex::default(),
        })
    }

    /// A connection from there; None: there are as many as there may be. One stranger too many: the oldest is turned out, one without a
    /// request before others. So who never says who he is keeps nobody out who does.
    pub fn enter(self: &Arc<Self>, from: IpAddr, is_limited: bool) -> Option<Arc<Watch>> {
        let address = network_of(from);
        let (watch, turned_out) = {
            let mut inner = self.lock();
            let count = inner.addresses.entry(address).or_default();
            if is_limited && *count >= self.per_address_max {
                return None;
            }
            *count += 1;
            inner.next += 1;
            let id = inner.next;
            let state = State {
                requests: 0,
                quiet_since: Instant::now(),
                blocked_since: None,
                sending: HashMap::new(),
                next_body: 0,
            };
            let doing = Doing { state: Mutex::new(state), turned_out: Notify::new() };
            let doing = Arc::new(doing);
            let turned_out = inner.too_many(self.strangers_max);
            inner.strangers.insert(id, Arc::clone(&doing));
            let (crowd, is_known) = (Arc::clone(self), AtomicBool::new(false));
            (Arc::new(Watch { id, address, crowd, is_known, doing }), turned_out)
        };
        if let Some(out) = turned_out {
            metrics::counter!(families::CONNECTIONS_TURNED_OUT).increment(1);
            out.turned_out.notify_one();
        }
        Some(watch)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The stranger that goes before another one comes.
    fn too_many(&mut self, strangers_max: usize) -> Option<Arc<Doing>> {
        if self.strangers.len() < strangers_max {
            return None;
        }
        // The lock of a connection is never held when that of all is taken.
        let quiet = self.strangers.iter().find(|(_, it)| it.state().requests == 0);
        let id = *quiet.or_else(|| self.strangers.iter().next())?.0;
        self.strangers.remove(&id)
    }
}

impl Watch {
    /// Somebody known has asked on it.
    pub fn known(&self) {
        if self.is_known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut inner = self.crowd.lock();
        inner.strangers.remove(&self.id);
    }

    /// Resolves when it has to make room.
    pub async fn turned_out(&self) {
        self.doing.turned_out.notified().await;
    }

    /// A request has arrived; it is over when what comes back is dropped.
    pub fn request(self: &Arc<Self>) -> Running {
        self.state().requests += 1;
        Running { watch: Arc::clone(self), flight: None }
    }

    pub fn verdict(&self, version: Version, patience: Patience) -> Verdict {
        let now = Instant::now();
        let state = self.state();
        let since = |it: Instant| now.saturating_duration_since(it);
        if state.blocked_since.is_some_and(|it| since(it) >= patience.stalled) {
            return Verdict::Ends;
        }
        let late = |it: &Frames| it.pace.behind(now).saturating_sub(time_of(it.bytes));
        let late = state.sending.values().map(late).max().unwrap_or_default();
        let (late, limit) = match version {
            Version::Two if state.requests == 0 => (since(state.quiet_since), patience.idle),
            // One of HTTP/1 without a request the machinery ends by itself.
            Version::One | Version::Two => (late, patience.stalled),
        };
        match late {
            late if late < limit => Verdict::Stays,
            // Other streams of it get as long to finish.
            late if version == Version::Two && late < 2 * limit => Verdict::Finishes,
            _ => Verdict::Ends,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.doing.state()
    }

    fn written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.crowd.sent.increment(*bytes as u64);
        }
        let mut state = self.state();
        if written.is_ready() {
            state.blocked_since = None;
        } else {
            state.blocked_since.get_or_insert_with(Instant::now);
        }
        drop(state);
        written
    }
}

impl Doing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut inner = self.crowd.lock();
        inner.strangers.remove(&self.id);
        if let Some(count) = inner.addresses.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                inner.addresses.remove(&self.address);
            }
        }
    }
}

/// Who has one address of IPv6 has a whole network of them.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(it) => IpAddr::V4(it),
        IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX))),
    }
}

/// A request until its answer was sent.
pub struct Running {
    watch: Arc<Watch>,
    /// Kept until the answer was sent.
    flight: Option<Arc<Flight>>,
}

impl Running {
    /// Counts as long in the share of who asks.
    #[must_use]
    pub fn counted(mut self, flight: Arc<Flight>) -> Self {
        self.flight = Some(flight);
        self
    }

    /// The body of its answer.
    pub fn answer(self, body: Body) -> Body {
        let id = {
            let mut state = self.watch.state();
            state.next_body += 1;
            state.next_body
        };
        Body::new(Answering { body, running: self, id })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.watch.state();
        state.requests -= 1;
        state.quiet_since = Instant::now();
    }
}

/// A body whose frames the connection takes in time.
struct Answering {
    body: Body,
    running: Running,
    id: u64,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let now = Instant::now();
        let id = self.id;
        if let Some(frames) = self.running.watch.state().sending.get_mut(&id) {
            let bytes = std::mem::take(&mut frames.bytes);
            frames.pace.moved(bytes, now);
        }
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let data = next.as_ref().and_then(|it| it.as_ref().ok()).and_then(Frame::data_ref);
        if let Some(data) = data {
            let mut state = self.running.watch.state();
            let frames = state.sending.entry(id).or_default();
            frames.bytes = data.len() as u64;
            frames.pace.wait(now);
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.running.watch.state().sending.remove(&self.id);
    }
}

/// A stream that notes whether it takes what is written.
pub struct Noted<S> {
    pub stream: S,
    pub watch: Arc<Watch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            self.watch.crowd.received.increment(bytes as u64);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watch.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
