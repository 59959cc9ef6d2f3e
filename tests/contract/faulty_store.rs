//! Implements an object store that fails on demand and lists its objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};
use tokio::sync::Notify;

#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn ObjectStore>,
    /// Every call fails.
    pub down: AtomicBool,
    /// Uploads are done and then fail: what the caller sees of a death between upload and rows.
    pub dies_after_put: AtomicBool,
    /// Uploads are done, say so, and return when they are told to.
    pub pauses: AtomicBool,
    pub uploaded: Notify,
    pub resume: Notify,
    pub gets: AtomicU32,
}

impl FaultyStore {
    pub fn in_memory() -> Arc<Self> {
        Self::over(Arc::new(InMemory::new()))
    }

    pub fn over(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            down: AtomicBool::new(false),
            dies_after_put: AtomicBool::new(false),
            pauses: AtomicBool::new(false),
            uploaded: Notify::new(),
            resume: Notify::new(),
            gets: AtomicU32::new(0),
        })
    }

    /// What is in it, in the order of the keys.
    pub async fn objects(&self) -> Vec<ObjectMeta> {
        let mut found: Vec<ObjectMeta> =
            self.inner.list(None).map(|it| it.unwrap()).collect().await;
        found.sort_by(|a, b| a.location.cmp(&b.location));
        found
    }

    /// Changes the bytes of every object.
    pub async fn change(&self, change: impl Fn(Vec<u8>) -> Vec<u8>) {
        for object in self.objects().await {
            let read = self.inner.get(&object.location).await.unwrap().bytes().await.unwrap();
            let changed = change(read.to_vec());
            self.inner.put(&object.location, changed.into()).await.unwrap();
        }
    }

    /// Removes every object. Answers what gives them back.
    pub async fn remove_all(&self) -> Vec<(Path, PutPayload)> {
        let mut removed = Vec::new();
        for object in self.objects().await {
            let read = self.inner.get(&object.location).await.unwrap().bytes().await.unwrap();
            self.inner.delete(&object.location).await.unwrap();
            removed.push((object.location, read.into()));
        }
        removed
    }

    pub async fn put_back(&self, removed: Vec<(Path, PutPayload)>) {
        for (path, payload) in removed {
            self.inner.put(&path, payload).await.unwrap();
        }
    }

    fn check(&self) -> Result<()> {
        if self.down.load(SeqCst) { Err(failure("it is down")) } else { Ok(()) }
    }
}

fn failure(why: &str) -> Error {
    Error::Generic { store: "faulty", source: why.into() }
}

impl std::fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "faulty {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        at: &Path,
        body: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.check()?;
        let done = self.inner.put_opts(at, body, options).await?;
        if self.pauses.load(SeqCst) {
            self.uploaded.notify_one();
            self.resume.notified().await;
        }
        if self.dies_after_put.load(SeqCst) { Err(failure("it died")) } else { Ok(done) }
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.check()?;
        self.gets.fetch_add(1, SeqCst);
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if self.down.load(SeqCst) {
            return at.map(|_| Err(failure("it is down"))).boxed();
        }
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
