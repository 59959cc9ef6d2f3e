//! Reads the chunks that entries are made of.

use std::collections::BTreeSet;

use serde_json::json;

use super::entries::{StoredEntry, damaged};
use super::rows::{Rows, bytes, number};
use crate::content::keys::TenantSecret;
use crate::content::parts::{Name, Part};
use crate::domain::Result;
use crate::storage::content::opening::{Chunks, parts_of};
use crate::storage::db::access::{Access, Dialect};

/// Chunks, each with its scope.
type Names = BTreeSet<(i64, Name)>;

/// What the lists of entries lead to: no statement, or one, or two where lists are long.
pub async fn read_chunks<'a>(
    access: &mut dyn Access,
    dialect: &Dialect,
    secret: &TenantSecret,
    (tenant, entries): (&str, impl IntoIterator<Item = &'a StoredEntry>),
) -> Result<Chunks> {
    let mut chunks = Chunks::default();
    let (mut leaves, mut nodes) = (Names::new(), Names::new());
    for entry in entries {
        let Some(list) = &entry.parts else { continue };
        for part in parts_of(list)? {
            match part {
                Part::Leaf(name) => leaves.insert((entry.scope_id, name)),
                Part::Node(name) => nodes.insert((entry.scope_id, name)),
            };
        }
    }
    for (scope_id, name, body) in read_named(access, dialect, tenant, &nodes).await? {
        let names = chunks.add_node(secret, &name, &body)?;
        leaves.extend(names.into_iter().map(|it| (scope_id, it)));
    }
    let found = read_named(access, dialect, tenant, &leaves).await?;
    let found: Vec<_> = found.into_iter().map(|(_, name, body)| (name, body)).collect();
    chunks.add_each((tenant, secret), &found)?;
    if chunks.take_placed().is_empty() { Ok(chunks) } else { Err(damaged("a chunk in a pack")) }
}

async fn read_named(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    names: &Names,
) -> Result<Vec<(i64, Vec<u8>, Vec<u8>)>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut wanted = Rows::default();
    for (scope_id, name) in names {
        let name = wanted.bytes(name);
        wanted.push(json!([scope_id, name.0, name.1]));
    }
    let (scope, name) = (number(0), bytes(1));
    let condition = format!("c.tenant = $3 and c.scope_id = {scope} and c.name = {name}");
    let chunk = dialect.probe("c.scope_id, c.name, c.body", "chunks", "c", &condition);
    let text = format!("select c.scope_id, c.name, c.body {{from_each}} {chunk}");
    let binds = [wanted.binds(), vec![tenant.into()]].concat();
    let rows = access.rows(&dialect.fill(&text), &binds).await?;
    rows.into_iter()
        .map(|row| Ok((row.integer(0)?, row.bytes(1)?.to_vec(), row.bytes(2)?.to_vec())))
        .collect()
}
