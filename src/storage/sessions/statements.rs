//! Writes the rows of a batch by statements over sets. None needs what another wrote.

use std::collections::BTreeMap;

use serde_json::json;

use super::rows::{Rows, bytes, number};
use crate::content::keys::TenantSecret;
use crate::domain::sessions::ledger::{Batch, Effects, SessionRow};
use crate::domain::sessions::name::SessionName;
use crate::storage::db::access::{Dialect, SqlValue};
use crate::storage::tokens::owner_macs::{OwnerRow, Secrets};

/// The first returns a row for each session.
pub fn statements(
    dialect: &Dialect,
    (batch, secrets): (&Batch, &Secrets),
    effects: &Effects,
) -> Vec<(String, Vec<SqlValue>)> {
    let all = [
        sessions((batch, secrets), effects),
        scopes(batch, effects),
        holders(batch, effects),
        logs(batch, effects),
        entries(batch, effects),
        chunks(batch, effects),
        trash(batch, effects),
        answers(batch, effects),
        former(batch, effects),
    ];
    let all = all.into_iter().filter(|(_, rows)| !rows.is_empty());
    let mut all: Vec<_> = all.map(|(text, rows)| (dialect.fill(&text), rows.binds())).collect();
    for ((session, part, name), _) in effects.logs.iter().filter(|(_, log)| log.is_none()) {
        let text = "delete from session_logs
            where tenant = $1 and session_no = $2 and kind = $3 and name = $4 returning 1";
        let tenant = batch.sessions[*session].0.as_str();
        let (session_no, part) = (effects.sessions[session].session_no, *part as i64);
        let name = SqlValue::from(name.as_bytes());
        all.push((text.into(), vec![tenant.into(), session_no.into(), part.into(), name]));
    }
    all
}

/// What is remembered of streams that were deleted.
fn former(batch: &Batch, effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for ((session, _, stream), head) in &effects.former {
        let (tenant, name) = &batch.sessions[*session];
        let owner = &effects.sessions[session].owner;
        rows.push(json!([tenant, name.tombstone(Some(stream)), head, owner]));
    }
    (super::former::remember_text(), rows)
}

/// The MAC of a session is written when it is made: nothing that it covers changes here.
fn sessions((batch, secrets): (&Batch, &Secrets), effects: &Effects) -> (String, Rows) {
    let mut rows = Rows::default();
    for (at, row) in &effects.sessions {
        let (tenant, session) = &batch.sessions[*at];
        let name = rows.session(tenant, session);
        let about = effects.made.get(at).and_then(|it| batch.commands[*it].about.as_ref());
        let title = rows.optional(about.and_then(|it| it.1.as_deref()));
        let about = about.map(|it| &it.0);
        let secret = secrets.get(tenant).filter(|_| effects.made.contains_key(at));
        let mac = rows.optional(secret.and_then(|it| mac_of(session, row, it)).as_deref());
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
            mac.0,
            mac.1,
        ]));
    }
    let (key, title, mac) = (bytes(2), bytes(9), bytes(16));
    let [no, scope, made, updated, archives, next, size] = [4, 5, 11, 12, 13, 14, 15].map(number);
    let text = format!(
        "insert into sessions (tenant, kind, key, session_no, scope_id, owner, user_id, agent, title, created_at,
            updated_at, archives, next_log, size_bytes, mac)
         select j.value ->> 0, j.value ->> 1, {key}, {no}, {scope}, j.value ->> 6, j.value ->> 7, j.value ->> 8,
            {title}, {made}, {updated}, {archives}, {next}, {size}, {mac}
         {{from_each}} where true
         on conflict (tenant, kind, key) do update set updated_at = excluded.updated_at,
            archives = excluded.archives, next_log = excluded.next_log, size_bytes = excluded.size_bytes
            where sessions.session_no = excluded.session_no
         returning 1"
    );
    (text, rows)
}

fn mac_of(session: &SessionName, row: &SessionRow, secret: &TenantSecret) -> Option<Vec<u8>> {
    let (key, ids) = (session.key_bytes(), (row.session_no, row.scope_id));
    OwnerRow::session((session.kind(), &key), ids, row.owner.as_deref()).mac(secret)
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
         select j.value ->> 0, {scope}, {epoch}, 1 {{from_each}} where true
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
         select j.value ->> 0, {scope}, 'session', j.value ->> 2 {{from_each}} where true
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
         select j.value ->> 0, {session}, {part}, {name}, {numbers} {{from_each}} where true
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
         {{from_each}} where true returning 1"
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
         select j.value ->> 0, {scope}, {name}, {body} {{from_each}} where true
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
         select j.value ->> 0, {scope}, {scope}, {now} {{from_each}} where true
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
         {{from_each}} where true returning 1"
    );
    (text, rows)
}
