//! Writes items as an export has them: one transaction for each batch.
//!
//! **Invariant:** an item that replaces another, or whose name may have been deleted before, gets only versions greater than any it had.
//! Else a later put would give a number that a client already holds for another value, and that client's `if_version` would pass.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::items::cell;
use super::staging::{put_all_chunks, sealed_cells, sealed_columns};
use super::{has_removed, removed};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::clock::Micros;
use crate::domain::export::items::{EarlierVersion, ItemRecord, ItemTimes, StoredItem, shown};
use crate::domain::export::records::Existing;
use crate::domain::store::batch::PreparedValue;
use crate::domain::store::file_head::FileHead;
use crate::domain::store::item::{Address, ChangeItem, KeptContent, NewValue};
use crate::domain::store::vector::NewVectors;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlValue, lock_scope};
use crate::storage::files::contents::Roots;
use crate::storage::sessions::rows::{Rows, bytes, number};
use crate::storage::store::{Target, namespaces, needs_content, prepare};

const FOUND: &str = "select version from items where tenant = $1 and {this_item} {lock}";

/// What an item had beside its row; versions and contents go by triggers.
const REMOVE: [&str; 4] = [
    "insert into garbage (tenant, thread_key, scope_id, created_at)
     select tenant, scope_id, scope_id, {now} from items where tenant = $1 and {this_item} and scope_id is not null
     on conflict (tenant, thread_key) do nothing",
    "delete from item_vectors where tenant = $1 and {this_item}",
    "delete from item_indexing where tenant = $1 and {this_item}",
    "delete from items where tenant = $1 and {this_item}",
];

const TIMES: &str = "
update items set created_at = $5, updated_at = $6 where tenant = $1 and {this_item} and version = $4";

const MODEL: &str = "
insert into vector_models (tenant, model, dims) values ($1, $2, $3) on conflict (tenant, model) do nothing";
const DIMS: &str = "select dims from vector_models where tenant = $1 and model = $2";

/// Rows of a batch.
#[derive(Default)]
pub(super) struct Batch {
    pub items: Rows,
    versions: Rows,
    pub vectors: Rows,
    indexing: Rows,
    chunks: Vec<(i64, Vec<(Name, Bytes)>)>,
    models: BTreeSet<(String, i64)>,
}

/// The values of an item, ready to be written under any version: they are not bound to one.
struct SealedItem {
    own: PreparedValue,
    /// Oldest first.
    earlier: Vec<PreparedValue>,
}

pub async fn put<T: Roots>(
    engine: &T,
    (tenant, secret): (&str, &TenantSecret),
    items: Vec<StoredItem>,
    (existing, now): (Existing, Micros),
) -> Result<()> {
    let dialect = engine.dialect();
    let mut batch = Batch::default();
    let mut all = Vec::new();
    for item in items {
        let sealed = batch.seal(engine, (tenant, secret), &item).await?;
        all.push((item.record, sealed));
    }
    let mut access = engine.begin_adding().await?;
    batch.lock(&mut *access, dialect, tenant).await?;
    let begins_anew = existing == Existing::Replace || has_removed(&mut *access, tenant).await?;
    for (mut record, sealed) in all {
        let had = make_room(&mut *access, dialect, (tenant, &record.address), existing).await?;
        if let Some(had) = had {
            record.raise_versions(had + 1);
        } else if begins_anew {
            // It may have been deleted here. Versions begin at the time.
            record.raise_versions(now);
        }
        batch.push(&record, sealed, secret.cipher().is_none());
    }
    batch.put_beside(&mut *access, tenant).await?;
    let mut statements = vec![(items_text(dialect), batch.items.binds())];
    for text in dialect.log_items {
        statements.push(((*text).to_owned(), statements[0].1.clone()));
    }
    for (text, rows) in [
        (versions_text(), batch.versions),
        (vectors_text(), batch.vectors),
        (indexing_text(), batch.indexing),
    ] {
        if !rows.is_empty() {
            statements.push((text, rows.binds()));
        }
    }
    for (text, binds) in statements {
        access.rows(&dialect.fill(&text), &[binds, vec![tenant.into()]].concat()).await?;
    }
    if !begins_anew && has_removed(&mut *access, tenant).await? {
        // The first deletion came in between, of one of these perhaps. Nobody else can make them now.
        return Err(removed());
    }
    access.end().await
}

pub async fn keep_times<T: Roots>(engine: &T, tenant: &str, items: &[ItemTimes]) -> Result<()> {
    let dialect = engine.dialect();
    let text = dialect.fill(TIMES);
    let mut access = engine.begin_write().await?;
    for item in items {
        let Address { namespace, key } = &item.address;
        let place = [tenant.into(), cell(dialect, namespace), key.as_bytes().into()];
        let times = [item.version, item.created_at, item.updated_at].map(SqlValue::from);
        access.rows(&text, &[&place[..], &times].concat()).await?;
    }
    access.end().await
}

/// Answers the version of what was there.
async fn make_room(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, address): (&str, &Address),
    existing: Existing,
) -> Result<Option<i64>> {
    let place = [tenant.into(), cell(dialect, &address.namespace), address.key.as_bytes().into()];
    let found = access.rows(&dialect.fill(FOUND), &place).await?;
    let Some(version) = found.first().map(|row| row.integer(0)).transpose()? else {
        return Ok(None);
    };
    if existing == Existing::Refuse {
        let name = shown(address);
        return Err(Error::Conflict(Conflict::ImportConflict { noun: "the item", name }));
    }
    for text in REMOVE {
        access.rows(&dialect.fill(text), &place).await?;
    }
    Ok(Some(version))
}

impl Batch {
    /// The scopes, locked, into which it writes chunks.
    pub async fn lock(
        &self,
        access: &mut dyn Access,
        dialect: &Dialect,
        tenant: &str,
    ) -> Result<()> {
        let scopes: BTreeSet<i64> = self.chunks.iter().map(|it| it.0).collect();
        for scope_id in scopes {
            if !lock_scope(access, dialect, tenant, scope_id).await? {
                return Err(removed());
            }
        }
        Ok(())
    }

    /// Chunks, and what the tenant knows of models.
    pub async fn put_beside(&mut self, access: &mut dyn Access, tenant: &str) -> Result<()> {
        for (scope_id, chunks) in std::mem::take(&mut self.chunks) {
            put_all_chunks(access, tenant, scope_id, chunks).await?;
        }
        for (model, dims) in &self.models {
            let key = [SqlValue::from(tenant), model.as_str().into()];
            access.rows(MODEL, &[&key[..], &[(*dims).into()]].concat()).await?;
            let known = access.rows(DIMS, &key).await?;
            if known.first().is_none_or(|row| row.integer(0).ok() != Some(*dims)) {
                let detail = format!("vectors of the model {model} have another length here");
                return Err(Error::invalid("vectors", detail));
            }
        }
        Ok(())
    }

    /// Seals an item and adds its rows, under the versions that it says.
    pub async fn add<T: Roots>(
        &mut self,
        engine: &T,
        (tenant, secret): (&str, &TenantSecret),
        item: &StoredItem,
    ) -> Result<()> {
        let sealed = self.seal(engine, (tenant, secret), item).await?;
        self.push(&item.record, sealed, secret.cipher().is_none());
        Ok(())
    }

    /// Keeps the chunks of an item, whose scopes are to be locked.
    async fn seal<T: Roots>(
        &mut self,
        engine: &T,
        (tenant, secret): (&str, &TenantSecret),
        item: &StoredItem,
    ) -> Result<SealedItem> {
        let record = &item.record;
        let mut contents = item.contents.iter();
        let mut kept = |head: &Option<FileHead>| {
            let id = head.as_ref().and_then(|_| contents.next());
            let both = head.clone().zip(id);
            both.map(|(head, id)| KeptContent { content_id: id.0.to_vec(), head })
        };
        let content = kept(&record.content);
        let projects = dialect_projects(engine.dialect());
        let of = (tenant, secret, projects);
        let mut own = seal(engine, of, record, &record.value, content).await?;
        self.keep_chunks(&mut own);
        let mut earlier = Vec::new();
        for version in &record.earlier {
            let content = kept(&version.content);
            let mut value = seal(engine, of, record, &version.value, content).await?;
            self.keep_chunks(&mut value);
            earlier.push(value);
        }
        // Where values are encrypted nothing is kept that says what is in them.
        if let Some(vectors) = record.vectors.as_ref().filter(|_| secret.cipher().is_none()) {
            let dims = i64::try_from(vectors.dims()).unwrap_or(i64::MAX);
            self.models.insert((vectors.model().as_str().to_owned(), dims));
        }
        Ok(SealedItem { own, earlier })
    }

    fn push(&mut self, record: &ItemRecord, sealed: SealedItem, is_plain: bool) {
        let vectors = record.vectors.as_ref().filter(|_| is_plain);
        self.item(record, &sealed.own, vectors, is_plain);
        for (earlier, value) in record.earlier.iter().zip(&sealed.earlier) {
            self.version(&record.address, earlier, value);
        }
        if let Some(vectors) = vectors {
            self.vectors(record, vectors);
        }
    }

    fn item(
        &mut self,
        it: &ItemRecord,
        value: &PreparedValue,
        vectors: Option<&NewVectors>,
        is_plain: bool,
    ) {
        let index = it.index.as_ref().filter(|_| is_plain);
        let mut row = place(&mut self.items, &it.address);
        row.extend([json!(it.version), json!(it.created_at), json!(it.updated_at)]);
        row.extend([json!(it.ttl_micros), json!(it.expires_at)]);
        row.extend(sealed_cells(&mut self.items, &value.sealed));
        row.push(json!(value.content.as_ref().map(|it| it.scope_id)));
        row.push(json!(vectors.map_or(0, NewVectors::size_bytes)));
        row.extend([json!(i32::from(index.is_some())), json!(it.history)]);
        row.extend(optional(&mut self.items, value.file_head.as_deref()));
        row.extend(optional(&mut self.items, value.content_id.as_deref()));
        row.extend([json!(value.projection), json!(i32::from(value.has_marks))]);
        row.push(json!(index.map(|it| &it.fields)));
        self.items.push(Json::from(row));
        if let Some(index) = index {
            let mut row = place(&mut self.indexing, &it.address);
            row.extend([json!(it.version), json!(index.fields), json!(index.model)]);
            self.indexing.push(Json::from(row));
        }
    }

    fn version(&mut self, address: &Address, it: &EarlierVersion, value: &PreparedValue) {
        let mut row = place(&mut self.versions, address);
        row.extend([json!(it.version), json!(it.updated_at), json!(it.ttl_micros)]);
        row.extend(sealed_cells(&mut self.versions, &value.sealed));
        row.push(json!(value.content.as_ref().map(|it| it.scope_id)));
        row.extend(optional(&mut self.versions, value.file_head.as_deref()));
        row.extend(optional(&mut self.versions, value.content_id.as_deref()));
        self.versions.push(Json::from(row));
    }

    fn vectors(&mut self, it: &ItemRecord, vectors: &NewVectors) {
        let dims = i64::try_from(vectors.dims()).unwrap_or(i64::MAX);
        let model = vectors.model().as_str();
        for (no, of) in vectors.all().iter().enumerate() {
            let numbers = of.vector.numbers();
            let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
            let text: Vec<String> = numbers.iter().map(f32::to_string).collect();
            let mut row = place(&mut self.vectors, &it.address);
            row.extend([json!(it.version), json!(model), json!(no), json!(of.field), json!(dims)]);
            row.extend(optional(&mut self.vectors, Some(&bytes)));
            row.push(json!(format!("{{{}}}", text.join(","))));
            self.vectors.push(Json::from(row));
        }
    }

    fn keep_chunks(&mut self, value: &mut PreparedValue) {
        if let Some(content) = &mut value.content {
            let chunks = std::mem::take(&mut content.chunks);
            let chunks = chunks.into_iter().map(|it| (it.name, it.body)).collect();
            self.chunks.push((content.scope_id, chunks));
        }
    }
}

/// Whether the engine has an index for filters.
fn dialect_projects(dialect: &Dialect) -> bool {
    !dialect.projection_columns.is_empty()
}

/// A value as a put would seal it.
async fn seal<T: Roots>(
    engine: &T,
    (tenant, secret, projects): (&str, &TenantSecret, bool),
    record: &ItemRecord,
    text: &Bytes,
    kept: Option<KeptContent>,
) -> Result<PreparedValue> {
    let value =
        NewValue { text: text.clone(), ttl_micros: None, vectors: None, index: Vec::new(), kept };
    let address = record.address.clone();
    let change = ChangeItem { address, value: Some(value), if_version: None };
    let mut targets = Vec::new();
    if needs_content(&change) {
        let root = record.address.namespace.root();
        let scope_id = engine.scope_of_root(tenant, root).await?;
        targets.push(Target { scope_id, known: None });
    }
    let prepared = prepare(secret, tenant, vec![change], targets, projects).await?;
    let value = prepared.changes.into_iter().next().and_then(|it| it.put);
    value.ok_or_else(|| Error::Internal("a put was prepared as none".into()))
}

/// Cells 0 to 4: the namespace as a list and as bytes, the key as bytes.
fn place(rows: &mut Rows, address: &Address) -> Vec<Json> {
    let namespace = rows.bytes(&namespaces::encode(&address.namespace));
    let key = rows.bytes(address.key.as_bytes());
    vec![
        json!(address.namespace.labels()),
        json!(namespace.0),
        json!(namespace.1),
        json!(key.0),
        json!(key.1),
    ]
}

fn optional(rows: &mut Rows, bytes: Option<&[u8]>) -> [Json; 2] {
    let place = rows.optional(bytes);
    [json!(place.0), json!(place.1)]
}

/// The columns of [`sealed_cells`] without the tag, which items do not have.
pub(super) fn untagged(at: usize) -> String {
    let columns = sealed_columns(at);
    columns.split_once(", ").map_or(columns.as_str(), |it| it.1).to_owned()
}

fn items_text(dialect: &Dialect) -> String {
    let [version, created, updated, ttl, expires] = [5, 6, 7, 8, 9].map(number);
    let [scope, vectors, indexed, history] = [18, 19, 20, 21].map(number);
    let [key, head, content] = [3, 22, 24].map(bytes);
    let (sealed, columns, projected) =
        (untagged(10), dialect.projection_columns, dialect.projection_values);
    format!(
        "insert into items (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at, size_bytes,
            digest, body, parts, scope_id, vector_bytes, is_indexed, history, file_head, content_id{columns})
         select $3, {{row_namespace}}, {key}, {version}, {created}, {updated}, {ttl}, {expires}, {sealed}, {scope},
            {vectors}, {indexed} <> 0, {history}, {head}, {content}{projected} {{from_each}} where true"
    )
}

fn versions_text() -> String {
    let [version, updated, ttl, scope] = [5, 6, 7, 16].map(number);
    let ([key, head, content], sealed) = ([3, 17, 19].map(bytes), untagged(8));
    format!(
        "insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes, digest, body,
            parts, scope_id, file_head, content_id)
         select $3, {{row_namespace}}, {key}, {version}, {updated}, {ttl}, {sealed}, {scope}, {head}, {content}
         {{from_each}} where true"
    )
}

fn vectors_text() -> String {
    let ([version, no, dims], key) = ([5, 7, 9].map(number), bytes(3));
    format!(
        "insert into item_vectors (tenant, namespace, key, version, model, no, field, dims, vector)
         select $3, {{row_namespace}}, {key}, {version}, j.value ->> 6, {no}, j.value ->> 8, {dims}, {{row_numbers}}
         {{from_each}} where true"
    )
}

fn indexing_text() -> String {
    let (version, key) = (number(5), bytes(3));
    format!(
        "insert into item_indexing (tenant, namespace, key, version, fields, model, due_at)
         select $3, {{row_namespace}}, {key}, {version}, j.value ->> 6, j.value ->> 7,
            case when j.value ->> 7 is null then {{now}} end {{from_each}} where true"
    )
}
