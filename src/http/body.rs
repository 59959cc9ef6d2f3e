//! Reads a request's body: bounded in size, in time, and in what all requests together hold in memory;
//! decompressed, with the same bounds on what comes out.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};
use super::zstd_window;
use crate::domain::limits::LIMITS;

/// A client that sends nothing for this long has gone.
const SILENCE_MAX: Duration = Duration::from_secs(30);
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

/// A whole body; its bytes count against the server's budget until this is dropped.
#[derive(Debug)]
pub struct Whole {
    pub bytes: Bytes,
    pub held: Held,
}

/// Permits for the bytes of one request, released when dropped.
#[derive(Debug, Default)]
pub struct Held(Option<OwnedSemaphorePermit>);

/// A body as it arrives.
#[derive(Debug)]
pub struct Incoming {
    body: Body,
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
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    budget: &Arc<Semaphore>,
) -> Result<Whole, Problem> {
    let encoding = Encoding::of(headers)?;
    let announced = announced(headers);
    let mut body = Incoming::new(headers, body);
    if announced > LIMITS.body_bytes_max {
        body.drain(DRAINED);
        return Err(too_large());
    }
    let mut held = Held::default();
    match collect(&mut body, announced, budget, &mut held).await {
        Ok(bytes) => match encoding {
            Encoding::Identity => Ok(Whole { bytes, held }),
            other => decompress(other, bytes, Arc::clone(budget)).await,
        },
        Err(problem) => {
            drop(held);
            body.drain(DRAINED);
            Err(problem)
        }
    }
}

async fn collect(
    body: &mut Incoming,
    announced: u64,
    budget: &Arc<Semaphore>,
    held: &mut Held,
) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(chunk) = body.next().await? {
        let length = (first.len() + more.len() + chunk.len()) as u64;
        if length > LIMITS.body_bytes_max {
            return Err(too_large());
        }
        held.grow(budget, chunk.len())?;
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
        Self { body, is_awaited: headers.contains_key(header::EXPECT), has_ended: false }
    }

    /// The next bytes; None: that was all.
    ///
    /// # Errors
    /// 400 for a body that ends early, or of which nothing arrives.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        self.is_awaited = false;
        let next = next(&mut self.body).await;
        self.has_ended = !matches!(next, Ok(Some(_)));
        next
    }

    /// Lets the client finish sending while it is answered. One that waits for `100 Continue` has not begun.
    pub fn drain(mut self, limits: Drain) {
        if self.is_awaited || self.has_ended || self.body.is_end_stream() {
            return;
        }
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

async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = tokio::time::timeout(SILENCE_MAX, body.frame()).await;
        match frame {
            Err(_) => return Err(malformed("the body did not arrive in time")),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(malformed("the body ended early")),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Ok(Some(data)),
                // Trailers say nothing here.
                Err(_) => {}
            },
        }
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

/// On a thread of its own: a small body may stand for a large one.
async fn decompress(
    encoding: Encoding,
    packed: Bytes,
    budget: Arc<Semaphore>,
) -> Result<Whole, Problem> {
    let work = tokio::task::spawn_blocking(move || {
        if encoding == Encoding::Gzip {
            return unpack(flate2::read::MultiGzDecoder::new(&packed[..]), GZIP_BYTES, &budget);
        }
        let mut decoder = zstd::stream::read::Decoder::with_buffer(&packed[..])
            .map_err(|error| Problem::internal(error.to_string()))?;
        decoder
            .window_log_max(ZSTD_WINDOW_LOG_MAX)
            .map_err(|error| Problem::internal(error.to_string()))?;
        unpack(
            decoder,
            ZSTD_BYTES + zstd_window::largest_bytes(&packed, ZSTD_WINDOW_LOG_MAX),
            &budget,
        )
    });
    work.await.map_err(|error| Problem::internal(error.to_string()))?
}

/// `working_bytes`: what the decoder itself holds meanwhile.
fn unpack(
    mut decoder: impl Read,
    working_bytes: usize,
    budget: &Arc<Semaphore>,
) -> Result<Whole, Problem> {
    let _working = Held::take(budget, working_bytes)?;
    let mut held = Held::default();
    let mut out = Vec::new();
    let mut step = vec![0; DECODE_STEP_BYTES];
    loop {
        let read = decoder
            .read(&mut step)
            .map_err(|_| malformed("the body does not match its Content-Encoding"))?;
        if read == 0 {
            return Ok(Whole { bytes: Bytes::from(out), held });
        }
        let length = out.len() + read;
        if length as u64 > LIMITS.body_bytes_max {
            return Err(too_large());
        }
        if length > out.capacity() {
            // By a quarter and not twice: room is memory that is held, used or not.
            let room = length + (length / 4).max(DECODE_STEP_BYTES);
            held.grow(budget, room - out.capacity())?;
            out.reserve_exact(room - out.len());
        }
        out.extend_from_slice(&step[..read]);
    }
}

impl Held {
    /// Permits for so many bytes at once.
    ///
    /// # Errors
    /// 503 when there are not as many left.
    pub fn take(budget: &Arc<Semaphore>, bytes: usize) -> Result<Self, Problem> {
        let mut held = Self::default();
        held.grow(budget, bytes)?;
        Ok(held)
    }

    /// Permits for more bytes.
    ///
    /// # Errors
    /// 503 when there are not as many left.
    pub fn grow(&mut self, budget: &Arc<Semaphore>, bytes: usize) -> Result<(), Problem> {
        let overloaded = || {
            let detail = "the server holds as many request bytes as it may; try again";
            Problem::new(Code::Overloaded, detail).limited(LIMITS.bytes_in_flight_max)
        };
        let count = u32::try_from(bytes).map_err(|_| overloaded())?;
        let permit = Arc::clone(budget).try_acquire_many_owned(count).map_err(|_| overloaded())?;
        match &mut self.0 {
            Some(held) => held.merge(permit),
            none => *none = Some(permit),
        }
        Ok(())
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

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::MalformedBody, detail).at("body")
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};
    use tokio::sync::oneshot;

    use super::*;

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
        let all = usize::try_from(LIMITS.bytes_in_flight_max).unwrap();
        let budget = Arc::new(Semaphore::new(all));
        let packed = zstd::encode_all(&vec![b' '; 10 << 20][..], 1).unwrap();
        let decoder = zstd::stream::read::Decoder::with_buffer(&packed[..]).unwrap();
        let whole = unpack(decoder, 8 << 20, &budget).unwrap();
        let held = all - budget.available_permits();
        assert_eq!(whole.bytes.len(), 10 << 20);
        assert!((10 << 20..14 << 20).contains(&held), "{held}");
        drop(whole);
        assert_eq!(budget.available_permits(), all);
        let few = Arc::new(Semaphore::new(1 << 20));
        assert!(unpack(&b"{}"[..], 8 << 20, &few).is_err(), "the window finds no room");
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
