//! Signs the rows that decide rights, in a database with unsigned ones: a part of `threadkeep encrypt`, after an operator has looked at the
//! keys. It is the same for every engine.

use async_trait::async_trait;

use super::credentials::{revocation, secret};
use super::owner_signing;
use super::rights::{Deciding, Held, KEY_COLUMNS, QuotaOf, key};
use super::verified::load;
use crate::content::master_key::MasterKeys;
use crate::domain::tokens::signing::{SigningStorage, Unsigned, UnsignedOwners};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlValue};
use crate::storage::maintenance::encrypting::request_encryption;
use crate::storage::tenants::quota_rows;
use crate::storage::tenants::tenant_keys::given;

const KEYS: &str =
    "from keys where tenant = $1 and revoked_at is null order by created_at, key_id {lock}";
const SECRETS: &str =
    "select kid, secret, created_at from signing_secrets where tenant = $1 order by kid {lock}";
const REVOCATIONS: &str = "select token_id, expires_at, revoked_at from token_revocations
    where tenant = $1 order by token_id {lock}";
const SET_MAC: &str = "update keys set mac = $3 where tenant = $1 and key_id = $2";

#[async_trait]
impl<T: Accessible> SigningStorage for T {
    async fn request_encryption(&self) -> Result<()> {
        request_encryption(self).await
    }

    async fn list_unsigned(&self) -> Result<Vec<Unsigned>> {
        list_unsigned(self, given(self.masters())?).await
    }

    /// A tenant in each transaction.
    async fn sign(&self, tenants: &[Unsigned]) -> Result<()> {
        let masters = given(self.masters())?;
        for tenant in tenants {
            sign_tenant(self, masters, tenant).await?;
        }
        Ok(())
    }

    async fn list_unsigned_owners(&self) -> Result<Vec<UnsignedOwners>> {
        owner_signing::list_unsigned(self).await
    }

    async fn sign_owners(&self, tenants: &[UnsignedOwners]) -> Result<()> {
        owner_signing::sign_listed(self, tenants).await
    }
}

/// Tenants whose rows nothing sealed speaks for, with the keys that are there.
async fn list_unsigned(engine: &dyn Accessible, masters: &MasterKeys) -> Result<Vec<Unsigned>> {
    let mut tenants = load(engine).await?.unsigned();
    let mut access = engine.begin_read().await?;
    tenants.extend(quota_rows::wrong(access.as_mut(), masters).await?);
    let mut all = Vec::new();
    for tenant in tenants {
        all.push(of_tenant(access.as_mut(), tenant).await?);
    }
    access.end().await?;
    Ok(all)
}

async fn of_tenant(access: &mut dyn Access, tenant: String) -> Result<Unsigned> {
    let count = |table: &str| format!("select count(*) from {table} where tenant = $1");
    let place = [tenant.as_str().into()];
    let keys = format!(
        "select {KEY_COLUMNS} from keys where tenant = $1 and revoked_at is null order by created_at, key_id"
    );
    let keys = access.rows(&keys, &place).await?;
    let mut counted = [0; 2];
    for (at, table) in ["signing_secrets", "token_revocations"].into_iter().enumerate() {
        counted[at] = access.rows(&count(table), &place).await?[0].integer(0)?.unsigned_abs();
    }
    Ok(Unsigned {
        keys: keys.iter().map(key).collect::<Result<Vec<_>>>()?,
        tenant,
        signing_secrets: counted[0],
        revocations: counted[1],
    })
}

async fn sign_tenant(
    engine: &dyn Accessible,
    masters: &MasterKeys,
    shown: &Unsigned,
) -> Result<()> {
    let tenant = shown.tenant.as_str();
    let dialect = engine.dialect();
    let place = [SqlValue::from(tenant)];
    let mut access = engine.begin_write().await?;
    let Some(mut held) = Held::begin_again(engine, access.as_mut(), tenant).await? else {
        return Ok(());
    };
    let text = dialect.fill(&format!("select {KEY_COLUMNS} {KEYS}"));
    for row in access.rows(&text, &place).await? {
        let key = key(&row)?;
        if !shown.keys.contains(&key) {
            continue;
        }
        let mac = SqlValue::Bytes(key.mac(&held.rights).to_vec());
        access.rows(SET_MAC, &[tenant.into(), key.key_id.as_str().into(), mac]).await?;
        held.rights.had_keys = true;
        let hash = key.hash(&held.rights);
        held.rights.sum.add(&hash);
    }
    for row in access.rows(&dialect.fill(SECRETS), &place).await? {
        match secret(Some(masters), (tenant, row.text(0)?), row.bytes(1)?, row.integer(2)?) {
            Ok(secret) => {
                let hash = secret.hash(&held.rights);
                held.rights.sum.add(&hash);
            }
            Err(Error::Integrity(_)) => {}
            Err(error) => return Err(error),
        }
    }
    for row in access.rows(&dialect.fill(REVOCATIONS), &place).await? {
        let revocation =
            revocation((tenant, row.text(0)?), None, row.integer(1)?, row.integer(2)?)?;
        let hash = revocation.hash(&held.rights);
        held.rights.sum.add(&hash);
    }
    let quota = quota_rows::of_tenant(access.as_mut(), tenant).await?;
    held.rights.quota = QuotaOf(tenant, &quota).sealed(&held.rights);
    held.put(access.as_mut()).await?;
    access.end().await
}
