//! Copies a database whose tables are whole and whose indexes are not, and makes the indexes anew. An index hides the rows that it lacks,
//! and shows rows under keys that they do not have, so a damaged one must not be read.
//!
//! A row and its entry in a unique index may disagree about the key: no one can say which of them is damaged. So the thread, session or row
//! with that key is not in the copy.

use std::collections::BTreeMap;
use std::path::Path;

use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tempfile::TempDir;

use super::errors::{open_error, read_error, write_error};
use super::integrity_line::Line;
use super::read_only;
use crate::domain::{Error, Result};

/// More than a database has pages: the check tells everything.
const LINES_MAX: u32 = i32::MAX.unsigned_abs();
/// The columns by which rows belong to a thread or a session, and its table.
const OWNERS: [(&str, &str); 2] = [("thread_key", "threads"), ("session_no", "sessions")];

/// A copy in a temporary folder, which goes with it.
#[derive(Debug)]
pub struct RebuiltCopy {
    folder: TempDir,
    /// Indexes that were damaged.
    pub indexes: Vec<String>,
    pub left_out: Vec<LeftOutOfCopy>,
}

/// Something that the copy lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOutOfCopy {
    pub tenant: String,
    /// `thread`, `session`, `item`, or `row` of anything else.
    pub kind: &'static str,
    pub reason: String,
}

impl RebuiltCopy {
    /// The folder with `threadkeep.db`.
    pub fn data_dir(&self) -> &Path {
        self.folder.path()
    }
}

/// Copies the database into a new folder inside `beside`, if its indexes are damaged and nothing else is. It reads the whole file.
///
/// # Errors
/// A database that cannot be opened, or a copy that cannot be written.
pub async fn rebuilt_copy(path: &Path, beside: &Path) -> Result<Option<RebuiltCopy>> {
    let absolute =
        std::path::absolute(path).map_err(|error| Error::file(path.display(), &error))?;
    let cannot = |error| Error::file("a folder for a copy cannot be made".to_owned(), &error);
    let folder = tempfile::Builder::new().prefix(".threadkeep-copy-").tempdir_in(beside);
    let folder = folder.map_err(cannot)?;
    let to = folder.path().join("threadkeep.db");
    let options = SqliteConnectOptions::new()
        .filename(&to)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Off)
        .foreign_keys(false);
    let connected = SqliteConnection::connect_with(&options).await;
    let mut connection = connected.map_err(|error| open_error(error, &to))?;
    let attached = sqlx::query("attach $1 as source").bind(read_only::address(&absolute)?);
    attached.execute(&mut connection).await.map_err(|error| open_error(error, path))?;
    let damaged = damaged_indexes(&mut connection).await?;
    if damaged.is_empty() {
        return Ok(None);
    }
    copy(&mut connection).await.map_err(|error| write_error(&error))?;
    let mut left_out = Vec::new();
    for (name, rows) in &damaged {
        let found = leave_out(&mut connection, name, rows).await;
        left_out.extend(found.map_err(|error| write_error(&error))?);
    }
    left_out.sort();
    left_out.dedup();
    connection.close().await.map_err(|error| write_error(&error))?;
    Ok(Some(RebuiltCopy { folder, indexes: damaged.into_keys().collect(), left_out }))
}

/// Damaged indexes, each with the rows that it lacks or has under another key. None where anything else is damaged too.
async fn damaged_indexes(connection: &mut SqliteConnection) -> Result<BTreeMap<String, Vec<i64>>> {
    let text = AssertSqlSafe(format!("pragma source.integrity_check({LINES_MAX})"));
    let checked = sqlx::query_scalar::<_, String>(text).fetch_all(&mut *connection).await;
    let lines = match checked.map_err(|error| read_error(&error)) {
        Ok(lines) => lines,
        Err(Error::Integrity(_)) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let roots = "select rootpage, name from source.sqlite_schema where type = 'index'";
    let roots = sqlx::query_as::<_, (i64, String)>(roots).fetch_all(connection).await;
    let roots: BTreeMap<i64, String> =
        roots.map_err(|error| read_error(&error))?.into_iter().collect();
    let mut damaged: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in lines.iter().flat_map(|it| it.lines()) {
        match Line::of(line) {
            Line::Harmless => {}
            Line::Row(row, index) => damaged.entry(index.to_owned()).or_default().push(row),
            Line::Index(index) => drop(damaged.entry(index.to_owned()).or_default()),
            Line::Tree(root) if roots.contains_key(&root) => {
                damaged.entry(roots[&root].clone()).or_default();
            }
            Line::Tree(_) | Line::Other => return Ok(BTreeMap::new()),
        }
    }
    Ok(damaged)
}

/// All rows as the tables have them, and indexes made from these rows.
async fn copy(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let text = "select type, name, sql from source.sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\'
         order by type <> 'table'";
    let made: Vec<(String, String, String)> =
        sqlx::query_as(text).fetch_all(&mut *connection).await?;
    connection.execute("begin").await?;
    for (kind, name, sql) in made {
        connection.execute(AssertSqlSafe(sql)).await?;
        if kind == "table" {
            // With a condition. Without one, SQLite would copy the indexes too, as they are.
            let text = format!(
                "insert into main.\"{name}\" select * from source.\"{name}\" not indexed where true"
            );
            connection.execute(AssertSqlSafe(text)).await?;
        }
    }
    connection.execute("commit").await?;
    Ok(())
}

/// A unique index of a table whose rows have numbers.
struct Unique<'a> {
    index: &'a str,
    table: String,
    key: Vec<String>,
    /// The column by which rows belong to a thread or a session, and the table of these.
    owner: Option<(&'static str, &'static str)>,
}

/// A row whose key is another one in its table than in the index.
#[derive(sqlx::FromRow)]
struct Disagreeing {
    row: i64,
    tenant: Vec<u8>,
    tenant_in_index: Vec<u8>,
    owner: i64,
    owner_in_index: i64,
}

/// Leaves out of the copy what has another key in its table than in the index.
async fn leave_out(
    connection: &mut SqliteConnection,
    index: &str,
    rows: &[i64],
) -> Result<Vec<LeftOutOfCopy>, sqlx::Error> {
    let Some(unique) = Unique::of(connection, index).await? else { return Ok(Vec::new()) };
    let mut left_out = Vec::new();
    for found in unique.disagreeing(connection, rows).await? {
        unique.remove(connection, &found).await?;
        let (table, kind) = (&unique.table, unique.kind());
        for tenant in [&found.tenant, &found.tenant_in_index] {
            let tenant = String::from_utf8_lossy(tenant).into_owned();
            let reason =
                format!("the table {table} and its index {index} have different keys for a row");
            left_out.push(LeftOutOfCopy { tenant, kind, reason });
        }
    }
    Ok(left_out)
}

impl<'a> Unique<'a> {
    /// None: it is not unique, so rows are found by other indexes too.
    async fn of(
        connection: &mut SqliteConnection,
        index: &'a str,
    ) -> Result<Option<Self>, sqlx::Error> {
        let text = "select s.tbl_name from source.sqlite_schema s
             join pragma_table_list t on t.schema = 'source' and t.name = s.tbl_name and t.wr = 0
             join pragma_index_list(s.tbl_name, 'source') i on i.name = s.name and i.\"unique\" = 1
             where s.type = 'index' and s.name = $1";
        let query = sqlx::query_scalar(text).bind(index);
        let Some(table) = query.fetch_optional(&mut *connection).await? else { return Ok(None) };
        let table: String = table;
        let text = "select name from pragma_index_info($1, 'source')";
        let key: Vec<String> =
            sqlx::query_scalar(text).bind(index).fetch_all(&mut *connection).await?;
        let text = "select name from pragma_table_info($1, 'source')";
        let columns: Vec<String> =
            sqlx::query_scalar(text).bind(&table).fetch_all(connection).await?;
        let owner = OWNERS.into_iter().find(|(column, _)| columns.iter().any(|it| it == column));
        let has_tenant = key.iter().any(|it| it == "tenant");
        Ok(has_tenant.then_some(Self { index, table, key, owner }))
    }

    async fn disagreeing(
        &self,
        connection: &mut SqliteConnection,
        rows: &[i64],
    ) -> Result<Vec<Disagreeing>, sqlx::Error> {
        let Self { index, table, key, owner } = self;
        let text = format!("select count(*) from source.\"{table}\" not indexed");
        let count: i64 =
            sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut *connection).await?;
        // What agrees with no row at all is the tree of another index.
        if usize::try_from(count) == Ok(rows.len()) {
            return Ok(Vec::new());
        }
        let columns =
            |from: &str| key.iter().map(|it| format!("{from}.{it}")).collect::<Vec<_>>().join(", ");
        let (owner, owner_in_index) = match owner {
            Some((it, _)) if key.iter().any(|column| column == it) => {
                (format!("t.{it}"), format!("e.{it}"))
            }
            Some((it, _)) => (format!("t.{it}"), format!("t.{it}")),
            None => ("0".to_owned(), "0".to_owned()),
        };
        let text = format!(
            "select t.rowid as row, cast(t.tenant as blob) as tenant, cast(e.tenant as blob) as tenant_in_index,
                 {owner} as owner, {owner_in_index} as owner_in_index
             from (select rowid as row, {} from source.\"{table}\" indexed by \"{index}\") e
             join source.\"{table}\" t not indexed on t.rowid = e.row
             where e.row in (select value from json_each($1)) and ({}) is not ({})",
            key.join(", "),
            columns("t"),
            columns("e"),
        );
        let rows = serde_json::json!(rows).to_string();
        let mut listed = sqlx::query_as(AssertSqlSafe(text)).bind(rows).fetch(connection);
        let mut found = Vec::new();
        loop {
            match listed.try_next().await {
                Ok(Some(row)) => found.push(row),
                Ok(None) => return Ok(found),
                // An entry that cannot be read disagrees with nothing.
                Err(error) if matches!(read_error(&error), Error::Integrity(_)) => {
                    return Ok(found);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the thread or session with either key from the copy, or the row where it belongs to none.
    async fn remove(
        &self,
        connection: &mut SqliteConnection,
        found: &Disagreeing,
    ) -> Result<(), sqlx::Error> {
        let Some((column, of)) = self.owner else {
            let (table, key) = (&self.table, self.key.join(", "));
            let text = format!(
                "delete from main.\"{table}\" where ({key}) in
                     (select {key} from source.\"{table}\" not indexed where rowid = $1)"
            );
            sqlx::query(AssertSqlSafe(text)).bind(found.row).execute(connection).await?;
            return Ok(());
        };
        let text = format!(
            "delete from main.{of} where (tenant = cast($1 as text) and {column} = $2)
                 or (tenant = cast($3 as text) and {column} = $4)"
        );
        let query = sqlx::query(AssertSqlSafe(text)).bind(&found.tenant).bind(found.owner);
        let query = query.bind(&found.tenant_in_index).bind(found.owner_in_index);
        query.execute(connection).await?;
        Ok(())
    }

    fn kind(&self) -> &'static str {
        match self.owner {
            Some((_, "threads")) => "thread",
            Some(_) => "session",
            None if self.table == "items" => "item",
            None => "row",
        }
    }
}
