//! Stores the last numbers of streams that were deleted or replaced. A client may still send one as `if_head`, so none may come again for
//! other entries. A stream that is made anew begins behind the last one. A stream that comes back gets new numbers.
//!
//! They are kept for a week, like fences of deleted threads, under thread ids that nobody can send ([`SessionName::tombstone`]).

use std::collections::HashMap;

use serde_json::json;

use super::rows::{Rows, number};
use crate::domain::sessions::ledger::{Batch, LogKey, State};
use crate::domain::sessions::name::SessionName;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlValue};

const LATER: &str = "
on conflict (tenant, thread_id) do update set deleted_at = excluded.deleted_at, owner = excluded.owner,
    fence = case when excluded.fence > thread_tombstones.fence then excluded.fence else thread_tombstones.fence end
returning 1";

/// $1 tenant, $2 the session's number, $3 its tombstone.
const REMEMBER_SESSION: &str = "
insert into thread_tombstones (tenant, thread_id, generation, fence, deleted_at, owner)
select s.tenant, $3, '', coalesce(l.head, 0), {now}, s.owner from sessions s left join (
    select max(o.head) as head from session_logs o where o.tenant = $1 and o.session_no = $2 and o.kind = 0) l on true
where s.tenant = $1 and s.session_no = $2 {later}";

/// $1 tenant, $2 the number of a session. What a log has last tells whether two are the same.
const STREAMS: &str = "
select l.name, l.log_no, l.head, l.era, l.floor, (
    select max(e.entry_no) from session_entries e where e.tenant = l.tenant and e.session_no = l.session_no
        and e.log_no = l.log_no and e.era in (0, l.era) and e.seq = l.head)
from session_logs l where l.tenant = $1 and l.session_no = $2 and l.kind = 0 and l.ceiling is null";

/// $1 tenant, $2 the number of a session, $3 a log, $4 by how much. What shows of the log, archives too, moves with it.
const MOVE: [&str; 2] = [
    "update session_logs set floor = floor + $4, ceiling = ceiling + $4, head = head + $4,
        compacted_head = compacted_head + $4
     where tenant = $1 and session_no = $2 and log_no = $3 and kind in (0, 3)",
    "update session_entries set seq = seq + $4 where tenant = $1 and session_no = $2 and log_no = $3",
];

const FENCE: &str = "select coalesce(max(fence), 0) from thread_tombstones where tenant = $1 and thread_id in ($2, $3)";

/// Rows: tenant, tombstone, last number, owner.
pub fn remember_text() -> String {
    let head = number(2);
    format!(
        "insert into thread_tombstones (tenant, thread_id, generation, fence, deleted_at, owner)
         select j.value ->> 0, j.value ->> 1, '', {head}, {{now}}, j.value ->> 3 {{from_each}} where true {LATER}"
    )
}

/// Last numbers of the streams that a batch may begin; none is asked for where all of them are there.
///
/// # Errors
/// The database's.
pub async fn read(
    access: &mut dyn Access,
    dialect: &Dialect,
    batch: &Batch,
    state: &State,
) -> Result<HashMap<LogKey, i64>> {
    let begun: Vec<LogKey> = batch.begun(state).into_iter().collect();
    let mut rows = Rows::default();
    for (at, (session, _, stream)) in begun.iter().enumerate() {
        let (tenant, name) = &batch.sessions[*session];
        for tombstone in [name.tombstone(None), name.tombstone(Some(stream))] {
            rows.push(json!([at, tenant, tombstone]));
        }
    }
    let mut former = HashMap::new();
    if rows.is_empty() {
        return Ok(former);
    }
    let place = number(0);
    let found = "d.tenant = j.value ->> 1 and d.thread_id = j.value ->> 2";
    let found = dialect.probe("d.fence", "thread_tombstones", "d", found);
    let text = format!("select {place}, d.fence {{from_each}} {found}");
    for row in access.rows(&dialect.fill(&text), &rows.binds()).await? {
        let at = usize::try_from(row.integer(0)?).unwrap_or(usize::MAX);
        let Some(key) = begun.get(at) else { continue };
        let last = former.entry(key.clone()).or_default();
        *last = row.integer(1)?.max(*last);
    }
    Ok(former)
}

/// Before a session is deleted, under its scope lock.
///
/// # Errors
/// A database that cannot be written.
pub async fn remember_session(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, session): (&str, &SessionName),
    session_no: i64,
) -> Result<()> {
    let text = dialect.fill(&REMEMBER_SESSION.replace("{later}", LATER));
    let binds = [tenant.into(), session_no.into(), SqlValue::Text(session.tombstone(None))];
    access.rows(&text, &binds).await?;
    Ok(())
}

/// Streams of a session that takes the place of another one, or of none (0), get numbers that their names never had, unless they are as
/// they were there. Both are under their scope locks.
///
/// # Errors
/// A database that cannot be written.
pub async fn renumber(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, session, owner): (&str, &SessionName, Option<&str>),
    (session_no, replaced_no): (i64, i64),
) -> Result<()> {
    let mut there = streams(access, tenant, replaced_no).await?;
    for (name, stream) in streams(access, tenant, session_no).await? {
        let replaced = there.remove(&name);
        if replaced.as_ref().is_some_and(|it| it.is_same(&stream)) {
            continue;
        }
        let tombstones =
            [session.tombstone(None), session.tombstone(Some(&name))].map(SqlValue::Text);
        let binds = [&[SqlValue::from(tenant)][..], &tombstones].concat();
        let remembered = access.rows(FENCE, &binds).await?[0].integer(0)?;
        let last = replaced.map_or(0, |it| it.head).max(remembered);
        if last > 0 {
            // Beyond its own, too: so no row meets another one on its way.
            let by = last.max(stream.head);
            let binds = [tenant.into(), session_no.into(), stream.log_no.into(), by.into()];
            for text in MOVE {
                access.rows(text, &binds).await?;
            }
        }
    }
    let mut gone = Rows::default();
    for (name, stream) in there {
        gone.push(json!([tenant, session.tombstone(Some(&name)), stream.head, owner]));
    }
    if !gone.is_empty() {
        access.rows(&dialect.fill(&remember_text()), &gone.binds()).await?;
    }
    Ok(())
}

struct LiveStream {
    log_no: i64,
    head: i64,
    era: i64,
    floor: i64,
    last_entry_no: Option<i64>,
}

impl LiveStream {
    /// Entries have random numbers beside those that callers know.
    fn is_same(&self, other: &Self) -> bool {
        let all = |it: &Self| (it.head, it.era, it.floor, it.last_entry_no);
        self.last_entry_no.is_some() && all(self) == all(other)
    }
}

async fn streams(
    access: &mut dyn Access,
    tenant: &str,
    session_no: i64,
) -> Result<HashMap<String, LiveStream>> {
    let rows = access.rows(STREAMS, &[tenant.into(), session_no.into()]).await?;
    let damaged = |_| Error::Integrity("the name of a stream is damaged".into());
    let stream = |row: &crate::storage::db::access::SqlRow| {
        let name = String::from_utf8(row.bytes(0)?.to_vec()).map_err(damaged)?;
        let last_entry_no = row.optional_integer(5)?;
        let [log_no, head, era, floor] = [1, 2, 3, 4].map(|at| row.integer(at));
        let (log_no, head, era, floor) = (log_no?, head?, era?, floor?);
        Ok((name, LiveStream { log_no, head, era, floor, last_entry_no }))
    };
    rows.iter().map(stream).collect()
}
