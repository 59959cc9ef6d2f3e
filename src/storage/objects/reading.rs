//! Reads objects of a foreign bucket for an import. It never writes, and none of our packs are there.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use super::store;
use crate::domain::clock::Micros;
use crate::domain::{Error, Result};

/// What lies below a prefix of a bucket.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

/// One object.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Below the prefix.
    pub path: String,
    pub modified_at: Micros,
    pub size_bytes: u64,
}

impl Bucket {
    /// Does no I/O.
    ///
    /// # Errors
    /// 422 for a URL that is none, and for missing credentials.
    pub fn open(url: &str) -> Result<Self> {
        let (store, prefix) = store::by_url(store::SETTING, url, false)?;
        Ok(Self { store, prefix })
    }

    /// Every object, in the order of the bucket.
    pub fn list(&self) -> BoxStream<'_, Result<Entry>> {
        let listed = self.store.list(Some(&self.prefix));
        let entry = |found: object_store::Result<object_store::ObjectMeta>| {
            let found = found.map_err(unread)?;
            let below = found.location.as_ref().strip_prefix(self.prefix.as_ref());
            let path = below.unwrap_or_default().trim_start_matches('/').to_owned();
            let modified_at = found.last_modified.timestamp_micros();
            Ok(Entry { path, modified_at, size_bytes: found.size })
        };
        listed.map(entry).boxed()
    }

    /// # Errors
    /// An object that cannot be read.
    pub async fn read(&self, path: &str) -> Result<BoxStream<'static, Result<Bytes>>> {
        let below = format!("{}/{path}", self.prefix.as_ref());
        let at = Path::parse(below.trim_start_matches('/'))
            .map_err(|error| Error::invalid("from", error.to_string()))?;
        let found = self.store.get(&at).await.map_err(unread)?;
        Ok(found.into_stream().map(|bytes| bytes.map_err(unread)).boxed())
    }
}

fn unread(error: object_store::Error) -> Error {
    Error::invalid("from", format!("the bucket cannot be read: {error}"))
}
