//! Reserves room on the disk of the database for when the disk is full.
//!
//! Deleting needs room: SQLite writes its changes into its `-wal` first. So a server keeps a file beside the database that takes the room
//! and holds no data. When the disk is full, the file is removed. From then on additions are refused, and deletions have the room. When
//! there is room again, the file is made again first.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::database_file::DatabaseFile;
use super::log_limit::empty;
use super::private_files::{FILE_MODE, sibling};
use crate::domain::engine::DatabaseSize;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

/// The room that is kept, if the disk has four times as much; else a quarter of the disk.
const RESERVE_BYTES: u64 = 16 << 20;
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// Where the system cannot give room to a file without writing it.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

pub(super) struct Reserve {
    database: PathBuf,
    path: PathBuf,
    /// 0: this process keeps none, but gives up that of a server.
    bytes: AtomicU64,
    /// What adds is refused.
    is_full: AtomicBool,
    /// The file is there.
    is_whole: AtomicBool,
}

impl Reserve {
    pub(in crate::storage) fn new(database: &Path) -> Arc<Self> {
        Arc::new(Self {
            database: database.to_owned(),
            path: sibling(database, ".reserve"),
            bytes: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_whole: AtomicBool::new(false),
        })
    }

    /// Makes the reserve of a server and looks after it from now on.
    pub(in crate::storage) fn keep(
        self: &Arc<Self>,
        file: &Arc<DatabaseFile>,
        options: &SqliteConnectOptions,
    ) {
        let Ok(total) = self.disk().map(|it| it.total) else { return };
        self.bytes.store(RESERVE_BYTES.min(total / 4), Relaxed);
        // One that a killed server left may have another size.
        let _ = std::fs::remove_file(&self.path);
        self.look(0);
        if !self.is_whole.load(Relaxed) {
            tracing::warn!(
                "there is no room for a reserve of {} bytes beside the database {}: once the disk is full, deleting may fail",
                self.bytes(),
                self.database.display()
            );
        }
        let watch = Watch {
            reserve: Arc::downgrade(self),
            file: Arc::downgrade(file),
            // A database that is gone is not made anew, and nothing waits for it.
            options: options.clone().create_if_missing(false).busy_timeout(Duration::ZERO),
        };
        tokio::spawn(watch.run());
    }

    /// Whether something may be added.
    ///
    /// # Errors
    /// `Obstacle` while the disk is full.
    pub(in crate::storage) fn check(&self) -> Result<()> {
        // Without the reserve nothing but this look keeps room for deleting.
        if self.is_kept() && !self.is_whole.load(Relaxed) && !self.is_full() {
            let is_short = self.disk().is_ok_and(|it| it.free < self.low() / 4);
            self.is_full.fetch_or(is_short, Relaxed);
        }
        if !self.is_full() {
            return Ok(());
        }
        let detail = format!(
            "the disk of the database {} is full: nothing is added until there is room; deleting goes on",
            self.database.display()
        );
        Err(Error::Obstacle { kind: Obstacle::DiskFull, detail })
    }

    /// Removes the reserve, because the disk is full: what deletes has its room.
    pub(super) fn give_up(&self) {
        if std::fs::remove_file(&self.path).is_ok() {
            tracing::warn!(
                "the disk is full: the reserve {} is given up, for deleting alone",
                self.path.display()
            );
        }
        self.is_whole.store(false, Relaxed);
        if self.is_kept() {
            self.is_full.store(true, Relaxed);
        }
    }

    /// Looks at the disk. `unused_bytes`: what the database file has of pages that nothing is in.
    fn look(&self, unused_bytes: u64) {
        let Ok(Disk { free, .. }) = self.disk() else { return };
        let (bytes, low) = (self.bytes(), self.low());
        // A command beside this server may have given it up.
        self.is_whole.fetch_and(self.path.exists(), Relaxed);
        if self.is_whole.load(Relaxed) {
            if free < low / 16 {
                self.give_up();
            }
        } else if free >= bytes + 2 * low && self.make().is_ok() {
            self.is_whole.store(true, Relaxed);
            self.end_fullness();
        } else if !self.is_full() {
            self.is_full.store(free < low / 4, Relaxed);
        } else if unused_bytes >= 2 * low && free >= low / 2 {
            // There is no room on the disk, but in the database.
            self.end_fullness();
        }
    }

    fn end_fullness(&self) {
        if self.is_full.swap(false, Relaxed) {
            tracing::warn!("there is room again for the database {}", self.database.display());
        }
    }

    fn make(&self) -> io::Result<()> {
        let made = self.write();
        if made.is_err() {
            let _ = std::fs::remove_file(&self.path);
        }
        made
    }

    fn write(&self) -> io::Result<()> {
        let mut options = File::options();
        let mut file =
            options.write(true).create(true).truncate(true).mode(FILE_MODE).open(&self.path)?;
        if fallocate(&file, FallocateFlags::empty(), 0, self.bytes()).is_err() {
            let mut left = self.bytes();
            while left > 0 {
                let next = left.min(ZEROS.len() as u64);
                file.write_all(&ZEROS[..usize::try_from(next).unwrap_or(ZEROS.len())])?;
                left -= next;
            }
        }
        file.sync_all()
    }

    /// Looks at the files, which may take as long as their disk does.
    pub(super) fn measure(&self) -> DatabaseSize {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
        DatabaseSize {
            main_bytes: bytes(&self.database),
            log_bytes: Some(bytes(&sibling(&self.database, "-wal"))),
            free_bytes: self.disk().ok().map(|it| it.free),
        }
    }

    fn disk(&self) -> io::Result<Disk> {
        let folder = self.database.parent().filter(|it| !it.as_os_str().is_empty());
        let found = statvfs(folder.unwrap_or(Path::new(".")))?;
        // Some of a disk is for root alone.
        let free =
            if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
        Ok(Disk { free: free * found.f_frsize, total: found.f_blocks * found.f_frsize })
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// A quarter of it: too little for what the server does.
    fn low(&self) -> u64 {
        self.bytes() / 4
    }

    fn is_kept(&self) -> bool {
        self.bytes() > 0
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Relaxed)
    }
}

/// Deletes; once again where the disk was full, since the first attempt has given up the reserve.
pub(in crate::storage) async fn delete_in_it<T, F>(delete: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    match delete().await {
        Err(Error::Obstacle { kind: Obstacle::DiskFull, .. }) => delete().await,
        done => done,
    }
}

struct Disk {
    free: u64,
    total: u64,
}

struct Watch {
    reserve: Weak<Reserve>,
    file: Weak<DatabaseFile>,
    options: SqliteConnectOptions,
}

impl Watch {
    async fn run(self) {
        let mut ticks = tokio::time::interval(LOOKS_EVERY);
        loop {
            ticks.tick().await;
            let (Some(reserve), Some(file)) = (self.reserve.upgrade(), self.file.upgrade()) else {
                return;
            };
            let unused =
                if reserve.is_full() && !file.is_lost() { self.unused_bytes().await } else { 0 };
            let _ = tokio::task::spawn_blocking(move || reserve.look(unused)).await;
        }
    }

    /// Brings the log into the database, which gives its room back, and says how much of the database is unused.
    async fn unused_bytes(&self) -> u64 {
        let Ok(mut connection) = self.options.connect().await else { return 0 };
        // Fails while somebody reads or writes: the next look tries again.
        let _ = empty(&mut connection).await;
        let unused = unused(&mut connection).await;
        let _ = connection.close().await;
        unused.unwrap_or(0).unsigned_abs()
    }
}

async fn unused(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let pages: i64 =
        sqlx::query_scalar("pragma freelist_count").fetch_one(&mut *connection).await?;
    let bytes: i64 = sqlx::query_scalar("pragma page_size").fetch_one(connection).await?;
    Ok(pages * bytes)
}
