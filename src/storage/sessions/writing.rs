//! A batch of changes: gates, then everything that decides, then all rows, in one transaction.
//!
//! **Invariant:** what decides is read after the gates were locked. Sessions that two servers make at the same moment meet at
//! their key: the one that came second begins again.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::json;

use super::rows::{Rows, bytes, number, session_of_row};
use super::{SessionEngine, memory_key};
use crate::domain::sessions::change::{Done, PreparedChange};
use crate::domain::sessions::ledger::{
    Batch, Effects, LogKey, LogRow, Outcome, SessionRow, State, settle,
};
use crate::domain::storage::BatchError;
use crate::domain::{Error, Result};
use crate::storage::access::{Access, Cell, Dialect, Record};

/// How often gates are locked before the batch begins anew.
const LOCKS_MAX: usize = 4;
const RACED: &str = "another server made the session at the same moment";

/// One transaction. Round trips on PostgreSQL: begin, gates, state, rows, commit.
pub async fn write<T: SessionEngine>(engine: &T, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
    let noted = |error: Error| {
        if matches!(error, Error::Unavailable { .. }) {
            engine.note_loss();
        }
        failed(error)
    };
    let mut access = engine.begin_session_write().await.map_err(noted)?;
    let dialect = engine.dialect();
    let state = read_locked(access.as_mut(), dialect, batch).await.map_err(noted)?;
    let may_make = |it: &PreparedChange| engine.sessions().may_make(it);
    let (outcomes, effects) = settle(batch, state, may_make);
    if !effects.is_empty() {
        for ((session, log_no), through) in &effects.gone {
            remove_pieces(access.as_mut(), batch, &effects, (*session, *log_no, *through))
                .await
                .map_err(noted)?;
        }
        let statements = statements(dialect, batch, &effects);
        let written = access.run_all(&statements).await.map_err(noted)?;
        if !effects.sessions.is_empty() && written != effects.sessions.len() {
            // Nothing is kept: the transaction is not ended.
            return Err(BatchError::Retry(RACED.into()));
        }
    }
    if let Err(error) = access.end().await {
        if !effects.is_empty() {
            forget_made(engine, batch, &effects);
        }
        engine.note_loss();
        return Err(BatchError::ConnectionLost(error.to_string()));
    }
    learn(engine, batch, &outcomes, &effects);
    Ok(outcomes)
}

fn failed(error: Error) -> BatchError {
    match error {
        // Nothing was made durable yet, so it may be sent again, whatever broke.
        Error::Unavailable { detail, .. } => BatchError::Retry(detail),
        other => BatchError::Statement(other.to_string()),
    }
}

/// What decides, under the gates of all that is there.
async fn read_locked(access: &mut dyn Access, dialect: &Dialect, batch: &Batch) -> Result<State> {
    for _ in 0..LOCKS_MAX {
        let locked = lock_gates(access, dialect, batch).await?;
        let state = read_state(access, dialect, batch).await?;
        // Between the two another server may have made a session, whose gate is open then.
        let is_locked = |it: &SessionRow| locked.contains(&it.scope_id);
        if state.sessions.iter().flatten().all(is_locked) {
            return Ok(state);
        }
    }
    Err(Error::Unavailable { detail: RACED.into(), retry_after: Duration::from_secs(1) })
}

/// In the order of (tenant, scope), as every other statement that locks several. Answers the scopes.
async fn lock_gates(
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
            select s.tenant, s.scope_id from {{each}} {session})
         order by g.tenant, g.scope_id {{lock}}"
    );
    let locked = access.rows(&dialect.fill(&text), &wanted.binds()).await?;
    locked.iter().map(|row| row.integer(0)).collect()
}

/// Everything that decides, in one statement: sessions, logs, ids, earlier answers.
async fn read_state(access: &mut dyn Access, dialect: &Dialect, batch: &Batch) -> Result<State> {
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
            1 => state.sessions[at] = Some(session_row(&row)?),
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
        "s.tenant, s.session_no, s.scope_id, s.owner, s.updated_at, s.archives, s.next_log, s.size_bytes",
    );
    let gate = dialect.probe(
        "g.epoch",
        "scopes",
        "g",
        "g.tenant = s.tenant and g.scope_id = s.scope_id",
    );
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
    let entry = dialect.probe(
        "e.seq",
        "session_entries",
        "e",
        &format!(
            "e.tenant = s.tenant and e.session_no = s.session_no and e.log_no = l.log_no and e.id = {}",
            bytes(9)
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
             from {{each}} {session} {log} {entry} where j.value ->> 0 = 'i'"
        )
    } else {
        String::new()
    };
    dialect.fill(&format!(
        "select 1, {place}, s.session_no, s.scope_id, g.epoch, s.updated_at, s.archives, s.next_log, s.size_bytes,
            {none}, {none}, s.owner, {no_bytes}
         from {{each}} {session} {gate} where j.value ->> 0 = 's'
         union all
         select 2, {place}, l.log_no, l.era, l.floor, l.ceiling, l.head, l.compacted_head, l.version, l.size_bytes,
            l.updated_at, cast(null as text), {no_bytes}
         from {{each}} {session} {log} where j.value ->> 0 = 'l'
         {ids}
         union all
         select 4, {place}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, {none}, cast(null as text),
            x.digest, x.answer
         from {{each}} {prior} where j.value ->> 0 = 'p'"
    ))
}

fn session_row(row: &Record) -> Result<SessionRow> {
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
pub fn log_row(row: &Record, at: usize) -> Result<LogRow> {
    let ceiling = match &row.0[at + 3] {
        Cell::Null => None,
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

async fn remove_pieces(
    access: &mut dyn Access,
    batch: &Batch,
    effects: &Effects,
    (session, log_no, through): (usize, i64, i64),
) -> Result<()> {
    let text = "delete from session_entries
        where tenant = $1 and session_no = $2 and log_no = $3 and era = 0 and seq <= $4";
    let session_no = effects.sessions[&session].session_no;
    let tenant = batch.sessions[session].0.as_str();
    let binds = [tenant.into(), session_no.into(), log_no.into(), through.into()];
    access.rows(text, &binds).await?;
    Ok(())
}

/// What was made may be there or not: its scope must not be made up twice.
fn forget_made<T: SessionEngine>(engine: &T, batch: &Batch, effects: &Effects) {
    for at in effects.made.keys() {
        let (tenant, session) = &batch.sessions[*at];
        engine.sessions().forget(tenant, session);
    }
}

fn learn<T: SessionEngine>(engine: &T, batch: &Batch, outcomes: &[Outcome], effects: &Effects) {
    for (command, outcome) in batch.commands.iter().zip(outcomes) {
        if let Outcome::Stale { scope_id } = outcome {
            match scope_id {
                Some(id) => engine.sessions().saw(&command.tenant, &command.session, *id),
                None => engine.sessions().forget(&command.tenant, &command.session),
            }
            engine.session_chunks().forget(&command.tenant, &memory_key(command.scope.id));
        }
    }
    for (at, row) in &effects.sessions {
        let (tenant, session) = &batch.sessions[*at];
        engine.sessions().saw(tenant, session, row.scope_id);
    }
    for at in &effects.writers {
        let command = &batch.commands[*at];
        let Some(row) = effects.sessions.get(&batch.session_of[*at]) else { continue };
        let names = command.chunks.iter().map(|it| it.name);
        let key = memory_key(row.scope_id);
        engine.session_chunks().add(&command.tenant, &key, row.epoch, names);
    }
}

/// The first returns a row for each session.
fn statements(dialect: &Dialect, batch: &Batch, effects: &Effects) -> Vec<(String, Vec<Cell>)> {
    let all = [
        sessions(batch, effects),
        scopes(batch, effects),
        holders(batch, effects),
        logs(batch, effects),
        entries(batch, effects),
        chunks(batch, effects),
        trash(batch, effects),
        answers(batch, effects),
    ];
    let all = all.into_iter().filter(|(_, rows)| !rows.is_empty());
    let mut all: Vec<_> = all.map(|(text, rows)| (dialect.fill(&text), rows.binds())).collect();
    for ((session, part, name), _) in effects.logs.iter().filter(|(_, log)| log.is_none()) {
        let text = "delete from session_logs
            where tenant = $1 and session_no = $2 and kind = $3 and name = $4 returning 1";
        let tenant = batch.sessions[*session].0.as_str();
        let (session_no, part) = (effects.sessions[session].session_no, *part as i64);
        let name = Cell::from(name.as_bytes());
        all.push((text.into(), vec![tenant.into(), session_no.into(), part.into(), name]));
    }
    all
}

fn sessions(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for (at, row) in &effects.sessions {
        let (tenant, session) = &batch.sessions[*at];
        let name = rows.session(tenant, session);
        let about = effects.made.get(at).and_then(|it| batch.commands[*it].about.as_ref());
        let title = rows.optional(about.and_then(|it| it.1.as_deref()));
        let about = about.map(|it| &it.0);
        rows.push(json!([
            name[0],
            name[1],
            name[2],
            name[3],
            row.session_no,
            row.scope_id,
            row.owner,
            about.and_then(|it| it.user.as_deref()),
            about.and_then(|it| it.agent.as_deref()),
            title.0,
            title.1,
            batch.now,
            row.updated_at,
            row.archives,
            row.next_log,
            row.size_bytes,
        ]));
    }
    let (key, title) = (bytes(2), bytes(9));
    let [no, scope, made, updated, archives, next, size] =
        [4, 5, 11, 12, 13, 14, 15].map(number);
    let text = format!(
        "insert into sessions (tenant, kind, key, session_no, scope_id, owner, user_id, agent, title, created_at,
            updated_at, archives, next_log, size_bytes)
         select j.value ->> 0, j.value ->> 1, {key}, {no}, {scope}, j.value ->> 6, j.value ->> 7, j.value ->> 8,
            {title}, {made}, {updated}, {archives}, {next}, {size}
         from {{each}} where true
         on conflict (tenant, kind, key) do update set updated_at = excluded.updated_at,
            archives = excluded.archives, next_log = excluded.next_log, size_bytes = excluded.size_bytes
            where sessions.session_no = excluded.session_no
         returning 1"
    );
    (text, rows)
}

fn scopes(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for at in effects.made.keys() {
        let row = &effects.sessions[at];
        rows.push(json!([batch.sessions[*at].0, row.scope_id, row.epoch]));
    }
    let (scope, epoch) = (number(1), number(2));
    let text = format!(
        "insert into scopes (tenant, scope_id, epoch, next_no)
         select j.value ->> 0, {scope}, {epoch}, 1 from {{each}} where true
         on conflict (tenant, scope_id) do nothing returning 1"
    );
    (text, rows)
}

fn holders(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for at in effects.made.keys() {
        let row = &effects.sessions[at];
        let holder = row.session_no.to_string();
        rows.push(json!([batch.sessions[*at].0, row.scope_id, holder]));
    }
    let scope = number(1);
    let text = format!(
        "insert into scope_holders (tenant, scope_id, kind, holder)
         select j.value ->> 0, {scope}, 'session', j.value ->> 2 from {{each}} where true
         on conflict (tenant, scope_id, kind, holder) do nothing returning 1"
    );
    (text, rows)
}

fn logs(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for ((session, part, name), log) in &effects.logs {
        let Some(log) = log else { continue };
        let name = rows.bytes(name.as_bytes());
        rows.push(json!([
            batch.sessions[*session].0,
            effects.sessions[session].session_no,
            *part as i64,
            name.0,
            name.1,
            log.log_no,
            log.era,
            log.floor,
            log.ceiling,
            log.head,
            log.compacted_head,
            log.version,
            log.size_bytes,
            log.updated_at,
        ]));
    }
    let name = bytes(3);
    let [session, part] = [1, 2].map(number);
    let numbers: Vec<String> = (5..14).map(number).collect();
    let numbers = numbers.join(", ");
    let text = format!(
        "insert into session_logs (tenant, session_no, kind, name, log_no, era, floor, ceiling, head, compacted_head,
            version, size_bytes, updated_at)
         select j.value ->> 0, {session}, {part}, {name}, {numbers} from {{each}} where true
         on conflict (tenant, session_no, kind, name) do update set log_no = excluded.log_no, era = excluded.era,
            floor = excluded.floor, ceiling = excluded.ceiling, head = excluded.head,
            compacted_head = excluded.compacted_head, version = excluded.version,
            size_bytes = excluded.size_bytes, updated_at = excluded.updated_at
         returning 1"
    );
    (text, rows)
}

fn entries(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for row in &effects.entries {
        let sealed = &row.entry.sealed;
        let id = rows.optional(row.entry.id.as_deref().map(str::as_bytes));
        let digest = rows.bytes(&sealed.digest);
        let body = rows.bytes(&sealed.body);
        let parts = rows.optional(sealed.parts.as_deref());
        rows.push(json!([
            batch.sessions[row.session].0,
            effects.sessions[&row.session].session_no,
            row.log_no,
            row.era,
            row.seq,
            row.entry.entry_no,
            id.0,
            id.1,
            row.at,
            sealed.size_bytes,
            digest.0,
            digest.1,
            body.0,
            body.1,
            parts.0,
            parts.1,
        ]));
    }
    let [session, log, era, seq, entry, at, size] = [1, 2, 3, 4, 5, 8, 9].map(number);
    let [id, digest, body, parts] = [6, 10, 12, 14].map(bytes);
    let text = format!(
        "insert into session_entries (tenant, session_no, log_no, era, seq, entry_no, id, at, size_bytes, digest, body,
            parts)
         select j.value ->> 0, {session}, {log}, {era}, {seq}, {entry}, {id}, {at}, {size}, {digest}, {body}, {parts}
         from {{each}} where true returning 1"
    );
    (text, rows)
}

fn chunks(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    let mut all = BTreeMap::new();
    for at in &effects.writers {
        let (command, session) = (&batch.commands[*at], batch.session_of[*at]);
        for chunk in &command.chunks {
            all.insert((session, chunk.name), &chunk.body);
        }
    }
    for ((session, name), body) in all {
        let (name, body) = (rows.bytes(&name), rows.bytes(body));
        let scope_id = effects.sessions[&session].scope_id;
        let tenant = &batch.sessions[session].0;
        rows.push(json!([tenant, scope_id, name.0, name.1, body.0, body.1]));
    }
    let (scope, name, body) = (number(1), bytes(2), bytes(4));
    let text = format!(
        "insert into chunks (tenant, scope_id, name, body)
         select j.value ->> 0, {scope}, {name}, {body} from {{each}} where true
         on conflict (tenant, scope_id, name) do nothing returning 1"
    );
    (text, rows)
}

/// What documents and streams left behind is collected later, under the scope's own id.
fn trash(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for at in &effects.trash {
        rows.push(json!([batch.sessions[*at].0, effects.sessions[at].scope_id, batch.now]));
    }
    let [scope, now] = [1, 2].map(number);
    let text = format!(
        "insert into garbage (tenant, thread_key, scope_id, created_at)
         select j.value ->> 0, {scope}, {scope}, {now} from {{each}} where true
         on conflict (tenant, thread_key) do nothing returning 1"
    );
    (text, rows)
}

fn answers(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for (at, done) in &effects.answers {
        let command = &batch.commands[*at];
        let Some(idempotency) = &command.idempotency else { continue };
        let answer = serde_json::to_vec(done).expect("numbers and names always serialize");
        let (digest, answer) = (rows.bytes(&idempotency.digest), rows.bytes(&answer));
        rows.push(json!([
            command.tenant,
            idempotency.caller,
            idempotency.key,
            digest.0,
            digest.1,
            answer.0,
            answer.1,
            batch.now,
            idempotency.subject,
        ]));
    }
    let (digest, answer, now) = (bytes(3), bytes(5), number(7));
    let text = format!(
        "insert into idempotency (tenant, caller, key, digest, answer, created_at, subject)
         select j.value ->> 0, j.value ->> 1, j.value ->> 2, {digest}, {answer}, {now}, j.value ->> 8
         from {{each}} where true returning 1"
    );
    (text, rows)
}
