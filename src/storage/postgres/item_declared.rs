//! What namespaces declare of the items of a batch, as parameters behind all others: the versions that an item keeps.

use super::item_vectors::has_vectors;
use super::item_writes::Query;
use crate::domain::item_batch::{ItemBatch, ItemRow};

/// The first parameter: vectors take nine where there are some.
fn first(batch: &ItemBatch) -> usize {
    if has_vectors(batch) { 38 } else { 29 }
}

/// Of a row of `v`, by its number: earlier versions that it keeps; null: as many as before.
pub(super) fn history(batch: &ItemBatch) -> String {
    format!("(${}::integer[])[v.ord::integer]", first(batch))
}

pub(super) fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    let kept = |it: &ItemRow| it.put.as_ref().and_then(|it| it.history);
    let kept = batch.rows.iter().map(kept);
    query
        .bind(kept.map(|it| it.map(|it| i32::try_from(it).unwrap_or(i32::MAX))).collect::<Vec<_>>())
}
