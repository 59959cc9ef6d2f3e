//! Imports the items of a namespace that a snapshot keeps, with their contents.

use std::collections::HashSet;

use bytes::Bytes;

use super::arriving_content::ArrivingContent;
use super::import::Ground;
use super::items::{to_item, to_slice};
use super::nouns::NounDigest;
use super::records::Record;
use super::snapshots::counted;
use super::values::Unpacker;
use crate::domain::export::items::{ItemRecord, StoredItem};
use crate::domain::files::contents::ContentId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};

/// Items that are kept by one transaction.
const SLICE_ITEMS: usize = 128;
const SLICE_BYTES: usize = 1 << 20;

/// Items of a namespace that a snapshot keeps.
pub struct ArrivingCopies {
    prefix: Namespace,
    digest: NounDigest,
    unpacker: Unpacker,
    /// Those that have come.
    addresses: HashSet<Address>,
    waiting: Vec<StoredItem>,
    waiting_bytes: usize,
    /// One whose contents have not all come.
    open: Option<(ItemRecord, Vec<ContentId>, usize)>,
    content: Option<ArrivingContent>,
}

/// What a record says.
enum Unpacked {
    /// None: its bytes make no item.
    Item(Option<Box<ItemRecord>>),
    Slice(Bytes),
    Other,
}

impl ArrivingCopies {
    pub fn below(prefix: Namespace) -> Self {
        Self {
            prefix,
            digest: NounDigest::default(),
            unpacker: Unpacker::default(),
            addresses: HashSet::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            open: None,
            content: None,
        }
    }

    /// Takes the next record, as its payload has it.
    ///
    /// # Errors
    /// 422 for what belongs to no item of the namespace; `Unavailable`.
    pub async fn take(
        &mut self,
        ground: &Ground<'_>,
        number: Option<i64>,
        (record, payload): (Record, &Bytes),
    ) -> Result<()> {
        let (unpacker, digest) = (&mut self.unpacker, &mut self.digest);
        let size = payload.len().saturating_add(record.value_bytes());
        let unpack = || {
            match counted(&record) {
                Some(counted) => digest.add(&counted.encode()),
                None => digest.add(payload),
            }
            match record {
                Record::Item(item) => Unpacked::Item(to_item(unpacker, item).map(Box::new)),
                Record::Slice(slice) => Unpacked::Slice(to_slice(slice)),
                _ => Unpacked::Other,
            }
        };
        match cpu_pool::run_here(&ground.caller.tenant, size, unpack).await? {
            Unpacked::Item(item) if self.open.is_none() => {
                let item = *item.ok_or_else(|| wrong("no item"))?;
                item.check()?;
                if !item.address.namespace.starts_with(&self.prefix) {
                    return Err(wrong("an item of another namespace than it says"));
                }
                if !self.addresses.insert(item.address.clone()) {
                    return Err(wrong("an item that is there twice"));
                }
                self.waiting_bytes += item.size_bytes();
                if item.content_sizes().is_empty() {
                    self.waiting.push(StoredItem { record: item, contents: Vec::new() });
                } else {
                    self.open = Some((item, Vec::new(), 0));
                }
            }
            Unpacked::Slice(bytes) => self.slice(ground, number.is_some(), bytes).await?,
            _ => return Err(wrong("a record that is not of items")),
        }
        if self.waiting.len() >= SLICE_ITEMS || self.waiting_bytes >= SLICE_BYTES {
            self.flush(ground, number).await?;
        }
        Ok(())
    }

    async fn slice(&mut self, ground: &Ground<'_>, stores: bool, bytes: Bytes) -> Result<()> {
        let Some((item, contents, ended)) = &mut self.open else {
            return Err(wrong("a content of nothing"));
        };
        let sizes = item.content_sizes();
        if self.content.is_none() {
            let content = (&item.address, sizes[*ended]);
            self.content = Some(ArrivingContent::begin(ground, content, stores).await?);
        }
        let Some(content) = &mut self.content else { return Ok(()) };
        if !content.put(ground, bytes).await? {
            return Ok(());
        }
        if let Some(content) = self.content.take() {
            contents.extend(content.id);
            *ended += 1;
            content.end(ground).await?;
        }
        if *ended == sizes.len()
            && let Some((record, contents, _)) = self.open.take()
        {
            self.waiting.push(StoredItem { record, contents });
        }
        Ok(())
    }

    /// Keeps what waits.
    async fn flush(&mut self, ground: &Ground<'_>, number: Option<i64>) -> Result<()> {
        self.waiting_bytes = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let Some(number) = number.filter(|_| !waiting.is_empty()) else { return Ok(()) };
        let Ground { storage, caller, .. } = *ground;
        storage.keep_items(caller, number, waiting).await
    }

    /// Keeps the last of them. Answers the digest of all.
    ///
    /// # Errors
    /// 422 where there are not as many as they should be; `Unavailable`.
    pub async fn end(
        &mut self,
        ground: &Ground<'_>,
        (number, count): (Option<i64>, i64),
    ) -> Result<[u8; 32]> {
        self.flush(ground, number).await?;
        if self.open.is_some() || i64::try_from(self.addresses.len()) != Ok(count) {
            return Err(wrong("a part has other items than it says"));
        }
        Ok(self.digest.clone().end())
    }

    /// Contents that no item has yet.
    pub fn unkept(self) -> impl Iterator<Item = ContentId> {
        let waiting = self.waiting.into_iter().flat_map(|it| it.contents);
        let open = self.open.into_iter().flat_map(|it| it.1);
        waiting.chain(open).chain(self.content.and_then(|it| it.id))
    }
}

fn wrong(what: &'static str) -> Error {
    Error::invalid("snapshot", what)
}
