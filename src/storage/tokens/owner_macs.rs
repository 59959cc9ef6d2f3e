//! Computes and checks MACs of the rows that decide who owns content: threads, sessions and namespace roots. The key is the tenant's, so a
//! tenant without encryption has no MACs. It is the same for every engine.
//!
//! **Invariant:** code that inserts such a row, or changes a column that its MAC covers, writes the MAC with it. Code that finds content
//! through such a row checks the MAC first.

use std::collections::HashMap;

use crate::content::keys::TenantSecret;
use crate::domain::batch_error::BatchError;
use crate::domain::checkpoints::planner::Batch;
use crate::domain::{Error, Result};
use crate::storage::db::access::SqlValue;
use crate::storage::sessions::SessionEngine;

const THREAD: &str = "thread";
const SESSION: &str = "session";
const ROOT: &str = "namespace root";

/// Secrets of the tenants of a batch whose content is encrypted, as this process knows them.
pub type Secrets = HashMap<String, TenantSecret>;

/// No round trip, but for secrets that are looked for again every two seconds.
///
/// # Errors
/// A database that cannot be read.
pub async fn secrets_of(
    engine: &dyn SessionEngine,
    tenants: impl Iterator<Item = &str>,
) -> Result<Secrets> {
    let mut secrets = Secrets::new();
    if engine.masters().is_none() {
        return Ok(secrets);
    }
    for tenant in tenants {
        if secrets.contains_key(tenant) {
            continue;
        }
        match engine.session_secret(tenant).await {
            Ok(secret) => drop(secrets.insert(tenant.to_owned(), secret)),
            // Nothing of it is read any more.
            Err(Error::KeyDestroyed) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(secrets)
}

/// As [`secrets_of`], for a batch of commits.
///
/// # Errors
/// As [`secrets_of`].
pub async fn secrets_of_batch(
    engine: &dyn SessionEngine,
    batch: &Batch,
) -> Result<Secrets, BatchError> {
    let sealed = batch.threads.iter().filter(|it| it.condition.scope.is_some());
    let secrets = secrets_of(engine, sealed.map(|it| it.tenant.as_str())).await;
    secrets.map_err(|error| BatchError::Unavailable(error.to_string()))
}

/// What the MAC of a row covers.
#[derive(Debug, Clone, Copy)]
pub struct OwnerRow<'a> {
    noun: &'static str,
    /// What the row is called, in two parts at most.
    name: [&'a [u8]; 2],
    /// The key of a thread, the number of a session.
    number: i64,
    scope_id: i64,
    owner: Option<&'a str>,
}

impl<'a> OwnerRow<'a> {
    pub fn thread(
        thread_id: &'a str,
        (thread_key, scope_id): (i64, i64),
        owner: Option<&'a str>,
    ) -> Self {
        let name = [thread_id.as_bytes(), b""];
        Self { noun: THREAD, name, number: thread_key, scope_id, owner }
    }

    pub fn session(
        (kind, key): (&'a str, &'a [u8]),
        (session_no, scope_id): (i64, i64),
        owner: Option<&'a str>,
    ) -> Self {
        Self { noun: SESSION, name: [kind.as_bytes(), key], number: session_no, scope_id, owner }
    }

    pub fn root(root: &'a str, scope_id: i64) -> Self {
        Self { noun: ROOT, name: [root.as_bytes(), b""], number: 0, scope_id, owner: None }
    }

    /// None: the tenant's content is not encrypted.
    pub fn mac(&self, secret: &TenantSecret) -> Option<Vec<u8>> {
        let cipher = secret.cipher()?;
        Some(self.columns(|columns| cipher.mac(self.noun, columns)).to_vec())
    }

    /// As [`Self::mac`], for a bind: empty for none, since a null has no type there.
    pub fn mac_cell(&self, secret: &TenantSecret) -> SqlValue {
        SqlValue::Bytes(self.mac(secret).unwrap_or_default())
    }

    /// Whether the row is as a server wrote it. Always where the tenant's content is not encrypted.
    pub fn is_signed(&self, secret: &TenantSecret, mac: Option<&[u8]>) -> bool {
        let Some(cipher) = secret.cipher() else { return true };
        mac.is_some_and(|mac| self.columns(|columns| cipher.has_mac(self.noun, columns, mac)))
    }

    /// # Errors
    /// `Integrity` for a row that no server wrote like this.
    pub fn check(&self, secret: &TenantSecret, mac: Option<&[u8]>) -> Result<()> {
        if self.is_signed(secret, mac) { Ok(()) } else { Err(forged(self.noun)) }
    }

    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let (number, scope) = (self.number.to_le_bytes(), self.scope_id.to_le_bytes());
        let has_owner = [u8::from(self.owner.is_some())];
        let owner = self.owner.unwrap_or_default().as_bytes();
        act(&[self.name[0], self.name[1], &number, &scope, &has_owner, owner])
    }
}

/// What a reader is told of such a row.
fn forged(noun: &str) -> Error {
    Error::Integrity(format!(
        "the row of a {noun} is not as a server wrote it, or was never signed (`threadkeep encrypt`)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::cipher::Cipher;

    #[test]
    fn a_mac_covers_every_column_and_nobody_is_not_the_empty_owner() {
        let secret = TenantSecret::encrypting([1; 32], Cipher::new("t", 1, &[7; 32]));
        let row = OwnerRow::thread("a", (1, 2), Some("ann"));
        let mac = row.mac(&secret);
        assert!(row.check(&secret, mac.as_deref()).is_ok());
        for other in [
            OwnerRow::thread("b", (1, 2), Some("ann")),
            OwnerRow::thread("a", (3, 2), Some("ann")),
            OwnerRow::thread("a", (1, 3), Some("ann")),
            OwnerRow::thread("a", (2, 1), Some("ann")),
            OwnerRow::thread("a", (1, 2), Some("bob")),
            OwnerRow::thread("a", (1, 2), None),
            OwnerRow::session(("a", b""), (1, 2), Some("ann")),
        ] {
            assert!(other.check(&secret, mac.as_deref()).is_err(), "{other:?}");
        }
        assert!(row.check(&secret, None).is_err() && row.check(&secret, Some(b"")).is_err());
        let nobodys = OwnerRow::root("a", 2).mac(&secret);
        assert_ne!(nobodys, OwnerRow { owner: Some(""), ..OwnerRow::root("a", 2) }.mac(&secret));
        let plain = TenantSecret::new([1; 32]);
        assert!(row.mac(&plain).is_none() && row.check(&plain, None).is_ok());
    }
}
