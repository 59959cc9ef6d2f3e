//! Declares the storage of file contents that are too large for a value. They are uploaded in parts, become whole at once, and are read in
//! slices. Files decide how they are shown.
//!
//! **Invariant:** no part of a content is visible before it is whole, and nothing of it changes afterwards.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::store::item::Address;

/// `upl_…`, random: a content, and its upload.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentId(pub [u8; 16]);

/// An upload in progress, or what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub address: Address,
    pub created_at: Micros,
    /// When it goes by itself, if nothing more arrives.
    pub expires_at: Micros,
    /// In their order.
    pub parts: Vec<Part>,
    pub is_whole: bool,
}

/// A part that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub number: u32,
    pub size_bytes: u64,
    pub sha256: [u8; 32],
    /// Which of its slices count: each time that it is sent it has others.
    pub attempt: i64,
}

/// Some bytes of a part on their way.
#[derive(Debug, Clone)]
pub struct NewSlice {
    pub id: ContentId,
    pub attempt: i64,
    /// From 0, in the order of the part.
    pub number: i64,
    /// Where it begins in the part.
    pub start: u64,
    pub bytes: Bytes,
}

/// What a whole content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    pub size_bytes: u64,
    /// Equal for equal `fingerprint`s of one tenant, and says nothing to anybody else.
    pub digest: Vec<u8>,
}

/// How long an upload waits for its next part. The sweep takes what is older.
pub const IDLE_MAX: Micros = LIMITS.upload_idle_seconds_max.cast_signed() * 1_000_000;

#[async_trait]
pub trait ContentStorage: Send + Sync {
    /// Begins an upload to a place.
    async fn begin_content(
        &self,
        caller: &Caller,
        place: &Address,
        now: Micros,
    ) -> Result<ContentId>;

    /// Keeps a slice, durably. `NotFound` where the upload has ended.
    async fn put_slice(&self, caller: &Caller, slice: NewSlice, now: Micros) -> Result<()>;

    /// Notes a part whose slices have all arrived; one of the same number is replaced. `NotFound` where the upload has ended.
    async fn put_part(
        &self,
        caller: &Caller,
        id: ContentId,
        part: &Part,
        now: Micros,
    ) -> Result<()>;

    async fn get_upload(&self, caller: &Caller, id: ContentId) -> Result<Option<Upload>>;

    /// Makes a content whole out of these parts, in this order, and drops the others. Again: the same answer. `fingerprint` is
    /// what the bytes are known by.
    async fn finish_content(
        &self,
        caller: &Caller,
        id: ContentId,
        parts: &[Part],
        fingerprint: &[u8],
        now: Micros,
    ) -> Result<Whole>;

    /// Removes an upload that nothing shows. Whether there was one.
    async fn drop_upload(&self, caller: &Caller, id: ContentId, now: Micros) -> Result<bool>;

    /// Removes an upload that failed, and gives back at once what room it took.
    async fn discard_upload(&self, caller: &Caller, id: ContentId, now: Micros) -> Result<()>;

    /// The same for a part that did not arrive whole.
    async fn discard_part(
        &self,
        caller: &Caller,
        id: ContentId,
        attempt: i64,
        now: Micros,
    ) -> Result<()>;

    /// The slice that holds the byte at a position, and where it begins. `NotFound` when there is no such content any more.
    async fn read_slice(&self, caller: &Caller, id: ContentId, at: u64) -> Result<(u64, Bytes)>;
}

impl ContentId {
    const PREFIX: &str = "upl_";

    pub fn random() -> Self {
        Self(rand::random())
    }

    /// # Errors
    /// 422 naming the field.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let mut id = [0; 16];
        let digits = text.strip_prefix(Self::PREFIX).filter(|it| !it.contains(char::is_uppercase));
        let parsed = digits.is_some_and(|it| hex::decode_to_slice(it, &mut id).is_ok());
        let wrong = || Error::invalid(field, format!("{field} must be upl_ and 32 hex digits"));
        parsed.then_some(Self(id)).ok_or_else(wrong)
    }

    /// As an item names it.
    ///
    /// # Errors
    /// `Integrity` for another length.
    pub fn stored(bytes: &[u8]) -> Result<Self> {
        let damaged = |_| Error::Integrity("the name of a content has a wrong length".into());
        bytes.try_into().map(Self).map_err(damaged)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, hex::encode(self.0))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
