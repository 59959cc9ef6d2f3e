//! Binds what namespaces declare of a batch's items, as parameters behind all others: the versions that an item keeps, and its words. It
//! also binds the notes about files.

use super::vectors::has_vectors;
use super::words::array_of;
use super::writes::Query;
use crate::domain::store::batch::{ItemBatch, ItemGroup, ItemRow, PreparedValue};
use crate::domain::store::words::ItemWords;

/// Numbers of the first parameters: vectors take nine where there are some, words four, files two, notes one.
struct Places {
    history: usize,
    words: usize,
    files: usize,
    notes: usize,
}

impl Places {
    fn of(batch: &ItemBatch) -> Self {
        let history = if has_vectors(batch) { 38 } else { 29 };
        let words = history + 1;
        let files = words + if has_words(batch) { 4 } else { 0 };
        let notes = files + if has_files(batch) { 2 } else { 0 };
        Self { history, words, files, notes }
    }
}

/// Puts the values of the columns into a statement. They are found by the number of a row of `v`.
pub(in crate::storage) fn fill(text: &str, batch: &ItemBatch) -> String {
    let places = Places::of(batch);
    let at = |place: usize, kind: &str| format!("(${place}::{kind}[])[v.ord::integer]");
    let words = if has_words(batch) {
        let values = [
            at(places.words, "text") + "::bigint[]",
            at(places.words + 1, "bytea"),
            at(places.words + 2, "integer"),
            at(places.words + 3, "bigint"),
        ];
        values.join(", ")
    } else {
        "null::bigint[], null::bytea, null::integer, null::bigint".to_owned()
    };
    let (head, content_id) = if has_files(batch) {
        (at(places.files, "bytea"), at(places.files + 1, "bytea"))
    } else {
        ("''::bytea".to_owned(), "null::bytea".to_owned())
    };
    text.replace("{history}", &at(places.history, "integer"))
        .replace("{words}", &words)
        .replace("{file_head}", &head)
        .replace("{content_id}", &content_id)
}

/// Puts what is remembered behind the versions into a statement, by the number of a row of `q`.
pub(super) fn fill_note(text: &str, batch: &ItemBatch) -> String {
    let note = if has_notes(batch) {
        format!("(${}::bytea[])[q.grp::integer]", Places::of(batch).notes)
    } else {
        "''::bytea".to_owned()
    };
    text.replace("{note}", &note)
}

pub(in crate::storage) fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    let kept = |it: &ItemRow| it.put.as_ref().and_then(|it| it.history);
    let kept = batch.rows.iter().map(kept);
    let kept = kept.map(|it| it.map(|it| i32::try_from(it).unwrap_or(i32::MAX)));
    let query = bind_files(bind_words(query.bind(kept.collect::<Vec<_>>()), batch), batch);
    if !has_notes(batch) {
        return query;
    }
    let note = |it: &ItemGroup| {
        let numbers = it.idempotency.iter().flat_map(|it| &it.note);
        numbers.flat_map(|it| it.to_be_bytes()).collect::<Vec<u8>>()
    };
    query.bind(batch.groups.iter().map(note).collect::<Vec<_>>())
}

fn bind_words<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
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

fn bind_files<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    if !has_files(batch) {
        return query;
    }
    let puts = || batch.rows.iter().map(|it| it.put.as_ref());
    query
        .bind(puts().map(|it| it.and_then(|it| it.file_head.as_deref())).collect::<Vec<_>>())
        .bind(puts().map(|it| it.and_then(|it| it.content_id.as_deref())).collect::<Vec<_>>())
}

fn has_words(batch: &ItemBatch) -> bool {
    batch.rows.iter().any(|it| words(it).is_some())
}

fn has_notes(batch: &ItemBatch) -> bool {
    batch.groups.iter().any(|it| it.idempotency.as_ref().is_some_and(|it| !it.note.is_empty()))
}

/// A batch without files pays nothing for them.
fn has_files(batch: &ItemBatch) -> bool {
    let is_file = |it: &PreparedValue| it.file_head.as_ref().is_none_or(|it| !it.is_empty());
    batch.rows.iter().filter_map(|it| it.put.as_ref()).any(is_file)
}

fn words(row: &ItemRow) -> Option<&ItemWords> {
    row.put.as_ref().and_then(|it| it.words.as_deref())
}
