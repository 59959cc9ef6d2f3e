//! Deletes contents that nothing shows any more: abandoned uploads, and contents of deleted files.

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::contents::{ContentId, IDLE_MAX};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlRow, SqlValue, lock_scope};
use crate::storage::snapshots::archives;

/// Contents that one statement finds.
const FOUND_MAX: i64 = 100;

const IDLE: &str = "
select tenant, content_id from contents
where tenant is not null and idle_since > 0 and idle_since < $1 order by idle_since limit $2";

const LOCKED: &str = "
select scope_id, idle_since from contents where tenant = $1 and content_id = $2 {lock}";

const SHOWN: &str = "
select 1 from items where tenant = $1 and content_id = $2
union all
select 1 from item_versions where tenant = $1 and content_id = $2
union all
select 1 from snapshot_archives where tenant = $1 and content_id = $2";

const IS_SHOWN: &str = "update contents set idle_since = 0 where tenant = $1 and content_id = $2";

/// The row first, under its lock: whoever adds a slice asks for it. Then what he has added.
const DROP: [&str; 3] = [
    "delete from contents where tenant = $1 and content_id = $2",
    "delete from content_parts where tenant = $1 and content_id = $2",
    "delete from content_slices where tenant = $1 and content_id = $2",
];

/// The chunks go with a collection of the scope, an hour later at the earliest. An entry that is there stays locked: a collection
/// that removed it before this transaction ends would not see what the transaction drops.
const LEAVE: &str = "
insert into garbage (tenant, thread_key, scope_id, created_at) values ($1, $2, $2, $3)
on conflict (tenant, thread_key) do update set scope_id = excluded.scope_id where false";

/// Removes what nothing has used or shown for a day.
///
/// # Errors
/// A database that cannot be written.
pub async fn sweep(engine: &dyn Accessible, now: Micros) -> Result<()> {
    loop {
        let mut access = engine.begin_read().await?;
        let idle = access.rows(IDLE, &[(now - IDLE_MAX).into(), FOUND_MAX.into()]).await?;
        access.end().await?;
        for row in &idle {
            let id = ContentId::stored(row.bytes(1)?)?;
            drop_unshown(engine, row.text(0)?, id, now).await?;
        }
        if (idle.len() as u64) < FOUND_MAX.unsigned_abs() {
            return Ok(());
        }
    }
}

const SCOPE: &str = "select scope_id from contents where tenant = $1 and content_id = $2";

/// Removes a content unless something shows it. Whether it was there.
///
/// # Errors
/// A database that cannot be written.
pub async fn drop_unshown(
    engine: &dyn Accessible,
    tenant: &str,
    id: ContentId,
    now: Micros,
) -> Result<bool> {
    let place = [tenant.into(), SqlValue::from(&id.0[..])];
    let mut access = engine.begin_write().await?;
    // The scope lock comes first; the scope of a content stays the same.
    if let Some(row) = access.rows(SCOPE, &place).await?.first() {
        lock_scope(&mut *access, engine.dialect(), tenant, row.integer(0)?).await?;
    }
    let was_there = if is_shown(&mut *access, engine.dialect(), &place).await? {
        access.rows(IS_SHOWN, &place).await?;
        false
    } else {
        drop_content(&mut *access, engine.dialect(), &place, now).await?
    };
    access.end().await?;
    Ok(was_there)
}

/// Removes a content that failed, with its chunks.
///
/// # Errors
/// A database that cannot be written.
pub(super) async fn discard(
    engine: &dyn Accessible,
    caller: &Caller,
    id: ContentId,
    now: Micros,
) -> Result<()> {
    let tenant = caller.tenant.as_str();
    let mut access = engine.begin_read().await?;
    let found = access.rows(SCOPE, &[tenant.into(), SqlValue::from(&id.0[..])]).await?;
    access.end().await?;
    let Some(row) = found.first() else { return Ok(()) };
    let scope_id = row.integer(0)?;
    drop_unshown(engine, tenant, id, now).await?;
    engine.remove_unreachable(tenant, scope_id, scope_id).await
}

/// $3 the attempt. One that arrived meanwhile is a part.
const DROP_PART: &str = "
delete from content_slices where tenant = $1 and content_id = $2 and attempt = $3 and start_at < 0
    and not exists (select 1 from content_parts p
        where p.tenant = $1 and p.content_id = $2 and p.attempt = $3)
returning scope_id";

/// Removes slices of a part that did not arrive whole, with their chunks.
///
/// # Errors
/// A database that cannot be written.
pub(super) async fn discard_part(
    engine: &dyn Accessible,
    (tenant, id): (&str, ContentId),
    attempt: i64,
    now: Micros,
) -> Result<()> {
    let place = [tenant.into(), SqlValue::from(&id.0[..])];
    let mut access = engine.begin_write().await?;
    let Some(row) = access.rows(SCOPE, &place).await?.pop() else {
        return access.end().await;
    };
    let scope_id = row.integer(0)?;
    lock_scope(&mut *access, engine.dialect(), tenant, scope_id).await?;
    // As the end of the upload does, which drops the same slices.
    access.rows(&engine.dialect().fill(LOCKED), &place).await?;
    let dropped = access.rows(DROP_PART, &[&place[..], &[attempt.into()]].concat()).await?;
    leave_chunks(&mut *access, tenant, &dropped, now).await?;
    access.end().await?;
    if dropped.is_empty() {
        return Ok(());
    }
    engine.remove_unreachable(tenant, scope_id, scope_id).await
}

async fn is_shown(
    access: &mut dyn Access,
    dialect: &Dialect,
    place: &[SqlValue; 2],
) -> Result<bool> {
    // Locked before it is looked at: what is about to be shown was touched lately.
    access.rows(&dialect.fill(LOCKED), place).await?;
    Ok(!access.rows(SHOWN, place).await?.is_empty())
}

/// Removes a content, in a transaction that holds the scope lock if it is an archive.
///
/// # Errors
/// A database that cannot be written.
pub async fn drop_content(
    access: &mut dyn Access,
    dialect: &Dialect,
    place: &[SqlValue; 2],
    now: Micros,
) -> Result<bool> {
    let found = access.rows(&dialect.fill(LOCKED), place).await?;
    let Some(row) = found.first() else { return Ok(false) };
    for text in DROP {
        access.rows(text, place).await?;
    }
    access.rows(LEAVE, &[place[0].clone(), row.integer(0)?.into(), now.into()]).await?;
    archives::forget(access, place).await?;
    Ok(true)
}

/// Leaves the chunks of slices that were dropped to a collection. Each row has their scope, which is one.
pub(super) async fn leave_chunks(
    access: &mut dyn Access,
    tenant: &str,
    dropped: &[SqlRow],
    now: Micros,
) -> Result<()> {
    if let Some(row) = dropped.first() {
        access.rows(LEAVE, &[tenant.into(), row.integer(0)?.into(), now.into()]).await?;
    }
    Ok(())
}
