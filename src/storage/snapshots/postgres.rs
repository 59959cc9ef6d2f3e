//! Copies everything of a snapshot at one moment, in a transaction of read committed. Its first statement takes `for key share` on the
//! scope locks of everything chosen, in the order of batches. So prunes, deletions and restores wait, and commits do not. The next
//! statements find the chosen rows. The locks keep those rows from being removed or replaced. The last statement copies all of it. It is
//! one statement, so it sees one state of the database.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row};

use super::item_sql::ItemSql;
use super::items::Items;
use super::{SnapshotEngine, item_sql, sessions};
use crate::content::keys::TenantSecret;
use crate::domain::caller::Caller;
use crate::domain::clock::{Micros, random_id};
use crate::domain::names::ThreadId;
use crate::domain::scheduling::contention::Contention;
use crate::domain::sessions::name::SessionName;
use crate::domain::snapshots::take::TakeSnapshot;
use crate::domain::threads::thread::THREAD;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::storage::db::access::{Accessible, SqlValue};
use crate::storage::postgres::PostgresStorage;
use crate::storage::postgres::access::BorrowedTransaction;
use crate::storage::postgres::connection::Connection;
use crate::storage::tokens::owner_macs::OwnerRow;

/// $1 tenant, $2 thread ids, $3 roots of namespaces, $4 kinds and $5 keys of sessions. The scope locks of all of it, in the order in
/// which everybody locks them: who removes or replaces any of it waits, and who collects its content.
const LOCK: &str = r"
select s.scope_id from scopes s
where s.tenant = $1 and s.scope_id in (
    select t.scope_id from threads t where t.tenant = $1 and t.thread_id = any ($2)
    union all
    select r.scope_id from namespace_roots r where r.tenant = $1 and r.root = any ($3)
    union all
    select x.scope_id from unnest($4::text[], $5::bytea[]) w (kind, key)
    join sessions x on x.tenant = $1 and x.kind = w.kind and x.key = w.key)
order by s.scope_id for key share of s
";

/// $1 tenant, $2 thread ids, $3 whose each has to be, null for anybody's. Behind the scope locks: what was removed meanwhile is gone.
const FIND: &str = r"
select x.thread_key, x.scope_id, x.owner, x.mac
from unnest($2::text[], $3::text[]) with ordinality w (thread_id, owner, at)
join threads x on x.tenant = $1 and x.thread_id = w.thread_id and (w.owner is null or x.owner = w.owner)
order by w.at
";

/// $1 tenant, $2 thread keys, $3 keys, $4 hidden ids and $7 MACs of the copies. A copy is never leased; it was written now, so the packer
/// leaves it alone for a while; everything else is as it was.
const COPY: &str = r"
with picked as (
    select o.thread_id, o.thread_key, o.scope_id, o.generation, o.created_at, o.last_step, o.checkpoint_count,
        o.size_bytes, o.owner, o.graph_id, o.assistant_id, o.user_id, p.to_key, p.hidden_id,
        p.mac
    from unnest($2::bigint[], $3::bigint[], $4::text[], $7::bytea[]) p (from_key, to_key, hidden_id, mac)
    join threads o on o.tenant = $1 and o.thread_key = p.from_key
), t as (
    insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
        last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac)
    select $1, hidden_id, to_key, scope_id, generation, 0, created_at,
        (extract(epoch from clock_timestamp()) * 1000000)::bigint, last_step, checkpoint_count, size_bytes, owner,
        graph_id, assistant_id, user_id, mac
    from picked returning 1
), h as (
    insert into scope_holders (tenant, scope_id, kind, holder)
    select $1, scope_id, 'thread', to_key::text from picked
), c as (
    insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, channel_keys, version_keys,
        value_nos, documents, size_bytes, legacy, sends_from, run_id, delta_channels, delta_keys)
    select $1, p.to_key, c.ns, c.checkpoint_id, c.parent_id, c.channel_keys, c.version_keys, c.value_nos, c.documents,
        c.size_bytes, c.legacy, c.sends_from, c.run_id, c.delta_channels, c.delta_keys
    from picked p join checkpoints c on c.tenant = $1 and c.thread_key = p.thread_key
), w as (
    insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
        tag, size_bytes, digest, body, parts)
    select $1, p.to_key, w.ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.writer, w.seq, w.tag,
        w.size_bytes, w.digest, w.body, w.parts
    from picked p join writes w on w.tenant = $1 and w.thread_key = p.thread_key
), b as (
    insert into delta_bases (tenant, thread_key, ns, checkpoint_id, channel, document)
    select $1, p.to_key, b.ns, b.checkpoint_id, b.channel, b.document
    from picked p join delta_bases b on b.tenant = $1 and b.thread_key = p.thread_key
), d as (
    insert into thread_details (tenant, thread_key, version, document, projection, has_marks, title_folded, ttl_due)
    select $1, p.to_key, d.version, d.document, d.projection, d.has_marks, d.title_folded, d.ttl_due
    from picked p join thread_details d on d.tenant = $1 and d.thread_key = p.thread_key
)
";

/// Before it come the copies of items, if there are any: $5 number and $6 time have their types from here. Numbers go up to the
/// greatest there is, so nothing is added to one.
const SELECT: &str = r"
select (select count(*) from t) as threads,
    (extract(epoch from statement_timestamp()) * 1000000)::bigint as moment, $5::bigint as number, $6::bigint as now
";

#[async_trait]
impl SnapshotEngine for PostgresStorage {
    fn item_sql(&self) -> &'static ItemSql {
        &item_sql::POSTGRES
    }

    /// One transaction.
    async fn stage_session(&self, tenant: &str, scope_id: i64, numbers: (i64, i64)) -> Result<()> {
        const NOTE: &str = "insert into garbage (tenant, thread_key, scope_id, created_at)
            values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000000)::bigint)";
        let (from, to) = numbers;
        let mut access = self.begin_write().await?;
        access.rows(NOTE, &[tenant.into(), to.into(), scope_id.into()]).await?;
        for text in sessions::ROWS {
            access.rows(text, &[tenant.into(), from.into(), to.into()]).await?;
        }
        access.end().await
    }

    /// Five round trips, whatever is in it; one more for each session.
    async fn copy_now(
        &self,
        caller: &Caller,
        number: i64,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Micros> {
        let secret = self.secret(&caller.tenant).await?;
        let mut contention = Contention::default();
        loop {
            let moment = self.copy_moment((caller, &secret), number, request, now).await?;
            if let Some(moment) = moment {
                return Ok(moment);
            }
            contention.lost("what the snapshot is of keeps").await?;
        }
    }
}

impl PostgresStorage {
    /// None: a thread or session was made between the locks and the look at it, so that its scope lock is not held.
    async fn copy_moment(
        &self,
        (caller, secret): (&Caller, &TenantSecret),
        number: i64,
        request: &TakeSnapshot,
        now: Micros,
    ) -> Result<Option<Micros>> {
        let mut connection = self.pool.get().await?;
        let mut transaction = connection.begin().await?;
        let locked_scopes = lock(&mut transaction, caller, request).await?;
        let found = threads(&mut transaction, (caller, secret), request, &locked_scopes).await?;
        let Some(found) = found else {
            transaction.rollback().await?;
            return Ok(None);
        };
        let mut within = BorrowedTransaction(&mut transaction);
        let sessions = sessions::find_all(&mut within, (caller, secret), &request.sessions).await?;
        if sessions.iter().any(|it| !locked_scopes.contains(&it.scope_id)) {
            transaction.rollback().await?;
            return Ok(None);
        }
        let items = Items { sql: &item_sql::POSTGRES, tenant: &caller.tenant, number, now };
        let copies: Vec<(i64, String)> =
            (0..found.len()).map(|at| (random_id(), hidden(number, at))).collect();
        let macs = found.iter().zip(&copies).map(|(it, (key, hidden))| {
            OwnerRow::thread(hidden, (*key, it.scope_id), it.owner.as_deref()).mac(secret)
        });
        let mut query = sqlx::query(AssertSqlSafe(copy_text(&items, request)))
            .bind(&caller.tenant)
            .bind(found.iter().map(|it| it.thread_key).collect::<Vec<_>>())
            .bind(copies.iter().map(|(key, _)| *key).collect::<Vec<_>>())
            .bind(copies.iter().map(|(_, hidden)| hidden.clone()).collect::<Vec<_>>())
            .bind(number)
            .bind(now)
            .bind(macs.collect::<Vec<_>>());
        for namespace in &request.namespaces {
            for bound in items.sql.bounds(namespace) {
                if let SqlValue::Text(text) = bound {
                    query = query.bind(text);
                }
            }
        }
        for (it, session) in sessions.iter().zip(&request.sessions) {
            let (no, kind) = (random_id(), session.hidden_kind(number));
            let mac = it.mac_as((&kind, session), no, secret);
            query = query.bind(it.session_no).bind(no).bind(kind).bind(mac);
        }
        let row = query.fetch_one(&mut *transaction).await?;
        if row.get::<i64, _>("threads").unsigned_abs() != found.len() as u64 {
            return Err(Error::Internal("a thread changed under its locks".into()));
        }
        transaction.commit().await?;
        Ok(Some(row.get("moment")))
    }
}

/// All copies as one statement. Binds of a namespace stand behind those of threads, number, time and MACs.
fn copy_text(items: &Items<'_>, request: &TakeSnapshot) -> String {
    let mut text = COPY.to_owned();
    let namespaces = request.namespaces.len();
    for at in 0..namespaces {
        for (part, copy) in items.copying().iter().enumerate() {
            let copy = with_binds(copy, [1, 8 + 2 * at, 9 + 2 * at, 5, 6]);
            text += &format!(", i{at}_{part} as ({copy})");
        }
    }
    for at in 0..request.sessions.len() {
        let first = 8 + 2 * namespaces + 4 * at;
        for (part, copy) in sessions::ROWS.iter().chain(&sessions::MAKE).enumerate() {
            let copy = with_binds(copy, [1, first, first + 1, first + 2, first + 3]);
            text += &format!(", s{at}_{part} as ({copy})");
        }
    }
    text + SELECT
}

/// The text with other numbers for its binds 1 to 5.
fn with_binds(text: &str, numbers: [usize; 5]) -> String {
    let mut pieces = text.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digit = piece.bytes().next().map_or(1, |it| usize::from(it.saturating_sub(b'0')));
        out += &format!("${}{}", numbers[digit - 1], &piece[1..]);
    }
    out
}

/// Scopes whose scope locks are locked until the transaction ends.
async fn lock(
    connection: &mut Connection,
    caller: &Caller,
    request: &TakeSnapshot,
) -> Result<HashSet<i64>> {
    let threads = request.threads.iter().map(|it| it.thread_id.as_str().to_owned());
    let roots = request.namespaces.iter().map(|it| it.root().to_owned());
    let kinds = request.sessions.iter().map(|it| it.kind().to_owned());
    let keys = request.sessions.iter().map(SessionName::key_bytes);
    let rows = sqlx::query(LOCK)
        .bind(&caller.tenant)
        .bind(threads.collect::<Vec<_>>())
        .bind(roots.collect::<Vec<_>>())
        .bind(kinds.collect::<Vec<_>>())
        .bind(keys.collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(|row| row.get("scope_id")).collect())
}

fn hidden(number: i64, at: usize) -> String {
    ThreadId::hidden(number, at).into_string()
}

/// A thread that a snapshot has.
struct FoundThread {
    thread_key: i64,
    scope_id: i64,
    owner: Option<String>,
}

/// The threads in the order of the request; none where one has a scope lock that is not held.
async fn threads(
    connection: &mut Connection,
    (caller, secret): (&Caller, &TenantSecret),
    request: &TakeSnapshot,
    locked_scopes: &HashSet<i64>,
) -> Result<Option<Vec<FoundThread>>> {
    let ids = request.threads.iter().map(|it| it.thread_id.as_str());
    let owners = ids.clone().map(|it| caller.thread_owner(it, Action::Read));
    let rows = sqlx::query(FIND)
        .bind(&caller.tenant)
        .bind(ids.clone().map(str::to_owned).collect::<Vec<_>>())
        .bind(owners.map(|it| it.map(str::to_owned)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    if rows.len() < request.threads.len() {
        return Err(Error::NotFound(THREAD));
    }
    let mut all = Vec::with_capacity(rows.len());
    for (thread_id, row) in ids.zip(&rows) {
        let (thread_key, scope_id) = (row.get("thread_key"), row.get("scope_id"));
        let owner: Option<String> = row.get("owner");
        OwnerRow::thread(thread_id, (thread_key, scope_id), owner.as_deref())
            .check(secret, row.get("mac"))?;
        all.push(FoundThread { thread_key, scope_id, owner });
    }
    let is_held = all.iter().all(|it| locked_scopes.contains(&it.scope_id));
    Ok(is_held.then_some(all))
}
