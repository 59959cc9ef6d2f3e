//! Lets an operator act for a tenant, and makes the first key of an operator from a text that the server was given.

use sha2::{Digest as _, Sha256};

use super::authenticator::Identity;
use super::credentials::lives;
use super::keys::stored;
use super::secret::Secret;
use crate::domain::caller::{Caller, Grants, Permission};
use crate::domain::clock::Micros;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::operators::{OPERATORS, Whose};
use crate::domain::tokens::key::{Key, KeyQuery};
use crate::domain::tokens::storage::KeyStorage;
use crate::domain::{Error, Result};

/// What lists call the key that the server was given.
const BOOTSTRAP_NAME: &str = "bootstrap";

/// Tells what became of the key that the server was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bootstrap {
    Made,
    /// It was made before, and may have been revoked since.
    Known,
    /// Another key of an operator opens the server.
    Unneeded,
}

impl Identity {
    /// The operator, with the rights of the whole tenant. For calls about keys, quotas and signing secrets only: an operator reads no contents.
    ///
    /// # Errors
    /// `NotGranted` but for operators.
    pub fn acting_for(&self, whose: &Whose) -> Result<Self> {
        self.caller.require(Permission::Operator)?;
        let (tenant, grants) = (whose.name().to_owned(), Grants::Tenant);
        let caller = Caller { tenant, grants, subject: None, ..self.caller.clone() };
        Ok(Self { caller, pass: self.pass.clone() })
    }
}

/// The key of an operator with this text.
///
/// # Errors
/// 422 for a text that is no key of an operator, or one that has ended; never with the text in it.
pub fn bootstrap_secret(field: &str, text: &str, now: Micros) -> Result<Secret> {
    let secret = Secret::parse(text).filter(Secret::is_operator).ok_or_else(|| {
        let detail = format!(
            "{field} is no key of an operator: `tko_` and 43 characters of base64url, as `threadkeep keys create --operator` prints"
        );
        Error::invalid(field, detail)
    })?;
    if secret.expires_at().is_some_and(|it| now >= it) {
        return Err(Error::invalid(field, format!("{field} has ended: give the server another")));
    }
    Ok(secret)
}

/// Makes this key, where operators have none that opens the server. One that was revoked is not made again.
///
/// # Errors
/// A storage that cannot be read or written.
pub async fn bootstrap(
    storage: &dyn KeyStorage,
    secret: &Secret,
    now: Micros,
) -> Result<Bootstrap> {
    let known = storage.list_keys(OPERATORS, &KeyQuery::ALL).await?;
    let hash = secret.hash();
    if known.iter().any(|it| it.hash == hash) {
        return Ok(Bootstrap::Known);
    }
    let opens = |it: &Key| it.revoked_at.is_none() && lives(it.expires_at, now);
    if known.iter().any(opens) {
        return Ok(Bootstrap::Unneeded);
    }
    // Of two servers that start together, one makes it. The id of a key is no secret, so it is a hash of what is kept.
    let key_id = format!("key_{}", hex::encode(&Sha256::digest(hash)[..16]));
    let key = stored(secret, OPERATORS, key_id, Some(BOOTSTRAP_NAME.to_owned()), now);
    let act = Act::of_operator(OPERATORS, ActKind::KeyCreated, &key.key_id, now);
    match storage.create_key(&key, &act).await {
        Ok(()) => Ok(Bootstrap::Made),
        Err(error) => {
            let known = storage.list_keys(OPERATORS, &KeyQuery::ALL).await?;
            let is_known = known.iter().any(|it| it.hash == hash);
            if is_known { Ok(Bootstrap::Known) } else { Err(error) }
        }
    }
}
