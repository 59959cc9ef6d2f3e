//! Seals and opens the envelope of stored values: `(format, codec, key_id, nonce, bytes)`. No value is stored without it.
//!
//! Format 2 is not an envelope: a chunk row that begins with it contains the location of its envelope (storage/objects).
//!
//! Format 1 begins with one byte each for the format, the codec and the length of the key id (0: not encrypted). The key id and the bytes
//! follow. After a key id (`cipher`) come a nonce of 12 bytes, the encrypted bytes and their tag of 16. Codec 0 is the bytes as they are,
//! and 1 a zstd frame. Codec 2 is one byte version of a dictionary, then a frame packed with it (see `dictionary`).

use std::borrow::Cow;

use bytes::Bytes;

use super::dictionary::{self, UnpackError};

pub(super) const FORMAT: u8 = 1;
const RAW: u8 = 0;
const ZSTD: u8 = 1;
const ZSTD_DICTIONARY: u8 = 2;
pub(super) const PLAIN_HEADER: [u8; 3] = [FORMAT, RAW, 0];
/// Below this the frame's own headers (10 bytes) eat the gain; the smallest metadata has 39 bytes and becomes 21.
const COMPRESS_BYTES_MIN: usize = 16;
/// For values too large for the dictionary. 3 is zstd's default; higher levels cost put latency for a few percent.
const LEVEL: i32 = 3;

pub(super) type Payload<'a> = Cow<'a, [u8]>;

/// Why an envelope could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("the envelope is truncated")]
    Truncated,
    #[error("envelope format {0} is not known to this version")]
    UnknownFormat(u8),
    #[error("envelope codec {0} is not known to this version")]
    UnknownCodec(u8),
    #[error("compression dictionary {0} is not known to this version")]
    UnknownDictionary(u8),
    #[error("the value is encrypted, and this server has no key")]
    Encrypted,
    #[error("the value is not encrypted, and everything here has to be")]
    NotEncrypted,
    #[error("the value does not open: it is damaged, or it was moved here from elsewhere")]
    Foreign,
    #[error("the compressed bytes are damaged")]
    Damaged,
    #[error("the value has more than {0} bytes")]
    TooLarge(usize),
}

/// Seals a value: compressed when that helps.
pub fn seal(data: &[u8]) -> Bytes {
    if data.len() < COMPRESS_BYTES_MIN {
        return assemble(&PLAIN_HEADER, data);
    }
    let smaller = |header: &[u8], packed: &[u8]| {
        let saves = header.len() + packed.len() < PLAIN_HEADER.len() + data.len();
        saves.then(|| assemble(header, packed))
    };
    let packed = if data.len() <= dictionary::BYTES_MAX {
        let header = [FORMAT, ZSTD_DICTIONARY, 0, dictionary::NEWEST];
        dictionary::pack(data, |packed| smaller(&header, packed)).flatten()
    } else {
        let packed = zstd::bulk::compress(data, LEVEL).ok();
        packed.and_then(|packed| smaller(&[FORMAT, ZSTD, 0], &packed))
    };
    packed.unwrap_or_else(|| assemble(&PLAIN_HEADER, data))
}

/// Seals bytes that a statement of a database reads in place: never compressed.
pub fn seal_plain(data: &[u8]) -> Bytes {
    assemble(&PLAIN_HEADER, data)
}

/// Whether an envelope is not encrypted.
pub fn is_plain(envelope: &[u8]) -> bool {
    matches!(envelope, [FORMAT, _, 0, ..])
}

/// Opens an envelope whose value has `size_bytes` bytes.
///
/// # Errors
/// Damage, or a format of a later version; never wrong data of another length.
pub fn open(envelope: &[u8], size_bytes: usize) -> Result<Bytes, EnvelopeError> {
    of_size(open_at_most(envelope, size_bytes), size_bytes)
}

/// What was opened, if it has the size.
///
/// # Errors
/// Damage.
pub fn of_size(
    opened: Result<Bytes, EnvelopeError>,
    size_bytes: usize,
) -> Result<Bytes, EnvelopeError> {
    match opened {
        Ok(data) if data.len() == size_bytes => Ok(data),
        Ok(_) | Err(EnvelopeError::TooLarge(_)) => Err(EnvelopeError::Damaged),
        Err(error) => Err(error),
    }
}

/// Opens an envelope whose value has at most so many bytes. No more than that is ever allocated for it.
///
/// # Errors
/// Damage, a format of a later version, or a larger value.
pub fn open_at_most(envelope: &[u8], size_bytes_max: usize) -> Result<Bytes, EnvelopeError> {
    let [format, codec, key_length, rest @ ..] = envelope else {
        return Err(EnvelopeError::Truncated);
    };
    if *format != FORMAT {
        return Err(EnvelopeError::UnknownFormat(*format));
    }
    if *key_length != 0 {
        return Err(EnvelopeError::Encrypted);
    }
    unpack(*codec, Payload::Borrowed(rest), size_bytes_max)
}

/// The value that was packed with a codec.
///
/// # Errors
/// As [`open_at_most`].
pub(super) fn unpack(
    codec: u8,
    payload: Payload<'_>,
    size_bytes_max: usize,
) -> Result<Bytes, EnvelopeError> {
    let opened = match codec {
        RAW if payload.len() > size_bytes_max => Err(UnpackError::TooLarge),
        RAW => return Ok(Bytes::from(payload.into_owned())),
        ZSTD => unpack_frame(&payload, size_bytes_max),
        ZSTD_DICTIONARY => {
            let (version, packed) = payload.split_first().ok_or(EnvelopeError::Truncated)?;
            dictionary::unpack(*version, packed, size_bytes_max)
        }
        other => return Err(EnvelopeError::UnknownCodec(other)),
    };
    opened.map(Bytes::from).map_err(|error| match error {
        UnpackError::UnknownVersion(version) => EnvelopeError::UnknownDictionary(version),
        UnpackError::TooLarge => EnvelopeError::TooLarge(size_bytes_max),
        UnpackError::Damaged => EnvelopeError::Damaged,
    })
}

fn unpack_frame(frame: &[u8], size_bytes_max: usize) -> Result<Vec<u8>, UnpackError> {
    let size = dictionary::frame_size(frame).ok_or(UnpackError::Damaged)?;
    if size > size_bytes_max {
        return Err(UnpackError::TooLarge);
    }
    let data = zstd::bulk::decompress(frame, size).map_err(|_| UnpackError::Damaged)?;
    if data.len() == size { Ok(data) } else { Err(UnpackError::Damaged) }
}

fn assemble(header: &[u8], bytes: &[u8]) -> Bytes {
    let mut envelope = Vec::with_capacity(header.len() + bytes.len());
    envelope.extend_from_slice(header);
    envelope.extend_from_slice(bytes);
    Bytes::from(envelope)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text of few words, so that most of it is compressed, and bytes that are not.
    fn any_data() -> impl Strategy<Value = Vec<u8>> {
        let words =
            prop::sample::select(vec!["messages", "content", " the ", "{\"v\":4,", "\u{e9}"]);
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..400),
            prop::collection::vec(words, 0..400).prop_map(|words| words.concat().into_bytes()),
        ]
    }

    fn text(length: usize) -> Vec<u8> {
        br#"{"source":"loop","step":1,"parents":{}}"#.iter().copied().cycle().take(length).collect()
    }

    proptest! {
        #[test]
        fn what_was_sealed_opens_to_the_same_bytes(data in any_data()) {
            let sealed = seal(&data);
            prop_assert!(sealed.len() <= data.len() + 3);
            prop_assert_eq!(open(&sealed, data.len()).unwrap(), &data[..]);
            prop_assert_eq!(open_at_most(&sealed, data.len() + 9).unwrap(), &data[..]);
        }

        #[test]
        fn bytes_from_anywhere_open_to_an_error_or_to_the_size_asked_for(
            codec in 0_u8..4, rest in prop::collection::vec(any::<u8>(), 0..300), size in 0_usize..600,
        ) {
            let envelope = [&[FORMAT, codec, 0], &rest[..]].concat();
            if let Ok(data) = open(&envelope, size) {
                prop_assert_eq!(data.len(), size);
            }
        }
    }

    #[test]
    fn each_size_has_its_codec_and_opens() {
        let cases =
            [(0, RAW), (15, RAW), (39, ZSTD_DICTIONARY), (dictionary::BYTES_MAX, ZSTD_DICTIONARY)];
        for (length, codec) in cases.into_iter().chain([(dictionary::BYTES_MAX + 1, ZSTD)]) {
            let data = text(length);
            let sealed = seal(&data);
            assert_eq!(sealed[1], codec, "{length} bytes");
            assert_eq!(open(&sealed, length).unwrap(), data);
        }
        let noise: Vec<u8> = (0..64_u8).map(|it| it.wrapping_mul(167) ^ 0x5a).collect();
        assert_eq!(seal(&noise)[1], RAW);
    }

    #[test]
    fn the_dictionary_knows_the_shape_of_what_is_stored() {
        let metadata = text(39);
        assert!(seal(&metadata).len() <= 24, "{}", seal(&metadata).len());
        let message = b"\xbalangchain_core.messages.ai\xa9AIMessage\x89\xa7content\xa2hi\xb1additional_kwargs\x80\
            \xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0\xaatool_calls\x90\xb2invalid_tool_calls\x90";
        assert!(seal(message).len() < message.len() / 3, "{}", seal(message).len());
    }

    #[test]
    fn envelopes_of_earlier_versions_open() {
        let data = text(500);
        let raw = [&[1, 0, 0], &data[..]].concat();
        let zstd = [&[1, 1, 0], &zstd::bulk::compress(&data, 3).unwrap()[..]].concat();
        // Made once with dictionary 1: it must open for ever.
        let dictionary = hex::decode(GOLDEN).unwrap();
        for envelope in [raw, zstd, dictionary] {
            assert_eq!(open(&envelope, 500).unwrap(), data);
            assert_eq!(open_at_most(&envelope, 500).unwrap(), data);
            assert_eq!(open_at_most(&envelope, 499), Err(EnvelopeError::TooLarge(499)));
            assert_eq!(open(&envelope, 501), Err(EnvelopeError::Damaged));
        }
    }
    const GOLDEN: &str = "0102000160f4008d0000083104fcb2eaebe381270156c7ddc92301";

    #[test]
    fn a_damaged_envelope_is_an_error_or_other_bytes_of_the_size_asked_for() {
        for data in [text(700), text(dictionary::BYTES_MAX + 5)] {
            let sealed = seal(&data);
            for at in 0..sealed.len() {
                for bit in 0..8 {
                    let mut damaged = sealed.to_vec();
                    damaged[at] ^= 1 << bit;
                    if let Ok(opened) = open(&damaged, data.len()) {
                        assert_eq!(opened.len(), data.len());
                    }
                }
                assert!(open(&sealed[..at], data.len()).is_err(), "cut at {at}");
            }
        }
    }

    #[test]
    fn what_this_version_does_not_know_is_named() {
        let sealed = seal(&[7; 1_000]);
        assert_eq!(open(&sealed[..2], 1_000), Err(EnvelopeError::Truncated));
        assert_eq!(open(&sealed, 999), Err(EnvelopeError::Damaged));
        assert_eq!(open(&[9, 0, 0], 0), Err(EnvelopeError::UnknownFormat(9)));
        assert_eq!(open(&[1, 3, 0], 0), Err(EnvelopeError::UnknownCodec(3)));
        assert_eq!(open(&[1, 2, 0], 0), Err(EnvelopeError::Truncated));
        assert_eq!(open(&[1, 2, 0, 9, 1, 2], 2), Err(EnvelopeError::UnknownDictionary(9)));
        assert_eq!(open(&[1, 0, 1, 5], 0), Err(EnvelopeError::Encrypted));
    }

    #[test]
    fn a_frame_that_claims_a_huge_size_is_refused_before_anything_is_allocated() {
        // A single-segment frame of 2^40 bytes, with and without the first four bytes.
        let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &(1_u64 << 40).to_le_bytes(), &[1, 0, 0]]
            .concat();
        for envelope in [[&[1, 1, 0], &frame[..]].concat(), [&[1, 2, 0, 1], &frame[4..]].concat()] {
            assert_eq!(open_at_most(&envelope, 1_000), Err(EnvelopeError::TooLarge(1_000)));
        }
    }
}
