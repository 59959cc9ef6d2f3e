//! Transactions for examinations: rows as cells.

use async_trait::async_trait;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr, TypeInfo, ValueRef};
use tokio::sync::MutexGuard;

use super::SqliteStorage;
use super::connection::{Read, Write};
use super::errors::storage_error;
use super::garbage::Garbage;
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::Result;
use crate::storage::access::{Access, Accessible, Cell, Dialect, Record};
use crate::storage::objects::Objects;
use crate::storage::rights::RightsMemory;
use crate::storage::tenant_keys::stored_secret;

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
    numbers: "$9",
    skip_locked: "",
    // There is one writer, so whoever writes holds every gate.
    lock: "",
    from_each: "from json_each($1) as j",
    has_lateral: false,
    now: "cast(unixepoch('subsec') * 1000000 as integer)",
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
from json_each($1) j join item_feeds f on f.tenant = $3 and f.wanted_until > {now}",
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

    async fn look(&self) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_read().await?))
    }

    async fn look_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_read_for(tenant).await?))
    }

    async fn look_first(&self) -> Result<Box<dyn Access + '_>> {
        Ok(Box::new(self.connections.begin_first_read().await?))
    }

    fn check_room(&self) -> Result<()> {
        self.connections.check_room()
    }

    async fn hold(&self) -> Result<Box<dyn Access + '_>> {
        let turn = self.connections.background().await;
        Ok(Box::new(Turn { write: self.connections.begin_write().await?, _turn: turn }))
    }

    async fn remove_unreachable(&self, tenant: &str, thread_key: i64, scope_id: i64) -> Result<()> {
        self.collect(&Garbage { tenant: tenant.to_owned(), thread_key, scope_id }).await?;
        Ok(())
    }
}

#[async_trait]
impl Access for Read<'_> {
    async fn rows(&mut self, statement: &str, binds: &[Cell]) -> Result<Vec<Record>> {
        fetch(self, statement, binds).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        (*self).end().await
    }
}

#[async_trait]
impl Access for Write<'_> {
    async fn rows(&mut self, statement: &str, binds: &[Cell]) -> Result<Vec<Record>> {
        fetch(self, statement, binds).await
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
    async fn rows(&mut self, statement: &str, binds: &[Cell]) -> Result<Vec<Record>> {
        fetch(&mut self.write, statement, binds).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        self.write.commit().await
    }
}

async fn fetch(
    connection: &mut SqliteConnection,
    statement: &str,
    binds: &[Cell],
) -> Result<Vec<Record>> {
    // Texts are put together from constants only.
    let text = AssertSqlSafe(statement.to_owned()).into_sql_str();
    let mut query: Query<'_, Sqlite, SqliteArguments> = sqlx::query(text);
    for bind in binds {
        query = match bind {
            Cell::Null => query.bind(None::<i64>),
            Cell::Integer(value) => query.bind(*value),
            Cell::Text(value) => query.bind(value.clone()),
            Cell::Bytes(value) => query.bind(value.clone()),
        };
    }
    let rows = query.fetch_all(connection).await.map_err(storage_error)?;
    rows.iter().map(|row| record(row).map_err(storage_error)).collect()
}

fn record(row: &SqliteRow) -> Result<Record, sqlx::Error> {
    let cell = |at: usize| {
        let value = row.try_get_raw(at)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        // Of this value, not of the column: an expression has none.
        Ok(match value.type_info().name() {
            "INTEGER" => Cell::Integer(row.try_get_unchecked(at)?),
            "BLOB" => Cell::Bytes(row.try_get_unchecked(at)?),
            _ => Cell::Text(row.try_get_unchecked(at)?),
        })
    };
    (0..row.len()).map(cell).collect::<Result<_, _>>().map(Record)
}
