//! Writes items as a snapshot keeps them: hidden, until a restore of the snapshot's number makes items of them.

use super::items_put::{Batch, untagged};
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::export::items::StoredItem;
use crate::storage::db::access::Dialect;
use crate::storage::files::contents::Roots;
use crate::storage::sessions::rows::{bytes, number};

/// One transaction for those that come together. The number is among the leftovers. Their words are made when they are
/// restored.
///
/// # Errors
/// 422 for vectors of a model that has others here; a database that cannot be written.
pub async fn put<T: Roots>(
    engine: &T,
    (tenant, secret): (&str, &TenantSecret),
    snapshot_no: i64,
    items: &[StoredItem],
) -> Result<()> {
    let dialect = engine.dialect();
    let mut batch = Batch::default();
    for item in items {
        batch.add(engine, (tenant, secret), item).await?;
    }
    let mut access = engine.begin_write().await?;
    batch.lock(&mut *access, dialect, tenant).await?;
    batch.put_beside(&mut *access, tenant).await?;
    let rows = batch.items.binds();
    let mut statements = vec![(versions_text(), rows.clone()), (copies_text(dialect), rows)];
    if !batch.vectors.is_empty() {
        statements.push((vectors_text(), batch.vectors.binds()));
    }
    for (text, binds) in statements {
        let more = vec![tenant.into(), snapshot_no.into()];
        access.rows(&dialect.fill(&text), &[binds, more].concat()).await?;
    }
    access.end().await
}

/// From rows of `Batch::items`, as the next one. $3 tenant, $4 number.
fn versions_text() -> String {
    let [updated, ttl, scope] = [7, 8, 18].map(number);
    let ([key, head, content], sealed) = ([3, 22, 24].map(bytes), untagged(10));
    format!(
        "insert into item_versions (tenant, namespace, key, version, updated_at, ttl_micros, size_bytes, digest, body,
            parts, scope_id, file_head, content_id)
         select $3, {{row_namespace}}, {key}, -$4, {updated}, {ttl}, {sealed}, {scope}, {head}, {content}
         {{from_each}} where true"
    )
}

fn copies_text(dialect: &Dialect) -> String {
    let [created, expires, size, vectors, history] = [6, 9, 11, 19, 21].map(number);
    let (key, columns, projected) =
        (bytes(3), dialect.projection_columns, dialect.projection_values);
    format!(
        "insert into snapshot_items (tenant, snapshot_no, namespace, key, created_at, expires_at, size_bytes, history,
            vector_bytes, index_fields{columns})
         select $3, $4, {{row_namespace}}, {key}, {created}, {expires}, {size}, {history}, {vectors}, j.value ->> 28
            {projected} {{from_each}} where true"
    )
}

fn vectors_text() -> String {
    let ([no, dims], key) = ([7, 9].map(number), bytes(3));
    format!(
        "insert into snapshot_vectors (tenant, snapshot_no, namespace, key, model, no, field, dims, vector)
         select $3, $4, {{row_namespace}}, {key}, j.value ->> 6, {no}, j.value ->> 8, {dims}, {{row_numbers}}
         {{from_each}} where true"
    )
}
