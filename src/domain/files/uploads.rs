//! Receives uploads of contents: parts arrive as streams, each held in memory a slice at a time. Decides what ends an upload.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ring::digest::{self, SHA256};
use tokio::runtime::Handle;

use super::contents::{ContentId, NewSlice, Part, Upload};
use super::running_hash::{Before, RunningHashes};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, random_id};
use crate::domain::error::{Error, Result};
use crate::domain::files::contents::ContentStorage;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::Address;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::tokens::grants::Action;

/// Uploads of a tenant's callers.
pub struct Uploads {
    storage: Arc<dyn ContentStorage>,
    quotas: Arc<Quotas>,
    clock: Arc<Clock>,
    hashes: RunningHashes,
}

/// Between attempts to remove what a failed upload left: a disk that is full, or a database that is away, may be back.
const DISCARDS_EVERY: Duration = Duration::from_secs(10);
/// What is left then goes with the idle uploads.
const DISCARDS_MAX: u32 = 360;

/// What a failed upload left.
#[derive(Clone)]
struct Left {
    storage: Arc<dyn ContentStorage>,
    clock: Arc<Clock>,
    caller: Caller,
    id: ContentId,
    /// None: the whole upload.
    attempt: Option<i64>,
}

/// Removes an upload unless it is kept: its sender may leave at any time.
pub struct Unfinished(Option<Left>);

/// A part on its way in.
pub struct Incoming<'a> {
    uploads: &'a Uploads,
    caller: &'a Caller,
    id: ContentId,
    number: u32,
    attempt: i64,
    /// Less than a slice.
    buffer: BytesMut,
    slices: i64,
    size_bytes: u64,
    hash: digest::Context,
    /// Of the parts before it, and then of it as well.
    running: Option<Before>,
    /// What to remove unless the part arrives.
    left: Unfinished,
}

/// A content that is whole, and not shown yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub id: ContentId,
    pub address: Address,
    pub size_bytes: u64,
    /// Of all bytes.
    pub sha256: [u8; 32],
}

impl Uploads {
    pub fn new(storage: Arc<dyn ContentStorage>, quotas: Arc<Quotas>, clock: Arc<Clock>) -> Self {
        Self { storage, quotas, clock, hashes: RunningHashes::default() }
    }

    /// # Errors
    /// `NotGranted`, from the token alone; `QuotaExceeded`; `Unavailable`.
    pub async fn begin(&self, caller: &Caller, address: &Address) -> Result<ContentId> {
        require(caller, address, Action::Append)?;
        self.quotas.require_bytes(caller)?;
        self.storage.begin_content(caller, address, self.clock.now()).await
    }

    /// Takes a part. One of the same number is replaced when the new one has arrived.
    ///
    /// # Errors
    /// 422 for a number that no part has; `QuotaExceeded`.
    pub fn receive<'a>(
        &'a self,
        caller: &'a Caller,
        id: ContentId,
        number: u32,
    ) -> Result<Incoming<'a>> {
        self.quotas.require_bytes(caller)?;
        Ok(Incoming {
            uploads: self,
            caller,
            id,
            number,
            attempt: random_id(),
            buffer: BytesMut::new(),
            slices: 0,
            size_bytes: 0,
            hash: digest::Context::new(&SHA256),
            running: self.hashes.before(id, number),
            left: Unfinished(None),
        })
    }

    /// An upload of the caller's. None: there is none, or it is not the caller's to write.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn get(&self, caller: &Caller, id: ContentId) -> Result<Option<Upload>> {
        let found = self.storage.get_upload(caller, id).await?;
        Ok(found.filter(|it| require(caller, &it.address, Action::Append).is_ok()))
    }

    /// Makes the content whole out of the parts that have arrived, which must be those that the caller names, if it names any.
    /// Again: the same answer. Reads the content where its parts came out of order, or to several servers.
    ///
    /// # Errors
    /// `NotFound`; 422 for missing and other parts; `TooLarge`.
    pub async fn finish(
        &self,
        caller: &Caller,
        id: ContentId,
        expected: Option<&[(u32, [u8; 32])]>,
    ) -> Result<Finished> {
        let upload = self.get(caller, id).await?.ok_or_else(unknown)?;
        if !upload.is_whole {
            check_parts(&upload.parts, expected)?;
        }
        let fingerprint = fingerprint(&upload.parts);
        let now = self.clock.now();
        let whole = self.storage.finish_content(caller, id, &upload.parts, &fingerprint, now);
        let whole = whole.await?;
        let size_bytes = whole.size_bytes;
        let sha256 = match (&upload.parts[..], self.hashes.of(id, &upload.parts)) {
            ([only], _) => only.sha256,
            (_, Some(known)) => known,
            _ => self.hash_whole(caller, id, size_bytes).await?,
        };
        Ok(Finished { id, address: upload.address, size_bytes, sha256 })
    }

    /// A slice is in memory at one time.
    async fn hash_whole(&self, caller: &Caller, id: ContentId, size: u64) -> Result<[u8; 32]> {
        let mut hash = digest::Context::new(&SHA256);
        let mut at = 0;
        while at < size {
            let (start, slice) = self.storage.read_slice(caller, id, at).await?;
            hash.update(&slice);
            at = start + slice.len() as u64;
        }
        Ok(sha256_of(&hash.finish()))
    }

    /// An upload that is removed when this goes, unless it is kept.
    pub fn unfinished(&self, caller: &Caller, id: ContentId) -> Unfinished {
        Unfinished(Some(self.left(caller, id, None)))
    }

    fn left(&self, caller: &Caller, id: ContentId, attempt: Option<i64>) -> Left {
        let (storage, clock) = (Arc::clone(&self.storage), Arc::clone(&self.clock));
        Left { storage, clock, caller: caller.clone(), id, attempt }
    }

    /// Ends an upload; no error when there is none.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn abort(&self, caller: &Caller, id: ContentId) -> Result<()> {
        if self.get(caller, id).await?.is_some() {
            self.storage.discard_upload(caller, id, self.clock.now()).await?;
        }
        Ok(())
    }
}

impl Unfinished {
    /// It is whole, or may be.
    pub fn keep(&mut self) {
        self.0 = None;
    }

    /// Removes it now. What cannot be removed now is tried again later.
    pub async fn discard(mut self) {
        if let Some(left) = &self.0
            && left.discard().await.is_ok()
        {
            self.keep();
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let (Some(left), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(left.discard_again_and_again());
        }
    }
}

impl Left {
    async fn discard(&self) -> Result<()> {
        let (caller, now) = (&self.caller, self.clock.now());
        match self.attempt {
            None => self.storage.discard_upload(caller, self.id, now).await,
            Some(attempt) => self.storage.discard_part(caller, self.id, attempt, now).await,
        }
    }

    async fn discard_again_and_again(self) {
        for _ in 0..DISCARDS_MAX {
            match self.discard().await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "a failed upload is not removed yet"),
            }
            tokio::time::sleep(DISCARDS_EVERY).await;
        }
    }
}

impl Incoming<'_> {
    /// Takes the next bytes. What fills a slice is durable when this returns.
    ///
    /// # Errors
    /// `TooLarge`; `NotFound` where the upload has ended meanwhile; `Unavailable`.
    pub async fn push(&mut self, mut bytes: Bytes) -> Result<()> {
        self.size_bytes += bytes.len() as u64;
        if self.size_bytes > LIMITS.content_bytes_max {
            return Err(too_large());
        }
        let slice_bytes = usize::try_from(LIMITS.content_slice_bytes).unwrap_or(usize::MAX);
        while !bytes.is_empty() {
            let taken = bytes.split_to(bytes.len().min(slice_bytes - self.buffer.len()));
            self.buffer.extend_from_slice(&taken);
            if self.buffer.len() == slice_bytes {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Bytes that have arrived and are not durable yet.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// What has arrived, as this part of the upload.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub async fn end(mut self) -> Result<Part> {
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        // From here on it may be a part.
        self.left.keep();
        let Self { uploads, caller, id, number, attempt, size_bytes, hash, running, .. } = self;
        let sha256 = sha256_of(&hash.finish());
        let part = Part { number, size_bytes, sha256, attempt };
        uploads.storage.put_part(caller, id, &part, uploads.clock.now()).await?;
        if let Some(running) = running {
            uploads.hashes.note(id, running, &part);
        }
        Ok(part)
    }

    async fn flush(&mut self) -> Result<()> {
        let bytes = self.buffer.split().freeze();
        self.hash.update(&bytes);
        if let Some(running) = &mut self.running {
            running.hash.update(&bytes);
        }
        let start = self.size_bytes_flushed();
        let slice =
            NewSlice { id: self.id, attempt: self.attempt, number: self.slices, start, bytes };
        let uploads = self.uploads;
        if self.left.0.is_none() {
            self.left = Unfinished(Some(uploads.left(self.caller, self.id, Some(self.attempt))));
        }
        uploads.storage.put_slice(self.caller, slice, uploads.clock.now()).await?;
        self.slices += 1;
        Ok(())
    }

    /// Every slice but the last is full.
    fn size_bytes_flushed(&self) -> u64 {
        self.slices.unsigned_abs() * LIMITS.content_slice_bytes
    }
}

pub(super) fn sha256_of(digest: &digest::Digest) -> [u8; 32] {
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// SHA-256 of some bytes.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    sha256_of(&digest::digest(&SHA256, bytes))
}

/// What bytes are known by that came as these parts.
fn fingerprint(parts: &[Part]) -> Vec<u8> {
    match parts {
        [only] => only.sha256.to_vec(),
        parts => parts.iter().flat_map(|it| it.sha256).collect(),
    }
}

fn check_parts(parts: &[Part], expected: Option<&[(u32, [u8; 32])]>) -> Result<()> {
    let refuse = |detail: String| Err(Error::invalid("parts", detail));
    if parts.is_empty() {
        return refuse("no part has arrived".into());
    }
    for (part, number) in parts.iter().zip(1..) {
        if part.number != number {
            return refuse(format!("part {number} is missing"));
        }
    }
    let arrived: Vec<(u32, [u8; 32])> = parts.iter().map(|it| (it.number, it.sha256)).collect();
    if expected.is_some_and(|it| it != arrived) {
        return refuse("the parts that have arrived are others than those named".into());
    }
    let size: u64 = parts.iter().map(|it| it.size_bytes).sum();
    if size > LIMITS.content_bytes_max { Err(too_large()) } else { Ok(()) }
}

/// # Errors
/// 422 for numbers that no part has.
pub fn part_number(text: &str) -> Result<u32> {
    let max = LIMITS.upload_parts_max;
    let number = text.parse().ok().filter(|it| (1..=max).contains(&u64::from(*it)));
    number.ok_or_else(|| {
        Error::out_of_range("part", format!("part must be a number from 1 to {max}"), max)
    })
}

/// Decided from the token alone.
pub(super) fn require(caller: &Caller, address: &Address, action: Action) -> Result<()> {
    let labels = address.namespace.labels();
    let granted = [action, Action::Write].iter().any(|it| caller.may_touch_namespace(labels, *it));
    if granted { Ok(()) } else { Err(Error::NotGranted("no grant covers this namespace")) }
}

fn too_large() -> Error {
    Error::TooLarge { field: "content".into(), limit: LIMITS.content_bytes_max }
}

fn unknown() -> Error {
    Error::NotFound("such an upload was")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, size_bytes: u64) -> Part {
        Part { number, size_bytes, sha256: [u8::try_from(number).unwrap(); 32], attempt: 1 }
    }

    #[test]
    fn an_upload_ends_with_all_its_parts_and_no_others() {
        let two = [part(1, 10), part(2, 10)];
        assert!(check_parts(&two, None).is_ok());
        assert!(check_parts(&two, Some(&[(1, [1; 32]), (2, [2; 32])])).is_ok());
        for wrong in [&[(1, [1; 32])][..], &[(1, [1; 32]), (2, [3; 32])], &[]] {
            assert!(check_parts(&two, Some(wrong)).is_err());
        }
        assert!(check_parts(&[], None).is_err());
        assert!(check_parts(&[part(2, 1)], None).is_err());
        assert!(check_parts(&[part(1, 1), part(3, 1)], None).is_err());
        let large = check_parts(&[part(1, LIMITS.content_bytes_max), part(2, 1)], None);
        assert!(matches!(large, Err(Error::TooLarge { .. })));
    }

    #[test]
    fn parts_have_numbers_from_one() {
        assert_eq!(part_number("1").unwrap(), 1);
        for text in ["0", "", "-1", "1.5", "99999999999"] {
            assert!(part_number(text).is_err(), "{text}");
        }
    }
}
