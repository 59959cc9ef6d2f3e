//! Writes changes of items: one transaction for a batch, three trips to the connection's thread.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Executor, Row};

use super::vectors::replace_vectors;
use crate::domain::batch_error::BatchError;
use crate::domain::store::batch::{ItemBatch, ItemOutcome, ItemRow};
use crate::domain::store::feed::ChangeKind;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::ITEMS;
use crate::storage::sqlite::errors::batch_error;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::store::words::bytes_of;
use crate::storage::store::{memory_key, namespaces, record_written};

/// Rows in their order; those that are not stored have nulls.
const READ_ROWS: &str = "
begin immediate;
select i.version, i.created_at, i.scope_id, i.history, coalesce(i.expires_at > $3, 1) as is_live, s.epoch,
    i.vector_bytes > 0 or i.is_indexed as has_vectors
from jsonb_each($1) j
left join items i on i.tenant = j.value ->> 0 and i.namespace = substr($2, j.value ->> 1, j.value ->> 2)
    and i.key = substr($2, j.value ->> 3, j.value ->> 4)
left join scopes s on s.tenant = j.value ->> 0 and s.scope_id = j.value ->> 5 and exists
    (select 1 from scope_holders h where h.tenant = s.tenant and h.scope_id = s.scope_id)
order by j.key";

const READ_PRIOR: &str = "
select j.key, x.digest, x.answer from jsonb_each($1) j
join idempotency x on x.tenant = j.value ->> 0 and x.caller = j.value ->> 1 and x.key = j.value ->> 2";

const WRITE_ALL: &str = "
insert into items (tenant, namespace, key, version, created_at, updated_at, ttl_micros, expires_at, size_bytes,
                   digest, body, parts, scope_id, vector_bytes, is_indexed, history,
                   words, word_counts, word_total, word_fields, file_head, content_id)
select j.value ->> 0, substr($2, j.value ->> 1, j.value ->> 2), substr($2, j.value ->> 3, j.value ->> 4),
       j.value ->> 5, j.value ->> 6, max(j.value ->> 6, $9), j.value ->> 7, $9 + (j.value ->> 7), j.value ->> 8,
       substr($2, j.value ->> 9, j.value ->> 10), substr($2, j.value ->> 11, j.value ->> 12),
       substr($2, j.value ->> 13, j.value ->> 14), j.value ->> 15, j.value ->> 16,
       j.value ->> 17, j.value ->> 18,
       substr($2, j.value ->> 19, j.value ->> 20), substr($2, j.value ->> 21, j.value ->> 22),
       j.value ->> 23, j.value ->> 24, substr($2, j.value ->> 25, j.value ->> 26),
       substr($2, j.value ->> 27, j.value ->> 28)
from jsonb_each($1) j where true
on conflict (tenant, namespace, key) do update set
    version = excluded.version, created_at = excluded.created_at, updated_at = excluded.updated_at,
    ttl_micros = excluded.ttl_micros, expires_at = excluded.expires_at, size_bytes = excluded.size_bytes,
    digest = excluded.digest, body = excluded.body, parts = excluded.parts, scope_id = excluded.scope_id,
    vector_bytes = excluded.vector_bytes, is_indexed = excluded.is_indexed, history = excluded.history,
    words = excluded.words, word_counts = excluded.word_counts, word_total = excluded.word_total,
    word_fields = excluded.word_fields, file_head = excluded.file_head, content_id = excluded.content_id;
delete from items where (tenant, namespace, key) in
    (select j.value ->> 0, substr($4, j.value ->> 1, j.value ->> 2), substr($4, j.value ->> 3, j.value ->> 4)
     from jsonb_each($3) j);
insert into chunks (tenant, scope_id, name, body)
select j.value ->> 0, j.value ->> 1, substr($6, j.value ->> 2, j.value ->> 3),
       substr($6, j.value ->> 4, j.value ->> 5)
from jsonb_each($5) j where true
on conflict (tenant, scope_id, name) do nothing;
insert into garbage (tenant, thread_key, scope_id, created_at)
select j.value ->> 0, j.value ->> 1, j.value ->> 1, $9 from jsonb_each($7) j where true
on conflict (tenant, thread_key) do nothing;
insert into idempotency (tenant, caller, key, digest, answer, created_at, subject)
select j.value ->> 0, j.value ->> 1, j.value ->> 2, substr($10, j.value ->> 3, j.value ->> 4),
       substr($10, j.value ->> 5, j.value ->> 6), $9, j.value ->> 7
from jsonb_each($8) j;
insert into item_changes (tenant, n, namespace, key, version, kind, written_at)
select f.tenant, f.changes + j.key + 1, substr($12, j.value ->> 1, j.value ->> 2),
       substr($12, j.value ->> 3, j.value ->> 4), j.value ->> 5, j.value ->> 6, $9
from jsonb_each($11) j join item_feeds f on f.tenant = j.value ->> 0 and f.wanted_until > $9;
update item_feeds set changes = changes + json_array_length($11)
from (select distinct j.value ->> 0 as tenant from jsonb_each($11) j) j where item_feeds.tenant = j.tenant;
commit";

/// A row as it was found, and what becomes of it.
struct Judged {
    refused: Option<ItemOutcome>,
    new_version: i64,
    new_created_at: i64,
    old_scope_id: Option<i64>,
    old_history: i64,
    epoch: Option<i64>,
    /// What the log says of it, with which version.
    logged: Option<(ChangeKind, i64)>,
    had_vectors: bool,
}

impl SqliteStorage {
    pub(in crate::storage) async fn write_item_rows(
        &self,
        batch: &ItemBatch,
    ) -> Result<Vec<ItemOutcome>, BatchError> {
        let adds = batch.rows.iter().any(|it| it.put.is_some());
        let mut write = self.connections.batch_writer(ITEMS, adds).await?;
        match apply(&mut write, batch).await {
            Ok((outcomes, written)) => {
                write.give_back();
                record_written(&self.chunks, batch, &written);
                for row in
                    batch.rows.iter().filter(|it| outcomes[it.group] == ItemOutcome::EpochStale)
                {
                    let root = row.address.namespace.root();
                    self.chunks.forget(&row.tenant, &memory_key(root));
                    self.roots.remove(&(row.tenant.clone(), root.to_owned()));
                }
                Ok(outcomes)
            }
            Err(error) => {
                let failed = batch_error(&error);
                // Where SQLite has rolled back already this fails, and the connection is closed.
                if write.execute("rollback").await.is_ok() {
                    write.give_back();
                }
                Err(failed)
            }
        }
    }
}

type Applied = (Vec<ItemOutcome>, Vec<Option<i64>>);

async fn apply(write: &mut SqliteConnection, batch: &ItemBatch) -> Result<Applied, sqlx::Error> {
    let judged = judge(write, batch).await?;
    let mut outcomes = read_prior(write, batch).await?;
    for (row, judged) in batch.rows.iter().zip(&judged) {
        if let (None, Some(refused)) = (&outcomes[row.group], &judged.refused) {
            outcomes[row.group] = Some(refused.clone());
        }
    }
    let open: HashSet<usize> =
        (0..outcomes.len()).filter(|group| outcomes[*group].is_none()).collect();
    let versions = |at: usize| (judged[at].new_version, judged[at].had_vectors);
    replace_vectors(write, batch, &open, &versions).await?;
    write_all(write, batch, &judged, &open).await?;
    let mut versions: HashMap<usize, Vec<i64>> = HashMap::new();
    for (row, judged) in batch.rows.iter().zip(&judged) {
        let of_group = versions.entry(row.group).or_default();
        of_group.resize(of_group.len().max(row.change + 1), 0);
        of_group[row.change] = if row.put.is_some() { judged.new_version } else { 0 };
    }
    let written = batch.rows.iter().zip(&judged);
    let written = written.map(|(row, it)| it.epoch.filter(|_| open.contains(&row.group))).collect();
    let outcome = |(group, it): (usize, Option<ItemOutcome>)| {
        it.unwrap_or_else(|| ItemOutcome::Written(versions.remove(&group).unwrap_or_default()))
    };
    Ok((outcomes.into_iter().enumerate().map(outcome).collect(), written))
}

async fn judge(
    write: &mut SqliteConnection,
    batch: &ItemBatch,
) -> Result<Vec<Judged>, sqlx::Error> {
    let mut wanted = RowSet::default();
    for row in &batch.rows {
        let place = address(&mut wanted, row);
        let scope_id = row.put.as_ref().and_then(|it| it.content.as_ref()).map(|it| it.scope_id);
        wanted.push(json!([row.tenant, place[0], place[1], place[2], place[3], scope_id]));
    }
    let rows = sqlx::query(READ_ROWS)
        .bind(wanted.json())
        .bind(wanted.blob)
        .bind(batch.now)
        .fetch_all(write)
        .await?;
    let judged = batch.rows.iter().zip(&rows).map(|(row, found)| {
        let version: Option<i64> = found.try_get("version")?;
        let is_live = version.is_some() && found.try_get::<bool, _>("is_live")?;
        let epoch: Option<i64> = found.try_get("epoch")?;
        let live_version = version.filter(|_| is_live);
        let content = row.put.as_ref().and_then(|it| it.content.as_ref());
        let stale = content
            .is_some_and(|it| epoch.is_none() || it.epoch.is_some_and(|it| Some(it) != epoch));
        let current = live_version.unwrap_or(0);
        let refused = if stale {
            Some(ItemOutcome::EpochStale)
        } else if row.if_version.is_some_and(|it| it != current) {
            Some(ItemOutcome::Conflict { change: row.change, current })
        } else if !(is_live || row.may_create || row.put.is_none()) {
            Some(ItemOutcome::Full)
        } else {
            None
        };
        let first = batch.first_version.max(version.unwrap_or(0) + 1) + row.puts - 1;
        let new_version = live_version.map_or(first, |it| it + row.puts);
        let created_at: Option<i64> = found.try_get("created_at")?;
        // An item whose life had ended was gone before it was deleted.
        let gone = if is_live { ChangeKind::Delete } else { ChangeKind::Expire };
        Ok(Judged {
            refused,
            logged: match row.put {
                Some(_) => Some((ChangeKind::Put, new_version)),
                None => version.map(|it| (gone, it)),
            },
            new_version,
            new_created_at: created_at.filter(|_| is_live).unwrap_or(batch.now),
            old_scope_id: found.try_get("scope_id")?,
            old_history: found
                .try_get::<Option<i64>, _>("history")?
                .filter(|_| is_live)
                .unwrap_or(0),
            epoch,
            had_vectors: found.try_get::<Option<bool>, _>("has_vectors")?.unwrap_or_default(),
        })
    });
    judged.collect()
}

/// What was answered to the requests before.
async fn read_prior(
    write: &mut SqliteConnection,
    batch: &ItemBatch,
) -> Result<Vec<Option<ItemOutcome>>, sqlx::Error> {
    let mut prior: Vec<Option<ItemOutcome>> = batch.groups.iter().map(|_| None).collect();
    if batch.groups.iter().all(|it| it.idempotency.is_none()) {
        return Ok(prior);
    }
    let asked = batch.groups.iter().map(|group| {
        let idempotency = group.idempotency.as_ref();
        json!([group.tenant, idempotency.map(|it| &it.caller), idempotency.map(|it| &it.key)])
    });
    let asked: RowSet = asked.collect();
    for row in sqlx::query(READ_PRIOR).bind(asked.json()).fetch_all(write).await? {
        let group = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0);
        let (digest, answer): (Vec<u8>, Vec<u8>) = (row.try_get(1)?, row.try_get(2)?);
        let same = batch.groups[group].idempotency.as_ref().is_some_and(|it| digest == it.digest);
        let (whole, _) = answer.as_chunks::<8>();
        let versions = whole.iter().map(|it| i64::from_be_bytes(*it)).collect();
        prior[group] = Some(if same {
            ItemOutcome::Repeated(versions)
        } else {
            ItemOutcome::IdempotencyMismatch
        });
    }
    Ok(prior)
}

async fn write_all(
    write: &mut SqliteConnection,
    batch: &ItemBatch,
    judged: &[Judged],
    open: &HashSet<usize>,
) -> Result<(), sqlx::Error> {
    let (mut puts, mut deletes, mut chunks) =
        (RowSet::default(), RowSet::default(), RowSet::default());
    let (mut trash, mut answers) = (HashSet::new(), HashMap::<usize, Vec<(usize, i64)>>::new());
    let mut logged = RowSet::default();
    let rows = batch.rows.iter().zip(judged).filter(|(row, _)| open.contains(&row.group));
    for (row, judged) in rows {
        if let Some((kind, version)) = judged.logged {
            let it = address(&mut logged, row);
            logged.push(json!([row.tenant, it[0], it[1], it[2], it[3], version, kind.name()]));
        }
        trash.extend(judged.old_scope_id.map(|it| (row.tenant.as_str(), it)));
        let version = if row.put.is_some() { judged.new_version } else { 0 };
        answers.entry(row.group).or_default().push((row.change, version));
        match &row.put {
            Some(_) => put(&mut puts, &mut chunks, row, judged),
            None => {
                let place = address(&mut deletes, row);
                deletes.push(json!([row.tenant, place[0], place[1], place[2], place[3]]));
            }
        }
    }
    let trash: RowSet = trash.into_iter().map(|(tenant, scope)| json!([tenant, scope])).collect();
    let mut remembered = RowSet::default();
    for (group, mut versions) in answers {
        let Some(idempotency) = &batch.groups[group].idempotency else { continue };
        versions.sort_unstable();
        let answer = versions.iter().map(|(_, it)| it).chain(&idempotency.note);
        let answer: Vec<u8> = answer.flat_map(|it| it.to_be_bytes()).collect();
        let (digest, answer) = (remembered.bytes(&idempotency.digest), remembered.bytes(&answer));
        let (caller, key) = (&idempotency.caller, &idempotency.key);
        let tenant = &batch.groups[group].tenant;
        let subject = &idempotency.subject;
        remembered
            .push(json!([tenant, caller, key, digest.0, digest.1, answer.0, answer.1, subject]));
    }
    sqlx::query(WRITE_ALL)
        .bind(puts.json())
        .bind(puts.blob)
        .bind(deletes.json())
        .bind(deletes.blob)
        .bind(chunks.json())
        .bind(chunks.blob)
        .bind(trash.json())
        .bind(remembered.json())
        .bind(batch.now)
        .bind(remembered.blob)
        .bind(logged.json())
        .bind(logged.blob)
        .execute(write)
        .await?;
    Ok(())
}

fn put(puts: &mut RowSet, chunks: &mut RowSet, row: &ItemRow, judged: &Judged) {
    let Some(value) = &row.put else { return };
    let place = address(puts, row);
    let digest = puts.bytes(&value.sealed.digest);
    let body = puts.bytes(&value.sealed.body);
    let parts = puts.optional_bytes(value.sealed.parts.as_deref());
    let words = puts.optional_bytes(value.words.as_ref().map(|it| bytes_of(&it.words)).as_deref());
    let counts = puts.optional_bytes(value.words.as_ref().map(|it| it.counts.as_slice()));
    let head = puts.optional_bytes(value.file_head.as_deref());
    let content_id = puts.optional_bytes(value.content_id.as_deref());
    let scope_id = value.content.as_ref().map(|it| it.scope_id);
    puts.push(json!([
        row.tenant,
        place[0],
        place[1],
        place[2],
        place[3],
        judged.new_version,
        judged.new_created_at,
        value.ttl_micros,
        value.sealed.size_bytes,
        digest.0,
        digest.1,
        body.0,
        body.1,
        parts.0,
        parts.1,
        scope_id,
        value.vectors.as_ref().map_or(0, |it| it.size_bytes()),
        i64::from(value.index.is_some()),
        value.history.map_or(judged.old_history, i64::from),
        words.0,
        words.1,
        counts.0,
        counts.1,
        value.words.as_ref().map(|it| it.total),
        value.words.as_ref().map(|it| it.fields),
        head.0,
        head.1,
        content_id.0,
        content_id.1
    ]));
    for chunk in value.content.iter().flat_map(|it| &it.chunks) {
        let (name, body) = (chunks.bytes(&chunk.name), chunks.bytes(&chunk.body));
        chunks.push(json!([row.tenant, scope_id, name.0, name.1, body.0, body.1]));
    }
}

/// Where namespace and key are in the blob.
pub(in crate::storage) fn address(set: &mut RowSet, row: &ItemRow) -> [usize; 4] {
    let namespace = set.bytes(&namespaces::encode(&row.address.namespace));
    let key = set.bytes(row.address.key.as_bytes());
    [namespace.0, namespace.1, key.0, key.1]
}
