//! Forks threads. A hidden copy loses everything that is not on the path to the checkpoint, and then gets the requested name. This file
//! also counts the branches of a thread, and breaks leases.

use super::exchange::{Exchange, RAISE};
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
use crate::storage::db::access::{Access, SqlValue, lock_scope};
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

/// $1 tenant, $2 thread key, $3 counters: checkpoints; bytes that went.
const COUNT: &str = "
update threads set size_bytes = size_bytes - $3, checkpoint_count = (
    select count(*) from checkpoints c where c.tenant = $1 and c.thread_key = $2)
where tenant = $1 and thread_key = $2 returning checkpoint_count";

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
    let checkpoints = cut(access.as_mut(), tenant, &exchange.staged, request).await?;
    let done = exchange.carry_out(access.as_mut(), owner).await?;
    let forked = Forked { checkpoints, generation: done.generation };
    let asked = request.idempotency.as_ref();
    answers::keep(access.as_mut(), caller, asked, &forked, now).await?;
    access.end().await?;
    Ok(forked)
}

/// Removes from the hidden copy what is not on the way. Answers how many checkpoints stay.
async fn cut(
    access: &mut dyn Access,
    tenant: &str,
    staged: &ThreadId,
    request: &ForkThread,
) -> Result<i64> {
    let text = "select t.thread_key from threads t where t.tenant = $1 and t.thread_id = $2";
    let rows = access.rows(text, &[tenant.into(), staged.as_str().into()]).await?;
    let key = rows.first().ok_or(Error::NotFound(THREAD))?.integer(0)?;
    let ids = [request.ns.as_str(), request.checkpoint_id.as_str()];
    let binds = [SqlValue::from(tenant), key.into(), ids[0].into(), ids[1].into()];
    let text = format!("{WAY} select id from way");
    if access.rows(&text, &binds).await?.is_empty() {
        return Err(Error::NotFound("checkpoint"));
    }
    let mut bytes = 0;
    // Writes and bases first: which checkpoints go is read from the checkpoints.
    for (table, size) in
        [("writes", "size_bytes"), ("delta_bases", "0"), ("checkpoints", "size_bytes")]
    {
        let text = format!(
            "{WAY} delete from {table} where tenant = $1 and thread_key = $2 and {OFF_THE_WAY} returning {size}"
        );
        let gone = access.rows(&text, &binds).await?;
        bytes += gone.iter().map(|row| row.integer(0)).sum::<Result<i64>>()?;
    }
    let rows = access.rows(COUNT, &[tenant.into(), key.into(), bytes.into()]).await?;
    rows.first().ok_or(Error::NotFound(THREAD))?.integer(0)
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
    let rows = engine.read_rows(&caller.tenant, &text, &binds).await?;
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
