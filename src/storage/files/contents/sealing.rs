//! Cuts a slice into chunks, and names and seals them.

use std::collections::HashSet;

use bytes::Bytes;

use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::content::slicing::{cut, list};
use crate::domain::Result;
use crate::storage::content::associated_data::of_chunk;
use crate::storage::db::access::{Access, SqlValue};

/// A slice as it is stored: each of its chunks once, and the list of them.
pub struct SealedSlice {
    pub list: Vec<u8>,
    pub chunks: Vec<(Name, Bytes)>,
}

pub fn seal(secret: &TenantSecret, scope_id: i64, slice: &[u8]) -> SealedSlice {
    let mut made = HashSet::new();
    let (mut names, mut chunks) = (Vec::new(), Vec::new());
    for chunk in cut(slice) {
        let name = secret.name(chunk);
        names.push(name);
        if made.insert(name) {
            chunks.push((name, of_chunk(scope_id, &name, |aad| secret.seal(aad, chunk))));
        }
    }
    SealedSlice { list: list(&names), chunks }
}

/// Writes chunks, in a transaction that holds the scope lock. What is there already stays as it is.
///
/// # Errors
/// A database that cannot be written.
pub async fn put_chunks(
    access: &mut dyn Access,
    tenant: &str,
    scope_id: i64,
    mut chunks: Vec<(Name, Bytes)>,
) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    // Everybody who writes several does so in one order.
    chunks.sort_unstable_by_key(|it| it.0);
    let rows = (0..chunks.len()).map(|at| format!("($1, $2, ${}, ${})", 3 + 2 * at, 4 + 2 * at));
    let rows: Vec<String> = rows.collect();
    let text = format!(
        "insert into chunks (tenant, scope_id, name, body) values {} on conflict do nothing",
        rows.join(", ")
    );
    let mut binds = vec![tenant.into(), scope_id.into()];
    binds.extend(
        chunks
            .iter()
            .flat_map(|(name, body)| [SqlValue::from(&name[..]), SqlValue::from(&body[..])]),
    );
    access.rows(&text, &binds).await?;
    Ok(())
}
