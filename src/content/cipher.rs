//! Encrypts the envelopes of one tenant with AES-256-GCM, under one key for each content scope. The associated data binds an envelope
//! to its row: a scope, a word and some bytes.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};

/// Bytes of a key of any kind here.
pub const KEY_BYTES: usize = 32;
/// Number of the tenant's key, then the scope, little endian.
pub const KEY_ID_BYTES: usize = 1 + 8;
/// Random for every envelope. A key belongs to one scope, so with fewer than 2^32 envelopes in a scope two nonces are equal
/// with a probability below 2^-32 (NIST SP 800-38D, 8.3); a scope with a hundred checkpoints a day for a hundred years
/// stays far below that.
pub const NONCE_BYTES: usize = 12;
pub const TAG_BYTES: usize = 16;
/// Scopes whose keys are kept ready: making one takes a microsecond.
const READY_MAX: usize = 4_096;
const SALT: &[u8] = b"threadkeep content";
/// What the key for MACs of rows is derived for. The key of a scope is derived for 16 bytes, so the two never meet.
const MACS: &[u8] = b"threadkeep MACs of rows";
/// Of a row.
pub const MAC_BYTES: usize = 32;

/// Associated data (AAD): binds an envelope to its scope and row, so that it opens nowhere else.
#[derive(Debug, Clone, Copy)]
pub struct AssociatedData<'a> {
    pub scope_id: i64,
    /// What kind of row it stands in.
    pub noun: &'static str,
    /// What names the row within its scope.
    pub row: &'a [&'a [u8]],
}

/// The key of one tenant.
pub struct Cipher {
    tenant: String,
    number: u8,
    root: Prk,
    macs: [u8; MAC_BYTES],
    ready: RwLock<HashMap<i64, Arc<LessSafeKey>>>,
}

impl Cipher {
    pub fn new(tenant: &str, number: u8, key: &[u8; KEY_BYTES]) -> Self {
        let root = Salt::new(HKDF_SHA256, SALT).extract(key);
        let mut macs = [0; MAC_BYTES];
        let derived = root.expand(&[MACS], HKDF_SHA256);
        derived.and_then(|it| it.fill(&mut macs)).expect("32 bytes are what one step makes");
        Self { tenant: tenant.to_owned(), number, root, macs, ready: RwLock::default() }
    }

    /// What a row of the tenant carries: a keyed hash of its kind and of the columns that it vouches for.
    pub fn mac(&self, noun: &str, columns: &[&[u8]]) -> [u8; MAC_BYTES] {
        *self.keyed(noun, columns).as_bytes()
    }

    /// Compared in constant time.
    pub fn has_mac(&self, noun: &str, columns: &[&[u8]], mac: &[u8]) -> bool {
        mac.try_into().is_ok_and(|mac: [u8; MAC_BYTES]| self.keyed(noun, columns) == mac)
    }

    /// Every part with its length before it, so that parts cannot run into each other.
    fn keyed(&self, noun: &str, columns: &[&[u8]]) -> blake3::Hash {
        let mut bytes = Vec::with_capacity(192);
        for part in [noun.as_bytes(), self.tenant.as_bytes()].iter().chain(columns) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        blake3::keyed_hash(&self.macs, &bytes)
    }

    /// Which key a scope's envelopes are sealed with, as they say it themselves.
    pub fn key_id(&self, scope_id: i64) -> [u8; KEY_ID_BYTES] {
        let mut id = [self.number; KEY_ID_BYTES];
        id[1..].copy_from_slice(&scope_id.to_le_bytes());
        id
    }

    /// Adds nonce, ciphertext and tag of `payload` to what begins with `header`.
    pub fn seal(
        &self,
        aad: AssociatedData<'_>,
        header: &[u8],
        payload: &[u8],
        sealed: &mut Vec<u8>,
    ) {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        sealed.extend_from_slice(&nonce);
        let start = sealed.len();
        sealed.extend_from_slice(payload);
        let key = self.scope_key(aad.scope_id);
        let aad = self.aad_bytes(aad, header);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(&aad), &mut sealed[start..])
            .expect("only 64 GiB are too long, and no value comes near");
        sealed.extend_from_slice(tag.as_ref());
    }

    /// The payload; None for anything that was not sealed with this associated data.
    pub fn open(&self, aad: AssociatedData<'_>, header: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let key = self.scope_key(aad.scope_id);
        let aad = self.aad_bytes(aad, header);
        let mut payload = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = key.open_in_place(nonce, Aad::from(&aad), &mut payload).ok()?.len();
        payload.truncate(length);
        Some(payload)
    }

    /// Every part with its length before it, so that parts cannot run into each other.
    fn aad_bytes(&self, aad: AssociatedData<'_>, header: &[u8]) -> Vec<u8> {
        let scope = aad.scope_id.to_le_bytes();
        let first: [&[u8]; 4] = [header, self.tenant.as_bytes(), &scope, aad.noun.as_bytes()];
        let mut bytes = Vec::with_capacity(192);
        for part in first.iter().chain(aad.row) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    fn scope_key(&self, scope_id: i64) -> Arc<LessSafeKey> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = ready.get(&scope_id) {
            return Arc::clone(key);
        }
        drop(ready);
        let info = scope_id.to_le_bytes();
        let length = (info.len() as u64).to_le_bytes();
        let info: [&[u8]; 2] = [&length, &info];
        let derived = self.root.expand(&info, &AES_256_GCM).expect("32 bytes are not too many");
        let key = Arc::new(LessSafeKey::new(UnboundKey::from(derived)));
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        if ready.len() >= READY_MAX {
            ready.clear();
        }
        ready.insert(scope_id, Arc::clone(&key));
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_of_one_key_tenant_noun_and_row() {
        let cipher = Cipher::new("t", 1, &[7; KEY_BYTES]);
        let mac = cipher.mac("thread", &[b"ab", b"c"]);
        assert!(cipher.has_mac("thread", &[b"ab", b"c"], &mac));
        assert!(!cipher.has_mac("thread", &[b"a", b"bc"], &mac));
        assert!(!cipher.has_mac("session", &[b"ab", b"c"], &mac));
        for cut in [&mac[..31], b""] {
            assert!(!cipher.has_mac("thread", &[b"ab", b"c"], cut));
        }
        for other in [Cipher::new("u", 1, &[7; KEY_BYTES]), Cipher::new("t", 1, &[8; KEY_BYTES])] {
            assert!(!other.has_mac("thread", &[b"ab", b"c"], &mac));
        }
    }
}
