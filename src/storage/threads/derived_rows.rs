//! Writes what is derived of threads into their rows without waiting for commits, the same for both engines.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::domain::Result;
use crate::storage::db::access::SqlValue;
use crate::storage::sessions::SessionEngine;

/// The row `x` of `threads` that the row `d` names.
pub const ROW_OF_ID: &str = "x.tenant = d.tenant and x.thread_id = d.thread_id";

/// Two forms of one statement: for rows that nobody else writes to, and for any row. Both answer the keys of the rows that they wrote.
pub struct PutDerived {
    pub free: String,
    pub any: String,
}

/// Writes rows of one tenant: first together those that nobody else writes to, because a commit locks several in an order of its own; then
/// the others one by one. `row` makes the JSON of a row, which begins with the key of the thread. Round trips: one; one more for each
/// thread that is being written to.
///
/// # Errors
/// A database that cannot be written.
pub async fn put_derived<R: Sync>(
    engine: &impl SessionEngine,
    tenant: &str,
    statement: &PutDerived,
    rows: &[R],
    row: impl Fn(&R) -> (i64, Value) + Sync,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let put = async |text: &str, rows: &[R]| {
        let json = json!(rows.iter().map(|it| row(it).1).collect::<Vec<_>>()).to_string();
        let binds: [SqlValue; 2] = [json.as_str().into(), tenant.into()];
        engine.write_rows(tenant, &engine.dialect().fill(text), &binds).await
    };
    let done = put(&statement.free, rows).await?;
    let done: HashSet<i64> = done.iter().map(|it| it.integer(0)).collect::<Result<_>>()?;
    for left in rows.iter().filter(|it| !done.contains(&row(it).0)) {
        put(&statement.any, std::slice::from_ref(left)).await?;
    }
    Ok(())
}

pub fn limit_value(limit: usize) -> SqlValue {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}
