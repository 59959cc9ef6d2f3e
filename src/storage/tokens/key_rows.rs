//! Creates, lists and revokes keys of tenants as rows, and erases the keys of a subject. The statements are the same on both engines.

use async_trait::async_trait;

use super::rights::{Deciding, Held, KEY_COLUMNS, key};
use crate::domain::Result;
use crate::domain::tenants::audit::Act;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::domain::tokens::key::Key;
use crate::domain::tokens::storage::KeyStorage;
use crate::storage::db::access::{Access, Accessible, SqlRow, SqlValue};
use crate::storage::tenants::audit_rows::record;

const INSERT: &str = "
insert into keys (tenant, key_id, subject, hash, created_at, revoked_at, mac)
values ($1, $2, nullif(cast($3 as text), ''), $4, $5, $6, $7)";

/// $1 tenant, $2 key id.
const REVOKE: &str = "
update keys set revoked_at = {now} where tenant = $1 and key_id = $2 and revoked_at is null
returning tenant, key_id, subject, hash, created_at, null, mac";

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
returning tenant, key_id, subject, hash, created_at, revoked_at, mac";

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
        ];
        access.rows(INSERT, &binds).await?;
        record(access.as_mut(), act).await?;
        access.end().await
    }

    async fn list_keys(&self, tenant: &str) -> Result<Vec<Key>> {
        let text =
            format!("select {KEY_COLUMNS} from keys where tenant = $1 order by created_at, key_id");
        let mut access = self.begin_read().await?;
        let rows = access.rows(&text, &[tenant.into()]).await?;
        access.end().await?;
        rows.iter().map(key).collect()
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
}

/// Takes keys that are gone out of the sum. One that was not signed was never in it.
async fn subtract(held: Option<Held<'_>>, access: &mut dyn Access, rows: &[SqlRow]) -> Result<()> {
    let Some(mut held) = held.filter(|_| !rows.is_empty()) else { return Ok(()) };
    for row in rows {
        let key = key(row)?;
        if key.revoked_at.is_none() && key.has_mac(&held.rights, row.bytes(6)?) {
            let hash = key.hash(&held.rights);
            held.rights.sum.subtract(&hash);
        }
    }
    held.put(access).await
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
