//! Reads tar archives from a stream: regular files, and nothing that could be anything else where it is unpacked. Packed with
//! gzip, zstd or not at all, as the first bytes say. Blocking, and never more of an archive in memory than a step.
//!
//! **Invariant:** every member passes `check` before any of it is handed out, and what comes out of a decoder is counted
//! before it is looked at.

use std::io::{self, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType, Header, PaxExtensions};

/// Bytes that are handed out at a time.
const STEP_BYTES: usize = 64 << 10;
/// Headers in front of a member: its long name and its extensions.
const EXTENSION_BYTES_MAX: u64 = 64 << 10;
/// RFC 9659: a decoder of HTTP content needs at most 8 MB of window.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Short archives may be packed as well as they like.
const RATIO_FROM_BYTES: u64 = 16 << 20;

/// What an archive may be.
#[derive(Debug, Clone, Copy)]
pub struct TarLimits {
    pub members_max: u64,
    /// Of the archive, unpacked.
    pub decoded_bytes_max: u64,
    /// Unpacked by packed.
    pub ratio_max: u64,
    pub path_bytes_max: usize,
}

/// What is in an archive, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A file begins: its relative path and its size.
    File {
        path: String,
        size_bytes: u64,
    },
    Bytes(Bytes),
    /// The file is whole.
    End,
}

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The member is named, as far as it has a name.
    #[error("member {member:?} of the archive {reason}")]
    Member { member: String, reason: &'static str },
    #[error("the archive has more than {0} members")]
    Members(u64),
    #[error("the archive has more than {0} bytes when it is unpacked")]
    Decoded(u64),
    #[error("the archive unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("the archive cannot be read: it is damaged, cut off, or no tar")]
    Damaged,
    /// Whoever takes the pieces wants no more.
    #[error("the archive was not read to its end")]
    Stopped,
}

/// Reads an archive to its end. `take` answers whether it wants more.
///
/// # Errors
/// What is wrong with it; what was taken before it was found stays with `take`.
pub fn read<'i>(
    input: impl Read + 'i,
    limits: TarLimits,
    mut take: impl FnMut(Piece) -> bool,
) -> Result<(), TarError> {
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
    let over = Arc::new(AtomicU64::new(WITHIN));
    let bounded = Bounded { inner: decoder, decoded: 0, arrived, over: Arc::clone(&over), limits };
    let result = read_members(bounded, limits, &mut take);
    match over.load(Ordering::Relaxed) {
        TOO_MUCH => Err(TarError::Decoded(limits.decoded_bytes_max)),
        TOO_DENSE => Err(TarError::Ratio(limits.ratio_max)),
        _ => result,
    }
}

fn read_members(
    input: impl Read,
    limits: TarLimits,
    take: &mut dyn FnMut(Piece) -> bool,
) -> Result<(), TarError> {
    let mut archive = Archive::new(input);
    let entries = archive.entries().map_err(|_| TarError::Damaged)?;
    let (mut members, mut before) = (0, Extensions::default());
    // Raw: extensions are read here, within limits.
    for entry in entries.raw(true) {
        let mut entry = entry.map_err(|_| TarError::Damaged)?;
        members += 1;
        if members > limits.members_max {
            return Err(TarError::Members(limits.members_max));
        }
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
            let body = extension(&mut entry)?;
            before.add(kind, &body)?;
            continue;
        }
        let member = Member::of(entry.header(), std::mem::take(&mut before))?;
        if !member.check(kind, limits)? {
            continue;
        }
        let size_bytes = member.size_bytes;
        if !take(Piece::File { path: member.path, size_bytes }) {
            return Err(TarError::Stopped);
        }
        let mut left = size_bytes;
        while left > 0 {
            let mut step = vec![0; usize::try_from(left).unwrap_or(STEP_BYTES).min(STEP_BYTES)];
            entry.read_exact(&mut step).map_err(|_| TarError::Damaged)?;
            left -= step.len() as u64;
            if !take(Piece::Bytes(step.into())) {
                return Err(TarError::Stopped);
            }
        }
        if !take(Piece::End) {
            return Err(TarError::Stopped);
        }
    }
    if before.is_empty() { Ok(()) } else { Err(TarError::Damaged) }
}

fn extension(entry: &mut impl Read) -> Result<Vec<u8>, TarError> {
    let mut body = Vec::new();
    let read = entry.take(EXTENSION_BYTES_MAX + 1).read_to_end(&mut body);
    let length = read.map_err(|_| TarError::Damaged)? as u64;
    let reason = "has a name or extensions that are too long";
    let too_long = || TarError::Member { member: String::new(), reason };
    if length > EXTENSION_BYTES_MAX { Err(too_long()) } else { Ok(body) }
}

/// What was said of the next member before its own header.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    size: Option<Vec<u8>>,
    is_sparse: bool,
    is_link: bool,
}

impl Extensions {
    fn is_empty(&self) -> bool {
        self.path.is_none() && self.size.is_none() && !self.is_sparse && !self.is_link
    }

    fn add(&mut self, kind: EntryType, body: &[u8]) -> Result<(), TarError> {
        if kind.is_gnu_longname() {
            let end = body.iter().position(|it| *it == 0).unwrap_or(body.len());
            self.path = Some(body[..end].to_vec());
            return Ok(());
        }
        for extension in PaxExtensions::new(body) {
            let extension = extension.map_err(|_| TarError::Damaged)?;
            match extension.key_bytes() {
                b"path" => self.path = Some(extension.value_bytes().to_vec()),
                b"size" => self.size = Some(extension.value_bytes().to_vec()),
                b"linkpath" => self.is_link = true,
                key if key.starts_with(b"GNU.sparse") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

struct Member {
    path: String,
    size_bytes: u64,
    extensions: Extensions,
}

impl Member {
    fn of(header: &Header, extensions: Extensions) -> Result<Self, TarError> {
        let path = extensions.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
        let shown = String::from_utf8_lossy(&path).into_owned();
        let damaged = |_| TarError::Member { member: shown.clone(), reason: "has no size" };
        let size_bytes = header.entry_size().map_err(damaged)?;
        let path = String::from_utf8(path).map_err(|_| TarError::Member {
            member: shown.clone(),
            reason: "has a name that is not UTF-8",
        })?;
        Ok(Self { path, size_bytes, extensions })
    }

    /// Whether it is a file; a folder has nothing to read.
    fn check(&self, kind: EntryType, limits: TarLimits) -> Result<bool, TarError> {
        let refuse = |reason| {
            Err(TarError::Member { member: self.path.chars().take(200).collect(), reason })
        };
        let sparse = kind.is_gnu_sparse() || self.extensions.is_sparse;
        match kind {
            _ if sparse => return refuse("is a sparse file"),
            EntryType::Symlink => return refuse("is a symbolic link"),
            EntryType::Link => return refuse("is a hard link"),
            EntryType::Char | EntryType::Block => return refuse("is a device"),
            EntryType::Fifo => return refuse("is a pipe"),
            EntryType::Regular | EntryType::Directory => {}
            EntryType::XGlobalHeader => return Ok(false),
            _ => return refuse("is of a kind that is neither a file nor a folder"),
        }
        let size = self.extensions.size.as_deref();
        if self.extensions.is_link
            || size.is_some_and(|it| it != self.size_bytes.to_string().as_bytes())
        {
            // Two readers would see two archives.
            return refuse("has extensions that contradict its header");
        }
        if self.path.len() > limits.path_bytes_max {
            return refuse("has a path that is too long");
        }
        if self.path.starts_with(['/', '\\'])
            || self.path.get(1..3).is_some_and(|it| it == ":\\" || it == ":/")
        {
            return refuse("has an absolute path");
        }
        if self.path.split(['/', '\\']).any(|it| it == "..") {
            return refuse("has .. in its path");
        }
        if self.path.contains(['\0', '\\']) || self.path.chars().any(char::is_control) {
            return refuse("has a path with a backslash or a control character");
        }
        let is_folder = kind.is_dir() || self.path.ends_with('/');
        if is_folder && self.size_bytes > 0 {
            return refuse("is a folder with content");
        }
        if !is_folder && self.path.split('/').all(|it| it.is_empty() || it == ".") {
            return refuse("has no name");
        }
        Ok(!is_folder)
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
    over: Arc<AtomicU64>,
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
        self.over.store(over, Ordering::Relaxed);
        Err(io::Error::other("over a limit"))
    }
}

#[cfg(test)]
mod tests;
