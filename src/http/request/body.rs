//! Reads and decompresses a request's body. It limits the size, the time, and the memory that all requests together hold. The same limits
//! hold for the decompressed bytes.

use std::future::poll_fn;
use std::io::Read;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::blocks::Blocks;
use super::problem::{Code, Problem};
use super::zstd_window;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::scheduling::pace::{PATIENCE, Pace};
use crate::domain::scheduling::shares::{Account, Body as Counted, Full, Held, Turn};

/// Of a body that is held whole.
const DRAINED: Drain = Drain { bytes_max: 256 << 20, time_max: Duration::from_secs(10) };
/// Capacity taken on the word of Content-Length; more comes with the bytes.
const TRUSTED_CAPACITY_MAX: u64 = 1 << 20;
/// RFC 9659: a decoder of HTTP content needs at most 8 MB of window. Bounds what a frame can ask for.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const DECODE_STEP_BYTES: usize = 64 << 10;
/// What the decoders take beside a window of zstd: a step, and tables.
const GZIP_BYTES: usize = DECODE_STEP_BYTES + (64 << 10);
const ZSTD_BYTES: usize = DECODE_STEP_BYTES + (256 << 10);

/// A whole body; its bytes count in the share of who sent it until this is dropped.
#[derive(Debug)]
pub struct Whole {
    pub bytes: Bytes,
    pub held: Held,
}

/// A body as it arrives, at the least rate or faster.
pub struct Incoming {
    body: Body,
    pace: Pace,
    /// Where its bytes count; a body that is only thrown away counts nowhere.
    counted: Option<Arc<Counted>>,
    /// The client waits for `100 Continue`, which the first look at the body sends: nothing is on its way.
    is_awaited: bool,
    /// There is nothing more, or nobody who would send it.
    has_ended: bool,
}

/// How much of a body is read and thrown away, and for how long, so that the client reads the answer instead of a reset.
#[derive(Debug, Clone, Copy)]
pub struct Drain {
    pub bytes_max: u64,
    pub time_max: Duration,
}

/// # Errors
/// 413 over the limit, before or after decompression; 415 for another encoding; 400 for damage and for a body
/// that ends early; 503 when all requests together hold too much.
pub async fn read(headers: &HeaderMap, body: Body, account: &Account) -> Result<Whole, Problem> {
    let encoding = Encoding::of(headers)?;
    let announced = announced(headers);
    let mut held = account.open();
    let mut body = Incoming::new(headers, body).counted(&held);
    if announced > LIMITS.body_bytes_max {
        body.drain(DRAINED);
        return Err(too_large());
    }
    match collect(&mut body, announced, &mut held).await {
        Ok(bytes) => match encoding {
            Encoding::Identity => Ok(Whole { bytes, held }),
            other => decompress(other, bytes, held).await,
        },
        Err(problem) => {
            drop(held);
            body.drain(DRAINED);
            Err(problem)
        }
    }
}

async fn collect(body: &mut Incoming, announced: u64, held: &mut Held) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(chunk) = body.next().await? {
        let length = (first.len() + more.len() + chunk.len()) as u64;
        if length > LIMITS.body_bytes_max {
            return Err(too_large());
        }
        held.grow(chunk.len())?;
        if first.is_empty() && more.is_empty() {
            first = chunk;
            continue;
        }
        if more.is_empty() {
            let capacity = announced.min(TRUSTED_CAPACITY_MAX).max(length);
            more.reserve(usize::try_from(capacity).unwrap_or(0));
            more.extend_from_slice(&std::mem::take(&mut first));
        }
        more.extend_from_slice(&chunk);
    }
    Ok(if more.is_empty() { first } else { more.freeze() })
}

impl Incoming {
    pub fn new(headers: &HeaderMap, body: Body) -> Self {
        let is_awaited = headers.contains_key(header::EXPECT);
        Self { body, pace: Pace::default(), counted: None, is_awaited, has_ended: false }
    }

    /// Its bytes are held there, and it may be ended in favour of others.
    #[must_use]
    pub fn counted(self, held: &Held) -> Self {
        Self { counted: Some(Arc::clone(held.body())), ..self }
    }

    /// The next bytes; None: that was all.
    ///
    /// # Errors
    /// 400 for a body that ends early, or arrives too slowly; 503 for one that was ended in favour of others.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        self.is_awaited = false;
        let next = self.next_data().await;
        self.has_ended = !matches!(next, Ok(Some(_)));
        next
    }

    async fn next_data(&mut self) -> Result<Option<Bytes>, Problem> {
        // Most of what comes is there already, and costs no clock.
        let there = poll_fn(|cx| Poll::Ready(poll_data(&mut self.body, cx))).await;
        let next = match there {
            Poll::Ready(next) => next,
            Poll::Pending => self.wait_for_data().await,
        };
        if let Ok(Some(bytes)) = &next {
            self.pace.moved(bytes.len() as u64, Instant::now());
        }
        next
    }

    async fn wait_for_data(&mut self) -> Result<Option<Bytes>, Problem> {
        let now = Instant::now();
        self.pace.wait(now);
        let late = tokio::time::sleep(self.pace.left(PATIENCE, now));
        let Some(counted) = self.counted.clone() else {
            return tokio::select! {
                next = poll_fn(|cx| poll_data(&mut self.body, cx)) => next,
                () = late => Err(too_slow()),
            };
        };
        counted.note(self.pace, Turn::Sender);
        let ended = pin!(counted.ended());
        let next = tokio::select! {
            biased;
            () = ended => return Err(Full::Ended.into()),
            next = poll_fn(|cx| poll_data(&mut self.body, cx)) => next,
            () = late => Err(too_slow()),
        };
        counted.note(self.pace, Turn::Server);
        if counted.is_ended() { Err(Full::Ended.into()) } else { next }
    }

    /// Lets the client finish sending while it is answered. One that waits for `100 Continue` has not begun.
    pub fn drain(mut self, limits: Drain) {
        if self.is_awaited || self.has_ended || self.body.is_end_stream() {
            return;
        }
        // It holds nothing any more.
        self.counted = None;
        let drained = async move {
            let mut total = 0;
            while let Ok(Some(bytes)) = self.next().await {
                total += bytes.len() as u64;
                if total > limits.bytes_max {
                    return;
                }
            }
        };
        // Time up: the connection is closed, which is all that is left to do.
        tokio::spawn(tokio::time::timeout(limits.time_max, drained));
    }
}

/// The next bytes of a body. Trailers say nothing here.
fn poll_data(
    body: &mut Body,
    cx: &mut std::task::Context<'_>,
) -> Poll<Result<Option<Bytes>, Problem>> {
    loop {
        return Poll::Ready(match std::task::ready!(Pin::new(&mut *body).poll_frame(cx)) {
            None => Ok(None),
            Some(Err(_)) => Err(malformed("the body ended early")),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if !data.is_empty() => Ok(Some(data)),
                _ => continue,
            },
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(value) = headers.get(header::CONTENT_ENCODING) else {
            return Ok(Self::Identity);
        };
        match value.to_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "zstd" => Ok(Self::Zstd),
            _ => {
                let detail = "Content-Encoding must be gzip, zstd or identity";
                Err(Problem::new(Code::UnsupportedMediaType, detail).at("Content-Encoding"))
            }
        }
    }
}

/// In the pool whatever its size: a small body may stand for a large one.
async fn decompress(encoding: Encoding, packed: Bytes, held: Held) -> Result<Whole, Problem> {
    let tenant = held.account().tenant().to_owned();
    cpu_pool::run(&tenant, move || {
        let account = held.account();
        if encoding == Encoding::Gzip {
            let decoder = flate2::read::MultiGzDecoder::new(&packed[..]);
            return unpack(decoder, GZIP_BYTES, &account);
        }
        let mut decoder = zstd::stream::read::Decoder::with_buffer(&packed[..])
            .map_err(|error| Problem::internal(error.to_string()))?;
        decoder
            .window_log_max(ZSTD_WINDOW_LOG_MAX)
            .map_err(|error| Problem::internal(error.to_string()))?;
        let window_bytes = zstd_window::largest_bytes(&packed, ZSTD_WINDOW_LOG_MAX);
        unpack(decoder, ZSTD_BYTES + window_bytes, &account)
    })
    .await?
}

/// `working_bytes`: what the decoder itself holds meanwhile.
fn unpack(
    mut decoder: impl Read,
    working_bytes: usize,
    account: &Account,
) -> Result<Whole, Problem> {
    let mut working = account.open();
    working.grow(working_bytes)?;
    let mut out = Blocks::new(account.open());
    let mut step = vec![0; DECODE_STEP_BYTES];
    loop {
        let read = decoder
            .read(&mut step)
            .map_err(|_| malformed("the body does not match its Content-Encoding"))?;
        if read == 0 {
            let (bytes, held) = out.into_whole();
            return Ok(Whole { bytes: Bytes::from(bytes), held });
        }
        if (out.len() + read) as u64 > LIMITS.body_bytes_max {
            return Err(too_large());
        }
        out.append(&step[..read])?;
    }
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        match full {
            Full::Share(limit) => {
                let detail = "bodies in memory take as many bytes as they may; try again";
                Self::new(Code::Overloaded, detail).limited(limit)
            }
            Full::Ended => {
                let detail = "bodies in memory took as many bytes as they may, and this one was the slowest; try again";
                Self::new(Code::Overloaded, detail).limited(LIMITS.bytes_in_flight_max)
            }
        }
    }
}

fn announced(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    length.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn too_large() -> Problem {
    let limit = LIMITS.body_bytes_max;
    let detail = format!("the body is larger than the limit of {limit} bytes");
    Problem::new(Code::TooLarge, detail).at("body").limited(limit)
}

fn too_slow() -> Problem {
    malformed("the body did not arrive in time")
}

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::MalformedBody, detail).at("body")
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};
    use tokio::sync::oneshot;

    use super::*;
    use crate::domain::scheduling::shares::{Holder, Shares, Sizes};

    const ENOUGH: Drain = Drain { bytes_max: 1 << 20, time_max: Duration::from_mins(1) };

    /// A body without end, and what ends when nobody reads it any more.
    fn endless(pieces: usize) -> (Body, oneshot::Receiver<()>) {
        let (kept, dropped) = oneshot::channel::<()>();
        let some = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[0; 1_024])));
        let all = some.take(pieces).chain(stream::pending()).map(move |it| {
            let _ = &kept;
            it
        });
        (Body::from_stream(all), dropped)
    }

    #[test]
    fn what_an_unpacked_body_has_room_for_is_counted() {
        let shares = Shares::new(Sizes::default());
        let account = shares.account(Holder::new("acme", "key"));
        let packed = zstd::encode_all(&vec![b' '; 10 << 20][..], 1).unwrap();
        let decoder = zstd::stream::read::Decoder::with_buffer(&packed[..]).unwrap();
        let whole = unpack(decoder, 8 << 20, &account).unwrap();
        let held = shares.held_bytes();
        assert_eq!(whole.bytes.len(), 10 << 20);
        assert!((10 << 20..14 << 20).contains(&held), "{held}");
        drop(whole);
        assert_eq!(shares.held_bytes(), 0);
        let few = Shares::new(Sizes { all: 1 << 20, ..Sizes::default() });
        let account = few.account(Holder::new("acme", "key"));
        assert!(unpack(&b"{}"[..], 8 << 20, &account).is_err(), "the window finds no room");
    }

    #[tokio::test]
    async fn what_is_thrown_away_is_bounded_in_bytes_and_in_time() {
        let few = Drain { bytes_max: 10 << 10, ..ENOUGH };
        let short = Drain { time_max: Duration::from_millis(1), ..ENOUGH };
        for (pieces, limits) in [(11, few), (0, short), (11, short)] {
            let (body, mut dropped) = endless(pieces);
            Incoming::new(&HeaderMap::new(), body).drain(limits);
            let ended = tokio::time::timeout(Duration::from_secs(20), &mut dropped).await;
            assert!(ended.expect("it ends by itself").is_err());
        }
    }

    #[tokio::test]
    async fn who_waits_to_be_asked_is_not_drained_before() {
        let headers = HeaderMap::from_iter([(header::EXPECT, "100-continue".parse().unwrap())]);
        let (body, mut dropped) = endless(2);
        Incoming::new(&headers, body).drain(ENOUGH);
        assert_eq!(dropped.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        let (body, mut dropped) = endless(2);
        let mut asked = Incoming::new(&headers, body);
        asked.next().await.unwrap();
        asked.drain(ENOUGH);
        assert_eq!(dropped.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }
}
