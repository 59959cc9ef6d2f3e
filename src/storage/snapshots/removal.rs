//! Removes snapshots: by request, when they expire, and when a subject is erased whose data they keep.

use super::item_sql::ItemSql;
use super::{SnapshotEngine, archives, items, leftovers, sessions};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::label::labels;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::sessions::name::SessionName;
use crate::domain::store::namespace::Namespace;
use crate::domain::tenants::audit::Act;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Accessible, SqlValue, lock_scope};
use crate::storage::store::namespaces;
use crate::storage::tenants::audit_rows::record;

/// What a server that died left behind; younger numbers may still be worked on.
const LEFT_FOR: Micros = 3_600 * 1_000_000;
const SLICE_SNAPSHOTS: i64 = 100;

/// Whether there was one that the caller may remove.
///
/// # Errors
/// A database that cannot be written.
pub async fn delete<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    id: &SnapshotId,
    act: &Act,
) -> Result<bool> {
    let Some(found) = super::listing::get(engine, caller, id, Action::Write).await? else {
        return Ok(false);
    };
    let tenant = caller.tenant.as_str();
    let mut access = engine.begin_write().await?;
    if !forget(access.as_mut(), tenant, found.no, act.at).await? {
        access.end().await?;
        return Ok(false);
    }
    record(access.as_mut(), act).await?;
    access.end().await?;
    leftovers::remove(engine, tenant, found.no, Clock::System.now()).await?;
    Ok(true)
}

/// From here on nobody finds it; its rows are leftovers. False: it is gone already.
///
/// # Errors
/// A database that cannot be written.
pub async fn forget(
    access: &mut dyn Access,
    tenant: &str,
    number: i64,
    now: Micros,
) -> Result<bool> {
    let binds = [SqlValue::from(tenant), number.into()];
    let text = "delete from snapshots where tenant = $1 and snapshot_no = $2 returning snapshot_no";
    if access.rows(text, &binds).await?.is_empty() {
        return Ok(false);
    }
    let text = "delete from snapshot_parts where tenant = $1 and snapshot_no = $2";
    access.rows(text, &binds).await?;
    leftovers::note(access, tenant, number, now).await?;
    Ok(true)
}

/// Removes what has expired and what was left behind, of all tenants.
///
/// # Errors
/// A database that cannot be written.
pub async fn sweep(engine: &dyn Accessible, now: Micros) -> Result<()> {
    let mut access = engine.begin_read().await?;
    let text = "select tenant, snapshot_no from snapshots
        where expires_at > 0 and expires_at <= $1 and tenant is not null order by expires_at limit $2";
    let expired = access.rows(text, &[now.into(), SLICE_SNAPSHOTS.into()]).await?;
    let text = "select tenant, snapshot_no from snapshot_leftovers
        where created_at < $1 and tenant is not null limit $2";
    let left = access.rows(text, &[(now - LEFT_FOR).into(), SLICE_SNAPSHOTS.into()]).await?;
    access.end().await?;
    for row in &expired {
        let (tenant, number) = (row.text(0)?, row.integer(1)?);
        let mut access = engine.begin_write().await?;
        forget(access.as_mut(), tenant, number, now).await?;
        access.end().await?;
        leftovers::remove(engine, tenant, number, now).await?;
    }
    for row in &left {
        leftovers::remove(engine, row.text(0)?, row.integer(1)?, now).await?;
    }
    Ok(())
}

/// One slice of an erasure: snapshots that the subject made, and what is the subject's in those of others.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase(engine: &dyn Accessible, tenant: &str, subject: &str) -> Result<Slice> {
    let now = Clock::System.now();
    let binds = [SqlValue::from(tenant), subject.into(), SLICE_SNAPSHOTS.into()];
    let mut access = engine.begin_read().await?;
    let text = "select snapshot_no from snapshots where tenant = $1 and owner = $2 limit $3";
    let own = access.rows(text, &binds).await?;
    let text = "select snapshot_no, part_no, kind from snapshot_parts
        where tenant = $1 and owner = $2 limit $3";
    let parts = access.rows(text, &binds).await?;
    access.end().await?;
    let (contents, size_bytes) = archives::erase(engine, tenant, subject).await?;
    let mut removed = Receipt { contents, size_bytes, ..Receipt::default() };
    let mut items = false;
    for root in labels(subject) {
        items |= remove_below(engine, tenant, &Namespace::stored(vec![root]), now).await?;
    }
    for row in &own {
        let number = row.integer(0)?;
        let mut access = engine.begin_write().await?;
        let found = forget(access.as_mut(), tenant, number, now).await?;
        access.end().await?;
        leftovers::remove(engine, tenant, number, now).await?;
        removed.snapshots += u64::from(found);
    }
    for row in &parts {
        remove_part(engine, tenant, (row.integer(0)?, row.integer(1)?), now).await?;
    }
    let more = if own.is_empty() && parts.is_empty() && !items && contents == 0 {
        More::Nothing
    } else {
        More::Certainly
    };
    Ok(Slice { removed, thread_ids: Vec::new(), more })
}

/// Copies of items below a namespace, in everybody's snapshots, and the parts that are nothing else. False: there are none.
async fn remove_below(
    engine: &dyn Accessible,
    tenant: &str,
    below: &Namespace,
    now: Micros,
) -> Result<bool> {
    const PARTS: &str = "select p.snapshot_no, p.part_no from snapshot_parts p
        where p.tenant = $1 and p.kind = 'namespace' and p.name >= $2 and p.name < $3 limit $4";
    const OTHERS: &str = "select c.snapshot_no, min(c.size_bytes) from snapshot_items c
        where c.tenant = $1 and c.namespace >= {lo} and c.namespace < {hi} group by c.snapshot_no limit $4";
    let (from, to) = (namespaces::encode(below), namespaces::end(below).unwrap_or_default());
    let mut access = engine.begin_read().await?;
    let binds = [tenant.into(), SqlValue::Bytes(from), SqlValue::Bytes(to), SLICE_SNAPSHOTS.into()];
    let parts = access.rows(PARTS, &binds).await?;
    let sql = ItemSql::of(engine.dialect());
    let [lo, hi] = sql.bounds(below);
    let binds = [tenant.into(), lo.clone(), hi.clone(), SLICE_SNAPSHOTS.into()];
    let others = access.rows(&sql.fill(OTHERS), &binds).await?;
    access.end().await?;
    for row in &others {
        let mut access = engine.begin_write().await?;
        items::remove_below(access.as_mut(), sql, (tenant, row.integer(0)?), [&lo, &hi], now)
            .await?;
        access.end().await?;
    }
    for row in &parts {
        remove_part(engine, tenant, (row.integer(0)?, row.integer(1)?), now).await?;
    }
    Ok(!(parts.is_empty() && others.is_empty()))
}

/// The part, and the snapshot with its last one.
async fn remove_part(
    engine: &dyn Accessible,
    tenant: &str,
    (number, part): (i64, i64),
    now: Micros,
) -> Result<()> {
    let binds = [SqlValue::from(tenant), number.into(), part.into()];
    let at = usize::try_from(part).map_err(|_| Error::Integrity("a part has no number".into()))?;
    let hidden = ThreadId::hidden(number, at);
    let mut access = engine.begin_write().await?;
    let text =
        "select t.thread_key, t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2";
    let found = access.rows(text, &[SqlValue::from(tenant), hidden.as_str().into()]).await?;
    let mut gone = None;
    if let Some(row) = found.first() {
        let (thread_key, scope_id) = (row.integer(0)?, row.integer(1)?);
        lock_scope(access.as_mut(), engine.dialect(), tenant, scope_id).await?;
        leftovers::cut_off_thread(access.as_mut(), engine.dialect(), (tenant, &hidden), now)
            .await?;
        gone = Some((thread_key, scope_id));
    }
    let text = "delete from snapshot_parts where tenant = $1 and snapshot_no = $2 and part_no = $3
        returning kind, session_kind, name";
    if let Some(row) = access.rows(text, &binds).await?.first() {
        let session = SessionName::stored(row.text(1)?.to_owned(), row.bytes(2)?);
        if let Some(session) = session.filter(|_| row.text(0).is_ok_and(|it| it == "session")) {
            let (kind, key) = (session.hidden_kind(number), row.bytes(2)?);
            let place = (tenant, kind.as_str(), key);
            gone = sessions::remove_one(engine, access.as_mut(), place, now).await?;
        }
    }
    let text = "delete from snapshots where tenant = $1 and snapshot_no = $2 and not exists (
        select 1 from snapshot_parts p where p.tenant = $1 and p.snapshot_no = $2) returning snapshot_no";
    let was_last = !access.rows(text, &binds[..2]).await?.is_empty();
    if was_last {
        // Its archive goes with it: it is most likely of what was erased.
        leftovers::note(access.as_mut(), tenant, number, now).await?;
    }
    access.end().await?;
    if was_last {
        leftovers::remove(engine, tenant, number, now).await?;
    }
    if let Some((thread_key, scope_id)) = gone {
        engine.remove_unreachable(tenant, thread_key, scope_id).await?;
    }
    Ok(())
}
