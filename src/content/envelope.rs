//! The envelope of every stored value: `(format, codec, key_id, nonce, bytes)`, and the one door through which
//! values are sealed and opened.
//!
//! Layout, format 1: one byte format, one byte codec, one byte length of the key id (0: not encrypted), the key id,
//! the nonce (24 bytes when there is a key id), then the bytes.

use bytes::Bytes;

const FORMAT: u8 = 1;
const RAW: u8 = 0;
const ZSTD: u8 = 1;
/// Below this zstd's own header eats the gain (measured on small msgpack values).
const COMPRESS_BYTES_MIN: usize = 64;
/// 3 is zstd's default; higher levels cost put latency for a few percent.
const LEVEL: i32 = 3;

/// Why an envelope could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("the envelope is truncated")]
    Truncated,
    #[error("envelope format {0} is not known to this version")]
    UnknownFormat(u8),
    #[error("envelope codec {0} is not known to this version")]
    UnknownCodec(u8),
    #[error("the value is encrypted, and this server has no key")]
    Encrypted,
    #[error("the compressed bytes are damaged")]
    Damaged,
}

/// Seals a value: compressed when that helps.
pub fn seal(data: &[u8]) -> Bytes {
    if data.len() >= COMPRESS_BYTES_MIN
        && let Ok(packed) = zstd::bulk::compress(data, LEVEL)
        && packed.len() < data.len()
    {
        return assemble(ZSTD, &packed);
    }
    assemble(RAW, data)
}

/// Seals bytes that a statement of a database reads in place: never compressed.
pub fn seal_plain(data: &[u8]) -> Bytes {
    assemble(RAW, data)
}

/// Opens an envelope whose value has `size_bytes` bytes.
///
/// # Errors
/// Damage, or a format of a later version; never wrong data of another length.
pub fn open(envelope: &[u8], size_bytes: usize) -> Result<Bytes, EnvelopeError> {
    let [format, codec, key_length, rest @ ..] = envelope else {
        return Err(EnvelopeError::Truncated);
    };
    if *format != FORMAT {
        return Err(EnvelopeError::UnknownFormat(*format));
    }
    if *key_length != 0 {
        return Err(EnvelopeError::Encrypted);
    }
    let data = match *codec {
        RAW => Bytes::copy_from_slice(rest),
        ZSTD => zstd::bulk::decompress(rest, size_bytes)
            .map(Bytes::from)
            .map_err(|_| EnvelopeError::Damaged)?,
        other => return Err(EnvelopeError::UnknownCodec(other)),
    };
    if data.len() == size_bytes { Ok(data) } else { Err(EnvelopeError::Damaged) }
}

/// Opens an envelope whose value has at most `size_bytes_max` bytes.
///
/// # Errors
/// Damage, or a format of a later version; nothing is allocated for more than the limit.
pub fn open_at_most(envelope: &[u8], size_bytes_max: usize) -> Result<Bytes, EnvelopeError> {
    let [_, codec, _, rest @ ..] = envelope else {
        return Err(EnvelopeError::Truncated);
    };
    let size_bytes = match *codec {
        RAW => rest.len(),
        _ => zstd::bulk::Decompressor::upper_bound(rest).ok_or(EnvelopeError::Damaged)?,
    };
    if size_bytes > size_bytes_max {
        return Err(EnvelopeError::Damaged);
    }
    open(envelope, size_bytes)
}

fn assemble(codec: u8, bytes: &[u8]) -> Bytes {
    let mut envelope = Vec::with_capacity(bytes.len() + 3);
    envelope.extend_from_slice(&[FORMAT, codec, 0]);
    envelope.extend_from_slice(bytes);
    Bytes::from(envelope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_to_the_same_bytes() {
        for data in
            [&b""[..], b"x", &[0; 10_000], &(0..=255).cycle().take(500).collect::<Vec<u8>>()]
        {
            let sealed = seal(data);
            assert_eq!(open(&sealed, data.len()).unwrap(), data);
        }
        assert!(seal(&[0; 10_000]).len() < 100);
    }

    #[test]
    fn damage_and_later_formats_are_errors() {
        let sealed = seal(&[7; 1_000]);
        assert_eq!(open(&sealed[..2], 1_000), Err(EnvelopeError::Truncated));
        assert_eq!(open(&sealed, 999), Err(EnvelopeError::Damaged));
        assert_eq!(open(&[9, 0, 0], 0), Err(EnvelopeError::UnknownFormat(9)));
        assert_eq!(open(&[1, 0, 1, 5], 0), Err(EnvelopeError::Encrypted));
    }
}
