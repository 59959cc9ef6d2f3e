//! Stores the keys that encrypt the content of tenants: made with the tenant, wrapped with the master key, destroyed on demand. It is the
//! same for every engine.

use std::time::Duration;

use crate::content::cipher::{Cipher, KEY_BYTES};
use crate::content::keys::TenantSecret;
use crate::content::master_key::MasterKeys;
use crate::domain::clock::Clock;
use crate::domain::{Error, Result};
use crate::storage::Encryption;
use crate::storage::content::secret_memory::{Memory, SecretMemory};
use crate::storage::content::wrapped::{TENANT_KEYS, Wrapping, other_masters, unwrap, wrap};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};
use crate::storage::tokens::rights::{UNSEALED, make as make_rights};

/// Keys of a tenant are numbered, so that a later one may follow; envelopes name theirs.
const FIRST: u8 = 1;
const SETTING: &str = "master-key-file";

/// Columns: wrapped, `plain_rows`.
const READ: &str = "select wrapped, plain_rows from tenant_keys where tenant = $1 and key_no = $2";

/// The secret of a tenant of an encrypted database, made if the tenant is new. `known`: what the memory answered. Nothing is
/// read but every two seconds, and the first time.
///
/// # Errors
/// `KeyDestroyed`; `Unavailable` when the master key that wrapped it is not here.
pub async fn secret_of(
    engine: &dyn Accessible,
    (memory, known): (&SecretMemory, Memory),
    masters: &MasterKeys,
    tenant: &str,
) -> Result<TenantSecret> {
    match known {
        Memory::Trusted(secret) => return Ok(secret),
        Memory::Expired(secret) => match is_there(engine, tenant).await {
            Ok(true) => return Ok(secret),
            Ok(false) => memory.forget(tenant),
            Err(error) => {
                memory.expire(tenant);
                return Err(error);
            }
        },
        Memory::Unknown => {}
    }
    let names_and_key = match read(engine, masters, tenant).await? {
        Some(found) => found,
        None => make(engine, masters, tenant).await?,
    };
    let secret = names_and_key.secret(tenant);
    memory.insert(tenant, &secret);
    Ok(secret)
}

/// The secret of a tenant as the database has it.
///
/// # Errors
/// As [`secret_of`]; `Integrity` where there is none.
pub async fn stored_secret(
    engine: &dyn Accessible,
    masters: &MasterKeys,
    tenant: &str,
) -> Result<TenantSecret> {
    let missing = || Error::Integrity("the tenant's key is not there".into());
    Ok(read(engine, masters, tenant).await?.ok_or_else(missing)?.secret(tenant))
}

/// Both secrets of a tenant, as they are wrapped together.
pub struct Keys {
    names: [u8; KEY_BYTES],
    key: [u8; KEY_BYTES],
}

impl Keys {
    /// A new key for what is already named.
    pub fn for_names(names: [u8; KEY_BYTES]) -> Self {
        Self { names, key: rand::random() }
    }

    pub fn secret(&self, tenant: &str) -> TenantSecret {
        TenantSecret::encrypting(self.names, Cipher::new(tenant, FIRST, &self.key))
    }

    /// Names content the same and encrypts nothing.
    pub fn plain(&self) -> TenantSecret {
        TenantSecret::new(self.names)
    }
}

fn row_key(tenant: &str) -> [SqlValue; 2] {
    [tenant.into(), i64::from(FIRST).into()]
}

async fn is_there(engine: &dyn Accessible, tenant: &str) -> Result<bool> {
    let mut access = engine.begin_read().await?;
    let rows = access.rows(READ, &row_key(tenant)).await?;
    access.end().await?;
    Ok(rows.first().is_some_and(|row| row.bytes(0).is_ok_and(|it| !it.is_empty())))
}

async fn read(engine: &dyn Accessible, masters: &MasterKeys, tenant: &str) -> Result<Option<Keys>> {
    let mut access = engine.begin_read().await?;
    let rows = access.rows(READ, &row_key(tenant)).await?;
    access.end().await?;
    let Some(row) = rows.first() else { return Ok(None) };
    if row.integer(1)? != 0 {
        return Err(unfinished(tenant));
    }
    opened(masters, tenant, row).map(Some)
}

/// What a row of [`READ`] holds.
///
/// # Errors
/// As [`secret_of`].
pub fn opened(masters: &MasterKeys, tenant: &str, row: &SqlRow) -> Result<Keys> {
    let wrapped = row.bytes(0)?;
    if wrapped.is_empty() {
        return Err(Error::KeyDestroyed);
    }
    let both = unwrap(Some(masters), &TENANT_KEYS, &row_key(tenant), wrapped)?;
    let damaged = || Error::Integrity("a tenant's key has a wrong length".into());
    let (key, names) = both.split_first_chunk().ok_or_else(damaged)?;
    Ok(Keys { key: *key, names: names.try_into().map_err(|_| damaged())? })
}

/// Two servers that meet at a new tenant: one makes it, the other one reads what was made.
async fn make(engine: &dyn Accessible, masters: &MasterKeys, tenant: &str) -> Result<Keys> {
    let keys = Keys::for_names(rand::random());
    let text = "insert into tenants (tenant, secret, created_at) values ($1, $2, $3)
        on conflict (tenant) do nothing returning tenant";
    let mut access = engine.begin_write().await?;
    let binds = [tenant.into(), SqlValue::Bytes(Vec::new()), Clock::System.now().into()];
    if !access.rows(text, &binds).await?.is_empty() {
        put(access.as_mut(), masters, tenant, &keys, false).await?;
    }
    access.end().await?;
    // A tenant without a key came before encryption was turned on.
    read(engine, masters, tenant).await?.ok_or_else(|| unfinished(tenant))
}

fn unfinished(tenant: &str) -> Error {
    Error::Unavailable {
        detail: format!("not everything of tenant {tenant} is encrypted: run `threadkeep encrypt`"),
        retry_after: Duration::from_secs(5),
    }
}

/// Writes the key of a tenant that has none. `plain_rows`: it has content that is not encrypted.
///
/// # Errors
/// A database that cannot be written.
pub async fn put(
    access: &mut dyn Access,
    masters: &MasterKeys,
    tenant: &str,
    keys: &Keys,
    plain_rows: bool,
) -> Result<()> {
    let both = [keys.key, keys.names].concat();
    let (wrapped, master) = wrap(Some(masters), &TENANT_KEYS, &row_key(tenant), &both);
    let text = "insert into tenant_keys
        (tenant, key_no, wrapped, master, created_at, plain_rows, owner_macs)
        values ($1, $2, $3, $4, $5, $6, 1 - $6)";
    let columns = [
        SqlValue::Bytes(wrapped),
        SqlValue::Bytes(master),
        Clock::System.now().into(),
        i64::from(plain_rows).into(),
    ];
    access.rows(text, &[&row_key(tenant)[..], &columns].concat()).await?;
    make_rights(access, masters, tenant).await
}

/// Refuses a database that the master keys do not fit. One that is opened with a master key for the first time is marked, where the
/// opener may change it: it is refused without the key, and with another, before anything is stored.
///
/// # Errors
/// `Invalid`, with advice.
pub async fn check_start(
    engine: &dyn Accessible,
    encryption: &Encryption,
    may_mark: bool,
) -> Result<()> {
    let masters = encryption.masters();
    let masters = masters.as_deref();
    let refuse = |advice: String| Err(Error::invalid(SETTING, advice));
    let Wrapping { any, plain: plain_secrets, foreign } = other_masters(engine, masters).await?;
    let Some(masters) = masters else {
        if any {
            return refuse(
                "this database is encrypted: give the master key that it was encrypted with \
                 (--master-key-file, or THREADKEEP_MASTER_KEY)"
                    .into(),
            );
        }
        return Ok(());
    };
    if let Some(fingerprint) = foreign {
        return refuse(format!(
            "this database needs the master key {fingerprint}, the one given is {}: give the right one, or, while master \
             keys are changed, both (--previous-master-key-file)",
            hex::encode(masters.current.fingerprint())
        ));
    }
    if matches!(encryption, Encryption::Begins(_)) {
        return Ok(());
    }
    let mut access = engine.begin_read().await?;
    let text = "select count(*) from tenants t where not exists (
            select 1 from tenant_keys k where k.tenant = t.tenant and k.plain_rows = 0)";
    let plain = access.rows(text, &[]).await?[0].integer(0)?;
    let text = "select count(*) from tenants t where exists (
            select 1 from tenant_keys k where k.tenant = t.tenant and k.owner_macs = 0 and k.plain_rows = 0
                and length(k.wrapped) > 0)";
    let without_macs = access.rows(text, &[]).await?[0].integer(0)?;
    let unsealed = access.rows(UNSEALED, &[]).await?;
    access.end().await?;
    if let Some(row) = unsealed.first().filter(|_| plain == 0 && plain_secrets == 0) {
        return refuse(format!(
            "nothing is sealed for the keys of tenant {} and {} others: stop every server that uses this database, run `threadkeep encrypt`, \
             which shows the keys that are there before it signs them, then start again",
            row.text(0)?,
            unsealed.len() - 1,
        ));
    }
    if without_macs > 0 && plain == 0 && plain_secrets == 0 {
        return refuse(format!(
            "threads, sessions and namespaces of {without_macs} tenants have no MACs yet: stop every server that uses this database, run \
             `threadkeep encrypt` with the master key once, then start again"
        ));
    }
    if plain > 0 || plain_secrets > 0 {
        return refuse(format!(
            "this database holds {plain} tenants whose content is not encrypted, and {plain_secrets} such secrets: stop every server that uses it, run \
             `threadkeep encrypt` with the master key once, then start again; or start without a master key"
        ));
    }
    if may_mark && !any { mark(engine, masters).await } else { Ok(()) }
}

/// What is sealed for the tenant that nobody has names the master key.
async fn mark(engine: &dyn Accessible, masters: &MasterKeys) -> Result<()> {
    let mut access = engine.begin_write().await?;
    make_rights(access.as_mut(), masters, "").await?;
    access.end().await
}

/// # Errors
/// `Invalid` without a master key.
pub fn given(masters: Option<&MasterKeys>) -> Result<&MasterKeys> {
    masters.ok_or_else(|| Error::invalid(SETTING, "a master key is needed: --master-key-file"))
}

/// Makes everything that a tenant has stored unreadable, for ever: its key goes. False: there is no such key.
///
/// # Errors
/// A database that cannot be written.
pub async fn destroy(engine: &dyn Accessible, tenant: &str) -> Result<bool> {
    let text = "update tenant_keys set wrapped = $2, destroyed_at = $3
        where tenant = $1 and length(wrapped) > 0 returning key_no";
    let mut access = engine.begin_write().await?;
    let binds = [tenant.into(), SqlValue::Bytes(Vec::new()), Clock::System.now().into()];
    let gone = access.rows(text, &binds).await?;
    access.end().await?;
    Ok(!gone.is_empty())
}
