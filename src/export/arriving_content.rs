//! Imports a content slice by slice, as it arrives: of an item, or the archive of a snapshot.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::import::Ground;
use crate::domain::clock::random_id;
use crate::domain::files::contents::{ContentId, NewSlice, Part};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::Address;
use crate::domain::{Error, Result};

pub struct ArrivingContent {
    /// None: it is read and not stored.
    pub id: Option<ContentId>,
    /// Whose it is, in errors.
    of: &'static str,
    expected_bytes: u64,
    attempt: i64,
    slices: i64,
    size_bytes: u64,
    hash: Sha256,
}

impl ArrivingContent {
    /// Begins one that has to be this long.
    pub async fn begin(
        ground: &Ground<'_>,
        (address, expected_bytes): (&Address, u64),
        stores: bool,
    ) -> Result<Self> {
        let Ground { storage, caller, now, .. } = *ground;
        let id =
            if stores { Some(storage.begin_content(caller, address, now).await?) } else { None };
        Ok(Self::begun("item", id, (expected_bytes, random_id())))
    }

    /// One that was begun elsewhere.
    pub fn begun(
        of: &'static str,
        id: Option<ContentId>,
        (expected_bytes, attempt): (u64, i64),
    ) -> Self {
        Self { id, of, expected_bytes, attempt, slices: 0, size_bytes: 0, hash: Sha256::new() }
    }

    /// Whether it is whole with this slice.
    pub async fn put(&mut self, ground: &Ground<'_>, bytes: Bytes) -> Result<bool> {
        let Ground { storage, caller, now, .. } = *ground;
        if bytes.is_empty() || bytes.len() as u64 > LIMITS.content_slice_bytes {
            return Err(Error::invalid(self.of, "a slice of an impossible length"));
        }
        cpu_pool::run_here(&caller.tenant, bytes.len(), || self.hash.update(&bytes)).await?;
        let (start, number) = (self.size_bytes, self.slices);
        self.size_bytes += bytes.len() as u64;
        self.slices += 1;
        if self.size_bytes > self.expected_bytes {
            return Err(Error::invalid(self.of, "a content that is longer than it says"));
        }
        if let Some(id) = self.id {
            let slice = NewSlice { id, attempt: self.attempt, number, start, bytes };
            storage.put_slice(caller, slice, now).await?;
        }
        Ok(self.size_bytes == self.expected_bytes)
    }

    /// Of what has come: size in bytes, SHA-256.
    pub fn so_far(&self) -> (u64, [u8; 32]) {
        (self.size_bytes, self.hash.clone().finalize().into())
    }

    /// Makes it whole. Nothing shows it yet.
    pub async fn end(self, ground: &Ground<'_>) -> Result<()> {
        let Ground { storage, caller, now, .. } = *ground;
        let Some(id) = self.id else { return Ok(()) };
        let (size_bytes, sha256) = self.so_far();
        let part = Part { number: 1, size_bytes, sha256, attempt: self.attempt };
        storage.put_part(caller, id, &part, now).await?;
        storage.finish_content(caller, id, &[part], &sha256, now).await.map(drop)
    }
}
