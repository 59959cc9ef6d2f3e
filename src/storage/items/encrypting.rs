//! Items of a database on which encryption is being turned on: a part of `threadkeep encrypt`, for every engine.

use bytes::Bytes;

use super::{NO_SCOPE, TAG, namespaces};
use crate::content::cipher::Cipher;
use crate::content::encrypted::{encrypt_plain, move_encrypted};
use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::access::{Accessible, Cell, Record, Source, page};
use crate::storage::homes::{ValueRow, item_place};

const ITEMS: Source<'static> = Source {
    columns: "namespace, key, scope_id, digest, body",
    size: "length(body)",
    rows: "from items where tenant = $1 and {after_item} order by namespace, key",
};

const ENCRYPT: &str = "update items set body = $4{hide_item} where tenant = $1 and {this_item}";

/// Vectors would say what is in the values.
const VECTORS: [&str; 3] = [
    "delete from item_vectors where tenant = $1",
    "delete from item_indexing where tenant = $1",
    "update items set vector_bytes = 0, is_indexed = false
        where tenant = $1 and (vector_bytes > 0 or is_indexed)",
];

/// Encrypts the rows of a tenant's items, a page in each transaction. What of them lies in chunks goes with its scope.
///
/// # Errors
/// `Integrity` for a row that is neither plain nor encrypted for its place; a database that cannot be written.
pub async fn encrypt_items(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
) -> Result<()> {
    let Some(cipher) = secret.cipher() else { return Ok(()) };
    let dialect = engine.dialect();
    let encrypt = dialect.fill(ENCRYPT);
    let mut access = engine.hold().await?;
    for text in VECTORS {
        access.rows(text, &[tenant.into()]).await?;
    }
    access.end().await?;
    let mut after = vec![Cell::from(dialect.first_namespace), Cell::Bytes(Vec::new())];
    loop {
        let mut access = engine.hold().await?;
        let binds = [vec![Cell::from(tenant)], after].concat();
        let rows = page(access.as_mut(), dialect, &ITEMS, &binds).await?;
        let Some(last) = rows.last() else { return access.end().await };
        after = last.0[..2].to_vec();
        for row in &rows {
            if let Some(body) = encrypted(secret, cipher, row)? {
                let place = [Cell::from(tenant), row.0[0].clone(), row.0[1].clone()];
                let binds = [&place[..], &[Cell::Bytes(body.to_vec())]].concat();
                access.rows(&encrypt, &binds).await?;
            }
        }
        access.end().await?;
    }
}

/// None: it is already.
fn encrypted(secret: &TenantSecret, cipher: &Cipher, row: &Record) -> Result<Option<Bytes>> {
    let damaged = || Error::Integrity("an item is damaged".into());
    let namespace = namespaces::of_cell(&row.0[0]).ok_or_else(damaged)?;
    let namespace = namespaces::encode(&namespace);
    let scope_id = match &row.0[2] {
        Cell::Null => NO_SCOPE,
        _ => row.integer(2)?,
    };
    let place = ValueRow::Item(item_place(secret, &namespace, row.bytes(1)?));
    let body = row.bytes(4)?;
    place.home(scope_id, (TAG, row.bytes(3)?), |home| match encrypt_plain(cipher, home, body) {
        Some(encrypted) => Ok(Some(encrypted)),
        None if move_encrypted(cipher, (home, home), body).is_ok() => Ok(None),
        None => Err(damaged()),
    })
}
