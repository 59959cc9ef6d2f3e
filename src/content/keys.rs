//! Computes keyed hashes: names of values and chunks, and short keys of channels and versions.
//! Each tenant has a random key, so two tenants name equal bytes differently. With encryption, a second key seals the bytes.

use std::sync::Arc;

use blake3::hazmat::{self, HasherExt as _, Mode};
use bytes::Bytes;

use super::cipher::{AssociatedData, Cipher};
use super::encrypted::{encrypt_plain, open_encrypted, seal_encrypted};
use super::envelope::{self, EnvelopeError};
use super::parts::Name;

/// What the content of one tenant is named and, where encryption is on, sealed with.
#[derive(Clone)]
pub struct TenantSecret {
    names: [u8; 32],
    cipher: Option<Arc<Cipher>>,
}

/// What is known of a part of a value: enough to digest the whole without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartDigest {
    /// Its chaining value as a subtree.
    inner: hazmat::ChainingValue,
    /// Its digest if it is all of the value.
    alone: [u8; 16],
}

impl PartDigest {
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.inner[..], &self.alone].concat()
    }

    /// None for bytes of another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (inner, alone) = bytes.split_at_checked(blake3::OUT_LEN)?;
        Some(Self { inner: inner.try_into().ok()?, alone: alone.try_into().ok()? })
    }
}

/// Parts in the left subtree: the largest power of two below their count.
fn left_count(count: usize) -> usize {
    count.next_power_of_two() / 2
}

/// The chaining value of one subtree. The depth is the logarithm of the count.
fn merged(parts: &[PartDigest], mode: Mode<'_>) -> hazmat::ChainingValue {
    if let [only] = parts {
        return only.inner;
    }
    let (left, right) = parts.split_at(left_count(parts.len()));
    hazmat::merge_subtrees_non_root(&merged(left, mode), &merged(right, mode), mode)
}

impl std::fmt::Debug for TenantSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TenantSecret(…)")
    }
}

impl TenantSecret {
    /// Names content and leaves it readable.
    pub fn new(names: [u8; 32]) -> Self {
        Self { names, cipher: None }
    }

    /// Names content and encrypts it.
    pub fn encrypting(names: [u8; 32], cipher: Cipher) -> Self {
        Self { names, cipher: Some(Arc::new(cipher)) }
    }

    /// What encrypts, where something does.
    pub fn cipher(&self) -> Option<&Cipher> {
        self.cipher.as_deref()
    }

    /// Seals bytes for one row: compressed where that helps, and encrypted where that is on.
    pub fn seal(&self, aad: AssociatedData<'_>, data: &[u8]) -> Bytes {
        match &self.cipher {
            None => envelope::seal(data),
            Some(cipher) => seal_encrypted(cipher, aad, data),
        }
    }

    /// Seals a few bytes that are opened often: never compressed.
    pub fn seal_brief(&self, aad: AssociatedData<'_>, data: &[u8]) -> Bytes {
        let plain = envelope::seal_plain(data);
        let encrypted = self.cipher().and_then(|it| encrypt_plain(it, aad, &plain));
        encrypted.unwrap_or(plain)
    }

    /// Opens an envelope whose value has `size_bytes` bytes.
    ///
    /// # Errors
    /// Damage, another row, a format of a later version, or one that is not encrypted where it has to be.
    pub fn open(
        &self,
        aad: AssociatedData<'_>,
        envelope: &[u8],
        size_bytes: usize,
    ) -> Result<Bytes, EnvelopeError> {
        match &self.cipher {
            None => envelope::open(envelope, size_bytes),
            Some(cipher) => {
                envelope::of_size(open_encrypted(cipher, aad, envelope, size_bytes), size_bytes)
            }
        }
    }

    /// Opens an envelope whose value has at most so many bytes.
    ///
    /// # Errors
    /// As [`Self::open`], and a larger value.
    pub fn open_at_most(
        &self,
        aad: AssociatedData<'_>,
        envelope: &[u8],
        size_bytes_max: usize,
    ) -> Result<Bytes, EnvelopeError> {
        match &self.cipher {
            None => envelope::open_at_most(envelope, size_bytes_max),
            Some(cipher) => open_encrypted(cipher, aad, envelope, size_bytes_max),
        }
    }

    /// Name of a value's bytes: keyed BLAKE3, 128 bits.
    pub fn digest(&self, data: &[u8]) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::keyed_hash(&self.names, data).as_bytes()[..16]);
        digest
    }

    /// What one part adds to the digest of its value. All parts but the last have `part_bytes`, a power of two of at least
    /// 1,024: BLAKE3 hashes a tree, and such a part is a whole subtree of it.
    pub fn digest_part(&self, index: u64, part_bytes: usize, part: &[u8]) -> PartDigest {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        hasher.set_input_offset(index * part_bytes as u64).update(part);
        PartDigest { inner: hasher.finalize_non_root(), alone: self.digest(part) }
    }

    /// [`Self::digest`] of the value that these parts make. None without any.
    pub fn digest_of_parts(&self, parts: &[PartDigest]) -> Option<[u8; 16]> {
        let mode = Mode::KeyedHash(&self.names);
        match parts {
            [] => None,
            [only] => Some(only.alone),
            parts => {
                let (left, right) = parts.split_at(left_count(parts.len()));
                let whole =
                    hazmat::merge_subtrees_root(&merged(left, mode), &merged(right, mode), mode);
                let mut digest = [0; 16];
                digest.copy_from_slice(&whole.as_bytes()[..16]);
                Some(digest)
            }
        }
    }

    /// A code that only the server makes, for bytes that belong to a scope.
    pub fn code(&self, purpose: &str, scope_id: i64, bytes: &[u8]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        for part in [purpose.as_bytes(), &scope_id.to_le_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(bytes);
        let mut code = [0; 16];
        code.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        code
    }

    /// Name of a chunk in its scope.
    pub fn name(&self, data: &[u8]) -> Name {
        let mut name = Name::default();
        let length = name.len();
        name.copy_from_slice(&blake3::keyed_hash(&self.names, data).as_bytes()[..length]);
        name
    }

    /// Key of a tuple of texts: 64 bits, length-prefixed so that the parts cannot run into each other.
    pub fn tuple_key(&self, parts: &[&[u8]]) -> i64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut key = [0; 8];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        i64::from_le_bytes(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_parts_is_that_of_the_whole() {
        const PART_BYTES: usize = 4_096;
        let secret = TenantSecret::new([7; 32]);
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 127, 128] {
            for tail in [1, 1_023, 1_024, 1_025, 3_000, PART_BYTES] {
                let length = (count - 1) * PART_BYTES + tail;
                let whole: Vec<u8> = (0..=250).cycle().take(length).collect();
                let parts = whole.chunks(PART_BYTES).zip(0..);
                let parts = parts.map(|(part, at)| secret.digest_part(at, PART_BYTES, part));
                let kept = parts.map(|it| PartDigest::read(&it.to_bytes()).unwrap());
                let digest = secret.digest_of_parts(&kept.collect::<Vec<_>>());
                assert_eq!(digest, Some(secret.digest(&whole)), "{count} parts, {tail} bytes");
            }
        }
        assert_eq!(secret.digest_of_parts(&[]), None);
        assert_eq!(PartDigest::read(&[0; 47]), None);
    }

    #[test]
    fn a_code_is_of_one_purpose_scope_and_tenant() {
        let (own, other) = (TenantSecret::new([7; 32]), TenantSecret::new([8; 32]));
        let code = own.code("part", 1, b"x");
        for another in [
            own.code("part", 2, b"x"),
            own.code("par", 1, b"tx"),
            own.code("part", 1, b"y"),
            other.code("part", 1, b"x"),
        ] {
            assert_ne!(code, another);
        }
        assert_eq!(code, own.code("part", 1, b"x"));
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        let secret = TenantSecret::new([7; 32]);
        assert_ne!(secret.tuple_key(&[b"ab", b"c"]), secret.tuple_key(&[b"a", b"bc"]));
        assert_ne!(secret.digest(b"x"), TenantSecret::new([8; 32]).digest(b"x"));
    }
}
