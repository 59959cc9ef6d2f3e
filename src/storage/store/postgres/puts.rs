//! Writes batches of plain puts: without a condition and with nothing beside the value. They are nearly all changes of items. None can fail
//! alone, so nothing is read before the write. One `insert … on conflict` per batch takes a fifth of the time of the statement for other
//! batches (`item_writes`).
//!
//! **Invariant:** rows are locked in the order of the batch. Triggers remove what a replaced item had in other tables.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::items::literal;
use super::writes::Query;
use crate::domain::batch_error::BatchError;
use crate::domain::store::batch::{ItemBatch, ItemOutcome, ItemRow, PreparedValue};
use crate::storage::postgres::PostgresStorage;

/// $1 the time, $2 the version of what is created, $3 earlier versions to keep. A version that comes in is how often the item was
/// put. An item whose life has ended is another one under the same name.
const PUTS: &str = r"
with done as (
    insert into items as i (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at,
        size_bytes, digest, body, projection, has_marks, history, file_head)
    select r.tenant, r.namespace::text[], r.key, $2 + r.puts - 1, $1, $1, r.ttl_micros, $1 + r.ttl_micros,
        r.size_bytes, r.digest, r.body, r.projection::jsonb, r.has_marks, coalesce($3, 0),
        r.file_head
    from unnest($4::text[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[], $9::integer[], $10::bytea[],
        $11::bytea[], $12::text[], $13::boolean[], $14::bytea[])
        as r (tenant, namespace, key, puts, ttl_micros, size_bytes, digest, body, projection, has_marks, file_head)
    on conflict (tenant, namespace, key) do update set
        version = case when i.expires_at is null or i.expires_at > $1
            then i.version + excluded.version - $2 + 1
            else greatest($2, i.version + 1) + excluded.version - $2 end,
        created_at = case when i.expires_at is null or i.expires_at > $1 then i.created_at else $1 end,
        updated_at = case when i.expires_at is null or i.expires_at > $1
            then greatest(i.created_at, $1) else $1 end,
        ttl_micros = excluded.ttl_micros, expires_at = excluded.expires_at,
        size_bytes = excluded.size_bytes, digest = excluded.digest, body = excluded.body,
        parts = null, scope_id = null, projection = excluded.projection,
        has_marks = excluded.has_marks, vector_bytes = 0, is_indexed = false,
        history = coalesce($3, case when i.expires_at is null or i.expires_at > $1
            then i.history else 0 end),
        words = null, word_counts = null, word_total = null, word_fields = null,
        file_head = excluded.file_head, content_id = null
    returning i.tenant, i.namespace, i.key, i.version
), logged as (
    insert into item_changes (tenant, xid, n, namespace, key, version, kind, written_at)
    select d.tenant, pg_current_xact_id(), row_number() over (), d.namespace, d.key, d.version, 'put', $1
    from done d
    where exists (select from item_feeds f where f.tenant = d.tenant and f.wanted_until > $1)
)
select version from done
";

/// Whether the batch is of this kind. Nobody asks for an earlier answer then either: only conditions have one.
pub(in crate::storage) fn are_plain(batch: &ItemBatch) -> bool {
    let kept = batch.rows.first().and_then(|it| it.put.as_ref()).and_then(|it| it.history);
    let is_plain = |it: &PreparedValue| {
        let has_more = it.content.is_some() || it.content_id.is_some() || it.vectors.is_some();
        !has_more && it.index.is_none() && it.words.is_none() && it.history == kept
    };
    batch.groups.iter().all(|it| it.idempotency.is_none())
        && batch.rows.iter().all(|it| {
            it.if_version.is_none() && it.may_create && it.put.as_ref().is_some_and(is_plain)
        })
}

impl PostgresStorage {
    /// One round trip.
    pub(super) async fn put_item_rows(
        &self,
        batch: &ItemBatch,
    ) -> Result<Vec<ItemOutcome>, BatchError> {
        let mut connection =
            self.pool.get().await.map_err(|error| BatchError::Unavailable(error.to_string()))?;
        let answer = bind(sqlx::query(PUTS), batch).fetch_all(&mut *connection).await;
        drop(connection);
        outcomes(batch, &answer.map_err(|error| self.refusal_of_items(&error))?)
    }
}

fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    let rows = &batch.rows;
    let puts = || rows.iter().filter_map(|it| it.put.as_ref());
    let kept = puts().next().and_then(|it| it.history);
    query
        .bind(batch.now)
        .bind(batch.first_version)
        .bind(kept.map(|it| i32::try_from(it).unwrap_or(i32::MAX)))
        .bind(rows.iter().map(|it| it.tenant.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| literal(&it.address.namespace)).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.address.key.as_bytes()).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.puts).collect::<Vec<_>>())
        .bind(puts().map(|it| it.ttl_micros).collect::<Vec<_>>())
        .bind(puts().map(|it| it.sealed.size_bytes).collect::<Vec<_>>())
        .bind(puts().map(|it| &it.sealed.digest[..]).collect::<Vec<_>>())
        .bind(puts().map(|it| &it.sealed.body[..]).collect::<Vec<_>>())
        .bind(puts().map(|it| it.projection.as_str()).collect::<Vec<_>>())
        .bind(puts().map(|it| it.has_marks).collect::<Vec<_>>())
        .bind(puts().map(|it| it.file_head.as_deref()).collect::<Vec<_>>())
}

/// The rows of the answer are those of the batch, in their order.
fn outcomes(batch: &ItemBatch, rows: &[PgRow]) -> Result<Vec<ItemOutcome>, BatchError> {
    if rows.len() != batch.rows.len() {
        let detail = format!("{} puts wrote {} items", batch.rows.len(), rows.len());
        return Err(BatchError::Statement(detail));
    }
    let mut versions: Vec<Vec<i64>> = batch.groups.iter().map(|_| Vec::new()).collect();
    for (ItemRow { group, change, .. }, row) in batch.rows.iter().zip(rows) {
        let of_group = &mut versions[*group];
        of_group.resize(of_group.len().max(change + 1), 0);
        of_group[*change] = row.get("version");
    }
    Ok(versions.into_iter().map(ItemOutcome::Written).collect())
}
