//! Keyed hashing: names of values and of chunks, and the short keys of channels and versions. The key is
//! random per tenant, so equal bytes of two tenants have different names. With encryption a second key seals them.

use std::sync::Arc;

use bytes::Bytes;

use super::cipher::{Cipher, Home};
use super::encrypted::{encrypt_plain, open_encrypted, seal_encrypted};
use super::envelope::{self, EnvelopeError};
use super::parts::Name;

/// What the content of one tenant is named and, where encryption is on, sealed with.
#[derive(Clone)]
pub struct TenantSecret {
    names: [u8; 32],
    cipher: Option<Arc<Cipher>>,
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

    /// Seals bytes for their home: compressed where that helps, and encrypted where that is on.
    pub fn seal(&self, home: Home<'_>, data: &[u8]) -> Bytes {
        match &self.cipher {
            None => envelope::seal(data),
            Some(cipher) => seal_encrypted(cipher, home, data),
        }
    }

    /// Seals a few bytes that are opened often: never compressed.
    pub fn seal_brief(&self, home: Home<'_>, data: &[u8]) -> Bytes {
        let plain = envelope::seal_plain(data);
        let encrypted = self.cipher().and_then(|it| encrypt_plain(it, home, &plain));
        encrypted.unwrap_or(plain)
    }

    /// Opens an envelope whose value has `size_bytes` bytes.
    ///
    /// # Errors
    /// Damage, another home, a format of a later version, or one that is not encrypted where it has to be.
    pub fn open(
        &self,
        home: Home<'_>,
        envelope: &[u8],
        size_bytes: usize,
    ) -> Result<Bytes, EnvelopeError> {
        match &self.cipher {
            None => envelope::open(envelope, size_bytes),
            Some(cipher) => {
                envelope::of_size(open_encrypted(cipher, home, envelope, size_bytes), size_bytes)
            }
        }
    }

    /// Opens an envelope whose value has at most so many bytes.
    ///
    /// # Errors
    /// As [`Self::open`], and a larger value.
    pub fn open_at_most(
        &self,
        home: Home<'_>,
        envelope: &[u8],
        size_bytes_max: usize,
    ) -> Result<Bytes, EnvelopeError> {
        match &self.cipher {
            None => envelope::open_at_most(envelope, size_bytes_max),
            Some(cipher) => open_encrypted(cipher, home, envelope, size_bytes_max),
        }
    }

    /// Name of a value's bytes: keyed BLAKE3, 128 bits.
    pub fn digest(&self, data: &[u8]) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::keyed_hash(&self.names, data).as_bytes()[..16]);
        digest
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
    fn parts_of_a_key_do_not_run_into_each_other() {
        let secret = TenantSecret::new([7; 32]);
        assert_ne!(secret.tuple_key(&[b"ab", b"c"]), secret.tuple_key(&[b"a", b"bc"]));
        assert_ne!(secret.digest(b"x"), TenantSecret::new([8; 32]).digest(b"x"));
    }
}
