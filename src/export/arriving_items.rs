//! Imports the items of a noun together, and stores their contents as they arrive.

use bytes::Bytes;

use super::arriving_content::ArrivingContent;
use super::frames::FrameReader;
use super::import::{Fate, Ground, truncated};
use super::items::{to_earlier, to_item, to_slice, write_items};
use super::nouns::{NounDigest, NounWriter};
use super::records::{EarlierOf, ItemOf, Record, SliceOf};
use super::stored::of_file;
use super::values::Unpacker;
use crate::domain::export::items::{ItemRecord, StoredItem, shown};
use crate::domain::export::records::Existing;
use crate::domain::files::contents::ContentId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Conflict, Error, Result};

/// Bytes of a noun of items, which is in memory as a whole: an item with all its versions may be that large.
const NOUN_BYTES_MAX: usize = 1 << 30;

struct Arriving<'a> {
    ground: &'a Ground<'a>,
    digest: NounDigest,
    unpacker: Unpacker,
    items: Vec<ItemRecord>,
    size_bytes: usize,
    /// Those that arrived whole.
    contents: Vec<ContentId>,
    /// How many contents have ended, stored or not.
    ended: usize,
    current: Option<ArrivingContent>,
    /// Whether contents are stored. None: none has come.
    stores: Option<bool>,
}

/// Reads a noun of items to its end and writes what is not here as it is in the file.
pub async fn import_items(
    ground: &Ground<'_>,
    frames: &mut FrameReader<'_>,
    (first, payload): (ItemOf, &Bytes),
) -> Result<Vec<Fate>> {
    let mut arriving = Arriving {
        ground,
        digest: NounDigest::default(),
        unpacker: Unpacker::default(),
        items: Vec::new(),
        size_bytes: 0,
        contents: Vec::new(),
        ended: 0,
        current: None,
        stores: None,
    };
    let read = arriving.read(frames, (first, payload)).await;
    let fates = match read {
        Ok(()) => arriving.write().await,
        Err(error) => Err(error),
    };
    let is_shown = |it: &Fate| matches!(it, Fate::Created | Fate::Replaced);
    if !fates.as_ref().is_ok_and(|it| it.iter().any(is_shown)) {
        arriving.drop_contents().await?;
    }
    fates
}

impl Arriving<'_> {
    async fn read(
        &mut self,
        frames: &mut FrameReader<'_>,
        (first, payload): (ItemOf, &Bytes),
    ) -> Result<()> {
        self.item(first, payload).await.map_err(|error| of_file(frames, error))?;
        loop {
            let Some(payload) = frames.next().await? else { return Err(truncated()) };
            let taken = match frames.decode(&payload).await? {
                Record::End(end) => {
                    frames.verify(end.signature.as_ref().map(|it| &it[..]))?;
                    let whole = self.current.is_none() && self.ended == self.sizes().len();
                    return if whole {
                        Ok(())
                    } else {
                        Err(frames.damaged("a content is cut off"))
                    };
                }
                Record::Item(item) => self.item(item, &payload).await,
                Record::Earlier(earlier) => self.earlier(earlier, &payload).await,
                Record::Slice(slice) => self.slice(slice, &payload).await,
                _ => Err(wrong("a record that is not of items")),
            };
            taken.map_err(|error| of_file(frames, error))?;
        }
    }

    async fn item(&mut self, item: ItemOf, payload: &[u8]) -> Result<()> {
        let size = item.value.size;
        let item = self.unpack((size, payload), |it| to_item(it, item)).await?;
        let item = item.ok_or_else(|| wrong("no item"))?;
        self.size_bytes += item.size_bytes();
        self.items.push(item);
        self.check_size()
    }

    async fn earlier(&mut self, earlier: EarlierOf, payload: &[u8]) -> Result<()> {
        let size = earlier.value.size;
        let version = self.unpack((size, payload), |it| to_earlier(it, earlier)).await?;
        let (Some(version), Some(item)) = (version, self.items.last_mut()) else {
            return Err(wrong("a version of no item"));
        };
        self.size_bytes += version.value.len() + 256;
        item.earlier.push(version);
        self.check_size()
    }

    /// Takes a value of so many bytes out of the file and counts its record for the digest, beside the async workers where it is long.
    async fn unpack<T>(
        &mut self,
        (value_bytes, payload): (u64, &[u8]),
        unpack: impl FnOnce(&mut Unpacker) -> T + Send,
    ) -> Result<T> {
        let (unpacker, digest) = (&mut self.unpacker, &mut self.digest);
        let size = payload.len().saturating_add(usize::try_from(value_bytes).unwrap_or(usize::MAX));
        let unpack = || {
            digest.add(payload);
            unpack(unpacker)
        };
        cpu_pool::run_here(&self.ground.caller.tenant, size, unpack).await
    }

    fn check_size(&self) -> Result<()> {
        if self.size_bytes > NOUN_BYTES_MAX {
            Err(wrong("too many items together"))
        } else {
            Ok(())
        }
    }

    fn sizes(&self) -> Vec<u64> {
        self.items.iter().flat_map(ItemRecord::content_sizes).collect()
    }

    async fn slice(&mut self, slice: SliceOf, payload: &[u8]) -> Result<()> {
        let Ground { storage, caller, options, now, .. } = *self.ground;
        self.digest.add_payload(&caller.tenant, payload).await?;
        let [item] = &self.items[..] else { return Err(wrong("a content of several items")) };
        if self.stores.is_none() {
            item.check()?;
            let replaces = options.existing == Existing::Replace;
            let wanted = !options.dry_run
                && (replaces || storage.read_item(caller, &item.address, now).await?.is_none());
            self.stores = Some(wanted);
        }
        let Some(size) = item.content_sizes().get(self.ended).copied() else {
            return Err(wrong("a content of nothing"));
        };
        if self.current.is_none() {
            let content = (&item.address, size);
            let stores = self.stores == Some(true);
            self.current = Some(ArrivingContent::begin(self.ground, content, stores).await?);
        }
        let Some(content) = &mut self.current else { return Ok(()) };
        if content.put(self.ground, to_slice(slice)).await?
            && let Some(content) = self.current.take()
        {
            self.ended += 1;
            self.contents.extend(content.id);
            content.end(self.ground).await?;
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<Vec<Fate>> {
        let Ground { storage, caller, options, now, .. } = *self.ground;
        let (mut fates, mut wanted) = (Vec::new(), Vec::new());
        for item in std::mem::take(&mut self.items) {
            item.check().map_err(|error| Error::Export {
                fault: crate::domain::error::FileFault::Damaged,
                detail: format!("an item of the file: {error}"),
            })?;
            if item.expires_at.is_some_and(|at| at <= now) {
                fates.push(Fate::Unchanged);
                continue;
            }
            let found = storage.read_item(caller, &item.address, now).await?;
            let is_there = found.is_some();
            if let Some(found) = found
                && self.is_same(&item, found).await?
            {
                fates.push(Fate::Unchanged);
            } else if is_there && options.existing == Existing::Refuse {
                if !options.dry_run {
                    let name = shown(&item.address);
                    return Err(Error::Conflict(Conflict::ImportConflict {
                        noun: "the item",
                        name,
                    }));
                }
                fates.push(Fate::Conflict);
            } else {
                fates.push(if is_there { Fate::Replaced } else { Fate::Created });
                let contents = self.contents.clone();
                wanted.push(StoredItem { record: item, contents });
            }
        }
        if !options.dry_run && !wanted.is_empty() {
            let lacks = |it: &StoredItem| it.record.content_sizes().len() != it.contents.len();
            if wanted.iter().any(lacks) {
                return Err(Error::Unavailable {
                    detail: "an item went while it was imported".into(),
                    retry_after: std::time::Duration::from_secs(1),
                });
            }
            storage.put_items(caller, wanted, (options.existing, now)).await?;
        }
        Ok(fates)
    }

    /// Whether an item is here as in the file. Its versions do not make it another, nor do vectors that are not kept here.
    async fn is_same(&self, item: &ItemRecord, found: StoredItem) -> Result<bool> {
        let mut expected = item.clone().under_versions_of(&found.record);
        if found.record.vectors.is_none() && found.record.index.is_none() {
            (expected.vectors, expected.index) = (None, None);
        }
        let Ground { storage, caller, .. } = *self.ground;
        let compare = || expected == found.record;
        if !cpu_pool::run_here(&caller.tenant, expected.size_bytes(), compare).await? {
            return Ok(false);
        }
        if found.contents.is_empty() {
            return Ok(true);
        }
        let found = StoredItem { record: item.clone(), contents: found.contents };
        let mut stored = NounWriter::comparing(&caller.tenant, None);
        write_items(&mut stored, storage, caller, vec![found]).await?;
        Ok(stored.end().await? == self.digest.clone().end())
    }

    /// What nothing will show.
    async fn drop_contents(&mut self) -> Result<()> {
        let Ground { storage, caller, now, .. } = *self.ground;
        let arriving = self.current.take().and_then(|it| it.id);
        for id in self.contents.drain(..).chain(arriving) {
            storage.drop_upload(caller, id, now).await?;
        }
        Ok(())
    }
}

fn wrong(what: &'static str) -> Error {
    Error::invalid("item", what)
}
