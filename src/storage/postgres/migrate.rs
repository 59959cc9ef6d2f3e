//! Runs the numbered migrations, each in its own transaction, under an advisory lock that it polls: any number
//! of servers may start at once.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor, Row};

use super::connection::Connection;
use super::failure;
use super::pool::Pool;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// (version, name, text). A migration is never edited once it was released.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "foundation", include_str!("../../../migrations/postgres/0001_foundation.sql")),
    (2, "retention", include_str!("../../../migrations/postgres/0002_retention.sql")),
    (3, "objects", include_str!("../../../migrations/postgres/0003_objects.sql")),
    (4, "tokens", include_str!("../../../migrations/postgres/0004_tokens.sql")),
    (5, "encryption", include_str!("../../../migrations/postgres/0005_encryption.sql")),
    (6, "rows", include_str!("../../../migrations/postgres/0006_rows.sql")),
    (7, "quotas_audit", include_str!("../../../migrations/postgres/0007_quotas_audit.sql")),
    (8, "owned_threads", include_str!("../../../migrations/postgres/0008_owned_threads.sql")),
    (9, "items", include_str!("../../../migrations/postgres/0009_items.sql")),
    (10, "vectors", include_str!("../../../migrations/postgres/0010_vectors.sql")),
    (11, "item_history", include_str!("../../../migrations/postgres/0011_item_history.sql")),
    (12, "words", include_str!("../../../migrations/postgres/0012_words.sql")),
    (13, "item_changes", include_str!("../../../migrations/postgres/0013_item_changes.sql")),
    (14, "files", include_str!("../../../migrations/postgres/0014_files.sql")),
    (15, "sessions", include_str!("../../../migrations/postgres/0015_sessions.sql")),
    (16, "contents", include_str!("../../../migrations/postgres/0016_contents.sql")),
    (17, "item_puts", include_str!("../../../migrations/postgres/0017_item_puts.sql")),
    (18, "snapshots", include_str!("../../../migrations/postgres/0018_snapshots.sql")),
    (19, "archives", include_str!("../../../migrations/postgres/0019_archives.sql")),
    (20, "key_hashes", include_str!("../../../migrations/postgres/0020_key_hashes.sql")),
    (
        21,
        "revocation_chains",
        include_str!("../../../migrations/postgres/0021_revocation_chains.sql"),
    ),
    (22, "rights", include_str!("../../../migrations/postgres/0022_rights.sql")),
    (
        23,
        "background_tasks",
        include_str!("../../../migrations/postgres/0023_background_tasks.sql"),
    ),
    (24, "removals", include_str!("../../../migrations/postgres/0024_removals.sql")),
];

/// The oldest binary version that can work with the newest schema.
const BINARY_VERSION_MIN: &str = "0.1.0";

/// Any fixed number: only servers of this program ask for it.
const LOCK: i64 = 0x7468_7265_6164_6b70;
const POLLS_MAX: u32 = 600;

/// Brings the schema up to date, or, without `migrate`, refuses an old one.
pub async fn run(pool: &Pool, migrate: bool) -> Result<()> {
    let mut connection = pool.get().await?;
    let current = version(&mut connection).await?;
    let newest = MIGRATIONS.last().map_or(0, |(version, _, _)| *version);
    if current >= newest {
        connection.release();
        return Ok(());
    }
    if !migrate && current == 0 {
        let detail = "the database has no schema of threadkeep yet: run `threadkeep migrate`";
        return Err(Error::Obstacle { kind: Obstacle::DatabaseAbsent, detail: detail.into() });
    }
    if !migrate {
        let advice = format!(
            "the database has schema {current}, this threadkeep needs {newest}: run `threadkeep migrate`"
        );
        return Err(Error::invalid("database-url", advice));
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
    sqlx::query("select pg_advisory_unlock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
    connection.release();
    applied
}

async fn try_lock(connection: &mut Connection) -> Result<bool> {
    let row = sqlx::query("select pg_try_advisory_lock($1) as locked")
        .bind(LOCK)
        .fetch_one(connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
    Ok(row.get("locked"))
}

/// 0 for an empty database.
async fn version(connection: &mut Connection) -> Result<i64> {
    let exists = sqlx::query("select to_regclass('schema_version') is not null as found")
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
    if !exists.get::<bool, _>("found") {
        return Ok(0);
    }
    let row = sqlx::query("select coalesce(max(version), 0) as version from schema_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| failure::of_call(&error))?;
    Ok(row.get("version"))
}

async fn apply(connection: &mut Connection) -> Result<()> {
    let fail = |error: sqlx::Error| failure::of_call(&error);
    connection
        .execute(
            "set lock_timeout = '2s';
             create table if not exists schema_version (
                version bigint primary key, name text not null, min_binary_version text not null,
                applied_at bigint not null)",
        )
        .await
        .map_err(fail)?;
    let current = version(connection).await?;
    for (number, name, text) in MIGRATIONS.iter().filter(|(number, _, _)| *number > current) {
        let mut transaction = connection.begin().await.map_err(fail)?;
        sqlx::raw_sql(AssertSqlSafe(*text)).execute(&mut *transaction).await.map_err(fail)?;
        sqlx::query(
            "insert into schema_version (version, name, min_binary_version, applied_at)
             values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        )
        .bind(number)
        .bind(name)
        .bind(BINARY_VERSION_MIN)
        .execute(&mut *transaction)
        .await
        .map_err(fail)?;
        transaction.commit().await.map_err(fail)?;
        tracing::info!(version = number, name, "migrated");
    }
    connection.execute("reset lock_timeout").await.map_err(fail)?;
    Ok(())
}
