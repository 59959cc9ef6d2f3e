//! Reads values of checkpoints and writes by number, puts them together with their chunks, and opens them.

use futures::TryStreamExt as _;
use serde_json::json;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Row, Sqlite};

use super::chunks::chunks_of;
use super::views::Tenant;
use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::{LargeValues, SHORT_VALUE_BYTES_MAX, Value};
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::value_parts::comes_as_names;
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::opening::{Chunks, StoredValue, left_out, open_value};
use crate::storage::sqlite::rows::RowSet;

/// A value that is wanted.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct ValueRef {
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) no: u32,
    /// Key of the version that it is wanted for; None: that of its row counts.
    pub(in crate::storage) version_key: Option<i64>,
    /// Else a long one comes as its size.
    pub(in crate::storage) is_wanted: bool,
}

/// $1 tenant, $2 rows of scope, number, and 1 for values that are wanted, $3 size up to which all come with their bytes. `left_out_bytes` is
/// the size of one without them, null of the others.
const READ_VALUES: &str = "
select j.value ->> 0 as scope_id, m.version_key, m.tag, m.digest, m.size_bytes,
    iif(j.value ->> 2 or m.size_bytes <= $3, m.body, x'') as body,
    iif(j.value ->> 2 or m.size_bytes <= $3, m.parts, null) as parts,
    iif(j.value ->> 2 or m.size_bytes <= $3, null, m.size_bytes) as left_out_bytes
from jsonb_each($2) j
cross join manifests m on m.tenant = $1 and m.scope_id = j.value ->> 0 and m.no = j.value ->> 1
order by j.key";

/// Values in the order asked for; one that is missing is damage.
pub(super) async fn read_values(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    wanted: &[ValueRef],
    opened: &mut OpenedBytes,
) -> Result<Vec<Value>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let row = |it: &ValueRef| json!([it.scope_id, it.no, i64::from(it.is_wanted)]);
    let set: RowSet = wanted.iter().map(row).collect();
    let values = sqlx::query(READ_VALUES)
        .bind(tenant.name)
        .bind(set.json())
        .bind(SHORT_VALUE_BYTES_MAX.cast_signed());
    let rows = fetch_counted(connection, values, opened).await?;
    if rows.len() != wanted.len() {
        return Err(Error::Integrity("a checkpoint names a value that is not there".into()));
    }
    let keys = wanted.iter().zip(&rows).map(|(wanted, row)| match wanted.version_key {
        Some(key) => Ok(key),
        None => row.try_get("version_key").map_err(Error::from),
    });
    let keys = keys.collect::<Result<Vec<i64>>>()?;
    open_values(connection, tenant, &rows, |at| ValueRow::Version(keys[at])).await
}

/// Rows with values, as long as what they open to fits. The rows of the others are not fetched.
pub(super) async fn fetch_counted(
    connection: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
    opened: &mut OpenedBytes,
) -> Result<Vec<SqliteRow>> {
    let mut found = query.fetch(connection);
    let mut rows = Vec::new();
    while let Some(row) = found.try_next().await? {
        if row.try_get::<Option<i32>, _>("left_out_bytes")?.is_none() {
            opened.count_value(row.try_get("size_bytes")?, row.try_get("parts")?)?;
            opened.hold().await?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Opens columns `scope_id`, tag, `size_bytes`, digest, body, parts and `left_out_bytes` of each row; `row_of` says which row it is.
pub(super) async fn open_values<'a>(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    rows: &[SqliteRow],
    row_of: impl Fn(usize) -> ValueRow<'a>,
) -> Result<Vec<Value>> {
    let stored: Vec<StoredRow> = rows.iter().map(StoredRow::read).collect::<Result<_>>()?;
    let lists = stored.iter().filter_map(|it| Some((it.scope_id, it.list(tenant.large_values)?)));
    let chunks = chunks_of(connection, tenant, lists).await?;
    let bytes = stored.iter().map(|it| it.opened_bytes(tenant.large_values)).sum();
    cpu_pool::run_here_at_once(tenant.name, size_of(stored.len(), bytes), || {
        let values = stored.iter().enumerate().map(|(at, it)| (it, row_of(at)));
        values.map(|(it, row)| it.open(tenant.secret, row, &chunks)).collect()
    })
}

struct StoredRow {
    scope_id: i64,
    tag: String,
    size_bytes: i32,
    digest: Vec<u8>,
    body: Vec<u8>,
    parts: Option<Vec<u8>>,
    /// Only its size is told.
    is_left_out: bool,
}

impl StoredRow {
    fn read(row: &SqliteRow) -> Result<Self> {
        Ok(Self {
            scope_id: row.try_get("scope_id")?,
            tag: row.try_get("tag")?,
            size_bytes: row.try_get("size_bytes")?,
            digest: row.try_get("digest")?,
            body: row.try_get("body")?,
            parts: row.try_get("parts")?,
            is_left_out: row.try_get::<Option<i32>, _>("left_out_bytes")?.is_some(),
        })
    }

    /// The list of chunks whose bytes the reader wants.
    fn list(&self, large_values: LargeValues) -> Option<&[u8]> {
        self.parts.as_deref().filter(|_| self.is_opened(large_values))
    }

    fn opened_bytes(&self, large_values: LargeValues) -> usize {
        let size = usize::try_from(self.size_bytes).unwrap_or(0);
        if self.is_opened(large_values) { size } else { 0 }
    }

    fn is_opened(&self, large_values: LargeValues) -> bool {
        let is_named = |it: &[u8]| comes_as_names(self.size_bytes, it, large_values);
        !self.is_left_out
            && !large_values.leaves_out(self.size_bytes)
            && !self.parts.as_deref().is_some_and(is_named)
    }

    fn open(&self, secret: &TenantSecret, row: ValueRow<'_>, chunks: &Chunks) -> Result<Value> {
        if self.is_left_out {
            return left_out(&self.tag, self.size_bytes);
        }
        let stored = StoredValue {
            scope_id: self.scope_id,
            row,
            tag: &self.tag,
            size_bytes: self.size_bytes,
            digest: &self.digest,
            body: &self.body,
            parts: self.parts.as_deref(),
        };
        open_value(secret, &stored, chunks)
    }
}
