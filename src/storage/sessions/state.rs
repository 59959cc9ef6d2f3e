//! Reads the rows that decide about a batch: scope locks first, then one statement for everything else.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;

use super::former;
use super::rows::{Rows, bytes, number, session_of_row};
use crate::domain::sessions::change::Done;
use crate::domain::sessions::ledger::{Batch, LogKey, LogRow, SessionRow, State};
use crate::domain::{Error, Result};
use crate::storage::db::access::{Access, Dialect, SqlRow, SqlValue};
use crate::storage::tokens::owner_macs::{OwnerRow, Secrets};

/// How often scopes are locked before the batch begins anew.
const LOCKS_MAX: usize = 4;
pub const RACED: &str = "another server made the session at the same moment";

/// What decides, under the scope locks of all that is there.
pub async fn read_locked(
    access: &mut dyn Access,
    dialect: &Dialect,
    (batch, secrets): (&Batch, &Secrets),
) -> Result<State> {
    for _ in 0..LOCKS_MAX {
        let locked = lock_scopes(access, dialect, batch).await?;
        let mut state = read_state(access, dialect, (batch, secrets)).await?;
        // Between the two another server may have made a session, whose scope lock is open then.
        let is_locked = |it: &SessionRow| locked.contains(&it.scope_id);
        if state.sessions.iter().flatten().all(is_locked) {
            state.former = former::read(access, dialect, batch, &state).await?;
            return Ok(state);
        }
    }
    Err(Error::Unavailable { detail: RACED.into(), retry_after: Duration::from_secs(1) })
}

/// In the order of (tenant, scope), as every other statement that locks several. Answers the scopes.
async fn lock_scopes(
    access: &mut dyn Access,
    dialect: &Dialect,
    batch: &Batch,
) -> Result<HashSet<i64>> {
    let mut wanted = Rows::default();
    for (tenant, session) in &batch.sessions {
        let row = wanted.session(tenant, session);
        wanted.push(json!(row));
    }
    let session = session_of_row(dialect, 0, "s.tenant, s.scope_id");
    let text = format!(
        "select g.scope_id from scopes g where (g.tenant, g.scope_id) in (
            select s.tenant, s.scope_id {{from_each}} {session})
         order by g.tenant, g.scope_id {{lock}}"
    );
    let locked = access.rows(&dialect.fill(&text), &wanted.binds()).await?;
    locked.iter().map(|row| row.integer(0)).collect()
}

/// Everything that decides, in one statement: sessions, logs, ids, earlier answers.
async fn read_state(
    access: &mut dyn Access,
    dialect: &Dialect,
    (batch, secrets): (&Batch, &Secrets),
) -> Result<State> {
    let (mut wanted, logs, ids) = (Rows::default(), batch.logs(), batch.ids());
    for (at, (tenant, session)) in batch.sessions.iter().enumerate() {
        let row = wanted.session(tenant, session);
        wanted.push(json!(["s", at, row[0], row[1], row[2], row[3]]));
    }
    let logs: Vec<&LogKey> = logs.iter().collect();
    for (at, (session, part, name)) in logs.iter().enumerate() {
        let (tenant, session) = &batch.sessions[*session];
        let row = wanted.session(tenant, session);
        let name = wanted.bytes(name.as_bytes());
        let part = *part as i64;
        wanted.push(json!(["l", at, row[0], row[1], row[2], row[3], part, name.0, name.1]));
    }
    let ids: Vec<_> = ids.iter().collect();
    for (at, (session, stream, id)) in ids.iter().enumerate() {
        let (tenant, session) = &batch.sessions[*session];
        let row = wanted.session(tenant, session);
        let (stream, id) = (wanted.bytes(stream.as_bytes()), wanted.bytes(id.as_bytes()));
        wanted.push(json!([
            "i", at, row[0], row[1], row[2], row[3], 0, stream.0, stream.1, id.0, id.1
        ]));
    }
    for (at, command) in batch.commands.iter().enumerate() {
        if let Some(it) = &command.idempotency {
            wanted.push(json!(["p", at, command.tenant, it.caller, it.key]));
        }
    }
    let text = state_text(dialect, !ids.is_empty());
    let mut state = State { sessions: vec![None; batch.sessions.len()], ..State::default() };
    for row in access.rows(&text, &wanted.binds()).await? {
        let at = usize::try_from(row.integer(1)?).unwrap_or(0);
        match row.integer(0)? {
            1 => {
                let (found, (tenant, name)) = (session_row(&row)?, &batch.sessions[at]);
                let key = name.key_bytes();
                let owned = OwnerRow::session(
                    (name.kind(), &key),
                    (found.session_no, found.scope_id),
                    found.owner.as_deref(),
                );
                let mac = row.optional_bytes(12)?;
                if secrets.get(tenant).is_some_and(|it| !owned.is_signed(it, mac)) {
                    state.forged.insert(at);
                }
                state.sessions[at] = Some(found);
            }
            2 => drop(state.logs.insert(logs[at].clone(), log_row(&row, 2)?)),
            3 => drop(state.ids.insert(ids[at].clone())),
            _ => {
                let digest = batch.commands[at].idempotency.as_ref().map(|it| &it.digest[..]);
                let same = digest == Some(row.bytes(12)?);
                let done = if same { Some(read_done(row.bytes(13)?)?) } else { None };
                state.priors.insert(at, done);
            }
        }
    }
    Ok(state)
}

/// Four kinds of rows under one set of columns: kind, place, nine numbers, a text, two blobs.
fn state_text(dialect: &Dialect, with_ids: bool) -> String {
    let session = session_of_row(
        dialect,
        2,
        "s.tenant, s.session_no, s.scope_id, s.owner, s.updated_at, s.archives, s.next_log, s.size_bytes, s.mac",
    );
    let scope_lock =
        dialect.probe("g.epoch", "scopes", "g", "g.tenant = s.tenant and g.scope_id = s.scope_id");
    let log = dialect.probe(
        "l.tenant, l.session_no, l.log_no, l.era, l.floor, l.ceiling, l.head, l.compacted_head, l.version, l.size_bytes, l.updated_at",
        "session_logs",
        "l",
        &format!(
            "l.tenant = s.tenant and l.session_no = s.session_no and l.kind = {} and l.name = {}",
            number(6),
            bytes(7)
        ),
    );
    let (named, id) = dialect.naming(&bytes(9));
    let entry = dialect.probe(
        "e.seq",
        "session_entries",
        "e",
        &format!(
            "e.tenant = s.tenant and e.session_no = s.session_no and e.log_no = l.log_no and e.id = {id}"
        ),
    );
    let prior = dialect.probe(
        "x.digest, x.answer",
        "idempotency",
        "x",
        "x.tenant = j.value ->> 2 and x.caller = j.value ->> 3 and x.key = j.value ->> 4",
    );
    let place = number(1);
    let none = "cast(null as bigint)";
    let no_bytes = "substr($2, 1, 0), substr($2, 1, 0)";
    let ids = if with_ids {
        format!(
            "union all
             select 3, {place}, e.seq, {none}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, cast(null as text), {no_bytes}
             {{from_each}} {session} {log} {named} {entry} where j.value ->> 0 = 'i'"
        )
    } else {
        String::new()
    };
    dialect.fill(&format!(
        "select 1, {place}, s.session_no, s.scope_id, g.epoch, s.updated_at, s.archives, s.next_log, s.size_bytes,
            {none}, {none}, s.owner, s.mac, substr($2, 1, 0)
         {{from_each}} {session} {scope_lock} where j.value ->> 0 = 's'
         union all
         select 2, {place}, l.log_no, l.era, l.floor, l.ceiling, l.head, l.compacted_head, l.version, l.size_bytes,
            l.updated_at, cast(null as text), {no_bytes}
         {{from_each}} {session} {log} where j.value ->> 0 = 'l'
         {ids}
         union all
         select 4, {place}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, cast(null as text),
            x.digest, x.answer
         {{from_each}} {prior} where j.value ->> 0 = 'p'"
    ))
}

fn session_row(row: &SqlRow) -> Result<SessionRow> {
    Ok(SessionRow {
        session_no: row.integer(2)?,
        scope_id: row.integer(3)?,
        epoch: row.integer(4)?,
        updated_at: row.integer(5)?,
        archives: row.integer(6)?,
        next_log: row.integer(7)?,
        size_bytes: row.integer(8)?,
        owner: row.optional_text(11)?.map(str::to_owned),
    })
}

/// From the column of `log_no` on.
pub fn log_row(row: &SqlRow, at: usize) -> Result<LogRow> {
    let ceiling = match &row.0[at + 3] {
        SqlValue::Null => None,
        _ => Some(row.integer(at + 3)?),
    };
    Ok(LogRow {
        log_no: row.integer(at)?,
        era: row.integer(at + 1)?,
        floor: row.integer(at + 2)?,
        ceiling,
        head: row.integer(at + 4)?,
        compacted_head: row.integer(at + 5)?,
        version: row.integer(at + 6)?,
        size_bytes: row.integer(at + 7)?,
        updated_at: row.integer(at + 8)?,
    })
}

fn read_done(answer: &[u8]) -> Result<Done> {
    serde_json::from_slice(answer)
        .map_err(|_| Error::Integrity("a stored answer cannot be read".into()))
}
