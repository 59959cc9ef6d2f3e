//! Imports the archive of a snapshot slice by slice, as it arrives.

use bytes::Bytes;

use super::arriving_content::ArrivingContent;
use super::import::Ground;
use super::items::to_slice;
use super::nouns::NounDigest;
use super::records::{ArchiveOf, Record};
use crate::domain::caller::Caller;
use crate::domain::snapshots::archives::{ATTEMPT, Archive, ArchiveId, Arrived, WorkspaceName};
use crate::domain::{Error, Result};

pub struct ArrivingArchive {
    of: ArchiveOf,
    /// Whose it is.
    caller: Caller,
    content: ArrivingContent,
    digest: NounDigest,
}

impl ArrivingArchive {
    /// Begins one of the owner of the snapshot.
    ///
    /// # Errors
    /// 422 for what nobody could have staged; `Unavailable`.
    pub async fn begin(
        ground: &Ground<'_>,
        of: ArchiveOf,
        (owner, payload): (Option<String>, &Bytes),
        stores: bool,
    ) -> Result<Self> {
        let workspace = WorkspaceName::new(of.workspace.as_str())?;
        let caller = Caller { subject: owner, ..ground.caller.clone() };
        let id = if stores {
            Some(ground.storage.begin_archive(&caller, &workspace, ground.now).await?.0)
        } else {
            None
        };
        let content = ArrivingContent::begun("archive", id, (of.size_bytes, ATTEMPT));
        let mut digest = NounDigest::default();
        digest.add_payload(&caller.tenant, payload).await?;
        Ok(Self { of, caller, content, digest })
    }

    /// Takes the next record, which has to be one of its slices.
    ///
    /// # Errors
    /// 422 for what does not belong to it; `NotFound` where it is gone meanwhile; `Unavailable`.
    pub async fn take(
        &mut self,
        ground: &Ground<'_>,
        record: Record,
        payload: &Bytes,
    ) -> Result<()> {
        let Record::Slice(slice) = record else {
            return Err(wrong("a record that is not of the archive"));
        };
        self.digest.add_payload(&self.caller.tenant, payload).await?;
        self.content.put(ground, to_slice(slice)).await.map(drop)
    }

    /// Makes it whole; nothing shows it yet. And the digest of its records.
    ///
    /// # Errors
    /// 422 where it is not what it says; `NotFound` where it is gone meanwhile; `Unavailable`.
    pub async fn end(&mut self, ground: &Ground<'_>) -> Result<(Option<Archive>, [u8; 32])> {
        let (size_bytes, sha256) = self.content.so_far();
        if size_bytes != self.of.size_bytes || sha256[..] != self.of.sha256[..] {
            return Err(wrong("an archive that is not what it says"));
        }
        let digest = self.digest.clone().end();
        let Some(id) = self.content.id.map(ArchiveId) else { return Ok((None, digest)) };
        let arrived = Arrived { size_bytes, file_count: self.of.file_count, sha256 };
        let archive = ground.storage.finish_archive(&self.caller, id, &arrived, ground.now).await?;
        Ok((Some(Archive { staged_at: self.of.staged_at, ..archive }), digest))
    }

    /// Nothing is left of it.
    ///
    /// # Errors
    /// `Unavailable`; then it goes in a day.
    pub async fn drop_it(self, ground: &Ground<'_>) -> Result<()> {
        let Some(id) = self.content.id else { return Ok(()) };
        ground.storage.drop_upload(&self.caller, id, ground.now).await.map(drop)
    }
}

fn wrong(what: &'static str) -> Error {
    Error::invalid("archive", what)
}
