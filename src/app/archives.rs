//! Stages archives of workspaces: a blocking thread unpacks and checks them, and a task stores them slice by slice. An incomplete archive
//! leaves nothing, even if its sender disconnects midway.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ring::digest::{Context, SHA256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::App;
use super::artifacts::{Arriving, Feed, refusal};
use crate::content::slicing::whole_chunks;
use crate::content::tar::TarLimits;
use crate::content::tar::whole::{self, Links};
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::{asker, cpu_threads};
use crate::domain::snapshots::archives::{Archive, ArchiveId, Arrived, WorkspaceName};
use crate::domain::{Error, Result};

/// Bytes of an archive that are in memory at one time: a slice that is being filled, one that waits, one that is being kept, and
/// that one sealed.
pub const STAGING_BYTES: usize = 4 * (2 << 20);

/// What is to be staged.
#[derive(Debug, Clone)]
pub struct PutArchive {
    pub workspace: WorkspaceName,
    /// Whether its links may lead anywhere.
    pub any_links: bool,
    /// What the tar must be known by, without its packing.
    pub sha256: Option<[u8; 32]>,
}

/// An archive that is being staged.
pub struct Staging {
    complete: oneshot::Sender<()>,
    staged: JoinHandle<Result<Archive>>,
}

impl Staging {
    /// What comes in goes into the feed. `held` is given back when it is over.
    ///
    /// # Errors
    /// `NotGranted`; `QuotaExceeded`.
    pub fn begin(
        app: &Arc<App>,
        caller: &Caller,
        put: PutArchive,
        held: impl Send + 'static,
    ) -> Result<(Self, Feed)> {
        app.archives.require(caller)?;
        let (feed, arriving) = Feed::open();
        let (complete, completed) = oneshot::channel();
        let (app, caller) = (Arc::clone(app), caller.clone());
        let staged = asker::spawn(async move {
            let _held = held;
            let id = app.archives.begin(&caller, &put.workspace).await?;
            let work = Work { app: &app, caller: &caller, id };
            let staged = work.stage(put, arriving, completed).await;
            if staged.is_err() {
                // What is left goes in a day; there is no need to wait for that.
                app.archives.abort(&caller, id).await.ok();
            }
            staged
        });
        Ok((Self { complete, staged }, feed))
    }

    /// All of it went into the feed. Without this the archive goes.
    ///
    /// # Errors
    /// 422 naming the member that is at fault, or `sha256`; limits; `Unavailable`.
    pub async fn end(self) -> Result<Archive> {
        self.complete.send(()).ok();
        self.staged.await.map_err(|error| Error::Internal(error.to_string()))?
    }
}

struct Work<'a> {
    app: &'a App,
    caller: &'a Caller,
    id: ArchiveId,
}

impl Work<'_> {
    async fn stage(
        &self,
        put: PutArchive,
        arriving: Arriving,
        completed: oneshot::Receiver<()>,
    ) -> Result<Archive> {
        let (leaving, mut slices) = mpsc::channel(1);
        let links =
            if put.any_links { Links::Any } else { Links::Inside(LIMITS.workspace_links_max) };
        let reader = cpu_threads::spawn(move || unpack(arriving, links, &leaving));
        let kept = self.keep(&mut slices).await;
        // Nobody waits for somebody who does not read on.
        drop(slices);
        let arrived = reader.await.map_err(|error| Error::Internal(error.to_string()))?;
        kept?;
        let arrived = arrived?;
        if put.sha256.is_some_and(|it| it != arrived.sha256) {
            let detail = "sha256 is not that of the tar that arrived, without its packing";
            return Err(Error::invalid("sha256", detail));
        }
        if completed.await.is_err() {
            return Err(Error::invalid("archive", "the archive was cut off"));
        }
        self.app.archives.finish(self.caller, self.id, &arrived).await
    }

    async fn keep(&self, slices: &mut mpsc::Receiver<Bytes>) -> Result<()> {
        let (mut number, mut start) = (0, 0);
        while let Some(slice) = slices.recv().await {
            let length = slice.len() as u64;
            self.app.archives.put_slice(self.caller, self.id, (number, start), slice).await?;
            number += 1;
            start += length;
        }
        Ok(())
    }
}

/// Hands on slices that end where chunks do, so that two archives share what they have in common wherever it stands in them.
fn unpack(arriving: Arriving, links: Links, leaving: &mpsc::Sender<Bytes>) -> Result<Arrived> {
    let limits = TarLimits {
        members_max: LIMITS.workspace_members_max,
        decoded_bytes_max: LIMITS.workspace_bytes_max,
        ratio_max: LIMITS.archive_ratio_max,
        path_bytes_max: usize::try_from(LIMITS.workspace_path_bytes_max).unwrap_or(usize::MAX),
    };
    let slice_bytes = usize::try_from(LIMITS.content_slice_bytes).unwrap_or(usize::MAX);
    let (mut hash, mut buffer) = (Context::new(&SHA256), BytesMut::new());
    let whole = whole::read(arriving, limits, links, |mut bytes| {
        hash.update(bytes);
        while buffer.len() + bytes.len() >= slice_bytes {
            let (first, rest) = bytes.split_at(slice_bytes - buffer.len());
            buffer.extend_from_slice(first);
            bytes = rest;
            let slice = buffer.split_to(whole_chunks(&buffer)).freeze();
            if leaving.blocking_send(slice).is_err() {
                return false;
            }
        }
        buffer.extend_from_slice(bytes);
        true
    });
    let whole = whole.map_err(|error| refusal(&error))?;
    if !buffer.is_empty() {
        // Where nobody takes it, that is what is answered.
        leaving.blocking_send(buffer.freeze()).ok();
    }
    let sha256 = hash.finish().as_ref().try_into();
    let sha256 = sha256.map_err(|_| Error::Internal("SHA-256 has another length".into()))?;
    Ok(Arrived { size_bytes: whole.size_bytes, file_count: whole.file_count, sha256 })
}
