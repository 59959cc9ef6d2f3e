//! Seals and opens the values of items, and defines what both engines need to store, search and list items.

pub mod encrypting;
pub mod heads;
pub(in crate::storage) mod indexing_rows;
pub mod listing;
pub mod models;
pub mod namespaces;
pub mod nearest;
pub mod opening;
pub mod postgres;
pub mod projection;
pub mod setting_rows;
pub mod sqlite;
pub mod versions;
pub mod words;

use bytes::Bytes;
use std::sync::{Arc, Mutex};

use crate::content::keys::TenantSecret;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::checkpoints::prepared::Sealed;
use crate::domain::clock::Micros;
use crate::domain::idempotency::Idempotency;
use crate::domain::json::exact_fields::pick;
use crate::domain::json::field_path::FieldPath;
use crate::domain::limits::LIMITS;
use crate::domain::names::Tag;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::batch::{
    Content, ItemBatch, PreparedChange, PreparedChanges, PreparedValue,
};
use crate::domain::store::history::is_file;
use crate::domain::store::item::{Address, ChangeItem, Item, ItemSort, NewValue, Scope, Select};
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::{ValueRow, item_place};
use crate::storage::content::chunk_memory::{ChunkMemory, Known};
use crate::storage::content::opening::{Chunks, StoredValue, open_value};
use crate::storage::content::sealing::Sealer;

/// Values up to this size stay in their row: the chunks of one that is replaced are collected later, and few items
/// share any.
pub const WHOLE_BYTES_MAX: usize = 32 << 10;
/// What is counted for a row beside its value, when batches are made.
const ROW_BYTES: usize = 256;
const TAG: &str = "json";
/// What values that lie in their row are encrypted for: they have no content in a scope.
const NO_SCOPE: i64 = 0;

/// An item as its row has it.
#[derive(Debug, Clone)]
pub struct StoredItem {
    pub item: Item,
    pub digest: Vec<u8>,
    /// None where it was not read.
    pub body: Option<Vec<u8>>,
    pub parts: Option<Vec<u8>>,
    pub scope_id: Option<i64>,
}

/// Where the chunks of a large value go, and what is known to be there.
pub struct Target {
    pub scope_id: i64,
    pub known: Option<Arc<Mutex<Known>>>,
}

impl StoredItem {
    /// The exact text.
    ///
    /// # Errors
    /// `Integrity` when the stored bytes are damaged or a chunk is not there.
    pub fn open(&self, secret: &TenantSecret, chunks: &Chunks) -> Result<Bytes> {
        let body = self.body.as_deref();
        let body = body.ok_or_else(|| Error::Internal("a value was not read".into()))?;
        let stored = StoredValue {
            scope_id: self.scope_id.unwrap_or(NO_SCOPE),
            row: row_of(secret, &self.item.address),
            tag: TAG,
            size_bytes: i32::try_from(self.item.size_bytes).unwrap_or(i32::MAX),
            digest: &self.digest,
            body,
            parts: self.parts.as_deref(),
        };
        open_value(secret, &stored, chunks).map(|it| it.data)
    }
}

/// Prepares changes that happen together. `targets` has one entry per change that [`needs_content`]; `projects`: the engine has
/// an index for filters. Large ones leave the async worker to other tasks meanwhile.
///
/// # Errors
/// 413 and 422 for values that break a limit or are no objects.
pub async fn prepare(
    secret: &TenantSecret,
    tenant: &str,
    changes: Vec<ChangeItem>,
    targets: Vec<Target>,
    projects: bool,
) -> Result<PreparedChanges> {
    let texts = changes.iter().filter_map(|it| it.value.as_ref());
    let size = cpu_pool::size_of(changes.len(), texts.map(|it| it.text.len()).sum());
    let work = || prepare_all(secret, tenant, changes, targets, projects);
    cpu_pool::run_here(tenant, size, work).await?
}

fn prepare_all(
    secret: &TenantSecret,
    tenant: &str,
    changes: Vec<ChangeItem>,
    targets: Vec<Target>,
    projects: bool,
) -> Result<PreparedChanges> {
    let mut targets = targets.into_iter();
    let changes = changes.into_iter().map(|change| {
        let target = if needs_content(&change) { targets.next() } else { None };
        let row = row_of(secret, &change.address);
        let seal = |value: &NewValue| prepare_value(secret, (tenant, row), value, target, projects);
        Ok(PreparedChange {
            put: change.value.as_ref().map(seal).transpose()?,
            address: change.address,
            if_version: change.if_version,
        })
    });
    let changes = changes.collect::<Result<Vec<_>>>()?;
    let size_bytes = changes.iter().map(size).sum();
    Ok(PreparedChanges {
        tenant: tenant.to_owned(),
        changes,
        idempotency: None,
        deadline: Micros::MAX,
        full: None,
        size_bytes,
    })
}

/// Adds what is not of the values.
pub fn with_request(
    prepared: PreparedChanges,
    idempotency: Option<Idempotency>,
    deadline: Micros,
) -> PreparedChanges {
    PreparedChanges { idempotency, deadline, ..prepared }
}

/// Whether the value goes into chunks.
pub fn needs_content(change: &ChangeItem) -> bool {
    change.value.as_ref().is_some_and(|it| it.text.len() > WHOLE_BYTES_MAX)
}

/// The name of a namespace root in the memory of chunks: no thread has it.
pub fn memory_key(root: &str) -> String {
    format!("\0{root}")
}

/// After a batch: remembers which chunks are there now. `written` has the epoch of each row that was written.
pub fn record_written(memory: &ChunkMemory, batch: &ItemBatch, written: &[Option<i64>]) {
    for (row, epoch) in batch.rows.iter().zip(written) {
        let content = row.put.as_ref().and_then(|it| it.content.as_ref());
        if let (Some(content), Some(epoch)) = (content, epoch) {
            let key = memory_key(row.address.namespace.root());
            let names = content.chunks.iter().map(|it| it.name);
            memory.add(&row.tenant, &key, *epoch, names);
        }
    }
}

/// What an answer has of a value: all of it, or some fields as they stand in it.
///
/// # Errors
/// `Integrity` for text that is no object.
pub fn selected(text: Bytes, select: &Select) -> Result<Option<Bytes>> {
    let fields = match select {
        Select::Whole => return Ok(Some(text)),
        Select::Nothing => return Ok(None),
        Select::Fields(fields) => fields,
    };
    pick(&text, fields).map(|it| Some(Bytes::from(it)))
}

/// What a filter may still look into. Where values are encrypted no index narrows that down.
pub struct Candidates {
    left: Option<u64>,
}

impl Candidates {
    pub fn of(secret: &TenantSecret, scope: &Scope) -> Self {
        let is_blind = secret.cipher().is_some() && scope.filter.is_some();
        Self { left: is_blind.then_some(LIMITS.encrypted_candidates_max) }
    }

    pub fn are_limited(&self) -> bool {
        self.left.is_some()
    }

    /// Before one is looked at.
    ///
    /// # Errors
    /// `SearchNeedsPlaintext` when it is one too many.
    pub fn take(&mut self) -> Result<()> {
        if let Some(left) = &mut self.left {
            let limit = LIMITS.encrypted_candidates_max;
            *left = left
                .checked_sub(1)
                .ok_or(Error::SearchNeedsPlaintext { field: "filter", limit })?;
        }
        Ok(())
    }
}

/// Columns and directions of an order.
pub fn order_by(sort: ItemSort) -> &'static str {
    match sort {
        // Scores are not in the database: what has none, or the same, comes in this order.
        ItemSort::Created | ItemSort::Score => "created_at desc, namespace, key",
        ItemSort::Updated => "updated_at desc, namespace, key",
        ItemSort::Key => "namespace, key",
    }
}

/// An item whose value is not there yet.
pub struct Columns {
    pub address: Address,
    pub version: i64,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub ttl_micros: Option<Micros>,
    pub expires_at: Option<Micros>,
    pub size_bytes: i64,
    pub content_id: Option<Vec<u8>>,
}

impl From<Columns> for Item {
    fn from(columns: Columns) -> Self {
        let Columns {
            address,
            version,
            created_at,
            updated_at,
            ttl_micros,
            expires_at,
            size_bytes,
            content_id,
        } = columns;
        let (value, score) = (None, None);
        Self {
            address,
            version,
            created_at,
            updated_at,
            ttl_micros,
            expires_at,
            size_bytes,
            value,
            score,
            content_id,
        }
    }
}

fn prepare_value(
    secret: &TenantSecret,
    (tenant, row): (&str, ValueRow<'_>),
    value: &NewValue,
    target: Option<Target>,
    projects: bool,
) -> Result<PreparedValue> {
    let document = value.read()?;
    let (projection, has_marks) = match (projects, secret.cipher()) {
        (false, _) => (String::new(), false),
        (true, None) => projection::project(tenant, &document),
        // An index is not encrypted: it says nothing, so that every filter looks into the value.
        (true, Some(_)) => (projection::hide(tenant), true),
    };
    let (sealed, content) = match target {
        None => (whole(secret, row, &value.text)?, None),
        Some(target) => {
            let mut sealer = Sealer::new(secret, target.scope_id, target.known);
            let sealed = sealer.value("value", row, &Value::new(tag()?, value.text.clone()))?;
            let (chunks, epoch) = sealer.finish();
            (sealed, Some(Content { scope_id: target.scope_id, epoch, chunks }))
        }
    };
    let vectors = value.vectors.clone().map(Arc::new);
    let paths: Vec<&str> = value.index.iter().map(FieldPath::as_str).collect();
    let index = (!paths.is_empty()).then(|| serde_json::Value::from(paths).to_string());
    let is_file = is_file(&document);
    let (file_head, content_id) = match &value.kept {
        None => (heads::noted(secret, row, &sealed.digest, document), None),
        Some(kept) => {
            let head = heads::seal(secret, row, &sealed.digest, &kept.head);
            (Some(head), Some(kept.content_id.clone()))
        }
    };
    Ok(PreparedValue {
        sealed,
        ttl_micros: value.ttl_micros,
        projection,
        has_marks,
        content,
        vectors,
        index,
        is_file,
        file_head,
        content_id,
        history: None,
        is_readable: secret.cipher().is_none(),
        words: None,
    })
}

/// One envelope.
fn whole(secret: &TenantSecret, row: ValueRow<'_>, text: &[u8]) -> Result<Sealed> {
    let too_large = |_| Error::TooLarge { field: "value".into(), limit: WHOLE_BYTES_MAX as u64 };
    let digest = secret.digest(text);
    Ok(Sealed {
        tag: TAG.to_owned(),
        size_bytes: i32::try_from(text.len()).map_err(too_large)?,
        body: row.aad(NO_SCOPE, (TAG, &digest), |aad| secret.seal(aad, text)),
        digest,
        parts: None,
    })
}

/// What an item's value is bound to where it is encrypted.
pub fn row_of(secret: &TenantSecret, address: &Address) -> ValueRow<'static> {
    let namespace = namespaces::encode(&address.namespace);
    ValueRow::Item(item_place(secret, &namespace, address.key.as_bytes()))
}

/// A question has to have its vector before a storage sees it.
pub fn unresolved() -> Error {
    Error::Internal("a question reached the storage without its vector".into())
}

fn tag() -> Result<Tag> {
    Tag::new(TAG)
}

fn size(change: &PreparedChange) -> usize {
    let value = change.put.as_ref().map_or(0, |it| {
        let chunks = it.content.iter().flat_map(|it| &it.chunks).map(|it| it.body.len() + 64);
        let vectors = it.vectors.as_ref().map_or(0, |it| it.size_bytes());
        let head = it.file_head.as_ref().map_or(0, Bytes::len);
        it.sealed.body.len() + it.projection.len() + chunks.sum::<usize>() + vectors + head
    });
    ROW_BYTES + value
}
