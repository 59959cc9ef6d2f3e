//! What an error of SQLite means to the domain.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::domain::Error;
use crate::domain::error::Obstacle;
use crate::domain::storage::BatchError;

/// SQLite's primary result codes that mean something to a caller.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
/// Only readers have a limit of time.
const INTERRUPTED: i32 = 9;
const IO_ERROR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;

/// Its extended codes `SQLITE_IOERR_READ`, `_SHORT_READ`, `_DATA` and `_CORRUPTFS`.
const READ_FAILED: i32 = IO_ERROR | 1 << 8;
const READ_SHORT: i32 = IO_ERROR | 2 << 8;
const READ_DATA: i32 = IO_ERROR | 32 << 8;
const READ_CORRUPT: i32 = IO_ERROR | 33 << 8;

/// By value, as `map_err` hands it over.
#[allow(clippy::needless_pass_by_value)]
pub(super) fn storage_error(error: sqlx::Error) -> Error {
    match primary_code(&error) {
        Some(FULL) => {
            let detail = format!("the disk is full: {error}");
            Error::Obstacle { kind: Obstacle::DiskFull, detail }
        }
        Some(BUSY | LOCKED) => {
            Error::Unavailable { detail: error.to_string(), retry_after: Duration::from_secs(1) }
        }
        Some(INTERRUPTED) => Error::ReadTooLong,
        Some(CORRUPT | NOT_A_DATABASE) => Error::Integrity(error.to_string()),
        _ => Error::Internal(error.to_string()),
    }
}

/// As [`storage_error`], for the first thing that is done with a file: says what is wrong with it.
#[allow(clippy::needless_pass_by_value)]
pub(super) fn open_error(error: sqlx::Error, path: &Path) -> Error {
    let obstacle = |kind, why: &str| {
        let detail = format!("the database {} cannot be used: {why}", path.display());
        Error::Obstacle { kind, detail }
    };
    match primary_code(&error) {
        Some(FULL) => obstacle(Obstacle::DiskFull, "the disk is full"),
        Some(READ_ONLY) => {
            obstacle(Obstacle::PermissionDenied, "its file or folder may not be written")
        }
        // SQLite does not say why.
        Some(CANNOT_OPEN) => {
            let opened = File::options().read(true).write(true).open(path);
            let why = opened.err().unwrap_or_else(|| io::ErrorKind::PermissionDenied.into());
            obstacle(Obstacle::of_file(&why), &why.to_string())
        }
        Some(NOT_A_DATABASE) => obstacle(Obstacle::FileFailed, "it is no SQLite database"),
        _ => storage_error(error),
    }
}

/// As [`storage_error`], for a batch. The codes say the same for every statement of it, its commit included:
/// SQLite has then written nothing.
pub(super) fn batch_error(error: &sqlx::Error) -> BatchError {
    match (error, primary_code(error)) {
        (_, Some(BUSY | LOCKED)) => BatchError::Retry(error.to_string()),
        (_, Some(FULL)) => BatchError::Unavailable(error.to_string()),
        // A failed write or sync may have reached the disk.
        (_, Some(IO_ERROR)) | (sqlx::Error::WorkerCrashed | sqlx::Error::Io(_), _) => {
            BatchError::ConnectionLost(error.to_string())
        }
        _ => BatchError::Statement(error.to_string()),
    }
}

/// The disk does not give a part of the file back.
pub(super) fn is_read_error(error: &sqlx::Error) -> bool {
    matches!(extended_code(error), Some(READ_FAILED | READ_SHORT | READ_DATA | READ_CORRUPT))
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    extended_code(error).map(|it| it & 0xff)
}

fn extended_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else {
        return None;
    };
    error.code()?.parse().ok()
}
