//! Copies an embedded database while a server writes it: SQLite's `vacuum into` reads one state and writes a file of its own.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};

use crate::domain::{Error, Result};
use crate::storage::sqlite::errors::{open_error, write_error};

/// Writes the state of the database at `from` into the new file `to`, which only this user reads, and checks that it can be read.
///
/// # Errors
/// `Obstacle` for files that cannot be read or made, a full disk among them; `Integrity` for a copy that SQLite finds damaged.
pub async fn copy(from: &Path, to: &Path) -> Result<()> {
    let unmade = |error| Error::file(format!("{} cannot be made", to.display()), &error);
    // SQLite writes into an empty file that is there, and leaves who may read it.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(unmade)?;
    let options = SqliteConnectOptions::new()
        .filename(from)
        .create_if_missing(false)
        .pragma("temp_store", "memory");
    let connected = SqliteConnection::connect_with(&options).await;
    let mut source = connected.map_err(|error| open_error(error, from))?;
    let target = to.to_str().ok_or_else(|| Error::invalid("to", "the path must be valid UTF-8"))?;
    let copied = source.execute(sqlx::query("vacuum into $1").bind(target)).await;
    // Nothing was written.
    let _ = source.close().await;
    copied.map_err(|error| write_error(&error))?;
    check(to).await?;
    let synced = File::open(to).and_then(|it| it.sync_all());
    synced.map_err(|error| Error::file(format!("{} cannot be written", to.display()), &error))
}

/// Reads the whole copy.
async fn check(path: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let connected = SqliteConnection::connect_with(&options).await;
    let mut copy = connected.map_err(|error| open_error(error, path))?;
    let told = sqlx::query_scalar::<_, String>("pragma quick_check(1)").fetch_one(&mut copy).await;
    let _ = copy.close().await;
    match told.map_err(|error| write_error(&error))?.as_str() {
        "ok" => Ok(()),
        wrong => Err(Error::Integrity(format!(
            "the copy of the database: {wrong}; `threadkeep doctor` says what is damaged"
        ))),
    }
}
