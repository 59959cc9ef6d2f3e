//! Loads the credentials of all tenants and leaves out those that no sealed record covers. With a master key, a forged or changed row lets
//! nobody in. It is the same for every engine.

use std::collections::{BTreeSet, HashMap};

use super::credentials::{revocation, secret};
use super::rights::{Deciding, RightsMemory, UNSEALED, all_of};
use crate::content::master_key::MasterKeys;
use crate::content::rights::{Rights, RowSum};
use crate::domain::tokens::credential::{Credentials, Revocation, SigningSecret};
use crate::domain::tokens::key::{Key, ShownKey};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, SqlRow};

/// Crosses tenants: the authenticator does not know the tenant before it has the key.
const LOAD: &str = "
select 'key' as kind, tenant, key_id as id, subject, hash as bytes, created_at as at,
    revoked_at, mac, expires_at
from keys
where revoked_at is null
union all
select 'secret', tenant, kid, null, secret, created_at, null, null, null from signing_secrets
union all
select 'revocation', tenant, token_id, nullif(chain, ''), null, expires_at, revoked_at, null, null from token_revocations
union all
select 'had_key', '', '', null, null, 0, null, null, null where exists (select 1 from keys)
union all
select 'rights', tenant, '', null, sealed, 0, null, null, null from tenant_rights
union all
select 'encrypted', '', '', null, null, 0, null, null, null
where exists (select 1 from tenant_keys) or exists (select 1 from tenant_rights)";

/// What was read, and what nothing sealed speaks for.
#[derive(Default)]
pub struct Verified {
    pub credentials: Credentials,
    /// Tenants whose keys and tokens open nothing.
    refused: BTreeSet<String>,
    /// Tenants with a key or secret that was not loaded.
    forged: BTreeSet<String>,
    /// For the log: tenant, what is wrong, with which row.
    lines: Vec<(String, &'static str, String)>,
}

/// Reads everything that lets callers in or keeps them out. Three round trips on PostgreSQL, two of them for the transaction.
///
/// # Errors
/// A database that cannot be read; `Unavailable` when a master key is not here.
pub async fn load(engine: &dyn Accessible) -> Result<Verified> {
    let seen = engine.rights().seen();
    let mut access = engine.begin_priority_read().await?;
    let rows = access.rows(LOAD, &[]).await?;
    let unsealed = match engine.masters() {
        Some(_) => access.rows(UNSEALED, &[]).await?,
        None => Vec::new(),
    };
    access.end().await?;
    let Some(masters) = engine.masters() else { return plain(&rows) };
    let of_rights = rows.iter().filter(|row| row.text(0).is_ok_and(|it| it == "rights"));
    let rights = all_of(masters, of_rights.map(|row| (row, 1, 4)))?;
    let mut reading =
        Reading { masters, rights: &rights, sums: HashMap::new(), all: Verified::default() };
    for row in &rows {
        reading.row(row)?;
    }
    let mut all = reading.finish();
    all.refused.extend(
        unsealed.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<Vec<_>>>()?,
    );
    let is_older = |(tenant, counter): &(&String, &u64)| {
        rights.get(*tenant).is_none_or(|it| it.counter < **counter)
    };
    all.refused.extend(seen.iter().filter(is_older).map(|(tenant, _)| tenant.clone()));
    engine.rights().raise(rights.iter().map(|(tenant, it)| (tenant.as_str(), it.counter)));
    let what = "the keys, signing secrets and revocations of this tenant are not those that were sealed, or older: its keys and \
                tokens open nothing until `threadkeep encrypt` signs them";
    all.lines.extend(all.refused.iter().map(|it| (it.clone(), what, String::new())));
    let credentials = &mut all.credentials;
    credentials.keys.retain(|it| !all.refused.contains(&it.tenant));
    credentials.signing_secrets.retain(|it| !all.refused.contains(&it.tenant));
    credentials.had_keys |= !all.refused.is_empty() || rights.values().any(|it| it.had_keys);
    Ok(all)
}

/// Without a master key the rows speak for themselves.
fn plain(rows: &[SqlRow]) -> Result<Verified> {
    let mut all = Credentials::default();
    for row in rows {
        match row.text(0)? {
            "key" => all.keys.push(loaded_key(row)?),
            "had_key" => all.had_keys = true,
            "encrypted" => all.needs_master_key = true,
            "secret" => all.signing_secrets.push(loaded_secret(None, row)?),
            "revocation" => all.revocations.push(loaded_revocation(row)?),
            _ => {}
        }
    }
    if all.needs_master_key {
        // Secrets are wrapped then, and open for nobody here.
        all.signing_secrets.clear();
    }
    Ok(Verified { credentials: all, ..Verified::default() })
}

impl Verified {
    /// Writes to the log what is wrong, each thing once in the life of the process.
    pub fn tell(&self, memory: &RightsMemory) {
        for (tenant, what, name) in &self.lines {
            memory.tell_once(tenant, what, name);
        }
    }

    /// Tenants that have something unsigned.
    pub fn unsigned(self) -> BTreeSet<String> {
        self.refused.into_iter().chain(self.forged).collect()
    }
}

struct Reading<'a> {
    masters: &'a MasterKeys,
    rights: &'a HashMap<String, Rights>,
    sums: HashMap<String, RowSum>,
    all: Verified,
}

impl Reading<'_> {
    fn row(&mut self, row: &SqlRow) -> Result<()> {
        match row.text(0)? {
            "key" => self.key(row),
            "had_key" => {
                self.all.credentials.had_keys = true;
                Ok(())
            }
            "secret" => self.secret(row),
            "revocation" => {
                let revocation = loaded_revocation(row)?;
                if let Some(rights) = self.rights.get(&revocation.tenant) {
                    self.add(&revocation.tenant, &revocation.hash(rights));
                }
                self.all.credentials.revocations.push(revocation);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn key(&mut self, row: &SqlRow) -> Result<()> {
        let key = loaded_key(row)?;
        let Some(rights) = self.rights.get(&key.tenant) else { return Ok(()) };
        if !key.has_mac(rights, row.bytes(7)?) {
            let what = "a key was not signed with the master key: it opens nothing";
            self.all.lines.push((key.tenant.clone(), what, key.key_id));
            self.all.forged.insert(key.tenant);
            return Ok(());
        }
        self.add(&key.tenant, &key.hash(rights));
        self.all.credentials.keys.push(key);
        Ok(())
    }

    /// One that does not open in its row was put there from outside.
    fn secret(&mut self, row: &SqlRow) -> Result<()> {
        match loaded_secret(Some(self.masters), row) {
            Ok(secret) => {
                if let Some(rights) = self.rights.get(&secret.tenant) {
                    self.add(&secret.tenant, &secret.hash(rights));
                }
                self.all.credentials.signing_secrets.push(secret);
                Ok(())
            }
            Err(Error::Integrity(_)) => {
                let what = "a signing secret is not wrapped with the master key for its row: it opens nothing";
                self.all.lines.push((row.text(1)?.to_owned(), what, row.text(2)?.to_owned()));
                self.all.forged.insert(row.text(1)?.to_owned());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn add(&mut self, tenant: &str, hash: &[u8; 32]) {
        match self.sums.get_mut(tenant) {
            Some(sum) => sum.add(hash),
            None => {
                let mut sum = RowSum::default();
                sum.add(hash);
                self.sums.insert(tenant.to_owned(), sum);
            }
        }
    }

    fn finish(mut self) -> Verified {
        let sum = |tenant: &String| self.sums.get(tenant).copied().unwrap_or_default();
        let wrong = self.rights.iter().filter(|(tenant, it)| it.sum != sum(tenant));
        self.all.refused.extend(wrong.map(|(tenant, _)| tenant.clone()));
        self.all
    }
}

fn loaded_key(row: &SqlRow) -> Result<Key> {
    let damaged = |_| Error::Integrity("the hash of a key has a wrong length".into());
    Ok(Key {
        tenant: row.text(1)?.to_owned(),
        key_id: row.text(2)?.to_owned(),
        subject: row.optional_text(3)?.map(str::to_owned),
        hash: row.bytes(4)?.try_into().map_err(damaged)?,
        created_at: row.integer(5)?,
        revoked_at: None,
        expires_at: row.optional_integer(8)?,
        shown: ShownKey::default(),
    })
}

fn loaded_secret(masters: Option<&MasterKeys>, row: &SqlRow) -> Result<SigningSecret> {
    secret(masters, (row.text(1)?, row.text(2)?), row.bytes(4)?, row.integer(5)?)
}

fn loaded_revocation(row: &SqlRow) -> Result<Revocation> {
    let place = (row.text(1)?, row.text(2)?);
    revocation(place, row.optional_text(3)?, row.integer(5)?, row.integer(6)?)
}
