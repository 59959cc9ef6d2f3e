//! Opens the object store of a URL, calls it with a time limit each, and translates its errors.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientConfigKey;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    BackoffConfig, Error as StoreError, ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig,
};

use super::Objects;
use super::pack_location::PackId;
use crate::domain::metric_families as families;
use crate::domain::{Error, Result};

pub(super) const SETTING: &str = "object-store-url";
/// One read, the wait for its turn included; less than a request's budget.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// One upload of a pack, or a deletion.
const WRITE_WITHIN: Duration = Duration::from_mins(2);
/// One call of the check at the start.
const TRY_WITHIN: Duration = Duration::from_secs(15);
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The store of a URL, and the prefix of its keys.
///
/// # Errors
/// `Invalid`, which names the setting, with advice.
pub(in crate::storage) fn by_url(
    setting: &'static str,
    url: &str,
    allow_unsafe: bool,
) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refuse = |advice: String| Err(Error::invalid(setting, advice));
    if url.contains(['?', '#', '@']) {
        return refuse(format!(
            "--{setting} takes no query, fragment or user: credentials and options come from the AWS_… variables of the environment"
        ));
    }
    match url.split_once("://") {
        Some(("s3", place)) => {
            let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
            if bucket.is_empty() {
                return refuse(format!("--{setting} names no bucket: s3://BUCKET/PREFIX"));
            }
            Ok((Arc::new(s3(setting, bucket)?), prefix_of(setting, prefix)?))
        }
        Some(("file", folder)) if folder.starts_with('/') => {
            Ok((Arc::new(folder_store(setting, folder)?), Path::default()))
        }
        Some(("memory", "")) if allow_unsafe => Ok((Arc::new(InMemory::new()), Path::default())),
        Some(("memory", "")) => refuse(
            "an object store in memory loses its content with the process; pass --allow-unsafe for tests".into(),
        ),
        _ => refuse(format!("--{setting} must be s3://BUCKET/PREFIX or file:///ABSOLUTE/FOLDER")),
    }
}

fn prefix_of(setting: &'static str, prefix: &str) -> Result<Path> {
    let illegal = |error| Error::invalid(setting, format!("the prefix is not legal: {error}"));
    Path::parse(prefix).map_err(illegal)
}

fn s3(setting: &'static str, bucket: &str) -> Result<impl ObjectStore + use<>> {
    // A second installation changes nothing; the first one is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = |key| AmazonS3ConfigKey::Client(key);
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 3,
        retry_timeout: READ_WITHIN,
    };
    AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retry)
        .with_config(client(ClientConfigKey::ConnectTimeout), "3 seconds")
        .with_config(client(ClientConfigKey::Timeout), "60 seconds")
        .build()
        .map_err(|error| {
            let advice = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a store that is not \
                Amazon's, AWS_ENDPOINT (with AWS_ALLOW_HTTP=true where it speaks plain HTTP)";
            Error::invalid(setting, format!("the store cannot be used: {error}; {advice}"))
        })
}

fn folder_store(setting: &'static str, folder: &str) -> Result<LocalFileSystem> {
    let unfit = |error: &dyn std::fmt::Display| {
        Error::invalid(setting, format!("the folder {folder} cannot be used: {error}"))
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| unfit(&error))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| unfit(&error))?;
    // A pack counts as stored before the database lets go of its chunks.
    Ok(store.with_fsync(true))
}

impl Objects {
    pub(super) fn key(&self, pack: &PackId) -> Path {
        self.prefix.clone().join(format!("{}.pack", hex::encode(pack)))
    }

    /// Writes, reads and deletes a small object.
    pub(super) async fn try_out(&self) -> Result<()> {
        let key =
            self.prefix.clone().join(format!("{}.probe", hex::encode(rand::random::<PackId>())));
        let content = Bytes::from_static(b"threadkeep was here");
        let failed = |what: &str, detail: String| {
            Error::invalid(
                SETTING,
                format!(
                    "the object store cannot be {what}: {detail}. Check the URL, that the bucket or folder exists, \
                     and that the credentials of the environment may write, read and delete in it"
                ),
            )
        };
        let payload = PutPayload::from_bytes(content.clone());
        within(TRY_WITHIN, self.store.put(&key, payload))
            .await
            .map_err(|error| failed("written", error))?;
        let read = within(TRY_WITHIN, self.store.get_range(&key, 4..10))
            .await
            .map_err(|error| failed("read", error))?;
        if read != content.slice(4..10) {
            return Err(failed("read", "a range came back with other bytes".into()));
        }
        within(TRY_WITHIN, self.store.delete(&key))
            .await
            .map_err(|error| failed("deleted from", error))
    }

    /// Whether the object of a pack is there.
    pub(crate) async fn has(&self, pack: &PackId) -> Result<bool> {
        Ok(self.size(pack).await?.is_some())
    }

    /// Bytes of a pack's object; None: it is not there.
    pub(crate) async fn size(&self, pack: &PackId) -> Result<Option<u64>> {
        let key = self.key(pack);
        match tokio::time::timeout(READ_WITHIN, self.store.head(&key)).await {
            Ok(Ok(found)) => Ok(Some(found.size)),
            Ok(Err(StoreError::NotFound { .. })) => Ok(None),
            Ok(Err(error)) => Err(unavailable(&error)),
            Err(_) => Err(unavailable(&"it does not answer")),
        }
    }

    pub(super) async fn put(&self, pack: &PackId, body: Bytes) -> Result<()> {
        let key = self.key(pack);
        within(WRITE_WITHIN, self.store.put(&key, PutPayload::from_bytes(body)))
            .await
            .map(drop)
            .map_err(|error| unavailable(&error))
    }

    /// An object that is not there is no error.
    pub(super) async fn delete(&self, pack: &PackId) -> Result<()> {
        let key = self.key(pack);
        match tokio::time::timeout(WRITE_WITHIN, self.store.delete(&key)).await {
            Ok(Ok(()) | Err(StoreError::NotFound { .. })) => Ok(()),
            Ok(Err(error)) => Err(unavailable(&error)),
            Err(_) => Err(unavailable(&"it does not answer")),
        }
    }

    /// One range of a pack.
    pub(super) async fn read(&self, pack: &PackId, start: u32, end: u32) -> Result<Bytes> {
        let key = self.key(pack);
        let read = async {
            let _turn = self.reads.acquire().await;
            self.store.get_range(&key, u64::from(start)..u64::from(end)).await
        };
        match tokio::time::timeout(READ_WITHIN, read).await {
            Ok(Ok(bytes)) if bytes.len() == (end - start) as usize => Ok(bytes),
            Ok(Ok(_)) => Err(damaged(pack, "is shorter than it was")),
            Ok(Err(StoreError::NotFound { .. })) => Err(damaged(pack, "is missing")),
            // Stores say in different ways that a range lies beyond the end.
            Ok(Err(error)) => match self.size(pack).await? {
                None => Err(damaged(pack, "is missing")),
                Some(size) if size < u64::from(end) => Err(damaged(pack, "is shorter than it was")),
                Some(_) => Err(unavailable(&error)),
            },
            Err(_) => Err(unavailable(&"it does not answer")),
        }
    }
}

pub(super) fn damaged(pack: &PackId, what: &str) -> Error {
    Error::Integrity(format!("the pack {} {what}", hex::encode(pack)))
}

fn unavailable(error: &dyn std::fmt::Display) -> Error {
    metrics::counter!(families::OBJECT_STORE_FAILURES).increment(1);
    Error::Unavailable { detail: format!("the object store: {error}"), retry_after: RETRY_AFTER }
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = object_store::Result<T>>,
) -> std::result::Result<T, String> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("it does not answer".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_names_no_store_is_refused_with_advice() {
        for (url, says) in [
            ("bucket", "must be s3://"),
            ("s3://", "names no bucket"),
            ("file://relative", "must be s3://"),
            ("https://host/bucket", "must be s3://"),
            ("s3://key:secret@bucket", "credentials"),
            ("s3://bucket?region=x", "credentials"),
            ("memory://", "--allow-unsafe"),
            ("file:///proc/nowhere", "cannot be used"),
        ] {
            let Err(error) = by_url(SETTING, url, false) else { panic!("{url} was taken") };
            let Error::Invalid { field, .. } = &error else { panic!("{url}: {error}") };
            assert_eq!(field, SETTING);
            assert!(error.to_string().contains(says), "{url}: {error}");
            assert!(!error.to_string().contains("secret@"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_folder_works_and_keeps_its_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}/packs", folder.path().display());
        let objects = Objects::open(&url, super::super::Packing::default(), false).await.unwrap();
        let pack = [3; 16];
        objects.put(&pack, Bytes::from_static(b"0123456789")).await.unwrap();
        assert_eq!(&objects.read(&pack, 2, 5).await.unwrap()[..], b"234");
        assert_eq!(objects.size(&pack).await.unwrap(), Some(10));
        let short = objects.read(&pack, 8, 12).await.unwrap_err();
        assert!(matches!(short, Error::Integrity(_)), "{short}");
        objects.delete(&pack).await.unwrap();
        objects.delete(&pack).await.unwrap();
        let missing = objects.read(&pack, 2, 5).await.unwrap_err();
        assert!(matches!(missing, Error::Integrity(_)), "{missing}");
        assert_eq!(std::fs::read_dir(folder.path().join("packs")).unwrap().count(), 0);
    }
}
