//! Reads and writes the objects of backups and journals: files of a folder, or objects under a prefix of an S3-compatible store.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt as _, PutPayload, WriteMultipart,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::domain::{Error, Result};
use crate::storage::objects::store_by_url;

/// One small object.
const SMALL_WITHIN: Duration = Duration::from_secs(15);
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Bytes of one part of a large object.
const PART_BYTES: usize = 8 << 20;
/// Parts of one upload that are sent at a time.
const PARTS_TOGETHER: usize = 4;

/// A folder, or a prefix in a bucket.
pub struct Place {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Where the objects are files.
    folder: Option<PathBuf>,
}

impl Place {
    /// `s3://BUCKET/PREFIX`, `file:///ABSOLUTE/FOLDER`, or the path of a folder, which is made for this user only where there is none.
    ///
    /// # Errors
    /// `Invalid`, with advice.
    pub fn parse(setting: &'static str, text: &str) -> Result<Self> {
        let path = match text.split_once("://") {
            None => Some(PathBuf::from(text)),
            Some(("file", path)) => Some(PathBuf::from(path)),
            Some(_) => None,
        };
        let Some(path) = path else {
            let (store, prefix) = store_by_url(setting, text, false)?;
            return Ok(Self { store, prefix, folder: None });
        };
        let folder = std::path::absolute(&path)
            .map_err(|error| Error::file(format!("--{setting}: {text}"), &error))?;
        let shown = folder.to_str().ok_or_else(|| {
            Error::invalid(
                setting,
                format!("--{setting} must be valid UTF-8; choose another folder"),
            )
        })?;
        let (store, prefix) = store_by_url(setting, &format!("file://{shown}"), false)?;
        Ok(Self { store, prefix, folder: Some(folder) })
    }

    /// The folder, where the objects are files.
    pub fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    fn key(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }

    /// Writes a small object durably; a file is for this user only.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn put(&self, name: &str, body: Vec<u8>) -> Result<()> {
        let key = self.key(name);
        within(self.store.put(&key, PutPayload::from(Bytes::from(body)))).await?;
        if let Some(folder) = &self.folder {
            let path = folder.join(name);
            let mode = Permissions::from_mode(0o600);
            tokio::fs::set_permissions(path, mode).await.map_err(|it| away(&it))?;
        }
        Ok(())
    }

    /// Reads a small object. None: it is not there.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn get(&self, name: &str) -> Result<Option<Bytes>> {
        let key = self.key(name);
        let read = async {
            match self.store.get(&key).await {
                Ok(found) => found.bytes().await.map(Some),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        within(read).await
    }

    /// Names of the objects in a folder of this place, in their order.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = if folder.is_empty() { self.prefix.clone() } else { self.key(folder) };
        let found = self.store.list_with_delimiter(Some(&prefix)).await.map_err(|it| away(&it))?;
        let mut names: Vec<String> = found
            .objects
            .iter()
            .filter_map(|it| it.location.filename())
            .map(str::to_owned)
            .collect();
        names.sort();
        Ok(names)
    }

    /// An object that is not there is no error.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn remove(&self, name: &str) -> Result<()> {
        let key = self.key(name);
        within(async {
            match self.store.delete(&key).await {
                Err(StoreError::NotFound { .. }) => Ok(()),
                done => done,
            }
        })
        .await
    }

    /// Writes a file of any size as an object.
    ///
    /// # Errors
    /// `Unavailable` of the place, and what reading the file fails with. Nothing stays of an upload that failed.
    pub async fn upload(&self, file: &FilePath, name: &str) -> Result<()> {
        let unread = |error| Error::file(format!("{} cannot be read", file.display()), &error);
        let mut from = tokio::fs::File::open(file).await.map_err(unread)?;
        let begun = self.store.put_multipart(&self.key(name)).await.map_err(|it| away(&it))?;
        let mut upload = WriteMultipart::new_with_chunk_size(begun, PART_BYTES);
        let mut part = vec![0; PART_BYTES];
        loop {
            let count = match from.read(&mut part).await {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => {
                    let _ = upload.abort().await;
                    return Err(unread(error));
                }
            };
            upload.write(&part[..count]);
            upload.wait_for_capacity(PARTS_TOGETHER).await.map_err(|it| away(&it))?;
        }
        upload.finish().await.map(drop).map_err(|it| away(&it))
    }

    /// Writes an object into a new file, and calls `seen` with each of its parts.
    ///
    /// # Errors
    /// `Obstacle` for an object that is not there, `Unavailable` of the place, and what writing the file fails with.
    pub async fn download(
        &self,
        name: &str,
        to: &mut tokio::fs::File,
        mut seen: impl FnMut(&[u8]) + Send,
    ) -> Result<()> {
        let found = match self.store.get(&self.key(name)).await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => {
                let kind = crate::domain::error::Obstacle::FileMissing;
                return Err(Error::Obstacle { kind, detail: format!("there is no backup {name}") });
            }
            Err(error) => return Err(away(&error)),
        };
        let unwritten =
            |error| Error::file("the copy of the backup cannot be written".to_owned(), &error);
        let mut parts = found.into_stream();
        while let Some(part) = parts.try_next().await.map_err(|it| away(&it))? {
            seen(&part);
            to.write_all(&part).await.map_err(unwritten)?;
        }
        to.flush().await.map_err(unwritten)?;
        to.sync_all().await.map_err(unwritten)
    }
}

async fn within<T>(call: impl Future<Output = object_store::Result<T>>) -> Result<T> {
    match tokio::time::timeout(SMALL_WITHIN, call).await {
        Ok(done) => done.map_err(|error| away(&error)),
        Err(_) => Err(away(&"it does not answer")),
    }
}

fn away(error: &dyn std::fmt::Display) -> Error {
    let detail = format!("the place of the backups: {error}");
    Error::Unavailable { detail, retry_after: RETRY_AFTER }
}
