//! Erases the items of a subject: all below its labels, then the content scopes of those namespace roots.

use sqlx::Row;

use crate::domain::Result;
use crate::domain::label::labels;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::storage::files::contents::erasing::erase_contents;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::store::{memory_key, namespaces};

const SLICE_ROWS: i64 = 500;

/// Before their items, so that nothing is left of one that is gone.
const VECTORS: [&str; 2] = [
    "delete from item_vectors where rowid in (
        select rowid from item_vectors where tenant = $1 and namespace >= $2 and namespace < $3 limit $4)",
    "delete from item_indexing where rowid in (
        select rowid from item_indexing where tenant = $1 and namespace >= $2 and namespace < $3 limit $4)",
];

const ITEMS: &str = "
delete from items where rowid in (
    select rowid from items where tenant = $1 and namespace >= $2 and namespace < $3 limit $4)
returning size_bytes";

const CHANGES: &str = "
delete from item_changes where tenant = $1 and n in (
    select n from item_changes
    where tenant = $1 and namespace >= $2 and namespace < $3 limit $4)";

/// The scope goes with the garbage.
const ROOT: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at, owner, erased)
select tenant, scope_id, scope_id, cast(unixepoch('subsec') * 1000000 as integer), $3, 1
from namespace_roots where tenant = $1 and root = $2
on conflict (tenant, thread_key) do update set owner = excluded.owner, erased = 1;
delete from scope_holders where tenant = $1 and kind = 'namespace'
    and scope_id = (select scope_id from namespace_roots where tenant = $1 and root = $2);
update scopes set epoch = epoch + 1 where tenant = $1
    and scope_id = (select scope_id from namespace_roots where tenant = $1 and root = $2);
delete from namespace_settings where tenant = $1 and namespace >= $4 and namespace < $5;
delete from word_walks where tenant = $1 and namespace >= $4 and namespace < $5;
delete from namespace_roots where tenant = $1 and root = $2";

impl SqliteStorage {
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
        let _turn = self.connections.background().await;
        let mut write = self.connections.begin_write().await?;
        let (from, to) = (namespaces::encode(&namespace), namespaces::end(&namespace));
        for text in VECTORS {
            let gone = sqlx::query(text).bind(tenant).bind(&from).bind(&to).bind(SLICE_ROWS);
            let gone = gone.execute(&mut *write).await?;
            if gone.rows_affected() >= SLICE_ROWS.unsigned_abs() {
                write.commit().await?;
                let more = More::Certainly;
                return Ok(Slice { removed: Receipt::default(), thread_ids: Vec::new(), more });
            }
        }
        let rows = sqlx::query(ITEMS)
            .bind(tenant)
            .bind(from)
            .bind(to)
            .bind(SLICE_ROWS)
            .fetch_all(&mut *write)
            .await?;
        let mut removed = Receipt { items: rows.len() as u64, ..Receipt::default() };
        for row in &rows {
            removed.size_bytes += row.try_get::<i64, _>(0)?.unsigned_abs();
        }
        let mut more = More::Certainly;
        let mut logged = 0;
        if rows.is_empty() {
            let done = sqlx::query(CHANGES)
                .bind(tenant)
                .bind(namespaces::encode(&namespace))
                .bind(namespaces::end(&namespace))
                .bind(SLICE_ROWS)
                .execute(&mut *write)
                .await?;
            logged = done.rows_affected();
        }
        if rows.is_empty() && logged == 0 {
            let done = sqlx::query(ROOT)
                .bind(tenant)
                .bind(&root)
                .bind(subject)
                .bind(namespaces::encode(&namespace))
                .bind(namespaces::end(&namespace))
                .execute(&mut *write)
                .await?;
            self.chunks.forget(tenant, &memory_key(&root));
            self.roots.remove(&(tenant.to_owned(), root));
            more = if done.rows_affected() > 0 { More::Perhaps } else { More::Nothing };
        }
        write.commit().await?;
        Ok(Slice { removed, thread_ids: Vec::new(), more })
    }
}
