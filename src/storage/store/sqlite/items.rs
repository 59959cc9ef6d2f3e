//! Reads items, keeps their times to live, and sweeps expired ones.

use async_trait::async_trait;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_id};
use crate::domain::error::Obstacle;
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::batch::{ItemBatch, ItemOutcome, PreparedChanges};
use crate::domain::store::item::{
    Address, ChangeItem, Item, ItemPage, Key, Scope, SearchItems, SearchMode,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::storage::ItemStorage;
use crate::storage::checkpoints::sqlite::chunks::chunks_of;
use crate::storage::checkpoints::sqlite::views::Tenant;
use crate::storage::content::opening::Chunks;
use crate::storage::files::contents::Roots;
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::store::indexing_rows::Indexable;
use crate::storage::store::models::ModelMemory;
use crate::storage::store::opening::{Together, open_placed, opening_size};
use crate::storage::store::{
    Columns, StoredItem, Target, memory_key, namespaces, needs_content, prepare, unresolved,
    with_request,
};
use crate::storage::tokens::owner_macs::OwnerRow;

/// Rows per slice of the sweep: some milliseconds.
const SWEPT_ROWS: i64 = 500;

/// Columns that [`read_item`] wants, of `items i`.
pub(in crate::storage) const COLUMNS: &str =
    "i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros,
    i.expires_at, i.size_bytes, i.digest, i.body, i.parts, i.scope_id, i.content_id";

const GET: &str = "
select j.key as ord, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros,
    i.expires_at, i.size_bytes, i.digest, i.body, i.parts, i.scope_id, i.content_id
from jsonb_each($2) j
cross join items i on i.tenant = $1 and i.namespace = substr($3, j.value ->> 0, j.value ->> 1)
    and i.key = substr($3, j.value ->> 2, j.value ->> 3)
where (i.expires_at is null or i.expires_at > $4)";

const REFRESH: &str = "
update items set expires_at = $4 + ttl_micros
where tenant = $1 and (namespace, key) in
        (select substr($3, j.value ->> 0, j.value ->> 1), substr($3, j.value ->> 2, j.value ->> 3)
         from jsonb_each($2) j)
    and expires_at > $4 and expires_at - $4 < ttl_micros - ttl_micros / 10";

#[async_trait]
impl ItemStorage for SqliteStorage {
    async fn prepare_changes(
        &self,
        caller: &Caller,
        changes: Vec<ChangeItem>,
        idempotency: Option<Idempotency>,
        deadline: Micros,
    ) -> Result<PreparedChanges> {
        let secret = self.secret(&caller.tenant).await?;
        self.models.check_changes(self, (&caller.tenant, &secret), &changes).await?;
        let mut targets = Vec::new();
        for change in changes.iter().filter(|it| needs_content(it)) {
            targets.push(
                self.target((&caller.tenant, &secret), change.address.namespace.root()).await?,
            );
        }
        let prepared = prepare(&secret, &caller.tenant, changes, targets, false).await?;
        Ok(with_request(prepared, idempotency, deadline))
    }

    async fn write_items(&self, batch: &ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        match self.write_item_rows(batch).await {
            // What only deletes has the room of the reserve, which the first attempt has given up.
            Err(BatchError::Obstacle { kind: Obstacle::DiskFull, .. })
                if batch.rows.iter().all(|it| it.put.is_none()) =>
            {
                self.write_item_rows(batch).await
            }
            done => done,
        }
    }

    async fn get_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        bytes_max: Option<u64>,
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        self.open_items(caller, (addresses, Together::All(bytes_max)), now).await
    }

    async fn get_first_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        self.open_items(caller, (addresses, Together::First), now).await
    }

    async fn search_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        now: Micros,
    ) -> Result<ItemPage> {
        match &query.mode {
            SearchMode::List => self.read_item_page(caller, within, query, now).await,
            SearchMode::Text(_) | SearchMode::Hybrid(..) => {
                Err(crate::domain::Error::Internal("a search by words asks for candidates".into()))
            }
            SearchMode::Vector(near) => self.read_nearest(caller, within, (query, near), now).await,
            SearchMode::Question { .. } => Err(unresolved()),
        }
    }

    async fn count_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64> {
        self.read_item_count(caller, within, scope, now).await
    }

    async fn refresh_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<()> {
        let set = places(addresses);
        let mut write = self.connections.begin_write_for(&caller.tenant).await?;
        sqlx::query(REFRESH)
            .bind(&caller.tenant)
            .bind(set.json())
            .bind(set.blob)
            .bind(now)
            .execute(&mut *write)
            .await?;
        write.commit().await
    }
}

impl Indexable for SqliteStorage {
    fn models(&self) -> &ModelMemory {
        &self.models
    }
}

#[async_trait]
impl Roots for SqliteStorage {
    async fn scope_of_root(&self, tenant: &str, root: &str) -> Result<i64> {
        // Makes a tenant that is new.
        let secret = self.secret(tenant).await?;
        let mut write = self.connections.begin_write_for(tenant).await?;
        let scope_id = read_or_make_root(&mut write, (tenant, &secret), root).await?;
        write.commit().await?;
        Ok(scope_id)
    }
}

impl SqliteStorage {
    async fn open_items(
        &self,
        caller: &Caller,
        asked: (&[Address], Together),
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        if asked.0.is_empty() {
            return Ok(Vec::new());
        }
        let secret = self.secret(&caller.tenant).await?;
        let prefetch = PackPrefetch::default();
        let tenant = Tenant::new(&caller.tenant, &secret, &prefetch);
        loop {
            let mut read = self.connections.begin_read_for(&caller.tenant).await?;
            let found = read_items(&mut read, tenant, asked, now).await?;
            read.end().await?;
            if prefetch.is_complete() {
                return Ok(found);
            }
            prefetch.fetch_missing(self.objects.as_deref(), &secret).await?;
        }
    }

    /// The content scope of a namespace root.
    pub(in crate::storage) async fn target(
        &self,
        (tenant, secret): (&str, &TenantSecret),
        root: &str,
    ) -> Result<Target> {
        let key = (tenant.to_owned(), root.to_owned());
        let known = self.chunks.known(tenant, &memory_key(root));
        if let Some(scope_id) = self.roots.get(&key) {
            return Ok(Target { scope_id, known });
        }
        // Many values of one root do not queue for the writer: the first one makes its scope.
        let _turn = self.root_turns.take(&key).await;
        if let Some(scope_id) = self.roots.get(&key) {
            return Ok(Target { scope_id, known });
        }
        let mut write = self.connections.begin_write_for(tenant).await?;
        let scope_id = read_or_make_root(&mut write, (tenant, secret), root).await?;
        write.commit().await?;
        self.roots.insert(key, scope_id);
        Ok(Target { scope_id, known })
    }

    /// Removes what has expired, in slices. What lay in chunks is left to the garbage.
    pub(in crate::storage) async fn sweep_items(&self, now: Micros) -> Result<()> {
        loop {
            let _turn = self.connections.background().await;
            let mut write = self.connections.begin_write().await?;
            let done = sqlx::query(
                "insert into garbage (tenant, thread_key, scope_id, created_at)
                 select distinct tenant, scope_id, scope_id, $1 from items
                 where expires_at <= $1 and scope_id is not null
                 on conflict (tenant, thread_key) do nothing;
                 insert into item_changes (tenant, n, namespace, key, version, kind, written_at)
                 select i.tenant, f.changes + row_number() over (), i.namespace, i.key, i.version,
                     'expire', $1
                 from items i join item_feeds f on f.tenant = i.tenant and f.wanted_until > $1
                 where i.rowid in (select rowid from items where expires_at <= $1
                     and tenant is not null order by expires_at, rowid limit $2);
                 update item_feeds set changes = max(changes, coalesce(
                     (select max(c.n) from item_changes c where c.tenant = item_feeds.tenant), 0))
                 where tenant is not null and wanted_until > $1;
                 delete from item_vectors where (tenant, namespace, key) in
                     (select tenant, namespace, key from items where expires_at <= $1
                     and tenant is not null order by expires_at, rowid limit $2);
                 delete from item_indexing where (tenant, namespace, key) in
                     (select tenant, namespace, key from items where expires_at <= $1
                     and tenant is not null order by expires_at, rowid limit $2);
                 delete from items where rowid in (select rowid from items where expires_at <= $1
                     and tenant is not null order by expires_at, rowid limit $2)",
            )
            .bind(now)
            .bind(SWEPT_ROWS)
            .execute(&mut *write)
            .await?;
            write.commit().await?;
            if done.rows_affected() < SWEPT_ROWS.unsigned_abs() {
                return Ok(());
            }
        }
    }
}

/// One that is there is checked.
async fn read_or_make_root(
    write: &mut SqliteConnection,
    (tenant, secret): (&str, &TenantSecret),
    root: &str,
) -> Result<i64> {
    let known = "select scope_id, mac from namespace_roots where tenant = $1 and root = $2";
    let known = sqlx::query(known).bind(tenant).bind(root).fetch_optional(&mut *write).await?;
    if let Some(row) = known {
        let (scope_id, mac) = (row.try_get(0)?, row.try_get(1)?);
        OwnerRow::root(root, scope_id).check(secret, mac)?;
        return Ok(scope_id);
    }
    let scope_id = random_id();
    sqlx::query(
        "insert into namespace_roots (tenant, root, scope_id, mac) values ($1, $2, $3, $5);
         insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $3, $4, 1);
         insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $3, 'namespace', $2)",
    )
    .bind(tenant)
    .bind(root)
    .bind(scope_id)
    .bind(random_id())
    .bind(OwnerRow::root(root, scope_id).mac(secret))
    .execute(write)
    .await?;
    Ok(scope_id)
}

async fn read_items(
    read: &mut SqliteConnection,
    tenant: Tenant<'_>,
    (addresses, together): (&[Address], Together),
    now: Micros,
) -> Result<Vec<Option<Item>>> {
    let set = places(addresses);
    let rows = sqlx::query(GET)
        .bind(tenant.name)
        .bind(set.json())
        .bind(set.blob)
        .bind(now)
        .fetch_all(&mut *read)
        .await?;
    let placed = |row: &SqliteRow| {
        let at: i64 = row.try_get("ord")?;
        Ok((usize::try_from(at).unwrap_or(0), read_item(row)?))
    };
    let mut stored = rows.iter().map(placed).collect::<Result<Vec<_>>>()?;
    drop(rows);
    let answered = together.keep(&mut stored, addresses.len())?;
    let opened: Vec<&StoredItem> = stored.iter().map(|it| &it.1).collect();
    let chunks = content_of(read, tenant, &opened).await?;
    let size = opening_size(&opened);
    cpu_pool::run_here_at_once(tenant.name, size, || {
        open_placed(tenant.secret, stored, &chunks, answered)
    })
}

pub(in crate::storage) async fn content_of(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    items: &[&StoredItem],
) -> Result<Chunks> {
    let lists = items.iter().filter_map(|it| Some((it.scope_id?, it.parts.as_deref()?)));
    chunks_of(connection, tenant, lists).await
}

pub(in crate::storage) fn read_item(row: &SqliteRow) -> Result<StoredItem> {
    let namespace: Vec<u8> = row.try_get("namespace")?;
    let address = Address {
        namespace: namespaces::decode(&namespace)?,
        key: Key::stored(row.try_get("key")?),
    };
    let columns = Columns {
        address,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        ttl_micros: row.try_get("ttl_micros")?,
        expires_at: row.try_get("expires_at")?,
        size_bytes: row.try_get("size_bytes")?,
        content_id: row.try_get("content_id")?,
    };
    Ok(StoredItem {
        item: columns.into(),
        digest: row.try_get("digest")?,
        body: row.try_get("body")?,
        parts: row.try_get("parts")?,
        scope_id: row.try_get("scope_id")?,
    })
}

fn places(addresses: &[Address]) -> RowSet {
    let mut set = RowSet::default();
    for address in addresses {
        let namespace = set.bytes(&namespaces::encode(&address.namespace));
        let key = set.bytes(address.key.as_bytes());
        set.push(json!([namespace.0, namespace.1, key.0, key.1]));
    }
    set
}
