//! Checks the rows that decide rights against the tenant's sealed record, where a master key is given. A writer to the database without it
//! can make no key, move none, and undo no revocation. It is the same for every engine.
//!
//! **Invariant:** keys, signing secrets, revocations and quotas change only between [`Held::lock`] and [`Held::put`].

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::content::master_key::MasterKeys;
use crate::content::rights::Rights;
use crate::domain::clock::Clock;
use crate::domain::tenants::quotas::Quota;
use crate::domain::tokens::credential::{Revocation, SigningSecret};
use crate::domain::tokens::key::{Key, ShownKey};
use crate::domain::{Error, Result};
use crate::storage::content::wrapped::{TENANT_RIGHTS, unwrap, wrap};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};

const GET: &str = "select sealed from tenant_rights where tenant = $1 {lock}";
const PUT: &str = "
insert into tenant_rights (tenant, sealed, master) values ($1, $2, $3)
on conflict (tenant) do update set sealed = excluded.sealed, master = excluded.master";
const MAKE: &str = "
insert into tenant_rights (tenant, sealed, master) values ($1, $2, $3) on conflict (tenant) do nothing returning tenant";

/// Lines of the log that are remembered, so that a poll does not write them again.
const TOLD_MAX: usize = 10_000;

/// The counters that this process has seen, and what it has said in the log.
#[derive(Default)]
pub struct RightsMemory {
    seen: Mutex<Arc<HashMap<String, u64>>>,
    told: Mutex<HashSet<String>>,
}

impl RightsMemory {
    /// Taken before a read begins: what it finds is not older.
    pub fn seen(&self) -> Arc<HashMap<String, u64>> {
        Arc::clone(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers counters. None becomes lower.
    pub fn raise<'a>(&self, all: impl Iterator<Item = (&'a str, u64)>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let newer =
            |(tenant, counter): &(&str, u64)| seen.get(*tenant).is_none_or(|it| it < counter);
        let newer: Vec<(String, u64)> =
            all.filter(newer).map(|(tenant, counter)| (tenant.to_owned(), counter)).collect();
        if !newer.is_empty() {
            Arc::make_mut(&mut seen).extend(newer);
        }
    }

    /// Writes a line to the log, once. Names no secret.
    pub fn tell_once(&self, tenant: &str, what: &str, name: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        if told.insert(format!("{tenant}\0{what}\0{name}")) {
            tracing::error!(tenant, name, "{what}");
        }
    }
}

/// What is sealed for a tenant, with its row locked.
pub struct Held<'a> {
    pub masters: &'a MasterKeys,
    pub tenant: &'a str,
    pub rights: Rights,
}

impl<'a> Held<'a> {
    /// Locks the tenant's row, which is made if there is none. None without a master key.
    ///
    /// # Errors
    /// `Integrity` when it is damaged, or older than this process has seen it.
    pub async fn lock(
        engine: &'a dyn Accessible,
        access: &mut dyn Access,
        tenant: &'a str,
    ) -> Result<Option<Self>> {
        let Some(masters) = engine.masters() else { return Ok(None) };
        make(access, masters, tenant).await?;
        let text = engine.dialect().fill(GET);
        let rows = access.rows(&text, &[tenant.into()]).await?;
        let missing = || Error::Internal("a row that was made is not there".into());
        let rights = opened(masters, tenant, rows.first().ok_or_else(missing)?.bytes(0)?)?;
        if engine.rights().seen().get(tenant).is_some_and(|seen| rights.counter < *seen) {
            return Err(Error::Integrity(format!(
                "the keys of tenant {tenant} are older than they were"
            )));
        }
        Ok(Some(Self { masters, tenant, rights }))
    }

    /// Writes it, with a higher counter.
    ///
    /// # Errors
    /// A database that cannot be written.
    pub async fn put(mut self, access: &mut dyn Access) -> Result<()> {
        self.rights.counter = next_counter(self.rights.counter);
        let cells = sealed(self.masters, self.tenant, &self.rights);
        access.rows(PUT, &cells).await?;
        Ok(())
    }

    /// As [`Self::lock`], but forgets what was signed before, and does not mind what is there instead.
    ///
    /// # Errors
    /// `Unavailable` when its master key is not here.
    pub async fn begin_again(
        engine: &'a dyn Accessible,
        access: &mut dyn Access,
        tenant: &'a str,
    ) -> Result<Option<Self>> {
        let Some(masters) = engine.masters() else { return Ok(None) };
        make(access, masters, tenant).await?;
        let rows = access.rows(&engine.dialect().fill(GET), &[tenant.into()]).await?;
        let before = rows.first().map(|row| opened(masters, tenant, row.bytes(0)?)).transpose();
        let before = match before {
            Err(Error::Integrity(_)) => None,
            before => before?,
        };
        let seen = engine.rights().seen().get(tenant).copied().unwrap_or(0);
        let counter = before.as_ref().map_or(0, |it| it.counter).max(seen);
        let mut rights = Rights::new(counter);
        rights.had_keys = before.is_some_and(|it| it.had_keys);
        Ok(Some(Self { masters, tenant, rights }))
    }
}

/// By the clock, so that a row that was lost and made again is not taken for an old one.
fn next_counter(counter: u64) -> u64 {
    counter.saturating_add(1).max(Clock::System.now().unsigned_abs())
}

/// Makes the row of a tenant that has none and nothing to be held against it.
///
/// # Errors
/// A database that cannot be written.
pub async fn make(access: &mut dyn Access, masters: &MasterKeys, tenant: &str) -> Result<()> {
    access.rows(MAKE, &sealed(masters, tenant, &Rights::new(next_counter(0)))).await?;
    Ok(())
}

fn sealed(masters: &MasterKeys, tenant: &str, rights: &Rights) -> [SqlValue; 3] {
    let (sealed, master) =
        wrap(Some(masters), &TENANT_RIGHTS, &[tenant.into()], &rights.to_bytes());
    [tenant.into(), SqlValue::Bytes(sealed), SqlValue::Bytes(master)]
}

/// What a row of `tenant_rights` holds.
///
/// # Errors
/// `Integrity` when it is damaged or another tenant's; `Unavailable` when its master key is not here.
pub fn opened(masters: &MasterKeys, tenant: &str, sealed: &[u8]) -> Result<Rights> {
    let bytes = unwrap(Some(masters), &TENANT_RIGHTS, &[tenant.into()], sealed)?;
    Rights::read(&bytes)
        .ok_or_else(|| Error::Integrity("what is sealed for a tenant has a wrong length".into()))
}

/// A row whose columns decide.
pub trait Deciding {
    const TABLE: &'static str;

    /// Hands over the columns that decide.
    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R;

    fn hash(&self, rights: &Rights) -> [u8; 32] {
        self.columns(|columns| rights.hash(Self::TABLE, columns))
    }

    fn mac(&self, rights: &Rights) -> [u8; 32] {
        self.columns(|columns| rights.mac(Self::TABLE, columns))
    }

    fn has_mac(&self, rights: &Rights, mac: &[u8]) -> bool {
        self.columns(|columns| rights.has_mac(Self::TABLE, columns, mac))
    }
}

/// A key that is not revoked. When it ends is in its text, which the hash is of.
impl Deciding for Key {
    const TABLE: &'static str = "keys";

    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let has_subject = [u8::from(self.subject.is_some())];
        let subject = self.subject.as_deref().unwrap_or_default();
        let times = [self.created_at.to_le_bytes(), self.revoked_at.unwrap_or(0).to_le_bytes()];
        let is_revoked = [u8::from(self.revoked_at.is_some())];
        act(&[
            self.tenant.as_bytes(),
            self.key_id.as_bytes(),
            &has_subject,
            subject.as_bytes(),
            &self.hash,
            &times[0],
            &is_revoked,
            &times[1],
        ])
    }
}

impl Deciding for SigningSecret {
    const TABLE: &'static str = "signing_secrets";

    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let created_at = self.created_at.to_le_bytes();
        act(&[self.tenant.as_bytes(), self.kid.as_bytes(), &self.secret, &created_at])
    }
}

impl Deciding for Revocation {
    const TABLE: &'static str = "token_revocations";

    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let times = [self.expires_at.to_le_bytes(), self.revoked_at.to_le_bytes()];
        let token_id = self.token_id.to_string();
        act(&[self.tenant.as_bytes(), token_id.as_bytes(), &times[0], &times[1]])
    }
}

/// The quota of a tenant.
pub struct QuotaOf<'a>(pub &'a str, pub &'a Quota);

impl QuotaOf<'_> {
    /// What is sealed of it; zeros for a tenant without one.
    pub fn sealed(&self, rights: &Rights) -> [u8; 32] {
        if *self.1 == Quota::default() { [0; 32] } else { self.hash(rights) }
    }
}

impl Deciding for QuotaOf<'_> {
    const TABLE: &'static str = "quotas";

    fn columns<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let Quota { bytes_max, threads_max, items_max, rates } = self.1;
        let limits = [*bytes_max, *threads_max, *items_max, rates.per_tenant, rates.per_token];
        let limits: Vec<u8> = limits
            .iter()
            .flat_map(|it| [&[u8::from(it.is_some())][..], &it.unwrap_or(0).to_le_bytes()].concat())
            .collect();
        act(&[self.0.as_bytes(), &limits])
    }
}

/// Tenants whose rows decide something, or whose content is encrypted, and for which nothing is sealed.
pub const UNSEALED: &str = "
select tenant from (
    select tenant from tenant_keys union select tenant from keys union select tenant from signing_secrets
    union select tenant from token_revocations union select tenant from quotas) t
where not exists (select 1 from tenant_rights r where r.tenant = t.tenant)";

/// What is sealed for every tenant, as far as it opens.
///
/// # Errors
/// `Unavailable` when a master key is not here; a database that cannot be read.
pub async fn all_opened(
    access: &mut dyn Access,
    masters: &MasterKeys,
) -> Result<HashMap<String, Rights>> {
    let rows = access.rows("select tenant, sealed from tenant_rights", &[]).await?;
    all_of(masters, rows.iter().map(|row| (row, 0, 1)))
}

/// As [`all_opened`], of rows with the tenant in the first column named, and what is sealed in the second.
///
/// # Errors
/// As [`all_opened`].
pub fn all_of<'a>(
    masters: &MasterKeys,
    rows: impl Iterator<Item = (&'a SqlRow, usize, usize)>,
) -> Result<HashMap<String, Rights>> {
    let mut all = HashMap::new();
    for (row, tenant, sealed) in rows {
        let tenant = row.text(tenant)?;
        match opened(masters, tenant, row.bytes(sealed)?) {
            Ok(rights) => drop(all.insert(tenant.to_owned(), rights)),
            Err(Error::Integrity(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Columns of a key, its MAC, and what no MAC covers.
pub const KEY_COLUMNS: &str =
    "tenant, key_id, subject, hash, created_at, revoked_at, mac, expires_at";

/// A row of [`KEY_COLUMNS`].
///
/// # Errors
/// `Integrity`.
pub fn key(row: &SqlRow) -> Result<Key> {
    let damaged = |_| Error::Integrity("the hash of a key has a wrong length".into());
    Ok(Key {
        tenant: row.text(0)?.to_owned(),
        key_id: row.text(1)?.to_owned(),
        subject: row.optional_text(2)?.map(str::to_owned),
        hash: row.bytes(3)?.try_into().map_err(damaged)?,
        created_at: row.integer(4)?,
        revoked_at: row.optional_integer(5)?,
        expires_at: row.optional_integer(7)?,
        shown: ShownKey::default(),
    })
}
