//! Wraps the secrets in a database with master keys. Master keys come from outside and never enter the database.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};

use super::cipher::{KEY_BYTES, NONCE_BYTES, TAG_BYTES};

/// Names a master key without saying anything of it.
pub type Fingerprint = [u8; FINGERPRINT_BYTES];
pub const FINGERPRINT_BYTES: usize = 8;

/// First byte of what was wrapped.
const FORMAT: u8 = 1;
const HEAD_BYTES: usize = 1 + FINGERPRINT_BYTES + NONCE_BYTES;
const SALT: &[u8] = b"threadkeep master key";

/// Why a wrapped secret could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    #[error("it was wrapped with another master key ({})", hex::encode(.0))]
    OtherKey(Fingerprint),
    #[error("the wrapped secret is damaged, or is another one's")]
    Damaged,
}

/// One master key.
pub struct MasterKey {
    fingerprint: Fingerprint,
    key: LessSafeKey,
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MasterKey({})", hex::encode(self.fingerprint))
    }
}

impl MasterKey {
    pub fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        let root = Salt::new(HKDF_SHA256, SALT).extract(bytes);
        let mut fingerprint = [0; KEY_BYTES];
        let named = root.expand(&[b"fingerprint"], HKDF_SHA256);
        named.and_then(|it| it.fill(&mut fingerprint)).expect("32 bytes are not too many");
        let (fingerprint, _) = fingerprint.split_first_chunk().expect("8 of 32 bytes");
        Self { fingerprint: *fingerprint, key: wrapping_key(&root) }
    }

    /// Reads a key as people keep it: 32 bytes as base64 or as 64 hexadecimal digits. None: it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = match text.len() {
            64 => hex::decode(text).ok(),
            _ => STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok(),
        };
        Some(Self::new(&bytes?.try_into().ok()?))
    }

    /// A new key as text.
    pub fn random_text() -> String {
        STANDARD.encode(rand::random::<[u8; KEY_BYTES]>())
    }

    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

fn wrapping_key(root: &Prk) -> LessSafeKey {
    let derived = root.expand(&[b"wrap"], &AES_256_GCM).expect("32 bytes are not too many");
    LessSafeKey::new(UnboundKey::from(derived))
}

/// The master key of a database and, during a change, a second one that is accepted too.
#[derive(Debug)]
pub struct MasterKeys {
    pub current: MasterKey,
    pub previous: Option<MasterKey>,
}

impl MasterKeys {
    pub fn knows(&self, fingerprint: &[u8]) -> bool {
        self.all().any(|it| it.fingerprint == fingerprint)
    }

    /// Wraps a secret of the database with the current key. `name` says which secret it is: it opens under no other. Few
    /// are ever wrapped, so random nonces of 96 bits do not meet.
    pub fn wrap(&self, name: &[&[u8]], secret: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let mut wrapped = vec![FORMAT];
        wrapped.extend_from_slice(&self.current.fingerprint);
        wrapped.extend_from_slice(&nonce);
        wrapped.extend_from_slice(secret);
        let aad = bound_to(&wrapped[..1], name);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self
            .current
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(&aad), &mut wrapped[HEAD_BYTES..])
            .expect("a secret is short");
        wrapped.extend_from_slice(tag.as_ref());
        wrapped
    }

    /// Opens what [`MasterKeys::wrap`] made under the same name.
    ///
    /// # Errors
    /// `OtherKey` when it was wrapped with a key that is not here.
    pub fn unwrap(&self, name: &[&[u8]], wrapped: &[u8]) -> Result<Vec<u8>, WrapError> {
        let fingerprint = fingerprint_of(wrapped)?;
        let master = self.all().find(|it| it.fingerprint == fingerprint);
        let master = master.ok_or(WrapError::OtherKey(fingerprint))?;
        let (head, sealed) = wrapped.split_at_checked(HEAD_BYTES).ok_or(WrapError::Damaged)?;
        let nonce = head.last_chunk::<NONCE_BYTES>().ok_or(WrapError::Damaged)?;
        let mut secret = sealed.to_vec();
        let aad = bound_to(&head[..1], name);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        master
            .key
            .open_in_place(nonce, Aad::from(&aad), &mut secret)
            .map_err(|_| WrapError::Damaged)?;
        secret.truncate(secret.len() - TAG_BYTES);
        Ok(secret)
    }

    fn all(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

/// Which master key a secret was wrapped with.
///
/// # Errors
/// `Damaged`.
pub fn fingerprint_of(wrapped: &[u8]) -> Result<Fingerprint, WrapError> {
    match wrapped {
        [FORMAT, rest @ ..] => {
            rest.first_chunk::<FINGERPRINT_BYTES>().copied().ok_or(WrapError::Damaged)
        }
        _ => Err(WrapError::Damaged),
    }
}

fn bound_to(format: &[u8], name: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in std::iter::once(&format).chain(name) {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(current: u8, previous: Option<u8>) -> MasterKeys {
        let key = |byte| MasterKey::new(&[byte; 32]);
        MasterKeys { current: key(current), previous: previous.map(key) }
    }

    #[test]
    fn a_secret_opens_under_its_name_and_its_keys_only() {
        let wrapped = keys(1, None).wrap(&[b"tenant", b"a"], b"secret");
        assert_eq!(keys(1, None).unwrap(&[b"tenant", b"a"], &wrapped).unwrap(), b"secret");
        assert_eq!(keys(2, Some(1)).unwrap(&[b"tenant", b"a"], &wrapped).unwrap(), b"secret");
        let fingerprint = keys(1, None).current.fingerprint();
        let other = keys(2, None).unwrap(&[b"tenant", b"a"], &wrapped);
        assert_eq!(other, Err(WrapError::OtherKey(fingerprint)));
        for name in [&[&b"tenant"[..], b"b"][..], &[b"tenanta"], &[b"tenant", b"a", b""]] {
            assert_eq!(keys(1, None).unwrap(name, &wrapped), Err(WrapError::Damaged));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_an_error() {
        let wrapped = keys(1, None).wrap(&[b"x"], b"secret");
        for at in 0..wrapped.len() * 8 {
            let mut damaged = wrapped.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(keys(1, None).unwrap(&[b"x"], &damaged).is_err(), "bit {at}");
        }
        for length in 0..wrapped.len() {
            assert!(keys(1, None).unwrap(&[b"x"], &wrapped[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn keys_are_read_as_base64_and_as_hexadecimal_digits() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7).unwrap_or(255));
        let named = MasterKey::new(&bytes).fingerprint();
        for text in
            [hex::encode(bytes), STANDARD.encode(bytes), format!(" {}\n", URL_SAFE.encode(bytes))]
        {
            assert_eq!(MasterKey::parse(&text).unwrap().fingerprint(), named);
        }
        let none =
            ["", "short", &"0".repeat(63), &STANDARD.encode([1; 31]), &STANDARD.encode([1; 33])];
        assert!(none.iter().all(|it| MasterKey::parse(it).is_none()));
        assert!(MasterKey::parse(&MasterKey::random_text()).is_some());
    }
}
