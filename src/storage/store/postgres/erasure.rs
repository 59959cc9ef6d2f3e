//! Erases the items of a subject: all below its labels, then the content scopes of those namespace roots.

use sqlx::Row;

use super::search_sql::bounds;
use crate::domain::Result;
use crate::domain::label::labels;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::storage::files::contents::erasing::erase_contents;
use crate::storage::postgres::PostgresStorage;
use crate::storage::store::{memory_key, namespaces};

const SLICE_ROWS: i64 = 5_000;

const ITEMS: &str = "
with gone as (
    delete from items where ctid = any (array(
        select ctid from items where tenant = $1 and namespace >= cast($2 as text)::text[]
            and namespace < cast($3 as text)::text[] limit $4))
    returning tenant, namespace, key, size_bytes
), vectors as (
    delete from item_vectors x using gone
    where x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
), indexing as (
    delete from item_indexing x using gone
    where x.tenant = gone.tenant and x.namespace = gone.namespace and x.key = gone.key
)
select count(*) as items, coalesce(sum(size_bytes), 0)::bigint as size_bytes from gone";

const CHANGES: &str = "
delete from item_changes where tenant = $1 and ctid = any (array(
    select ctid from item_changes where tenant = $1 and namespace >= cast($2 as text)::text[]
        and namespace < cast($3 as text)::text[] limit $4))";

/// What races left: nobody finds it, but it names the subject.
const LEFT: [&str; 2] = [
    "delete from item_vectors where tenant = $1 and namespace >= cast($2 as text)::text[]
        and namespace < cast($3 as text)::text[]",
    "delete from item_indexing where tenant = $1 and namespace >= cast($2 as text)::text[]
        and namespace < cast($3 as text)::text[]",
];

/// What its namespaces declare goes too. The epoch rises, so that a batch that has planned for the scope is refused; the scope
/// goes with the garbage.
const ROOT: &str = "
with settings as (
    delete from namespace_settings where tenant = $1 and namespace >= $4 and namespace < $5
), walks as (
    delete from word_walks where tenant = $1 and namespace >= $4 and namespace < $5
), root as (
    delete from namespace_roots where tenant = $1 and root = $2 returning scope_id
), scope_lock as (
    update scopes s set epoch = s.epoch + 1 from root
    where s.tenant = $1 and s.scope_id = root.scope_id
), holder as (
    delete from scope_holders h using root
    where h.tenant = $1 and h.scope_id = root.scope_id and h.kind = 'namespace'
)
insert into garbage as g (tenant, thread_key, scope_id, created_at, owner, erased)
select $1, scope_id, scope_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, $3, true
from root
on conflict (tenant, thread_key) do update set owner = excluded.owner, erased = true";

impl PostgresStorage {
    /// Items and all that is about them, then contents of files.
    pub(in crate::storage) async fn erase_items(
        &self,
        tenant: &str,
        subject: &str,
    ) -> Result<Slice> {
        let mut all = Slice::default();
        for root in labels(subject) {
            let slice = self.erase_root(tenant, subject, root).await?;
            all.removed += slice.removed;
            if slice.more == More::Certainly {
                return Ok(Slice { more: More::Certainly, ..all });
            }
            if slice.more == More::Perhaps {
                all.more = More::Perhaps;
            }
        }
        Ok(all)
    }

    async fn erase_root(&self, tenant: &str, subject: &str, root: String) -> Result<Slice> {
        let below = Namespace::stored(vec![root.clone()]);
        let slice = self.erase_item_rows(tenant, subject, root).await?;
        if slice.more == More::Certainly {
            return Ok(slice);
        }
        let (contents, size_bytes) = erase_contents(self, tenant, &below).await?;
        if contents == 0 {
            return Ok(slice);
        }
        let mut removed = slice.removed;
        removed += Receipt { contents, size_bytes, ..Receipt::default() };
        Ok(Slice { removed, more: More::Certainly, ..slice })
    }

    /// A slice of items; where there is none, of what was logged of them; where there is none, the root.
    async fn erase_item_rows(&self, tenant: &str, subject: &str, root: String) -> Result<Slice> {
        let namespace = Namespace::stored(vec![root.clone()]);
        let (from, to) = bounds(&namespace);
        let mut connection = self.pool.get().await?;
        let row = sqlx::query(ITEMS)
            .bind(tenant)
            .bind(&from)
            .bind(&to)
            .bind(SLICE_ROWS)
            .fetch_one(&mut *connection)
            .await?;
        let count = |name: &str| row.get::<i64, _>(name).unsigned_abs();
        let (items, size_bytes) = (count("items"), count("size_bytes"));
        let mut more = More::Certainly;
        let mut logged = 0;
        if items == 0 {
            let done = sqlx::query(CHANGES)
                .bind(tenant)
                .bind(&from)
                .bind(&to)
                .bind(SLICE_ROWS)
                .execute(&mut *connection)
                .await?;
            logged = done.rows_affected();
        }
        if items == 0 && logged == 0 {
            for text in LEFT {
                let left = sqlx::query(text).bind(tenant).bind(&from).bind(&to);
                left.execute(&mut *connection).await?;
            }
            let done = sqlx::query(ROOT)
                .bind(tenant)
                .bind(&root)
                .bind(subject)
                .bind(namespaces::encode(&namespace))
                .bind(namespaces::end(&namespace))
                .execute(&mut *connection)
                .await?;
            self.chunks.forget(tenant, &memory_key(&root));
            self.roots.remove(&(tenant.to_owned(), root));
            more = if done.rows_affected() > 0 { More::Perhaps } else { More::Nothing };
        }
        let removed = Receipt { items, size_bytes, ..Receipt::default() };
        Ok(Slice { removed, thread_ids: Vec::new(), more })
    }
}
