//! Checks the first connection of a process. Where it fails, one sentence tells why, and which setting to change.

use std::io;
use std::time::Duration;

use futures::future::join_all;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Row as _};

use super::pool::Pool;
use super::servers::{ASK, Refusal, Servers, place};
use super::{database_url, other_servers, tls};
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};
use crate::storage::StorageConfig;

/// A database that sleeps while nobody uses it needs a moment.
const WITHIN: Duration = Duration::from_secs(5);
const FIELD: &str = "database-url";
const SETTING: &str = "--database-url or THREADKEEP_DATABASE_URL says where it is";

/// Settings of every session.
const SESSION: [(&str, &str); 9] = [
    ("synchronous_commit", "on"),
    // One plan per statement and connection: planning anew costs more than any better plan saves.
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    // Every join of a request finds rows by key. Plans are made before there are statistics, so the other ways are closed; removals
    // open them again.
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("timezone", "UTC"),
    ("default_transaction_isolation", "read committed"),
    ("idle_in_transaction_session_timeout", "60000"),
];

/// The servers that the URL names. The log says what somebody on the network between could do.
///
/// # Errors
/// See [`database_url::parse`].
pub fn servers(config: &StorageConfig) -> Result<Servers> {
    let servers = Servers::new(database_url::parse(FIELD, &config.url)?);
    for weakness in servers.all().iter().filter_map(|it| tls::weakness(&it.options)) {
        tracing::warn!("{weakness}");
    }
    let name = other_servers::own_name(config);
    Ok(servers.map(|it| config.read_times.logged(it.application_name(name).options(SESSION))))
}

/// Connects once to every server. One has to take writes, and not more than one: two primaries have different data.
///
/// # Errors
/// `Obstacle` says what is in the way, and never a password.
pub async fn check(servers: &Servers) -> Result<()> {
    let tried = join_all(servers.all().iter().map(|it| it.connect(WITHIN))).await;
    let (mut primaries, mut refusals) = (Vec::new(), Vec::new());
    for (server, tried) in servers.all().iter().zip(tried) {
        match tried {
            Ok(connected) => {
                // It has done its work, however it ends.
                let _ = connected.connection.close().await;
                primaries.push(place(&server.options));
            }
            Err(refusal) => refusals.push(explain(&server.options, &refusal)),
        }
    }
    match primaries.len() {
        0 => Err(of_all(refusals)),
        1 => Ok(()),
        _ => {
            let detail = format!(
                "--database-url names more than one server that takes writes ({}): they have different data; leave one",
                primaries.join(", ")
            );
            Err(Error::invalid(FIELD, detail))
        }
    }
}

/// One error for all. Its kind is that of the last server.
fn of_all(mut refusals: Vec<Error>) -> Error {
    match refusals.pop() {
        Some(Error::Obstacle { kind, detail }) => {
            let texts: Vec<String> =
                refusals.iter().map(ToString::to_string).chain(std::iter::once(detail)).collect();
            Error::Obstacle { kind, detail: texts.join("; ") }
        }
        Some(other) => other,
        None => Error::Internal("the database URL names no server".into()),
    }
}

fn explain(options: &PgConnectOptions, refusal: &Refusal) -> Error {
    match refusal {
        Refusal::Sql(error) => explain_error(options, error),
        Refusal::ReadOnly(_) => Error::Obstacle {
            kind: Obstacle::DatabaseAway,
            detail: format!(
                "{refusal}; use the address of the primary, or name all servers: postgres://USER@A,B/DATABASE"
            ),
        },
        Refusal::Silent(_) | Refusal::All(_) => {
            away(options, &format!("it does not answer within {} seconds", WITHIN.as_secs()))
        }
    }
}

fn explain_error(options: &PgConnectOptions, error: &sqlx::Error) -> Error {
    let obstacle = |kind, detail| Error::Obstacle { kind, detail };
    let (at, user) = (place(options), options.get_username());
    let database = options.get_database().unwrap_or(user);
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    if let Some(why) = tls::refusal(error) {
        let detail = format!("no TLS connection to the database at {at}: {why}");
        return obstacle(Obstacle::DatabaseRefused, detail);
    }
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

/// A primary that became a standby answers, but takes no writes.
///
/// # Errors
/// `Unavailable`.
pub(super) async fn check_takes_writes(pool: &Pool) -> Result<()> {
    let mut connection = pool.get().await?;
    let row = sqlx::raw_sql(ASK).fetch_one(&mut *connection).await?;
    if row.get("read_only") {
        connection.close();
        let detail = "the database is a read-only standby, or was made read-only".into();
        return Err(Error::Unavailable { detail, retry_after: Duration::from_secs(1) });
    }
    Ok(())
}

/// Refuses, with advice, a database that would lose acknowledged writes or mix up sessions.
pub(super) async fn check_fit(pool: &Pool, allow_unsafe: bool) -> Result<()> {
    let row = sqlx::query(
        "select current_setting('fsync') as fsync,
            current_setting('server_version_num')::integer as version,
            current_setting('synchronous_commit') as synchronous_commit,
            current_setting('plan_cache_mode') as plan_cache_mode",
    )
    .fetch_one(&mut *pool.get().await?)
    .await?;
    let refuse = |advice: &str| Err(Error::invalid("database_url", advice));
    if row.get::<i32, _>("version") < 140_000 {
        return refuse("PostgreSQL 14 or later is needed");
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
