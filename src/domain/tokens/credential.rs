//! Defines the stored credentials that servers keep in memory, to know the caller of a key or a token. Tokens themselves are never stored;
//! only the secrets of their MACs and the revocations are.

use super::key::Key;
use super::token::TokenId;
use crate::domain::clock::{DAY, Micros};

/// What a tenant's tokens are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret {
    pub tenant: String,
    /// Names the secret in its tokens.
    pub kid: String,
    pub secret: [u8; 32],
    pub created_at: Micros,
}

/// A token that is dead before its time, with all that were narrowed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    pub tenant: String,
    pub token_id: TokenId,
    /// The first token of its chain, in whose share it counts; None: it counts in none.
    pub chain: Option<TokenId>,
    /// The row is needed until then.
    pub expires_at: Micros,
    pub revoked_at: Micros,
}

/// All of every tenant, in one state of the database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Those that are not revoked.
    pub keys: Vec<Key>,
    /// There is a key, or was one.
    pub had_keys: bool,
    /// Content is encrypted, with a master key that this server was not given.
    pub needs_master_key: bool,
    pub signing_secrets: Vec<SigningSecret>,
    pub revocations: Vec<Revocation>,
}

impl Revocation {
    /// How long a row stays after its token has expired: clocks of servers differ.
    pub const NEEDED_FOR: Micros = DAY / 24;
}

impl SigningSecret {
    /// How long a secret signs. A new one is made at the first need after that.
    pub const SIGNS_FOR: Micros = 30 * DAY;
    /// No token is valid any more that was signed with a secret of this age: its last one has expired, whatever the
    /// clocks of the servers say.
    pub const NEEDED_FOR: Micros = 32 * DAY;

    /// A new one for a tenant.
    pub fn random(tenant: &str, now: Micros) -> Self {
        let (kid, secret) = (hex::encode(rand::random::<[u8; 8]>()), rand::random());
        Self { tenant: tenant.to_owned(), kid, secret, created_at: now }
    }
}

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningSecret({} of {})", self.kid, self.tenant)
    }
}
