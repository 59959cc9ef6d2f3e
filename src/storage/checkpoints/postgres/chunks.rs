//! Fetches the rows of an answer, as long as what they open to fits. Takes the chunks from them, and fetches those that are in packs.

use futures::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row};

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::content::opening::Chunks;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;

impl PostgresStorage {
    /// The chunks of an answer; what lies in packs is fetched, now that no connection is held.
    pub(in crate::storage) async fn content_of(
        &self,
        secret: &TenantSecret,
        rows: &[PgRow],
        large_values: LargeValues,
    ) -> Result<Chunks> {
        let prefetch = PackPrefetch::default();
        let chunks = chunks_of(secret, rows, &prefetch, large_values)?;
        if prefetch.is_complete() {
            return Ok(chunks);
        }
        prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        chunks_of(secret, rows, &prefetch, large_values)
    }
}

/// Kind of the row that has the chunks.
pub(in crate::storage) const CONTENT: i32 = 10;

/// The chunks of an answer, with what the prefetch has.
pub(in crate::storage) fn chunks_of(
    secret: &TenantSecret,
    rows: &[PgRow],
    prefetch: &PackPrefetch,
    large_values: LargeValues,
) -> Result<Chunks> {
    let mut chunks = Chunks::for_read(large_values);
    let content = rows.iter().rfind(|row| row.get::<i32, _>("kind") == CONTENT);
    if let Some(body) = content.and_then(|row| row.get::<Option<&[u8]>, _>("body")) {
        chunks.add_all(secret, body)?;
    }
    prefetch.complete(secret, &mut chunks)?;
    Ok(chunks)
}

/// The rows of an answer. Where they open to too much, the rest is read and dropped, so that the connection can be used further.
///
/// # Errors
/// `ValuesTooLarge`; a broken connection.
pub(in crate::storage) async fn fetch_counted(
    connection: &mut Connection,
    query: Query<'_, Postgres, PgArguments>,
    opened: &mut OpenedBytes,
) -> Result<Vec<PgRow>> {
    let mut found = query.fetch(connection);
    let (mut rows, mut counted) = (Vec::new(), Ok(()));
    while let Some(row) = found.try_next().await? {
        if counted.is_err() {
            continue;
        }
        counted = count(&row, opened);
        match &counted {
            Ok(()) => rows.push(row),
            Err(_) => rows = Vec::new(),
        }
    }
    counted.map(|()| rows)
}

/// Kinds as in `read_sql.rs`.
fn count(row: &PgRow, opened: &mut OpenedBytes) -> Result<()> {
    match row.get::<i32, _>("kind") {
        2..=4 | 7 | 8 => opened.count_value(row.get("size_bytes"), row.get("parts")),
        5 | 9 => opened.count_base(row.get("body")),
        _ => Ok(()),
    }
}
