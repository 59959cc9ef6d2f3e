//! Reads items, keeps their times to live, and sweeps expired ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::chunks::{read_chunks, read_or_make_root};
use crate::content::keys::TenantSecret;
use crate::content::parts::Part;
use crate::domain::Result;
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::idempotency::Idempotency;
use crate::domain::scheduling::cpu_pool;
use crate::domain::store::batch::{ItemBatch, ItemOutcome, PreparedChanges};
use crate::domain::store::item::{
    Address, ChangeItem, Item, ItemPage, Key, Scope, SearchItems, SearchMode,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::store::storage::ItemStorage;
use crate::storage::content::opening::{Chunks, parts_of};
use crate::storage::objects::pack_prefetch::PackPrefetch;
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::indexing_rows::Indexable;
use crate::storage::store::models::ModelMemory;
use crate::storage::store::opening::{Together, open_placed, opening_size};
use crate::storage::store::projection::array_literal;
use crate::storage::store::{
    Columns, StoredItem, Target, memory_key, needs_content, prepare, unresolved, with_request,
};

/// How often an item whose chunks are gone is read.
const READS_MAX: usize = 4;
/// Rows that one statement of the sweep removes.
const SWEPT_ROWS: i64 = 5_000;

const GET: &str = r"
select k.ord, i.* from unnest($2::text[], $3::bytea[]) with ordinality as k (namespace, key, ord)
cross join lateral (
    select i.namespace, i.key, i.version, i.created_at, i.updated_at, i.ttl_micros, i.expires_at,
        i.size_bytes, i.digest, i.body, i.parts, i.scope_id, i.content_id
    from items i
    where i.tenant = $1 and i.namespace = k.namespace::text[] and i.key = k.key
        and (i.expires_at is null or i.expires_at > $4)
    limit 1) i
";

/// What is being written is skipped: whoever writes begins a new life anyway, and waiting in another order could
/// lock each other out.
const REFRESH: &str = r"
with due as materialized (
    select i.* from unnest($2::text[], $3::bytea[]) as k (namespace, key)
    cross join lateral (
        select i.namespace, i.key from items i
        where i.tenant = $1 and i.namespace = k.namespace::text[] and i.key = k.key
            and i.expires_at > $4 and i.expires_at - $4 < i.ttl_micros - i.ttl_micros / 10
        limit 1 for no key update skip locked) i
)
update items i set expires_at = $4 + i.ttl_micros from due
where i.tenant = $1 and i.namespace = due.namespace and i.key = due.key
    and i.ttl_micros is not null
";

#[async_trait]
impl ItemStorage for PostgresStorage {
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
        let prepared = prepare(&secret, &caller.tenant, changes, targets, true).await?;
        Ok(with_request(prepared, idempotency, deadline))
    }

    async fn write_items(&self, batch: &ItemBatch) -> Result<Vec<ItemOutcome>, BatchError> {
        self.write_item_rows(batch).await
    }

    async fn get_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        bytes_max: Option<u64>,
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        let asked = (addresses, Together::All(bytes_max));
        retry_torn_read(|| self.open_items(caller, asked, now)).await
    }

    async fn get_first_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        let asked = (addresses, Together::First);
        retry_torn_read(|| self.open_items(caller, asked, now)).await
    }

    async fn search_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        query: &SearchItems,
        now: Micros,
    ) -> Result<ItemPage> {
        let page = match &query.mode {
            SearchMode::List => {
                retry_torn_read(|| self.read_item_page(caller, within, query, now)).await
            }
            SearchMode::Text(_) | SearchMode::Hybrid(..) => {
                Err(crate::domain::Error::Internal("a search by words asks for candidates".into()))
            }
            SearchMode::Vector(near) => {
                retry_torn_read(|| self.read_nearest(caller, within, (query, near), now)).await
            }
            SearchMode::Question { .. } => Err(unresolved()),
        };
        self.clear_pool_on_loss(page)
    }

    async fn count_items(
        &self,
        caller: &Caller,
        within: &[Namespace],
        scope: &Scope,
        now: Micros,
    ) -> Result<u64> {
        let read = || self.read_item_count(caller, within, scope, now);
        self.clear_pool_on_loss(retry_torn_read(read).await)
    }

    async fn refresh_items(
        &self,
        caller: &Caller,
        addresses: &[Address],
        now: Micros,
    ) -> Result<()> {
        let (namespaces, keys) = places(addresses);
        sqlx::query(REFRESH)
            .bind(&caller.tenant)
            .bind(namespaces)
            .bind(keys)
            .bind(now)
            .execute(&mut *self.pool.get_for(&caller.tenant).await?)
            .await?;
        Ok(())
    }
}

impl Indexable for PostgresStorage {
    fn models(&self) -> &ModelMemory {
        &self.models
    }
}

impl PostgresStorage {
    async fn open_items(
        &self,
        caller: &Caller,
        (addresses, together): (&[Address], Together),
        now: Micros,
    ) -> Result<Vec<Option<Item>>> {
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        let mut stored = match self.read_items(&caller.tenant, addresses, now).await {
            // After the database was restarted every idle connection is dead.
            Err(crate::domain::Error::Unavailable { .. }) => {
                self.pool.clear();
                self.read_items(&caller.tenant, addresses, now).await
            }
            result => result,
        }?;
        let answered = together.keep(&mut stored, addresses.len())?;
        let secret = self.secret(&caller.tenant).await?;
        let opened: Vec<&StoredItem> = stored.iter().map(|it| &it.1).collect();
        let chunks = self.content_of_items(&caller.tenant, &secret, &opened).await?;
        let size = opening_size(&opened);
        let open = || open_placed(&secret, stored, &chunks, answered);
        cpu_pool::run_here(&caller.tenant, size, open).await?
    }

    pub(in crate::storage) async fn read_items(
        &self,
        tenant: &str,
        addresses: &[Address],
        now: Micros,
    ) -> Result<Vec<(usize, StoredItem)>> {
        let (namespaces, keys) = places(addresses);
        let rows = sqlx::query(GET)
            .bind(tenant)
            .bind(namespaces)
            .bind(keys)
            .bind(now)
            .fetch_all(&mut *self.pool.get_for(tenant).await?)
            .await?;
        let place = |row: &PgRow| usize::try_from(row.get::<i64, _>("ord") - 1).unwrap_or(0);
        Ok(rows.iter().map(|row| (place(row), read_item(row))).collect())
    }

    /// The chunks of some items: none or one round trip, two where lists are long.
    pub(super) async fn content_of_items(
        &self,
        tenant: &str,
        secret: &TenantSecret,
        items: &[&StoredItem],
    ) -> Result<Chunks> {
        let mut lists: BTreeMap<i64, Vec<Part>> = BTreeMap::new();
        for item in items.iter().filter(|it| it.body.is_some()) {
            if let (Some(scope_id), Some(list)) = (item.scope_id, &item.parts) {
                lists.entry(scope_id).or_default().extend(parts_of(list)?);
            }
        }
        let prefetch = PackPrefetch::default();
        let mut chunks = Chunks::default();
        if lists.is_empty() {
            return Ok(chunks);
        }
        // Twice where something lies in packs: then it is fetched in between, without a connection.
        for _ in 0..2 {
            chunks = self.read_lists(tenant, secret, &lists).await?;
            let size = if chunks.has_placed() { opening_size(items) } else { 0 };
            let complete = || prefetch.complete((tenant, secret), &mut chunks);
            cpu_pool::run_here(tenant, size, complete).await??;
            if prefetch.is_complete() {
                break;
            }
            prefetch.fetch_missing(self.objects.as_deref(), secret).await?;
        }
        Ok(chunks)
    }

    async fn read_lists(
        &self,
        tenant: &str,
        secret: &TenantSecret,
        lists: &BTreeMap<i64, Vec<Part>>,
    ) -> Result<Chunks> {
        let mut chunks = Chunks::default();
        let (mut leaves, mut nodes) = (BTreeSet::new(), BTreeSet::new());
        for (scope_id, parts) in lists {
            for part in parts {
                match part {
                    Part::Leaf(name) => leaves.insert((*scope_id, *name)),
                    Part::Node(name) => nodes.insert((*scope_id, *name)),
                };
            }
        }
        let mut connection = self.pool.get_for(tenant).await?;
        for (scope_id, name, body) in read_chunks(&mut connection, tenant, &nodes).await? {
            let names = chunks.add_node(secret, &name, &body)?;
            leaves.extend(names.into_iter().map(|it| (scope_id, it)));
        }
        let found = read_chunks(&mut connection, tenant, &leaves).await?;
        drop(connection);
        let found: Vec<_> = found.into_iter().map(|(_, name, body)| (name, body)).collect();
        let size = cpu_pool::size_of(found.len(), found.iter().map(|it| it.1.len()).sum());
        cpu_pool::run_here(tenant, size, || chunks.add_each((tenant, secret), &found)).await??;
        Ok(chunks)
    }

    /// The content scope of a namespace root. One round trip the first time this process meets it.
    async fn target(&self, (tenant, secret): (&str, &TenantSecret), root: &str) -> Result<Target> {
        let key = (tenant.to_owned(), root.to_owned());
        let known = self.chunks.known(tenant, &memory_key(root));
        if let Some(scope_id) = self.roots.get(&key) {
            return Ok(Target { scope_id, known });
        }
        let _turn = self.root_turns.take(&key).await;
        if let Some(scope_id) = self.roots.get(&key) {
            return Ok(Target { scope_id, known });
        }
        let mut connection = self.pool.get_for(tenant).await?;
        let scope_id = read_or_make_root(&mut connection, (tenant, secret), root).await?;
        drop(connection);
        self.roots.insert(key, scope_id);
        Ok(Target { scope_id, known })
    }

    /// Removes what has expired, in slices. What lay in chunks is left to the garbage.
    pub(in crate::storage) async fn sweep_items(&self, now: Micros) -> Result<()> {
        loop {
            let done = sqlx::query(
                "with gone as (
                    delete from items where ctid = any (array(
                        select ctid from items where expires_at <= $1 and tenant is not null
                        limit $2 for update skip locked))
                    returning tenant, namespace, key, version, scope_id, vector_bytes, is_indexed
                 ), logged as (
                    insert into item_changes
                        (tenant, xid, n, namespace, key, version, kind, written_at)
                    select g.tenant, pg_current_xact_id(), row_number() over (), g.namespace,
                        g.key, g.version, 'expire', $1
                    from gone g where exists (select from item_feeds f
                        where f.tenant = g.tenant and f.wanted_until > $1)
                 ), vectors as (
                    delete from item_vectors x using gone where gone.vector_bytes > 0
                        and x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
                 ), indexing as (
                    delete from item_indexing x using gone where gone.is_indexed
                        and x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
                 ), trash as (
                    insert into garbage (tenant, thread_key, scope_id, created_at)
                    select distinct tenant, scope_id, scope_id, $1 from gone
                    where scope_id is not null
                    on conflict do nothing
                 )
                 select count(*) as count from gone",
            )
            .bind(now)
            .bind(SWEPT_ROWS)
            .fetch_one(&mut *self.pool.get().await?)
            .await?;
            if done.get::<i64, _>("count") < SWEPT_ROWS {
                break;
            }
        }
        Ok(())
    }
}

/// Reads again what may have been replaced between its row and its chunks, which are read one after the other. What is
/// damaged stays so.
async fn retry_torn_read<T, R: Future<Output = Result<T>>>(read: impl Fn() -> R) -> Result<T> {
    for _ in 1..READS_MAX {
        match read().await {
            Err(crate::domain::Error::Integrity(_)) => {}
            result => return result,
        }
    }
    read().await
}

/// Namespaces as array literals, because arrays of arrays do not pass through `unnest`, and keys.
pub(in crate::storage) fn places(addresses: &[Address]) -> (Vec<String>, Vec<Vec<u8>>) {
    let place = |it: &Address| (literal(&it.namespace), it.key.as_bytes().to_vec());
    addresses.iter().map(place).unzip()
}

pub(in crate::storage) fn literal(namespace: &Namespace) -> String {
    array_literal(namespace.labels().iter().map(|it| Cow::Borrowed(it.as_str())))
}

pub(in crate::storage) fn read_item(row: &PgRow) -> StoredItem {
    let address = Address {
        namespace: Namespace::stored(row.get("namespace")),
        key: Key::stored(row.get("key")),
    };
    let columns = Columns {
        address,
        version: row.get("version"),
        created_at: row.get("created_at"),
        updated_at: row.get("updated_at"),
        ttl_micros: row.get("ttl_micros"),
        expires_at: row.get("expires_at"),
        size_bytes: i64::from(row.get::<i32, _>("size_bytes")),
        content_id: row.get("content_id"),
    };
    StoredItem {
        item: columns.into(),
        digest: row.get::<Option<Vec<u8>>, _>("digest").unwrap_or_default(),
        body: row.get("body"),
        parts: row.get("parts"),
        scope_id: row.get("scope_id"),
    }
}
