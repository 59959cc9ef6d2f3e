//! Keeps the log (`-wal`) of the database from growing without end while readers overlap.
//!
//! SQLite begins its log anew only when a commit finds no reader in it. In a constant stream of readers no commit does, and the log fills
//! the disk. So a server checks its size about once a second. Over the limit, it lets SQLite wait for the readers of the log. New readers
//! read the database alone, so that the wait ends with the earlier ones.

use std::fs::metadata;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::database_file::DatabaseFile;
use super::private_files::sibling;
use crate::domain::Result;

/// Twice the bytes that SQLite lets the log keep after a burst.
const LOG_BYTES_MAX: u64 = 128 << 20;
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// SQLite waits so long for each of the five states of the database that readers can have, and commits wait meanwhile: longer for a
/// longer log. At 2 GiB it waits for the longest search there can be.
const WAITS_PER_LIMIT: Duration = Duration::from_millis(500);
const WAIT_MAX: Duration = Duration::from_secs(8);
/// After an attempt that a long reader outlasted.
const PAUSE: Duration = Duration::from_secs(10);

pub(super) struct LogLimit {
    log: PathBuf,
    options: SqliteConnectOptions,
}

impl LogLimit {
    pub(in crate::storage) fn new(options: &SqliteConnectOptions) -> Self {
        let log = sibling(options.get_filename(), "-wal");
        Self { log, options: options.clone().create_if_missing(false) }
    }

    /// Looks again and again, as long as somebody has the database open.
    pub(in crate::storage) fn watch(self, file: &Arc<DatabaseFile>) {
        tokio::spawn(self.look_again_and_again(Arc::downgrade(file)));
    }

    async fn look_again_and_again(self, file: Weak<DatabaseFile>) {
        let mut pause = LOOKS_EVERY;
        loop {
            tokio::time::sleep(pause).await;
            let Some(file) = file.upgrade() else { return };
            // What fails is tried again: commits say what is wrong with the disk.
            let is_short = file.is_lost() || self.enforce(LOG_BYTES_MAX).await.unwrap_or(false);
            pause = if is_short { LOOKS_EVERY } else { PAUSE };
        }
    }

    /// As [`empty`], for a log of more bytes.
    pub(super) async fn enforce(&self, bytes_max: u64) -> Result<bool> {
        let bytes = metadata(&self.log).map_or(0, |it| it.len());
        if bytes <= bytes_max {
            return Ok(true);
        }
        let mut connection = self.options.clone().busy_timeout(wait(bytes)).connect().await?;
        let emptied = empty(&mut connection).await;
        connection.close().await?;
        Ok(emptied?)
    }
}

fn wait(bytes: u64) -> Duration {
    let limits = u32::try_from(bytes.div_ceil(LOG_BYTES_MAX)).unwrap_or(u32::MAX);
    WAITS_PER_LIMIT.saturating_mul(limits).min(WAIT_MAX)
}

/// Brings the log into the database and empties it. False: a reader outlasted the wait.
pub(in crate::storage) async fn empty(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let (is_busy, _, _): (i64, i64, i64) =
        sqlx::query_as("pragma wal_checkpoint(truncate)").fetch_one(connection).await?;
    Ok(is_busy == 0)
}

#[cfg(test)]
mod tests {
    use sqlx::Executor as _;

    use super::*;

    async fn reading(options: &SqliteConnectOptions) -> SqliteConnection {
        let mut reader = options.connect().await.unwrap();
        reader.execute("begin; select count(*) from t").await.unwrap();
        reader
    }

    async fn end(mut reader: SqliteConnection) {
        reader.execute("rollback").await.unwrap();
        reader.close().await.unwrap();
    }

    #[test]
    fn the_longer_the_log_the_longer_it_waits() {
        assert_eq!(wait(1), WAITS_PER_LIMIT);
        assert_eq!(wait(LOG_BYTES_MAX + 1), 2 * WAITS_PER_LIMIT);
        assert_eq!(wait(2 << 30), WAIT_MAX);
        assert_eq!(wait(u64::MAX), WAIT_MAX);
    }

    #[tokio::test]
    async fn a_log_that_overlapping_readers_keep_from_beginning_anew_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
        let limit = LogLimit::new(&options);
        let bytes = || metadata(&limit.log).unwrap().len();
        let mut writer = options.connect().await.unwrap();
        writer.execute("create table t (x)").await.unwrap();

        let mut reader = reading(&options).await;
        for _ in 0..20 {
            writer.execute("insert into t values (randomblob(500000))").await.unwrap();
            let next = reading(&options).await;
            end(std::mem::replace(&mut reader, next)).await;
        }
        assert!(bytes() > 9_000_000, "the readers do not overlap: {}", bytes());

        assert!(limit.enforce(u64::MAX).await.unwrap(), "a log below the limit is left as it is");
        assert!(bytes() > 9_000_000);
        assert!(!limit.enforce(9_000_000).await.unwrap(), "a reader that stays outlasts the wait");
        let other = reading(&options).await;
        let (emptied, ()) = tokio::join!(limit.enforce(9_000_000), async {
            end(reader).await;
            end(other).await;
        });
        assert!(emptied.unwrap());
        assert_eq!(bytes(), 0);
        let kept: i64 =
            sqlx::query_scalar("select count(*) from t").fetch_one(&mut writer).await.unwrap();
        assert_eq!(kept, 20);
    }
}
