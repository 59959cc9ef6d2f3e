//! Writes changes of items: one statement for a batch. Batches of plain puts have a narrower one (`item_puts`).
//!
//! **Invariant:** rows of scopes are locked first, then items, both in order. A mistake of a caller comes back as a row. When two servers
//! create one item at the same moment, the second fails on its key and begins again.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use super::items::literal;
use super::{declared, puts, vectors};
use crate::domain::batch_error::BatchError;
use crate::domain::store::batch::{ItemBatch, ItemGroup, ItemOutcome, ItemRow};
use crate::storage::postgres::{PostgresStorage, failure};
use crate::storage::store::{memory_key, record_written};

/// Unique violation: another server was faster.
const RACED: &str = "23505";

const ROWS: &str = r"
with r as materialized (
    select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::bytea[], $6::bigint[],
        $7::bigint[], $8::boolean[], $9::bigint[], $10::integer[], $11::bytea[], $12::bytea[],
        $13::bytea[], $14::bigint[], $15::bigint[], $16::text[], $17::boolean[], $27::boolean[])
    with ordinality as r (grp, change, tenant, namespace, key, want, puts, deletes, ttl_micros, size_bytes,
        digest, body, parts, scope_id, want_epoch, projection, has_marks, may_create, ord)
)
";

/// Requests and what was answered to them before.
const PRIOR: &str = r"
, q as materialized (
    select * from unnest($19::text[], $20::text[], $21::text[], $22::bytea[], $28::text[])
    with ordinality as q (tenant, caller, key, digest, subject, grp)
), prior as materialized (
    select q.grp, x.digest = q.digest as same, x.answer from q
    cross join lateral (select x.digest, x.answer from idempotency x
        where x.tenant = q.tenant and x.caller = q.caller and x.key = q.key limit 1) x
)
";

const NO_PRIOR: &str =
    ", prior as (select null::bigint as grp, true as same, null::bytea as answer where false)";

/// A scope that nobody holds any more, or that lost content between the snapshot and the lock, has no scope lock.
const GATE: &str = r"
, seen as materialized (
    select w.tenant, w.scope_id, s.epoch
    from (select distinct tenant, scope_id from r where scope_id is not null) w
    cross join lateral (select s.epoch from scopes s
        where s.tenant = w.tenant and s.scope_id = w.scope_id limit 1) s
    where exists (select from scope_holders h where h.tenant = w.tenant and h.scope_id = w.scope_id)
), scope_lock as materialized (
    select s.tenant, s.scope_id, s.epoch
    from seen join scopes s on s.tenant = seen.tenant and s.scope_id = seen.scope_id
    where s.epoch = seen.epoch
    order by s.tenant, s.scope_id for no key update of s
)
";

const NO_SCOPE_LOCK: &str = ", scope_lock as (select null::text as tenant, null::bigint as scope_id, null::bigint as epoch where false)";

/// `scope_lock` is read in here before any item is locked.
const JUDGED: &str = r"
, gated as materialized (
    select r.*, scope_lock.epoch from r
    left join lateral (select scope_lock.epoch from scope_lock
        where scope_lock.tenant = r.tenant and scope_lock.scope_id = r.scope_id limit 1) scope_lock on true
), found as materialized (
    select g.*, i.version as old_version, i.created_at as old_created_at, i.scope_id as old_scope_id,
        i.vector_bytes as old_vector_bytes, i.is_indexed as old_is_indexed,
        i.version is not null as is_stored,
        i.version is not null and (i.expires_at is null or i.expires_at > $18) as is_live
    from gated g
    left join lateral (select i.version, i.created_at, i.expires_at, i.scope_id, i.vector_bytes, i.is_indexed
        from items i
        where i.tenant = g.tenant and i.namespace = g.namespace::text[] and i.key = g.key
        for no key update) i on true
), judged as materialized (
    select f.*, case
        when exists (select from prior where prior.grp = f.grp) then 'prior'
        when f.scope_id is not null and (f.epoch is null or f.want_epoch <> f.epoch) then 'epoch'
        when f.want <> case when f.is_live then f.old_version else 0 end then 'conflict'
        when not (f.is_live or f.may_create or f.deletes) then 'full'
        else 'ok' end as state,
        case when f.is_live then f.old_version + f.puts
             else greatest($26, coalesce(f.old_version, 0) + 1) + f.puts - 1 end as new_version,
        case when f.is_live then f.old_created_at else $18 end as new_created_at
    from found f
), v as materialized (
    select j.*, bool_and(j.state = 'ok') over (partition by j.grp) as is_ok from judged j
)
";

const CHANGES: &str = r"
, updated as (
    update items i set version = v.new_version, created_at = v.new_created_at,
        updated_at = greatest(v.new_created_at, $18), ttl_micros = v.ttl_micros,
        expires_at = $18 + v.ttl_micros, size_bytes = v.size_bytes, digest = v.digest, body = v.body,
        parts = v.parts, scope_id = v.scope_id, projection = v.projection::jsonb,
        has_marks = v.has_marks, vector_bytes = {vector_bytes}, is_indexed = {is_indexed},
        history = coalesce({history}, case when v.is_live then i.history else 0 end),
        (words, word_counts, word_total, word_fields) = row({words}),
        file_head = {file_head}, content_id = {content_id}
    from v
    where v.is_ok and v.is_stored and not v.deletes
        and i.tenant = v.tenant and i.namespace = v.namespace::text[] and i.key = v.key
), created as (
    insert into items (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at,
        size_bytes, digest, body, parts, scope_id, projection, has_marks, vector_bytes, is_indexed, history,
        words, word_counts, word_total, word_fields, file_head, content_id)
    select tenant, namespace::text[], key, new_version, new_created_at, new_created_at, ttl_micros,
        $18 + ttl_micros, size_bytes, digest, body, parts, scope_id, projection::jsonb, has_marks, {vector_bytes},
        {is_indexed}, coalesce({history}, 0), {words}, {file_head}, {content_id}
    from v where is_ok and not is_stored and not deletes
), deleted as (
    delete from items i using v
    where v.is_ok and v.is_stored and v.deletes
        and i.tenant = v.tenant and i.namespace = v.namespace::text[] and i.key = v.key
), trash as (
    insert into garbage (tenant, thread_key, scope_id, created_at)
    select distinct tenant, old_scope_id, old_scope_id, $18 from v
    where is_ok and old_scope_id is not null
    on conflict do nothing
)
";

/// What happened, for tenants that somebody follows. An item whose life had ended was gone before it was deleted.
const LOGGED: &str = r"
, logged as (
    insert into item_changes (tenant, xid, n, namespace, key, version, kind, written_at)
    select v.tenant, pg_current_xact_id(), v.ord::integer, v.namespace::text[], v.key,
        case when v.deletes then v.old_version else v.new_version end,
        case when not v.deletes then 'put' when v.is_live then 'delete' else 'expire' end, $18
    from v
    where v.is_ok and (v.is_stored or not v.deletes)
        and exists (select from item_feeds f where f.tenant = v.tenant and f.wanted_until > $18)
)
";

const CHUNKS: &str = r"
, new_chunks as (
    insert into chunks (tenant, scope_id, name, body)
    select distinct on (v.tenant, v.scope_id, k.name) v.tenant, v.scope_id, k.name, k.body
    from unnest($23::bigint[], $24::bytea[], $25::bytea[]) as k (ord, name, body)
    cross join lateral (select v.tenant, v.scope_id from v where v.ord = k.ord and v.is_ok limit 1) v
    on conflict do nothing
)
";

/// The versions of a request's changes, eight bytes each, in their order.
const REMEMBERED: &str = r"
, remembered as (
    insert into idempotency (tenant, caller, key, digest, answer, created_at, subject)
    select q.tenant, q.caller, q.key, q.digest, a.answer || {note}, $18, q.subject from q
    cross join lateral (
        select string_agg(int8send(case when v.deletes then 0 else v.new_version end), ''::bytea
            order by v.change) as answer
        from v where v.grp = q.grp and v.is_ok) a
    where q.key is not null and a.answer is not null
)
";

const ANSWER: &str = r"
select grp, change, state, is_ok, case when deletes then 0 else new_version end as version,
    case when is_live then old_version else 0 end as current, epoch, null::bytea as answer, null::boolean as same,
    {raced}
from v where tenant is not null
union all
select grp, 0, 'prior', false, 0, 0, null, answer, same, false from prior
";

impl PostgresStorage {
    /// One round trip.
    pub(in crate::storage) async fn write_item_rows(
        &self,
        batch: &ItemBatch,
    ) -> Result<Vec<ItemOutcome>, BatchError> {
        if puts::are_plain(batch) {
            return self.put_item_rows(batch).await;
        }
        let mut connection =
            self.pool.get().await.map_err(|error| BatchError::Unavailable(error.to_string()))?;
        let query = bind(sqlx::query(AssertSqlSafe(text(batch))), batch);
        let answer = query.fetch_all(&mut *connection).await;
        drop(connection);
        let rows = answer.map_err(|error| self.refusal_of_items(&error))?;
        let outcomes = outcomes(batch, &rows);
        self.learn_of_items(batch, &outcomes, &rows);
        self.remove_left_vectors(batch, &rows).await;
        Ok(outcomes)
    }

    pub(super) fn refusal_of_items(&self, error: &sqlx::Error) -> BatchError {
        if failure::is_of_all_connections(error) {
            self.pool.clear();
        }
        let raced = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        match raced.as_deref() {
            Some(RACED) => BatchError::Retry(error.to_string()),
            _ => failure::of_batch(error),
        }
    }

    fn learn_of_items(&self, batch: &ItemBatch, outcomes: &[ItemOutcome], rows: &[PgRow]) {
        let epoch = |row: &PgRow| row.get::<Option<i64>, _>("epoch").filter(|_| row.get("is_ok"));
        let mut written: Vec<Option<i64>> = batch.rows.iter().map(|_| None).collect();
        for row in rows.iter().filter(|it| it.get("is_ok")) {
            let place = |it: &ItemRow| (ordinal(it.group), position(it.change));
            let wanted = (row.get::<i64, _>("grp"), row.get::<i32, _>("change"));
            if let Some(at) = batch.rows.iter().position(|it| place(it) == wanted) {
                written[at] = epoch(row);
            }
        }
        record_written(&self.chunks, batch, &written);
        for row in &batch.rows {
            if outcomes[row.group] == ItemOutcome::EpochStale {
                let root = row.address.namespace.root();
                self.chunks.forget(&row.tenant, &memory_key(root));
                self.roots.remove(&(row.tenant.clone(), root.to_owned()));
            }
        }
    }
}

/// Parts that a batch does not need are left out; so there are thirty-two texts.
fn text(batch: &ItemBatch) -> String {
    let changes = vectors::filled(CHANGES, batch);
    let changes = declared::fill(&changes, batch);
    let remembered = declared::fill_note(REMEMBERED, batch);
    let answer = ANSWER.replace("{raced}", vectors::RACED);
    let asks = batch.groups.iter().any(|it| it.idempotency.is_some());
    let has_content = batch.rows.iter().any(|it| content(it).is_some());
    let parts = [
        ROWS,
        if asks { PRIOR } else { NO_PRIOR },
        if has_content { GATE } else { NO_SCOPE_LOCK },
        JUDGED,
        changes.as_str(),
        LOGGED,
        vectors::STALE,
        if has_content { CHUNKS } else { "" },
        if vectors::has_vectors(batch) { vectors::ADDED } else { "" },
        if asks { remembered.as_str() } else { "" },
        answer.as_str(),
    ];
    parts.concat()
}

pub(in crate::storage) type Query<'q> =
    sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

fn bind<'q>(query: Query<'q>, batch: &'q ItemBatch) -> Query<'q> {
    let rows = &batch.rows;
    let put = |of: fn(&crate::domain::store::batch::PreparedValue) -> Option<i64>| {
        rows.iter().map(|it| it.put.as_ref().and_then(of)).collect::<Vec<Option<i64>>>()
    };
    let sealed = || rows.iter().map(|it| it.put.as_ref().map(|it| &it.sealed));
    let query = query
        .bind(rows.iter().map(|it| ordinal(it.group)).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| position(it.change)).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.tenant.clone()).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| literal(&it.address.namespace)).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.address.key.as_bytes()).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.if_version).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.puts).collect::<Vec<_>>())
        .bind(rows.iter().map(|it| it.put.is_none()).collect::<Vec<_>>())
        .bind(put(|it| it.ttl_micros))
        .bind(sealed().map(|it| it.map(|it| it.size_bytes)).collect::<Vec<_>>())
        .bind(sealed().map(|it| it.map(|it| &it.digest[..])).collect::<Vec<_>>())
        .bind(sealed().map(|it| it.map(|it| &it.body[..])).collect::<Vec<_>>())
        .bind(sealed().map(|it| it.and_then(|it| it.parts.as_deref())).collect::<Vec<_>>())
        .bind(put(|it| it.content.as_ref().map(|it| it.scope_id)))
        .bind(put(|it| it.content.as_ref().and_then(|it| it.epoch)))
        .bind(
            rows.iter()
                .map(|it| it.put.as_ref().map(|it| projection_of(&it.projection)))
                .collect::<Vec<_>>(),
        )
        .bind(rows.iter().map(|it| it.put.as_ref().map(|it| it.has_marks)).collect::<Vec<_>>())
        .bind(batch.now);
    let query = bind_chunks(bind_requests(query, batch), batch);
    declared::bind(vectors::bind(query, batch), batch)
}

fn bind_requests<'q>(query: Query<'q>, batch: &ItemBatch) -> Query<'q> {
    let asked = || batch.groups.iter().map(|it| it.idempotency.as_ref());
    query
        .bind(batch.groups.iter().map(|it| it.tenant.clone()).collect::<Vec<_>>())
        .bind(asked().map(|it| it.map(|it| it.caller.clone())).collect::<Vec<_>>())
        .bind(asked().map(|it| it.map(|it| it.key.clone())).collect::<Vec<_>>())
        .bind(asked().map(|it| it.map(|it| &it.digest[..])).collect::<Vec<_>>())
}

fn bind_chunks<'q>(query: Query<'q>, batch: &ItemBatch) -> Query<'q> {
    let chunks = || {
        let rows = batch.rows.iter().enumerate();
        rows.flat_map(|(at, row)| content(row).into_iter().flatten().map(move |it| (at, it)))
    };
    query
        .bind(chunks().map(|(at, _)| ordinal(at)).collect::<Vec<_>>())
        .bind(chunks().map(|(_, it)| &it.name[..]).collect::<Vec<_>>())
        .bind(chunks().map(|(_, it)| &it.body[..]).collect::<Vec<_>>())
        .bind(batch.first_version)
        .bind(batch.rows.iter().map(|it| it.may_create).collect::<Vec<_>>())
        .bind(batch.groups.iter().map(subject).collect::<Vec<_>>())
}

fn subject(group: &ItemGroup) -> Option<String> {
    group.idempotency.as_ref().and_then(|it| it.subject.clone())
}

fn content(row: &ItemRow) -> Option<&Vec<crate::domain::checkpoints::prepared::Chunk>> {
    row.put.as_ref().and_then(|it| it.content.as_ref()).map(|it| &it.chunks)
}

/// 1-based, as `with ordinality` counts.
fn ordinal(index: usize) -> i64 {
    i64::try_from(index).expect("a batch has few rows") + 1
}

fn position(change: usize) -> i32 {
    i32::try_from(change).expect("a request has few changes")
}

fn outcomes(batch: &ItemBatch, rows: &[PgRow]) -> Vec<ItemOutcome> {
    let mut outcomes: Vec<ItemOutcome> =
        batch.groups.iter().map(|_| ItemOutcome::Written(Vec::new())).collect();
    for row in &batch.rows {
        if let ItemOutcome::Written(versions) = &mut outcomes[row.group] {
            versions.resize(versions.len().max(row.change + 1), 0);
        }
    }
    for row in rows {
        let group = usize::try_from(row.get::<i64, _>("grp") - 1).unwrap_or(0);
        let change = usize::try_from(row.get::<i32, _>("change")).unwrap_or(0);
        match (row.get::<&str, _>("state"), &mut outcomes[group]) {
            ("prior", outcome) => {
                if let Some(answer) = row.get::<Option<&[u8]>, _>("answer") {
                    *outcome = if row.get("same") {
                        ItemOutcome::Repeated(versions(answer))
                    } else {
                        ItemOutcome::IdempotencyMismatch
                    };
                }
            }
            ("epoch", outcome) => *outcome = ItemOutcome::EpochStale,
            ("full", outcome @ ItemOutcome::Written(_)) => *outcome = ItemOutcome::Full,
            ("conflict", outcome @ ItemOutcome::Written(_)) => {
                *outcome = ItemOutcome::Conflict { change, current: row.get("current") };
            }
            ("ok", ItemOutcome::Written(versions)) => versions[change] = row.get("version"),
            _ => {}
        }
    }
    outcomes
}

fn versions(answer: &[u8]) -> Vec<i64> {
    let (whole, _) = answer.as_chunks::<8>();
    whole.iter().map(|it| i64::from_be_bytes(*it)).collect()
}

/// Nothing of an encrypted value is projected.
fn projection_of(projection: &str) -> String {
    if projection.is_empty() { "null".into() } else { projection.to_owned() }
}
