//! Lists and reads folders of files: on this machine, or in a bucket.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;

use super::place::{FIELD, Source};
use super::step::wrong;
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};
use crate::storage::objects::reading::{Bucket, Entry};

const PIECE_BYTES: usize = 1 << 20;
/// Entries that are listed ahead.
const LISTED_AHEAD: usize = 1_000;

pub enum Folder {
    Local(PathBuf),
    Bucket(Bucket),
}

impl Folder {
    /// # Errors
    /// 422 for a place that is no folder, and for a bucket without credentials.
    pub async fn open(place: &Source) -> Result<Self> {
        match place {
            Source::Bucket(url) => {
                let bucket = Bucket::open(url)?;
                // A wrong name or key is told before anything else happens.
                if let Some(Err(error)) = bucket.list().next().await {
                    return Err(error);
                }
                Ok(Self::Bucket(bucket))
            }
            Source::Folder(path) if path.is_dir() => Ok(Self::Local(path.clone())),
            other => Err(Error::invalid(FIELD, format!("{other} is no folder"))),
        }
    }

    /// Every file, by its path below the folder. Links are not followed.
    pub fn list(&self) -> BoxStream<'_, Result<Entry>> {
        match self {
            Self::Bucket(bucket) => bucket.list(),
            Self::Local(root) => {
                let (entries, mut listed) = mpsc::channel(LISTED_AHEAD);
                let root = root.clone();
                tokio::task::spawn_blocking(move || walk(&root, &entries));
                futures::stream::poll_fn(move |context| listed.poll_recv(context)).boxed()
            }
        }
    }

    /// # Errors
    /// A file that cannot be read.
    pub async fn read(&self, path: &str) -> Result<BoxStream<'static, Result<Bytes>>> {
        match self {
            Self::Bucket(bucket) => bucket.read(path).await,
            Self::Local(root) => {
                let file = tokio::fs::File::open(root.join(path)).await.map_err(unread)?;
                let pieces = futures::stream::try_unfold(file, |mut file| async move {
                    let mut piece = Vec::with_capacity(PIECE_BYTES);
                    let read = (&mut file).take(PIECE_BYTES as u64).read_to_end(&mut piece).await;
                    read.map_err(unread)?;
                    Ok((!piece.is_empty()).then(|| (Bytes::from(piece), file)))
                });
                Ok(pieces.boxed())
            }
        }
    }
}

/// In the order of names, so that two runs tell the same.
fn walk(root: &Path, entries: &mpsc::Sender<Result<Entry>>) {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let found = match children(root, &folder) {
            Ok(found) => found,
            Err(error) => {
                let place = folder.display().to_string();
                if entries.blocking_send(Err(wrong(format!("{place:?}: {error}")))).is_err() {
                    return;
                }
                continue;
            }
        };
        for (path, is_folder) in found.into_iter().rev() {
            if is_folder {
                folders.push(path);
            } else if entries.blocking_send(entry(root, &path)).is_err() {
                return;
            }
        }
    }
}

fn children(root: &Path, folder: &Path) -> std::io::Result<Vec<(PathBuf, bool)>> {
    let mut found = Vec::new();
    for child in std::fs::read_dir(root.join(folder))? {
        let child = child?;
        let kind = child.file_type()?;
        if kind.is_dir() || kind.is_file() {
            found.push((folder.join(child.file_name()), kind.is_dir()));
        }
    }
    found.sort();
    Ok(found)
}

fn entry(root: &Path, path: &Path) -> Result<Entry> {
    let text = path.to_str();
    let text = text.ok_or_else(|| wrong(format!("the name {:?} is not UTF-8", path.display())))?;
    let about = std::fs::metadata(root.join(path)).map_err(unread)?;
    let modified = about.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|it| Micros::try_from(it.as_micros()).ok());
    let modified_at = modified.unwrap_or_default();
    Ok(Entry { path: text.to_owned(), modified_at, size_bytes: about.len() })
}

fn unread(error: std::io::Error) -> Error {
    wrong(format!("it cannot be read: {error}"))
}
