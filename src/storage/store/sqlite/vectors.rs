//! Writes the vectors of items in the transaction of a batch. A batch without vectors makes no trip for them.

use std::collections::HashSet;

use serde_json::json;
use sqlx::sqlite::SqliteConnection;

use super::writes::address;
use crate::domain::store::batch::ItemBatch;
use crate::storage::sqlite::rows::RowSet;

const REPLACE: &str = "
delete from item_vectors where (tenant, namespace, key) in
    (select j.value ->> 0, substr($2, j.value ->> 1, j.value ->> 2), substr($2, j.value ->> 3, j.value ->> 4)
     from jsonb_each($1) j);
delete from item_indexing where (tenant, namespace, key) in
    (select j.value ->> 0, substr($2, j.value ->> 1, j.value ->> 2), substr($2, j.value ->> 3, j.value ->> 4)
     from jsonb_each($1) j);
insert into item_vectors (tenant, namespace, key, version, model, no, field, dims, vector)
select j.value ->> 0, substr($4, j.value ->> 1, j.value ->> 2), substr($4, j.value ->> 3, j.value ->> 4),
       j.value ->> 5, j.value ->> 6, j.value ->> 7, j.value ->> 8, j.value ->> 9,
       substr($4, j.value ->> 10, j.value ->> 11)
from jsonb_each($3) j;
insert into item_indexing (tenant, namespace, key, version, fields, due_at)
select j.value ->> 0, substr($6, j.value ->> 1, j.value ->> 2), substr($6, j.value ->> 3, j.value ->> 4),
       j.value ->> 5, j.value ->> 6, $7
from jsonb_each($5) j";

/// Before the items are written, in their transaction. `versions` says of a row the item's new version, and whether it had
/// vectors.
pub(super) async fn replace_vectors(
    write: &mut SqliteConnection,
    batch: &ItemBatch,
    open: &HashSet<usize>,
    versions: &(dyn Fn(usize) -> (i64, bool) + Sync),
) -> Result<(), sqlx::Error> {
    let (mut gone, mut new) = (RowSet::default(), RowSet::default());
    let mut indexing = RowSet::default();
    for (at, row) in batch.rows.iter().enumerate().filter(|(_, row)| open.contains(&row.group)) {
        let (version, had_vectors) = versions(at);
        if had_vectors {
            let place = address(&mut gone, row);
            gone.push(json!([row.tenant, place[0], place[1], place[2], place[3]]));
        }
        if let Some(fields) = row.put.as_ref().and_then(|it| it.index.as_ref()) {
            let place = address(&mut indexing, row);
            let [from, length, key_from, key_length] = place;
            indexing.push(json!([row.tenant, from, length, key_from, key_length, version, fields]));
        }
        let Some(vectors) = row.put.as_ref().and_then(|it| it.vectors.as_ref()) else { continue };
        let (place, model) = (address(&mut new, row), vectors.model().as_str());
        for (no, it) in vectors.all().iter().enumerate() {
            let vector = new.bytes(&to_bytes(it.vector.numbers()));
            new.push(json!([
                row.tenant,
                place[0],
                place[1],
                place[2],
                place[3],
                version,
                model,
                no,
                it.field,
                it.vector.dims(),
                vector.0,
                vector.1
            ]));
        }
    }
    if gone.is_empty() && new.is_empty() && indexing.is_empty() {
        return Ok(());
    }
    sqlx::query(REPLACE)
        .bind(gone.json())
        .bind(gone.blob)
        .bind(new.json())
        .bind(new.blob)
        .bind(indexing.json())
        .bind(indexing.blob)
        .bind(batch.now)
        .execute(write)
        .await?;
    Ok(())
}

pub(in crate::storage) fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
}

pub(in crate::storage) fn of_bytes(bytes: &[u8]) -> Vec<f32> {
    let (whole, _) = bytes.as_chunks::<4>();
    whole.iter().map(|it| f32::from_le_bytes(*it)).collect()
}
