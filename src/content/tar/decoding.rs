//! Detects the compression of an archive and decodes it. The output is counted before anything reads it.

use std::io::{self, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use super::{TarError, TarLimits};

/// RFC 9659: a decoder of HTTP content needs at most 8 MB of window.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Short archives may be packed as well as they like.
const RATIO_FROM_BYTES: u64 = 16 << 20;

/// What comes out of the packing that the first bytes name, and what tells why it ended.
///
/// # Errors
/// `Damaged` where no packing begins so.
pub fn decoded<'i>(
    input: impl Read + 'i,
    limits: TarLimits,
) -> Result<(impl Read + 'i, Over), TarError> {
    let arrived = Arc::new(AtomicU64::new(0));
    let input = Counted { inner: input, count: Arc::clone(&arrived) };
    let (kind, input) = sniff(input).map_err(|_| TarError::Damaged)?;
    let decoder: Box<dyn Read + 'i> = match kind {
        Packing::None => Box::new(input),
        Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::new(input);
            let mut decoder = decoder.map_err(|_| TarError::Damaged)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|_| TarError::Damaged)?;
            Box::new(decoder)
        }
    };
    let over = Over(Arc::new(AtomicU64::new(WITHIN)));
    let bounded = Bounded { inner: decoder, decoded: 0, arrived, over: over.clone(), limits };
    Ok((bounded, over))
}

/// Whether more came out than may.
#[derive(Clone)]
pub struct Over(Arc<AtomicU64>);

impl Over {
    pub fn found(&self, limits: TarLimits) -> Option<TarError> {
        match self.0.load(Ordering::Relaxed) {
            TOO_MUCH => Some(TarError::Decoded(limits.decoded_bytes_max)),
            TOO_DENSE => Some(TarError::Ratio(limits.ratio_max)),
            _ => None,
        }
    }
}

enum Packing {
    None,
    Gzip,
    Zstd,
}

type Sniffed<R> = Chain<Cursor<Vec<u8>>, R>;

/// What the first bytes say, and the input with them.
fn sniff<R: Read>(mut input: R) -> io::Result<(Packing, Sniffed<R>)> {
    let mut first = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut first)?;
    let packing = match first.as_slice() {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] => Packing::Zstd,
        _ => Packing::None,
    };
    Ok((packing, Cursor::new(first).chain(input)))
}

struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

const WITHIN: u64 = 0;
const TOO_MUCH: u64 = 1;
const TOO_DENSE: u64 = 2;

/// Ends with an error where more comes out than may.
struct Bounded<R> {
    inner: R,
    decoded: u64,
    arrived: Arc<AtomicU64>,
    over: Over,
    limits: TarLimits,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.decoded += read as u64;
        let arrived = self.arrived.load(Ordering::Relaxed);
        let dense =
            self.decoded > RATIO_FROM_BYTES && self.decoded / self.limits.ratio_max > arrived;
        let over = match self.decoded > self.limits.decoded_bytes_max {
            true => TOO_MUCH,
            false if dense => TOO_DENSE,
            false => return Ok(read),
        };
        self.over.0.store(over, Ordering::Relaxed);
        Err(io::Error::other("over a limit"))
    }
}
