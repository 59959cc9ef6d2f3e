//! Creates, lists and revokes keys of tenants as rows, and erases the keys of a subject. The statements are the same on both engines.

use async_trait::async_trait;

use super::rights::{Deciding, Held, key};
use crate::domain::clock::Micros;
use crate::domain::tenants::audit::Act;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::domain::tokens::key::{Key, KeyQuery, ShownKey};
use crate::domain::tokens::key_uses::KeyUse;
use crate::domain::tokens::storage::KeyStorage;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};
use crate::storage::tenants::audit_rows::record;

const INSERT: &str = "
insert into keys (tenant, key_id, subject, hash, created_at, revoked_at, mac, name, text_prefix, expires_at)
values ($1, $2, nullif(cast($3 as text), ''), $4, $5, $6, $7, nullif(cast($8 as text), ''), nullif(cast($9 as text), ''), $10)";

/// $1 tenant, $2 and $3 the last one of the page before, $4 limit.
const LIST: &str = "
select tenant, key_id, subject, hash, created_at, revoked_at, mac, expires_at, name, text_prefix, last_used_day from keys
where tenant = $1 and (created_at, key_id) > ($2, $3) order by created_at, key_id limit $4";

const COUNT: &str = "select count(*) from keys where tenant = $1 and revoked_at is null";

/// $1 tenant, $2 key id.
const REVOKE: &str = "
update keys set revoked_at = {now} where tenant = $1 and key_id = $2 and revoked_at is null
returning tenant, key_id, subject, hash, created_at, null, mac, expires_at";

/// $1 tenant, $2 before.
const REVOKE_ENDED: &str = "
update keys set revoked_at = expires_at where tenant = $1 and revoked_at is null and expires_at < $2
returning tenant, key_id, subject, hash, created_at, null, mac, expires_at";

/// $1 tenant, $2 key id, $3 day.
const PUT_USE: &str = "
update keys set last_used_day = $3
where tenant = $1 and key_id = $2 and (last_used_day is null or last_used_day < $3)";

/// Before the keys of a subject are erased: a revoked key that opens nothing, so that a database whose last key goes is not taken for
/// one that never had any. $1 tenant, $2 subject, $3 a hash that no key has.
const KEEP_HAD_KEY: &str = "
insert into keys (tenant, key_id, subject, hash, created_at, revoked_at)
select $1, 'key_erased', null, $3, 0, 0
where exists (select 1 from keys where tenant = $1 and subject = $2)
    and not exists (select 1 from keys where tenant <> $1 or subject is null or subject <> $2)
on conflict (tenant, key_id) do nothing";

/// $1 tenant, $2 subject, $3 how many.
const ERASE: &str = "
delete from keys where tenant = $1 and subject = $2 and key_id in
    (select key_id from keys where tenant = $1 and subject = $2 order by key_id limit $3)
returning tenant, key_id, subject, hash, created_at, revoked_at, mac, expires_at";

/// Keys that one transaction erases.
const SLICE_ROWS: i64 = 500;

#[async_trait]
impl<T: Accessible> KeyStorage for T {
    async fn create_key(&self, key: &Key, act: &Act) -> Result<()> {
        let mut access = self.begin_rights_write(&key.tenant).await?;
        let mut mac = Vec::new();
        if let Some(mut held) = Held::lock(self, access.as_mut(), &key.tenant).await? {
            mac = key.mac(&held.rights).to_vec();
            held.rights.had_keys = true;
            if key.revoked_at.is_none() {
                let hash = key.hash(&held.rights);
                held.rights.sum.add(&hash);
            }
            held.put(access.as_mut()).await?;
        }
        let binds = [
            key.tenant.as_str().into(),
            key.key_id.as_str().into(),
            key.subject.as_deref().unwrap_or_default().into(),
            key.hash[..].into(),
            key.created_at.into(),
            key.revoked_at.map_or(SqlValue::Null, SqlValue::from),
            SqlValue::Bytes(mac),
            key.shown.name.as_deref().unwrap_or_default().into(),
            key.shown.prefix.as_deref().unwrap_or_default().into(),
            key.expires_at.map_or(SqlValue::Null, SqlValue::from),
        ];
        access.rows(INSERT, &binds).await?;
        record(access.as_mut(), act).await?;
        access.end().await
    }

    async fn list_keys(&self, tenant: &str, query: &KeyQuery) -> Result<Vec<Key>> {
        let after = query.after.as_ref();
        let binds = [
            tenant.into(),
            after.map_or(Micros::MIN, |it| it.created_at).into(),
            after.map_or("", |it| it.key_id.as_str()).into(),
            i64::try_from(query.limit).unwrap_or(i64::MAX).into(),
        ];
        let rows = self.read_rows(tenant, LIST, &binds).await?;
        rows.iter().map(listed).collect()
    }

    async fn count_keys(&self, tenant: &str) -> Result<u64> {
        let rows = self.read_rows(tenant, COUNT, &[tenant.into()]).await?;
        let count = rows.first().map_or(Ok(0), |it| it.integer(0))?;
        Ok(count.unsigned_abs())
    }

    async fn revoke_key(&self, tenant: &str, key_id: &str, act: &Act) -> Result<bool> {
        let mut access = self.begin_rights_write(tenant).await?;
        let held = Held::lock(self, access.as_mut(), tenant).await?;
        let text = self.dialect().fill(REVOKE);
        let rows = access.rows(&text, &[tenant.into(), key_id.into()]).await?;
        subtract(held, access.as_mut(), &rows).await?;
        if !rows.is_empty() {
            record(access.as_mut(), act).await?;
        }
        access.end().await?;
        Ok(!rows.is_empty())
    }

    /// One transaction.
    async fn put_key_uses(&self, uses: &[KeyUse]) -> Result<()> {
        let mut access = self.begin_write().await?;
        for KeyUse { tenant, key_id, day } in uses {
            let binds = [tenant.as_str().into(), key_id.as_str().into(), (*day).into()];
            access.rows(PUT_USE, &binds).await?;
        }
        access.end().await
    }
}

/// Revokes the keys of a tenant that ended before, so that servers need not hold them for ever, and takes them out of the sum. Whether
/// there were any. It changes nothing for anybody, so it is no act.
///
/// # Errors
/// A database that cannot be written.
pub async fn revoke_ended(
    access: &mut dyn Access,
    held: Option<&mut Held<'_>>,
    tenant: &str,
    before: Micros,
) -> Result<bool> {
    let rows = access.rows(REVOKE_ENDED, &[tenant.into(), before.into()]).await?;
    if let Some(held) = held {
        take_out(held, &rows)?;
    }
    Ok(!rows.is_empty())
}

/// A row of [`LIST`].
fn listed(row: &SqlRow) -> Result<Key> {
    let text = |at| Ok::<_, Error>(row.optional_text(at)?.map(str::to_owned));
    let (name, prefix) = (text(8)?, text(9)?);
    let shown = ShownKey { name, prefix, last_used_day: row.optional_integer(10)? };
    Ok(Key { shown, ..key(row)? })
}

/// Takes keys that are gone out of the sum, and stores it.
async fn subtract(held: Option<Held<'_>>, access: &mut dyn Access, rows: &[SqlRow]) -> Result<()> {
    let Some(mut held) = held.filter(|_| !rows.is_empty()) else { return Ok(()) };
    take_out(&mut held, rows)?;
    held.put(access).await
}

/// Takes keys out of the sum. One that was not signed was never in it.
fn take_out(held: &mut Held<'_>, rows: &[SqlRow]) -> Result<()> {
    for row in rows {
        let key = key(row)?;
        if key.revoked_at.is_none() && key.has_mac(&held.rights, row.bytes(6)?) {
            let hash = key.hash(&held.rights);
            held.rights.sum.subtract(&hash);
        }
    }
    Ok(())
}

/// Erases some keys of a subject.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase_keys(engine: &dyn Accessible, tenant: &str, subject: &str) -> Result<Slice> {
    let mut access = engine.begin_write().await?;
    let held = Held::lock(engine, access.as_mut(), tenant).await?;
    let had_key = [tenant.into(), subject.into(), [0_u8; 32][..].into()];
    access.rows(KEEP_HAD_KEY, &had_key).await?;
    let rows = access.rows(ERASE, &[tenant.into(), subject.into(), SLICE_ROWS.into()]).await?;
    subtract(held, access.as_mut(), &rows).await?;
    access.end().await?;
    let keys = rows.len() as u64;
    let more = if keys == SLICE_ROWS.unsigned_abs() { More::Certainly } else { More::Nothing };
    Ok(Slice { removed: Receipt { keys, ..Receipt::default() }, thread_ids: Vec::new(), more })
}
