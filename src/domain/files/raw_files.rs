//! Reads and writes files as raw bytes, of any size. A small file is the value of its item, written as deepagents writes it. A large file
//! is a content that its item shows.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::contents::ContentId;
use super::dialect::Dialect;
use super::media;
use super::storage::{FileRow, KeyRange, ListFiles};
use super::uploads::{Finished, require, sha256};
use super::value::FileValue;
use super::writing::{self, NewContent};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Conflict, Error, Result};
use crate::domain::files::storage::FileStorage;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::contention::Contention;
use crate::domain::scheduling::cpu_pool::{self, INLINE_BYTES_MAX};
use crate::domain::scheduling::fair_places::{FairPlaces, Share};
use crate::domain::store::changing::Changing;
use crate::domain::store::file_head::{FileHead, Form};
use crate::domain::store::item::{Address, ChangeItem, KeptContent, NewValue};
use crate::domain::store::rules::require_change;
use crate::domain::store::service::Items;
use crate::domain::tokens::grants::Action;

/// Raw files of a tenant's callers.
pub struct RawFiles {
    storage: Arc<dyn FileStorage>,
    items: Arc<Items>,
    clock: Arc<Clock>,
    /// Reads of large values: no more are in memory than are worked on. Who has a place here waits for a connection, and then for the CPU pool;
    /// nobody waits the other way round.
    large_reads: Arc<FairPlaces>,
}

/// A file to be read.
#[derive(Debug, Clone)]
pub struct RawFile {
    pub version: i64,
    /// When the item was made: one that was deleted and made again is another file.
    pub created_at: Micros,
    pub size_bytes: u64,
    pub media_type: String,
    /// Says the same of the same bytes: visible ASCII without quotes.
    pub tag: String,
    pub body: RawBody,
}

#[derive(Debug, Clone)]
pub enum RawBody {
    Small(Bytes),
    Large(ContentId),
}

/// A file to be written.
#[derive(Debug, Clone)]
pub struct PutFile {
    pub address: Address,
    /// None: what its name says.
    pub media_type: Option<String>,
    /// The version that it must have; 0: there must be none.
    pub if_version: Option<i64>,
    pub deadline: Micros,
    pub repetition: Repetition,
}

/// By what a request is known that comes again because its answer was lost. Then it is answered again, whatever became of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Repetition {
    /// By nothing: it is done again.
    #[default]
    Unknown,
    /// By the caller's key; of the same bytes and conditions.
    Key(String),
    /// By the upload that it ends.
    Upload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub version: i64,
    pub created: bool,
    /// It had these bytes already: nothing was written.
    pub unchanged: bool,
    pub size_bytes: u64,
}

impl RawFiles {
    pub fn new(storage: Arc<dyn FileStorage>, items: Arc<Items>, clock: Arc<Clock>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let large_reads = FairPlaces::new(cores, Share::WhileOthersWait);
        Self { storage, items, clock, large_reads }
    }

    /// A file of the caller's. None: there is none, or it is not the caller's to read. One round trip; two beyond 256 KiB.
    ///
    /// # Errors
    /// `Integrity`, `Unavailable`.
    pub async fn open(&self, caller: &Caller, address: &Address) -> Result<Option<RawFile>> {
        if require_read(caller, address).is_err() {
            return Ok(None);
        }
        let now = self.clock.now();
        let (addresses, small) = (std::slice::from_ref(address), INLINE_BYTES_MAX as u64);
        let (found, place) = match self.storage.get_items(caller, addresses, Some(small), now).await
        {
            Err(Error::TooLarge { .. }) => {
                let place = self.large_reads.take(&caller.tenant).await?;
                (self.storage.get_items(caller, addresses, None, now).await?, Some(place))
            }
            found => (found?, None),
        };
        let Some(item) = found.into_iter().next().flatten() else { return Ok(None) };
        let (version, created_at) = (item.version, item.created_at);
        if let Some(id) = &item.content_id {
            let Some(row) = self.find(caller, address).await? else { return Ok(None) };
            if row.content_id.as_ref() != Some(id) {
                // Replaced in between: as it is now.
                drop(place);
                return Box::pin(self.open(caller, address)).await;
            }
            let media_type = media_type_of(address, &row.head);
            let (size_bytes, body) = (row.head.size, RawBody::Large(ContentId::stored(id)?));
            let tag = tag_of(&row).unwrap_or_else(|| hex::encode(id));
            return Ok(Some(RawFile { version, created_at, size_bytes, media_type, tag, body }));
        }
        let Some(text) = item.value else { return Ok(None) };
        let size = text.len();
        let small = cpu_pool::run_sized(&caller.tenant, size, move || read_small(&text)).await??;
        drop(place);
        Ok(small.and_then(|(head, bytes)| {
            let media_type = media_type_of(address, &head);
            let tag = tag_of_bytes(head.sha256.as_ref()?);
            let (size_bytes, body) = (bytes.len() as u64, RawBody::Small(bytes));
            Some(RawFile { version, created_at, size_bytes, media_type, tag, body })
        }))
    }

    /// Bytes of a large file, as they lie together: some that begin at or before `at`, and where they begin.
    ///
    /// # Errors
    /// `NotFound` where the file was removed long ago; `Integrity`, `Unavailable`.
    pub async fn read_slice(
        &self,
        caller: &Caller,
        id: ContentId,
        at: u64,
    ) -> Result<(u64, Bytes)> {
        self.storage.read_slice(caller, id, at).await
    }

    /// Writes a small file. Two round trips; one where it has these bytes already.
    ///
    /// # Errors
    /// `NotGranted`; `VersionConflict`; `IdempotencyMismatch`; `TooLarge`; those of puts.
    pub async fn put(&self, caller: &Caller, put: PutFile, bytes: Bytes) -> Result<Stored> {
        require(caller, &put.address, Action::Append)?;
        let max = LIMITS.file_value_bytes_max;
        if bytes.len() as u64 > max {
            return Err(Error::TooLarge { field: "content".into(), limit: max });
        }
        let (size, now) = (bytes.len(), self.clock.now());
        let make = || {
            let sha256 = sha256(&bytes);
            let value = NewContent {
                dialect: Dialect::Python,
                now,
                path: put.address.key.text().unwrap_or_default(),
                content: writing::of_bytes(Dialect::Python, "", bytes.into()),
                media_type: put.media_type.as_deref(),
            };
            (sha256, value.created())
        };
        let (sha256, value) = cpu_pool::run_here(&caller.tenant, size, make).await?;
        let (value, size_bytes) = ((value, None), size as u64);
        let request = put.request(&sha256, None);
        self.store(Storing { caller, put, request, size_bytes, sha256 }, value).await
    }

    /// Shows a content that is whole as a file.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub async fn show(&self, caller: &Caller, put: PutFile, whole: &Finished) -> Result<Stored> {
        require(caller, &put.address, Action::Append)?;
        let now = writing::time(Dialect::Python, self.clock.now());
        // No content: what has one would be taken for a small file.
        let mut value = json!({"created_at": now, "modified_at": now});
        if let Some(media_type) = &put.media_type {
            value["mimeType"] = json!(media_type);
        }
        let head = FileHead {
            form: Form::Elsewhere,
            size: whole.size_bytes,
            units: 0,
            sha256: Some(whole.sha256),
            created_at: Some(now.as_str().into()),
            modified_at: Some(now.as_str().into()),
            media_type: put.media_type.as_deref().map(Into::into),
        };
        let kept = KeptContent { content_id: whole.id.0.to_vec(), head };
        let request = put.request(&whole.sha256, Some(whole.id));
        let Finished { size_bytes, sha256, .. } = *whole;
        let storing = Storing { caller, put, request, size_bytes, sha256 };
        let stored = self.store(storing, (value.to_string(), Some(kept))).await?;
        if stored.unchanged {
            self.storage.drop_upload(caller, whole.id, self.clock.now()).await?;
        }
        Ok(stored)
    }

    /// What is known of a file without its content. One round trip.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn find(&self, caller: &Caller, address: &Address) -> Result<Option<FileRow>> {
        let key = address.key.as_bytes();
        let range = KeyRange { from: key.to_vec(), to: [key, b"\0"].concat() };
        let query = ListFiles { namespace: address.namespace.clone(), range, limit: 1 };
        let page = self.storage.list_files(caller, &query, self.clock.now()).await?;
        Ok(page.files.into_iter().next())
    }

    /// Writes it unless this very request has done so, or the file has these bytes already.
    async fn store(
        &self,
        storing: Storing<'_>,
        (value, kept): (String, Option<KeptContent>),
    ) -> Result<Stored> {
        let Storing { caller, put, request, size_bytes, .. } = &storing;
        // Who may only add is answered by the put: there must be nothing.
        let may_replace = require(caller, &put.address, Action::Write).is_ok();
        let text = Bytes::from(value);
        let value = NewValue { text, ttl_micros: None, vectors: None, index: Vec::new(), kept };
        let mut contention = Contention::default();
        loop {
            let before = self.find(caller, &put.address).await?;
            let looks_done = storing.unchanged(before.as_ref());
            if !matches!(looks_done, Ok(None))
                && let Some(stored) = self.answered(&storing).await?
            {
                return Ok(stored);
            }
            if let Some(stored) = looks_done? {
                return Ok(stored);
            }
            let current = before.as_ref().map_or(0, |it| it.version);
            let free = put.if_version.is_none() && may_replace;
            // Only a change with a condition is remembered.
            let if_version = match (put.if_version, request) {
                (Some(wanted), _) => Some(wanted),
                (None, _) if !may_replace => Some(0),
                (None, Some(_)) => Some(current),
                (None, None) => None,
            };
            let created = before.is_none();
            let change =
                ChangeItem { address: put.address.clone(), value: Some(value.clone()), if_version };
            require_change(caller, &change)?;
            let changing = storing.changing(vec![i64::from(created)]);
            match self.items.write(&changing, vec![change], None).await {
                Err(Error::Conflict(Conflict::VersionConflict { .. })) if free => {
                    contention.lost("the file keeps").await?;
                }
                answer => return Ok(stored(&answer?, created, *size_bytes)),
            }
        }
    }

    /// What was answered to this very request before. One statement.
    async fn answered(&self, storing: &Storing<'_>) -> Result<Option<Stored>> {
        if storing.request.is_none() {
            return Ok(None);
        }
        let answer = self.items.answered(&storing.changing(Vec::new())).await?;
        Ok(answer.map(|it| stored(&it, false, storing.size_bytes)))
    }
}

/// A file that is to be stored, and by what its request is known.
struct Storing<'a> {
    caller: &'a Caller,
    put: PutFile,
    request: Option<(String, [u8; 32])>,
    size_bytes: u64,
    sha256: [u8; 32],
}

impl<'a> Storing<'a> {
    fn changing(&self, note: Vec<i64>) -> Changing<'a> {
        let Self { caller, put, request, .. } = self;
        let idempotency = request.clone();
        Changing { caller, atomic: true, idempotency, deadline: put.deadline, note }
    }

    /// The answer where the file has these bytes already, under the condition of the put.
    fn unchanged(&self, before: Option<&FileRow>) -> Result<Option<Stored>> {
        let Self { caller, put, size_bytes, .. } = self;
        let current = before.map_or(0, |it| it.version);
        if put.if_version.is_some_and(|it| it != current) {
            return Err(Error::Conflict(Conflict::VersionConflict { current }));
        }
        // Who may not read is not told whether he guessed it: his put is written. And the end of an upload is remembered with what
        // it writes.
        let Some(row) = before
            .filter(|_| may_know(caller, &put.address) && put.repetition != Repetition::Upload)
        else {
            return Ok(None);
        };
        let of_type =
            |it: &String| row.head.media_type.as_ref().and_then(|it| it.text()) == Some(it);
        let same = row.head.sha256 == Some(self.sha256)
            && row.head.size == *size_bytes
            && put.media_type.as_ref().is_none_or(of_type);
        let (version, size_bytes) = (row.version, *size_bytes);
        Ok(same.then_some(Stored { version, created: false, unchanged: true, size_bytes }))
    }
}

impl PutFile {
    /// Key and digest under which the answer is remembered.
    fn request(&self, sha256: &[u8; 32], upload: Option<ContentId>) -> Option<(String, [u8; 32])> {
        match (&self.repetition, upload) {
            (Repetition::Unknown, _) | (Repetition::Upload, None) => None,
            // No caller's key has a space.
            (Repetition::Upload, Some(id)) => Some((format!("upload {id}"), [0; 32])),
            (Repetition::Key(key), _) => {
                let Self { address, media_type, if_version, .. } = self;
                let place = (address.namespace.labels(), address.key.as_bytes());
                // As text each part is told from the next.
                let asked = format!("{place:?} {media_type:?} {if_version:?}");
                let digest = [b"put file content ", asked.as_bytes(), sha256].concat();
                Some((key.clone(), self::sha256(&digest)))
            }
        }
    }
}

/// As it was written, with the note that a request keeps; `created` where it keeps none.
fn stored(answer: &[i64], created: bool, size_bytes: u64) -> Stored {
    let version = answer.first().copied().unwrap_or(0);
    let created = answer.get(1).map_or(created, |it| *it != 0);
    Stored { version, created, unchanged: false, size_bytes }
}

/// What a listing and a download call the state of a file: the same for the same bytes. None: a listing does not know it.
pub fn tag_of(row: &FileRow) -> Option<String> {
    row.head.sha256.as_ref().map(tag_of_bytes).or_else(|| row.content_id.as_ref().map(hex::encode))
}

/// The type that was stored, else what the name says, as far as the content may be that.
pub fn media_type_of(address: &Address, head: &FileHead) -> String {
    let is_bytes = !matches!(head.form, Form::Text | Form::Lines);
    let path = String::from_utf8_lossy(address.key.as_bytes());
    media::shown(head.media_type.as_ref().and_then(|it| it.text()), is_bytes, &path)
}

/// The head and the bytes of a value. None: it is no file.
fn read_small(text: &[u8]) -> Result<Option<(FileHead, Bytes)>> {
    let Some(value) = FileValue::read(exact_json::parse("value", text)?) else { return Ok(None) };
    let raw = value.content.raw();
    let head = FileHead::with_raw(&value, raw.as_deref());
    Ok(raw.map(|it| (head, Bytes::from(it.into_owned()))))
}

fn tag_of_bytes(sha256: &[u8; 32]) -> String {
    hex::encode(&sha256[..16])
}

fn may_know(caller: &Caller, address: &Address) -> bool {
    caller.may_touch_namespace(address.namespace.labels(), Action::Read)
}

fn require_read(caller: &Caller, address: &Address) -> Result<()> {
    let granted = caller.may_touch_namespace(address.namespace.labels(), Action::Read);
    if granted { Ok(()) } else { Err(Error::NotGranted("no grant covers this namespace")) }
}
