//! Applies the numbered migrations to PostgreSQL, each in its own transaction.
//! One server at a time holds an advisory lock and migrates. Other servers that start meanwhile poll for the lock.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor, Row};

use super::connection::Connection;
use super::pool::Pool;
use crate::domain::{Error, Result};
use crate::storage::db::migrations::{Applied, History, Migration, SCHEMA_MIN, migrations};

const MIGRATIONS: &[Migration] = migrations!("postgres");

/// The column is not null since the first schema. No program reads it.
const BINARY_VERSION_MIN: &str = "0.1.0";

/// Any fixed number: only servers of this program ask for it.
const LOCK: i64 = 0x7468_7265_6164_6b70;
const POLLS_MAX: u32 = 600;

/// Brings the schema up to date, or, without `migrate`, refuses an old one.
pub async fn run(pool: &Pool, migrate: bool) -> Result<()> {
    let mut connection = pool.get().await?;
    let history = read_history(&mut connection).await?;
    history.check(MIGRATIONS, migrate)?;
    if history.missing(MIGRATIONS).is_empty() {
        return Ok(());
    }
    // Polled without an open transaction: a blocking lock would deadlock with concurrent index builds.
    let mut polls = 0;
    while !try_lock(&mut connection).await? {
        polls += 1;
        if polls > POLLS_MAX {
            return Err(Error::Unavailable {
                detail: "another server has been migrating for a minute".into(),
                retry_after: Duration::from_secs(5),
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let applied = apply(&mut connection).await;
    sqlx::query("select pg_advisory_unlock($1)").bind(LOCK).execute(&mut *connection).await?;
    // With its settings.
    connection.close();
    applied
}

async fn try_lock(connection: &mut Connection) -> Result<bool> {
    let row = sqlx::query("select pg_try_advisory_lock($1) as locked")
        .bind(LOCK)
        .fetch_one(connection)
        .await?;
    Ok(row.get("locked"))
}

async fn read_history(connection: &mut Connection) -> Result<History> {
    let exists = sqlx::query("select to_regclass('schema_version') is not null as found")
        .fetch_one(&mut *connection)
        .await?;
    if !exists.get::<bool, _>("found") {
        return Ok(History::default());
    }
    let newest = sqlx::query("select coalesce(max(version), 0) as version from schema_version")
        .fetch_one(&mut *connection)
        .await?;
    let columns = if History::has_checksums(newest.get("version")) {
        "schema_min, checksum"
    } else {
        "1::bigint as schema_min, null::text as checksum"
    };
    let text = format!("select version, {columns} from schema_version order by version");
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut *connection).await?;
    let applied = rows.iter().map(|row| Applied {
        version: row.get("version"),
        schema_min: row.get("schema_min"),
        checksum: row.get("checksum"),
    });
    Ok(History(applied.collect()))
}

async fn apply(connection: &mut Connection) -> Result<()> {
    connection
        .execute(
            "set lock_timeout = '2s';
             create table if not exists schema_version (
                version bigint primary key, name text not null, min_binary_version text not null,
                applied_at bigint not null)",
        )
        .await?;
    // A newer server may have migrated while this one waited for the lock.
    let history = read_history(connection).await?;
    history.check(MIGRATIONS, true)?;
    for migration in history.missing(MIGRATIONS) {
        let mut transaction = connection.begin().await?;
        sqlx::raw_sql(AssertSqlSafe(migration.text)).execute(&mut *transaction).await?;
        sqlx::query(
            "insert into schema_version (version, name, min_binary_version, applied_at)
             values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        )
        .bind(migration.version())
        .bind(migration.name())
        .bind(BINARY_VERSION_MIN)
        .execute(&mut *transaction)
        .await?;
        if History::has_checksums(migration.version()) {
            keep_checksums(&mut transaction).await?;
        }
        transaction.commit().await?;
        tracing::info!(version = migration.version(), name = migration.name(), "migrated");
    }
    connection.execute("reset lock_timeout").await?;
    Ok(())
}

/// Also of the migrations that were applied before there were checksums: this program's are taken to be theirs.
async fn keep_checksums(connection: &mut Connection) -> Result<(), sqlx::Error> {
    let (versions, checksums): (Vec<i64>, Vec<String>) =
        MIGRATIONS.iter().map(|it| (it.version(), it.checksum())).unzip();
    sqlx::query(
        "update schema_version s set checksum = k.checksum, schema_min = $3
         from unnest($1::bigint[], $2::text[]) k (version, checksum)
         where s.version = k.version and s.checksum is null",
    )
    .bind(versions)
    .bind(checksums)
    .bind(SCHEMA_MIN)
    .execute(connection)
    .await?;
    Ok(())
}
