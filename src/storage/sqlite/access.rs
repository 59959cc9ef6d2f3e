//! Reads and writes rows for the SQL that both engines share, and checks the file's integrity.

use async_trait::async_trait;
use futures::TryStreamExt as _;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr, TypeInfo, ValueRef};
use tokio::sync::MutexGuard;

use super::SqliteStorage;
use super::connection::{Read, Write};
use super::errors::{read_error, write_error};
use super::integrity_line::Line;
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, BadPage, Dialect, SqlRow, SqlValue};
use crate::storage::maintenance::sqlite::garbage::Garbage;
use crate::storage::objects::Objects;
use crate::storage::tenants::tenant_keys::stored_secret;
use crate::storage::tokens::rights::RightsMemory;

const DIALECT: Dialect = Dialect {
    thread_of_holder: "t.thread_id = h.holder",
    holder: "t.thread_id",
    map: "map, null, null",
    map_bytes: "length(map)",
    packed: "(length(body) = 25 and substr(body, 1, 1) = x'02')",
    after_item: "(namespace, key) > ($2, $3)",
    after_version: "(namespace, key, version) > ($2, $3, $4)",
    this_item: "namespace = $2 and key = $3",
    hide_item: ", words = null, word_counts = null, word_total = null, word_fields = null",
    // A text: every blob comes after it.
    first_namespace: "",
    namespace: "$2",
    tenant_in_index: "tenant",
    numbers: "$9",
    skip_locked: "",
    no_uuid: "thread_id not glob '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'",
    // There is one writer, so whoever writes holds every scope lock.
    lock: "",
    random: "lower(hex(randomblob(16)))",
    from_each: "from jsonb_each($1) as j",
    has_lateral: false,
    now: "cast(unixepoch('subsec') * 1000000 as integer)",
    has_projection: false,
    thread_projection: "nullif($5, '')",
    sends_from: "null",
    row_namespace: "substr($2, j.value ->> 1, j.value ->> 2)",
    row_numbers: "substr($2, j.value ->> 10, j.value ->> 11)",
    vector_cell: "vector",
    projection_columns: "",
    projection_values: "",
    log_items: &[
        "
insert into item_changes (tenant, n, namespace, key, version, kind, written_at)
select f.tenant, f.changes + j.key + 1, substr($2, j.value ->> 1, j.value ->> 2),
    substr($2, j.value ->> 3, j.value ->> 4), j.value ->> 5, 'put', {now}
from jsonb_each($1) j join item_feeds f on f.tenant = $3 and f.wanted_until > {now}",
        "update item_feeds set changes = changes + json_array_length($1)
         where tenant = $3 and wanted_until > {now}",
    ],
    keeps_senders: false,
    checkpoint_rows: "
insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, documents, size_bytes, legacy, run_id,
    created_at, delta_channels, map)
select $3, $4, j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($2, j.value ->> 3, j.value ->> 4), j.value ->> 5,
    j.value ->> 6, j.value ->> 7, j.value ->> 8, j.value ->> 11, substr($2, j.value ->> 9, j.value ->> 10)
{from_each} where true",
};

#[async_trait]
impl Accessible for SqliteStorage {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn check_pages(&self) -> Result<Vec<BadPage>> {
        let mut read = self.connections.begin_read().await?;
        let (lines, cut_short) = read.rows_before_damage("pragma integrity_check", &[]).await?;
        let mut bad = Vec::new();
        for line in lines.iter().filter_map(|it| it.text(0).ok()).flat_map(str::lines) {
            if line != "ok" && !line.starts_with("*** in database") {
                let table = table_of(&mut read, line).await;
                bad.push(BadPage { table, detail: line.to_owned() });
            }
        }
        let detail = |error| format!("the integrity check ended before its end: {error}");
        bad.extend(cut_short.map(|error| BadPage { table: None, detail: detail(error) }));
        // A connection that met damage is not used again.
        if bad.is_empty() {
            read.end().await?;
        }
        Ok(bad)
    }

    async fn secret_of(&self, tenant: &str) -> Result<TenantSecret> {
        match self.secrets.masters() {
            None => self.secret(tenant).await,
            Some(masters) => stored_secret(self, masters, tenant).await,
        }
    }

    fn masters(&self) -> Option<&MasterKeys> {
        self.secrets.masters()
    }

    fn rights(&self) -> &RightsMemory {
        &self.secrets.rights
    }

    fn objects(&self) -> Option<&Objects> {
        self.objects.as_deref()
    }

    async fn begin_read(&self) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_read().await?))
    }

    async fn begin_read_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_read_for(tenant).await?))
    }

    async fn begin_search_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_search(tenant).await?))
    }

    async fn begin_priority_read(&self) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_first_read().await?))
    }

    fn check_room(&self) -> Result<()> {
        self.connections.check_room()
    }

    async fn begin_write(&self) -> Result<Box<dyn Access + '_>> {
        let turn = self.connections.background().await;
        Ok(Box::new(Turn { write: self.connections.begin_write().await?, _turn: turn }))
    }

    async fn begin_write_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_write_for(tenant).await?))
    }

    async fn begin_rights_write(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        // A turn of its own: no tenant has a NUL in its name.
        let turn = format!("{tenant}\0rights");
        Ok(Box::new(self.connections.begin_write_for(&turn).await?))
    }

    async fn remove_unreachable(&self, tenant: &str, thread_key: i64, scope_id: i64) -> Result<()> {
        self.collect(&Garbage { tenant: tenant.to_owned(), thread_key, scope_id }).await?;
        Ok(())
    }
}

#[async_trait]
impl Access for Read<'_> {
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>> {
        self.begin_statement()?;
        fetch(self, statement, binds, read_error).await
    }

    async fn rows_before_damage(
        &mut self,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<(Vec<SqlRow>, Option<Error>)> {
        self.begin_statement()?;
        fetch_before_damage(self, statement, binds, read_error).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        (*self).end().await
    }
}

#[async_trait]
impl Access for Write<'_> {
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>> {
        fetch(self, statement, binds, write_error).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        (*self).commit().await
    }
}

/// The writer, between two batches.
struct Turn<'a> {
    write: Write<'a>,
    _turn: MutexGuard<'a, ()>,
}

#[async_trait]
impl Access for Turn<'_> {
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>> {
        fetch(&mut self.write, statement, binds, write_error).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        self.write.commit().await
    }
}

async fn fetch(
    connection: &mut SqliteConnection,
    statement: &str,
    binds: &[SqlValue],
    told: fn(&sqlx::Error) -> Error,
) -> Result<Vec<SqlRow>> {
    match fetch_before_damage(connection, statement, binds, told).await? {
        (rows, None) => Ok(rows),
        (_, Some(damage)) => Err(damage),
    }
}

async fn fetch_before_damage(
    connection: &mut SqliteConnection,
    statement: &str,
    binds: &[SqlValue],
    told: fn(&sqlx::Error) -> Error,
) -> Result<(Vec<SqlRow>, Option<Error>)> {
    // Texts are put together from constants only.
    let text = AssertSqlSafe(statement.to_owned()).into_sql_str();
    let mut query: Query<'_, Sqlite, SqliteArguments> = sqlx::query(text);
    for bind in binds {
        query = match bind {
            SqlValue::Null => query.bind(None::<i64>),
            SqlValue::Integer(value) => query.bind(*value),
            SqlValue::Text(value) => query.bind(value.clone()),
            SqlValue::Bytes(value) => query.bind(value.clone()),
        };
    }
    let mut rows = Vec::new();
    let mut found = query.fetch(connection);
    loop {
        let read = found.try_next().await.and_then(|row| row.as_ref().map(record).transpose());
        match read.map_err(|error| told(&error)) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => return Ok((rows, None)),
            Err(error @ Error::Integrity(_)) => return Ok((rows, Some(error))),
            Err(error) => return Err(error),
        }
    }
}

/// The table that a line of the integrity check is about, which tells the root page of a tree, or the name of an index.
async fn table_of(connection: &mut SqliteConnection, line: &str) -> Option<String> {
    let (root, name) = match Line::of(line) {
        Line::Tree(root) => (root, ""),
        Line::Row(_, index) | Line::Index(index) => (-1, index),
        // `NULL value in TABLE.COLUMN`.
        Line::Harmless | Line::Other => (-1, line.split_once(" in ")?.1.split([' ', '.']).next()?),
    };
    let text = "select tbl_name from sqlite_schema where rootpage = $1 or name = $2 limit 1";
    let binds = [root.into(), name.into()];
    let found = fetch(connection, text, &binds, read_error).await.ok()?;
    Some(found.first()?.text(0).ok()?.to_owned())
}

fn record(row: &SqliteRow) -> Result<SqlRow, sqlx::Error> {
    let cell = |at: usize| {
        let value = row.try_get_raw(at)?;
        if value.is_null() {
            return Ok(SqlValue::Null);
        }
        // Of this value, not of the column: an expression has none.
        Ok(match value.type_info().name() {
            "INTEGER" => SqlValue::Integer(row.try_get_unchecked(at)?),
            "BLOB" => SqlValue::Bytes(row.try_get_unchecked(at)?),
            _ => SqlValue::Text(row.try_get_unchecked(at)?),
        })
    };
    (0..row.len()).map(cell).collect::<Result<_, _>>().map(SqlRow)
}
