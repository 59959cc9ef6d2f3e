//! Stages the records of a session under a number that no session has, and makes them a session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::staging::{put_all_chunks, sealed_cells, sealed_columns, touch};
use super::{has_removed, lost, removed};
use crate::content::keys::TenantSecret;
use crate::content::parts::Name;
use crate::domain::clock::{Clock, random_id};
use crate::domain::export::records::{Existing, SessionHead, SessionRecord, Staged};
use crate::domain::scheduling::cpu_pool::{self, size_of};
use crate::domain::sessions::name::SessionName;
use crate::domain::{Conflict, Error, Result};
use crate::storage::content::chunk_memory::Known;
use crate::storage::content::sealing::Sealer;
use crate::storage::db::access::{Access, Accessible, Dialect, SqlValue, lock_scope};
use crate::storage::sessions::rows::{Rows, bytes, number};
use crate::storage::sessions::{former, seal_entry, seal_title};
use crate::storage::tokens::owner_macs::OwnerRow;

const FOUND: &str = "
select s.session_no, s.scope_id from sessions s where s.tenant = $1 and s.kind = $2 and s.key = $3";

/// $1 tenant, $2 number, $3 scope.
const BURY: [&str; 4] = [
    "insert into garbage (tenant, thread_key, scope_id, created_at, owner)
     select s.tenant, s.session_no, s.scope_id, {now}, s.owner from sessions s
     where s.tenant = $1 and s.session_no = $2 and s.scope_id = $3",
    "delete from scope_holders where tenant = $1 and kind = 'session' and holder = cast($2 as text) and scope_id = $3",
    "update scopes set epoch = epoch + 1 where tenant = $1 and $2 <> 0 and scope_id = $3",
    "delete from sessions where tenant = $1 and session_no = $2 and scope_id = $3",
];

/// $1 tenant, $2 a session that takes the place of $3, $4 now: versions of documents that none of their names had. Else a later
/// put would give a number that a client already holds, and that client's `if_version` would pass.
pub const RAISE_DOCUMENTS: &str = "
update session_logs set version = (
    select max(a.version) from (
        select session_logs.version as version union all select $4
        union all select o.version + 1 from session_logs o
        where o.tenant = $1 and o.session_no = $3 and o.kind = 1 and o.name = session_logs.name) a)
where tenant = $1 and session_no = $2 and kind = 1";

const SCOPE: &str = "insert into scopes (tenant, scope_id, epoch, next_no) values ($1, $2, $3, 1)";

const HOLD: &str = "
insert into scope_holders (tenant, scope_id, kind, holder) values ($1, $2, 'session', cast($3 as text))";

const TAKE: &str = "delete from garbage where tenant = $1 and thread_key = $2 returning thread_key";

/// Rows that are about to be written.
struct Batch {
    logs: Rows,
    entries: Rows,
    chunks: Vec<(Name, Bytes)>,
}

pub async fn stage(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    staged: &mut Staged,
    records: Vec<SessionRecord>,
) -> Result<()> {
    let size = size_of(records.len(), records.iter().map(SessionRecord::size_bytes).sum());
    let (secret, scope_id) = (secret.clone(), staged.scope_id);
    let sealed = move || seal(&secret, scope_id, records);
    let Batch { logs, entries, chunks } = cpu_pool::run_sized(tenant, size, sealed).await??;
    let dialect = engine.dialect();
    let mut access = engine.begin_adding().await?;
    touch(&mut *access, dialect, tenant, staged).await?;
    put_all_chunks(&mut *access, tenant, staged.scope_id, chunks).await?;
    let owner = [SqlValue::from(tenant), staged.key.into()];
    for (text, rows) in [(logs_text(), logs), (entries_text(), entries)] {
        if !rows.is_empty() {
            access.rows(&dialect.fill(&text), &[rows.binds(), owner.to_vec()].concat()).await?;
        }
    }
    access.end().await
}

/// CPU work: every entry is sealed for its row.
fn seal(secret: &TenantSecret, scope_id: i64, records: Vec<SessionRecord>) -> Result<Batch> {
    let known = Arc::new(Mutex::new(Known { epoch: 0, names: HashSet::new() }));
    let mut sealer = Sealer::new(secret, scope_id, Some(known));
    let (mut logs, mut entries) = (Rows::default(), Rows::default());
    for record in records {
        match record {
            SessionRecord::Log(it) => {
                let name = logs.bytes(&it.name);
                logs.push(json!([
                    it.part,
                    name.0,
                    name.1,
                    it.log_no,
                    it.era,
                    it.floor,
                    it.ceiling,
                    it.head,
                    it.compacted_head,
                    it.version,
                    it.size_bytes,
                    it.updated_at,
                ]));
            }
            SessionRecord::Entry(it) => {
                let entry_no = random_id();
                let sealed = seal_entry(secret, scope_id, &mut sealer, entry_no, it.text)?;
                let id = entries.optional(it.id.as_deref());
                let mut row = vec![json!(it.log_no), json!(it.era), json!(it.seq), json!(entry_no)];
                row.extend([json!(id.0), json!(id.1), json!(it.at)]);
                row.extend(sealed_cells(&mut entries, &sealed));
                entries.push(Json::from(row));
            }
        }
    }
    let (chunks, _) = sealer.finish();
    let chunks = chunks.into_iter().map(|it| (it.name, it.body)).collect();
    Ok(Batch { logs, entries, chunks })
}

fn logs_text() -> String {
    let name = bytes(1);
    let numbers = [3, 4, 5, 6, 7, 8, 9, 10, 11].map(number).join(", ");
    let part = number(0);
    format!(
        "insert into session_logs (tenant, session_no, kind, name, log_no, era, floor, ceiling, head, compacted_head,
            version, size_bytes, updated_at)
         select $3, $4, {part}, {name}, {numbers} {{from_each}} where true"
    )
}

fn entries_text() -> String {
    let [log, era, seq, no, at] = [0, 1, 2, 3, 6].map(number);
    let (id, sealed) = (bytes(4), sealed_columns(7));
    // Entries have no tag.
    let sealed = sealed.split_once(", ").map_or(sealed.as_str(), |it| it.1).to_owned();
    format!(
        "insert into session_entries (tenant, session_no, log_no, era, seq, entry_no, id, at, size_bytes, digest, body,
            parts)
         select $3, $4, {log}, {era}, {seq}, {no}, {id}, {at}, {sealed} {{from_each}} where true"
    )
}

/// Makes a session of this name. Answers the keys of what was replaced.
pub async fn show(
    engine: &dyn Accessible,
    (tenant, secret): (&str, &TenantSecret),
    (staged, head, name): (&Staged, &SessionHead, &SessionName),
    existing: Existing,
) -> Result<Option<(i64, i64)>> {
    let dialect = engine.dialect();
    let mut access = engine.begin_write().await?;
    let place = [tenant.into(), name.kind().into(), SqlValue::Bytes(name.key_bytes())];
    let old = find(&mut *access, dialect, (tenant, &place)).await?;
    if let Some((session_no, scope_id)) = old {
        if existing == Existing::Refuse {
            let name = name.grant_name();
            return Err(Error::Conflict(Conflict::ImportConflict { noun: "the session", name }));
        }
        for text in BURY {
            let binds = [tenant.into(), session_no.into(), scope_id.into()];
            access.rows(&dialect.fill(text), &binds).await?;
        }
    }
    let was = old.map_or(0, |it| it.0);
    let named = (tenant, name, head.owner.as_deref());
    former::renumber(&mut *access, dialect, named, (staged.key, was)).await?;
    if existing == Existing::Replace || has_removed(&mut *access, tenant).await? {
        let now = Clock::System.now();
        let binds = [tenant.into(), staged.key.into(), was.into(), now.into()];
        access.rows(RAISE_DOCUMENTS, &binds).await?;
    }
    let scope = [tenant.into(), staged.scope_id.into(), random_id().into()];
    access.rows(SCOPE, &scope).await?;
    let mut rows = Rows::default();
    let title = head.title.as_ref();
    let title = title.map(|it| seal_title(secret, (staged.scope_id, name), it));
    let (key, ids) = (name.key_bytes(), (staged.key, staged.scope_id));
    let owned = OwnerRow::session((name.kind(), &key), ids, head.owner.as_deref());
    let mac = rows.optional(owned.mac(secret).as_deref());
    let (key, title) = (rows.bytes(&key), rows.optional(title.as_deref()));
    rows.push(json!([
        name.kind(),
        key.0,
        key.1,
        staged.key,
        staged.scope_id,
        head.owner,
        head.user_id,
        head.agent,
        title.0,
        title.1,
        head.created_at,
        head.updated_at,
        head.archives,
        head.next_log,
        head.size_bytes,
        mac.0,
        mac.1,
    ]));
    let binds = [rows.binds(), vec![tenant.into()]].concat();
    access.rows(&dialect.fill(&session_text()), &binds).await?;
    let hold = [tenant.into(), staged.scope_id.into(), staged.key.into()];
    access.rows(HOLD, &hold).await?;
    if access.rows(TAKE, &[tenant.into(), staged.key.into()]).await?.is_empty() {
        return Err(lost());
    }
    access.end().await?;
    Ok(old)
}

/// The session under its scope lock.
async fn find(
    access: &mut dyn Access,
    dialect: &Dialect,
    (tenant, place): (&str, &[SqlValue; 3]),
) -> Result<Option<(i64, i64)>> {
    let Some(row) = access.rows(FOUND, place).await?.into_iter().next() else { return Ok(None) };
    let old = (row.integer(0)?, row.integer(1)?);
    lock_scope(access, dialect, tenant, old.1).await?;
    let again = access.rows(FOUND, place).await?;
    if again.first().is_some_and(|it| it.0 == row.0) { Ok(Some(old)) } else { Err(removed()) }
}

/// $3 tenant.
fn session_text() -> String {
    let (key, title, mac) = (bytes(1), bytes(8), bytes(15));
    let [no, scope] = [3, 4].map(number);
    let numbers = [10, 11, 12, 13, 14].map(number).join(", ");
    format!(
        "insert into sessions (tenant, kind, key, session_no, scope_id, owner, user_id, agent, title, created_at,
            updated_at, archives, next_log, size_bytes, mac)
         select $3, j.value ->> 0, {key}, {no}, {scope}, j.value ->> 5, j.value ->> 6, j.value ->> 7, {title}, {numbers}, {mac}
         {{from_each}} where true"
    )
}
