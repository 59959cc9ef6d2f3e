//! Opens values of a thread, with chunks from the database and from packs.

use std::collections::BTreeSet;

use crate::content::keys::TenantSecret;
use crate::content::parts::{Name, Part};
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::Value;
use crate::domain::scheduling::cpu_pool;
use crate::storage::content::associated_data::ValueRow;
use crate::storage::content::opening::{Chunks, StoredValue, open_value, parts_of};
use crate::storage::db::access::{Access, SqlRow, SqlValue, rows_named};
use crate::storage::objects::pack_prefetch::PackPrefetch;

/// Columns of manifests and of writes that make a value.
pub const COLUMNS: &str = "tag, size_bytes, digest, body, parts";
/// What a value takes once it is put together.
pub const SIZE: &str = "case when size_bytes > length(body) then size_bytes else length(body) end
    + coalesce(length(parts), 0)";

const CHUNKS: &str =
    "select name, body from chunks where tenant = $1 and scope_id = $2 and name in";

/// Chunks that the values of some rows need; `at` is the first of [`COLUMNS`] in them. Two statements at most.
pub async fn chunks_of(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    scope_id: i64,
    (rows, at): (&[SqlRow], usize),
    prefetch: &PackPrefetch,
) -> Result<Chunks> {
    let mut chunks = Chunks::default();
    let (mut leaves, mut nodes) = (BTreeSet::<Name>::new(), BTreeSet::<Name>::new());
    for row in rows {
        let Some(list) = row.optional_bytes(at + 4)? else { continue };
        for part in parts_of(list)? {
            match part {
                Part::Leaf(name) => leaves.insert(name),
                Part::Node(name) => nodes.insert(name),
            };
        }
    }
    let scope = [SqlValue::from(tenant), scope_id.into()];
    for row in named(access, &scope, &nodes).await? {
        leaves.extend(chunks.add_node(secret, row.bytes(0)?, row.bytes(1)?)?);
    }
    let rows = named(access, &scope, &leaves).await?;
    let found = rows.iter().map(|it| Ok((it.bytes(0)?, it.bytes(1)?)));
    chunks.add_each((tenant, secret), &found.collect::<Result<Vec<_>>>()?)?;
    prefetch.complete((tenant, secret), &mut chunks)?;
    Ok(chunks)
}

async fn named(
    access: &mut dyn Access,
    scope: &[SqlValue],
    names: &BTreeSet<Name>,
) -> Result<Vec<SqlRow>> {
    let names: Vec<SqlValue> = names.iter().map(|it| SqlValue::from(&it[..])).collect();
    rows_named(access, CHUNKS, scope, &names).await
}

/// How much work the values of some rows are; `at` as in [`chunks_of`].
///
/// # Errors
/// `Integrity` for a row without a size.
pub fn opening_size(rows: &[SqlRow], at: usize) -> Result<usize> {
    let mut bytes = 0_usize;
    for row in rows {
        bytes = bytes.saturating_add(usize::try_from(row.integer(at + 1)?).unwrap_or(0));
    }
    Ok(cpu_pool::size_of(rows.len(), bytes))
}

/// The value of a row.
///
/// # Errors
/// `Integrity` when it is damaged.
pub fn open(
    secret: &TenantSecret,
    (scope_id, aad): (i64, ValueRow<'_>),
    (row, at): (&SqlRow, usize),
    chunks: &Chunks,
) -> Result<Value> {
    let stored = StoredValue {
        scope_id,
        row: aad,
        tag: row.text(at)?,
        size_bytes: i32::try_from(row.integer(at + 1)?).unwrap_or(i32::MAX),
        digest: row.bytes(at + 2)?,
        body: row.bytes(at + 3)?,
        parts: row.optional_bytes(at + 4)?,
    };
    open_value(secret, &stored, chunks)
}
