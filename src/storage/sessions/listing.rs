//! Reads sessions, and what they have, without any content.

use serde_json::json;

use super::SessionEngine;
use super::entries::limit_of;
use super::rows::{
    Rows, SESSION_CONDITION, bytes, check_row, log_of_session, logs_of_session, session_binds,
};
use super::sealing::open_title;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::pages::COUNTED_MAX;
use crate::domain::sessions::ledger::Part;
use crate::domain::sessions::name::{KeyRange, SessionFilter, SessionName};
use crate::domain::sessions::storage::{Described, ListKinds, ListSessions, SessionKind};
use crate::domain::sessions::{Document, Session, Stream};
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::{SqlRow, SqlValue};

const COLUMNS: &str = "s.key, s.scope_id, s.user_id, s.agent, s.title, s.created_at";

/// What [`check_row`] wants of a session.
const OWNED: &str = "s.session_no, s.scope_id, s.owner, s.mac";

/// Two conditions become one range that is certain to end.
const LAST: [u8; 1] = [0xff];

pub async fn get<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    action: Action,
) -> Result<Option<Described>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let text = format!(
        "select {COLUMNS}, s.updated_at, {OWNED}, s.archives from sessions s where {SESSION_CONDITION}"
    );
    let found =
        engine.read_rows(&caller.tenant, &text, &session_binds(caller, session, action)).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let session = read(&secret, session.kind(), row)?;
    Ok(Some(Described { session, archives: row.integer(11)? }))
}

pub async fn streams<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
) -> Result<Vec<Stream>> {
    let logs = logs_of_session(engine.dialect(), "l.kind = 0");
    let text = format!(
        "select l.name, l.head, l.updated_at, {OWNED} from sessions s {logs}
         where {SESSION_CONDITION} order by l.name"
    );
    let found = engine
        .search_rows(&caller.tenant, &text, &session_binds(caller, session, Action::Read))
        .await?;
    check_first(engine, (caller, session), (&found, 3)).await?;
    let stream = |row: &SqlRow| {
        Ok(Stream { stream: text_of(row, 0)?, head: row.integer(1)?, updated_at: row.integer(2)? })
    };
    found.iter().map(stream).collect()
}

pub async fn documents<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    name_prefix: &str,
) -> Result<Vec<Document>> {
    let logs = logs_of_session(engine.dialect(), "l.kind = 1");
    let text = format!(
        "select l.name, l.version, l.updated_at, l.size_bytes, {OWNED} from sessions s {logs}
         where {SESSION_CONDITION} and substr(l.name, 1, cast($6 as integer)) = $7 order by l.name"
    );
    let mut binds = session_binds(caller, session, Action::Read);
    let length = i64::try_from(name_prefix.len()).unwrap_or(i64::MAX);
    binds.extend([SqlValue::from(length), name_prefix.as_bytes().into()]);
    let found = engine.search_rows(&caller.tenant, &text, &binds).await?;
    check_first(engine, (caller, session), (&found, 4)).await?;
    let document = |row: &SqlRow| {
        Ok(Document {
            name: text_of(row, 0)?,
            version: row.integer(1)?,
            updated_at: row.integer(2)?,
            size_bytes: row.integer(3)?,
        })
    };
    found.iter().map(document).collect()
}

pub async fn counters<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    session: &SessionName,
    names: &[&str],
) -> Result<Vec<i64>> {
    let logs = logs_of_session(engine.dialect(), "l.kind = 2");
    let text = format!(
        "select l.name, l.head, {OWNED} from sessions s {logs}
         where {SESSION_CONDITION}"
    );
    let found = engine
        .search_rows(&caller.tenant, &text, &session_binds(caller, session, Action::Read))
        .await?;
    check_first(engine, (caller, session), (&found, 2)).await?;
    let mut values = vec![0; names.len()];
    for row in &found {
        let name = text_of(row, 0)?;
        for (value, wanted) in values.iter_mut().zip(names) {
            if name == *wanted {
                *value = row.integer(1)?;
            }
        }
    }
    Ok(values)
}

/// By key, of one name.
pub async fn heads<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    kind: &str,
    (part, name): (Part, &str),
) -> Result<Vec<(SessionName, i64)>> {
    let (within, mut binds) = within(caller, &KeyRange::below(kind, &[]));
    let limit = limit_of(LIMITS.session_documents_max);
    binds.extend([SqlValue::from(part as i64), name.as_bytes().into(), limit.into()]);
    let (part, name, limit) = (binds.len() - 2, binds.len() - 1, binds.len());
    let log = log_of_session(engine.dialect(), &format!("l.kind = ${part} and l.name = ${name}"));
    let text = format!(
        "select s.key, l.head, {OWNED} from sessions s {log} where {within} order by s.key limit ${limit}"
    );
    let found = engine.search_rows(&caller.tenant, &engine.dialect().fill(&text), &binds).await?;
    let secret = engine.session_secret(&caller.tenant).await?;
    let head = |row: &SqlRow| {
        check_row((kind, row.bytes(0)?), (row, [2, 3, 4, 5]), &secret)?;
        let name = SessionName::stored(kind.to_owned(), row.bytes(0)?);
        Ok((name.ok_or_else(damaged)?, row.integer(1)?))
    };
    found.iter().map(head).collect()
}

/// Newest first, then by key.
pub async fn list<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    query: &ListSessions,
) -> Result<Vec<Session>> {
    let secret = engine.session_secret(&caller.tenant).await?;
    let range = KeyRange::below(&query.kind, &query.key_prefix);
    let (mut within, mut binds) = within(caller, &range);
    let mut bind = |cell: SqlValue| {
        binds.push(cell);
        format!("${}", binds.len())
    };
    if let Some(user) = &query.user {
        within.push_str(&format!(" and s.user_id = {}", bind(user.as_str().into())));
    }
    let (mut time, mut join) = ("s.updated_at", String::new());
    if let Some(stream) = &query.stream {
        time = "l.updated_at";
        let named = format!("l.kind = 0 and l.name = {}", bind(stream.as_bytes().into()));
        join = log_of_session(engine.dialect(), &named);
    }
    if let Some(after) = &query.after {
        let (at, key) = (bind(after.updated_at.into()), bind(SqlValue::Bytes(after.key.clone())));
        within.push_str(&format!(" and ({time} < {at} or {time} = {at} and s.key > {key})"));
    }
    let limit = bind(i64::try_from(query.limit).unwrap_or(i64::MAX).into());
    let text = format!(
        "select {COLUMNS}, {time}, {OWNED} from sessions s {join} where {within}
         order by {time} desc, s.key limit {limit}"
    );
    let found = engine.search_rows(&caller.tenant, &engine.dialect().fill(&text), &binds).await?;
    found.iter().map(|row| read(&secret, &query.kind, row)).collect()
}

/// From each kind to the next, and what the caller may read of it. Kinds of snapshots begin with a colon, which is no kind's; `;` is the
/// character behind it.
pub async fn kinds<T: SessionEngine>(
    engine: &T,
    caller: &Caller,
    query: &ListKinds,
) -> Result<Vec<SessionKind>> {
    let (readable, mut binds) = readable(caller);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let after = query.after.as_deref().unwrap_or_default();
    binds.extend([SqlValue::from(after), limit.into(), COUNTED_MAX.into()]);
    let least = |from: &str, condition: &str| {
        format!(
            "(select s.kind from sessions s where s.tenant = $3 and s.kind > {from} and {condition}
              order by s.kind limit 1)"
        )
    };
    let next = |from: &str| {
        format!("coalesce({}, {})", least(from, "s.kind < ':'"), least(from, "s.kind >= ';'"))
    };
    let (first, behind) = (next("$6"), next("k.kind"));
    let counted = format!(
        "from (select s.updated_at from sessions s where s.tenant = $3 and s.kind = k.kind and {readable} limit $8) c"
    );
    let text = format!(
        "with recursive k (kind) as (
            select {first} union all select {behind} from k where k.kind is not null
         )
         select k.kind, (select count(*) {counted}), (select max(c.updated_at) {counted})
         from (select kind from k where kind is not null limit $7) k"
    );
    let found = engine.search_rows(&caller.tenant, &engine.dialect().fill(&text), &binds).await?;
    let kind = |row: &SqlRow| {
        Ok(SessionKind {
            kind: row.text(0)?.to_owned(),
            sessions: row.integer(1)?.unsigned_abs(),
            updated_at: row.optional_integer(2)?,
        })
    };
    found.iter().map(kind).collect()
}

/// The condition, with its binds, for sessions in a range that the caller may read.
pub fn within(caller: &Caller, range: &KeyRange) -> (String, Vec<SqlValue>) {
    let (readable, mut binds) = readable(caller);
    let to = end(range);
    binds.extend([
        range.kind.as_str().into(),
        SqlValue::Bytes(range.from.clone()),
        SqlValue::Bytes(to),
    ]);
    let text = "s.tenant = $3 and s.kind = $6 and s.key >= $7 and s.key < $8";
    (format!("{text} and {readable}"), binds)
}

/// The condition, with its binds, for sessions that the caller may read. $3 is the tenant.
fn readable(caller: &Caller) -> (String, Vec<SqlValue>) {
    let SessionFilter { everything, owner, ranges } =
        SessionFilter::from(caller.reach_sessions(Action::Read));
    let mut granted = Rows::default();
    for one in &ranges {
        let (from, to) = (granted.bytes(&one.from), granted.bytes(&end(one)));
        granted.push(json!([one.kind, from.0, from.1, to.0, to.1]));
    }
    let mut binds = granted.binds();
    binds.extend([
        SqlValue::from(caller.tenant.as_str()),
        i64::from(everything).into(),
        owner.as_deref().unwrap_or_default().into(),
    ]);
    let (from, to) = (bytes(1), bytes(3));
    // Nobody is the empty subject.
    let text = format!(
        "($4 = 1 or s.owner = $5 and $5 <> ''
            or exists (select 1 {{from_each}} where j.value ->> 0 = s.kind and s.key >= {from} and s.key < {to}))"
    );
    (text, binds)
}

/// The first bytes behind a range.
fn end(range: &KeyRange) -> Vec<u8> {
    range.to.clone().unwrap_or_else(|| LAST.to_vec())
}

/// Checks the session of some rows, which have [`OWNED`] from a column on.
async fn check_first<T: SessionEngine>(
    engine: &T,
    (caller, session): (&Caller, &SessionName),
    (rows, at): (&[SqlRow], usize),
) -> Result<()> {
    let Some(row) = rows.first() else { return Ok(()) };
    let secret = engine.session_secret(&caller.tenant).await?;
    let name = (session.kind(), &session.key_bytes()[..]);
    check_row(name, (row, [at, at + 1, at + 2, at + 3]), &secret)
}

/// From [`COLUMNS`], the time that counts, and [`OWNED`].
fn read(secret: &TenantSecret, kind: &str, row: &SqlRow) -> Result<Session> {
    check_row((kind, row.bytes(0)?), (row, [7, 8, 9, 10]), secret)?;
    let name = SessionName::stored(kind.to_owned(), row.bytes(0)?);
    let name = name.ok_or_else(damaged)?;
    let scope_id = row.integer(1)?;
    let title = row.optional_bytes(4)?;
    let title = title.map(|it| open_title(secret, (scope_id, &name), it)).transpose()?;
    Ok(Session {
        user: row.optional_text(2)?.map(str::to_owned),
        agent: row.optional_text(3)?.map(str::to_owned),
        title,
        created_at: row.integer(5)?,
        updated_at: row.integer(6)?,
        name,
    })
}

fn damaged() -> Error {
    Error::Integrity("the key of a session is damaged".into())
}

fn text_of(row: &SqlRow, at: usize) -> Result<String> {
    String::from_utf8(row.bytes(at)?.to_vec())
        .map_err(|_| Error::Integrity("a name in a session is damaged".into()))
}
