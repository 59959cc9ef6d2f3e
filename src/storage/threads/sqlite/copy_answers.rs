//! Stores the answer of a copy with its idempotency key, so that a repeated request gets the first answer.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::domain::caller::Caller;
use crate::domain::threads::storage::CopyThread;
use crate::domain::{Error, Result};

/// None: no such request was answered.
///
/// # Errors
/// `IdempotencyMismatch` for another request with the same key.
pub(super) async fn stored_answer(
    connection: &mut SqliteConnection,
    caller: &Caller,
    request: &CopyThread,
) -> Result<Option<u64>> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(None);
    };
    let row = sqlx::query(
        "select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3",
    )
    .bind(&caller.tenant)
    .bind(&caller.credential)
    .bind(key)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let stored: Vec<u8> = row.try_get(0)?;
    if stored != digest {
        return Err(Error::IdempotencyMismatch);
    }
    let answer: Vec<u8> = row.try_get(1)?;
    let damaged = |_| Error::Integrity("a stored answer is damaged".into());
    serde_json::from_slice(&answer).map(Some).map_err(damaged)
}

/// For the transaction that copies.
pub(super) async fn store_answer(
    connection: &mut SqliteConnection,
    caller: &Caller,
    request: &CopyThread,
    count: u64,
) -> Result<()> {
    let Some((key, digest)) = &request.idempotency else {
        return Ok(());
    };
    sqlx::query(
        "insert into idempotency (tenant, caller, key, digest, answer, subject, created_at)
         values ($1, $2, $3, $4, $5, $6, cast(unixepoch('subsec') * 1000000 as integer))
         on conflict do nothing",
    )
    .bind(&caller.tenant)
    .bind(&caller.credential)
    .bind(key)
    .bind(digest.to_vec())
    .bind(count.to_string().into_bytes())
    .bind(&caller.subject)
    .execute(connection)
    .await?;
    Ok(())
}
