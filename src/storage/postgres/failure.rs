//! Converts an error of the database into the error that a caller sees.

use std::time::Duration;

use crate::domain::Error;
use crate::domain::batch_error::BatchError;
use crate::domain::error::Obstacle;
use crate::storage::db::error_counts;

/// Serialization failure, deadlock, and a cached plan that a migration made stale.
const RETRY: [&str; 3] = ["40001", "40P01", "0A000"];
/// Classes of "the server is going away": what was sent may be done or not.
const GONE: [&str; 2] = ["57P", "08"];
/// The class of "too little of something": memory, connections, a configured limit. The statement was undone.
const SCARCE: &str = "53";

/// The database became a standby, or was made read-only: the statement did nothing.
const READ_ONLY: &str = "25006";
const DISK_FULL: &str = "53100";
/// The system could not read or write a file of the database. The statement was undone.
const IO_ERROR: &str = "58030";
const DENIED: &str = "42501";
/// Only searches have a limit of time.
const CANCELED: &str = "57014";

/// Classes of SQLSTATE that the metrics name; others are `other`.
const CLASSES: [&str; 24] = [
    "08",
    "0A",
    "21",
    "22",
    "23",
    "25",
    "26",
    "28",
    "2D",
    "34",
    "3D",
    "3F",
    "40",
    "42",
    "44",
    "53",
    "54",
    "55",
    "57",
    "58",
    "P0",
    "XX",
    error_counts::CONNECTION,
    error_counts::OTHER,
];

/// Lets the counters of all classes begin at 0.
pub fn begin_counting() {
    CLASSES.into_iter().for_each(error_counts::begin);
}

/// The class of an error, for the metrics.
pub fn class(error: &sqlx::Error) -> &'static str {
    match code(error) {
        Some(code) => {
            let known = CLASSES.into_iter().find(|it| it.len() == 2 && code.starts_with(it));
            known.unwrap_or(error_counts::OTHER)
        }
        None if is_connection(error) => error_counts::CONNECTION,
        None => error_counts::OTHER,
    }
}

pub fn of_batch(error: &sqlx::Error) -> BatchError {
    match code(error) {
        Some(code) if code == READ_ONLY => BatchError::Unavailable(error.to_string()),
        Some(code) if code == DISK_FULL => {
            obstacle(Obstacle::DiskFull, "the disk of the database server is full", error)
        }
        Some(code) if code == IO_ERROR => {
            obstacle(Obstacle::FileFailed, "the database server cannot use its files", error)
        }
        Some(code) if code == DENIED => obstacle(
            Obstacle::PermissionDenied,
            "the database user lacks a permission that threadkeep needs (it makes tables in the schema)",
            error,
        ),
        Some(code) if code.starts_with(SCARCE) => BatchError::Unavailable(error.to_string()),
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
    if code(error).as_deref() == Some(CANCELED) {
        return Error::ReadTooLong;
    }
    match of_batch(error) {
        BatchError::Statement(detail) => Error::Internal(detail),
        BatchError::Obstacle { kind, detail } => Error::Obstacle { kind, detail },
        BatchError::Retry(detail)
        | BatchError::Unavailable(detail)
        | BatchError::ConnectionLost(detail) => {
            Error::Unavailable { detail, retry_after: Duration::from_secs(1) }
        }
    }
}

fn obstacle(kind: Obstacle, what: &str, error: &sqlx::Error) -> BatchError {
    BatchError::Obstacle { kind, detail: format!("{what}: {error}") }
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
