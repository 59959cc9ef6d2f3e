//! Removes sessions: first nobody finds them any more, then slices remove their rows.

use super::rows::{SESSION_CONDITION, session_binds};
use super::{SessionEngine, former, memory_key};
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::sessions::name::SessionName;
use crate::domain::tenants::erasure::{More, Receipt, Slice};
use crate::domain::tokens::grants::Action;
use crate::storage::db::access::{Access, Accessible, Dialect, SqlValue, lock_scope};

/// Sessions that one transaction cuts off.
const SLICE_SESSIONS: i64 = 100;
/// Rows of what was removed that go in one transaction.
const SLICE_ROWS: i64 = 1_000;

const MAKE_ABSENT: [&str; 4] = [
    "insert into garbage (tenant, thread_key, scope_id, created_at, owner)
     select s.tenant, s.session_no, s.scope_id, $3, s.owner from sessions s where s.tenant = $1 and s.session_no = $2",
    "delete from scope_holders where tenant = $1 and kind = 'session' and holder = cast($2 as text) and scope_id =
        (select s.scope_id from sessions s where s.tenant = $1 and s.session_no = $2) and $3 > 0",
    "update scopes set epoch = epoch + 1 where tenant = $1 and scope_id =
        (select s.scope_id from sessions s where s.tenant = $1 and s.session_no = $2) and $3 > 0",
    "delete from sessions where tenant = $1 and session_no = $2 and $3 > 0",
];

/// The session with everything in it.
///
/// # Errors
/// A database that cannot be written.
pub async fn delete<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    now: Micros,
) -> Result<()> {
    let text = format!("select s.session_no, s.scope_id from sessions s where {SESSION_CONDITION}");
    let binds = session_binds(caller, session, Action::Write);
    let mut access = engine.begin_session_write().await?;
    let Some(found) = access.rows(&text, &binds).await?.pop() else { return access.end().await };
    lock_scope(access.as_mut(), engine.dialect(), &caller.tenant, found.integer(1)?).await?;
    // Again under the scope lock: it may have been another's meanwhile.
    let still = access.rows(&text, &binds).await?;
    let Some(row) = still.first().filter(|it| it.0 == found.0) else { return access.end().await };
    let (session_no, scope_id) = (row.integer(0)?, row.integer(1)?);
    let named = (caller.tenant.as_str(), session);
    former::remember_session(access.as_mut(), engine.dialect(), named, session_no).await?;
    make_absent(access.as_mut(), &caller.tenant, session_no, now).await?;
    access.end().await?;
    engine.sessions().forget(&caller.tenant, session);
    engine.session_chunks().forget(&caller.tenant, &memory_key(scope_id));
    engine.remove_unreachable(&caller.tenant, session_no, scope_id).await
}

/// From here on nobody finds it; under its scope lock.
///
/// # Errors
/// A database that cannot be written.
pub async fn make_absent(
    access: &mut dyn Access,
    tenant: &str,
    session_no: i64,
    now: Micros,
) -> Result<()> {
    for text in MAKE_ABSENT {
        access.rows(text, &[tenant.into(), session_no.into(), now.into()]).await?;
    }
    Ok(())
}

/// One slice of an erasure: sessions that the subject owns become absent.
///
/// # Errors
/// A database that cannot be written.
pub async fn erase<T: SessionEngine>(
    engine: &T,
    tenant: &str,
    subject: &str,
    now: Micros,
) -> Result<Slice> {
    let mut access = engine.begin_session_write().await?;
    let text = "select s.scope_id from sessions s where s.tenant = $1 and s.owner = $2
        order by s.scope_id limit $3";
    let binds = [tenant.into(), subject.into(), SLICE_SESSIONS.into()];
    let scopes = access.rows(text, &binds).await?;
    let mut removed = Receipt::default();
    for row in &scopes {
        let scope_id = row.integer(0)?;
        // In the order of scopes, as batches lock them.
        if !lock_scope(access.as_mut(), engine.dialect(), tenant, scope_id).await? {
            continue;
        }
        let text = "select s.session_no, s.kind, s.key, s.size_bytes from sessions s
            where s.tenant = $1 and s.scope_id = $2 and s.owner = $3";
        let binds = [tenant.into(), scope_id.into(), SqlValue::from(subject)];
        let Some(found) = access.rows(text, &binds).await?.pop() else { continue };
        make_absent(access.as_mut(), tenant, found.integer(0)?, now).await?;
        if let Some(name) = SessionName::stored(found.text(1)?.to_owned(), found.bytes(2)?) {
            engine.sessions().forget(tenant, &name);
        }
        engine.session_chunks().forget(tenant, &memory_key(scope_id));
        removed.sessions += 1;
        removed.size_bytes += found.integer(3)?.unsigned_abs();
    }
    access.end().await?;
    let more = match scopes.len() as u64 {
        0 => More::Nothing,
        SLICE => More::Certainly,
        _ => More::Perhaps,
    };
    Ok(Slice { removed, thread_ids: Vec::new(), more })
}

const SLICE: u64 = SLICE_SESSIONS.unsigned_abs();

/// One slice of the rows of removed streams and documents of a session that is still there, under its scope lock. False: there are no more.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove_slice(
    access: &mut dyn Access,
    dialect: &Dialect,
    tenant: &str,
    scope_id: i64,
) -> Result<bool> {
    const FIRST: &str = "
        select l.session_no, l.name, l.log_no, l.era, l.floor, coalesce(l.ceiling, l.head) from session_logs l
        join sessions s on s.tenant = l.tenant and s.session_no = l.session_no
        where s.tenant = $1 and s.scope_id = $2 and l.kind = 3 limit 1";
    const ROWS: &str = "
        delete from session_entries where (tenant, session_no, log_no, era, seq) in (
            select e.tenant, e.session_no, e.log_no, e.era, e.seq from session_entries e
            where e.tenant = $1 and e.session_no = $2 and e.log_no = $3
                and (e.era = $4 and $4 > 0 or e.era = 0 and e.seq > $5 and e.seq <= $6)
            order by e.era, e.seq limit $7)
        returning size_bytes";
    lock_scope(access, dialect, tenant, scope_id).await?;
    let Some(log) = access.rows(FIRST, &[tenant.into(), scope_id.into()]).await?.pop() else {
        return Ok(false);
    };
    let session_no = log.integer(0)?;
    let binds = [
        SqlValue::from(tenant),
        session_no.into(),
        log.integer(2)?.into(),
        log.integer(3)?.into(),
        log.integer(4)?.into(),
        log.integer(5)?.into(),
        SLICE_ROWS.into(),
    ];
    let gone = access.rows(ROWS, &binds).await?;
    let bytes = gone.iter().map(|row| row.integer(0)).sum::<Result<i64>>()?;
    let text =
        "update sessions set size_bytes = size_bytes - $3 where tenant = $1 and session_no = $2";
    access.rows(text, &[tenant.into(), session_no.into(), bytes.into()]).await?;
    if i64::try_from(gone.len()).unwrap_or(i64::MAX) < SLICE_ROWS {
        let text = "delete from session_logs where tenant = $1 and session_no = $2 and kind = 3 and name = $3";
        access.rows(text, &[tenant.into(), session_no.into(), log.0[1].clone()]).await?;
    }
    Ok(true)
}

/// All of it, a transaction for each slice.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove_rows(engine: &dyn Accessible, tenant: &str, scope_id: i64) -> Result<()> {
    loop {
        let mut access = engine.begin_write().await?;
        let more = remove_slice(access.as_mut(), engine.dialect(), tenant, scope_id).await?;
        access.end().await?;
        if !more {
            return Ok(());
        }
    }
}
