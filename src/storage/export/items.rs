//! Reads items with everything that belongs to them, one page per transaction.

use std::collections::HashMap;

use super::values::{COLUMNS, SIZE, chunks_of, open, opening_size};
use crate::content::keys::TenantSecret;
use crate::domain::export::items::{EarlierVersion, ItemIndex, ItemRecord, ItemsRead, StoredItem};
use crate::domain::files::contents::ContentId;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::file_head::FileHead;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::vector::{FieldVector, Model, NewVectors, Vector};
use crate::domain::{Error, Result};
use crate::storage::content::opening::Chunks;
use crate::storage::db::access::{Access, Accessible, Dialect, Source, SqlRow, SqlValue, page};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::store::heads::{Noted, open as open_head};
use crate::storage::store::{namespaces, row_of};

const KEY: &str =
    "namespace, key, version, updated_at, ttl_micros, scope_id, file_head, content_id";
const VALUE: usize = 8;
const ITEM: &str = "created_at, expires_at, history, vector_bytes, is_indexed";
const ITEM_AT: usize = VALUE + 5;

const ITEMS: &str = "from items where tenant = $1 and {after_item} order by namespace, key";
const THIS: &str = "from items where tenant = $1 and {this_item}";
/// But for those of snapshots.
const VERSIONS: &str =
    "from item_versions where tenant = $1 and {this_item} and version > 0 order by version";
const VECTORS: &str = "
select model, field, {vector_cell} from item_vectors
where tenant = $1 and {this_item} and version = $4 order by model, no";
const INDEXING: &str = "
select fields, model from item_indexing where tenant = $1 and {this_item} and version = $4";

pub struct Ground<'a> {
    pub engine: &'a dyn Accessible,
    pub tenant: &'a str,
    pub secret: &'a TenantSecret,
    /// What has expired by then is left out.
    pub now: i64,
    /// The items of the snapshot with this number instead of those that live.
    pub copies_of: Option<i64>,
}

/// Items of a snapshot, with the columns of items.
const COPIES: &str = "(select c.tenant, c.namespace, c.key, v.version, v.updated_at, v.ttl_micros, v.scope_id, v.file_head,
    v.content_id, v.size_bytes, v.digest, v.body, v.parts, c.created_at, c.expires_at, c.history, c.vector_bytes,
    case when c.index_fields is null then {no} else {yes} end as is_indexed
    from snapshot_items c join item_versions v on v.tenant = c.tenant and v.namespace = c.namespace and v.key = c.key
        and v.version = -c.snapshot_no
    where c.tenant = $1 and c.snapshot_no = {number}) i";

/// How a namespace goes into a statement.
pub fn cell(dialect: &Dialect, namespace: &Namespace) -> SqlValue {
    if dialect.first_namespace.is_empty() {
        return SqlValue::Bytes(namespaces::encode(namespace));
    }
    SqlValue::Text(serde_json::Value::from(namespace.labels().to_vec()).to_string())
}

/// A row with its versions, and what of it is not in its row.
struct Found {
    row: SqlRow,
    earlier: Vec<SqlRow>,
    vectors: Vec<SqlRow>,
    indexing: Option<SqlRow>,
}

impl Ground<'_> {
    pub async fn page(&self, prefix: &Namespace, after: Option<&Address>) -> Result<ItemsRead> {
        let dialect = self.engine.dialect();
        let first = Address { namespace: prefix.clone(), key: Key::stored(Vec::new()) };
        let place = self.place(after.unwrap_or(&first));
        let columns = format!("{KEY}, 'json' as tag, {}, {ITEM}", value_columns());
        let rows = self.text(ITEMS);
        let source = Source { columns: &columns, size: SIZE, rows: &rows };
        let prefetch = PackPrefetch::default();
        loop {
            let mut access = self.engine.begin_read().await?;
            let mut rows = page(&mut *access, dialect, &source, &place).await?;
            if after.is_none() {
                // The empty key of the prefix itself stands at no place after anything.
                let text = dialect.fill(&self.text(&format!("select {columns} {THIS}")));
                rows.splice(0..0, access.rows(&text, &place).await?);
            }
            let is_inside = |row: &SqlRow| {
                namespaces::of_cell(&row.0[0]).is_some_and(|it| it.starts_with(prefix))
            };
            let inside = rows.iter().take_while(|row| is_inside(row)).count();
            rows.truncate(inside);
            let (found, chunks) = self.complete(access, rows, &prefetch).await?;
            if prefetch.is_complete() {
                let last = found.last().map(|it| address_of(&it.row)).transpose()?;
                return Ok(ItemsRead { items: self.items(&found, &chunks).await?, last });
            }
            prefetch.fetch_missing(self.engine.objects(), self.secret).await?;
        }
    }

    pub async fn one(&self, address: &Address) -> Result<Option<StoredItem>> {
        let columns = format!("{KEY}, 'json' as tag, {}, {ITEM}", value_columns());
        let text = self.engine.dialect().fill(&self.text(&format!("select {columns} {THIS}")));
        let prefetch = PackPrefetch::default();
        loop {
            let mut access = self.engine.begin_read().await?;
            let rows = access.rows(&text, &self.place(address)).await?;
            let (found, chunks) = self.complete(access, rows, &prefetch).await?;
            if prefetch.is_complete() {
                return Ok(self.items(&found, &chunks).await?.pop());
            }
            prefetch.fetch_missing(self.engine.objects(), self.secret).await?;
        }
    }

    /// The statement, about the snapshot's items where those are read.
    fn text(&self, text: &str) -> String {
        let Some(number) = self.copies_of else { return text.to_owned() };
        let [no, yes] =
            if self.engine.dialect().has_lateral { ["false", "true"] } else { ["0", "1"] };
        let copies = COPIES.replace("{no}", no).replace("{yes}", yes);
        let copies = copies.replace("{number}", &number.to_string());
        let vectors = format!(
            "(select x.*, -x.snapshot_no as version from snapshot_vectors x
            where x.tenant = $1 and x.snapshot_no = {number}) x"
        );
        let indexing = format!(
            "(select x.tenant, x.namespace, x.key, -x.snapshot_no as version, x.index_fields as fields,
                null as model
            from snapshot_items x where x.tenant = $1 and x.snapshot_no = {number}) x"
        );
        text.replace("item_indexing", &indexing)
            .replace(" items ", &format!(" {copies} "))
            .replace("item_vectors", &vectors)
    }

    fn place(&self, address: &Address) -> [SqlValue; 3] {
        let namespace = cell(self.engine.dialect(), &address.namespace);
        [self.tenant.into(), namespace, address.key.as_bytes().into()]
    }

    /// Reads what belongs to rows, in their transaction, and ends it.
    async fn complete<'e>(
        &self,
        mut access: Box<dyn Access + 'e>,
        rows: Vec<SqlRow>,
        prefetch: &PackPrefetch,
    ) -> Result<(Vec<Found>, HashMap<i64, Chunks>)> {
        let dialect = self.engine.dialect();
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let place = [SqlValue::from(self.tenant), row.0[0].clone(), row.0[1].clone()];
            let with_version = [&place[..], &row.0[2..3]].concat();
            let mut it = Found { row, earlier: Vec::new(), vectors: Vec::new(), indexing: None };
            // Of an item that a snapshot keeps there is one version.
            if it.row.integer(ITEM_AT + 2)? > 0 && self.copies_of.is_none() {
                let columns = format!("{KEY}, 'json' as tag, {}", value_columns());
                let text = dialect.fill(&format!("select {columns} {VERSIONS}"));
                it.earlier = access.rows(&text, &place).await?;
            }
            if it.row.integer(ITEM_AT + 3)? > 0 {
                it.vectors = access.rows(&dialect.fill(&self.text(VECTORS)), &with_version).await?;
            }
            if it.row.integer(ITEM_AT + 4)? != 0 {
                let text = dialect.fill(&self.text(INDEXING));
                let indexing = access.rows(&text, &with_version).await?;
                it.indexing = indexing.into_iter().next();
            }
            found.push(it);
        }
        let mut by_scope: HashMap<i64, Vec<SqlRow>> = HashMap::new();
        for row in found.iter().flat_map(|it| it.earlier.iter().chain([&it.row])) {
            if let Some(scope_id) = row.optional_integer(5)? {
                by_scope.entry(scope_id).or_default().push(row.clone());
            }
        }
        let mut chunks = HashMap::new();
        for (scope_id, rows) in by_scope {
            let of = (self.tenant, self.secret);
            let read = chunks_of(&mut *access, of, scope_id, (&rows, VALUE), prefetch).await?;
            chunks.insert(scope_id, read);
        }
        access.end().await?;
        Ok((found, chunks))
    }

    /// Those that live.
    async fn items(
        &self,
        found: &[Found],
        chunks: &HashMap<i64, Chunks>,
    ) -> Result<Vec<StoredItem>> {
        let mut size = 0;
        for it in found {
            let rows = [std::slice::from_ref(&it.row), &it.earlier];
            size += opening_size(rows[0], VALUE)? + opening_size(rows[1], VALUE)?;
        }
        let open = || {
            let mut items = Vec::with_capacity(found.len());
            for it in found {
                let expires_at = it.row.optional_integer(ITEM_AT + 1)?;
                if expires_at.is_none_or(|at| at > self.now) {
                    items.push(self.item(it, expires_at, chunks)?);
                }
            }
            Ok(items)
        };
        cpu_pool::run_here(self.tenant, size, open).await?
    }

    fn item(
        &self,
        found: &Found,
        expires_at: Option<i64>,
        chunks: &HashMap<i64, Chunks>,
    ) -> Result<StoredItem> {
        let row = &found.row;
        let address = address_of(row)?;
        let mut contents = Vec::new();
        let (value, content) = self.value(&address, row, chunks, &mut contents)?;
        let mut earlier = Vec::with_capacity(found.earlier.len());
        for row in &found.earlier {
            let (value, content) = self.value(&address, row, chunks, &mut contents)?;
            earlier.push(EarlierVersion {
                version: row.integer(2)?,
                updated_at: row.integer(3)?,
                ttl_micros: row.optional_integer(4)?,
                value,
                content,
            });
        }
        let index = match &found.indexing {
            None => None,
            Some(row) => Some(ItemIndex {
                fields: row.text(0)?.to_owned(),
                model: row.optional_text(1)?.map(str::to_owned),
            }),
        };
        let record = ItemRecord {
            address,
            version: row.integer(2)?,
            created_at: row.integer(ITEM_AT)?,
            updated_at: row.integer(3)?,
            ttl_micros: row.optional_integer(4)?,
            expires_at,
            history: row.integer(ITEM_AT + 2)?,
            value,
            content,
            earlier,
            vectors: vectors(&found.vectors)?,
            index,
        };
        Ok(StoredItem { record, contents })
    }

    /// The text of a row, and what is known of its content where it has one.
    fn value(
        &self,
        address: &Address,
        row: &SqlRow,
        chunks: &HashMap<i64, Chunks>,
        contents: &mut Vec<ContentId>,
    ) -> Result<(bytes::Bytes, Option<FileHead>)> {
        let scope_id = row.optional_integer(5)?;
        let none = Chunks::default();
        let chunks = scope_id.and_then(|it| chunks.get(&it)).unwrap_or(&none);
        let aad = (scope_id.unwrap_or(0), row_of(self.secret, address));
        let value = open(self.secret, aad, (row, VALUE), chunks)?;
        let Some(id) = row.optional_bytes(7)? else { return Ok((value.data, None)) };
        let damaged = || Error::Integrity("the head of a file is damaged".into());
        let digest = row.bytes(VALUE + 2)?;
        match open_head(self.secret, address, digest, row.optional_bytes(6)?)? {
            Noted::File(head) => {
                contents.push(ContentId::stored(id)?);
                Ok((value.data, Some(head)))
            }
            _ => Err(damaged()),
        }
    }
}

fn address_of(row: &SqlRow) -> Result<Address> {
    let damaged = || Error::Integrity("a namespace is damaged".into());
    let namespace = namespaces::of_cell(&row.0[0]).ok_or_else(damaged)?;
    Ok(Address { namespace, key: Key::stored(row.bytes(1)?.to_vec()) })
}

fn value_columns() -> &'static str {
    COLUMNS.trim_start_matches("tag, ")
}

fn vectors(rows: &[SqlRow]) -> Result<Option<NewVectors>> {
    let Some(first) = rows.first() else { return Ok(None) };
    let damaged = |_| Error::Integrity("a vector is damaged".into());
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let numbers = match &row.0[2] {
            SqlValue::Bytes(bytes) => {
                bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect()
            }
            _ => serde_json::from_str(&row.text(2)?.replace('{', "[").replace('}', "]"))
                .map_err(|_| Error::Integrity("a vector is damaged".into()))?,
        };
        let vector = Vector::new("vector", numbers).map_err(damaged)?;
        all.push(FieldVector { field: row.text(1)?.to_owned(), vector });
    }
    let model = Model::new(first.text(0)?).map_err(damaged)?;
    NewVectors::new(model, all).map(Some).map_err(damaged)
}
