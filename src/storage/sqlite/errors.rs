//! Converts an error of SQLite into the domain's error.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::domain::Error;
use crate::domain::batch_error::BatchError;
use crate::domain::error::Obstacle;
use crate::storage::db::error_counts;

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
/// Extended codes of `IO_ERROR`: a sync failed. What was to be synced, a commit with it, may be in the file or not.
const NOT_SYNCED: [i32; 2] = [1034, 1290];
const NOT_A_DATABASE: i32 = 26;

/// Its extended codes `SQLITE_IOERR_READ`, `_SHORT_READ`, `_DATA` and `_CORRUPTFS`.
const READ_FAILED: i32 = IO_ERROR | 1 << 8;
const READ_SHORT: i32 = IO_ERROR | 2 << 8;
const READ_DATA: i32 = IO_ERROR | 32 << 8;
const READ_CORRUPT: i32 = IO_ERROR | 33 << 8;

/// How often a database of this process met a full disk. Whoever has a writer sees by it that one of his statements did: one that is
/// not his costs only a reserve that is made again.
static TIMES_FULL: AtomicU64 = AtomicU64::new(0);

pub(super) fn times_full() -> u64 {
    TIMES_FULL.load(Relaxed)
}

/// SQLite's primary result codes that the metrics name; others are `other`.
const NAMES: [(i32, &str); 16] = [
    (1, "SQLITE_ERROR"),
    (3, "SQLITE_PERM"),
    (BUSY, "SQLITE_BUSY"),
    (LOCKED, "SQLITE_LOCKED"),
    (7, "SQLITE_NOMEM"),
    (READ_ONLY, "SQLITE_READONLY"),
    (INTERRUPTED, "SQLITE_INTERRUPT"),
    (IO_ERROR, "SQLITE_IOERR"),
    (CORRUPT, "SQLITE_CORRUPT"),
    (FULL, "SQLITE_FULL"),
    (CANNOT_OPEN, "SQLITE_CANTOPEN"),
    (17, "SQLITE_SCHEMA"),
    (18, "SQLITE_TOOBIG"),
    (19, "SQLITE_CONSTRAINT"),
    (20, "SQLITE_MISMATCH"),
    (NOT_A_DATABASE, "SQLITE_NOTADB"),
];

/// Lets the counters of all codes begin at 0.
pub(super) fn begin_counting() {
    let names = NAMES.iter().map(|it| it.1);
    names.chain([error_counts::CONNECTION, error_counts::OTHER]).for_each(error_counts::begin);
}

/// Each error is converted once, so it is counted where it is converted.
fn count(error: &sqlx::Error) {
    let class = match (error, primary_code(error)) {
        (_, Some(code)) => {
            NAMES.iter().find(|it| it.0 == code).map_or(error_counts::OTHER, |it| it.1)
        }
        (sqlx::Error::WorkerCrashed | sqlx::Error::Io(_), None) => error_counts::CONNECTION,
        // No error of the database: a row that is not there, a column that cannot be read.
        _ => return,
    };
    error_counts::count(class);
}

pub(in crate::storage) fn storage_error(error: &sqlx::Error) -> Error {
    count(error);
    if is_unsynced(error) {
        return Error::CommitUnknown { detail: error.to_string() };
    }
    if let Some((kind, detail)) = obstacle(error) {
        return Error::Obstacle { kind, detail };
    }
    match primary_code(error) {
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
pub(in crate::storage) fn open_error(error: sqlx::Error, path: &Path) -> Error {
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
        _ => storage_error(&error),
    }
}

/// What is in the way of the whole database. SQLite has then written nothing, whether a statement failed or a commit: it undoes a
/// transaction whose pages it could not write.
fn obstacle(error: &sqlx::Error) -> Option<(Obstacle, String)> {
    let (kind, why) = match primary_code(error)? {
        FULL => {
            TIMES_FULL.fetch_add(1, Relaxed);
            (Obstacle::DiskFull, "the disk is full")
        }
        IO_ERROR => (Obstacle::FileFailed, "the database's files cannot be used"),
        READ_ONLY => (Obstacle::PermissionDenied, "the database may not be written"),
        CANNOT_OPEN => (Obstacle::FileFailed, "the database's files cannot be opened"),
        _ => return None,
    };
    Some((kind, format!("{why}: {error}")))
}

/// A disk that is full, before a batch begins.
pub(super) fn no_room(error: Error) -> BatchError {
    match error {
        Error::Obstacle { kind, detail } => BatchError::Obstacle { kind, detail },
        other => BatchError::Unavailable(other.to_string()),
    }
}

fn is_unsynced(error: &sqlx::Error) -> bool {
    extended_code(error).is_some_and(|code| NOT_SYNCED.contains(&code))
}

/// As [`storage_error`], for a batch. The codes say the same for every statement of it, its commit included.
pub(in crate::storage) fn batch_error(error: &sqlx::Error) -> BatchError {
    count(error);
    match (error, primary_code(error)) {
        (_, Some(BUSY | LOCKED)) => BatchError::Retry(error.to_string()),
        (sqlx::Error::WorkerCrashed | sqlx::Error::Io(_), _) => {
            BatchError::ConnectionLost(error.to_string())
        }
        _ if is_unsynced(error) => BatchError::ConnectionLost(error.to_string()),
        _ => match obstacle(error) {
            Some((kind, detail)) => BatchError::Obstacle { kind, detail },
            None => BatchError::Statement(error.to_string()),
        },
    }
}

/// As [`storage_error`], for rows that a transaction only reads: a text that is none, and a part of the file that the disk does not give
/// back, are damage.
pub(in crate::storage) fn read_error(error: &sqlx::Error) -> Error {
    match extended_code(error) {
        Some(READ_FAILED | READ_SHORT | READ_DATA | READ_CORRUPT) => {
            Error::Integrity(error.to_string())
        }
        _ => write_error(error),
    }
}

/// As [`read_error`], for a transaction that writes: a disk that fails is in the way of the whole write, and damage is for a read to find.
pub(in crate::storage) fn write_error(error: &sqlx::Error) -> Error {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            Error::Integrity("a column holds a text that is none".into())
        }
        error => storage_error(error),
    }
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    extended_code(error).map(|code| code & 0xff)
}

fn extended_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else {
        return None;
    };
    error.code()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    #[derive(Debug)]
    struct Fake(&'static str);

    impl std::fmt::Display for Fake {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Fake {}

    impl DatabaseError for Fake {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    fn error(code: &'static str) -> sqlx::Error {
        sqlx::Error::Database(Box::new(Fake(code)))
    }

    /// Full, a failed read, a failed write, a log that cannot be mapped, read-only in three ways, no file to open.
    #[test]
    fn what_is_in_the_way_of_a_write_leaves_nothing_of_it() {
        for code in ["13", "266", "778", "4874", "8", "264", "1032", "14"] {
            let batch = batch_error(&error(code));
            assert!(matches!(batch, BatchError::Obstacle { .. }), "{code}: {batch}");
            let call = storage_error(&error(code));
            assert!(matches!(call, Error::Obstacle { .. }), "{code}: {call}");
        }
    }

    #[test]
    fn of_a_commit_that_was_not_synced_nobody_knows() {
        for code in ["1034", "1290"] {
            assert!(matches!(batch_error(&error(code)), BatchError::ConnectionLost(_)));
            assert!(matches!(storage_error(&error(code)), Error::CommitUnknown { .. }));
        }
    }

    #[test]
    fn what_is_wrong_with_a_statement_or_a_page_is_in_nobodys_way() {
        assert!(matches!(batch_error(&error("5")), BatchError::Retry(_)));
        assert!(matches!(batch_error(&error("19")), BatchError::Statement(_)));
        assert!(matches!(storage_error(&error("11")), Error::Integrity(_)));
    }

    /// A failed and a short read, bytes that do not fit their checksum, a file system that is damaged.
    #[test]
    fn a_failed_read_is_damage_to_who_reads_and_in_the_way_of_who_writes() {
        for code in ["266", "522", "8202", "8458"] {
            assert!(matches!(read_error(&error(code)), Error::Integrity(_)), "{code}");
            assert!(matches!(write_error(&error(code)), Error::Obstacle { .. }), "{code}");
        }
        assert!(matches!(write_error(&error("11")), Error::Integrity(_)));
    }
}
