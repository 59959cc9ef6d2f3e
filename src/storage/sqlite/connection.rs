//! Connections to one database file: one writer, several readers, and the lock that keeps a second server away.
//!
//! **Invariant:** a connection whose future was dropped, or whose transaction was not ended, is closed and never
//! used again.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex as SyncMutex;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

use super::errors::{open_error, storage_error};
use super::private_files::FILE_MODE;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// Readers measured to be enough for 16 callers on 2 cores; more only cost memory.
const READERS: usize = 6;
/// For keys and readiness: without the keys nobody is let in, so they do not wait for searches. One for the poll, one for a key that
/// is looked up.
const FIRST_READERS: usize = 2;
/// Only other processes make a connection wait: short commands beside the server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// All connections to one file.
pub(super) struct Connections {
    options: SqliteConnectOptions,
    /// None until the first use and after a transaction that was not ended.
    writer: Mutex<Option<SqliteConnection>>,
    /// Held by work that is done in slices, so that at most one slice waits before a batch.
    background: Mutex<()>,
    readers: Semaphore,
    first_readers: Semaphore,
    idle: SyncMutex<Vec<SqliteConnection>>,
    /// Keeps the advisory lock of a server.
    _lock: Option<File>,
}

impl Connections {
    pub(super) fn new(path: &Path, exclusive: bool) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            // The log file would else keep the size of the largest burst for ever.
            .pragma("journal_size_limit", "67108864")
            .pragma("temp_store", "memory")
            .pragma("cache_size", "-16000");
        Ok(Self {
            options,
            writer: Mutex::new(None),
            background: Mutex::new(()),
            readers: Semaphore::new(READERS),
            first_readers: Semaphore::new(FIRST_READERS),
            idle: SyncMutex::new(Vec::new()),
            _lock: if exclusive { Some(lock(path)?) } else { None },
        })
    }

    /// The writer, without a transaction yet: statements that begin one come from the caller.
    pub(super) async fn writer(&self) -> Result<Write<'_>, sqlx::Error> {
        let mut guard = self.writer.lock().await;
        let connection = match guard.take() {
            Some(connection) => connection,
            None => SqliteConnection::connect_with(&self.options).await?,
        };
        Ok(Write { guard, connection: Some(connection) })
    }

    /// Whether the file can be read and written.
    ///
    /// # Errors
    /// `Obstacle` says why not.
    pub(super) async fn check(&self, path: &Path) -> Result<()> {
        let mut writer = self.writer().await.map_err(|error| open_error(error, path))?;
        writer.execute("begin immediate").await.map_err(|error| open_error(error, path))?;
        writer.rollback().await
    }

    /// A write transaction.
    pub(super) async fn begin_write(&self) -> Result<Write<'_>> {
        let mut writer = self.writer().await.map_err(storage_error)?;
        writer.execute("begin immediate").await.map_err(storage_error)?;
        Ok(writer)
    }

    /// A turn for work in slices. Take it, then one `begin_write` per slice.
    pub(super) async fn background(&self) -> MutexGuard<'_, ()> {
        self.background.lock().await
    }

    /// A read transaction: everything read through it is one state of the database.
    pub(super) async fn begin_read(&self) -> Result<Read<'_>> {
        self.begin_read_of(&self.readers).await
    }

    /// The same for keys and readiness: waits for no read of data.
    pub(super) async fn begin_first_read(&self) -> Result<Read<'_>> {
        self.begin_read_of(&self.first_readers).await
    }

    async fn begin_read_of<'a>(&'a self, readers: &'a Semaphore) -> Result<Read<'a>> {
        let closed = |_| Error::Internal("the database was closed".into());
        let permit = readers.acquire().await.map_err(closed)?;
        let kept = self.idle.lock().expect("nothing panics while it holds the list").pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => SqliteConnection::connect_with(&self.options).await.map_err(storage_error)?,
        };
        connection.execute("begin").await.map_err(storage_error)?;
        Ok(Read { pool: self, connection: Some(connection), _permit: permit })
    }

    /// Waits for the writer, then closes what is idle.
    pub(super) async fn close(&self) {
        self.readers.close();
        self.first_readers.close();
        if let Some(connection) = self.writer.lock().await.take() {
            // Nothing is lost when closing fails: what was acknowledged is in the file.
            let _ = connection.close().await;
        }
        let idle = std::mem::take(&mut *self.idle.lock().expect("nothing panics here"));
        for connection in idle {
            let _ = connection.close().await;
        }
    }
}

/// The writer connection, exclusively.
pub(super) struct Write<'a> {
    guard: MutexGuard<'a, Option<SqliteConnection>>,
    connection: Option<SqliteConnection>,
}

impl Write<'_> {
    /// Makes the transaction durable.
    pub(super) async fn commit(mut self) -> Result<()> {
        self.execute("commit").await.map_err(storage_error)?;
        self.give_back();
        Ok(())
    }

    /// Ends the transaction without effect.
    pub(super) async fn rollback(mut self) -> Result<()> {
        self.execute("rollback").await.map_err(storage_error)?;
        self.give_back();
        Ok(())
    }

    /// The transaction was ended by the caller's own statement.
    pub(super) fn give_back(mut self) {
        *self.guard = self.connection.take();
    }
}

/// A reader connection with an open transaction.
pub(super) struct Read<'a> {
    pool: &'a Connections,
    connection: Option<SqliteConnection>,
    _permit: SemaphorePermit<'a>,
}

impl Read<'_> {
    pub(super) async fn end(mut self) -> Result<()> {
        self.execute("commit").await.map_err(storage_error)?;
        if let Some(connection) = self.connection.take() {
            self.pool.idle.lock().expect("nothing panics here").push(connection);
        }
        Ok(())
    }
}

macro_rules! dereference {
    ($type:ident) => {
        impl std::ops::Deref for $type<'_> {
            type Target = SqliteConnection;
            fn deref(&self) -> &SqliteConnection {
                self.connection.as_ref().expect("it is taken only when self goes")
            }
        }

        impl std::ops::DerefMut for $type<'_> {
            fn deref_mut(&mut self) -> &mut SqliteConnection {
                self.connection.as_mut().expect("it is taken only when self goes")
            }
        }
    };
}
dereference!(Write);
dereference!(Read);

/// Takes the lock of a server, in a file of its own: SQLite's locks on the database file belong to SQLite.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed process loses nothing either way: only a lost machine would show it.
    #[tokio::test]
    async fn what_is_committed_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let connections = Connections::new(&folder.path().join("a.db"), true).unwrap();
        let mut writer = connections.begin_write().await.unwrap();
        let full: i64 =
            sqlx::query_scalar("pragma synchronous").fetch_one(&mut *writer).await.unwrap();
        let journal: String =
            sqlx::query_scalar("pragma journal_mode").fetch_one(&mut *writer).await.unwrap();
        writer.rollback().await.unwrap();
        assert_eq!((full, journal.as_str()), (2, "wal"));
        connections.close().await;
    }

    /// As many searches as there are readers would else lock everybody out who has a key.
    #[tokio::test]
    async fn keys_and_readiness_wait_for_no_reader_of_data() {
        use crate::domain::storage::{CredentialStorage as _, Engine as _};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let config = crate::storage::sqlite::SqliteConfig {
            path: &path,
            migrate: true,
            exclusive: true,
            objects: None,
            masters: None,
        };
        let storage = crate::storage::sqlite::SqliteStorage::open(config).await.unwrap();
        let mut searches = Vec::new();
        for _ in 0..READERS {
            searches.push(storage.connections.begin_read().await.unwrap());
        }
        let within = Duration::from_secs(5);
        tokio::time::timeout(within, storage.check_ready()).await.expect("ready").unwrap();
        let loaded = tokio::time::timeout(within, storage.load_credentials()).await;
        loaded.expect("the keys are read").unwrap();
        let looked_up = tokio::time::timeout(within, storage.has_key(&[0; 32])).await;
        assert!(!looked_up.expect("a key is looked up").unwrap());
        drop(searches);
    }
}
