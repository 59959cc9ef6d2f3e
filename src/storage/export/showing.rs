//! Makes staged rows a thread, in one transaction.

use serde_json::json;

use super::{has_removed, lost, removed};
use crate::content::keys::TenantSecret;
use crate::domain::clock::{random_hex, random_id};
use crate::domain::export::records::{Existing, Staged, ThreadHead};
use crate::domain::threads::alias::stored_alias;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlValue, lock_scope};
use crate::storage::sessions::rows::{Rows, bytes, number};
use crate::storage::threads::details::put_details;
use crate::storage::tokens::owner_macs::OwnerRow;

/// What is there now. $1 tenant, $2 thread.
const FOUND: &str = "
select t.thread_key, t.scope_id, t.fence,
    coalesce(t.lease_holder is not null and t.lease_expires_at > {now}, false)
from threads t where t.tenant = $1 and t.thread_id = $2";

const LEFT: &str = "
delete from thread_tombstones where tenant = $1 and thread_id = $2 returning fence";

/// The old rows become garbage under their own keys.
const BURY: [&str; 4] = [
    "insert into garbage (tenant, thread_key, scope_id, created_at, owner)
     select t.tenant, t.thread_key, t.scope_id, {now}, t.owner from threads t
     where t.tenant = $1 and t.thread_id = $2",
    "delete from scope_holders where tenant = $1 and kind = 'thread' and (scope_id, holder) in (
        select t.scope_id, {holder} from threads t where t.tenant = $1 and t.thread_id = $2)",
    "update scopes set epoch = epoch + 1 where tenant = $1 and scope_id in (
        select t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2)",
    "delete from threads where tenant = $1 and thread_id = $2",
];

const SCOPE: &str = "insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $2, $3, $4)";

const HOLD: &str = "
insert into scope_holders (tenant, scope_id, kind, holder)
select t.tenant, t.scope_id, 'thread', {holder} from threads t where t.tenant = $1 and t.thread_id = $2";

const TAKE: &str = "delete from garbage where tenant = $1 and thread_key = $2 returning thread_key";

/// Rounds of retention leave out what has not changed since they were there; this has come from elsewhere.
const LOOK_AGAIN: &str = "
update retention_policies set swept_to = null
where tenant = $1 and (kind = 'tenant' or thread_id = $2) and swept_to is not null";

/// Answers the keys of what was replaced.
pub async fn show(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    (staged, head): (&Staged, &ThreadHead),
    existing: Existing,
) -> Result<Option<(i64, i64)>> {
    head.details.check()?;
    let dialect = engine.dialect();
    let mut access = engine.begin_write().await?;
    let place = [SqlValue::from(tenant), head.thread_id.as_str().into()];
    let old = find(&mut *access, dialect, &place).await?;
    let mut fence = head.fence;
    let mut generation = head.generation.clone();
    if let Some(old) = &old {
        if existing == Existing::Refuse {
            let name = head.thread_id.clone();
            return Err(Error::Conflict(Conflict::ImportConflict { noun: "the thread", name }));
        }
        if old.is_leased {
            return Err(Error::Conflict(Conflict::LeaseHeld));
        }
        for text in BURY {
            access.rows(&dialect.fill(text), &place).await?;
        }
    }
    let left = access.rows(LEFT, &place).await?;
    let left = left.first().map(|row| row.integer(0)).transpose()?;
    let known: Vec<i64> = old.iter().map(|it| it.fence).chain(left).collect();
    if let Some(last) = known.iter().max() {
        // The generation of the file may be an earlier one of this thread: who knew it then, or holds a fence that has run out, would
        // take this for what he knows.
        generation = random_hex();
        fence = fence.max(last + i64::from(*last > 0));
    } else if has_removed(&mut *access, tenant).await? {
        // What is remembered of a deleted thread is forgotten after a week.
        generation = random_hex();
    }
    let mac =
        OwnerRow::thread(&head.thread_id, (staged.key, staged.scope_id), head.owner.as_deref())
            .mac(secret);
    let made = (&place, generation, fence, mac);
    put_thread(&mut *access, dialect, (staged, head), made).await?;
    let ids = (staged.key, staged.scope_id);
    put_details(&mut *access, dialect, (tenant, secret), ids, &head.details).await?;
    access.rows(LOOK_AGAIN, &place).await?;
    let taken = access.rows(TAKE, &[tenant.into(), staged.key.into()]).await?;
    if taken.is_empty() {
        return Err(lost());
    }
    access.end().await?;
    Ok(old.map(|it| (it.thread_key, it.scope_id)))
}

struct Old {
    thread_key: i64,
    scope_id: i64,
    fence: i64,
    is_leased: bool,
}

/// The thread, locked: its scope lock first, as for every write.
async fn find(
    access: &mut dyn Access,
    dialect: &Dialect,
    place: &[SqlValue; 2],
) -> Result<Option<Old>> {
    let SqlValue::Text(tenant) = &place[0] else { return Ok(None) };
    let text = dialect.fill(FOUND);
    let Some(row) = access.rows(&text, place).await?.into_iter().next() else { return Ok(None) };
    let scope_id = row.integer(1)?;
    lock_scope(access, dialect, tenant, scope_id).await?;
    let locked = dialect.fill(&format!("{FOUND} {{lock}}"));
    let again = access.rows(&locked, place).await?.into_iter().next();
    let Some(row) = again.filter(|it| it.integer(1).ok() == Some(scope_id)) else {
        return Err(removed());
    };
    Ok(Some(Old {
        thread_key: row.integer(0)?,
        scope_id,
        fence: row.integer(2)?,
        is_leased: row.integer(3)? != 0,
    }))
}

async fn put_thread(
    access: &mut dyn Access,
    dialect: &Dialect,
    (staged, head): (&Staged, &ThreadHead),
    (place, generation, fence, mac): (&[SqlValue; 2], String, i64, Option<Vec<u8>>),
) -> Result<()> {
    let next_no = i64::try_from(staged.versions.len() + 1);
    let next_no = next_no.map_err(|_| Error::Internal("too many values".into()))?;
    let scope = [place[0].clone(), staged.scope_id.into(), random_id().into(), next_no.into()];
    access.rows(SCOPE, &scope).await?;
    let mut rows = Rows::default();
    let mac = rows.optional(mac.as_deref());
    rows.push(json!([
        staged.key,
        staged.scope_id,
        generation,
        fence,
        head.created_at,
        head.updated_at,
        head.last_step,
        staged.checkpoints,
        staged.size_bytes,
        head.owner,
        head.graph_id,
        head.assistant_id,
        head.user_id,
        mac.0,
        mac.1,
        alias_of(&place[1]),
    ]));
    let binds = [rows.binds(), place.to_vec()].concat();
    access.rows(&dialect.fill(&thread_text()), &binds).await?;
    access.rows(&dialect.fill(HOLD), place).await?;
    Ok(())
}

fn alias_of(thread_id: &SqlValue) -> Option<String> {
    let SqlValue::Text(thread_id) = thread_id else { return None };
    stored_alias(thread_id)
}

/// $3 tenant, $4 thread.
fn thread_text() -> String {
    let [key, scope, fence, created, updated, step, count, size] =
        [0, 1, 3, 4, 5, 6, 7, 8].map(number);
    let mac = bytes(13);
    format!(
        "insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
            last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac, alias)
         select $3, $4, {key}, {scope}, j.value ->> 2, {fence}, {created}, {updated}, {step}, {count}, {size},
            j.value ->> 9, j.value ->> 10, j.value ->> 11, j.value ->> 12, {mac},
            j.value ->> 15 {{from_each}} where true"
    )
}
