//! Builds bodies of answers from pieces of a frame each. Pieces count in the ledger until the connection has released them. An answer that
//! is ended in favour of others drops its unsent pieces at once.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::problem::Problem;
use crate::domain::scheduling::cpu_pool::INLINE_BYTES_MAX;
use crate::domain::scheduling::pace::Pace;
use crate::domain::scheduling::shares::{self, Full, Held, Turn};
use crate::domain::{Error, Result};

/// What a connection is given at one time.
const FRAME_BYTES: usize = 64 << 10;
/// More is read while so many are still to be taken.
const PIECES_LEFT: usize = 8;

/// Bytes with their share.
struct Piece {
    bytes: Vec<u8>,
    _held: Held,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Takes an answer while it is built, as far as there is room for it.
pub struct Building {
    held: Held,
    full: VecDeque<Piece>,
    last: Vec<u8>,
    refused: Option<Full>,
    /// Pieces after which it is no short answer, and whether there were more.
    pieces_max: usize,
    is_long: bool,
}

impl Building {
    pub fn new(held: Held) -> Self {
        let pieces_max = usize::MAX;
        let (full, last) = (VecDeque::new(), Vec::new());
        Self { held, full, last, refused: None, pieces_max, is_long: false }
    }

    /// For a first attempt, which fails when the answer is long.
    pub fn short(held: Held) -> Self {
        Self { pieces_max: INLINE_BYTES_MAX / FRAME_BYTES, ..Self::new(held) }
    }

    /// The share, where the answer is too long for the attempt: what was built of it is dropped.
    pub fn unless_short(self) -> std::result::Result<Self, Held> {
        if self.is_long { Err(self.held) } else { Ok(self) }
    }

    /// What was built, or why it could not be.
    ///
    /// # Errors
    /// 503 when there is no room for it; `internal` for what could not be written.
    pub fn end(mut self, built: Result<(), String>) -> Result<Body, Problem> {
        if let Some(full) = self.refused {
            return Err(full.into());
        }
        built.map_err(Problem::internal)?;
        // The only lock of a small answer: its share is what the request's body had.
        self.held.resize(self.last.len())?;
        let size = (self.full.len() * FRAME_BYTES + self.last.len()) as u64;
        let body = Arc::clone(self.held.body());
        if !self.last.is_empty() {
            self.full.push_back(Piece { bytes: self.last, _held: self.held });
        }
        let queue = Queue::of(self.full, true);
        Ok(Outgoing::sending(queue, &body, Some(size)))
    }

    /// The share that the pieces had is theirs; what is left of the body's may go.
    fn close_piece(&mut self) -> io::Result<()> {
        if self.full.len() == self.pieces_max {
            self.is_long = true;
            return Err(io::Error::other("the answer is not short"));
        }
        let grown = self.held.resize(FRAME_BYTES);
        grown.map_err(|full| {
            self.refused = Some(full);
            io::Error::other("there is no room for the answer")
        })?;
        let bytes = std::mem::replace(&mut self.last, Vec::with_capacity(FRAME_BYTES));
        let held = self.held.split(FRAME_BYTES as u64);
        self.full.push_back(Piece { bytes, _held: held });
        Ok(())
    }
}

impl io::Write for Building {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.last.len() + bytes.len() > FRAME_BYTES {
            let (now, later) = bytes.split_at(FRAME_BYTES - self.last.len());
            self.last.extend_from_slice(now);
            self.close_piece()?;
            bytes = later;
        }
        self.last.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body of bytes that are there.
///
/// # Errors
/// 503 when there is no room for them.
pub fn whole(mut held: Held, bytes: &Bytes) -> Result<Body, Problem> {
    held.grow(bytes.len())?;
    let body = Arc::clone(held.body());
    let queue = Queue::of(cut(bytes, &mut held), true);
    Ok(Outgoing::sending(queue, &body, Some(bytes.len() as u64)))
}

/// A body of what a task reads, and the end at which it puts that in.
pub fn channel(held: &Held) -> (Sender, Body) {
    let queue = Queue::of(VecDeque::new(), false);
    let body = Outgoing::sending(Arc::clone(&queue), held.body(), None);
    (Sender { queue, body: Arc::clone(held.body()) }, body)
}

fn cut(bytes: &[u8], held: &mut Held) -> VecDeque<Piece> {
    let piece = |it: &[u8], held: &mut Held| {
        let share = held.split(it.len() as u64);
        Piece { bytes: it.to_vec(), _held: share }
    };
    bytes.chunks(FRAME_BYTES).map(|it| piece(it, held)).collect()
}

/// Between who makes a body and who sends it.
struct Queue {
    inner: Mutex<Inner>,
    /// Something was taken, or nobody takes anything any more.
    taken: Notify,
}

#[derive(Default)]
struct Inner {
    pieces: VecDeque<Piece>,
    /// Nothing more comes; with why, where it is not whole.
    end: Option<Result<(), &'static str>>,
    is_left: bool,
    waker: Option<Waker>,
}

impl Queue {
    fn of(pieces: VecDeque<Piece>, is_whole: bool) -> Arc<Self> {
        let inner = Inner { pieces, end: is_whole.then_some(Ok(())), ..Inner::default() };
        Arc::new(Self { inner: Mutex::new(inner), taken: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was not taken goes; a whole body that nobody ended keeps its end.
    fn end(&self, end: Result<(), &'static str>) {
        let (dropped, waker) = {
            let mut inner = self.lock();
            let dropped =
                if end.is_err() { std::mem::take(&mut inner.pieces) } else { VecDeque::new() };
            if inner.end.is_none() || end.is_err() {
                inner.end = Some(end);
            }
            (dropped, inner.waker.take())
        };
        drop(dropped);
        self.taken.notify_one();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Puts bytes into a body.
pub struct Sender {
    queue: Arc<Queue>,
    body: Arc<shares::Body>,
}

impl Sender {
    /// Waits until most of what was put in was taken, so that hardly more than a slice is in memory at a time. False: nobody takes it any more.
    pub async fn ready(&self) -> bool {
        loop {
            let taken = self.queue.taken.notified();
            {
                let inner = self.queue.lock();
                if inner.is_left || inner.end.is_some() {
                    return false;
                }
                if inner.pieces.len() <= PIECES_LEFT {
                    return true;
                }
            }
            taken.await;
        }
    }

    /// Resolves when nobody takes it any more.
    pub async fn left(&self) {
        loop {
            let taken = self.queue.taken.notified();
            if self.is_ended() {
                return;
            }
            taken.await;
        }
    }

    /// Puts them in, with their share.
    pub fn put(&self, bytes: &[u8], held: &mut Held) {
        let pieces = cut(bytes, held);
        let waker = {
            let mut inner = self.queue.lock();
            if inner.is_left || inner.end.is_some() {
                return;
            }
            inner.pieces.extend(pieces);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// All of it was put in.
    pub fn end(&self) {
        self.queue.end(Ok(()));
    }

    /// The body ends with an error, so that nobody takes it for a whole one.
    pub fn fail(&self, why: &'static str) {
        self.queue.end(Err(why));
    }

    pub fn is_ended(&self) -> bool {
        self.body.is_ended() || self.queue.lock().is_left
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // No effect on a body that was ended as it should.
        if self.queue.lock().end.is_none() {
            self.fail("the body was not finished");
        }
    }
}

/// The body as the connection sees it.
struct Outgoing {
    queue: Arc<Queue>,
    body: Arc<shares::Body>,
    pace: Pace,
    /// Of the frame that the connection has.
    given_bytes: u64,
    left: Option<u64>,
}

impl Outgoing {
    fn sending(queue: Arc<Queue>, body: &Arc<shares::Body>, size: Option<u64>) -> Body {
        let mut pace = Pace::default();
        pace.wait(Instant::now());
        body.note(pace, Turn::Receiver);
        let ended = Arc::downgrade(&queue);
        body.on_end(Box::new(move || {
            if let Some(queue) = ended.upgrade() {
                queue.end(Err("the answer was too slow to keep its memory"));
            }
        }));
        Body::new(Self { queue, body: Arc::clone(body), pace, given_bytes: 0, left: size })
    }

    fn note(&mut self, turn: Turn) {
        if turn == Turn::Receiver {
            self.pace.wait(Instant::now());
        }
        self.body.note(self.pace, turn);
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>>>> {
        let given = std::mem::take(&mut self.given_bytes);
        self.pace.moved(given, Instant::now());
        let (next, is_low) = {
            let mut inner = self.queue.lock();
            let next = inner.pieces.pop_front();
            if next.is_none() && inner.end.is_none() {
                inner.waker = Some(cx.waker().clone());
            }
            let is_low = inner.pieces.len() <= PIECES_LEFT;
            (next.ok_or(inner.end), is_low)
        };
        match next {
            Ok(piece) => {
                if is_low {
                    self.queue.taken.notify_one();
                }
                self.given_bytes = piece.bytes.len() as u64;
                self.left = self.left.map(|it| it.saturating_sub(piece.bytes.len() as u64));
                self.note(Turn::Receiver);
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
            }
            Err(None) => {
                self.note(Turn::Server);
                Poll::Pending
            }
            Err(Some(Ok(()))) => Poll::Ready(None),
            Err(Some(Err(why))) => Poll::Ready(Some(Err(Error::Internal(why.to_owned())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let dropped = {
            let mut inner = self.queue.lock();
            inner.is_left = true;
            std::mem::take(&mut inner.pieces)
        };
        drop(dropped);
        self.queue.taken.notify_one();
    }
}
