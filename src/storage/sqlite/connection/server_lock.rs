//! Keeps a second server away from the database file.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};
use crate::storage::sqlite::private_files::{FILE_MODE, sibling};

/// Takes the lock of a server, in a file of its own: SQLite's locks on the database file belong to SQLite.
pub(super) fn lock(path: &Path) -> Result<File> {
    let name = sibling(path, ".lock");
    let mut options = File::options();
    options.create(true).write(true).truncate(false).mode(FILE_MODE);
    let file = options.open(&name);
    let file = file.map_err(|error| {
        Error::file(format!("the lock file {} cannot be opened", name.display()), &error)
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let detail = format!(
                "another server uses the database {}: an embedded database serves one server at a time; stop it, choose \
                 another --data-dir, or use PostgreSQL for several servers",
                path.display()
            );
            Err(Error::Obstacle { kind: Obstacle::DatabaseTaken, detail })
        }
        Err(TryLockError::Error(error)) => {
            Err(Error::file(format!("the lock file {} cannot be locked", name.display()), &error))
        }
    }
}
