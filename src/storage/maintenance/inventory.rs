//! Tells how many rows each table has and how large it is, without looking at what is in them.

use crate::domain::engine::{Inventory, TableSize};
use crate::domain::{Error, Result};
use crate::storage::db::access::Accessible;
use crate::storage::tables::TABLES;

/// The rows of a larger table are not counted where the engine has an estimate.
const COUNTED_BYTES_MAX: i64 = 64 << 20;

/// `sizes` is the engine's statement: names of tables, their bytes with their indexes, and about how many rows they have, if it knows.
///
/// # Errors
/// A database that cannot be read. A count that takes too long is none.
pub(in crate::storage) async fn inventory(
    storage: &dyn Accessible,
    sizes: &str,
) -> Result<Inventory> {
    let mut read = storage.begin_read().await?;
    let newest = read.rows("select coalesce(max(version), 0) from schema_version", &[]).await?;
    let schema_version = newest.first().map_or(Ok(0), |it| it.integer(0))?;
    let sized = match read.rows(sizes, &[]).await {
        Err(Error::ReadTooLong) => Vec::new(),
        found => found?,
    };
    read.end().await?;
    let mut tables = Vec::with_capacity(TABLES.len());
    for name in TABLES.iter().map(|it| it.name) {
        let row = sized.iter().find(|it| it.text(0).is_ok_and(|found| found == name));
        if row.is_none() && !sized.is_empty() {
            // The other engine has it.
            continue;
        }
        let bytes = row.map(|it| it.integer(1)).transpose()?;
        let estimate = row.and_then(|it| it.integer(2).ok()).filter(|it| *it >= 0);
        let is_large = bytes.is_some_and(|it| it > COUNTED_BYTES_MAX);
        let rows = match estimate.filter(|_| is_large) {
            Some(rows) => Some(rows),
            None => count(storage, name).await?,
        };
        tables.push(TableSize { name, rows, bytes });
    }
    tables.retain(|it| it.rows.is_some() || it.bytes.is_some());
    Ok(Inventory { schema_version, tables })
}

/// None: there is no such table, or it took too long.
async fn count(storage: &dyn Accessible, table: &'static str) -> Result<Option<i64>> {
    let mut read = storage.begin_read().await?;
    let counted = read.rows(&format!("select count(*) from {table}"), &[]).await;
    match counted {
        Ok(rows) => {
            read.end().await?;
            rows.first().map(|it| it.integer(0)).transpose()
        }
        Err(Error::ReadTooLong | Error::Internal(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
