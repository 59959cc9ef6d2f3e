//! Reads the tables of LangGraph's savers and stores on SQLite. A checkpoint is one row with all its values, so it is taken apart. The file
//! is opened read-only.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, NaiveDateTime};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::place::{FIELD, Source};
use super::postgres::{nothing, require};
use super::rows::{ForeignItem, Rows, Shown, StepName, Tables};
use super::step::{Checkpoint, Coded, JSON, MSGPACK, Split, Step, Write, of_json, wrong};
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};

const THREADS_PAGE: i64 = 500;
const CHECKPOINTS: &[&str] = &[
    "thread_id",
    "checkpoint_ns",
    "checkpoint_id",
    "parent_checkpoint_id",
    "type",
    "checkpoint",
    "metadata",
];
const WRITES: &[&str] =
    &["thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "value"];
const STORE: &[&str] = &["prefix", "key", "value", "created_at", "updated_at"];

pub struct SqliteRows {
    connection: SqliteConnection,
    tables: Tables,
    task_path: &'static str,
    has_expiry: bool,
    has_ttl: bool,
}

impl SqliteRows {
    /// # Errors
    /// 422 for a file that is not there or no database, has none of the tables, or has others of these names.
    pub async fn open(path: &Path) -> Result<Self> {
        let place = Source::Sqlite(path.to_owned());
        if !path.is_file() {
            return Err(Error::invalid(FIELD, format!("there is no file {}", path.display())));
        }
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let unopened = |error: sqlx::Error| {
            Error::invalid(FIELD, format!("{place} cannot be opened: {error}"))
        };
        let mut connection = SqliteConnection::connect_with(&options).await.map_err(unopened)?;
        let columns = columns(&mut connection).await.map_err(unopened)?;
        let of = |table: &str| columns.get(table);
        let threads = of("checkpoints").is_some() || of("writes").is_some();
        if threads {
            require(&place, "checkpoints", of("checkpoints"), CHECKPOINTS)?;
            require(&place, "writes", of("writes"), WRITES)?;
        }
        let items = of("store").is_some();
        if items {
            require(&place, "store", of("store"), STORE)?;
        }
        if !threads && !items {
            return Err(nothing(&place));
        }
        let has = |table: &str, column: &str| of(table).is_some_and(|it| it.contains(column));
        Ok(Self {
            connection,
            tables: Tables { threads, items, vectors: of("store_vectors").is_some() },
            task_path: if has("writes", "task_path") { "task_path" } else { "''" },
            has_expiry: has("store", "expires_at"),
            has_ttl: has("store", "ttl_minutes"),
        })
    }

    async fn writes(&mut self, thread: &str, name: &StepName) -> Result<Vec<Write>> {
        let statement = format!(
            "select task_id, {path} as task_path, idx, channel, coalesce(type, '') as type,
                    cast(coalesce(value, x'') as blob) as value
             from writes where thread_id = ?1 and checkpoint_ns = ?2 and checkpoint_id = ?3
             order by {path}, task_id, idx",
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
                        data: get::<Vec<u8>>(row, "value")?.into(),
                    },
                })
            })
            .collect()
    }

    async fn checkpoint(&mut self, thread: &str, name: &StepName) -> Result<Checkpoint> {
        let row = sqlx::query(
            "select coalesce(type, '') as type, cast(checkpoint as blob) as checkpoint,
                    cast(coalesce(metadata, '{}') as blob) as metadata
             from checkpoints where thread_id = ?1 and checkpoint_ns = ?2 and checkpoint_id = ?3",
        )
        .bind(thread)
        .bind(&name.ns)
        .bind(&name.id)
        .fetch_one(&mut self.connection)
        .await
        .map_err(unread)?;
        let (tag, data): (String, Vec<u8>) = (get(&row, "type")?, get(&row, "checkpoint")?);
        let split = match tag.as_str() {
            MSGPACK => Split::of_msgpack(&data)?,
            JSON => Split::of_json(&data, |value| Ok(of_json(value)))?,
            other => {
                return Err(wrong(format!(
                    "it is coded as {other:?}, whole with all its values: it can only be taken apart by the program that wrote \
                     it"
                )));
            }
        };
        let (skeleton, channels) = split.channels()?;
        let metadata: Vec<u8> = get(&row, "metadata")?;
        Ok(Checkpoint { skeleton, metadata: metadata.into(), channels })
    }
}

#[async_trait]
impl Rows for SqliteRows {
    fn tables(&self) -> Tables {
        self.tables
    }

    async fn threads(&mut self, after: Option<&str>) -> Result<Vec<String>> {
        sqlx::query_scalar(
            "select thread_id from checkpoints where ?1 is null or thread_id > ?1
             union select thread_id from writes where ?1 is null or thread_id > ?1
             order by thread_id limit ?2",
        )
        .bind(after)
        .bind(THREADS_PAGE)
        .fetch_all(&mut self.connection)
        .await
        .map_err(unread)
    }

    async fn begin_thread(&mut self, thread: &str) -> Result<Vec<StepName>> {
        sqlx::query("begin").execute(&mut self.connection).await.map_err(unread)?;
        let rows = sqlx::query(
            "select checkpoint_ns, checkpoint_id, nullif(parent_checkpoint_id, '') as parent, 1 as present
             from checkpoints where thread_id = ?1
             union all
             select distinct w.checkpoint_ns, w.checkpoint_id, null, 0 from writes w
             where w.thread_id = ?1 and not exists (
               select 1 from checkpoints c where c.thread_id = ?1
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
                    exists: get::<i64>(row, "present")? == 1,
                })
            })
            .collect()
    }

    async fn step(
        &mut self,
        thread: &str,
        name: &StepName,
        _parent: Option<&Shown>,
    ) -> Result<Step> {
        let checkpoint =
            if name.exists { Some(self.checkpoint(thread, name).await?) } else { None };
        Ok(Step { checkpoint, writes: self.writes(thread, name).await? })
    }

    async fn end_thread(&mut self) -> Result<()> {
        sqlx::query("rollback").execute(&mut self.connection).await.map_err(unread)?;
        Ok(())
    }

    fn items(&mut self) -> BoxStream<'_, Result<ForeignItem>> {
        let statement = format!(
            "select prefix, key, cast(value as blob) as value, cast(created_at as text) as created_at,
                    cast(updated_at as text) as updated_at, cast({expires} as text) as expires_at, cast({ttl} * 60000000.0 as integer) as ttl_micros
             from store order by created_at, prefix, key",
            expires = if self.has_expiry { "expires_at" } else { "null" },
            ttl = if self.has_ttl { "ttl_minutes" } else { "null" },
        );
        let rows = sqlx::query(AssertSqlSafe(statement)).fetch(&mut self.connection);
        rows.map(|row| {
            let row = row.map_err(unread)?;
            let prefix: String = get(&row, "prefix")?;
            let time = |column: &str| {
                Ok::<_, Error>(get::<Option<String>>(&row, column)?.as_deref().and_then(micros))
            };
            Ok(ForeignItem {
                labels: prefix.split('.').map(str::to_owned).collect(),
                key: get(&row, "key")?,
                value: Bytes::from(get::<Vec<u8>>(&row, "value")?),
                created_at: time("created_at")?,
                updated_at: time("updated_at")?,
                expires_at: time("expires_at")?,
                ttl_micros: get(&row, "ttl_micros")?,
            })
        })
        .boxed()
    }
}

async fn columns(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, HashSet<String>>, sqlx::Error> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "select t.name, c.name from sqlite_schema t, pragma_table_info(t.name) c
         where t.type = 'table' and t.name in ('checkpoints', 'writes', 'store', 'store_vectors')",
    )
    .fetch_all(connection)
    .await?;
    let mut columns: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for (table, column) in rows {
        columns.entry(table).or_default().insert(column);
    }
    Ok(columns)
}

/// A time as SQLite and Python write it: UTC where no zone is named.
fn micros(text: &str) -> Option<Micros> {
    let zoned = DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%:z")
        .or_else(|_| DateTime::parse_from_rfc3339(text));
    if let Ok(time) = zoned {
        return Some(time.timestamp_micros());
    }
    let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f"));
    Some(time.ok()?.and_utc().timestamp_micros())
}

/// Without a look at declared types: SQLite keeps what it is given.
fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T>
where
    T: sqlx::Decode<'r, sqlx::Sqlite>,
{
    row.try_get_unchecked(column).map_err(|error| {
        Error::invalid(FIELD, format!("the column {column} cannot be read: {error}"))
    })
}

fn unread(error: sqlx::Error) -> Error {
    Error::Internal(format!("the source cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::micros;

    #[test]
    fn times_are_read_in_every_spelling() {
        for text in [
            "1970-01-01 00:00:01",
            "1970-01-01T00:00:01",
            "1970-01-01 01:00:01.0+01:00",
            "1970-01-01T00:00:01Z",
        ] {
            assert_eq!(micros(text), Some(1_000_000), "{text}");
        }
        assert_eq!(micros("soon"), None);
    }
}
