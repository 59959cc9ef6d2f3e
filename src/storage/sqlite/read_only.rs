//! Opens a database that may only be read: a copy on a read-only disk, or another user's.
//!
//! SQLite needs a `-shm` file beside a database with a `-wal`, and makes it where it may. Where it may not, nobody writes, and the `-wal`
//! is read all the same.

use std::fs::{File, metadata};
use std::path::Path;

use rustix::fs::{Access, access};
use sqlx::sqlite::{SqliteConnectOptions, SqliteLockingMode};

use super::private_files::sibling;
use crate::domain::{Error, Result};

/// How to open the database for reading. None: it may be written, so it is opened like any other.
///
/// # Errors
/// `Obstacle` where its log cannot be read: without it, the database would be shown as it was before.
pub(in crate::storage) fn options(path: &Path) -> Result<Option<SqliteConnectOptions>> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let has_index = sibling(path, "-shm").exists();
    let may_write = |it: &Path| access(it, Access::WRITE_OK).is_ok();
    if may_write(path) && (has_index || may_write(folder)) {
        return Ok(None);
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let log = sibling(path, "-wal");
    let has_log = metadata(&log).is_ok_and(|it| it.len() > 0);
    if has_log {
        File::open(&log).map_err(|error| {
            let what = format!(
                "the log {} of the database cannot be read, and the database without it is older than what was stored",
                log.display()
            );
            Error::file(what, &error)
        })?;
    }
    Ok(Some(match (has_index, has_log) {
        // Somebody may be writing: it is locked like any other.
        (true, _) => options,
        (false, false) => options.immutable(true),
        // Each connection reads the log for itself. Locks need a file that may be written.
        (false, true) => options.vfs("unix-none").locking_mode(SqliteLockingMode::Exclusive),
    }))
}
