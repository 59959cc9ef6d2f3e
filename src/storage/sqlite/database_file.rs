//! Checks whether the path of a running server's database still leads to the file that was opened.
//!
//! SQLite continues with a file that was removed or replaced: what it acknowledges then is lost at the next start. So a server checks about
//! once a second, and neither reads nor writes while the path leads to another file.

use std::fs::{Metadata, metadata};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::sleep;
use std::time::Duration;

use super::log_file::LogFile;
use super::private_files::sibling;
use crate::domain::error::Obstacle;
use crate::domain::{Error, Result};

const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// A command that makes a database beside this one leaves its file empty for less.
const EMPTY_WAITS: u32 = 10;
const EMPTY_WAIT: Duration = Duration::from_millis(50);

pub(super) struct DatabaseFile {
    path: PathBuf,
    /// Device and inode. None: it is not watched.
    opened: OnceLock<(u64, u64)>,
    is_lost: AtomicBool,
    log: Mutex<LogFile>,
    /// What was cut off the log does not come back.
    is_log_cut: AtomicBool,
}

/// Checks what is at the path before it is opened. Answers whether a database is to be made there.
///
/// # Errors
/// `Obstacle` where nothing may be made, where a log is left without its database, and where the file is empty.
pub(super) fn check_before_opening(path: &Path, may_create: bool) -> Result<bool> {
    let shown = path.display();
    let obstacle = |kind, detail: String| Err(Error::Obstacle { kind, detail });
    match metadata(path) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            let log = sibling(path, "-wal");
            if let Ok(found) = metadata(&log) {
                let detail = format!(
                    "the database {shown} is gone, but its log {} with {} bytes is there: put the database back beside it; to begin \
                     with a new database, move the log away",
                    log.display(),
                    found.len()
                );
                return obstacle(Obstacle::FileMissing, detail);
            }
            if !may_create {
                let detail =
                    format!("there is no database {shown}, and --no-create forbids to make one");
                return obstacle(Obstacle::FileMissing, detail);
            }
            Ok(true)
        }
        Ok(found) if found.is_file() && found.len() == 0 => {
            for _ in 0..EMPTY_WAITS {
                sleep(EMPTY_WAIT);
                if metadata(path).is_ok_and(|it| it.len() > 0) {
                    return Ok(false);
                }
            }
            let detail = format!(
                "the database {shown} has 0 bytes: put a backup in its place; to begin with a new database, remove the file"
            );
            obstacle(Obstacle::FileFailed, detail)
        }
        // What is wrong with it, SQLite says when it opens the file.
        _ => Ok(false),
    }
}

/// Removes the file that was made for a new database which could not be made: else the next start would refuse it.
pub(super) fn remove_if_empty(path: &Path) {
    if metadata(path).is_ok_and(|it| it.len() == 0) {
        let _ = std::fs::remove_file(path);
    }
}

impl DatabaseFile {
    pub(in crate::storage) fn new(path: &Path) -> Arc<Self> {
        Arc::new(Self {
            path: path.to_owned(),
            opened: OnceLock::new(),
            is_lost: AtomicBool::new(false),
            log: Mutex::new(LogFile::of(path)),
            is_log_cut: AtomicBool::new(false),
        })
    }

    /// Remembers which file was opened and looks at it again and again, as long as somebody has it.
    pub(in crate::storage) fn watch(self: &Arc<Self>) {
        if let Ok(found) = metadata(&self.path) {
            let _ = self.opened.set(identity(&found));
        }
        tokio::spawn(look_again_and_again(Arc::downgrade(self)));
    }

    /// What the last look found: costs nothing.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(in crate::storage) fn check(&self) -> Result<()> {
        if self.is_lost() { self.look() } else { Ok(()) }
    }

    pub(in crate::storage) fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// Looks whether the path still leads to the file that was opened.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(in crate::storage) fn look(&self) -> Result<()> {
        let found = self.what_is_wrong();
        let was_lost = self.is_lost.swap(found.is_some(), Relaxed);
        let path = self.path.display();
        match found {
            None => {
                if was_lost {
                    tracing::warn!("the database {path} is the file that was opened again");
                }
                Ok(())
            }
            Some(wrong) => {
                if !was_lost {
                    tracing::error!(
                        "the database {path} {wrong}: nothing is read or written, and its log is left as it is"
                    );
                }
                let detail = format!("the database {path} {wrong}");
                Err(Error::Unavailable { detail, retry_after: LOOKS_EVERY })
            }
        }
    }

    fn what_is_wrong(&self) -> Option<&'static str> {
        let opened = self.opened.get()?;
        match metadata(&self.path) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                Some("was removed while the server ran")
            }
            Ok(found) if identity(&found) != *opened => {
                Some("was replaced by another file while the server ran")
            }
            Ok(found) if found.len() == 0 => Some("was cut to 0 bytes while the server ran"),
            _ if self.is_log_cut() => {
                Some("lacks a part of its log (-wal) that was removed or cut while the server ran")
            }
            // Else it is there, as far as anybody can say.
            _ => None,
        }
    }
}

async fn look_again_and_again(file: Weak<DatabaseFile>) {
    let mut ticks = tokio::time::interval(LOOKS_EVERY);
    loop {
        ticks.tick().await;
        let Some(file) = file.upgrade() else { return };
        // A file system that hangs must not hang the server.
        let _ = tokio::task::spawn_blocking(move || file.look()).await;
    }
}

impl DatabaseFile {
    fn is_log_cut(&self) -> bool {
        let is_cut = self.is_log_cut.load(Relaxed)
            || self.log.lock().expect("nothing panics while it is held").is_cut();
        self.is_log_cut.fetch_or(is_cut, Relaxed);
        is_cut
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
