//! Defines keys of tenants as the storage keeps them: never the key itself, only its hash. Decides who may make and revoke which.

use crate::domain::caller::{Caller, check_subject};
use crate::domain::clock::{DAY, Micros, SECOND};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::tenants::operators::OPERATORS;
use crate::domain::tokens::token::Pass;

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
    /// The first moment at which it opens nothing any more. Its text says it too: who changes only the row does not lengthen it.
    pub expires_at: Option<Micros>,
    /// For people who look at the list; it decides nothing, and only [`KeyStorage::list_keys`] reads it.
    ///
    /// [`KeyStorage::list_keys`]: super::storage::KeyStorage::list_keys
    pub shown: ShownKey,
}

/// What a list tells of a key, so that people know which one it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownKey {
    /// What its maker called it.
    pub name: Option<String>,
    /// How its text begins. None: the key is from before this was kept.
    pub prefix: Option<String>,
    /// When it was used last, in days since 1970 UTC. None: never, or only before this was kept.
    pub last_used_day: Option<i64>,
}

/// A key to make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateKey {
    pub name: Option<String>,
    /// None: the key has the whole tenant.
    pub subject: Option<String>,
    /// It reads what it would otherwise change.
    pub read_only: bool,
    /// None: it does not end by itself.
    pub ttl_seconds: Option<i64>,
}

/// A key to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeKey {
    pub key_id: String,
    /// Also where it is the key that asks, which is locked out by this.
    pub own: bool,
}

/// Position of the last key of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyCursor {
    pub created_at: Micros,
    pub key_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyQuery {
    pub limit: usize,
    pub after: Option<KeyCursor>,
}

#[derive(Debug, Default)]
pub struct KeyPage {
    pub keys: Vec<Key>,
    /// Set when there are more.
    pub next: Option<KeyCursor>,
}

impl Key {
    /// How long one that has ended is still told from a text that is no key. Then the sweep revokes it.
    pub const TOLD_FOR: Micros = 30 * DAY;
}

impl CreateKey {
    /// When the key ends that is made now, at a whole second: not before the time that was asked for is over.
    pub fn expires_at(&self, now: Micros) -> Option<Micros> {
        let end = now + self.ttl_seconds? * SECOND;
        Some(end + (-end).rem_euclid(SECOND))
    }
}

impl KeyQuery {
    /// All keys of a tenant.
    pub const ALL: Self = Self { limit: usize::MAX, after: None };
}

/// Whether this caller may make this key: the operator, or a key that writes the whole tenant.
///
/// # Errors
/// `NotGranted`; 422 naming the field.
pub fn check_create(caller: &Caller, pass: &Pass, request: &CreateKey) -> Result<()> {
    caller.require_tenant_write()?;
    require_key(pass)?;
    check_subject("subject", request.subject.as_deref())?;
    if caller.tenant == OPERATORS && (request.subject.is_some() || request.read_only) {
        let field = if request.read_only { "read_only" } else { "subject" };
        return Err(Error::invalid(field, format!("{field}: the key of an operator has none")));
    }
    let max = LIMITS.key_name_bytes_max;
    let legal = |it: &str| (1..=max).contains(&(it.len() as u64)) && !it.contains(char::is_control);
    if !request.name.as_deref().is_none_or(legal) {
        let detail = format!("name must be 1 to {max} bytes without control characters");
        return Err(Error::out_of_range("name", detail, max));
    }
    let max = LIMITS.key_ttl_seconds_max;
    let legal = |it: i64| u64::try_from(it).is_ok_and(|it| (1..=max).contains(&it));
    if !request.ttl_seconds.is_none_or(legal) {
        let detail = format!("ttl_seconds must be from 1 to {max}");
        return Err(Error::out_of_range("ttl_seconds", detail, max));
    }
    Ok(())
}

/// Whether this caller may revoke this key.
///
/// # Errors
/// `NotGranted`; 422 for the key that asks, unless it says that it means itself.
pub fn check_revoke(caller: &Caller, pass: &Pass, request: &RevokeKey) -> Result<()> {
    caller.require_tenant_write()?;
    require_key(pass)?;
    let is_own = matches!(pass, Pass::Key { key_id, .. } if *key_id == request.key_id);
    if is_own && !request.own {
        let detail = "key_id: this is the key that asks; send `own: true` if you mean it";
        return Err(Error::invalid("key_id", detail));
    }
    Ok(())
}

/// A key may outlive every token, so a token makes none. Without keys, the first one would lock out every other local program, which nobody
/// would expect from a page or a script.
fn require_key(pass: &Pass) -> Result<()> {
    match pass {
        Pass::Operator | Pass::Key { .. } => Ok(()),
        Pass::Token(_) | Pass::External { .. } => {
            Err(Error::NotGranted("only a key makes and revokes keys; a token does not"))
        }
        Pass::Local => Err(Error::NotGranted("the first key is made by `threadkeep keys create`")),
    }
}
