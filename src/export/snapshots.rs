//! Writes snapshots as records of a file: the snapshot, then its parts. Each part is a noun with its own digest, because a part may be read
//! again when data beside it changed.

use serde_bytes::ByteBuf;

use super::frames::FrameWriter;
use super::items::{of_item, put_content};
use super::nouns::{NounDigest, NounWriter};
use super::records::{End, Gone, ItemOf, PartOf, Record};
use super::snapshot_heads::{of_archive, of_snapshot, parts};
use super::values::Packer;
use crate::domain::caller::Caller;
use crate::domain::export::items::StoredItem;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::Snapshot;
use crate::domain::snapshots::archives::Archive;
use crate::domain::storage::Storage;
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};

/// Attempts when somebody is erased out of it meanwhile.
const ATTEMPTS_MAX: u32 = 5;
/// What of a snapshot is not there any more.
const MISSING: &str = "a part of a snapshot is missing: `threadkeep doctor` says which";

/// Puts a snapshot into a file. False: there is none.
pub async fn put_snapshot(
    storage: &dyn Storage,
    caller: &Caller,
    id: &SnapshotId,
    frames: &mut FrameWriter<'_>,
) -> Result<bool> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(snapshot) = storage.get_snapshot(caller, id, Action::Read).await? else {
            return Ok(false);
        };
        if write_snapshot(storage, caller, Some(frames), &snapshot).await?.is_some() {
            let signature = frames.sign().map(ByteBuf::from);
            frames.put(&Record::End(End { signature }).encode()).await?;
            return Ok(true);
        }
        // It goes, or somebody is being erased: a reader forgets what came of it.
        frames.put(&Record::Gone(Gone {}).encode()).await?;
    }
    Err(Error::Integrity(MISSING.into()))
}

/// The digest of a snapshot, whose records go into the file if there is one. None: a part of it went meanwhile.
pub async fn write_snapshot(
    storage: &dyn Storage,
    caller: &Caller,
    mut frames: Option<&mut FrameWriter<'_>>,
    snapshot: &Snapshot,
) -> Result<Option<[u8; 32]>> {
    let id = SnapshotId::new(snapshot.id.as_str())?;
    let Some(asked) = storage.snapshot_digest(caller, &id).await? else { return Ok(None) };
    let mut digest = NounDigest::default();
    let mut records = vec![Record::Snapshot(of_snapshot(snapshot, asked))];
    for part in parts(snapshot) {
        records.push(Record::Part(part.clone()));
        for payload in records.drain(..).map(|it| it.encode()) {
            digest.add(&payload);
            if let Some(frames) = &mut frames {
                frames.put(&payload).await?;
            }
        }
        let noun = match &mut frames {
            Some(frames) => NounWriter::into_file(frames),
            None => NounWriter::comparing(&caller.tenant, None),
        };
        match write_part(storage, caller, noun, (snapshot.no, part)).await? {
            Some(of_part) => digest.add(&of_part),
            None => return Ok(None),
        }
    }
    // Of one without parts.
    for payload in records.iter().map(Record::encode) {
        digest.add(&payload);
        if let Some(frames) = &mut frames {
            frames.put(&payload).await?;
        }
    }
    if let Some(archive) = &snapshot.archive {
        let noun = match &mut frames {
            Some(frames) => NounWriter::into_file(frames),
            None => NounWriter::comparing(&caller.tenant, None),
        };
        match write_archive(storage, caller, noun, archive).await? {
            Some(of_archive) => digest.add(&of_archive),
            None => return Ok(None),
        }
    }
    Ok(Some(digest.end()))
}

async fn write_archive(
    storage: &dyn Storage,
    caller: &Caller,
    mut noun: NounWriter<'_, '_>,
    archive: &Archive,
) -> Result<Option<[u8; 32]>> {
    noun.record(&Record::Archive(of_archive(archive))).await?;
    let content = (archive.id.0, archive.size_bytes);
    match put_content(&mut noun, (storage, caller), content).await {
        // With its snapshot.
        Err(Error::NotFound(_)) => return Ok(None),
        put => put?,
    }
    Ok(Some(noun.close()))
}

async fn write_part(
    storage: &dyn Storage,
    caller: &Caller,
    mut noun: NounWriter<'_, '_>,
    (number, part): (i64, PartOf),
) -> Result<Option<[u8; 32]>> {
    let found = match (part.thread_id, part.namespace, part.session) {
        (Some(thread_id), ..) => {
            noun.call_it(thread_id);
            let part = usize::try_from(part.part_no).unwrap_or(usize::MAX);
            let hidden = ThreadId::hidden(number, part);
            storage.read_thread(caller, hidden.as_str(), &mut noun).await?
        }
        (_, Some(labels), _) => {
            let items = put_items(storage, caller, &mut noun, (number, Namespace::stored(labels)));
            i64::try_from(items.await?).is_ok_and(|it| it == part.entries)
        }
        (.., Some((kind, key))) => {
            let name = SessionName::new(kind.as_str(), key)?;
            noun.call_it(kind);
            let hidden = SessionName::stored(name.hidden_kind(number), &name.key_bytes());
            match hidden {
                Some(hidden) => storage.read_session(caller, &hidden, &mut noun).await?,
                None => false,
            }
        }
        _ => false,
    };
    Ok(if found { Some(noun.close()) } else { None })
}

/// How many there are.
async fn put_items(
    storage: &dyn Storage,
    caller: &Caller,
    noun: &mut NounWriter<'_, '_>,
    (number, prefix): (i64, Namespace),
) -> Result<usize> {
    let (mut after, mut count): (Option<Address>, _) = (None, 0);
    loop {
        let read = storage.read_snapshot_items(caller, number, &prefix, after.as_ref()).await?;
        count += read.items.len();
        for StoredItem { mut record, contents } in read.items {
            // A snapshot has what an item is, not which version.
            record.version = 1;
            let (sizes, size_bytes) = (record.content_sizes(), record.size_bytes());
            let make = |packer: &mut Packer| {
                let with_counted = |it| {
                    let counted = counted(&it);
                    (it, counted)
                };
                of_item(packer, record).into_iter().map(with_counted).collect()
            };
            noun.records(size_bytes, make).await?;
            for content in contents.into_iter().zip(sizes) {
                put_content(noun, (storage, caller), content).await?;
            }
        }
        let Some(last) = read.last else { return Ok(count) };
        after = Some(last);
    }
}

/// What counts instead of a record when snapshots are compared, if anything: where values are encrypted there are no vectors.
pub fn counted(record: &Record) -> Option<Record> {
    match record {
        Record::Item(item) if item.vectors.is_some() || item.index.is_some() => {
            Some(Record::Item(ItemOf { vectors: None, index: None, ..item.clone() }))
        }
        _ => None,
    }
}
