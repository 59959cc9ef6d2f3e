//! Signing rows that decide rights, after somebody has looked at them: a part of turning encryption on.

use async_trait::async_trait;

use super::error::Result;
use super::key::Key;

/// A tenant with rows that decide rights and that the master key has not signed, or not like this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    pub tenant: String,
    /// Those that are not revoked, the signed ones too.
    pub keys: Vec<Key>,
    pub signing_secrets: u64,
    pub revocations: u64,
}

/// What turning encryption on needs besides encrypting. Nothing, where no master key is ever given.
#[async_trait]
pub trait SigningStorage: Send + Sync {
    /// Has `encrypt_stored` look at every tenant again, also at those that it finished.
    async fn doubt_encryption(&self) -> Result<()> {
        Ok(())
    }

    /// Tenants whose keys, signing secrets, revocations or quota the master key does not speak for.
    async fn list_unsigned(&self) -> Result<Vec<Unsigned>> {
        Ok(Vec::new())
    }

    /// Signs what [`Self::list_unsigned`] answered. A key that it did not name stays unsigned.
    async fn sign(&self, _tenants: &[Unsigned]) -> Result<()> {
        Ok(())
    }
}
