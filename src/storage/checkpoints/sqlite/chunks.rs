//! Reads the chunks that the lists of values name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::views::Tenant;
use crate::content::parts::Part;
use crate::domain::Result;
use crate::storage::content::opening::{Chunks, parts_of};
use crate::storage::sqlite::rows::RowSet;

const READ_CHUNKS: &str = "
select c.name, c.body from jsonb_each($3) j
cross join chunks c on c.tenant = $1 and c.scope_id = $2
    and c.name = substr($4, j.value ->> 0, j.value ->> 1)";

/// Stored chunks by name, in any order; those that are not there are left out.
pub(in crate::storage) async fn read_chunks(
    connection: &mut SqliteConnection,
    place: (&str, i64),
    names: impl Iterator<Item = &[u8]>,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut set = RowSet::default();
    for name in names {
        let at = set.bytes(name);
        set.push(json!([at.0, at.1]));
    }
    if set.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(READ_CHUNKS)
        .bind(place.0)
        .bind(place.1)
        .bind(set.json())
        .bind(set.blob)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// All chunks that some values need, given the scopes and lists of the values.
pub(in crate::storage) async fn chunks_of<'a>(
    connection: &mut SqliteConnection,
    tenant: Tenant<'_>,
    lists: impl Iterator<Item = (i64, &'a [u8])>,
) -> Result<Chunks> {
    let mut scopes: BTreeMap<i64, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut nodes: BTreeMap<i64, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (scope_id, list) in lists {
        for part in parts_of(list)? {
            let names = match part {
                Part::Leaf(_) => &mut scopes,
                Part::Node(_) => &mut nodes,
            };
            names.entry(scope_id).or_default().insert(part.name().to_vec());
        }
    }
    let mut chunks = Chunks::for_read(tenant.large_values);
    for (scope_id, names) in nodes {
        let place = (tenant.name, scope_id);
        for (name, body) in read_chunks(connection, place, names.iter().map(Vec::as_slice)).await? {
            let leaves = chunks.add_node(tenant.secret, &name, &body)?;
            let names = leaves.iter().map(|name| name.to_vec());
            scopes.entry(scope_id).or_default().extend(names);
        }
    }
    for (scope_id, names) in scopes {
        let place = (tenant.name, scope_id);
        let found = read_chunks(connection, place, names.iter().map(Vec::as_slice)).await?;
        chunks.add_each(tenant.of(), &found)?;
    }
    tenant.prefetch.complete(tenant.of(), &mut chunks)?;
    Ok(chunks)
}
