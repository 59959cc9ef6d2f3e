//! The first connection of a process: whoever cannot have it is told in a sentence why, and where the setting is.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::time::timeout;

use super::failure;
use super::pool::Pool;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

const WITHIN: Duration = Duration::from_secs(5);
const SETTING: &str = "--database-url or THREADKEEP_DATABASE_URL says where it is";

/// Reads `postgres://…`.
///
/// # Errors
/// `Invalid` for another text; what is in it is not repeated, as it may hold a password.
pub fn options(url: &str) -> Result<PgConnectOptions> {
    PgConnectOptions::from_str(url).map_err(|error| {
        let detail = format!(
            "--database-url cannot be read: {error}; it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE, with special characters \
             of the password percent-encoded"
        );
        Error::invalid("database-url", detail)
    })
}

/// Connects once.
///
/// # Errors
/// `Obstacle` says what is in the way, and never a password.
pub async fn check(options: &PgConnectOptions) -> Result<()> {
    let refused = match timeout(WITHIN, options.connect()).await {
        Ok(Ok(connection)) => {
            // It has done its work, however it ends.
            let _ = connection.close().await;
            return Ok(());
        }
        Ok(Err(error)) => explain(options, &error),
        Err(_) => {
            let why = format!("it does not answer within {} seconds", WITHIN.as_secs());
            away(options, &why)
        }
    };
    Err(refused)
}

fn explain(options: &PgConnectOptions, error: &sqlx::Error) -> Error {
    let obstacle = |kind, detail| Error::Obstacle { kind, detail };
    let (at, user) = (place(options), options.get_username());
    let database = options.get_database().unwrap_or(user);
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    match (code.as_deref(), error) {
        (Some("28P01" | "28000"), _) => obstacle(
            Obstacle::DatabaseRefused,
            format!(
                "the database at {at} does not let user {user:?} in: {error}; check user and password in --database-url"
            ),
        ),
        (Some("3D000"), _) => obstacle(
            Obstacle::DatabaseMissing,
            format!(
                "the database server at {at} has no database {database:?}; make it (createdb {database}), or name another one in \
                 --database-url"
            ),
        ),
        (Some("42501"), _) => obstacle(
            Obstacle::DatabaseRefused,
            format!("user {user:?} may not use database {database:?} at {at}: {error}"),
        ),
        (None, sqlx::Error::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            away(options, "nothing listens there; is it running?")
        }
        (_, error) => away(options, &error.to_string()),
    }
}

fn away(options: &PgConnectOptions, why: &str) -> Error {
    let detail = format!("the database at {} cannot be reached: {why} ({SETTING})", place(options));
    Error::Obstacle { kind: Obstacle::DatabaseAway, detail }
}

fn place(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// Refuses, with advice, a database that would lose acknowledged writes or mix up sessions.
pub(super) async fn check_fit(pool: &Pool, allow_unsafe: bool) -> Result<()> {
    let mut connection = pool.get().await?;
    let row = sqlx::query(
        "select current_setting('fsync') as fsync, pg_is_in_recovery() as standby,
            current_setting('server_version_num')::integer as version,
            current_setting('synchronous_commit') as synchronous_commit,
            current_setting('plan_cache_mode') as plan_cache_mode",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(|error| failure::of_call(&error))?;
    connection.release();
    let refuse = |advice: &str| Err(Error::invalid("database_url", advice));
    if row.get::<i32, _>("version") < 140_000 {
        return refuse("PostgreSQL 14 or later is needed");
    }
    if row.get("standby") {
        return refuse("the database is a read-only standby; use the address of the primary");
    }
    if row.get::<String, _>("fsync") == "off" && !allow_unsafe {
        return refuse(
            "the database runs with fsync = off and would lose acknowledged writes; turn it on, \
             or pass --allow-unsafe for tests",
        );
    }
    // A pooler in transaction mode drops settings of the session, and prepared statements with them.
    if row.get::<String, _>("plan_cache_mode") != "force_generic_plan"
        || row.get::<String, _>("synchronous_commit") != "on"
    {
        return refuse(
            "settings of the session do not reach the database: a pooler in transaction mode stands \
             between; connect to the database itself or use session mode",
        );
    }
    Ok(())
}
