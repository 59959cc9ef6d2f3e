//! Wraps and unwraps the secrets in the database with a master key from outside, where there is one. Every table with secrets is registered
//! here, so that changing the master key forgets none.

use crate::content::master_key::{MasterKeys, WrapError, fingerprint_of};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, SqlRow, SqlValue};

/// A table with secrets. Its column `master` has the fingerprint of the master key that wraps one; empty: it is not wrapped.
#[derive(Debug)]
pub struct SecretTable {
    pub name: &'static str,
    pub key: &'static [&'static str],
    /// The column of the secret; empty when it was destroyed.
    pub secret: &'static str,
}

pub const TENANT_KEYS: SecretTable =
    SecretTable { name: "tenant_keys", key: &["tenant", "key_no"], secret: "wrapped" };
pub const SIGNING_SECRETS: SecretTable =
    SecretTable { name: "signing_secrets", key: &["tenant", "kid"], secret: "secret" };
pub const TENANT_RIGHTS: SecretTable =
    SecretTable { name: "tenant_rights", key: &["tenant"], secret: "sealed" };

/// All of them.
const TABLES: [&SecretTable; 3] = [&TENANT_KEYS, &SIGNING_SECRETS, &TENANT_RIGHTS];

/// Rows whose secrets are wrapped again in one transaction.
const ROWS_TOGETHER: i64 = 200;

/// What the columns of a secret and of its master key hold; without a master key the secret as it is. `key`: the row's key,
/// which is bound to it.
pub fn wrap(
    masters: Option<&MasterKeys>,
    table: &SecretTable,
    key: &[SqlValue],
    secret: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    match masters {
        None => (secret.to_vec(), Vec::new()),
        Some(masters) => {
            let wrapped = with_name(table, key, |name| masters.wrap(name, secret));
            (wrapped, masters.current.fingerprint().to_vec())
        }
    }
}

/// The secret of a row.
///
/// # Errors
/// `Unavailable` when it was wrapped with a master key that is not here, `Integrity` when it is damaged, another row's, or
/// not wrapped where everything has to be. Without a master key nothing is opened: what is wrapped has not the length of
/// a secret.
pub fn unwrap(
    masters: Option<&MasterKeys>,
    table: &SecretTable,
    key: &[SqlValue],
    wrapped: &[u8],
) -> Result<Vec<u8>> {
    let damaged =
        |detail: String| Error::Integrity(format!("a secret in {}: {detail}", table.name));
    let Some(masters) = masters else { return Ok(wrapped.to_vec()) };
    with_name(table, key, |name| masters.unwrap(name, wrapped)).map_err(|error| match error {
        WrapError::OtherKey(_) => other_master(&error.to_string()),
        WrapError::Damaged => damaged(error.to_string()),
    })
}

fn other_master(detail: &str) -> Error {
    Error::Unavailable {
        detail: format!("a secret of the database cannot be opened: {detail}"),
        retry_after: std::time::Duration::from_secs(5),
    }
}

/// A secret is bound to its table and its row's key.
fn with_name<R>(table: &SecretTable, key: &[SqlValue], act: impl FnOnce(&[&[u8]]) -> R) -> R {
    let parts: Vec<Vec<u8>> = key
        .iter()
        .map(|cell| match cell {
            SqlValue::Null => Vec::new(),
            SqlValue::Integer(number) => number.to_le_bytes().to_vec(),
            SqlValue::Text(text) => text.clone().into_bytes(),
            SqlValue::Bytes(bytes) => bytes.clone(),
        })
        .collect();
    let name: Vec<&[u8]> =
        std::iter::once(table.name.as_bytes()).chain(parts.iter().map(Vec::as_slice)).collect();
    act(&name)
}

/// Wraps every secret of the database with the current master key, also those that are not wrapped yet. Answers how many were
/// changed; doing it again changes nothing.
///
/// # Errors
/// As [`unwrap`]: what was changed before stays so, and both master keys are needed until all is.
pub async fn rotate(engine: &dyn Accessible, masters: &MasterKeys) -> Result<u64> {
    let mut changed = 0;
    for table in TABLES {
        loop {
            let done = rotate_some(engine, masters, table).await?;
            changed += done;
            if done == 0 {
                break;
            }
        }
    }
    Ok(changed)
}

async fn rotate_some(
    engine: &dyn Accessible,
    masters: &MasterKeys,
    table: &SecretTable,
) -> Result<u64> {
    let columns = table.key.join(", ");
    let current = masters.current.fingerprint();
    let select = format!(
        "select {columns}, {secret}, length(master) from {} where master <> $1 and length({secret}) > 0
         order by {columns} limit $2 {}",
        table.name,
        engine.dialect().lock,
        secret = table.secret,
    );
    let count = table.key.len();
    let row_is = |(at, column): (usize, &&str)| format!("{column} = ${}", at + 3);
    let row_is: Vec<String> = table.key.iter().enumerate().map(row_is).collect();
    let row_is = row_is.join(" and ");
    let update =
        format!("update {} set {} = $1, master = $2 where {row_is}", table.name, table.secret);
    let mut access = engine.begin_write().await?;
    let rows = access.rows(&select, &[current[..].into(), ROWS_TOGETHER.into()]).await?;
    for row in &rows {
        let key = &row.0[..count];
        let from = (row.integer(count + 1)? > 0).then_some(masters);
        let secret = unwrap(from, table, key, row.bytes(count)?)?;
        let (wrapped, master) = wrap(Some(masters), table, key, &secret);
        let binds = [&[SqlValue::Bytes(wrapped), SqlValue::Bytes(master)], key].concat();
        access.rows(&update, &binds).await?;
    }
    access.end().await?;
    Ok(rows.len() as u64)
}

/// Whether secrets of the database were wrapped, and with keys that are not among these.
///
/// # Errors
/// A database that cannot be read.
pub async fn other_masters(
    engine: &dyn Accessible,
    masters: Option<&MasterKeys>,
) -> Result<Wrapping> {
    let mut wrapping = Wrapping::default();
    let mut access = engine.begin_read().await?;
    for table in TABLES {
        let any = format!("select count(*) from {} where length(master) > 0", table.name);
        wrapping.any |= access.rows(&any, &[]).await?[0].integer(0)? > 0;
        let plain = format!("select count(*) from {} where length(master) = 0", table.name);
        wrapping.plain += access.rows(&plain, &[]).await?[0].integer(0)?;
        // Of a secret that was destroyed the key does not matter.
        let text = format!(
            "select distinct master from {} where length(master) > 0 and length({}) > 0",
            table.name, table.secret
        );
        let rows: Vec<SqlRow> = access.rows(&text, &[]).await?;
        for row in &rows {
            if !masters.is_some_and(|it| it.knows(row.bytes(0).unwrap_or_default())) {
                wrapping.foreign = Some(hex::encode(row.bytes(0)?));
            }
        }
    }
    access.end().await?;
    Ok(wrapping)
}

/// How the secrets of a database are wrapped.
#[derive(Debug, Default)]
pub struct Wrapping {
    pub any: bool,
    /// How many are not.
    pub plain: i64,
    /// Fingerprint of a master key that is needed and not there.
    pub foreign: Option<String>,
}

/// The fingerprint that a wrapped secret itself names.
pub fn master_of(wrapped: &[u8]) -> Option<Vec<u8>> {
    fingerprint_of(wrapped).ok().map(|it| it.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::master_key::MasterKey;

    #[test]
    fn a_secret_opens_in_its_row_only_and_plain_ones_are_refused_where_there_is_a_master_key() {
        let masters = MasterKeys { current: MasterKey::new(&[1; 32]), previous: None };
        let row = |tenant: &str| [SqlValue::from(tenant), SqlValue::Integer(1)];
        let (wrapped, master) = wrap(Some(&masters), &TENANT_KEYS, &row("a"), b"secret");
        assert_eq!(master_of(&wrapped), Some(master));
        let opened =
            |masters, tenant, wrapped: &[u8]| unwrap(masters, &TENANT_KEYS, &row(tenant), wrapped);
        assert_eq!(opened(Some(&masters), "a", &wrapped).unwrap(), b"secret");
        assert!(matches!(opened(Some(&masters), "b", &wrapped), Err(Error::Integrity(_))));
        assert_eq!(opened(None, "a", &wrapped).unwrap(), wrapped, "nothing that has its length");
        let (plain, master) = wrap(None, &TENANT_KEYS, &row("a"), b"secret");
        assert!(master.is_empty());
        assert_eq!(opened(None, "a", &plain).unwrap(), b"secret");
        assert!(matches!(opened(Some(&masters), "a", &plain), Err(Error::Integrity(_))));
        let elsewhere = unwrap(Some(&masters), &SIGNING_SECRETS, &row("a"), &wrapped);
        assert!(matches!(elsewhere, Err(Error::Integrity(_))));
    }
}
