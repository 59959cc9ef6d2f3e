//! Applies the numbered migrations to the embedded database.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor, Row};

use super::connection::Connections;
use crate::domain::Result;
use crate::storage::db::migrations::{Applied, History, Migration, SCHEMA_MIN, migrations};

const MIGRATIONS: &[Migration] = migrations!("sqlite");

const CREATE_VERSION: &str = "
create table if not exists schema_version (
    version integer primary key,
    min_binary_version integer not null,
    applied_at integer not null
) strict";

/// Brings the file to the newest schema, or checks that it has one this binary can run on.
pub(in crate::storage) async fn migrate(connections: &Connections, allowed: bool) -> Result<()> {
    let mut write = connections.begin_write().await?;
    write.execute(CREATE_VERSION).await?;
    let history = read_history(&mut write).await?;
    history.check(MIGRATIONS, allowed)?;
    let missing = history.missing(MIGRATIONS);
    for migration in missing {
        write.execute(AssertSqlSafe(migration.text)).await?;
        sqlx::query(
            "insert into schema_version (version, min_binary_version, applied_at)
             values ($1, $2, cast(unixepoch('subsec') * 1000000 as integer))",
        )
        .bind(migration.version())
        .bind(SCHEMA_MIN)
        .execute(&mut *write)
        .await?;
    }
    if !missing.is_empty() {
        keep_checksums(&mut write).await?;
    }
    write.commit().await
}

/// As [`migrate`], where nothing may be written.
pub(in crate::storage) async fn check(connections: &Connections) -> Result<()> {
    let mut read = connections.begin_read().await?;
    let known = "select count(*) from sqlite_schema where name = 'schema_version'";
    let known: i64 = sqlx::query_scalar(known).fetch_one(&mut *read).await?;
    let history = match known {
        0 => History::default(),
        _ => read_history(&mut read).await?,
    };
    read.end().await?;
    history.check(MIGRATIONS, false)
}

/// Also of the migrations that were applied before there were checksums: this program's are taken to be theirs.
async fn keep_checksums(write: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for migration in MIGRATIONS {
        sqlx::query(
            "update schema_version set checksum = $2 where version = $1 and checksum is null",
        )
        .bind(migration.version())
        .bind(migration.checksum())
        .execute(&mut *write)
        .await?;
    }
    Ok(())
}

async fn read_history(connection: &mut SqliteConnection) -> Result<History, sqlx::Error> {
    let newest: i64 = sqlx::query_scalar("select coalesce(max(version), 0) from schema_version")
        .fetch_one(&mut *connection)
        .await?;
    let checksum = if History::has_checksums(newest) { "checksum" } else { "null" };
    let text = format!(
        "select version, min_binary_version, {checksum} from schema_version order by version"
    );
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(connection).await?;
    let applied = rows.iter().map(|row| {
        Ok(Applied {
            version: row.try_get(0)?,
            schema_min: row.try_get(1)?,
            checksum: row.try_get(2)?,
        })
    });
    Ok(History(applied.collect::<Result<_, sqlx::Error>>()?))
}
