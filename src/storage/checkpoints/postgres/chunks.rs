//! Takes the chunks from the rows of an answer, and fetches those that are in packs.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::storage::content::opening::Chunks;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;

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
