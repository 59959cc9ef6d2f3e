//! Defines the rows of a copy: their tables, their slices, and how a slice is read and written.

use serde_json::json;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Column, Row, TypeInfo, ValueRef};

use crate::domain::Result;
use crate::storage::sqlite::rows::RowSet;

/// Rows and bytes of one slice: some milliseconds of the writer's time.
const SLICE_ROWS: usize = 500;
const SLICE_BYTES: i64 = 1 << 20;

/// A table whose rows are copied: its columns after tenant and key, which column the key is, where its bytes are.
pub(in crate::storage) struct Table {
    name: &'static str,
    key: &'static str,
    columns: &'static [&'static str],
    size: &'static str,
    /// Which rows: packed chunks are brought into the database by other means.
    only: &'static str,
}

pub(in crate::storage) const OF_THREAD: [Table; 4] = [
    Table {
        name: "checkpoints",
        key: "thread_key",
        columns: &[
            "ns",
            "checkpoint_id",
            "parent_id",
            "map",
            "documents",
            "size_bytes",
            "legacy",
            "run_id",
            "delta_channels",
        ],
        size: "length(map) + length(documents)",
        only: "true",
    },
    Table {
        name: "writes",
        key: "thread_key",
        columns: &[
            "ns",
            "checkpoint_id",
            "task_id",
            "idx",
            "task_path",
            "channel",
            "writer",
            "seq",
            "tag",
            "size_bytes",
            "digest",
            "body",
            "parts",
        ],
        size: "length(body) + coalesce(length(parts), 0)",
        only: "true",
    },
    Table {
        name: "delta_bases",
        key: "thread_key",
        columns: &["ns", "checkpoint_id", "channel", "document"],
        size: "length(document)",
        only: "true",
    },
    Table {
        name: "thread_details",
        key: "thread_key",
        columns: &["version", "document", "projection", "has_marks", "title_folded", "ttl_due"],
        size: "length(document)",
        only: "true",
    },
];

pub(in crate::storage) const OF_SESSION: [Table; 2] = [
    Table {
        name: "session_logs",
        key: "session_no",
        columns: &[
            "kind",
            "name",
            "log_no",
            "era",
            "floor",
            "ceiling",
            "head",
            "compacted_head",
            "version",
            "size_bytes",
            "updated_at",
        ],
        size: "length(name)",
        only: "true",
    },
    Table {
        name: "session_entries",
        key: "session_no",
        columns: &[
            "log_no",
            "era",
            "seq",
            "entry_no",
            "id",
            "at",
            "size_bytes",
            "digest",
            "body",
            "parts",
        ],
        size: "length(body) + coalesce(length(parts), 0)",
        only: "true",
    },
];

pub(in crate::storage) const OF_SCOPE: [Table; 2] = [
    Table {
        name: "manifests",
        key: "scope_id",
        columns: &["no", "version_key", "tag", "size_bytes", "digest", "body", "parts"],
        size: "length(body) + coalesce(length(parts), 0)",
        only: "true",
    },
    Table {
        name: "chunks",
        key: "scope_id",
        columns: &["name", "body"],
        size: "length(body)",
        only: "substr(body, 1, 1) <> x'02'",
    },
];

/// Row ids of a table's rows, in slices.
pub(in crate::storage) async fn slices(
    connection: &mut SqliteConnection,
    tenant: &str,
    table: &Table,
    key: i64,
) -> Result<Vec<Vec<i64>>> {
    let statement = format!(
        "select rowid, {} from {} where tenant = $1 and {} = $2 and {} order by rowid",
        table.size, table.name, table.key, table.only
    );
    let rows =
        sqlx::query(AssertSqlSafe(statement)).bind(tenant).bind(key).fetch_all(connection).await?;
    let mut slices: Vec<Vec<i64>> = Vec::new();
    let mut bytes = i64::MAX;
    for row in rows {
        let size: i64 = row.try_get(1)?;
        bytes = bytes.saturating_add(size);
        if bytes > SLICE_BYTES || slices.last().is_none_or(|it| it.len() >= SLICE_ROWS) {
            slices.push(Vec::new());
            bytes = size;
        }
        let row_id = row.try_get(0)?;
        slices.last_mut().expect("one was just made").push(row_id);
    }
    Ok(slices)
}

/// Reads one slice. Answers the statement that writes it under another key, and its rows.
pub(in crate::storage) async fn read_slice(
    connection: &mut SqliteConnection,
    table: &Table,
    row_ids: &[i64],
) -> Result<(String, RowSet)> {
    let columns = table.columns.join(", ");
    let select = format!(
        "select {columns} from {} where rowid in (select value from json_each($1))",
        table.name
    );
    let found = sqlx::query(AssertSqlSafe(select))
        .bind(json!(row_ids).to_string())
        .fetch_all(connection)
        .await?;
    let mut rows = RowSet::default();
    for row in &found {
        let cells = (0..table.columns.len()).map(|at| cell(&mut rows, row, at));
        let cells = cells.collect::<Result<Vec<_>, sqlx::Error>>()?;
        rows.push(serde_json::Value::Array(cells));
    }
    let cells: Vec<String> = (0..table.columns.len())
        .map(|at| {
            format!(
                "case json_type(j.value, '$[{at}]') when 'array'
                 then substr($2, j.value ->> '$[{at}][0]', j.value ->> '$[{at}][1]')
                 else j.value ->> {at} end"
            )
        })
        .collect();
    let insert = format!(
        "insert into {} (tenant, {}, {columns}) select $3, $4, {} from jsonb_each($1) j",
        table.name,
        table.key,
        cells.join(", ")
    );
    Ok((insert, rows))
}

/// A stored cell as JSON; bytes as their place in the blob.
pub(in crate::storage) fn cell(
    rows: &mut RowSet,
    row: &SqliteRow,
    at: usize,
) -> Result<serde_json::Value, sqlx::Error> {
    let raw = row.try_get_raw(at)?;
    if raw.is_null() {
        return Ok(serde_json::Value::Null);
    }
    Ok(match row.column(at).type_info().name() {
        "BLOB" => {
            let place = rows.bytes(&row.try_get::<Vec<u8>, _>(at)?);
            json!([place.0, place.1])
        }
        "INTEGER" => json!(row.try_get::<i64, _>(at)?),
        _ => json!(row.try_get::<String, _>(at)?),
    })
}
