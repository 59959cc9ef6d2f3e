//! Seals and opens encrypted envelopes. A value is compressed as always, then encrypted for one row with the cipher of its tenant.

use bytes::Bytes;

use super::cipher::{AssociatedData, Cipher, KEY_ID_BYTES, NONCE_BYTES, TAG_BYTES};
use super::envelope::{EnvelopeError, FORMAT, PLAIN_HEADER, is_plain, seal, unpack};

const KEY_ID_LENGTH: u8 = 9;
const _: () = assert!(KEY_ID_LENGTH as usize == KEY_ID_BYTES);
/// Format, codec, length of the key id, key id.
const ENCRYPTED_HEADER_BYTES: usize = 3 + KEY_ID_BYTES;

/// Seals a value for its row, encrypted after it was compressed.
pub fn seal_encrypted(cipher: &Cipher, aad: AssociatedData<'_>, data: &[u8]) -> Bytes {
    let plain = seal(data);
    encrypt(cipher, aad, plain[1], &plain[PLAIN_HEADER.len()..])
}

fn encrypt(cipher: &Cipher, aad: AssociatedData<'_>, codec: u8, payload: &[u8]) -> Bytes {
    let mut header = [0; ENCRYPTED_HEADER_BYTES];
    header[..3].copy_from_slice(&[FORMAT, codec, KEY_ID_LENGTH]);
    header[3..].copy_from_slice(&cipher.key_id(aad.scope_id));
    let length = header.len() + NONCE_BYTES + payload.len() + TAG_BYTES;
    let mut envelope = Vec::with_capacity(length);
    envelope.extend_from_slice(&header);
    cipher.seal(aad, &header, payload, &mut envelope);
    Bytes::from(envelope)
}

/// Opens what [`seal_encrypted`] made for the same associated data, at most so many bytes.
///
/// # Errors
/// Whatever is damaged, of another row, or not encrypted.
pub fn open_encrypted(
    cipher: &Cipher,
    aad: AssociatedData<'_>,
    envelope: &[u8],
    size_bytes_max: usize,
) -> Result<Bytes, EnvelopeError> {
    let (codec, payload) = decrypt(cipher, aad, envelope)?;
    unpack(codec, payload.into(), size_bytes_max)
}

/// Codec and bytes behind the encryption.
fn decrypt(
    cipher: &Cipher,
    aad: AssociatedData<'_>,
    envelope: &[u8],
) -> Result<(u8, Vec<u8>), EnvelopeError> {
    if is_plain(envelope) {
        return Err(EnvelopeError::NotEncrypted);
    }
    let (header, sealed) =
        envelope.split_first_chunk::<ENCRYPTED_HEADER_BYTES>().ok_or(EnvelopeError::Truncated)?;
    match header {
        [FORMAT, _, KEY_ID_LENGTH, key_id @ ..] if *key_id == cipher.key_id(aad.scope_id) => {}
        [FORMAT, ..] => return Err(EnvelopeError::Foreign),
        [format, ..] => return Err(EnvelopeError::UnknownFormat(*format)),
    }
    let payload = cipher.open(aad, header, sealed).ok_or(EnvelopeError::Foreign)?;
    Ok((header[1], payload))
}

/// Seals what an encrypted envelope holds for another row; its size stays.
///
/// # Errors
/// As [`open_encrypted`].
pub fn move_encrypted(
    cipher: &Cipher,
    (from, to): (AssociatedData<'_>, AssociatedData<'_>),
    envelope: &[u8],
) -> Result<Bytes, EnvelopeError> {
    let (codec, payload) = decrypt(cipher, from, envelope)?;
    Ok(encrypt(cipher, to, codec, &payload))
}

/// Encrypts an envelope that is not; None for one that is.
pub fn encrypt_plain(cipher: &Cipher, aad: AssociatedData<'_>, envelope: &[u8]) -> Option<Bytes> {
    let payload = envelope.get(PLAIN_HEADER.len()..).filter(|_| is_plain(envelope))?;
    Some(encrypt(cipher, aad, envelope[1], payload))
}

/// The scope that an encrypted envelope says it is of; None for one that is not encrypted.
pub fn scope_of(envelope: &[u8]) -> Option<i64> {
    match envelope.first_chunk::<ENCRYPTED_HEADER_BYTES>()? {
        [FORMAT, _, KEY_ID_LENGTH, _, scope_id @ ..] => Some(i64::from_le_bytes(*scope_id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::envelope::open;

    fn text(length: usize) -> Vec<u8> {
        br#"{"source":"loop","step":1,"parents":{}}"#.iter().copied().cycle().take(length).collect()
    }

    #[test]
    fn an_encrypted_envelope_opens_at_home_only_and_no_bit_of_it_can_be_changed() {
        let (cipher, data) = (Cipher::new("t", 1, &[4; 32]), text(300));
        let row: &[&[u8]] = &[b"ab", b"c"];
        let aad = AssociatedData { scope_id: 7, noun: "value", row };
        let sealed = seal_encrypted(&cipher, aad, &data);
        assert_eq!(sealed.len(), seal(&data).len() + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES);
        assert_eq!(open_encrypted(&cipher, aad, &sealed, 300).unwrap(), data);
        assert_eq!(scope_of(&sealed), Some(7));
        assert_ne!(seal_encrypted(&cipher, aad, &data), sealed, "a nonce is used once");
        assert_eq!(open(&sealed, 300), Err(EnvelopeError::Encrypted));
        let associated_data: [(i64, &'static str, &[&[u8]]); 4] = [
            (8, "value", row),
            (7, "write", row),
            (7, "value", &[b"a", b"bc"]),
            (7, "value", &[b"ab", b"c", b""]),
        ];
        for (scope_id, noun, row) in associated_data {
            let aad = AssociatedData { scope_id, noun, row };
            assert_eq!(open_encrypted(&cipher, aad, &sealed, 300), Err(EnvelopeError::Foreign));
        }
        for other in [("u", 1, 4), ("t", 2, 4), ("t", 1, 5)] {
            let other = Cipher::new(other.0, other.1, &[other.2; 32]);
            assert!(open_encrypted(&other, aad, &sealed, 300).is_err());
        }
        for at in 0..sealed.len() * 8 {
            let mut damaged = sealed.to_vec();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(open_encrypted(&cipher, aad, &damaged, 300).is_err(), "bit {at}");
        }
        for length in 0..sealed.len() {
            assert!(open_encrypted(&cipher, aad, &sealed[..length], 300).is_err());
        }
        let plain = seal(&data);
        let refused = open_encrypted(&cipher, aad, &plain, 300);
        assert_eq!(refused, Err(EnvelopeError::NotEncrypted));
    }

    #[test]
    fn an_envelope_moves_from_home_to_home_and_a_plain_one_is_encrypted() {
        let (cipher, data) = (Cipher::new("t", 1, &[4; 32]), text(300));
        let aad = |scope_id| AssociatedData { scope_id, noun: "value", row: &[b"a"] };
        let sealed = seal_encrypted(&cipher, aad(1), &data);
        let moved = move_encrypted(&cipher, (aad(1), aad(2)), &sealed).unwrap();
        assert_eq!((moved.len(), scope_of(&moved)), (sealed.len(), Some(2)));
        assert_eq!(open_encrypted(&cipher, aad(2), &moved, 300).unwrap(), data);
        assert!(move_encrypted(&cipher, (aad(2), aad(3)), &sealed).is_err());
        let encrypted = encrypt_plain(&cipher, aad(2), &seal(&data)).unwrap();
        assert_eq!(open_encrypted(&cipher, aad(2), &encrypted, 300).unwrap(), data);
        assert_eq!(encrypt_plain(&cipher, aad(2), &encrypted), None);
    }
}
