//! Stores archives of workspaces: a sandbox's working directory as a tar, beside the threads, items and sessions of a snapshot. An archive
//! is staged first, and belongs to the caller that staged it. A snapshot that is taken with it shows it.
//!
//! **Invariant:** no part of an archive is visible before it is whole, and nothing of it changes afterwards.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::service::Snapshots;
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::files::contents::{ContentId, ContentStorage, NewSlice};
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::names::SnapshotId;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tokens::grants::Action;

/// What is not there, in errors.
pub const ARCHIVE: &str = "archive";
/// All slices of an archive are of one part.
pub const ATTEMPT: i64 = 1;

/// `arc_…`, random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArchiveId(pub ContentId);

/// What a client calls a workspace; each subject has its own of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceName(String);

/// An archive that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub id: ArchiveId,
    pub workspace: String,
    /// Of the tar, without packing.
    pub size_bytes: u64,
    /// Members but for folders.
    pub file_count: u64,
    /// Of the tar, without packing.
    pub sha256: [u8; 32],
    /// When all of it was there.
    pub staged_at: Micros,
}

/// What is known of an archive when all of it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub size_bytes: u64,
    pub file_count: u64,
    pub sha256: [u8; 32],
}

/// Their slices are put, read and dropped as those of other contents.
#[async_trait]
pub trait ArchiveStorage: ContentStorage {
    /// Begins an archive, and its workspace if that is new.
    async fn begin_archive(
        &self,
        caller: &Caller,
        workspace: &WorkspaceName,
        now: Micros,
    ) -> Result<ArchiveId>;

    /// Makes it whole. `NotFound` where it is gone.
    async fn finish_archive(
        &self,
        caller: &Caller,
        id: ArchiveId,
        arrived: &Arrived,
        now: Micros,
    ) -> Result<Archive>;

    /// A whole one that the caller staged.
    async fn find_archive(&self, caller: &Caller, id: ArchiveId) -> Result<Option<Archive>>;
}

/// Archives of a tenant's callers.
pub struct Archives {
    storage: Arc<dyn ArchiveStorage>,
    quotas: Arc<Quotas>,
    clock: Arc<Clock>,
}

impl Archives {
    pub fn new(storage: Arc<dyn ArchiveStorage>, quotas: Arc<Quotas>, clock: Arc<Clock>) -> Self {
        Self { storage, quotas, clock }
    }

    /// Before anything of it is read.
    ///
    /// # Errors
    /// `NotGranted`; `QuotaExceeded`.
    pub fn require(&self, caller: &Caller) -> Result<()> {
        caller.require(Permission::Snapshots(Action::Append))?;
        self.quotas.require_bytes(caller)
    }

    /// # Errors
    /// As [`Self::require`]; `Unavailable`.
    pub async fn begin(&self, caller: &Caller, workspace: &WorkspaceName) -> Result<ArchiveId> {
        self.require(caller)?;
        self.storage.begin_archive(caller, workspace, self.clock.now()).await
    }

    /// Keeps the next bytes, durably; for their place see [`ArchiveId::slice`].
    ///
    /// # Errors
    /// `NotFound` where the archive is gone meanwhile; `Unavailable`.
    pub async fn put_slice(
        &self,
        caller: &Caller,
        id: ArchiveId,
        place: (i64, u64),
        bytes: Bytes,
    ) -> Result<()> {
        self.storage.put_slice(caller, id.slice(place, bytes), self.clock.now()).await
    }

    /// # Errors
    /// `NotFound` where the archive is gone meanwhile; `Unavailable`.
    pub async fn finish(
        &self,
        caller: &Caller,
        id: ArchiveId,
        arrived: &Arrived,
    ) -> Result<Archive> {
        self.storage.finish_archive(caller, id, arrived, self.clock.now()).await
    }

    /// Nothing is left of it.
    ///
    /// # Errors
    /// `Unavailable`; then it goes in a day.
    pub async fn abort(&self, caller: &Caller, id: ArchiveId) -> Result<()> {
        self.storage.drop_upload(caller, id.0, self.clock.now()).await.map(drop)
    }
}

impl Snapshots {
    /// The archive of a snapshot.
    ///
    /// # Errors
    /// `NotFound` without such a snapshot, and where it has none.
    pub async fn archive(&self, caller: &Caller, id: &SnapshotId) -> Result<Archive> {
        self.get(caller, id).await?.archive.ok_or(Error::NotFound(ARCHIVE))
    }
}

impl WorkspaceName {
    /// # Errors
    /// 422 for an empty or over-long text and for NUL.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        names::check("workspace", &text, LIMITS.workspace_name_bytes_max, false)?;
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ArchiveId {
    const PREFIX: &str = "arc_";

    /// # Errors
    /// 422 naming the field.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let mut id = [0; 16];
        let digits = text.strip_prefix(Self::PREFIX).filter(|it| !it.contains(char::is_uppercase));
        let parsed = digits.is_some_and(|it| hex::decode_to_slice(it, &mut id).is_ok());
        let wrong = || Error::invalid(field, format!("{field} must be arc_ and 32 hex digits"));
        parsed.then_some(Self(ContentId(id))).ok_or_else(wrong)
    }

    /// The next bytes of an archive: `number` from 0, `start` is where they begin.
    pub fn slice(self, (number, start): (i64, u64), bytes: Bytes) -> NewSlice {
        NewSlice { id: self.0, attempt: ATTEMPT, number, start, bytes }
    }
}

impl fmt::Display for ArchiveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, hex::encode(self.0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = ArchiveId(ContentId::random());
        assert_eq!(ArchiveId::parse("archive", &id.to_string()).unwrap(), id);
        for wrong in ["", "arc_", "arc_00", &id.to_string().to_uppercase(), &id.0.to_string()] {
            let Error::Invalid { field, .. } = ArchiveId::parse("archive", wrong).unwrap_err()
            else {
                panic!("{wrong}")
            };
            assert_eq!(field, "archive");
        }
    }

    #[test]
    fn workspaces_have_names() {
        assert!(WorkspaceName::new("a/b \u{fc}").is_ok());
        for wrong in [String::new(), "a\0".into(), "x".repeat(257)] {
            assert!(WorkspaceName::new(wrong).is_err());
        }
    }
}
