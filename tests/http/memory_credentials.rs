//! Implements the credentials of the storage in memory, and counts how often they are read.

use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::tenants::audit::Act;
use threadkeep::domain::tokens::credential::{Credentials, Revocation, SigningSecret};
use threadkeep::domain::tokens::key::{Key, KeyQuery};
use threadkeep::domain::tokens::key_uses::KeyUse;
use threadkeep::domain::tokens::signing::SigningStorage;
use threadkeep::domain::tokens::storage::{CredentialStorage, KeyStorage};
use threadkeep::domain::{Error, Result};

use crate::memory::Memory;

/// Nothing is encrypted.
impl SigningStorage for Memory {}

#[async_trait]
impl CredentialStorage for Memory {
    async fn load_credentials(&self) -> Result<Credentials> {
        self.loads.fetch_add(1, Relaxed);
        if *self.keys_fail.lock().unwrap() {
            return Err(Error::Internal("no keys".into()));
        }
        Ok(Credentials {
            keys: self.keys.lock().unwrap().clone(),
            had_keys: false,
            needs_master_key: false,
            signing_secrets: self.secrets.lock().unwrap().clone(),
            revocations: self.revocations.lock().unwrap().clone(),
        })
    }

    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool> {
        if *self.keys_fail.lock().unwrap() {
            return Err(Error::Internal("no keys".into()));
        }
        let keys = self.keys.lock().unwrap();
        Ok(keys.iter().any(|key| key.hash == *hash && key.revoked_at.is_none()))
    }

    async fn put_signing_secret(
        &self,
        fresh: &SigningSecret,
        made_after: Micros,
    ) -> Result<SigningSecret> {
        self.called("put_signing_secret")?;
        let mut secrets = self.secrets.lock().unwrap();
        let fits = |it: &&SigningSecret| it.tenant == fresh.tenant && it.created_at > made_after;
        if let Some(known) = secrets.iter().rev().find(fits) {
            return Ok(known.clone());
        }
        secrets.push(fresh.clone());
        Ok(fresh.clone())
    }

    async fn delete_signing_secrets(&self, tenant: &str, _: &Act) -> Result<u64> {
        self.secrets.lock().unwrap().retain(|it| it.tenant != tenant);
        Ok(1)
    }

    async fn revoke_token(&self, revocation: &Revocation, rows_max: u64, _: &Act) -> Result<bool> {
        self.called(format!("revoke {}", revocation.token_id))?;
        let mut revocations = self.revocations.lock().unwrap();
        let others = revocations.iter().filter(|it| it.tenant == revocation.tenant).count();
        if others as u64 >= rows_max {
            return Ok(false);
        }
        revocations.push(revocation.clone());
        Ok(true)
    }
}

#[async_trait]
impl KeyStorage for Memory {
    async fn create_key(&self, key: &Key, _: &Act) -> Result<()> {
        self.keys.lock().unwrap().push(key.clone());
        Ok(())
    }

    async fn list_keys(&self, tenant: &str, _: &KeyQuery) -> Result<Vec<Key>> {
        let keys = self.keys.lock().unwrap();
        Ok(keys.iter().filter(|key| key.tenant == tenant).cloned().collect())
    }

    async fn count_keys(&self, tenant: &str) -> Result<u64> {
        let keys = self.keys.lock().unwrap();
        Ok(keys.iter().filter(|key| key.tenant == tenant).count() as u64)
    }

    async fn revoke_key(&self, tenant: &str, key_id: &str, _: &Act) -> Result<bool> {
        let mut keys = self.keys.lock().unwrap();
        let before = keys.len();
        keys.retain(|key| key.tenant != tenant || key.key_id != key_id);
        Ok(keys.len() < before)
    }

    async fn put_key_uses(&self, _: &[KeyUse]) -> Result<()> {
        Ok(())
    }
}
