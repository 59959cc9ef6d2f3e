//! Encrypts sessions while encryption is turned on: a part of `threadkeep encrypt`, for every engine. Their chunks are encrypted with their
//! scope.

use bytes::Bytes;

use super::sealing::{TAG, title_home};
use crate::content::cipher::{AssociatedData, Cipher};
use crate::content::encrypted::{encrypt_plain, move_encrypted};
use crate::content::keys::TenantSecret;
use crate::domain::{Error, Result};
use crate::storage::content::associated_data::ValueRow;
use crate::storage::db::access::{Accessible, Source, SqlRow, SqlValue, page};

/// Rows of a table, and how one of them is changed. The first columns say where it stands, as many as `first` has.
pub(in crate::storage) struct Rows {
    pub source: Source<'static>,
    pub first: fn() -> Vec<SqlValue>,
    pub change: &'static str,
    pub again: fn(&Cipher, &SqlRow) -> Result<Option<Bytes>>,
}

const ENTRIES: Rows = Rows {
    source: Source {
        columns: "e.session_no, e.log_no, e.era, e.seq, s.scope_id, e.entry_no, e.digest, e.body",
        size: "length(e.body)",
        rows: "from session_entries e join sessions s on s.tenant = e.tenant and s.session_no = e.session_no
            where e.tenant = $1 and (e.session_no, e.log_no, e.era, e.seq) > ($2, $3, $4, $5)
            order by e.session_no, e.log_no, e.era, e.seq",
    },
    first: || vec![i64::MIN.into(), i64::MIN.into(), i64::MIN.into(), i64::MIN.into()],
    change: "update session_entries set body = $6
        where tenant = $1 and session_no = $2 and log_no = $3 and era = $4 and seq = $5",
    again: |cipher, row| {
        let body = row.bytes(7)?;
        let aad = ValueRow::Entry(row.integer(5)?);
        aad.aad(row.integer(4)?, (TAG, row.bytes(6)?), |aad| encrypted(cipher, aad, body))
    },
};

const TITLES: Rows = Rows {
    source: Source {
        columns: "s.kind, s.key, s.scope_id, s.title",
        size: "length(s.title)",
        rows: "from sessions s where s.tenant = $1 and (s.kind, s.key) > ($2, $3) and s.title is not null
            order by s.kind, s.key",
    },
    first: || vec!["".into(), SqlValue::Bytes(Vec::new())],
    change: "update sessions set title = $4 where tenant = $1 and kind = $2 and key = $3",
    again: |cipher, row| {
        let (place, title) = ((row.text(0)?, row.bytes(1)?), row.bytes(3)?);
        title_home(row.integer(2)?, place, |aad| encrypted(cipher, aad, title))
    },
};

/// Encrypts the rows of a tenant's sessions, a page in each transaction.
///
/// # Errors
/// `Integrity` for a row that is neither plain nor encrypted for its place; a database that cannot be written.
pub async fn encrypt_sessions(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
) -> Result<()> {
    let Some(cipher) = secret.cipher() else { return Ok(()) };
    for rows in [&ENTRIES, &TITLES] {
        encrypt_rows(engine, tenant, cipher, rows).await?;
    }
    Ok(())
}

/// A page in each transaction.
pub(in crate::storage) async fn encrypt_rows(
    engine: &dyn Accessible,
    tenant: &str,
    cipher: &Cipher,
    of: &Rows,
) -> Result<()> {
    let mut after = (of.first)();
    loop {
        let mut access = engine.begin_write().await?;
        let binds = [vec![SqlValue::from(tenant)], after.clone()].concat();
        let rows = page(access.as_mut(), engine.dialect(), &of.source, &binds).await?;
        let Some(last) = rows.last() else { return access.end().await };
        after = last.0[..after.len()].to_vec();
        for row in &rows {
            if let Some(body) = (of.again)(cipher, row)? {
                let place = [&[SqlValue::from(tenant)], &row.0[..after.len()]].concat();
                let binds = [&place[..], &[SqlValue::Bytes(body.to_vec())]].concat();
                access.rows(of.change, &binds).await?;
            }
        }
        access.end().await?;
    }
}

/// None: it is encrypted already.
pub(in crate::storage) fn encrypted(
    cipher: &Cipher,
    aad: AssociatedData<'_>,
    body: &[u8],
) -> Result<Option<Bytes>> {
    match encrypt_plain(cipher, aad, body) {
        Some(encrypted) => Ok(Some(encrypted)),
        None if move_encrypted(cipher, (aad, aad), body).is_ok() => Ok(None),
        None => Err(Error::Integrity("a sealed row is damaged".into())),
    }
}
