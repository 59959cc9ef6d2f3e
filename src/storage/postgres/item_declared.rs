//! What namespaces declare of the items of a batch, as parameters behind all others: the versions that an item keeps, and
//! its words.

use super::item_vectors::has_vectors;
use super::item_words::array_of;
use super::item_writes::Query;
use crate::domain::item_batch::{ItemBatch, ItemRow};
use crate::domain::words::ItemWords;

/// The first parameter: vectors take nine where there are some.
fn first(batch: &ItemBatch) -> usize {
    if has_vectors(batch) { 38 } else { 29 }
}

/// Puts the values of the columns into a statement. They are found by the number of a row of `v`.
pub(super) fn fill(text: &str, batch: &ItemBatch) -> String {
    let first = first(batch);
    let at = |place: usize, kind: &str| format!("(${place}::{kind}[])[v.ord::integer]");
    let words = if has_words(batch) {
        let values = [
            at(first + 1, "text") + "::bigint[]",
            at(first + 2, "bytea"),
            at(first + 3, "integer"),
            at(first + 4, "bigint"),
        ];
        values.join(", ")
    } else {
        "null::bigint[], null::bytea, null::integer, null::bigint".to_owned()
    };
    text.replace("{history}", &at(first, "integer")).replace("{words}", &words)
}

pub(super) fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    let kept = |it: &ItemRow| it.put.as_ref().and_then(|it| it.history);
    let kept = batch.rows.iter().map(kept);
    let kept = kept.map(|it| it.map(|it| i32::try_from(it).unwrap_or(i32::MAX)));
    let query = query.bind(kept.collect::<Vec<_>>());
    if !has_words(batch) {
        return query;
    }
    let all = || batch.rows.iter().map(words);
    query
        .bind(all().map(|it| it.map(|it| array_of(&it.words))).collect::<Vec<_>>())
        .bind(all().map(|it| it.map(|it| it.counts.clone())).collect::<Vec<_>>())
        .bind(all().map(|it| it.map(|it| it.total)).collect::<Vec<_>>())
        .bind(all().map(|it| it.map(|it| it.fields)).collect::<Vec<_>>())
}

fn has_words(batch: &ItemBatch) -> bool {
    batch.rows.iter().any(|it| words(it).is_some())
}

fn words(row: &ItemRow) -> Option<&ItemWords> {
    row.put.as_ref().and_then(|it| it.words.as_deref())
}
