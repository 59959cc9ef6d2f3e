//! The envelope of every stored value: `(format, codec, key_id, nonce, bytes)`, and the one door through which
//! values are sealed and opened.
//!
//! Format 2 is not an envelope: a row of a chunk that begins with it says where its envelope lies (storage/objects).
//! Layout, format 1: one byte format, one byte codec, one byte length of the key id (0: not encrypted), the key id, then
//! the bytes; after a key id (`cipher`) a nonce of 12 bytes, the encrypted bytes and their tag of 16. Codecs: 0 the bytes as
//! they are; 1 a zstd frame; 2 one byte version of a dictionary, then a frame packed with it (see `dictionary`).

use std::borrow::Cow;

use bytes::Bytes;

use super::cipher::{Cipher, Home, KEY_ID_BYTES, NONCE_BYTES, TAG_BYTES};
use super::dictionary::{self, UnpackError};

const FORMAT: u8 = 1;
const RAW: u8 = 0;
const ZSTD: u8 = 1;
const ZSTD_DICTIONARY: u8 = 2;
const PLAIN_HEADER: [u8; 3] = [FORMAT, RAW, 0];
const KEY_ID_LENGTH: u8 = 9;
const _: () = assert!(KEY_ID_LENGTH as usize == KEY_ID_BYTES);
/// Format, codec, length of the key id, key id.
const ENCRYPTED_HEADER_BYTES: usize = 3 + KEY_ID_BYTES;
/// Below this the frame's own headers (10 bytes) eat the gain; the smallest metadata has 39 bytes and becomes 21.
const COMPRESS_BYTES_MIN: usize = 16;
/// For values too large for the dictionary. 3 is zstd's default; higher levels cost put latency for a few percent.
const LEVEL: i32 = 3;

type Payload<'a> = Cow<'a, [u8]>;

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

/// Seals a value for its home, encrypted after it was compressed.
pub fn seal_encrypted(cipher: &Cipher, home: Home<'_>, data: &[u8]) -> Bytes {
    let plain = seal(data);
    encrypt(cipher, home, plain[1], &plain[PLAIN_HEADER.len()..])
}

fn encrypt(cipher: &Cipher, home: Home<'_>, codec: u8, payload: &[u8]) -> Bytes {
    let mut header = [0; ENCRYPTED_HEADER_BYTES];
    header[..3].copy_from_slice(&[FORMAT, codec, KEY_ID_LENGTH]);
    header[3..].copy_from_slice(&cipher.key_id(home.scope_id));
    let length = header.len() + NONCE_BYTES + payload.len() + TAG_BYTES;
    let mut envelope = Vec::with_capacity(length);
    envelope.extend_from_slice(&header);
    cipher.seal(home, &header, payload, &mut envelope);
    Bytes::from(envelope)
}

/// Opens what [`seal_encrypted`] made for the same home, at most so many bytes.
///
/// # Errors
/// Whatever is damaged, of another home, or not encrypted.
pub fn open_encrypted(
    cipher: &Cipher,
    home: Home<'_>,
    envelope: &[u8],
    size_bytes_max: usize,
) -> Result<Bytes, EnvelopeError> {
    let (codec, payload) = decrypt(cipher, home, envelope)?;
    unpack(codec, payload.into(), size_bytes_max)
}

/// Codec and bytes behind the encryption.
fn decrypt(
    cipher: &Cipher,
    home: Home<'_>,
    envelope: &[u8],
) -> Result<(u8, Vec<u8>), EnvelopeError> {
    if is_plain(envelope) {
        return Err(EnvelopeError::NotEncrypted);
    }
    let (header, sealed) =
        envelope.split_first_chunk::<ENCRYPTED_HEADER_BYTES>().ok_or(EnvelopeError::Truncated)?;
    match header {
        [FORMAT, _, KEY_ID_LENGTH, key_id @ ..] if *key_id == cipher.key_id(home.scope_id) => {}
        [FORMAT, ..] => return Err(EnvelopeError::Foreign),
        [format, ..] => return Err(EnvelopeError::UnknownFormat(*format)),
    }
    let payload = cipher.open(home, header, sealed).ok_or(EnvelopeError::Foreign)?;
    Ok((header[1], payload))
}

/// Seals what an encrypted envelope holds for another home; its size stays.
///
/// # Errors
/// As [`open_encrypted`].
pub fn move_encrypted(
    cipher: &Cipher,
    (from, to): (Home<'_>, Home<'_>),
    envelope: &[u8],
) -> Result<Bytes, EnvelopeError> {
    let (codec, payload) = decrypt(cipher, from, envelope)?;
    Ok(encrypt(cipher, to, codec, &payload))
}

/// Encrypts an envelope that is not; None for one that is.
pub fn encrypt_plain(cipher: &Cipher, home: Home<'_>, envelope: &[u8]) -> Option<Bytes> {
    let payload = envelope.get(PLAIN_HEADER.len()..).filter(|_| is_plain(envelope))?;
    Some(encrypt(cipher, home, envelope[1], payload))
}

/// The scope that an encrypted envelope says it is of; None for one that is not encrypted.
pub fn scope_of(envelope: &[u8]) -> Option<i64> {
    match envelope.first_chunk::<ENCRYPTED_HEADER_BYTES>()? {
        [FORMAT, _, KEY_ID_LENGTH, _, scope_id @ ..] => Some(i64::from_le_bytes(*scope_id)),
        _ => None,
    }
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

fn unpack(codec: u8, payload: Payload<'_>, size_bytes_max: usize) -> Result<Bytes, EnvelopeError> {
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

    #[test]
    fn an_encrypted_envelope_opens_at_home_only_and_no_bit_of_it_can_be_changed() {
        let (cipher, data) = (Cipher::new("t", 1, &[4; 32]), text(300));
        let row: &[&[u8]] = &[b"ab", b"c"];
        let home = Home { scope_id: 7, noun: "value", row };
        let sealed = seal_encrypted(&cipher, home, &data);
        assert_eq!(sealed.len(), seal(&data).len() + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES);
        assert_eq!(open_encrypted(&cipher, home, &sealed, 300).unwrap(), data);
        assert_eq!(scope_of(&sealed), Some(7));
        assert_ne!(seal_encrypted(&cipher, home, &data), sealed, "a nonce is used once");
        assert_eq!(open(&sealed, 300), Err(EnvelopeError::Encrypted));
        let homes: [(i64, &'static str, &[&[u8]]); 4] = [
            (8, "value", row),
            (7, "write", row),
            (7, "value", &[b"a", b"bc"]),
            (7, "value", &[b"ab", b"c", b""]),
        ];
        for (scope_id, noun, row) in homes {
            let home = Home { scope_id, noun, row };
            assert_eq!(open_encrypted(&cipher, home, &sealed, 300), Err(EnvelopeError::Foreign));
        }
        for other in [("u", 1, 4), ("t", 2, 4), ("t", 1, 5)] {
            let other = Cipher::new(other.0, other.1, &[other.2; 32]);
            assert!(open_encrypted(&other, home, &sealed, 300).is_err());
        }
        for at in 0..sealed.len() * 8 {
            let mut damaged = sealed.to_vec();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(open_encrypted(&cipher, home, &damaged, 300).is_err(), "bit {at}");
        }
        for length in 0..sealed.len() {
            assert!(open_encrypted(&cipher, home, &sealed[..length], 300).is_err());
        }
        let plain = seal(&data);
        let refused = open_encrypted(&cipher, home, &plain, 300);
        assert_eq!(refused, Err(EnvelopeError::NotEncrypted));
    }

    #[test]
    fn an_envelope_moves_from_home_to_home_and_a_plain_one_is_encrypted() {
        let (cipher, data) = (Cipher::new("t", 1, &[4; 32]), text(300));
        let home = |scope_id| Home { scope_id, noun: "value", row: &[b"a"] };
        let sealed = seal_encrypted(&cipher, home(1), &data);
        let moved = move_encrypted(&cipher, (home(1), home(2)), &sealed).unwrap();
        assert_eq!((moved.len(), scope_of(&moved)), (sealed.len(), Some(2)));
        assert_eq!(open_encrypted(&cipher, home(2), &moved, 300).unwrap(), data);
        assert!(move_encrypted(&cipher, (home(2), home(3)), &sealed).is_err());
        let encrypted = encrypt_plain(&cipher, home(2), &seal(&data)).unwrap();
        assert_eq!(open_encrypted(&cipher, home(2), &encrypted, 300).unwrap(), data);
        assert_eq!(encrypt_plain(&cipher, home(2), &encrypted), None);
    }
}
