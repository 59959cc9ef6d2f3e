//! Keeps the database files from other users of the machine. They have all contents and, without a master key, the signing secrets.

use std::fs::{DirBuilder, File, Permissions, metadata, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::domain::{Error, Result};

const FOLDER_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;
/// What others than the owner may do.
const OTHERS: u32 = 0o077;
/// SQLite gives those that it makes the mode of the database.
const SUFFIXES: [&str; 6] = ["", "-wal", "-shm", "-journal", ".lock", ".reserve"];

/// Makes the folder of the database, and those above it, where there are none. Folders that were there keep their mode: others may
/// have to do with them.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) else {
        return Ok(());
    };
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
    made.map_err(|error| {
        Error::file(format!("the folder {} cannot be made", folder.display()), &error)
    })
}

/// Makes the database file where there is none, and takes the rights of others from the files that are there. A file that is there is
/// never opened: closing it would drop the locks that SQLite has on it in this process.
pub(in crate::storage) fn protect(path: &Path) {
    // What goes wrong here, SQLite says when it opens the file.
    let _ = File::options().write(true).create_new(true).mode(FILE_MODE).open(path);
    for suffix in SUFFIXES {
        let file = sibling(path, suffix);
        if let Err(error) = close_to_others(&file) {
            tracing::warn!(%error, file = %file.display(), "other users may read this file; chmod 600 it");
        }
    }
}

fn close_to_others(file: &Path) -> io::Result<()> {
    let mode = match metadata(file) {
        Ok(found) => found.permissions().mode(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & OTHERS == 0 {
        Ok(())
    } else {
        set_permissions(file, Permissions::from_mode(FILE_MODE))
    }
}

/// The file that has the name of the database and a suffix.
pub fn sibling(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
