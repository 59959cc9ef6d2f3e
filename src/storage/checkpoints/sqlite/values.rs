//! Reads values of checkpoints and writes by number, puts them together with their chunks, and opens them.

use futures::TryStreamExt as _;
use serde_json::json;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Row, Sqlite};

use super::chunks::chunks_of;
use super::views::Tenant;
use crate::domain::checkpoints::checkpoint::{LargeValues, Value};
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::{Error, Result};
use crate::storage::checkpoints::opened_bytes::OpenedBytes;
use crate::storage::checkpoints::value_parts::comes_as_names;
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::opening::{StoredValue, open_value};
use crate::storage::sqlite::rows::RowSet;

/// A value that is wanted.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct ValueRef {
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) no: u32,
    /// Key of the version that it is wanted for; None: that of its row counts.
    pub(in crate::storage) version_key: Option<i64>,
}

const READ_VALUES: &str = "
select j.value ->> 0 as scope_id, m.version_key, m.tag, m.size_bytes, m.digest, m.body, m.parts
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
    let set: RowSet = wanted.iter().map(|it| json!([it.scope_id, it.no])).collect();
    let values = sqlx::query(READ_VALUES).bind(tenant.name).bind(set.json());
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
        opened.count_value(row.try_get("size_bytes")?, row.try_get("parts")?)?;
        opened.hold().await?;
        rows.push(row);
    }
    Ok(rows)
}

/// Opens columns `scope_id`, tag, `size_bytes`, digest, body and parts of each row; `row_of` says which row it is.
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
        values.map(|(it, row)| open_value(tenant.secret, &it.value(row), &chunks)).collect()
    })
}

struct StoredRow {
    scope_id: i64,
    tag: String,
    size_bytes: i32,
    digest: Vec<u8>,
    body: Vec<u8>,
    parts: Option<Vec<u8>>,
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
        !large_values.leaves_out(self.size_bytes) && !self.parts.as_deref().is_some_and(is_named)
    }

    fn value<'a>(&'a self, row: ValueRow<'a>) -> StoredValue<'a> {
        StoredValue {
            scope_id: self.scope_id,
            row,
            tag: &self.tag,
            size_bytes: self.size_bytes,
            digest: &self.digest,
            body: &self.body,
            parts: self.parts.as_deref(),
        }
    }
}
