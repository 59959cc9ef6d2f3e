//! Notes and removes hidden rows that no snapshot shows: those of one that is being made or removed. Their number is noted before the rows
//! are written. So a crash leaves work for the sweep, and never rows that nobody finds.
//!
//! **Invariant:** a number is either removed or shown. A removal claims the note first, and a show deletes a note that nobody has claimed.
//! So a commit whose answer was lost loses nothing, nor does one that comes as the sweep begins.

use super::{archives, items, sessions};
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::names::ThreadId;
use crate::storage::db::access::{Access, Accessible, Dialect, SqlRow, SqlValue, lock_scope};

const FORGET: &str = "delete from snapshot_leftovers where tenant = $1 and snapshot_no = $2";

/// Threads that one transaction cuts off.
const SLICE_THREADS: i64 = 100;

/// $1 tenant, $2 number, $3 now.
const NOTE: &str =
    "insert into snapshot_leftovers (tenant, snapshot_no, created_at) values ($1, $2, $3)";
const NOTE_AGAIN: &str =
    "insert into snapshot_leftovers (tenant, snapshot_no, created_at) values ($1, $2, $3)
    on conflict (tenant, snapshot_no) do nothing";

/// $1 tenant, $2 the hidden thread, $3 now.
const CUT_OFF: [&str; 4] = [
    "insert into garbage (tenant, thread_key, scope_id, created_at, owner)
     select t.tenant, t.thread_key, t.scope_id, $3, t.owner from threads t where t.tenant = $1 and t.thread_id = $2",
    "delete from scope_holders where tenant = $1 and kind = 'thread' and $3 > 0 and (scope_id, holder) in
        (select t.scope_id, {holder} from threads t where t.tenant = $1 and t.thread_id = $2)",
    "update scopes set epoch = epoch + 1 where tenant = $1 and $3 > 0 and scope_id in
        (select t.scope_id from threads t where t.tenant = $1 and t.thread_id = $2)",
    "delete from threads where tenant = $1 and thread_id = $2 and $3 > 0",
];

/// For the transaction that makes hidden rows, or one before it.
///
/// # Errors
/// A database that cannot be written.
pub async fn note(access: &mut dyn Access, tenant: &str, number: i64, now: Micros) -> Result<()> {
    access.rows(NOTE, &[tenant.into(), number.into(), now.into()]).await?;
    Ok(())
}

/// What was left is a snapshot now. False: the sweep took it for that of a crash.
///
/// # Errors
/// A database that cannot be written.
pub async fn settle(access: &mut dyn Access, tenant: &str, number: i64) -> Result<bool> {
    let text = "delete from snapshot_leftovers
        where tenant = $1 and snapshot_no = $2 and created_at > 0 returning snapshot_no";
    Ok(!access.rows(text, &[tenant.into(), number.into()]).await?.is_empty())
}

/// From here on it is never shown. False: a snapshot has it. One whose note the sweep took is noted again: what made it may have
/// gone on for longer than notes are left for, and nobody else would find the rest.
async fn claim(engine: &dyn Accessible, tenant: &str, number: i64) -> Result<bool> {
    const CLAIM: &str = "update snapshot_leftovers set created_at = 0
        where tenant = $1 and snapshot_no = $2 returning snapshot_no";
    const SHOWN: &str = "select 1 from snapshots where tenant = $1 and snapshot_no = $2";
    let place = [tenant.into(), number.into()];
    let mut access = engine.begin_write().await?;
    let mut claimed = !access.rows(CLAIM, &place).await?.is_empty();
    if !claimed && access.rows(SHOWN, &place).await?.is_empty() {
        access.rows(NOTE_AGAIN, &[&place[..], &[0.into()]].concat()).await?;
        claimed = true;
    }
    access.end().await?;
    Ok(claimed)
}

/// Removes everything under a number that no snapshot has, in slices, and then its note. Safe to repeat.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove(engine: &dyn Accessible, tenant: &str, number: i64, now: Micros) -> Result<()> {
    if !claim(engine, tenant, number).await? {
        return Ok(());
    }
    archives::release(engine, (tenant, number), now).await?;
    loop {
        let mut access = engine.begin_write().await?;
        let mut gone = cut_off(engine, access.as_mut(), (tenant, number), now).await?;
        access.end().await?;
        // Gates are locked in one order, which two such sequences in one transaction would not be.
        let mut access = engine.begin_write().await?;
        gone.extend(sessions::cut_off(engine, access.as_mut(), (tenant, number), now).await?);
        let more = items::remove_slice(access.as_mut(), tenant, number, now).await?;
        if gone.is_empty() && !more {
            access.rows(FORGET, &[tenant.into(), number.into()]).await?;
            return access.end().await;
        }
        access.end().await?;
        for (thread_key, scope_id) in gone {
            engine.remove_unreachable(tenant, thread_key, scope_id).await?;
        }
    }
}

/// One slice of threads becomes garbage, under their scope locks in the order of batches. Answers keys and scopes.
async fn cut_off(
    engine: &dyn Accessible,
    access: &mut dyn Access,
    (tenant, number): (&str, i64),
    now: Micros,
) -> Result<Vec<(i64, i64)>> {
    let hidden = threads(access, tenant, number).await?;
    let mut scopes = hidden.iter().map(|it| it.integer(2)).collect::<Result<Vec<i64>>>()?;
    scopes.sort_unstable();
    scopes.dedup();
    for scope_id in &scopes {
        lock_scope(access, engine.dialect(), tenant, *scope_id).await?;
    }
    let mut gone = Vec::new();
    // Again under the scope locks: another server may be at it.
    for row in threads(access, tenant, number).await? {
        if !scopes.contains(&row.integer(2)?) {
            continue;
        }
        cut_off_row(access, engine.dialect(), (tenant, row.text(0)?), now).await?;
        gone.push((row.integer(1)?, row.integer(2)?));
    }
    Ok(gone)
}

/// One hidden thread, under its scope lock.
///
/// # Errors
/// A database that cannot be written.
pub async fn cut_off_thread(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, hidden): (&str, &ThreadId),
    now: Micros,
) -> Result<()> {
    cut_off_row(access, dialect, (tenant, hidden.as_str()), now).await
}

async fn cut_off_row(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, hidden): (&str, &str),
    now: Micros,
) -> Result<()> {
    for text in CUT_OFF {
        access.rows(&dialect.fill(text), &[tenant.into(), hidden.into(), now.into()]).await?;
    }
    Ok(())
}

/// (id, key, scope)
async fn threads(access: &mut dyn Access, tenant: &str, number: i64) -> Result<Vec<SqlRow>> {
    let text = "select t.thread_id, t.thread_key, t.scope_id from threads t
        where t.tenant = $1 and t.thread_id > $2 and t.thread_id < $3 order by t.thread_id limit $4";
    let (first, end) = ThreadId::hidden_range(number);
    let binds =
        [SqlValue::from(tenant), first.as_str().into(), end.as_str().into(), SLICE_THREADS.into()];
    access.rows(text, &binds).await
}
