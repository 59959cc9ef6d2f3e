//! Opens connections to one database file: one writer, several readers, and the lock that keeps a second server away.
//!
//! **Invariant:** a connection whose future was dropped, or whose transaction was not ended, is closed and never used again.

mod pools;
mod server_lock;

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex as SyncMutex};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor};
use tokio::sync::{Mutex, MutexGuard};

use self::pools::Opened;
use self::server_lock::lock;
use super::database_file::DatabaseFile;
use super::errors::{no_room, open_error, times_full};
use super::log_limit::LogLimit;
use super::reserve::Reserve;
use super::time_limit::TimeLimit;
use crate::domain::batch_error::BatchError;
use crate::domain::scheduling::fair_places::{FairPlaces, Place, Share};
use crate::domain::{Error, Result};
use crate::storage::ReadTimes;
use crate::storage::db::access::OWN_WORK;

/// Readers measured to be enough for 16 callers on 2 cores; more only cost memory.
const READERS: usize = 6;
/// For what may go through much: searches, counts, lists. Other reads do not wait for them.
const SEARCHERS: usize = 6;
/// For keys and readiness: without the keys nobody is let in, so they do not wait for searches. One for the poll, one for a key that
/// is looked up.
const FIRST_READERS: usize = 2;
/// Lanes, among the tenants that share the writer: no tenant has these names.
pub(in crate::storage) const COMMITS: &str = "\0commits";
pub(in crate::storage) const ITEMS: &str = "\0items";
pub(in crate::storage) const SESSIONS: &str = "\0sessions";
/// Only other processes make a connection wait: short commands beside the server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// All connections to one file.
pub(in crate::storage) struct Connections {
    options: SqliteConnectOptions,
    file: Arc<DatabaseFile>,
    reserve: Arc<Reserve>,
    /// None until the first use and after a transaction that was not ended.
    writer: Mutex<Option<SqliteConnection>>,
    /// Its one place: lanes, tenants and the server's own work take turns.
    writers: Arc<FairPlaces>,
    /// Held by work that is done in slices, so that at most one slice waits before a batch.
    background: Mutex<()>,
    readers: Arc<FairPlaces>,
    searchers: Arc<FairPlaces>,
    first_readers: Arc<FairPlaces>,
    idle: SyncMutex<Vec<Reader>>,
    opened: Opened,
    read_times: ReadTimes,
    /// Keeps the advisory lock of a server.
    _lock: Option<File>,
}

impl Connections {
    pub(in crate::storage) fn new(path: &Path, exclusive: bool) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // The log file would else keep the size of the largest burst for ever.
            .pragma("journal_size_limit", "67108864");
        Ok(Self::with(options, path, if exclusive { Some(lock(path)?) } else { None }))
    }

    /// To a database that may only be read.
    pub(in crate::storage) fn read_only(options: SqliteConnectOptions, path: &Path) -> Self {
        Self::with(options, path, None)
    }

    fn with(options: SqliteConnectOptions, path: &Path, lock: Option<File>) -> Self {
        let options = options
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("temp_store", "memory")
            .pragma("cache_size", "-16000");
        Self {
            options,
            file: DatabaseFile::new(path),
            reserve: Reserve::new(path),
            writer: Mutex::new(None),
            writers: FairPlaces::new(1, Share::WhileOthersWait),
            background: Mutex::new(()),
            readers: FairPlaces::new(READERS, Share::WhileOthersWait),
            searchers: FairPlaces::new(SEARCHERS, Share::Always),
            first_readers: FairPlaces::new(FIRST_READERS, Share::WhileOthersWait),
            idle: SyncMutex::new(Vec::new()),
            opened: Opened::default(),
            read_times: ReadTimes::default(),
            _lock: lock,
        }
    }

    /// Ends reads when they take longer, and logs slow statements.
    pub(super) fn ending(self, read_times: ReadTimes) -> Self {
        Self { options: read_times.logged(self.options), read_times, ..self }
    }

    /// Looks from now on whether the path still leads to the file that was opened, keeps a reserve for a full disk, and the log short.
    pub(super) fn watch_file(&self) {
        self.file.watch();
        self.reserve.keep(&self.file, &self.options);
        LogLimit::new(&self.options).watch(&self.file);
    }

    /// Whether there is room for what adds. What deletes does not ask.
    ///
    /// # Errors
    /// `Obstacle` while the disk is full.
    pub(in crate::storage) fn check_room(&self) -> Result<()> {
        self.reserve.check()
    }

    /// Looks now.
    pub(super) fn look_at_file(&self) -> Result<()> {
        self.file.look()
    }

    /// The writer, without a transaction yet: statements that begin one come from the caller. `who`: a lane, a tenant, or the server.
    pub(in crate::storage) async fn writer(&self, who: &str) -> Result<Write<'_>, sqlx::Error> {
        let place = self.writers.take(who).await.map_err(|_| sqlx::Error::PoolClosed)?;
        let mut guard = self.writer.lock().await;
        self.file.check().map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
        let connection = match guard.take() {
            Some(connection) => connection,
            None => self.opened.writer(&self.options).await?,
        };
        Ok(Write {
            guard,
            connection: Some(connection),
            reserve: &self.reserve,
            times_full: times_full(),
            _place: place,
        })
    }

    /// As [`Self::writer`], for a batch. One that adds asks for room here: before it waited for the writer, it could have taken the room
    /// that was given up for deleting meanwhile.
    pub(in crate::storage) async fn batch_writer(
        &self,
        who: &str,
        adds: bool,
    ) -> Result<Write<'_>, BatchError> {
        let unavailable = |error: sqlx::Error| BatchError::Unavailable(error.to_string());
        let write = self.writer(who).await.map_err(unavailable)?;
        if let (true, Err(full)) = (adds, self.check_room()) {
            write.give_back();
            return Err(no_room(full));
        }
        Ok(write)
    }

    /// Whether the file can be read and written.
    ///
    /// # Errors
    /// `Obstacle` says why not.
    pub(in crate::storage) async fn check(&self, path: &Path) -> Result<()> {
        let mut writer = self.writer(OWN_WORK).await.map_err(|error| open_error(error, path))?;
        writer.execute("begin immediate").await.map_err(|error| open_error(error, path))?;
        // A file that may not be written lets a transaction begin, but nothing be written in it.
        let written = writer.execute("pragma user_version = 0").await;
        written.map_err(|error| open_error(error, path))?;
        writer.rollback().await
    }

    /// Whether the file can be read.
    ///
    /// # Errors
    /// `Obstacle` says why not.
    pub(super) async fn check_reading(&self, path: &Path) -> Result<()> {
        let mut writer = self.writer(OWN_WORK).await.map_err(|error| open_error(error, path))?;
        let read = writer.execute("select count(*) from sqlite_schema").await;
        read.map_err(|error| open_error(error, path))?;
        writer.give_back();
        Ok(())
    }

    /// A write transaction of the server itself.
    pub(in crate::storage) async fn begin_write(&self) -> Result<Write<'_>> {
        self.begin_write_for(OWN_WORK).await
    }

    /// The same for a tenant or a lane: those that wait take turns.
    pub(in crate::storage) async fn begin_write_for(&self, who: &str) -> Result<Write<'_>> {
        self.file.check()?;
        let mut writer = self.writer(who).await?;
        writer.execute("begin immediate").await?;
        Ok(writer)
    }

    /// A turn for work in slices. Take it, then one `begin_write` per slice.
    pub(in crate::storage) async fn background(&self) -> MutexGuard<'_, ()> {
        self.background.lock().await
    }

    /// A read transaction of the server itself: everything read through it is one state of the database.
    pub(in crate::storage) async fn begin_read(&self) -> Result<Read<'_>> {
        self.begin_read_at(self.readers.take(OWN_WORK).await?).await
    }

    /// The same for a tenant: those that wait take turns.
    pub(in crate::storage) async fn begin_read_for(&self, tenant: &str) -> Result<Read<'_>> {
        self.begin_read_at(self.readers.take(tenant).await?).await
    }

    /// The same for what may go through much: it ends when its time is over.
    pub(in crate::storage) async fn begin_search(&self, tenant: &str) -> Result<Read<'_>> {
        let mut read = self.begin_read_at(self.searchers.take(tenant).await?).await?;
        read.limit().set(Some(self.read_times.search));
        read.statement = None;
        Ok(read)
    }

    /// The same for keys and readiness: waits for no read of data.
    pub(in crate::storage) async fn begin_first_read(&self) -> Result<Read<'_>> {
        self.begin_read_at(self.first_readers.take(OWN_WORK).await?).await
    }

    async fn begin_read_at(&self, place: Place) -> Result<Read<'_>> {
        self.file.check()?;
        let kept = self.idle.lock().expect("nothing panics while it holds the list").pop();
        let mut reader = match kept {
            Some(reader) => reader,
            None => {
                let mut connection = self.opened.reader(&self.options).await?;
                let limit = TimeLimit::of(&mut connection).await?;
                Reader { connection, limit }
            }
        };
        reader.connection.execute("begin").await?;
        let statement = self.read_times.statement;
        Ok(Read { pool: self, reader: Some(reader), statement, _place: place })
    }

    /// Waits for the writer, then closes what is idle.
    pub(in crate::storage) async fn close(&self) {
        self.readers.close();
        self.searchers.close();
        self.first_readers.close();
        let writer = self.writer.lock().await.take();
        let idle = std::mem::take(&mut *self.idle.lock().expect("nothing panics here"));
        if self.file.look().is_err() {
            // Who closes the last connection brings the log into the file and removes it. It may be all that is left.
            std::mem::forget((writer, idle));
            return;
        }
        if let Some(connection) = writer {
            // Nothing is lost when closing fails: what was acknowledged is in the file.
            let _ = connection.close().await;
        }
        for reader in idle {
            let _ = reader.connection.close().await;
        }
    }
}

/// The writer connection, exclusively.
pub(in crate::storage) struct Write<'a> {
    guard: MutexGuard<'a, Option<SqliteConnection>>,
    connection: Option<SqliteConnection>,
    reserve: &'a Reserve,
    times_full: u64,
    /// Dropped after the guard: the next one finds the connection.
    _place: Place,
}

impl Write<'_> {
    /// Makes the transaction durable.
    pub(in crate::storage) async fn commit(mut self) -> Result<()> {
        self.execute("commit").await?;
        self.give_back();
        Ok(())
    }

    /// Ends the transaction without effect.
    pub(in crate::storage) async fn rollback(mut self) -> Result<()> {
        self.execute("rollback").await?;
        self.give_back();
        Ok(())
    }

    /// The transaction was ended by the caller's own statement.
    pub(in crate::storage) fn give_back(mut self) {
        *self.guard = self.connection.take();
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if times_full() != self.times_full {
            self.reserve.give_up();
        }
    }
}

/// A connection that reads.
struct Reader {
    connection: SqliteConnection,
    limit: TimeLimit,
}

/// A reader connection with an open transaction. Dropped without its end, it ends what still runs on it.
pub(in crate::storage) struct Read<'a> {
    pool: &'a Connections,
    reader: Option<Reader>,
    /// What one statement may take.
    statement: Option<Duration>,
    _place: Place,
}

impl Read<'_> {
    pub(in crate::storage) async fn end(mut self) -> Result<()> {
        self.limit().set(None);
        self.execute("commit").await?;
        if let Some(reader) = self.reader.take() {
            self.pool.idle.lock().expect("nothing panics here").push(reader);
        }
        Ok(())
    }

    /// For work between two statements.
    ///
    /// # Errors
    /// `ReadTooLong`.
    pub(in crate::storage) fn check_time(&self) -> Result<()> {
        if self.limit().is_over() { Err(Error::ReadTooLong) } else { Ok(()) }
    }

    /// Gives the next statement its time.
    ///
    /// # Errors
    /// `ReadTooLong` where the time of all statements is over.
    pub(super) fn begin_statement(&self) -> Result<()> {
        match self.statement {
            Some(within) => self.limit().set(Some(within)),
            None => self.check_time()?,
        }
        Ok(())
    }

    fn limit(&self) -> &TimeLimit {
        &self.reader.as_ref().expect("it is taken only when self goes").limit
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.limit.end();
        }
    }
}

impl std::ops::Deref for Read<'_> {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.reader.as_ref().expect("it is taken only when self goes").connection
    }
}

impl std::ops::DerefMut for Read<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.reader.as_mut().expect("it is taken only when self goes").connection
    }
}

impl std::ops::Deref for Write<'_> {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        self.connection.as_ref().expect("it is taken only when self goes")
    }
}

impl std::ops::DerefMut for Write<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("it is taken only when self goes")
    }
}

#[cfg(test)]
mod tests;
