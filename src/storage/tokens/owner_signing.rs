//! Finds threads, sessions and namespace roots whose MAC is missing or wrong, for the doctor, and signs them for `threadkeep encrypt`. It
//! is the same for every engine.

use super::owner_macs::OwnerRow;
use crate::content::keys::TenantSecret;
use crate::domain::Result;
use crate::domain::doctor::Noun;
use crate::domain::sessions::name::SessionName;
use crate::domain::tokens::signing::UnsignedOwners;
use crate::storage::db::access::{Access, Accessible, Dialect, Source, SqlRow, SqlValue, page};
use crate::storage::tenants::tenant_keys::{given, opened};

const TENANTS: &str = "select k.wrapped, k.tenant from tenants t
    join tenant_keys k on k.tenant = t.tenant and length(k.wrapped) > 0
    where t.tenant > $1 order by t.tenant limit 100";

/// A table of rows that say whose content is whose.
pub struct OwnerTable {
    pub noun: Noun,
    source: Source<'static>,
    /// What comes before the first key. A key is in the first columns.
    first: fn() -> Vec<SqlValue>,
    /// $1 tenant, then the key, then the MAC.
    sign: &'static str,
    /// Its MAC is in the last column.
    row: fn(&SqlRow) -> Result<OwnerRow<'_>>,
}

pub const OWNER_TABLES: [OwnerTable; 3] = [
    OwnerTable {
        noun: Noun::Threads,
        source: Source {
            columns: "t.thread_id, t.thread_key, t.scope_id, t.owner, t.mac",
            size: "256",
            rows: "from threads t where t.tenant = $1 and t.thread_id > $2 order by t.thread_id",
        },
        first: || vec!["".into()],
        sign: "update threads set mac = $3 where tenant = $1 and thread_id = $2",
        row: |row| {
            let ids = (row.integer(1)?, row.integer(2)?);
            Ok(OwnerRow::thread(row.text(0)?, ids, row.optional_text(3)?))
        },
    },
    OwnerTable {
        noun: Noun::Sessions,
        source: Source {
            columns: "s.kind, s.key, s.session_no, s.scope_id, s.owner, s.mac",
            size: "256",
            rows: "from sessions s where s.tenant = $1 and (s.kind, s.key) > ($2, $3) order by s.kind, s.key",
        },
        first: || vec!["".into(), SqlValue::Bytes(Vec::new())],
        sign: "update sessions set mac = $4 where tenant = $1 and kind = $2 and key = $3",
        row: |row| {
            let ids = (row.integer(2)?, row.integer(3)?);
            let name = (row.text(0)?, row.bytes(1)?);
            Ok(OwnerRow::session(name, ids, row.optional_text(4)?))
        },
    },
    OwnerTable {
        noun: Noun::Namespaces,
        source: Source {
            columns: "r.root, r.scope_id, r.mac",
            size: "256",
            rows: "from namespace_roots r where r.tenant = $1 and r.root > $2 order by r.root",
        },
        first: || vec!["".into()],
        sign: "update namespace_roots set mac = $3 where tenant = $1 and root = $2",
        row: |row| Ok(OwnerRow::root(row.text(0)?, row.integer(1)?)),
    },
];

/// A row without a MAC, or with a wrong one.
pub struct UnsignedRow {
    /// Something else than what a server wrote: there is a MAC.
    pub is_changed: bool,
    record: SqlRow,
}

impl OwnerTable {
    pub fn first_key(&self) -> Vec<SqlValue> {
        (self.first)()
    }

    /// The unsigned rows of the next page, and its last key. None: it is at its end.
    ///
    /// # Errors
    /// A database that cannot be read.
    async fn unsigned(
        &self,
        access: &mut dyn Access,
        dialect: &Dialect,
        (tenant, secret): (&str, &TenantSecret),
        after: &[SqlValue],
    ) -> Result<Option<(Vec<UnsignedRow>, Vec<SqlValue>)>> {
        let binds = [&[SqlValue::from(tenant)], after].concat();
        let rows = page(access, dialect, &self.source, &binds).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        let last = last.0[..after.len()].to_vec();
        let mut unsigned = Vec::new();
        for record in rows {
            let mac = record.optional_bytes(record.0.len() - 1)?;
            if !(self.row)(&record)?.is_signed(secret, mac) {
                let is_changed = mac.is_some_and(|it| !it.is_empty());
                unsigned.push(UnsignedRow { is_changed, record });
            }
        }
        Ok(Some((unsigned, last)))
    }

    /// As [`Self::unsigned`], in one state of the database.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub async fn read_unsigned(
        &self,
        engine: &dyn Accessible,
        of: (&str, &TenantSecret),
        after: &[SqlValue],
    ) -> Result<Option<(Vec<UnsignedRow>, Vec<SqlValue>)>> {
        let mut access = engine.begin_read().await?;
        let page = self.unsigned(access.as_mut(), engine.dialect(), of, after).await?;
        access.end().await?;
        Ok(page)
    }

    /// What the row says, all of it: two rows that are called alike are the same.
    ///
    /// # Errors
    /// `Integrity` for a row that cannot be read.
    pub fn describe(&self, row: &UnsignedRow) -> Result<String> {
        let row = &row.record;
        let owner = |at: usize| -> Result<String> {
            Ok(row.optional_text(at)?.map_or_else(|| "nobody".to_owned(), |it| format!("{it:?}")))
        };
        Ok(match self.noun {
            Noun::Threads => {
                let (id, owner) = (row.text(0)?, owner(3)?);
                format!(
                    "thread {id:?} of {owner} (key {}, scope {})",
                    row.integer(1)?,
                    row.integer(2)?
                )
            }
            Noun::Sessions => {
                let name = SessionName::stored(row.text(0)?.to_owned(), row.bytes(1)?);
                let name = name.map_or_else(
                    || hex::encode(row.bytes(1).unwrap_or_default()),
                    |it| it.grant_name(),
                );
                let (no, scope_id) = (row.integer(2)?, row.integer(3)?);
                format!("session {name:?} of {} (number {no}, scope {scope_id})", owner(4)?)
            }
            _ => format!("namespace {:?} (scope {})", row.text(0)?, row.integer(1)?),
        })
    }

    /// The thread that a row is, if it is one.
    pub fn thread_id<'r>(&self, row: &'r UnsignedRow) -> Option<&'r str> {
        row.record.text(0).ok().filter(|_| matches!(self.noun, Noun::Threads))
    }

    async fn sign(
        &self,
        access: &mut dyn Access,
        (tenant, secret): (&str, &TenantSecret),
        row: &UnsignedRow,
    ) -> Result<()> {
        let key = &row.record.0[..self.first_key().len()];
        let mac = (self.row)(&row.record)?.mac_cell(secret);
        let binds = [&[SqlValue::from(tenant)], key, &[mac]].concat();
        access.rows(self.sign, &binds).await?;
        Ok(())
    }
}

/// Tenants of an encrypted database with rows that are not signed, each with what is changed in them.
///
/// # Errors
/// `Unavailable` when a master key is not here; a database that cannot be read.
pub async fn list_unsigned(engine: &dyn Accessible) -> Result<Vec<UnsignedOwners>> {
    let masters = given(engine.masters())?;
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let mut access = engine.begin_read().await?;
        let tenants = access.rows(TENANTS, &[after.as_str().into()]).await?;
        access.end().await?;
        let Some(last) = tenants.last() else { return Ok(all) };
        last.text(1)?.clone_into(&mut after);
        for row in &tenants {
            let tenant = row.text(1)?;
            let secret = opened(masters, tenant, row)?.secret(tenant);
            let found = of_tenant(engine, tenant, &secret).await?;
            all.extend(Some(found).filter(|it| it.missing > 0 || !it.changed.is_empty()));
        }
    }
}

async fn of_tenant(
    engine: &dyn Accessible,
    tenant: &str,
    secret: &TenantSecret,
) -> Result<UnsignedOwners> {
    let mut found = UnsignedOwners { tenant: tenant.to_owned(), missing: 0, changed: Vec::new() };
    for table in &OWNER_TABLES {
        let mut after = table.first_key();
        while let Some((rows, last)) = table.read_unsigned(engine, (tenant, secret), &after).await?
        {
            after = last;
            for row in &rows {
                if row.is_changed {
                    found.changed.push(table.describe(row)?);
                } else {
                    found.missing += 1;
                }
            }
        }
    }
    Ok(found)
}

/// Signs the rows of a tenant that have no MAC, and the changed ones that are named: a page in each transaction.
///
/// # Errors
/// A database that cannot be written.
pub async fn sign(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    changed: &[String],
) -> Result<()> {
    for table in &OWNER_TABLES {
        let mut after = table.first_key();
        loop {
            let mut access = engine.begin_write().await?;
            let page = table.unsigned(access.as_mut(), engine.dialect(), (tenant, secret), &after);
            let page = page.await?;
            let Some((rows, last)) = page else {
                access.end().await?;
                break;
            };
            after = last;
            for row in &rows {
                if !row.is_changed || changed.contains(&table.describe(row)?) {
                    table.sign(access.as_mut(), (tenant, secret), row).await?;
                }
            }
            access.end().await?;
        }
    }
    Ok(())
}

/// As [`sign`], for what [`list_unsigned`] answered.
///
/// # Errors
/// As [`sign`].
pub async fn sign_listed(engine: &dyn Accessible, listed: &[UnsignedOwners]) -> Result<()> {
    let masters = given(engine.masters())?;
    let text = "select k.wrapped from tenant_keys k where k.tenant = $1 and length(k.wrapped) > 0";
    for UnsignedOwners { tenant, changed, .. } in listed {
        let mut access = engine.begin_read().await?;
        let rows = access.rows(text, &[tenant.as_str().into()]).await?;
        access.end().await?;
        let Some(row) = rows.first() else { continue };
        let secret = opened(masters, tenant, row)?.secret(tenant);
        sign(engine, (tenant, &secret), changed).await?;
    }
    Ok(())
}
