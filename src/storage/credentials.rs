//! Keys, signing secrets and revocations for the authenticator: the same statements on both engines.
//!
//! **Invariant:** a signing secret is written and read here only, by [`stored`] and [`secret`]: wrapped where there is a
//! master key.

use async_trait::async_trait;

use super::access::{Accessible, Cell, Record};
use super::audit_rows::record;
use super::wrapped::{SIGNING_SECRETS, unwrap, wrap};
use crate::content::master_key::MasterKeys;
use crate::domain::audit::Act;
use crate::domain::credential::{Credentials, Revocation, SigningSecret};
use crate::domain::key::Key;
use crate::domain::limits::LIMITS;
use crate::domain::storage::CredentialStorage;
use crate::domain::token::TokenId;
use crate::domain::{Error, Result};

/// Crosses tenants: the authenticator does not know the tenant before it has the key.
const LOAD: &str = "
select 'key' as kind, tenant, key_id as id, subject, hash as bytes, created_at as at,
    revoked_at
from keys
where revoked_at is null
union all
select 'secret', tenant, kid, null, secret, created_at, null from signing_secrets
union all
select 'revocation', tenant, token_id, nullif(chain, ''), null, expires_at, revoked_at from token_revocations
union all
select 'had_key', '', '', null, null, 0, null where exists (select 1 from keys)";

/// Before the keys of a subject are erased: a revoked key that opens nothing, so that a database whose last key goes is not taken for
/// one that never had any. $1 tenant, $2 subject, $3 a hash that no key has.
pub const KEEP_HAD_KEY: &str = "
insert into keys (tenant, key_id, subject, hash, created_at, revoked_at)
select $1, 'key_erased', null, $3, 0, 0
where exists (select 1 from keys where tenant = $1 and subject = $2)
    and not exists (select 1 from keys where tenant <> $1 or subject is null or subject <> $2)
on conflict (tenant, key_id) do nothing";

const HAS_KEY: &str = "select key_id from keys where hash = $1 and revoked_at is null";

const PUT_SECRET: &str = "
insert into signing_secrets (tenant, kid, secret, created_at, master)
select $1, $2, $3, $4, $6
where not exists (select 1 from signing_secrets where tenant = $1 and created_at > $5)";

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
returning token_id";

/// What was narrowed from a token is dead with it.
const REVOKED_WITH: &str = "delete from token_revocations where tenant = $1 and chain = $2 and token_id <> $2 returning token_id";

#[async_trait]
impl<T: Accessible> CredentialStorage for T {
    /// Three round trips on PostgreSQL, two of them for the transaction.
    async fn load_credentials(&self) -> Result<Credentials> {
        let mut access = self.look_first().await?;
        let rows = access.rows(LOAD, &[]).await?;
        access.end().await?;
        let mut all = Credentials::default();
        for row in &rows {
            match row.text(0)? {
                "key" => all.keys.push(key(row)?),
                "had_key" => all.had_keys = true,
                "secret" => {
                    let kid = row.text(2)?;
                    all.signing_secrets.push(secret(
                        self.masters(),
                        (row.text(1)?, kid),
                        row.bytes(4)?,
                        row.integer(5)?,
                    )?);
                }
                _ => all.revocations.push(revocation(row)?),
            }
        }
        Ok(all)
    }

    async fn has_key(&self, hash: &[u8; 32]) -> Result<bool> {
        let mut access = self.look_first().await?;
        let rows = access.rows(HAS_KEY, &[Cell::Bytes(hash.to_vec())]).await?;
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
        let mut access = self.hold().await?;
        let binds = [
            tenant.into(),
            fresh.kid.as_str().into(),
            Cell::Bytes(column),
            fresh.created_at.into(),
            made_after.into(),
            Cell::Bytes(master),
        ];
        access.rows(PUT_SECRET, &binds).await?;
        let rows = access.rows(NEWEST_SECRET, &[tenant.into(), made_after.into()]).await?;
        access.end().await?;
        let row = rows.first().ok_or_else(|| Error::Internal("no signing secret".into()))?;
        secret(self.masters(), (tenant, row.text(0)?), row.bytes(1)?, row.integer(2)?)
    }

    async fn delete_signing_secrets(&self, tenant: &str, act: &Act) -> Result<u64> {
        let mut access = self.hold().await?;
        let statement = "delete from signing_secrets where tenant = $1 returning kid";
        let rows = access.rows(statement, &[tenant.into()]).await?;
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
        let mut access = self.hold().await?;
        let token_id = revocation.token_id.to_string();
        let chain = revocation.chain.map(|it| it.to_string()).unwrap_or_default();
        let limit = |max: u64| Cell::from(i64::try_from(max).unwrap_or(i64::MAX));
        let binds = [
            revocation.tenant.as_str().into(),
            token_id.as_str().into(),
            revocation.expires_at.into(),
            revocation.revoked_at.into(),
            limit(rows_max),
            chain.as_str().into(),
            limit(LIMITS.token_revocations_per_chain_max),
        ];
        let rows = access.rows(REVOKE, &binds).await?;
        if !rows.is_empty() {
            let first = [revocation.tenant.as_str().into(), token_id.as_str().into()];
            access.rows(REVOKED_WITH, &first).await?;
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

fn secret(
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

fn key(row: &Record) -> Result<Key> {
    let damaged = |_| Error::Integrity("the hash of a key has a wrong length".into());
    Ok(Key {
        tenant: row.text(1)?.to_owned(),
        key_id: row.text(2)?.to_owned(),
        subject: row.optional_text(3)?.map(str::to_owned),
        hash: row.bytes(4)?.try_into().map_err(damaged)?,
        created_at: row.integer(5)?,
        revoked_at: None,
    })
}

fn revocation(row: &Record) -> Result<Revocation> {
    let damaged = |_| Error::Integrity("the id of a revoked token is damaged".into());
    Ok(Revocation {
        tenant: row.text(1)?.to_owned(),
        token_id: TokenId::parse("token_id", row.text(2)?).map_err(damaged)?,
        chain: row
            .optional_text(3)?
            .map(|it| TokenId::parse("token_id", it))
            .transpose()
            .map_err(damaged)?,
        expires_at: row.integer(5)?,
        revoked_at: row.integer(6)?,
    })
}
