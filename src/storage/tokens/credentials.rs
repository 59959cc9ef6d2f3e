//! Stores keys, signing secrets and revocations for the authenticator. The statements are the same on both engines.
//!
//! **Invariant:** a signing secret is written and read only here, by [`stored`] and [`secret`]. It is wrapped where there is a master key.

use async_trait::async_trait;

use super::key_rows::revoke_ended;
use super::rights::{Deciding, Held};
use super::verified::load;
use crate::content::master_key::MasterKeys;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::tenants::audit::Act;
use crate::domain::tokens::credential::{Credentials, Revocation, SigningSecret};
use crate::domain::tokens::key::Key;
use crate::domain::tokens::storage::CredentialStorage;
use crate::domain::tokens::token::TokenId;
use crate::domain::{Error, Result};
use crate::storage::content::wrapped::{SIGNING_SECRETS, unwrap, wrap};
use crate::storage::db::access::{Accessible, SqlRow, SqlValue};
use crate::storage::tenants::audit_rows::record;

const HAS_KEY: &str = "select key_id from keys where hash = $1 and revoked_at is null";

const PUT_SECRET: &str = "
insert into signing_secrets (tenant, kid, secret, created_at, master)
select $1, $2, $3, $4, $6
where not exists (select 1 from signing_secrets where tenant = $1 and created_at > $5)
returning kid";

const NEWEST_SECRET: &str = "
select kid, secret, created_at, null from signing_secrets where tenant = $1 and created_at > $2
order by created_at desc, kid limit 1";

/// A row that is there already stays as long as either of the two needs it.
const REVOKE: &str = "
insert into token_revocations (tenant, token_id, expires_at, revoked_at, chain)
select $1, $2, $3, $4, $6
where exists (select 1 from token_revocations where tenant = $1 and token_id = $2)
    or $5 > (select count(*) from token_revocations where tenant = $1)
        and ($6 in ('', $2) or $7 > (select count(*) from token_revocations where tenant = $1 and chain = $6))
on conflict (tenant, token_id) do update set expires_at = case
    when excluded.expires_at > token_revocations.expires_at then excluded.expires_at
    else token_revocations.expires_at end
returning token_id, expires_at, revoked_at";

const GET_REVOCATION: &str = "
select token_id, expires_at, revoked_at from token_revocations where tenant = $1 and token_id = $2";

/// $1 revocations that expired before, $2 secrets made before, $3 how many tenants, $4 keys that ended before.
const EXPIRED: &str = "
select tenant from (
    select tenant from token_revocations where expires_at < $1
    union select tenant from signing_secrets where created_at < $2
    union select tenant from keys where revoked_at is null and expires_at < $4) t order by tenant limit $3";
const DROP_REVOCATIONS: &str = "
delete from token_revocations where tenant = $1 and expires_at < $2 returning token_id, expires_at, revoked_at";
const DROP_SECRETS: &str = "
delete from signing_secrets where tenant = $1 and created_at < $2 returning kid, secret, created_at";
const TENANTS_TOGETHER: i64 = 100;

/// What was narrowed from a token is dead with it.
const REVOKED_WITH: &str = "
delete from token_revocations where tenant = $1 and chain = $2 and token_id <> $2
returning token_id, expires_at, revoked_at";

#[async_trait]
impl<T: Accessible> CredentialStorage for T {
    async fn load_credentials(&self) -> Result<Credentials> {
        let all = load(self).await?;
        all.tell(self.rights());
        Ok(all.credentials)
    }

    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool> {
        let mut access = self.begin_priority_read().await?;
        let rows = access.rows(HAS_KEY, &[SqlValue::Bytes(hash.to_vec())]).await?;
        access.end().await?;
        Ok(!rows.is_empty())
    }

    async fn put_signing_secret(
        &self,
        fresh: &SigningSecret,
        made_after: i64,
    ) -> Result<SigningSecret> {
        let tenant = fresh.tenant.as_str();
        let (column, master) = stored(self.masters(), fresh);
        let mut access = self.begin_rights_write(tenant).await?;
        let binds = [
            tenant.into(),
            fresh.kid.as_str().into(),
            SqlValue::Bytes(column),
            fresh.created_at.into(),
            made_after.into(),
            SqlValue::Bytes(master),
        ];
        let held = Held::lock(self, access.as_mut(), tenant).await?;
        let is_new = !access.rows(PUT_SECRET, &binds).await?.is_empty();
        if let Some(mut held) = held.filter(|_| is_new) {
            let hash = fresh.hash(&held.rights);
            held.rights.sum.add(&hash);
            held.put(access.as_mut()).await?;
        }
        let rows = access.rows(NEWEST_SECRET, &[tenant.into(), made_after.into()]).await?;
        access.end().await?;
        let row = rows.first().ok_or_else(|| Error::Internal("no signing secret".into()))?;
        secret(self.masters(), (tenant, row.text(0)?), row.bytes(1)?, row.integer(2)?)
    }

    async fn delete_signing_secrets(&self, tenant: &str, act: &Act) -> Result<u64> {
        let mut access = self.begin_rights_write(tenant).await?;
        let held = Held::lock(self, access.as_mut(), tenant).await?;
        let statement =
            "delete from signing_secrets where tenant = $1 returning kid, secret, created_at";
        let rows = access.rows(statement, &[tenant.into()]).await?;
        if let Some(mut held) = held.filter(|_| !rows.is_empty()) {
            subtract_secrets(&mut held, &rows)?;
            held.put(access.as_mut()).await?;
        }
        record(&mut *access, act).await?;
        access.end().await?;
        Ok(rows.len() as u64)
    }

    async fn revoke_token(
        &self,
        revocation: &Revocation,
        rows_max: u64,
        act: &Act,
    ) -> Result<bool> {
        let mut access = self.begin_rights_write(&revocation.tenant).await?;
        let token_id = revocation.token_id.to_string();
        let chain = revocation.chain.map(|it| it.to_string()).unwrap_or_default();
        let limit = |max: u64| SqlValue::from(i64::try_from(max).unwrap_or(i64::MAX));
        let binds = [
            revocation.tenant.as_str().into(),
            token_id.as_str().into(),
            revocation.expires_at.into(),
            revocation.revoked_at.into(),
            limit(rows_max),
            chain.as_str().into(),
            limit(LIMITS.token_revocations_per_chain_max),
        ];
        let held = Held::lock(self, access.as_mut(), &revocation.tenant).await?;
        let mut before = access.rows(GET_REVOCATION, &binds[..2]).await?;
        let rows = access.rows(REVOKE, &binds).await?;
        if !rows.is_empty() {
            before.extend(access.rows(REVOKED_WITH, &binds[..2]).await?);
        }
        if let Some(mut held) = held.filter(|_| !rows.is_empty()) {
            for row in &before {
                let hash = of_row(&revocation.tenant, row)?.hash(&held.rights);
                held.rights.sum.subtract(&hash);
            }
            for row in &rows {
                let hash = of_row(&revocation.tenant, row)?.hash(&held.rights);
                held.rights.sum.add(&hash);
            }
            held.put(access.as_mut()).await?;
        }
        if !rows.is_empty() {
            record(&mut *access, act).await?;
        }
        access.end().await?;
        Ok(!rows.is_empty())
    }
}

/// How a secret lies in its column, and what the one of its master key holds.
fn stored(masters: Option<&MasterKeys>, secret: &SigningSecret) -> (Vec<u8>, Vec<u8>) {
    let key = [secret.tenant.as_str().into(), secret.kid.as_str().into()];
    wrap(masters, &SIGNING_SECRETS, &key, &secret.secret)
}

/// Takes secrets that are gone out of the sum. One that does not open in its row was never in it.
fn subtract_secrets(held: &mut Held<'_>, rows: &[SqlRow]) -> Result<()> {
    for row in rows {
        let place = (held.tenant, row.text(0)?);
        match secret(Some(held.masters), place, row.bytes(1)?, row.integer(2)?) {
            Ok(secret) => {
                let hash = secret.hash(&held.rights);
                held.rights.sum.subtract(&hash);
            }
            Err(Error::Integrity(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes revocations and signing secrets that are not needed any more, and revokes keys that ended long ago, of a tenant in each
/// transaction.
///
/// # Errors
/// A database that cannot be written. A tenant whose rows are older than they were is left as it is.
pub async fn sweep_credentials(engine: &dyn Accessible, now: Micros) -> Result<()> {
    let before = Before {
        revocations: now - Revocation::NEEDED_FOR,
        secrets: now - SigningSecret::NEEDED_FOR,
        keys: now - Key::TOLD_FOR,
    };
    let Before { revocations, secrets, keys } = before;
    let binds = [revocations.into(), secrets.into(), TENANTS_TOGETHER.into(), keys.into()];
    let mut access = engine.begin_read().await?;
    let tenants = access.rows(EXPIRED, &binds).await?;
    access.end().await?;
    for row in &tenants {
        let tenant = row.text(0)?;
        match sweep_tenant(engine, tenant, before).await {
            Err(Error::Integrity(_)) => {}
            done => done?,
        }
    }
    Ok(())
}

/// What ended before is not needed any more.
#[derive(Clone, Copy)]
struct Before {
    revocations: Micros,
    secrets: Micros,
    keys: Micros,
}

async fn sweep_tenant(engine: &dyn Accessible, tenant: &str, before: Before) -> Result<()> {
    let Before { revocations, secrets, keys } = before;
    let mut access = engine.begin_write().await?;
    let mut held = Held::lock(engine, access.as_mut(), tenant).await?;
    let gone = access.rows(DROP_REVOCATIONS, &[tenant.into(), revocations.into()]).await?;
    if let Some(held) = &mut held {
        for row in &gone {
            let hash = of_row(tenant, row)?.hash(&held.rights);
            held.rights.sum.subtract(&hash);
        }
    }
    let gone_secrets = access.rows(DROP_SECRETS, &[tenant.into(), secrets.into()]).await?;
    let some_ended = revoke_ended(access.as_mut(), held.as_mut(), tenant, keys).await?;
    let changed = some_ended || !(gone.is_empty() && gone_secrets.is_empty());
    if let Some(mut held) = held.filter(|_| changed) {
        subtract_secrets(&mut held, &gone_secrets)?;
        held.put(access.as_mut()).await?;
    }
    access.end().await
}

/// A row with the columns of [`GET_REVOCATION`]; its chain decides no right.
fn of_row(tenant: &str, row: &SqlRow) -> Result<Revocation> {
    revocation((tenant, row.text(0)?), None, row.integer(1)?, row.integer(2)?)
}

/// # Errors
/// As [`unwrap`].
pub fn secret(
    masters: Option<&MasterKeys>,
    (tenant, kid): (&str, &str),
    column: &[u8],
    created_at: i64,
) -> Result<SigningSecret> {
    let damaged = |_| Error::Integrity("a signing secret has a wrong length".into());
    let opened = unwrap(masters, &SIGNING_SECRETS, &[tenant.into(), kid.into()], column)?;
    let secret = opened.try_into().map_err(damaged)?;
    Ok(SigningSecret { tenant: tenant.to_owned(), kid: kid.to_owned(), secret, created_at })
}

/// # Errors
/// `Integrity`.
pub fn revocation(
    (tenant, token_id): (&str, &str),
    chain: Option<&str>,
    expires_at: Micros,
    revoked_at: Micros,
) -> Result<Revocation> {
    let damaged = |_| Error::Integrity("the id of a revoked token is damaged".into());
    let token = |text: &str| TokenId::parse("token_id", text).map_err(damaged);
    Ok(Revocation {
        tenant: tenant.to_owned(),
        token_id: token(token_id)?,
        chain: chain.map(token).transpose()?,
        expires_at,
        revoked_at,
    })
}
