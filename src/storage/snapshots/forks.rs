//! Forks threads. A hidden copy loses everything that is not on the path to the checkpoint, and then gets the requested name. This file
//! also counts the branches of a thread, and breaks leases.

use super::exchange::{Exchange, RAISE};
use super::recount::recount;
use super::{SnapshotEngine, answers, leftovers};
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros, random_id};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::contention::Contention;
use crate::domain::snapshots::restore::ThreadMove;
use crate::domain::snapshots::storage::{ForkThread, Forked};
use crate::domain::snapshots::{History, ThreadPart};
use crate::domain::tenants::audit::Act;
use crate::domain::threads::storage::CopyThread;
use crate::domain::threads::thread::THREAD;
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlValue, lock_scope};
use crate::storage::tenants::audit_rows::record;
use crate::storage::threads::thread_filter::OwnedThread;

/// $1 tenant, $2 thread key, $3 namespace, $4 checkpoint: the ids that stay of the namespace.
const WAY: &str = "with recursive way (id, parent) as (
    select c.checkpoint_id, c.parent_id from checkpoints c
    where c.tenant = $1 and c.thread_key = $2 and c.ns = $3 and c.checkpoint_id = $4
    union
    select c.checkpoint_id, c.parent_id from way w
    join checkpoints c on c.tenant = $1 and c.thread_key = $2 and c.ns = $3 and c.checkpoint_id = w.parent
)";

/// What of another namespace is newer than the checkpoint belongs to steps behind it. Ids are made in the order of time.
const OFF_THE_WAY: &str =
    "(ns = $3 and checkpoint_id not in (select id from way) or ns <> $3 and checkpoint_id > $4)";

/// # Errors
/// As `SnapshotStorage::fork_thread`.
pub async fn fork<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &ForkThread,
    now: Micros,
) -> Result<Forked> {
    let mut contention = Contention::default();
    loop {
        let number = random_id();
        let mut access = engine.begin_write().await?;
        let answer = answers::find(access.as_mut(), caller, request.idempotency.as_ref()).await?;
        if let Some(answer) = answer {
            access.end().await?;
            return Ok(answer);
        }
        leftovers::note(access.as_mut(), &caller.tenant, number, Clock::System.now()).await?;
        access.end().await?;
        let done = fork_once(engine, caller, request, (number, now)).await;
        if done.is_err() {
            leftovers::remove(engine, &caller.tenant, number, now).await?;
        }
        match done {
            Err(Error::Unavailable { .. }) if contention.may_try_again().await => {}
            done => return done,
        }
    }
}

async fn fork_once<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    request: &ForkThread,
    (number, now): (i64, Micros),
) -> Result<Forked> {
    let tenant = caller.tenant.as_str();
    let secret = &engine.session_secret(tenant).await?;
    let part = ThreadPart {
        part_no: 0,
        // Never the target's: a fork is not in place.
        thread_id: String::new(),
        generation: String::new(),
        history: History::All,
        checkpoints: 0,
        size_bytes: 0,
        owner: None,
    };
    let into = request.target.clone();
    let it = ThreadMove { part, into, fence: None, owner: None };
    let exchange = Exchange {
        caller,
        secret,
        dialect: engine.dialect(),
        at: 0,
        it: &it,
        staged: ThreadId::hidden(number, 0),
        replaced: ThreadId::hidden(number, 1),
    };
    let mut access = engine.begin_read().await?;
    let there = exchange.check(access.as_mut()).await?;
    let source = OwnedThread::by(caller, request.source.as_str(), Action::Read);
    let text = "select t.owner from threads t where t.tenant = $1 and t.thread_id = $2";
    let found = access.rows(text, &[tenant.into(), source.thread_id.into()]).await?;
    access.end().await?;
    if there.is_some() {
        return Err(Error::Conflict(Conflict::ThreadExists));
    }
    let owner = found.first().map(|row| row.optional_text(0)).transpose()?;
    let owner = owner.filter(|it| !source.is_taken(*it)).ok_or(Error::NotFound(THREAD))?;
    let owner = caller.subject.clone().or_else(|| owner.map(str::to_owned));
    let as_owner = Caller { subject: owner.clone(), ..Caller::of_tenant(tenant) };
    let copy = CopyThread {
        source: request.source.clone(),
        target: exchange.staged.clone(),
        idempotency: None,
        full: None,
    };
    engine.copy_thread(&as_owner, &copy).await?;
    let mut access = engine.begin_write().await?;
    if !leftovers::settle(access.as_mut(), tenant, number).await? {
        return Err(super::restore::again("the fork took too long"));
    }
    Exchange::lock_all(
        access.as_mut(),
        (engine.dialect(), tenant),
        std::slice::from_ref(&exchange),
        Vec::new(),
    )
    .await?;
    let checkpoint = (request.ns.as_str(), request.checkpoint_id.as_str());
    let place = (engine.dialect(), tenant);
    let checkpoints = cut(access.as_mut(), place, &exchange.staged, checkpoint).await?.checkpoints;
    let done = exchange.carry_out(access.as_mut(), owner).await?;
    let forked = Forked { checkpoints, generation: done.generation };
    let asked = request.idempotency.as_ref();
    answers::keep(access.as_mut(), caller, asked, &forked, now).await?;
    access.end().await?;
    Ok(forked)
}

/// Rows that are not on the way to a checkpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removed {
    pub checkpoints: i64,
    pub writes: i64,
}

/// What a hidden copy is after the cut.
pub struct Left {
    pub checkpoints: i64,
    pub removed: Removed,
}

/// Removes from the hidden copy what is not on the way to a checkpoint, which is (namespace, id).
///
/// # Errors
/// `NotFound` without such a checkpoint.
pub async fn cut(
    access: &mut dyn Access,
    (dialect, tenant): (&Dialect, &str),
    staged: &ThreadId,
    checkpoint: (&str, &str),
) -> Result<Left> {
    let text =
        "select t.thread_key, t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2";
    let rows = access.rows(text, &[tenant.into(), staged.as_str().into()]).await?;
    let row = rows.first().ok_or(Error::NotFound(THREAD))?;
    let (key, scope_id) = (row.integer(0)?, row.integer(1)?);
    let binds = way_to(access, (tenant, key), checkpoint).await?;
    let mut removed = [0; 3];
    // Writes and bases first: which checkpoints go is read from the checkpoints.
    for (count, table) in removed.iter_mut().zip(["writes", "delta_bases", "checkpoints"]) {
        let text = format!(
            "{WAY} delete from {table} where tenant = $1 and thread_key = $2 and {OFF_THE_WAY} returning 1"
        );
        *count = i64::try_from(access.rows(&text, &binds).await?.len()).unwrap_or(i64::MAX);
    }
    let [writes, _, checkpoints] = removed;
    let removed = Removed { checkpoints, writes };
    let checkpoints = recount(access, dialect, (tenant, key, scope_id)).await?;
    Ok(Left { checkpoints, removed })
}

/// How much [`cut`] would remove from a thread, which is (tenant, key).
///
/// # Errors
/// As [`cut`].
pub async fn count_removed(
    access: &mut dyn Access,
    thread: (&str, i64),
    checkpoint: (&str, &str),
) -> Result<Removed> {
    let binds = way_to(access, thread, checkpoint).await?;
    let count = |table| {
        format!(
            "(select count(*) from {table} where tenant = $1 and thread_key = $2 and {OFF_THE_WAY})"
        )
    };
    let text = format!("{WAY} select {}, {}", count("checkpoints"), count("writes"));
    let rows = access.rows(&text, &binds).await?;
    Ok(Removed { checkpoints: rows[0].integer(0)?, writes: rows[0].integer(1)? })
}

/// What the statements over [`WAY`] bind, where the checkpoint is there.
async fn way_to(
    access: &mut dyn Access,
    (tenant, key): (&str, i64),
    (ns, id): (&str, &str),
) -> Result<[SqlValue; 4]> {
    let binds = [SqlValue::from(tenant), key.into(), ns.into(), id.into()];
    let text = format!("{WAY} select id from way");
    if access.rows(&text, &binds).await?.is_empty() {
        return Err(Error::NotFound("checkpoint"));
    }
    Ok(binds)
}

/// # Errors
/// A database that cannot be read.
pub async fn count<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    thread_id: &ThreadId,
) -> Result<i64> {
    let of_root =
        "c.tenant = $1 and c.thread_key = t.thread_key and c.ns = '' and c.parent_id is not null";
    let probe = engine.dialect().probe_all("parent_id", "checkpoints", "c", of_root);
    let text = format!(
        "select count(*) from (
            select c.parent_id from threads t {probe}
            where t.tenant = $1 and t.thread_id = $2 and ($4 = 0 or t.owner = $3)
            group by c.parent_id having count(*) > 1) forks"
    );
    let owner = caller.thread_owner(thread_id.as_str(), Action::Read);
    let binds = [
        SqlValue::from(caller.tenant.as_str()),
        thread_id.as_str().into(),
        owner.unwrap_or_default().into(),
        i64::from(owner.is_some()).into(),
    ];
    let rows = engine.search_rows(&caller.tenant, &text, &binds).await?;
    rows[0].integer(0)
}

/// # Errors
/// A database that cannot be written.
pub async fn break_lease<T: SnapshotEngine>(
    engine: &T,
    caller: &Caller,
    thread_id: &ThreadId,
    act: &Act,
) -> Result<bool> {
    // The fence grows, so that the former holder is refused also while nobody holds it.
    const BREAK: &str = "
        update threads set lease_holder = null, lease_expires_at = null, fence = fence + 1
        where tenant = $1 and thread_id = $2 and lease_holder is not null returning fence";
    let binds = [SqlValue::from(caller.tenant.as_str()), thread_id.as_str().into()];
    let mut access = engine.begin_write().await?;
    let text = "select t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2";
    let found = access.rows(text, &binds).await?;
    let Some(row) = found.first() else {
        access.end().await?;
        return Ok(false);
    };
    lock_scope(access.as_mut(), engine.dialect(), &caller.tenant, row.integer(0)?).await?;
    let is_broken = !access.rows(BREAK, &binds).await?.is_empty();
    if is_broken {
        access.rows(RAISE, &binds).await?;
        record(access.as_mut(), act).await?;
    }
    access.end().await?;
    Ok(is_broken)
}
