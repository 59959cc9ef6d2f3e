//! Declares the signing of rows that decide rights, after a person has looked at them. It is a part of turning encryption on.

use async_trait::async_trait;

use super::key::Key;
use crate::domain::error::Result;

/// A tenant with rows that decide rights and that the master key has not signed, or not like this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    pub tenant: String,
    /// Those that are not revoked, the signed ones too.
    pub keys: Vec<Key>,
    pub signing_secrets: u64,
    pub revocations: u64,
}

/// A tenant of an encrypted database with threads, sessions or namespaces whose owners the tenant's key has not signed, or not like this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsignedOwners {
    pub tenant: String,
    /// Rows that were never signed.
    pub missing: u64,
    /// Rows that are not as they were signed, each with everything that it says.
    pub changed: Vec<String>,
}

/// What turning encryption on needs besides encrypting. Nothing, where no master key is ever given.
#[async_trait]
pub trait SigningStorage: Send + Sync {
    /// Has `encrypt_stored` look at every tenant again, also at those that it finished.
    async fn request_encryption(&self) -> Result<()> {
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

    /// Tenants that have a key, with rows that say whose content is whose and are not signed.
    async fn list_unsigned_owners(&self) -> Result<Vec<UnsignedOwners>> {
        Ok(Vec::new())
    }

    /// Signs what [`Self::list_unsigned_owners`] answered. A changed row that it did not name stays unsigned.
    async fn sign_owners(&self, _tenants: &[UnsignedOwners]) -> Result<()> {
        Ok(())
    }
}
