//! Converts items of the domain to records of a file, and back.

use bytes::Bytes;
use serde_bytes::ByteBuf;

use super::frames::FrameWriter;
use super::nouns::NounWriter;
use super::records::{ContentOf, EarlierOf, IndexOf, ItemOf, Record, SliceOf, VectorsOf};
use super::values::{Packer, Unpacker};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::export::items::{EarlierVersion, ItemIndex, ItemRecord, StoredItem, key_of};
use crate::domain::files::contents::ContentId;
use crate::domain::json::wide_text::WideText;
use crate::domain::storage::Storage;
use crate::domain::store::file_head::{FileHead, Form};
use crate::domain::store::item::Address;
use crate::domain::store::namespace::Namespace;
use crate::domain::store::vector::{FieldVector, Model, NewVectors, Vector};

/// Writes items as one noun: all without contents, or one with its own.
pub async fn write_items(
    noun: &mut NounWriter<'_, '_>,
    storage: &dyn Storage,
    caller: &Caller,
    items: Vec<StoredItem>,
) -> Result<()> {
    for StoredItem { record, contents } in items {
        let (sizes, size_bytes) = (record.content_sizes(), record.size_bytes());
        let make = |packer: &mut Packer| {
            of_item(packer, record).into_iter().map(|it| (it, None)).collect()
        };
        noun.records(size_bytes, make).await?;
        for content in contents.into_iter().zip(sizes) {
            put_content(noun, (storage, caller), content).await?;
        }
    }
    Ok(())
}

/// The slices of a content that is so many bytes long.
pub async fn put_content(
    noun: &mut NounWriter<'_, '_>,
    (storage, caller): (&dyn Storage, &Caller),
    (id, size_bytes): (ContentId, u64),
) -> Result<()> {
    let mut at = 0;
    while at < size_bytes {
        let (start, bytes) = storage.read_slice(caller, id, at).await?;
        at = start + bytes.len() as u64;
        let make = |_: &mut Packer| {
            vec![(Record::Slice(SliceOf { bytes: ByteBuf::from(bytes.to_vec()) }), None)]
        };
        noun.records(bytes.len(), make).await?;
    }
    Ok(())
}

/// A noun of items in a file.
pub async fn put_noun(
    frames: &mut FrameWriter<'_>,
    storage: &dyn Storage,
    caller: &Caller,
    items: Vec<StoredItem>,
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let mut noun = NounWriter::into_file(frames);
    write_items(&mut noun, storage, caller, items).await?;
    noun.end().await.map(drop)
}

pub fn of_item(packer: &mut Packer, it: ItemRecord) -> Vec<Record> {
    let vectors = it.vectors.as_ref().map(|vectors| VectorsOf {
        model: vectors.model().as_str().to_owned(),
        of: vectors
            .all()
            .iter()
            .map(|it| (it.field.clone(), it.vector.numbers().to_vec()))
            .collect(),
    });
    let item = ItemOf {
        namespace: it.address.namespace.labels().to_vec(),
        key: ByteBuf::from(it.address.key.as_bytes().to_vec()),
        version: it.version,
        created_at: it.created_at,
        updated_at: it.updated_at,
        ttl_micros: it.ttl_micros,
        expires_at: it.expires_at,
        history: it.history,
        value: packer.pack(&it.value),
        content: it.content.map(of_head),
        vectors,
        index: it.index.map(|it| IndexOf { fields: it.fields, model: it.model }),
    };
    let mut records = vec![Record::Item(item)];
    for earlier in it.earlier {
        records.push(Record::Earlier(EarlierOf {
            version: earlier.version,
            updated_at: earlier.updated_at,
            ttl_micros: earlier.ttl_micros,
            value: packer.pack(&earlier.value),
            content: earlier.content.map(of_head),
        }));
    }
    records
}

fn of_head(head: FileHead) -> ContentOf {
    let text = |it: Option<WideText>| it.map(|it| ByteBuf::from(it.as_bytes().to_vec()));
    ContentOf {
        size: head.size,
        sha256: head.sha256.map(|it| ByteBuf::from(it.to_vec())),
        created_at: text(head.created_at),
        modified_at: text(head.modified_at),
        media_type: text(head.media_type),
    }
}

fn to_head(content: ContentOf) -> Option<FileHead> {
    let text = |it: Option<ByteBuf>| it.map(|it| WideText::of_bytes(it.into_vec()));
    let sha256 = match content.sha256 {
        Some(digest) => Some(<[u8; 32]>::try_from(&digest[..]).ok()?),
        None => None,
    };
    Some(FileHead {
        form: Form::Elsewhere,
        size: content.size,
        units: 0,
        sha256,
        created_at: text(content.created_at),
        modified_at: text(content.modified_at),
        media_type: text(content.media_type),
    })
}

/// None: it is no content, or none at all.
#[allow(clippy::option_option)]
fn to_content(content: Option<ContentOf>) -> Option<Option<FileHead>> {
    match content {
        None => Some(None),
        Some(content) => to_head(content).map(Some),
    }
}

/// None: its bytes make no item.
pub fn to_item(unpacker: &mut Unpacker, it: ItemOf) -> Option<ItemRecord> {
    let vectors = match it.vectors {
        None => None,
        Some(vectors) => {
            let of = |(field, numbers): (String, Vec<f32>)| {
                Vector::new("vector", numbers).ok().map(|vector| FieldVector { field, vector })
            };
            let all = vectors.of.into_iter().map(of).collect::<Option<Vec<_>>>()?;
            Some(NewVectors::new(Model::new(&vectors.model).ok()?, all).ok()?)
        }
    };
    Some(ItemRecord {
        address: Address {
            namespace: Namespace::new(it.namespace).ok()?,
            key: key_of(it.key.into_vec()),
        },
        version: it.version,
        created_at: it.created_at,
        updated_at: it.updated_at,
        ttl_micros: it.ttl_micros,
        expires_at: it.expires_at,
        history: it.history,
        value: unpacker.unpack(it.value)?,
        content: to_content(it.content)?,
        earlier: Vec::new(),
        vectors,
        index: it.index.map(|it| ItemIndex { fields: it.fields, model: it.model }),
    })
}

/// None: its bytes make no version.
pub fn to_earlier(unpacker: &mut Unpacker, it: EarlierOf) -> Option<EarlierVersion> {
    Some(EarlierVersion {
        version: it.version,
        updated_at: it.updated_at,
        ttl_micros: it.ttl_micros,
        value: unpacker.unpack(it.value)?,
        content: to_content(it.content)?,
    })
}

/// The bytes of a slice.
pub fn to_slice(it: SliceOf) -> Bytes {
    Bytes::from(it.bytes.into_vec())
}
