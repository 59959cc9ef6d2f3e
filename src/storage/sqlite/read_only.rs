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

/// A file system of SQLite that takes no locks.
const NO_LOCKS: &str = "unix-none";

/// What a reader of a database that may only be read has to do.
#[derive(Clone, Copy)]
enum Way {
    /// Lock it like any other: somebody may be writing.
    Shared,
    /// There is no log.
    Immutable,
    /// Each connection reads the log for itself. Locks need a file that may be written.
    Alone,
}

/// How to open the database for reading. None: it may be written, so it is opened like any other.
///
/// # Errors
/// `Obstacle` where its log cannot be read: without it, the database would be shown as it was before.
pub(in crate::storage) fn options(path: &Path) -> Result<Option<SqliteConnectOptions>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    Ok(way(path)?.map(|way| match way {
        Way::Shared => options,
        Way::Immutable => options.immutable(true),
        Way::Alone => options.vfs(NO_LOCKS).locking_mode(SqliteLockingMode::Exclusive),
    }))
}

/// The address by which a connection to another database attaches this one for reading.
///
/// # Errors
/// As [`options`].
pub(super) fn address(path: &Path) -> Result<String> {
    let wrong = |()| Error::invalid("data-dir", "the path of the database must be absolute");
    let mut address = url::Url::from_file_path(path).map_err(wrong)?;
    let mut query = address.query_pairs_mut();
    query.append_pair("mode", "ro");
    match way(path)? {
        None | Some(Way::Shared) => {}
        Some(Way::Immutable) => drop(query.append_pair("immutable", "1")),
        Some(Way::Alone) => drop(query.append_pair("vfs", NO_LOCKS)),
    }
    drop(query);
    Ok(address.into())
}

fn way(path: &Path) -> Result<Option<Way>> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let has_index = sibling(path, "-shm").exists();
    let may_write = |it: &Path| access(it, Access::WRITE_OK).is_ok();
    if may_write(path) && (has_index || may_write(folder)) {
        return Ok(None);
    }
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
        (true, _) => Way::Shared,
        (false, false) => Way::Immutable,
        (false, true) => Way::Alone,
    }))
}
