//! Compresses values with a trained zstd dictionary. Threads contain few shapes of data, and with the dictionary their field names cost
//! almost nothing. The dictionaries are part of the program; dictionaries/README.md describes how they are made.

use std::cell::RefCell;
use std::io;
use std::sync::LazyLock;

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// The version that is packed with.
pub const NEWEST: u8 = 1;
/// Larger values are left to plain zstd: what the dictionary saves is nearly the same for all sizes, so 37% at 2 KB,
/// 14% at 32 KB, 9% at 64 KB, and it costs a third more time.
pub const BYTES_MAX: usize = 64 * 1_024;

/// Measured on runs that the dictionary was not trained with (release build, one core; bytes and µs for each):
///
/// | level | metadata, 164 B | write, 385 B | skeleton, 844 B | chunk, 1.6 KB | chunk, 4 KB |
/// |---|---|---|---|---|---|
/// | without a dictionary, 3 | 137, 5.7 | 304, 7.9 | 326, 7.2 | 925, 19 | 2,183, 42 |
/// | 1 | 50, 1.0 | 145, 1.6 | 179, 3.2 | 686, 10 | 1,667, 23 |
/// | **3** | 51, 1.4 | 133, 2.1 | 171, 3.9 | 616, 13 | 1,521, 26 |
/// | 6 | 48, 5.8 | 133, 8.7 | 158, 18 | 583, 38 | 1,432, 80 |
/// | 12 | 47, 7.4 | 126, 14 | 156, 19 | 567, 68 | 1,396, 189 |
///
/// From 6 on each percent costs the put that waits for it about 10 µs.
const LEVEL: i32 = 3;

/// The first bytes of every zstd frame, which are not stored. Nor are a checksum (a digest stands beside every
/// envelope) and the dictionary's id (its version is in the envelope): together 12 bytes, a fifth of usual metadata.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why bytes could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnpackError {
    UnknownVersion(u8),
    /// Larger than the caller's limit.
    TooLarge,
    Damaged,
}

/// Packs data and hands over what follows the version; `None` where the data is too large.
pub fn pack<R>(data: &[u8], take: impl FnOnce(&[u8]) -> R) -> Option<R> {
    if data.len() > BYTES_MAX {
        return None;
    }
    PACKER.with_borrow_mut(|(compressor, frame)| {
        compressor.compress_to_buffer(data, frame).ok()?;
        frame.strip_prefix(&MAGIC).map(take)
    })
}

/// Unpacks what [`pack`] made with this version.
///
/// # Errors
/// Damage, an unknown version, or more bytes than the limit; no more than the limit is allocated.
pub fn unpack(version: u8, packed: &[u8], size_bytes_max: usize) -> Result<Vec<u8>, UnpackError> {
    if version != NEWEST {
        return Err(UnpackError::UnknownVersion(version));
    }
    UNPACKER.with_borrow_mut(|(decompressor, frame)| {
        frame.truncate(MAGIC.len());
        frame.extend_from_slice(packed);
        let size = frame_size(frame).ok_or(UnpackError::Damaged)?;
        if size > size_bytes_max {
            return Err(UnpackError::TooLarge);
        }
        let mut data = Vec::with_capacity(size);
        let outcome = decompressor.decompress_to_buffer(frame.as_slice(), &mut data);
        frame.shrink_to(2 * BYTES_MAX);
        if outcome.is_ok() && data.len() == size { Ok(data) } else { Err(UnpackError::Damaged) }
    })
}

/// The size of what is in a frame. Ours always say it.
pub fn frame_size(frame: &[u8]) -> Option<usize> {
    usize::try_from(zstd::zstd_safe::get_frame_content_size(frame).ok()??).ok()
}

struct Dictionary {
    encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
}

/// Version 1. One that was published is never replaced or removed: stored envelopes name it.
static DICTIONARY_1: LazyLock<Dictionary> = LazyLock::new(|| {
    let bytes = include_bytes!("dictionaries/1.dict");
    Dictionary {
        encoder: EncoderDictionary::copy(bytes, LEVEL),
        decoder: DecoderDictionary::copy(bytes),
    }
});

type Packer = (Compressor<'static>, Vec<u8>);
type Unpacker = (Decompressor<'static>, Vec<u8>);

// Making a context costs 20 µs and a value of 300 bytes 1.6, so every thread keeps one of each, and a buffer for the
// frame beside it: 0.2 MB where values are small, up to 0.9 MB after one of 64 KiB.
thread_local! {
    static PACKER: RefCell<Packer> =
        RefCell::new(packer().expect("zstd refuses only a damaged dictionary, and ours is part of the program"));
    static UNPACKER: RefCell<Unpacker> =
        RefCell::new(unpacker().expect("zstd refuses only a damaged dictionary, and ours is part of the program"));
}

fn packer() -> io::Result<Packer> {
    let mut compressor = Compressor::with_prepared_dictionary(&DICTIONARY_1.encoder)?;
    compressor.include_checksum(false)?;
    compressor.include_dictid(false)?;
    compressor.include_contentsize(true)?;
    Ok((compressor, Vec::with_capacity(zstd::zstd_safe::compress_bound(BYTES_MAX))))
}

fn unpacker() -> io::Result<Unpacker> {
    let decompressor = Decompressor::with_prepared_dictionary(&DICTIONARY_1.decoder)?;
    Ok((decompressor, MAGIC.to_vec()))
}
