//! Stores sessions of snapshots: rows like any session's, under a kind that nobody can send (`SessionName::hidden_kind`), in the same
//! content scope. A restore exchanges names, as for threads.

use super::restore::again;
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::sessions::SESSION;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::SessionPart;
use crate::domain::snapshots::restore::{RestoredSession, SessionMove};
use crate::domain::tokens::grants::Action;
use crate::domain::{Conflict, Error, Result};
use crate::storage::db::access::{Access, Accessible, Dialect, SqlRow, SqlValue, lock_scope};
use crate::storage::export::sessions_staged::RAISE_DOCUMENTS;
use crate::storage::sessions::former;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 kind, $3 key.
const FIND: &str = "
select s.session_no, s.scope_id, s.owner, s.size_bytes, (
    select count(*) from session_entries e where e.tenant = s.tenant and e.session_no = s.session_no), s.mac
from sessions s where s.tenant = $1 and s.kind = $2 and s.key = $3";

/// $1 tenant, $2 kind, $3 key, $4 the new kind, $5 the MAC that goes with it.
const RENAME: &str = "
update sessions set kind = $4, mac = case when length($5) > 0 then $5 end where tenant = $1 and kind = $2 and key = $3";

/// $1 tenant, $2 the number it is a copy of, $3 its own, $4 its kind, $5 its MAC. Its rows are there.
pub const MAKE: [&str; 2] = [
    "insert into sessions (tenant, kind, key, session_no, scope_id, owner, user_id, agent, title, created_at, updated_at, archives,
        next_log, size_bytes, mac)
     select s.tenant, $4, s.key, $3, s.scope_id, s.owner, s.user_id, s.agent, s.title, s.created_at, s.updated_at,
        s.archives, s.next_log, s.size_bytes, case when length($5) > 0 then $5 end
     from sessions s where s.tenant = $1 and s.session_no = $2 returning session_no",
    "insert into scope_holders (tenant, scope_id, kind, holder)
     select s.tenant, s.scope_id, 'session', cast($3 as text) from sessions s where s.tenant = $1 and s.session_no = $2
        and $4 <> '' and length($5) >= 0",
];

/// $1 tenant, $2 from, $3 to.
pub const ROWS: [&str; 2] = [
    "insert into session_logs (tenant, session_no, kind, name, log_no, era, floor, ceiling, head, compacted_head, version,
        size_bytes, updated_at)
     select l.tenant, $3, l.kind, l.name, l.log_no, l.era, l.floor, l.ceiling, l.head, l.compacted_head, l.version,
        l.size_bytes, l.updated_at
     from session_logs l where l.tenant = $1 and l.session_no = $2",
    "insert into session_entries (tenant, session_no, log_no, era, seq, entry_no, id, at, size_bytes, digest, body, parts)
     select e.tenant, $3, e.log_no, e.era, e.seq, e.entry_no, e.id, e.at, e.size_bytes, e.digest, e.body, e.parts
     from session_entries e where e.tenant = $1 and e.session_no = $2",
];

/// $1 tenant, $2 a session that takes the place of $3, $4 now: its documents get versions that none of their names had, unless
/// they are in the version that is there. What was deleted left no trace, and versions begin at the time.
const RAISE_CHANGED: &str = "{raise} and not exists (
    select 1 from session_logs o where o.tenant = $1 and o.session_no = $3 and o.kind = 1 and o.name = session_logs.name
        and o.version = session_logs.version)";

/// $1 tenant, $2 a session that takes the place of $3: the number of an archive is not given twice.
const RAISE_ARCHIVES: &str = "
update sessions set archives = (select max(o.archives) from sessions o where o.tenant = $1 and o.session_no in ($2, $3))
where tenant = $1 and session_no = $2";

/// A session as its row has it, with a MAC that was checked.
pub struct Found {
    pub session_no: i64,
    pub scope_id: i64,
    pub owner: Option<String>,
    size_bytes: i64,
    entries: i64,
}

impl Found {
    fn read(row: &SqlRow, named: (&str, &SessionName), secret: &TenantSecret) -> Result<Self> {
        let found = Self {
            session_no: row.integer(0)?,
            scope_id: row.integer(1)?,
            owner: row.optional_text(2)?.map(str::to_owned),
            size_bytes: row.integer(3)?,
            entries: row.integer(4)?,
        };
        let (key, mac) = (named.1.key_bytes(), row.optional_bytes(5)?);
        found.row((named.0, &key), found.session_no).check(secret, mac)?;
        Ok(found)
    }

    fn row<'a>(&'a self, name: (&'a str, &'a [u8]), session_no: i64) -> OwnerRow<'a> {
        OwnerRow::session(name, (session_no, self.scope_id), self.owner.as_deref())
    }

    /// The MAC of the same session under a kind and a number; empty for none.
    pub fn mac_as(
        &self,
        (kind, session): (&str, &SessionName),
        session_no: i64,
        secret: &TenantSecret,
    ) -> Vec<u8> {
        self.row((kind, &session.key_bytes()), session_no).mac(secret).unwrap_or_default()
    }
}

/// # Errors
/// `Integrity` for a row that no server wrote; a database that cannot be read.
pub async fn find(
    access: &mut dyn Access,
    (tenant, secret): (&str, &TenantSecret),
    kind: &str,
    session: &SessionName,
) -> Result<Option<Found>> {
    let binds = [tenant.into(), kind.into(), SqlValue::Bytes(session.key_bytes())];
    let rows = access.rows(FIND, &binds).await?;
    rows.first().map(|row| Found::read(row, (kind, session), secret)).transpose()
}

/// Whether there is such a row, whatever it says.
///
/// # Errors
/// A database that cannot be read.
pub async fn is_there(
    access: &mut dyn Access,
    tenant: &str,
    kind: &str,
    session: &SessionName,
) -> Result<bool> {
    let binds = [tenant.into(), kind.into(), SqlValue::Bytes(session.key_bytes())];
    Ok(!access.rows(FIND, &binds).await?.is_empty())
}

/// Sessions that a snapshot is to have, for whoever asks.
///
/// # Errors
/// `NotFound`.
pub async fn find_all(
    access: &mut dyn Access,
    (caller, secret): (&Caller, &TenantSecret),
    sessions: &[SessionName],
) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for session in sessions {
        let found = find(access, (&caller.tenant, secret), session.kind(), session).await?;
        let owner = caller.session_owner(session, Action::Read);
        let own = |it: &Found| owner.is_none() || owner == it.owner.as_deref();
        all.push(found.filter(own).ok_or(Error::NotFound(SESSION))?);
    }
    Ok(all)
}

/// What the hidden sessions of a number say of themselves.
///
/// # Errors
/// A database that cannot be read.
pub async fn parts(
    access: &mut dyn Access,
    (of, number): ((&str, &TenantSecret), i64),
    sessions: &[SessionName],
    first_part: usize,
) -> Result<Vec<SessionPart>> {
    let mut parts = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let kind = session.hidden_kind(number);
        let found = find(access, of, &kind, session).await?;
        let found = found.ok_or_else(|| again("the session was erased meanwhile"))?;
        parts.push(SessionPart {
            part_no: i64::try_from(first_part + at).unwrap_or(i64::MAX),
            session: session.clone(),
            entries: found.entries,
            size_bytes: found.size_bytes,
            owner: found.owner,
        });
    }
    Ok(parts)
}

/// The session that is there, if it may be replaced.
///
/// # Errors
/// `SessionTaken`; `SessionExists` where another key was asked for.
pub async fn check(
    access: &mut dyn Access,
    (caller, secret): (&Caller, &TenantSecret),
    it: &SessionMove,
) -> Result<Option<Found>> {
    let session = &it.into;
    let found = find(access, (&caller.tenant, secret), session.kind(), session).await?;
    let owner = caller.session_owner(session, Action::Write);
    let in_place = it.in_place();
    match &found {
        Some(it) if owner.is_some() && owner != it.owner.as_deref() => {
            Err(Error::Conflict(Conflict::SessionTaken))
        }
        Some(_) if !in_place => Err(Error::Conflict(Conflict::SessionExists)),
        _ => Ok(found),
    }
}

/// What is done, or would be.
pub fn answer(it: &SessionMove, there: Option<&Found>) -> RestoredSession {
    RestoredSession {
        kind: it.part.session.kind().to_owned(),
        key: it.part.session.key().to_vec(),
        into: it.into.key().to_vec(),
        entries: it.part.entries,
        replaced_entries: there.map_or(0, |it| it.entries),
        created: there.is_none(),
    }
}

/// Under the scope locks: the copy gets the session's name, what is there that of `replaced`. Answers that as a part.
///
/// # Errors
/// As [`check`].
pub async fn exchange(
    access: &mut dyn Access,
    (caller, secret): (&Caller, &TenantSecret),
    moved: &SessionMove,
    (staged, replaced): (i64, i64),
    (dialect, now): (&Dialect, Micros),
) -> Result<(RestoredSession, Option<SessionPart>)> {
    let (tenant, session) = (caller.tenant.as_str(), &moved.into);
    let there = check(access, (caller, secret), moved).await?;
    let renamed = |it: &Found, from: &str, to: &str| {
        let mac = it.mac_as((to, session), it.session_no, secret);
        let key = SqlValue::Bytes(session.key_bytes());
        [tenant.into(), from.into(), key, to.into(), SqlValue::Bytes(mac)]
    };
    if let Some(it) = &there {
        let to = session.hidden_kind(replaced);
        access.rows(RENAME, &renamed(it, session.kind(), &to)).await?;
    }
    let from = session.hidden_kind(staged);
    let copy = find(access, (tenant, secret), &from, session).await?;
    let copy = copy.ok_or_else(|| again("the copy was removed meanwhile"))?;
    if copy.owner != *there.as_ref().map_or(&moved.owner, |it| &it.owner) {
        return Err(again("the session was made by somebody else meanwhile"));
    }
    let was = there.as_ref().map_or(0, |it| it.session_no);
    let binds = [tenant.into(), copy.session_no.into(), was.into(), now.into()];
    access.rows(&RAISE_CHANGED.replace("{raise}", RAISE_DOCUMENTS), &binds).await?;
    let whose = (tenant, session, copy.owner.as_deref());
    former::renumber(access, dialect, whose, (copy.session_no, was)).await?;
    let archives = [tenant.into(), copy.session_no.into(), was.into()];
    access.rows(RAISE_ARCHIVES, &archives).await?;
    access.rows(RENAME, &renamed(&copy, &from, session.kind())).await?;
    let kept = there.as_ref().map(|it| SessionPart {
        part_no: moved.part.part_no,
        session: session.clone(),
        entries: it.entries,
        size_bytes: it.size_bytes,
        owner: it.owner.clone(),
    });
    Ok((answer(moved, there.as_ref()), kept))
}

/// Scopes of what is there and of the copies, for the scope locks.
///
/// # Errors
/// A database that cannot be read.
pub async fn scopes(
    access: &mut dyn Access,
    of: (&str, &TenantSecret),
    moves: &[SessionMove],
    staged: i64,
) -> Result<Vec<i64>> {
    let mut scopes = Vec::new();
    for it in moves {
        for kind in [it.into.kind().to_owned(), it.into.hidden_kind(staged)] {
            scopes.extend(find(access, of, &kind, &it.into).await?.map(|it| it.scope_id));
        }
    }
    Ok(scopes)
}

/// One slice of the sessions of a number becomes garbage. Answers their numbers and scopes.
///
/// # Errors
/// A database that cannot be written.
pub async fn cut_off(
    engine: &dyn Accessible,
    access: &mut dyn Access,
    (tenant, number): (&str, i64),
    now: Micros,
) -> Result<Vec<(i64, i64)>> {
    const OF_NUMBER: &str = "select s.session_no, s.scope_id from sessions s
        where s.tenant = $1 and s.kind > $2 and s.kind < $3 order by s.scope_id limit 100";
    let (first, end) = SessionName::hidden_range(number);
    let binds = [tenant.into(), first.as_str().into(), SqlValue::from(end.as_str())];
    let found = access.rows(OF_NUMBER, &binds).await?;
    let mut gone = Vec::new();
    for row in &found {
        let (session_no, scope_id) = (row.integer(0)?, row.integer(1)?);
        lock_scope(access, engine.dialect(), tenant, scope_id).await?;
        make_absent(access, (tenant, session_no), now).await?;
        gone.push((session_no, scope_id));
    }
    Ok(gone)
}

async fn make_absent(
    access: &mut dyn Access,
    (tenant, no): (&str, i64),
    now: Micros,
) -> Result<()> {
    crate::storage::sessions::removal::make_absent(access, tenant, no, now).await
}

/// The hidden session of a part goes.
///
/// # Errors
/// A database that cannot be written.
pub async fn remove_one(
    engine: &dyn Accessible,
    access: &mut dyn Access,
    (tenant, kind, key): (&str, &str, &[u8]),
    now: Micros,
) -> Result<Option<(i64, i64)>> {
    let found = access.rows(FIND, &[tenant.into(), kind.into(), key.into()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let (session_no, scope_id) = (row.integer(0)?, row.integer(1)?);
    lock_scope(access, engine.dialect(), tenant, scope_id).await?;
    make_absent(access, (tenant, session_no), now).await?;
    Ok(Some((session_no, scope_id)))
}
