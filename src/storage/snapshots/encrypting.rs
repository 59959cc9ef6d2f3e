//! Encrypts the clients' own records in snapshots: a part of `threadkeep encrypt`, for every engine. The threads, items and sessions of
//! snapshots are encrypted with those tables.

use bytes::Bytes;

use super::archives;
use super::document::{aad, are_plain, seal_labels};
use crate::content::cipher::Cipher;
use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::content::documents::BASE_PREFIX_BYTES;
use crate::storage::db::access::{Accessible, Source, SqlRow, SqlValue, page};
use crate::storage::sessions::encrypting::{Rows, encrypt_rows, encrypted};

const DOCUMENTS: Rows = Rows {
    source: Source {
        columns: "p.snapshot_id, p.snapshot_no, p.document",
        size: "length(p.document)",
        rows:
            "from snapshots p where p.tenant = $1 and p.snapshot_id > $2 and length(p.document) > 0
            order by p.snapshot_id",
    },
    first: || vec!["".into()],
    change: "update snapshots set document = $3 where tenant = $1 and snapshot_id = $2",
    again,
};

/// What is known of archives; their bytes go with the scopes of workspaces.
const HEADS: Rows = Rows {
    source: Source {
        columns: "a.content_id, a.scope_id, a.head",
        size: "length(a.head)",
        rows: "from archives a where a.tenant = $1 and a.content_id > $2 and length(a.head) > 0
            order by a.content_id",
    },
    first: || vec![SqlValue::Bytes(Vec::new())],
    change: "update archives set head = $3 where tenant = $1 and content_id = $2",
    again: |cipher, row| {
        let (prefix, envelope) = split(row)?;
        let sealed =
            archives::aad(row.integer(1)?, row.bytes(0)?, |aad| encrypted(cipher, aad, envelope))?;
        Ok(sealed.map(|it| [prefix, &it].concat().into()))
    },
};

fn again(cipher: &Cipher, row: &SqlRow) -> Result<Option<Bytes>> {
    let (prefix, envelope) = split(row)?;
    let sealed = aad(row.integer(1)?, row.text(0)?, |aad| encrypted(cipher, aad, envelope))?;
    Ok(sealed.map(|it| [prefix, &it].concat().into()))
}

/// Size and digest stay as they are in front of the envelope.
fn split(row: &SqlRow) -> Result<(&[u8], &[u8])> {
    let damaged = || Error::Integrity("a document of a snapshot is truncated".into());
    row.bytes(2)?.split_at_checked(BASE_PREFIX_BYTES).ok_or_else(damaged)
}

/// Encrypts the records of a tenant's snapshots, and what is known of archives.
///
/// # Errors
/// `Integrity` for one that is neither plain nor encrypted for its place; a database that cannot be written.
pub async fn encrypt_documents(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
) -> Result<()> {
    match secret.cipher() {
        Some(cipher) => {
            hide_items(engine, tenant).await?;
            encrypt_labels(engine, tenant, secret).await?;
            encrypt_rows(engine, tenant, cipher, &DOCUMENTS).await?;
            encrypt_rows(engine, tenant, cipher, &HEADS).await
        }
        None => Ok(()),
    }
}

/// What indexes knew of items that snapshots keep would say what is in them.
const HIDE_ITEMS: [&str; 2] = [
    "delete from snapshot_vectors where tenant = $1",
    "update snapshot_items set vector_bytes = 0, index_fields = null{hide_item} where tenant = $1",
];

async fn hide_items(engine: &dyn Accessible, tenant: &str) -> Result<()> {
    let mut access = engine.begin_write().await?;
    for text in HIDE_ITEMS {
        access.rows(&engine.dialect().fill(text), &[tenant.into()]).await?;
    }
    access.end().await
}

const LABELS: Source<'static> = Source {
    columns: "p.snapshot_id, p.snapshot_no, p.labels",
    size: "length(p.labels)",
    rows: "from snapshots p where p.tenant = $1 and p.snapshot_id > $2 order by p.snapshot_id",
};

async fn encrypt_labels(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
) -> Result<()> {
    let set = "update snapshots set labels = $3 where tenant = $1 and snapshot_id = $2";
    let mut after = String::new();
    loop {
        let mut access = engine.begin_write().await?;
        let binds = [tenant.into(), after.as_str().into()];
        let rows = page(access.as_mut(), engine.dialect(), &LABELS, &binds).await?;
        let Some(last) = rows.last() else { return access.end().await };
        last.text(0)?.clone_into(&mut after);
        for row in rows.iter().filter(|row| row.text(2).is_ok_and(are_plain)) {
            let (id, no) = (row.text(0)?, row.integer(1)?);
            let sealed = seal_labels(secret, (no, id), row.text(2)?.to_owned());
            access.rows(set, &[tenant.into(), id.into(), sealed.as_str().into()]).await?;
        }
        access.end().await?;
    }
}
