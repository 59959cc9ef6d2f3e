//! Makes, lists and revokes keys, for the command line and for the API alike, as [`crate::domain::tokens::key`] decides.

use std::sync::Arc;

use serde::Serialize;

use super::authenticator::{Authenticator, Identity};
use super::secret::{Secret, Terms};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_hex};
use crate::domain::limits::LIMITS;
use crate::domain::pages::{cut, page_rows};
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::journal::{Journal, JournalEntry};
use crate::domain::tenants::operators::OPERATORS;
use crate::domain::time::rfc3339;
use crate::domain::tokens::key::{
    CreateKey, Key, KeyCursor, KeyPage, KeyQuery, RevokeKey, ShownKey, check_create, check_revoke,
};
use crate::domain::tokens::storage::KeyStorage;
use crate::domain::tokens::token::Pass;
use crate::domain::{Error, Result};

/// A key and its text, which exists nowhere else.
pub struct CreatedKey {
    pub secret: Secret,
    pub key: Key,
}

/// What the audit log tells of a key that ends.
#[derive(Serialize)]
struct CreatedDetails {
    expires_at: String,
}

/// The key calls of a server.
pub struct Keys {
    storage: Arc<dyn KeyStorage>,
    authenticator: Arc<Authenticator>,
    clock: Arc<Clock>,
    journal: Journal,
}

impl Keys {
    pub fn new(
        storage: Arc<dyn KeyStorage>,
        authenticator: Arc<Authenticator>,
        clock: Arc<Clock>,
        journal: Journal,
    ) -> Self {
        Self { storage, authenticator, clock, journal }
    }

    /// # Errors
    /// As [`create`].
    pub async fn create(&self, identity: &Identity, request: CreateKey) -> Result<CreatedKey> {
        let created = create(self.storage.as_ref(), identity, request, self.clock.now()).await?;
        self.authenticator.refresh_or_poll().await;
        Ok(created)
    }

    /// # Errors
    /// `NotGranted` without the whole tenant; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, mut query: KeyQuery) -> Result<KeyPage> {
        caller.require_tenant_read()?;
        let limit = page_rows(query.limit);
        if limit == 0 {
            return Ok(KeyPage::default());
        }
        // One more than asked for tells whether there is a next page.
        query.limit = limit + 1;
        let mut keys = self.storage.list_keys(&caller.tenant, &query).await?;
        let position =
            |it: &Key| KeyCursor { created_at: it.created_at, key_id: it.key_id.clone() };
        let next = cut(&mut keys, limit, position);
        Ok(KeyPage { keys, next })
    }

    /// This server refuses the key and its tokens at once, others within two seconds.
    ///
    /// # Errors
    /// As [`revoke`].
    pub async fn revoke(&self, identity: &Identity, request: &RevokeKey) -> Result<()> {
        let (storage, now) = (self.storage.as_ref(), self.clock.now());
        let revoked = revoke(storage, &self.journal, identity, request, now).await;
        // Also where only the journal could not be written.
        self.authenticator.refresh_or_poll().await;
        revoked
    }
}

/// Makes a key: one transaction, with the act that it is.
///
/// # Errors
/// As [`check_create`]; 422 where the tenant has too many; a storage that cannot be written.
pub async fn create(
    storage: &dyn KeyStorage,
    identity: &Identity,
    request: CreateKey,
    now: Micros,
) -> Result<CreatedKey> {
    let Identity { caller, pass } = identity;
    check_create(caller, pass, &request)?;
    let max = LIMITS.keys_per_tenant_max;
    if *pass != Pass::Operator && storage.count_keys(&caller.tenant).await? >= max {
        let detail = format!("the tenant has {max} keys: revoke some");
        return Err(Error::out_of_range("keys", detail, max));
    }
    let expires_at = request.expires_at(now);
    let CreateKey { name, subject, read_only, .. } = request;
    let is_operator = caller.tenant == OPERATORS;
    let secret = Secret::with(Terms { read_only, is_operator, expires_at });
    let key_id = format!("key_{}", random_hex());
    let key = Key { subject, ..stored(&secret, &caller.tenant, key_id, name, now) };
    let mut act = Act::of(caller, ActKind::KeyCreated, &key.key_id, now);
    if let Some(end) = expires_at {
        act = act.with(&CreatedDetails { expires_at: rfc3339(end) });
    }
    storage.create_key(&key, &act).await?;
    Ok(CreatedKey { secret, key })
}

/// What is kept of a key of the whole tenant that is made now. When it ends, its text says.
pub(super) fn stored(
    secret: &Secret,
    tenant: &str,
    key_id: String,
    name: Option<String>,
    now: Micros,
) -> Key {
    Key {
        key_id,
        tenant: tenant.to_owned(),
        subject: None,
        hash: secret.hash(),
        created_at: now,
        revoked_at: None,
        expires_at: secret.expires_at(),
        shown: ShownKey { name, prefix: Some(secret.beginning().to_owned()), last_used_day: None },
    }
}

/// Revokes a key, and with it all tokens that were made with it: one transaction, with the act that it is. Can be repeated, for who lost
/// the answer, or where the journal could not be written.
///
/// # Errors
/// As [`check_revoke`]; `NotFound` for a key that the tenant never had; a storage or journal that cannot be written.
pub async fn revoke(
    storage: &dyn KeyStorage,
    journal: &Journal,
    identity: &Identity,
    request: &RevokeKey,
    now: Micros,
) -> Result<()> {
    let Identity { caller, pass } = identity;
    check_revoke(caller, pass, request)?;
    let act = Act::of(caller, ActKind::KeyRevoked, &request.key_id, now);
    if !storage.revoke_key(&caller.tenant, &request.key_id, &act).await? {
        let known = storage.list_keys(&caller.tenant, &KeyQuery::ALL).await?;
        if !known.iter().any(|it| it.key_id == request.key_id) {
            return Err(Error::NotFound("a key of this tenant with this id was"));
        }
    }
    let (tenant, key_id) = (caller.tenant.clone(), request.key_id.clone());
    journal.write(JournalEntry::KeyRevoked { tenant, key_id }, now).await
}
