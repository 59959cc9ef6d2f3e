//! Takes a snapshot: everything is copied at one moment under hidden names, heads are pruned to what they need, and one row makes it
//! visible. A crash before that leaves leftovers.

use super::items::Items;
use super::listing::get;
use super::rows::insert;
use super::{SnapshotEngine, archives, leftovers, sessions};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::limits::LIMITS;
use crate::domain::names::{SnapshotId, ThreadId};
use crate::domain::snapshots::archives::{ARCHIVE, Archive, ArchiveStorage as _};
use crate::domain::snapshots::take::{TakeSnapshot, TakeThread, Taken};
use crate::domain::snapshots::{History, NamespacePart, Snapshot, ThreadPart};
use crate::domain::threads::retention::{PruneRequest, Rule};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, SqlValue};
use crate::storage::tokens::owner_macs::OwnerRow;

/// # Errors
/// As `SnapshotStorage::take_snapshot`.
pub async fn take<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &TakeSnapshot,
    now: Micros,
) -> Result<Taken> {
    let id = request.id.clone().unwrap_or_else(SnapshotId::made_up);
    let archive = match request.archive {
        Some(it) => Some(engine.find_archive(caller, it).await?.ok_or(Error::NotFound(ARCHIVE))?),
        None => None,
    };
    let digest = request.digest(archive.as_ref());
    if let Some(snapshot) = same(engine, caller, &id, &digest).await? {
        return Ok(Taken { snapshot, is_new: false });
    }
    check_items(engine, caller, request, now).await?;
    let number = random_id();
    let what = (request, archive, &digest[..]);
    let made = make(engine, caller, (&id, number), what, now).await;
    if !matches!(made, Ok(Some(_))) {
        leftovers::remove(engine, &caller.tenant, number, Clock::System.now()).await?;
    }
    if let Some(snapshot) = made? {
        return Ok(Taken { snapshot, is_new: true });
    }
    // The same id at the same moment, and the other one was first; or it is another's.
    let snapshot = same(engine, caller, &id, &digest).await?;
    let snapshot = snapshot.ok_or(Error::SnapshotIdTaken)?;
    Ok(Taken { snapshot, is_new: false })
}

/// Before anything is copied.
async fn check_items<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &TakeSnapshot,
    now: Micros,
) -> Result<()> {
    if request.namespaces.is_empty() {
        return Ok(());
    }
    let items = Items { sql: engine.item_sql(), tenant: &caller.tenant, number: 0, now };
    let secret = engine.session_secret(&caller.tenant).await?;
    let mut access = engine.begin_read().await?;
    let mut count = 0;
    for namespace in &request.namespaces {
        check_root(access.as_mut(), (&caller.tenant, &secret), namespace.root()).await?;
        count += items.count_live(access.as_mut(), namespace).await?;
    }
    access.end().await?;
    let max = LIMITS.snapshot_items_max;
    if count.unsigned_abs() > max {
        let detail = format!("namespaces hold {count} items, at most {max} are allowed");
        return Err(Error::out_of_range("namespaces", detail, max));
    }
    Ok(())
}

/// Its scope is what is locked while the items are copied.
async fn check_root(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    root: &str,
) -> Result<()> {
    let text = "select scope_id, mac from namespace_roots where tenant = $1 and root = $2";
    let found = access.rows(text, &[tenant.into(), root.into()]).await?;
    let Some(row) = found.first() else { return Ok(()) };
    OwnerRow::root(root, row.integer(0)?).check(secret, row.optional_bytes(1)?)
}

/// The snapshot of this id, if it has these contents. One that the caller does not reach is not looked at: whether there is one
/// shows only who could have taken it.
async fn same<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    id: &SnapshotId,
    digest: &[u8],
) -> Result<Option<Snapshot>> {
    let mut access = engine.begin_read().await?;
    let text = "select digest from snapshots where tenant = $1 and snapshot_id = $2";
    let binds = [caller.tenant.as_str().into(), id.as_str().into()];
    let found = access.rows(text, &binds).await?;
    access.end().await?;
    let Some(row) = found.first() else { return Ok(None) };
    let Some(snapshot) = get(engine, caller, id, Action::Append).await? else { return Ok(None) };
    if row.bytes(0)? == digest { Ok(Some(snapshot)) } else { Err(Error::SnapshotIdTaken) }
}

/// None: there is a snapshot of this id by now.
async fn make<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    (id, number): (&SnapshotId, i64),
    (request, archive, digest): (&TakeSnapshot, Option<Archive>, &[u8]),
    now: Micros,
) -> Result<Option<Snapshot>> {
    let tenant = caller.tenant.as_str();
    let mut access = engine.begin_adding().await?;
    leftovers::note(access.as_mut(), tenant, number, Clock::System.now()).await?;
    access.end().await?;
    let taken_at = engine.copy_now(caller, number, request, now).await?;
    keep_heads(engine, tenant, number, &request.threads).await?;
    let secret = engine.session_secret(tenant).await?;
    let mut access = engine.begin_write().await?;
    if !leftovers::settle(access.as_mut(), tenant, number).await? {
        return Err(Error::Unavailable {
            detail: "the snapshot took too long".into(),
            retry_after: std::time::Duration::from_secs(1),
        });
    }
    let snapshot = Snapshot {
        id: id.as_str().to_owned(),
        no: number,
        owner: caller.subject.clone(),
        created_at: now,
        taken_at,
        expires_at: request.expires_at(now),
        labels: request.labels.clone(),
        document: request.document.clone(),
        namespaces: namespace_parts(engine, access.as_mut(), (tenant, number), request).await?,
        sessions: sessions::parts(
            access.as_mut(),
            ((tenant, &secret), number),
            &request.sessions,
            request.threads.len() + request.namespaces.len(),
        )
        .await?,
        threads: thread_parts(access.as_mut(), (tenant, &secret), number, &request.threads).await?,
        archive,
    };
    if !insert(access.as_mut(), (tenant, &secret), &snapshot, digest).await? {
        // Not ended: the number is among the leftovers again.
        return Ok(None);
    }
    if let Some(archive) = &snapshot.archive {
        archives::show(access.as_mut(), (tenant, number), archive.id).await?;
    }
    access.end().await?;
    Ok(Some(snapshot))
}

/// Removes from the hidden copies what a head does not need, as a prune does, delta bases first.
async fn keep_heads<T: SnapshotEngine>(
    engine: &T,
    tenant: &str,
    number: i64,
    threads: &[TakeThread],
) -> Result<()> {
    let heads = threads.iter().enumerate().filter(|(_, it)| it.history == History::Head);
    let thread_ids: Vec<ThreadId> = heads.map(|(at, _)| ThreadId::hidden(number, at)).collect();
    if thread_ids.is_empty() {
        return Ok(());
    }
    let request = PruneRequest { thread_ids, rule: Rule::KEEP_LATEST, dry_run: false };
    engine.prune_threads(&Caller::of_tenant(tenant), &request).await?;
    Ok(())
}

async fn namespace_parts<T: SnapshotEngine>(
    engine: &T,
    access: &mut dyn Access,
    (tenant, number): (&str, i64),
    request: &TakeSnapshot,
) -> Result<Vec<NamespacePart>> {
    let items = Items { sql: engine.item_sql(), tenant, number, now: 1 };
    let mut parts = Vec::new();
    for (at, namespace) in request.namespaces.iter().enumerate() {
        let (items, size_bytes) = items.count(access, namespace).await?;
        let part_no = i64::try_from(request.threads.len() + at).unwrap_or(i64::MAX);
        parts.push(NamespacePart { part_no, namespace: namespace.clone(), items, size_bytes });
    }
    Ok(parts)
}

/// What the hidden threads say of themselves.
async fn thread_parts(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    number: i64,
    threads: &[TakeThread],
) -> Result<Vec<ThreadPart>> {
    const TEXT: &str = "select generation, checkpoint_count, size_bytes, owner, thread_key, scope_id, mac from threads
        where tenant = $1 and thread_id = $2";
    let mut parts = Vec::new();
    for (at, thread) in threads.iter().enumerate() {
        let hidden = ThreadId::hidden(number, at);
        let rows = access.rows(TEXT, &[SqlValue::from(tenant), hidden.as_str().into()]).await?;
        let gone = || Error::Unavailable {
            detail: "the thread was erased meanwhile".into(),
            retry_after: std::time::Duration::from_millis(100),
        };
        let row = rows.first().ok_or_else(gone)?;
        let ids = (row.integer(4)?, row.integer(5)?);
        let copy = OwnerRow::thread(hidden.as_str(), ids, row.optional_text(3)?);
        copy.check(secret, row.optional_bytes(6)?)?;
        parts.push(ThreadPart {
            part_no: i64::try_from(at).unwrap_or(i64::MAX),
            thread_id: thread.thread_id.as_str().to_owned(),
            generation: row.text(0)?.to_owned(),
            history: thread.history,
            checkpoints: row.integer(1)?,
            size_bytes: row.integer(2)?,
            owner: row.optional_text(3)?.map(str::to_owned),
        });
    }
    Ok(parts)
}
