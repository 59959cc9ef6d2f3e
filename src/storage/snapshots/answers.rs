//! Stores the answers of restores and forks with their idempotency keys, so that a repeated request gets the first answer.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::restore::again;
use crate::domain::caller::Caller;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, SqlValue};

/// Key and digest of a request.
pub type Asked = (String, [u8; 32]);

/// The answer of the same request, if it was answered before.
///
/// # Errors
/// `IdempotencyMismatch` for another request with the same key.
pub async fn find<T: DeserializeOwned>(
    access: &mut dyn Access,
    caller: &Caller,
    request: Option<&Asked>,
) -> Result<Option<T>> {
    let Some((key, digest)) = request else { return Ok(None) };
    let text =
        "select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3";
    let binds = [
        SqlValue::from(caller.tenant.as_str()),
        caller.credential.as_str().into(),
        key.as_str().into(),
    ];
    let rows = access.rows(text, &binds).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    if row.bytes(0)? != digest {
        return Err(Error::IdempotencyMismatch);
    }
    let damaged = |_| Error::Integrity("a stored answer is damaged".into());
    serde_json::from_slice(row.bytes(1)?).map(Some).map_err(damaged)
}

/// For the transaction that does it.
///
/// # Errors
/// `Unavailable` where the same request is being answered beside this one.
pub async fn keep<T: Serialize + Sync>(
    access: &mut dyn Access,
    caller: &Caller,
    request: Option<&Asked>,
    answer: &T,
    now: i64,
) -> Result<()> {
    const TEXT: &str = "
        insert into idempotency (tenant, caller, key, digest, answer, subject, created_at)
        values ($1, $2, $3, $4, $5, nullif(cast($6 as text), ''), $7) on conflict do nothing returning created_at";
    let Some((key, digest)) = request else { return Ok(()) };
    let bytes = serde_json::to_vec(answer).map_err(|error| Error::Internal(error.to_string()))?;
    let binds = [
        SqlValue::from(caller.tenant.as_str()),
        caller.credential.as_str().into(),
        key.as_str().into(),
        digest[..].into(),
        SqlValue::Bytes(bytes),
        caller.subject.as_deref().unwrap_or_default().into(),
        now.into(),
    ];
    if access.rows(TEXT, &binds).await?.is_empty() {
        // The same request at the same moment: the next attempt finds its answer.
        return Err(again("the same request is being answered"));
    }
    Ok(())
}
