//! Keyed hashing: names of values and of chunks, and the short keys of channels and versions. The key is
//! random per tenant, so equal bytes of two tenants have different names.

use super::parts::Name;

/// The secret of one tenant, from its row in `tenants`.
#[derive(Clone)]
pub struct TenantSecret([u8; 32]);

impl std::fmt::Debug for TenantSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TenantSecret(…)")
    }
}

impl TenantSecret {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Name of a value's bytes: keyed BLAKE3, 128 bits.
    pub fn digest(&self, data: &[u8]) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::keyed_hash(&self.0, data).as_bytes()[..16]);
        digest
    }

    /// Name of a chunk in its scope.
    pub fn name(&self, data: &[u8]) -> Name {
        let mut name = Name::default();
        let length = name.len();
        name.copy_from_slice(&blake3::keyed_hash(&self.0, data).as_bytes()[..length]);
        name
    }

    /// Key of a tuple of texts: 64 bits, length-prefixed so that the parts cannot run into each other.
    pub fn tuple_key(&self, parts: &[&[u8]]) -> i64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
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
