//! Numbered migrations of the embedded database.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor, Row};

use super::connection::Connections;
use super::errors::storage_error;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// (version, oldest schema version a binary must know to run on it, statements)
const MIGRATIONS: &[(i64, i64, &str)] = &[
    (1, 1, include_str!("../../../migrations/sqlite/0001_foundation.sql")),
    (2, 1, include_str!("../../../migrations/sqlite/0002_retention.sql")),
    (3, 1, include_str!("../../../migrations/sqlite/0003_objects.sql")),
    (4, 1, include_str!("../../../migrations/sqlite/0004_tokens.sql")),
    (5, 1, include_str!("../../../migrations/sqlite/0005_encryption.sql")),
    (6, 1, include_str!("../../../migrations/sqlite/0006_rows.sql")),
    (7, 1, include_str!("../../../migrations/sqlite/0007_quotas_audit.sql")),
    (8, 1, include_str!("../../../migrations/sqlite/0008_owned_threads.sql")),
    (9, 1, include_str!("../../../migrations/sqlite/0009_items.sql")),
    (10, 1, include_str!("../../../migrations/sqlite/0010_vectors.sql")),
    (11, 1, include_str!("../../../migrations/sqlite/0011_item_history.sql")),
    (12, 1, include_str!("../../../migrations/sqlite/0012_words.sql")),
    (13, 1, include_str!("../../../migrations/sqlite/0013_item_changes.sql")),
    (14, 1, include_str!("../../../migrations/sqlite/0014_files.sql")),
    (15, 1, include_str!("../../../migrations/sqlite/0015_sessions.sql")),
    (16, 1, include_str!("../../../migrations/sqlite/0016_contents.sql")),
    (17, 1, include_str!("../../../migrations/sqlite/0017_item_puts.sql")),
    (18, 1, include_str!("../../../migrations/sqlite/0018_snapshots.sql")),
    (19, 1, include_str!("../../../migrations/sqlite/0019_archives.sql")),
    (20, 1, include_str!("../../../migrations/sqlite/0020_key_hashes.sql")),
    (21, 1, include_str!("../../../migrations/sqlite/0021_revocation_chains.sql")),
    (22, 1, include_str!("../../../migrations/sqlite/0022_rights.sql")),
    (23, 1, include_str!("../../../migrations/sqlite/0023_background_tasks.sql")),
    (24, 1, include_str!("../../../migrations/sqlite/0024_removals.sql")),
];

const CREATE_VERSION: &str = "
create table if not exists schema_version (
    version integer primary key,
    min_binary_version integer not null,
    applied_at integer not null
) strict";

/// Brings the file to the newest schema, or checks that it has one this binary can run on.
pub(super) async fn migrate(connections: &Connections, allowed: bool) -> Result<()> {
    let mut write = connections.begin_write().await?;
    write.execute(CREATE_VERSION).await.map_err(storage_error)?;
    let (mut version, min_binary) = read_version(&mut write).await.map_err(storage_error)?;
    check_versions((version, min_binary), allowed)?;
    for &(number, min_binary, statements) in MIGRATIONS {
        if number <= version {
            continue;
        }
        write.execute(AssertSqlSafe(statements)).await.map_err(storage_error)?;
        sqlx::query(
            "insert into schema_version (version, min_binary_version, applied_at)
             values ($1, $2, cast(unixepoch('subsec') * 1000000 as integer))",
        )
        .bind(number)
        .bind(min_binary)
        .execute(&mut *write)
        .await
        .map_err(storage_error)?;
        version = number;
    }
    write.commit().await
}

/// As [`migrate`], where nothing may be written.
pub(super) async fn check(connections: &Connections) -> Result<()> {
    let mut read = connections.begin_read().await?;
    let known = "select count(*) from sqlite_schema where name = 'schema_version'";
    let known: i64 =
        sqlx::query_scalar(known).fetch_one(&mut *read).await.map_err(storage_error)?;
    let versions = match known {
        0 => (0, 0),
        _ => read_version(&mut read).await.map_err(storage_error)?,
    };
    read.end().await?;
    check_versions(versions, false)
}

fn check_versions((version, min_binary): (i64, i64), allowed: bool) -> Result<()> {
    let newest = MIGRATIONS[MIGRATIONS.len() - 1].0;
    if min_binary > newest {
        return Err(refuse(format!(
            "the database has schema {version}, which needs a newer threadkeep (this one knows schema {newest})"
        )));
    }
    if version == 0 && !allowed {
        let detail = "the database has no schema of threadkeep yet: run `threadkeep migrate`";
        return Err(Error::Obstacle { kind: Obstacle::DatabaseAbsent, detail: detail.into() });
    }
    if version < newest && !allowed {
        return Err(refuse(format!(
            "the database has schema {version}, this threadkeep needs {newest}: run `threadkeep migrate`"
        )));
    }
    Ok(())
}

async fn read_version(connection: &mut SqliteConnection) -> Result<(i64, i64), sqlx::Error> {
    let row = sqlx::query(
        "select coalesce(max(version), 0), coalesce(max(min_binary_version), 0) from schema_version",
    )
    .fetch_one(connection)
    .await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn refuse(detail: String) -> Error {
    Error::invalid("database-url", detail)
}
