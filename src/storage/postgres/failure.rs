//! What an error of the database means to a caller.

use std::time::Duration;

use crate::domain::Error;
use crate::domain::error::Obstacle;
use crate::domain::storage::BatchError;

/// Serialization failure, deadlock, and a cached plan that a migration made stale.
const RETRY: [&str; 3] = ["40001", "40P01", "0A000"];
/// Classes of "the server is going away or not taking connections": 57P, 08, 53.
const GONE: [&str; 3] = ["57P", "08", "53"];

/// The database became a standby, or was made read-only: the statement did nothing.
const READ_ONLY: &str = "25006";
const DISK_FULL: &str = "53100";
const DENIED: &str = "42501";
/// Only searches have a limit of time.
const CANCELED: &str = "57014";

pub fn of_batch(error: &sqlx::Error) -> BatchError {
    match code(error) {
        Some(code) if code == READ_ONLY => BatchError::Unavailable(error.to_string()),
        Some(code) if RETRY.contains(&code.as_str()) => BatchError::Retry(error.to_string()),
        Some(code) if GONE.iter().any(|class| code.starts_with(class)) => {
            BatchError::ConnectionLost(error.to_string())
        }
        None if is_connection(error) => BatchError::ConnectionLost(error.to_string()),
        Some(_) | None => BatchError::Statement(error.to_string()),
    }
}

/// For reads and single transactions: a broken connection can be tried again, a full disk and a missing permission can be mended,
/// anything else is a defect.
pub fn of_call(error: &sqlx::Error) -> Error {
    let obstacle = |kind, what: &str| Error::Obstacle { kind, detail: format!("{what}: {error}") };
    match code(error).as_deref() {
        Some(DISK_FULL) => {
            return obstacle(Obstacle::DiskFull, "the disk of the database server is full");
        }
        Some(DENIED) => {
            return obstacle(
                Obstacle::PermissionDenied,
                "the database user lacks a permission that threadkeep needs (it makes tables in the schema)",
            );
        }
        Some(CANCELED) => return Error::ReadTooLong,
        _ => {}
    }
    match of_batch(error) {
        BatchError::Statement(detail) => Error::Internal(detail),
        BatchError::Retry(detail)
        | BatchError::Unavailable(detail)
        | BatchError::ConnectionLost(detail) => {
            Error::Unavailable { detail, retry_after: Duration::from_secs(1) }
        }
    }
}

pub fn is_connection(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed
    )
}

/// Whether other connections are most likely of no use either.
pub fn is_of_all_connections(error: &sqlx::Error) -> bool {
    is_connection(error) || code(error).is_some_and(|it| it == READ_ONLY)
}

fn code(error: &sqlx::Error) -> Option<String> {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .map(std::borrow::Cow::into_owned)
}
