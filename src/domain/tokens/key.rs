//! Defines keys of tenants as the storage keeps them: never the key itself, only its hash.

use crate::domain::clock::Micros;

/// A stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Public id, `key_…`.
    pub key_id: String,
    pub tenant: String,
    pub subject: Option<String>,
    /// SHA-256 of the key's text.
    pub hash: [u8; 32],
    pub created_at: Micros,
    pub revoked_at: Option<Micros>,
}
