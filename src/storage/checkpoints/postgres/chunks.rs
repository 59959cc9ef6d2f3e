//! Fetches the rows of an answer, as long as what they open to fits. Takes the chunks from them, and fetches those that are in packs.

use futures::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row};

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::LargeValues;
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::content::documents::size_of_documents;
use crate::storage::content::opening::Chunks;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::connection::Connection;

impl PostgresStorage {
    /// The chunks of an answer; what lies in packs is fetched, now that no connection is held.
    pub(in crate::storage) async fn content_of(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        fetched: &Fetched,
        large_values: LargeValues,
    ) -> Result<Chunks> {
        let prefetch = PackPrefetch::default();
        let mut is_again = false;
        loop {
            let open = || chunks_of((tenant, secret), &fetched.rows, &prefetch, large_values);
            let chunks = cpu_pool::run_here(tenant, fetched.split_bytes, open).await??;
            if is_again || prefetch.is_complete() {
                return Ok(chunks);
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
            is_again = true;
        }
    }
}

/// The rows of an answer, and how much work it is to open them.
#[derive(Default)]
pub(in crate::storage) struct Fetched {
    pub rows: Vec<PgRow>,
    /// Values, bases and documents.
    pub size: usize,
    /// Of the values, those that are put together from chunks.
    pub split_bytes: usize,
}

/// Kind of the row that has the chunks.
pub(in crate::storage) const CONTENT: i32 = 10;

/// The chunks of an answer, with what the prefetch has.
pub(in crate::storage) fn chunks_of(
    (tenant, secret): (&str, &TenantSecret),
    rows: &[PgRow],
    prefetch: &PackPrefetch,
    large_values: LargeValues,
) -> Result<Chunks> {
    let mut chunks = Chunks::for_read(large_values);
    let content = rows.iter().rfind(|row| row.get::<i32, _>("kind") == CONTENT);
    if let Some(body) = content.and_then(|row| row.get::<Option<&[u8]>, _>("body")) {
        chunks.add_all(secret, body)?;
    }
    prefetch.complete((tenant, secret), &mut chunks)?;
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
) -> Result<Fetched> {
    let mut found = query.fetch(connection);
    let (mut fetched, mut counted) = (Fetched::default(), Ok(()));
    while let Some(row) = found.try_next().await? {
        if counted.is_err() {
            continue;
        }
        counted = match fetched.count(&row, opened) {
            Ok(()) => opened.hold().await,
            refused => refused,
        };
        match &counted {
            Ok(()) => fetched.rows.push(row),
            Err(_) => fetched = Fetched::default(),
        }
    }
    fetched.size = size_of(fetched.rows.len(), fetched.size);
    counted.map(|()| fetched)
}

impl Fetched {
    /// With the chunks.
    pub fn whole_size(&self) -> usize {
        self.size + self.split_bytes
    }

    /// Kinds as in `read_sql.rs`.
    fn count(&mut self, row: &PgRow, opened: &mut OpenedBytes) -> Result<()> {
        let before = opened.bytes();
        match row.get::<i32, _>("kind") {
            1 => self.size += size_of_documents(row.get("body")),
            2..=4 | 7 | 8 => {
                let list: Option<&[u8]> = row.get("parts");
                // Without a size it comes without its bytes.
                if let Some(size_bytes) = row.get("size_bytes") {
                    opened.count_value(size_bytes, list)?;
                }
                self.split_bytes += list.map_or(0, |_| opened.bytes() - before);
            }
            5 | 9 => opened.count_base(row.get("body"))?,
            _ => {}
        }
        self.size += opened.bytes() - before;
        Ok(())
    }
}
