//! Writes a batch of the group commit in one transaction, with three trips to the connection's thread: scope locks; stored rows; all
//! changes and the commit. Only values that are neither new nor the parent's need more.

use std::collections::HashMap;

use serde_json::json;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Executor, Row, sqlite::SqliteRow};

use super::{batch_values, batch_writes};
use crate::content::keys::TenantSecret;
use crate::domain::Error;
use crate::domain::batch_error::BatchError;
use crate::domain::checkpoints::planner::{Batch, ChunkRow, ThreadRow};
use crate::domain::checkpoints::prepared::{PlannedScope, Sealed};
use crate::domain::checkpoints::storage::Outcome;
use crate::domain::threads::alias::stored_alias;
use crate::storage::sqlite::SqliteStorage;
use crate::storage::sqlite::connection::COMMITS;
use crate::storage::sqlite::errors::batch_error;
use crate::storage::sqlite::rows::RowSet;
use crate::storage::tokens::owner_macs::{OwnerRow, Secrets, secrets_of_batch};

/// A thread of the batch as it was found.
pub(in crate::storage) struct LockedThread {
    pub(in crate::storage) thread_key: i64,
    pub(in crate::storage) scope_id: i64,
    pub(in crate::storage) next_no: i64,
    /// The thread has a row; else this batch creates it.
    pub(in crate::storage) exists: bool,
    /// Set when a condition failed: nothing is written for the thread.
    pub(in crate::storage) refused: Option<Outcome>,
    pub(super) checkpoints_added: i64,
    pub(super) bytes_added: i64,
    generation: String,
    fence: i64,
    epoch: i64,
}

/// Everything the batch writes, but for threads and scopes.
#[derive(Default)]
pub(in crate::storage) struct Changes {
    pub(in crate::storage) checkpoints: RowSet,
    pub(in crate::storage) writes: RowSet,
    manifests: RowSet,
    chunks: RowSet,
}

/// Why a batch could not be applied.
pub(in crate::storage) enum Failure {
    Sql(sqlx::Error),
    Damaged(Error),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Damaged(error)
    }
}

impl SqliteStorage {
    pub(in crate::storage) async fn apply_batch(
        &self,
        batch: &Batch,
    ) -> Result<Vec<Outcome>, BatchError> {
        let secrets = secrets_of_batch(self, batch).await?;
        let mut write = self.connections.batch_writer(COMMITS, true).await?;
        let scope = |it| self.chunks.scopes.checked(it).map(|known| known.scope);
        let scopes = batch.threads.iter().map(scope).collect();
        match apply(&mut write, batch, (scopes, &secrets)).await {
            Ok(outcomes) => {
                write.give_back();
                self.chunks.record(batch, &outcomes);
                Ok(outcomes)
            }
            Err(failure) => {
                let failed = match failure {
                    Failure::Sql(error) => batch_error(&error),
                    Failure::Damaged(error) => BatchError::Statement(error.to_string()),
                };
                // Where SQLite has rolled back already this fails, and the connection is closed.
                if write.execute("rollback").await.is_ok() {
                    write.give_back();
                }
                Err(failed)
            }
        }
    }
}

async fn apply(
    write: &mut SqliteConnection,
    batch: &Batch,
    (scopes, secrets): (Vec<Option<PlannedScope>>, &Secrets),
) -> Result<Vec<Outcome>, Failure> {
    let mut locked_threads = lock_threads(write, batch, (scopes, secrets)).await?;
    let mut changes = Changes::default();
    batch_values::resolve(write, batch, &mut locked_threads, &mut changes).await?;
    batch_writes::resolve(write, batch, &mut locked_threads, &mut changes).await?;
    for chunk in &batch.chunks {
        changes.chunk(batch, &locked_threads[chunk.thread], chunk);
    }
    write_all(write, batch, (&locked_threads, secrets), changes).await?;
    let outcome = |locked: LockedThread| {
        let done = Outcome::Done { generation: locked.generation, epoch: locked.epoch };
        locked.refused.unwrap_or(done)
    };
    Ok(locked_threads.into_iter().map(outcome).collect())
}

const LOCK_THREADS: &str = "
begin immediate;
select t.thread_key, t.scope_id, s.next_no, s.epoch,
       coalesce(t.generation, b.generation) as generation, coalesce(t.fence, b.fence, 0) as fence, t.owner, t.mac,
       t.lease_holder is not null
           and t.lease_expires_at > cast(unixepoch('subsec') * 1000000 as integer) as held
from jsonb_each($1) j
left join threads t on t.tenant = j.value ->> 0 and t.thread_id = j.value ->> 1
left join scopes s on s.tenant = t.tenant and s.scope_id = t.scope_id
left join thread_tombstones b on b.tenant = j.value ->> 0 and b.thread_id = j.value ->> 1
    and (j.value ->> 2 is null or b.owner = j.value ->> 2)
order by j.key";

async fn lock_threads(
    write: &mut SqliteConnection,
    batch: &Batch,
    (scopes, secrets): (Vec<Option<PlannedScope>>, &Secrets),
) -> Result<Vec<LockedThread>, Failure> {
    let key = |it: &ThreadRow| json!([it.tenant, it.thread_id, it.condition.owner]);
    let wanted: RowSet = batch.threads.iter().map(key).collect();
    let rows = sqlx::query(LOCK_THREADS).bind(wanted.json()).fetch_all(write).await?;
    let locked_threads = batch.threads.iter().zip(scopes).zip(&rows);
    let locked_threads = locked_threads.map(|((thread, scope), row)| {
        locked_thread(thread, (scope, secrets.get(&thread.tenant)), row)
    });
    let mut locked_threads = locked_threads.collect::<Result<Vec<_>, sqlx::Error>>()?;
    // Threads of one scope (copies of each other) number their values one after the other.
    let mut taken: HashMap<(&str, i64), i64> = HashMap::new();
    for (thread, locked) in batch.threads.iter().zip(&mut locked_threads) {
        let taken = taken.entry((&thread.tenant, locked.scope_id)).or_default();
        locked.next_no += *taken;
        *taken += i64::from(thread.value_count);
    }
    Ok(locked_threads)
}

fn locked_thread(
    thread: &ThreadRow,
    (scope, secret): (Option<PlannedScope>, Option<&TenantSecret>),
    row: &SqliteRow,
) -> Result<LockedThread, sqlx::Error> {
    let thread_key: Option<i64> = row.try_get("thread_key")?;
    let known: Option<String> = row.try_get("generation")?;
    let fence: i64 = row.try_get("fence")?;
    let held: bool = row.try_get::<Option<bool>, _>("held")?.unwrap_or(false);
    // The scope of a new thread begins with an epoch that no scope before it had.
    let epoch: i64 = row.try_get::<Option<i64>, _>("epoch")?.unwrap_or(thread.fresh.thread_key);
    let condition = &thread.condition;
    let owner: Option<String> = row.try_get("owner")?;
    // Whose the thread is comes before everything that would tell something of it.
    let taken = thread_key.is_some() && condition.owner.is_some() && condition.owner != owner;
    let scope_id: Option<i64> = row.try_get("scope_id")?;
    let mac: Option<Vec<u8>> = row.try_get("mac")?;
    let ids = thread_key.zip(scope_id);
    let found = ids.map(|it| OwnerRow::thread(&thread.thread_id, it, owner.as_deref()));
    let forged = found.zip(secret).is_some_and(|(it, of)| !it.is_signed(of, mac.as_deref()));
    let foreign = |it: PlannedScope| scope_id.map_or(it.exists, |scope_id| scope_id != it.id);
    let refused = match (&condition.generation, &known) {
        _ if taken => Some(Outcome::ThreadTaken),
        _ if forged => Some(Outcome::ThreadForged),
        (Some(wanted), Some(current)) if wanted != current => {
            Some(Outcome::ThreadRestored { current: current.clone() })
        }
        _ => match (condition.fence, condition.epoch) {
            (None, _) if held => Some(Outcome::LeaseHeld),
            (Some(wanted), _) if wanted != fence => Some(Outcome::FenceStale { current: fence }),
            _ if thread_key.is_none() && !thread.may_create => Some(Outcome::QuotaExceeded),
            _ if scope.is_some_and(foreign) => Some(Outcome::ScopeStale { current: scope_id }),
            (_, Some(wanted)) if wanted != epoch => Some(Outcome::EpochStale { current: epoch }),
            _ => None,
        },
    };
    Ok(LockedThread {
        thread_key: thread_key.unwrap_or(thread.fresh.thread_key),
        scope_id: scope_id.unwrap_or(thread.fresh.scope_id),
        next_no: row.try_get::<Option<i64>, _>("next_no")?.unwrap_or(1),
        exists: thread_key.is_some(),
        refused,
        checkpoints_added: 0,
        bytes_added: 0,
        generation: known.unwrap_or_else(|| thread.fresh.generation.clone()),
        fence,
        epoch,
    })
}

impl Changes {
    /// Adds a value of the scope.
    pub(in crate::storage) fn manifest(
        &mut self,
        at: (&str, i64),
        no: i64,
        version_key: i64,
        sealed: &Sealed,
    ) {
        let (tenant, scope_id) = at;
        let digest = self.manifests.bytes(&sealed.digest);
        let body = self.manifests.bytes(&sealed.body);
        let parts = self.manifests.optional_bytes(sealed.parts.as_deref());
        let (tag, size) = (&sealed.tag, sealed.size_bytes);
        self.manifests.push(json!([
            tenant,
            scope_id,
            no,
            version_key,
            tag,
            size,
            digest.0,
            digest.1,
            body.0,
            body.1,
            parts.0,
            parts.1
        ]));
    }

    fn chunk(&mut self, batch: &Batch, locked: &LockedThread, chunk: &ChunkRow) {
        if locked.refused.is_some() {
            return;
        }
        let name = self.chunks.bytes(&chunk.name);
        let body = self.chunks.bytes(&chunk.body);
        let tenant = &batch.threads[chunk.thread].tenant;
        self.chunks.push(json!([tenant, locked.scope_id, name.0, name.1, body.0, body.1]));
    }
}

/// One trip: sets that are empty cost a microsecond each.
const WRITE_ALL: &str = "
insert into threads (tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at,
                     last_step, checkpoint_count, size_bytes, owner, graph_id, assistant_id, user_id, mac, alias)
select j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5, $2, $2,
       j.value ->> 6, j.value ->> 7, j.value ->> 8, j.value ->> 9, j.value ->> 10, j.value ->> 11, j.value ->> 12,
       unhex(j.value ->> 16), j.value ->> 17
from jsonb_each($1) j where true
on conflict (tenant, thread_id) do update set
    updated_at = max(threads.updated_at + 1, excluded.updated_at),
    last_step = coalesce(excluded.last_step, last_step),
    checkpoint_count = checkpoint_count + excluded.checkpoint_count,
    size_bytes = size_bytes + excluded.size_bytes,
    graph_id = coalesce(excluded.graph_id, graph_id),
    assistant_id = coalesce(excluded.assistant_id, assistant_id),
    user_id = coalesce(excluded.user_id, user_id);
insert into scopes (tenant, scope_id, epoch, next_no)
select j.value ->> 0, j.value ->> 3, j.value ->> 15, j.value ->> 13 from jsonb_each($1) j where true
on conflict (tenant, scope_id) do update set next_no = excluded.next_no where next_no < excluded.next_no;
insert into scope_holders (tenant, scope_id, kind, holder)
select j.value ->> 0, j.value ->> 3, 'thread', j.value ->> 1 from jsonb_each($1) j where j.value ->> 14;
delete from thread_tombstones where (tenant, thread_id) in
    (select j.value ->> 0, j.value ->> 1 from jsonb_each($1) j where j.value ->> 14);
insert into checkpoints (tenant, thread_key, ns, checkpoint_id, parent_id, map, documents, size_bytes, legacy,
                         run_id, delta_channels)
select j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4,
       substr($4, j.value ->> 5, j.value ->> 6), substr($4, j.value ->> 7, j.value ->> 8), j.value ->> 9,
       j.value ->> 10, j.value ->> 11, j.value ->> 12
from jsonb_each($3) j where true
on conflict (tenant, thread_key, ns, checkpoint_id) do update set
    parent_id = excluded.parent_id, map = excluded.map, documents = excluded.documents,
    size_bytes = excluded.size_bytes, legacy = excluded.legacy, run_id = excluded.run_id, delta_channels = excluded.delta_channels;
insert into manifests (tenant, scope_id, no, version_key, tag, size_bytes, digest, body, parts)
select j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5,
       substr($6, j.value ->> 6, j.value ->> 7), substr($6, j.value ->> 8, j.value ->> 9),
       substr($6, j.value ->> 10, j.value ->> 11)
from jsonb_each($5) j;
insert into chunks (tenant, scope_id, name, body)
select j.value ->> 0, j.value ->> 1, substr($8, j.value ->> 2, j.value ->> 3),
       substr($8, j.value ->> 4, j.value ->> 5)
from jsonb_each($7) j where true
on conflict (tenant, scope_id, name) do nothing;
insert into writes (tenant, thread_key, ns, checkpoint_id, task_id, idx, task_path, channel, writer, seq,
                    tag, size_bytes, digest, body, parts)
select j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5,
       j.value ->> 6, j.value ->> 7, j.value ->> 8, j.value ->> 9, j.value ->> 10, j.value ->> 11,
       substr($10, j.value ->> 12, j.value ->> 13), substr($10, j.value ->> 14, j.value ->> 15),
       substr($10, j.value ->> 16, j.value ->> 17)
from jsonb_each($9) j where true
on conflict (tenant, thread_key, ns, checkpoint_id, task_id, idx) do update set
    task_path = excluded.task_path, channel = excluded.channel, writer = excluded.writer, seq = excluded.seq,
    tag = excluded.tag, size_bytes = excluded.size_bytes, digest = excluded.digest, body = excluded.body,
    parts = excluded.parts;
commit";

async fn write_all(
    write: &mut SqliteConnection,
    batch: &Batch,
    (locked_threads, secrets): (&[LockedThread], &Secrets),
    changes: Changes,
) -> Result<(), Failure> {
    let open =
        batch.threads.iter().zip(locked_threads).filter(|(_, locked)| locked.refused.is_none());
    let json = |(thread, locked): (&ThreadRow, &LockedThread)| {
        thread_json(thread, locked, secrets.get(&thread.tenant))
    };
    let threads: RowSet = open.map(json).collect();
    sqlx::query(WRITE_ALL)
        .bind(threads.json())
        .bind(batch.now)
        .bind(changes.checkpoints.json())
        .bind(changes.checkpoints.blob)
        .bind(changes.manifests.json())
        .bind(changes.manifests.blob)
        .bind(changes.chunks.json())
        .bind(changes.chunks.blob)
        .bind(changes.writes.json())
        .bind(changes.writes.blob)
        .execute(write)
        .await?;
    Ok(())
}

fn thread_json(
    thread: &ThreadRow,
    locked: &LockedThread,
    secret: Option<&TenantSecret>,
) -> serde_json::Value {
    let ids = (locked.thread_key, locked.scope_id);
    let row = OwnerRow::thread(&thread.thread_id, ids, thread.owner.as_deref());
    // That of a thread that is there stays.
    let mac = secret.filter(|_| !locked.exists).and_then(|it| row.mac(it));
    json!([
        thread.tenant,
        thread.thread_id,
        locked.thread_key,
        locked.scope_id,
        locked.generation,
        locked.fence,
        thread.last_step,
        locked.checkpoints_added,
        locked.bytes_added,
        thread.owner,
        thread.labels.graph_id,
        thread.labels.assistant_id,
        thread.labels.user_id,
        locked.next_no,
        !locked.exists,
        locked.epoch,
        mac.map(hex::encode),
        stored_alias(&thread.thread_id).filter(|_| !locked.exists),
    ])
}
