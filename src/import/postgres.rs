//! Reads the tables of LangGraph's savers and stores on PostgreSQL, for Python and for JavaScript. Differences between them (and between
//! their versions) are read from the catalog. The connection is read-only.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::place::{FIELD, Source};
use super::rows::{ForeignItem, Rows, Shown, StepName, Tables};
use super::step::{ChannelValue, Checkpoint, Coded, Split, Step, Write, of_scalar};
use crate::domain::{Error, Result};
use crate::storage::postgres::{database_url, tls};

const THREADS_PAGE: i64 = 500;
/// Tag of a channel that has no value at its version.
const EMPTY: &str = "empty";
const CHECKPOINTS: &[&str] = &[
    "thread_id",
    "checkpoint_ns",
    "checkpoint_id",
    "parent_checkpoint_id",
    "checkpoint",
    "metadata",
];
const BLOBS: &[&str] = &["thread_id", "checkpoint_ns", "channel", "version", "type", "blob"];
const WRITES: &[&str] =
    &["thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "blob"];

pub struct PostgresRows {
    connection: PgConnection,
    tables: Tables,
    /// As an expression: older tables and those of JavaScript have no such column.
    task_path: &'static str,
    store: Option<StoreTable>,
}

/// How a store's table looks.
#[derive(Debug, Clone, Copy)]
struct StoreTable {
    /// The column of the namespace.
    prefix: &'static str,
    /// Between its labels.
    separator: char,
    has_expiry: bool,
    has_ttl: bool,
}

impl PostgresRows {
    /// # Errors
    /// 422 for a database that cannot be reached, has none of the tables, or has others of these names.
    pub async fn open(url: &str) -> Result<Self> {
        let place = Source::Postgres(url.to_owned());
        let servers: Vec<PgConnectOptions> = database_url::parse(FIELD, url)?
            .into_iter()
            .map(|it| {
                it.application_name("threadkeep import")
                    .options([("default_transaction_read_only", "on")])
            })
            .collect();
        let mut connection = connect(&servers).await.map_err(|error| {
            Error::invalid(FIELD, format!("{place} cannot be opened: {}", told(&error)))
        })?;
        let columns = columns(&mut connection).await?;
        let of = |table: &str| columns.get(table);
        let threads = of("checkpoints").is_some() || of("checkpoint_writes").is_some();
        if threads {
            for (table, wanted) in [
                ("checkpoints", CHECKPOINTS),
                ("checkpoint_blobs", BLOBS),
                ("checkpoint_writes", WRITES),
            ] {
                require(&place, table, of(table), wanted)?;
            }
        }
        let store = of("store").map(|columns| StoreTable::of(&place, columns)).transpose()?;
        if !threads && store.is_none() {
            return Err(nothing(&place));
        }
        let has_path = of("checkpoint_writes").is_some_and(|it| it.contains("task_path"));
        let vectors = of("store_vectors").is_some();
        Ok(Self {
            connection,
            tables: Tables { threads, items: store.is_some(), vectors },
            task_path: if has_path { "task_path" } else { "''" },
            store,
        })
    }

    async fn writes(&mut self, thread: &str, name: &StepName) -> Result<Vec<Write>> {
        let statement = format!(
            "select task_id, {path} as task_path, idx, channel, coalesce(type, '') as type, blob
             from checkpoint_writes
             where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3
             order by {path} collate \"C\", task_id collate \"C\", idx",
            path = self.task_path
        );
        let rows = sqlx::query(AssertSqlSafe(statement))
            .bind(thread)
            .bind(&name.ns)
            .bind(&name.id)
            .fetch_all(&mut self.connection)
            .await
            .map_err(unread)?;
        rows.iter()
            .map(|row| {
                Ok(Write {
                    task_id: get(row, "task_id")?,
                    task_path: get(row, "task_path")?,
                    idx: get(row, "idx")?,
                    channel: get(row, "channel")?,
                    value: Coded {
                        tag: get(row, "type")?,
                        data: get::<Vec<u8>>(row, "blob")?.into(),
                    },
                })
            })
            .collect()
    }

    /// Values that stand in rows of their own, of these channels at these versions (their text).
    async fn blobs(
        &mut self,
        (thread, ns): (&str, &str),
        wanted: &[(String, String)],
    ) -> Result<HashMap<String, Coded>> {
        let (channels, versions): (Vec<&str>, Vec<&str>) =
            wanted.iter().map(|(channel, version)| (channel.as_str(), version.as_str())).unzip();
        let rows = sqlx::query(
            "select b.channel, b.type, b.blob from unnest($3::text[], $4::text[]) as w (channel, version)
             join checkpoint_blobs b on b.thread_id = $1 and b.checkpoint_ns = $2
               and b.channel = w.channel and b.version = w.version
             where b.type <> $5",
        )
        .bind(thread)
        .bind(ns)
        .bind(channels)
        .bind(versions)
        .bind(EMPTY)
        .fetch_all(&mut self.connection)
        .await
        .map_err(unread)?;
        rows.iter()
            .map(|row| {
                let data = get::<Option<Vec<u8>>>(row, "blob")?.unwrap_or_default();
                Ok((get(row, "channel")?, Coded { tag: get(row, "type")?, data: data.into() }))
            })
            .collect()
    }

    async fn checkpoint(
        &mut self,
        thread: &str,
        name: &StepName,
        parent: Option<&Shown>,
    ) -> Result<Checkpoint> {
        let row = sqlx::query(
            "select checkpoint::text, metadata::text from checkpoints
             where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3",
        )
        .bind(thread)
        .bind(&name.ns)
        .bind(&name.id)
        .fetch_one(&mut self.connection)
        .await
        .map_err(unread)?;
        let text: String = get(&row, "checkpoint")?;
        let (skeleton, mut channels) = Split::of_json(text.as_bytes(), of_scalar)?.channels()?;
        let mut wanted = Vec::new();
        for channel in &mut channels {
            let before = parent.and_then(|it| it.get(&channel.name));
            if before.is_some_and(|it| it.by_version && it.version == channel.version) {
                (channel.value, channel.by_version) = (ChannelValue::Carried, true);
            } else {
                wanted.push((channel.name.clone(), version_text(&channel.version)));
            }
        }
        let mut found = self.blobs((thread, &name.ns), &wanted).await?;
        for channel in &mut channels {
            // A row goes before what stands inline: there it is only the mark of a delta snapshot.
            if let Some(value) = found.remove(&channel.name) {
                (channel.value, channel.by_version) = (ChannelValue::Value(value), true);
            }
        }
        let metadata: String = get(&row, "metadata")?;
        Ok(Checkpoint { skeleton, metadata: metadata.into(), channels })
    }
}

#[async_trait]
impl Rows for PostgresRows {
    fn tables(&self) -> Tables {
        self.tables
    }

    async fn threads(&mut self, after: Option<&str>) -> Result<Vec<String>> {
        let statement = "
            select thread_id from (
              (select distinct thread_id from checkpoints where $1::text is null or thread_id > $1
               order by thread_id limit $2)
              union
              (select distinct thread_id from checkpoint_writes where $1::text is null or thread_id > $1
               order by thread_id limit $2)
            ) as every
            order by thread_id limit $2";
        sqlx::query_scalar(statement)
            .bind(after)
            .bind(THREADS_PAGE)
            .fetch_all(&mut self.connection)
            .await
            .map_err(unread)
    }

    async fn begin_thread(&mut self, thread: &str) -> Result<Vec<StepName>> {
        sqlx::query("begin transaction isolation level repeatable read read only")
            .execute(&mut self.connection)
            .await
            .map_err(unread)?;
        let rows = sqlx::query(
            "select checkpoint_ns, checkpoint_id, nullif(parent_checkpoint_id, '') as parent, true as exists_
             from checkpoints where thread_id = $1
             union all
             select distinct w.checkpoint_ns, w.checkpoint_id, null::text, false
             from checkpoint_writes w
             where w.thread_id = $1 and not exists (
               select from checkpoints c where c.thread_id = $1
                 and c.checkpoint_ns = w.checkpoint_ns and c.checkpoint_id = w.checkpoint_id)
             order by checkpoint_id, checkpoint_ns",
        )
        .bind(thread)
        .fetch_all(&mut self.connection)
        .await
        .map_err(unread)?;
        rows.iter()
            .map(|row| {
                Ok(StepName {
                    ns: get(row, "checkpoint_ns")?,
                    id: get(row, "checkpoint_id")?,
                    parent: get(row, "parent")?,
                    exists: get(row, "exists_")?,
                })
            })
            .collect()
    }

    async fn step(
        &mut self,
        thread: &str,
        name: &StepName,
        parent: Option<&Shown>,
    ) -> Result<Step> {
        let checkpoint =
            if name.exists { Some(self.checkpoint(thread, name, parent).await?) } else { None };
        Ok(Step { checkpoint, writes: self.writes(thread, name).await? })
    }

    async fn end_thread(&mut self) -> Result<()> {
        sqlx::query("rollback").execute(&mut self.connection).await.map_err(unread)?;
        Ok(())
    }

    fn items(&mut self) -> BoxStream<'_, Result<ForeignItem>> {
        let Some(store) = self.store else { return futures::stream::empty().boxed() };
        let StoreTable { prefix, separator, has_expiry, has_ttl } = store;
        let micros = |column: &str| format!("(extract(epoch from {column}) * 1000000)::int8");
        let statement = format!(
            "select {prefix} as prefix, key, value::text as value, {created} as created_at, {updated} as updated_at,
                    {expires} as expires_at, {ttl} as ttl_micros
             from store order by created_at, {prefix}, key",
            created = micros("created_at"),
            updated = micros("updated_at"),
            expires = if has_expiry { micros("expires_at") } else { "null::int8".into() },
            ttl = if has_ttl { "(ttl_minutes * 60000000.0)::int8" } else { "null::int8" },
        );
        let rows = sqlx::query(AssertSqlSafe(statement)).fetch(&mut self.connection);
        rows.map(move |row| {
            let row = row.map_err(unread)?;
            let prefix: String = get(&row, "prefix")?;
            Ok(ForeignItem {
                labels: prefix.split(separator).map(str::to_owned).collect(),
                key: get(&row, "key")?,
                value: Bytes::from(get::<String>(&row, "value")?),
                created_at: get(&row, "created_at")?,
                updated_at: get(&row, "updated_at")?,
                expires_at: get(&row, "expires_at")?,
                ttl_micros: get(&row, "ttl_micros")?,
            })
        })
        .boxed()
    }
}

impl StoreTable {
    fn of(place: &Source, columns: &HashSet<String>) -> Result<Self> {
        let (prefix, separator) = if columns.contains("namespace_path") {
            ("namespace_path", ':')
        } else {
            ("prefix", '.')
        };
        let wanted = [prefix, "key", "value", "created_at", "updated_at"];
        require(place, "store", Some(columns), &wanted)?;
        let (has_expiry, has_ttl) =
            (columns.contains("expires_at"), columns.contains("ttl_minutes"));
        Ok(Self { prefix, separator, has_expiry, has_ttl })
    }
}

/// The first server that lets it in: what is read may be a standby's.
async fn connect(servers: &[PgConnectOptions]) -> sqlx::Result<PgConnection> {
    let mut refusal = sqlx::Error::Configuration("the URL names no server".into());
    for options in servers {
        match PgConnection::connect_with(options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// Of the tables that are meant when no schema is named.
async fn columns(connection: &mut PgConnection) -> Result<BTreeMap<String, HashSet<String>>> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "select c.table_name::text, c.column_name::text from information_schema.columns c
         where c.table_name in ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store', 'store_vectors')
           and to_regclass(quote_ident(c.table_name)) =
               to_regclass(quote_ident(c.table_schema) || '.' || quote_ident(c.table_name))",
    )
    .fetch_all(connection)
    .await
    .map_err(unread)?;
    let mut columns: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for (table, column) in rows {
        columns.entry(table).or_default().insert(column);
    }
    Ok(columns)
}

/// # Errors
/// 422 naming the columns that are missing.
pub(super) fn require(
    place: &Source,
    table: &str,
    columns: Option<&HashSet<String>>,
    wanted: &[&str],
) -> Result<()> {
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|it| columns.is_none_or(|columns| !columns.contains(**it)))
        .copied()
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = match columns {
        None => "is missing".to_owned(),
        Some(_) => format!("has no column {}", missing.join(", ")),
    };
    let detail = format!(
        "{place} has an unknown layout: the table {table} {what}. Known are the tables of langgraph-checkpoint-postgres, of \
         its JavaScript package and of langgraph-checkpoint-sqlite; those of a shallow saver are not"
    );
    Err(Error::invalid(FIELD, detail))
}

pub(super) fn nothing(place: &Source) -> Error {
    let detail = format!("{place} has none of the tables of LangGraph's savers and stores");
    Error::invalid(FIELD, detail)
}

/// A version as PostgreSQL spells it where it is text: the content of a string, else the JSON.
fn version_text(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}

fn get<'r, T>(row: &'r PgRow, column: &str) -> Result<T>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(column).map_err(|error| {
        Error::invalid(FIELD, format!("the column {column} cannot be read: {}", told(&error)))
    })
}

fn unread(error: sqlx::Error) -> Error {
    Error::Internal(format!("the source cannot be read: {}", told(&error)))
}

/// What the database says, without what it says about the values.
fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => tls::refusal(other).unwrap_or_else(|| other.to_string()),
    }
}
