//! Declares the traits of a storage engine for keys, and for all that opens a tenant.

use async_trait::async_trait;

use super::credential::{Credentials, Revocation, SigningSecret};
use super::key::{Key, KeyQuery};
use super::key_uses::KeyUse;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::tenants::audit::Act;

#[async_trait]
pub trait KeyStorage: Send + Sync {
    async fn create_key(&self, key: &Key, act: &Act) -> Result<()>;

    /// In the order in which they were made, revoked ones too.
    async fn list_keys(&self, tenant: &str, query: &KeyQuery) -> Result<Vec<Key>>;

    /// How many keys of the tenant are not revoked.
    async fn count_keys(&self, tenant: &str) -> Result<u64>;

    /// Whether there was such a key that was not revoked.
    async fn revoke_key(&self, tenant: &str, key_id: &str, act: &Act) -> Result<bool>;

    /// Remembers the days of last uses. A day that is not after the one that is known changes nothing.
    async fn put_key_uses(&self, uses: &[KeyUse]) -> Result<()>;
}

/// What the authenticator holds in memory, and what tokens need of the database. The one place that asks across tenants: a
/// key does not say whose it is.
#[async_trait]
pub trait CredentialStorage: Send + Sync {
    /// Everything that lets callers in or keeps them out, in one state of the database. Servers poll this.
    async fn load_credentials(&self) -> Result<Credentials>;

    /// Whether there is a key with this hash that is not revoked, of any tenant.
    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool>;

    /// A secret of the tenant that was made after `made_after`, the newest: `fresh` where there is none. Servers that
    /// meet here at the same moment may each make one, and all of them are valid.
    async fn put_signing_secret(
        &self,
        fresh: &SigningSecret,
        made_after: Micros,
    ) -> Result<SigningSecret>;

    /// Removes all secrets of a tenant, and with them its tokens. Answers how many there were.
    async fn delete_signing_secrets(&self, tenant: &str, act: &Act) -> Result<u64>;

    /// Remembers a revocation, unless the tenant has `rows_max` others, or its chain, of which it is not the first, has as many as a
    /// chain may have. False: it has. The first of a chain takes the place of all others of it.
    async fn revoke_token(&self, revocation: &Revocation, rows_max: u64, act: &Act)
    -> Result<bool>;
}
