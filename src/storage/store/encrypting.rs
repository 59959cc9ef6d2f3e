//! Encrypts items and their earlier versions while encryption is turned on: a part of `threadkeep encrypt`, for every engine.

use bytes::Bytes;

use super::{NO_SCOPE, TAG, heads, namespaces};
use crate::content::cipher::Cipher;
use crate::content::encrypted::{encrypt_plain, move_encrypted};
use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::{ValueRow, item_place};
use crate::storage::db::access::{Accessible, Source, SqlRow, SqlValue, page};

/// Rows of a table, and how one of them is changed. The first `key` columns say where it stands, then come scope, digest and envelope.
struct Rows {
    source: Source<'static>,
    key: usize,
    tag: &'static str,
    change: &'static str,
}

const ITEMS: Rows = Rows {
    source: Source {
        columns: "namespace, key, scope_id, digest, body",
        size: "length(body)",
        rows: "from items where tenant = $1 and {after_item} order by namespace, key",
    },
    key: 2,
    tag: TAG,
    change: "update items set body = $4{hide_item} where tenant = $1 and {this_item}",
};

/// What is noted of files.
const HEADS: Rows = Rows {
    source: Source {
        columns: "namespace, key, cast(null as bigint), digest, file_head",
        size: "length(file_head)",
        rows: "from items where tenant = $1 and {after_item} and length(file_head) > 0 order by namespace, key",
    },
    key: 2,
    tag: heads::TAG,
    change: "update items set file_head = $4 where tenant = $1 and {this_item}",
};

const VERSIONS: Rows = Rows {
    source: Source {
        columns: "namespace, key, version, scope_id, digest, body",
        size: "length(body)",
        rows: "from item_versions where tenant = $1 and {after_version} order by namespace, key, version",
    },
    key: 3,
    tag: TAG,
    change: "update item_versions set body = $5 where tenant = $1 and {this_item} and version = $4",
};

const HEADS_OF_VERSIONS: Rows = Rows {
    source: Source {
        columns: "namespace, key, version, cast(null as bigint), digest, file_head",
        size: "length(file_head)",
        rows: "from item_versions where tenant = $1 and {after_version} and length(file_head) > 0
            order by namespace, key, version",
    },
    key: 3,
    tag: heads::TAG,
    change: "update item_versions set file_head = $5
        where tenant = $1 and {this_item} and version = $4",
};

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
    let mut access = engine.begin_write().await?;
    for text in VECTORS {
        access.rows(text, &[tenant.into()]).await?;
    }
    access.end().await?;
    for of in [&ITEMS, &HEADS, &VERSIONS, &HEADS_OF_VERSIONS] {
        encrypt_rows(engine, tenant, secret, of).await?;
    }
    Ok(())
}

async fn encrypt_rows(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
    of: &Rows,
) -> Result<()> {
    let Some(cipher) = secret.cipher() else { return Ok(()) };
    let dialect = engine.dialect();
    let change = dialect.fill(of.change);
    let first = [dialect.first_namespace.into(), SqlValue::Bytes(Vec::new()), i64::MIN.into()];
    let mut after = first[..of.key].to_vec();
    loop {
        let mut access = engine.begin_write().await?;
        let binds = [vec![SqlValue::from(tenant)], after].concat();
        let rows = page(access.as_mut(), dialect, &of.source, &binds).await?;
        let Some(last) = rows.last() else { return access.end().await };
        after = last.0[..of.key].to_vec();
        for row in &rows {
            if let Some(body) = encrypted((secret, cipher), row, of)? {
                let place = [&[SqlValue::from(tenant)], &row.0[..of.key]].concat();
                let binds = [&place[..], &[SqlValue::Bytes(body.to_vec())]].concat();
                access.rows(&change, &binds).await?;
            }
        }
        access.end().await?;
    }
}

/// None: it is encrypted already.
fn encrypted(
    (secret, cipher): (&TenantSecret, &Cipher),
    row: &SqlRow,
    of: &Rows,
) -> Result<Option<Bytes>> {
    let at = of.key;
    let damaged = || Error::Integrity("an item is damaged".into());
    let namespace = namespaces::of_cell(&row.0[0]).ok_or_else(damaged)?;
    let namespace = namespaces::encode(&namespace);
    let scope_id = match &row.0[at] {
        SqlValue::Null => NO_SCOPE,
        _ => row.integer(at)?,
    };
    let place = ValueRow::Item(item_place(secret, &namespace, row.bytes(1)?));
    let body = row.bytes(at + 2)?;
    place.aad(scope_id, (of.tag, row.bytes(at + 1)?), |aad| {
        match encrypt_plain(cipher, aad, body) {
            Some(encrypted) => Ok(Some(encrypted)),
            None if move_encrypted(cipher, (aad, aad), body).is_ok() => Ok(None),
            None => Err(damaged()),
        }
    })
}
