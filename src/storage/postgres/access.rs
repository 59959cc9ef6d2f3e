//! Reads and writes rows for the SQL that both engines share. Arrays of numbers are read as their bytes.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Column, Executor as _, Postgres, Row, SqlSafeStr, TypeInfo, ValueRef};

use super::connection::Connection;
use super::pool::{Lease, Pool};
use super::{NOW, PostgresStorage, TENANT_IN_INDEX};
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlRow, SqlValue};
use crate::storage::maintenance::postgres::garbage::remove_garbage;
use crate::storage::objects::Objects;
use crate::storage::tenants::tenant_keys::stored_secret;
use crate::storage::tokens::rights::RightsMemory;

pub(in crate::storage) const DIALECT: Dialect = Dialect {
    // A holder is the key as text; one that is damaged must not end the statement.
    thread_of_holder: "t.thread_key = case when h.holder ~ '^-?[0-9]{1,19}$' then h.holder::bigint end",
    holder: "cast(t.thread_key as text)",
    map: "channel_keys, version_keys, value_nos",
    map_bytes: "20 * cardinality(channel_keys)",
    packed: "(length(body) = 25 and substr(body, 1, 1) = '\\x02'::bytea)",
    after_item: "(namespace, key) > (array(select jsonb_array_elements_text(cast($2 as jsonb))), $3)",
    after_version: "(namespace, key, version) >
        (array(select jsonb_array_elements_text(cast($2 as jsonb))), $3, $4)",
    this_item: "namespace = array(select jsonb_array_elements_text(cast($2 as jsonb))) and key = $3",
    // The mark of projections, for all of the document.
    hide_item: ", projection = jsonb_build_object($1, chr(1) || chr(3)), has_marks = true,
        words = null, word_counts = null, word_total = null, word_fields = null",
    first_namespace: "[]",
    namespace: "array(select jsonb_array_elements_text(cast($2 as jsonb)))",
    tenant_in_index: TENANT_IN_INDEX,
    numbers: "cast($9 as text)::real[]",
    skip_locked: "for update skip locked",
    no_uuid: "thread_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'",
    lock: "for update",
    random: "replace(gen_random_uuid()::text, '-', '')",
    from_each: "from json_array_elements(cast($1 as json)) as j (value)",
    has_lateral: true,
    now: NOW,
    has_projection: true,
    thread_projection: "cast(nullif($5, '') as jsonb)",
    sends_from: "sends_from",
    row_namespace: "array(select json_array_elements_text(j.value -> 0))",
    row_numbers: "cast(j.value ->> 12 as real[])",
    vector_cell: "cast(vector as text)",
    projection_columns: ", projection, has_marks",
    projection_values: ", (j.value ->> 26)::jsonb, j.value ->> 27 = '1'",
    log_items: &["
insert into item_changes (tenant, xid, n, namespace, key, version, kind, written_at)
select $3, pg_current_xact_id(), (row_number() over ())::integer, {row_namespace},
    substr($2, (j.value ->> 3)::integer, (j.value ->> 4)::integer), (j.value ->> 5)::bigint, 'put', {now}
{from_each} where exists (select from item_feeds f where f.tenant = $3 and f.wanted_until > {now})"],
    keeps_senders: true,
    checkpoint_rows: "
insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, documents, size_bytes, legacy, run_id,
    created_at, delta_channels, channel_keys, version_keys, value_nos, delta_keys)
select $3, $4, j.value ->> 0, j.value ->> 1, j.value ->> 2,
    substr($2, (j.value ->> 3)::integer, (j.value ->> 4)::integer), (j.value ->> 5)::integer,
    j.value ->> 6 = '1', j.value ->> 7, (j.value ->> 8)::bigint,
    case when json_array_length(j.value -> 11) > 0
        then array(select json_array_elements_text(j.value -> 11)) end,
    array(select cast(json_array_elements_text(j.value -> 12) as bigint)),
    array(select cast(json_array_elements_text(j.value -> 13) as bigint)),
    array(select cast(json_array_elements_text(j.value -> 14) as integer)),
    case when json_array_length(j.value -> 11) > 0
        then array(select cast(json_array_elements_text(j.value -> 15) as bigint)) end
{from_each} where true",
};

struct Transaction {
    connection: Lease,
    /// Codes of errors that say that what is stored is damaged.
    damaging: &'static [&'static str],
    /// When a search ends. Its connection ends a single statement.
    until: Option<Instant>,
}

#[async_trait]
impl Accessible for PostgresStorage {
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

    async fn begin_read(&self) -> Result<Box<dyn Access + '_>> {
        begin_timed(self.pool.get().await?, self.read_times.statement).await
    }

    async fn begin_read_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        begin_timed(self.pool.get_for(tenant).await?, self.read_times.statement).await
    }

    async fn begin_search_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        let until = Instant::now() + self.read_times.search;
        let begun = begin_transaction(self.searches.get(tenant).await?, BEGIN_READ).await?;
        Ok(Box::new(Transaction { until: Some(until), ..begun }))
    }

    async fn begin_priority_read(&self) -> Result<Box<dyn Access + '_>> {
        begin_access(&self.first, BEGIN_READ).await
    }

    async fn begin_write(&self) -> Result<Box<dyn Access + '_>> {
        begin_access(&self.pool, "begin").await
    }

    async fn begin_write_for(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        begin_on(self.pool.get_for(tenant).await?, "begin").await
    }

    async fn begin_rights_write(&self, tenant: &str) -> Result<Box<dyn Access + '_>> {
        begin_on(self.rights_writes.get_for(tenant).await?, "begin").await
    }

    async fn read_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        if self.read_times.statement.is_some() {
            let mut access = self.begin_read_for(tenant).await?;
            let rows = access.rows(statement, binds).await?;
            access.end().await?;
            return Ok(rows);
        }
        run_alone(&self.pool, tenant, (statement, binds), &UNREADABLE).await
    }

    async fn search_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        let mut connection = self.searches.get(tenant).await?;
        fetch(&mut connection, statement, binds, &UNREADABLE).await
    }

    async fn write_rows(
        &self,
        tenant: &str,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<Vec<SqlRow>> {
        run_alone(&self.pool, tenant, (statement, binds), &DAMAGED).await
    }

    async fn remove_unreachable(&self, tenant: &str, thread_key: i64, scope_id: i64) -> Result<()> {
        let mut connection = self.pool.get().await?;
        remove_garbage(&mut connection, tenant, thread_key, scope_id).await?;
        Ok(())
    }
}

const BEGIN_READ: &str = "begin isolation level repeatable read read only";

pub(super) async fn begin_access<'a>(
    pool: &Pool,
    begin: &'static str,
) -> Result<Box<dyn Access + 'a>> {
    begin_on(pool.get().await?, begin).await
}

async fn begin_on<'a>(connection: Lease, begin: &'static str) -> Result<Box<dyn Access + 'a>> {
    Ok(Box::new(begin_transaction(connection, begin).await?))
}

/// A transaction that reads, of which each statement may take so long.
async fn begin_timed<'a>(
    connection: Lease,
    statement: Option<Duration>,
) -> Result<Box<dyn Access + 'a>> {
    let mut begun = begin_transaction(connection, BEGIN_READ).await?;
    if let Some(within) = statement {
        let text = format!("set local statement_timeout = {}", within.as_millis());
        begun.connection.execute(AssertSqlSafe(text)).await?;
    }
    Ok(Box::new(begun))
}

async fn begin_transaction(mut connection: Lease, begin: &'static str) -> Result<Transaction> {
    connection.open(begin).await?;
    let damaging = if begin == BEGIN_READ { &UNREADABLE[..] } else { &DAMAGED };
    Ok(Transaction { connection, damaging, until: None })
}

/// A statement is a transaction of its own: one round trip.
async fn run_alone(
    pool: &Pool,
    tenant: &str,
    (statement, binds): (&str, &[SqlValue]),
    damaging: &[&str],
) -> Result<Vec<SqlRow>> {
    fetch(&mut *pool.get_for(tenant).await?, statement, binds, damaging).await
}

/// A transaction that somebody else began and ends.
pub(in crate::storage) struct BorrowedTransaction<'a>(pub &'a mut Connection);

#[async_trait]
impl Access for BorrowedTransaction<'_> {
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>> {
        fetch(self.0, statement, binds, &DAMAGED).await
    }

    async fn end(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Access for Transaction {
    async fn rows(&mut self, statement: &str, binds: &[SqlValue]) -> Result<Vec<SqlRow>> {
        if self.until.is_some_and(|it| Instant::now() > it) {
            return Err(Error::ReadTooLong);
        }
        fetch(&mut self.connection, statement, binds, self.damaging).await
    }

    async fn rows_before_damage(
        &mut self,
        statement: &str,
        binds: &[SqlValue],
    ) -> Result<(Vec<SqlRow>, Option<Error>)> {
        fetch_before_damage(&mut self.connection, statement, binds, self.damaging).await
    }

    async fn run_all(&mut self, statements: &[(String, Vec<SqlValue>)]) -> Result<usize> {
        if statements.is_empty() {
            return Ok(0);
        }
        let (text, binds) = together(statements);
        let rows = fetch(&mut self.connection, &text, &binds, self.damaging).await?;
        let count = rows.first().map_or(Ok(0), |row| row.integer(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    async fn end(mut self: Box<Self>) -> Result<()> {
        Ok(self.connection.end("commit").await?)
    }
}

/// One statement of several, each with its own binds.
fn together(statements: &[(String, Vec<SqlValue>)]) -> (String, Vec<SqlValue>) {
    let (mut parts, mut all) = (Vec::new(), Vec::new());
    for (at, (text, binds)) in statements.iter().enumerate() {
        parts.push(format!("w{at} as ({})", renumbered(text, all.len())));
        all.extend(binds.iter().cloned());
    }
    (format!("with {} select count(*) from w0", parts.join(", ")), all)
}

/// The text with the numbers of its binds raised.
fn renumbered(text: &str, by: usize) -> String {
    let mut pieces = text.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = piece[..digits].parse().unwrap_or(0);
        out.push_str(&format!("${}{}", number + by, &piece[digits..]));
    }
    out
}

async fn fetch(
    connection: &mut Connection,
    statement: &str,
    binds: &[SqlValue],
    damaging: &[&str],
) -> Result<Vec<SqlRow>> {
    match fetch_before_damage(connection, statement, binds, damaging).await? {
        (rows, None) => Ok(rows),
        (_, Some(damage)) => Err(damage),
    }
}

async fn fetch_before_damage(
    connection: &mut Connection,
    statement: &str,
    binds: &[SqlValue],
    damaging: &[&str],
) -> Result<(Vec<SqlRow>, Option<Error>)> {
    // Texts are put together from constants only.
    let text = AssertSqlSafe(statement.to_owned()).into_sql_str();
    let mut query: Query<'_, Postgres, PgArguments> = sqlx::query(text);
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
        match found.try_next().await {
            Ok(Some(row)) => rows.push(record(&row)?),
            Ok(None) => return Ok((rows, None)),
            Err(error) if is_damage(&error, damaging) => {
                return Ok((rows, Some(Error::Integrity(error.to_string()))));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// `data_corrupted`, `index_corrupted`, and a file that is not there.
const DAMAGED: [&str; 3] = ["XX001", "XX002", "58P01"];
/// The same where nothing is written: an I/O error is then one of reading.
const UNREADABLE: [&str; 4] = ["XX001", "XX002", "58P01", "58030"];

fn is_damage(error: &sqlx::Error, damaging: &[&str]) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| damaging.contains(&&*code))
}

fn record(row: &PgRow) -> Result<SqlRow> {
    let cells = (0..row.len()).map(|at| cell(row, at)).collect::<Result<_, sqlx::Error>>();
    cells.map(SqlRow).map_err(|error| Error::Internal(error.to_string()))
}

fn cell(row: &PgRow, at: usize) -> Result<SqlValue, sqlx::Error> {
    if row.try_get_raw(at)?.is_null() {
        return Ok(SqlValue::Null);
    }
    let little_endian =
        |numbers: Vec<i64>| numbers.into_iter().flat_map(i64::to_le_bytes).collect();
    Ok(match row.column(at).type_info().name() {
        "INT8" => SqlValue::Integer(row.try_get(at)?),
        "INT4" => SqlValue::Integer(row.try_get::<i32, _>(at)?.into()),
        "BOOL" => SqlValue::Integer(row.try_get::<bool, _>(at)?.into()),
        "BYTEA" => SqlValue::Bytes(row.try_get(at)?),
        "INT8[]" => SqlValue::Bytes(little_endian(row.try_get(at)?)),
        "INT4[]" => {
            let numbers: Vec<i32> = row.try_get(at)?;
            SqlValue::Bytes(little_endian(numbers.into_iter().map(i64::from).collect()))
        }
        // As the other engine keeps lists of texts.
        "TEXT[]" => {
            SqlValue::Text(serde_json::json!(row.try_get::<Vec<String>, _>(at)?).to_string())
        }
        _ => SqlValue::Text(row.try_get(at)?),
    })
}
