//! Sends a batch of the group commit: binds its rows to the statement of `batch_sql` and reads the outcomes.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::batch_binds::{
    Query, bind_checkpoints, bind_chunks, bind_slots, bind_values, bind_writes, ordinal,
};
use super::batch_sql::Shape;
use crate::domain::batch_error::BatchError;
use crate::domain::checkpoints::planner::{Batch, SlotRow, SlotValue, ThreadRow, WriteRow};
use crate::domain::checkpoints::prepared::PlannedScope;
use crate::domain::checkpoints::storage::Outcome;
use crate::domain::metric_families as families;
use crate::domain::threads::alias::stored_alias;
use crate::storage::content::scope_memory::KnownThread;
use crate::storage::postgres::{PostgresStorage, failure};
use crate::storage::tokens::owner_macs::{OwnerRow, Secrets, secrets_of_batch};

impl PostgresStorage {
    /// One round trip; one more when a thread that this process knew is gone or was changed by somebody else.
    pub(in crate::storage) async fn write_rows(
        &self,
        batch: &Batch,
    ) -> Result<Vec<Outcome>, BatchError> {
        if let Some(outcomes) = self.write_lean(batch).await? {
            self.chunks.record(batch, &outcomes);
            return Ok(outcomes);
        }
        let known = batch.threads.iter().all(|it| self.known.contains(&it.tenant, &it.thread_id));
        metrics::counter!(families::COMMIT_BATCHES, "form" => "full").increment(1);
        let mut outcomes = self.send(batch, !known).await?;
        let vanished = known && outcomes.contains(&Outcome::Raced);
        if vanished {
            // Threads that were written are written again: every row of a batch is repeatable.
            outcomes = self.send(batch, true).await?;
        }
        self.chunks.record(batch, &outcomes);
        for (thread, outcome) in batch.threads.iter().zip(&outcomes) {
            if matches!(outcome, Outcome::Done { .. }) {
                self.known.insert(&thread.tenant, &thread.thread_id);
            }
        }
        Ok(outcomes)
    }

    async fn send(&self, batch: &Batch, create: bool) -> Result<Vec<Outcome>, BatchError> {
        let secrets = secrets_of_batch(self, batch).await?;
        let text = self.statements.text(shape(batch, create));
        let query = bind_rows(bind_threads(sqlx::query(text), batch), batch).bind(owners(batch));
        let known: Vec<_> = batch.threads.iter().map(|it| self.chunks.scopes.checked(it)).collect();
        let query = bind_known(query, &known)
            .bind(fresh_macs(batch, &secrets, create))
            .bind(fresh_aliases(batch, create));
        let rows = self.fetch_batch(batch, query).await?;
        let outcomes = batch.threads.iter().zip(&rows).map(|(thread, row)| {
            let outcome = self.outcome(thread, &secrets, row);
            self.lean.record(thread, &outcome, row);
            outcome
        });
        Ok(outcomes.collect())
    }

    /// Sends the statement of a batch.
    pub(super) async fn fetch_batch(
        &self,
        batch: &Batch,
        query: Query<'_>,
    ) -> Result<Vec<PgRow>, BatchError> {
        let mut connection =
            self.pool.get().await.map_err(|error| BatchError::Unavailable(error.to_string()))?;
        connection.sends(carried_bytes(batch));
        let answer = query.fetch_all(&mut *connection).await;
        drop(connection);
        answer.map_err(|error| {
            if failure::is_of_all_connections(&error) {
                self.pool.clear();
            }
            let failed = failure::of_batch(&error);
            if matches!(failed, BatchError::ConnectionLost(_)) {
                self.chunks.mark_uncertain(batch);
            }
            failed
        })
    }

    /// What became of a thread. One whose row was not checked yet is checked now, before anything is written to it.
    fn outcome(&self, thread: &ThreadRow, secrets: &Secrets, row: &PgRow) -> Outcome {
        let outcome = outcome(row);
        let (Outcome::ScopeStale { current: Some(scope_id) }, Some(secret)) =
            (&outcome, secrets.get(&thread.tenant))
        else {
            return outcome;
        };
        let (ids, owner) =
            ((row.get("thread_key"), *scope_id), row.get::<Option<&str>, _>("owner"));
        let found = OwnerRow::thread(&thread.thread_id, ids, owner);
        if !found.is_signed(secret, row.get("mac")) {
            return Outcome::ThreadForged;
        }
        let name = (thread.tenant.as_str(), thread.thread_id.as_str());
        self.chunks.scopes.saw_encrypted(secret, name, ids, owner);
        outcome
    }
}

/// MACs of threads that the batch may make.
fn fresh_macs(batch: &Batch, secrets: &Secrets, create: bool) -> Vec<Option<Vec<u8>>> {
    let mac = |thread: &ThreadRow| {
        let ids = (thread.fresh.thread_key, thread.fresh.scope_id);
        let row = OwnerRow::thread(&thread.thread_id, ids, thread.owner.as_deref());
        secrets.get(&thread.tenant).filter(|_| create).and_then(|it| row.mac(it))
    };
    batch.threads.iter().map(mac).collect()
}

/// Aliases of threads that the batch may make.
fn fresh_aliases(batch: &Batch, create: bool) -> Vec<Option<String>> {
    let alias = |it: &ThreadRow| stored_alias(&it.thread_id).filter(|_| create);
    batch.threads.iter().map(alias).collect()
}

/// Scopes, negative where the thread was seen with it; keys and owners of the rows that were checked.
fn bind_known<'q>(query: Query<'q>, known: &[Option<KnownThread>]) -> Query<'q> {
    let signed = |it: PlannedScope| if it.exists { -it.id } else { it.id };
    let row = |it: &Option<KnownThread>| it.as_ref().and_then(|it| it.row.clone());
    let owner = |it: &Option<KnownThread>| row(it)?.owner.map(|it| it.to_string());
    query
        .bind(known.iter().map(|it| it.as_ref().map(|it| signed(it.scope))).collect::<Vec<_>>())
        .bind(known.iter().map(|it| row(it).map(|it| it.thread_key)).collect::<Vec<_>>())
        .bind(known.iter().map(owner).collect::<Vec<_>>())
}

fn shape(batch: &Batch, create: bool) -> Shape {
    Shape {
        create,
        checkpoints: !batch.checkpoints.is_empty(),
        values: !batch.values.is_empty(),
        chunks: !batch.chunks.is_empty(),
        writes: !batch.writes.is_empty(),
        replacing: batch.writes.iter().any(|write| write.idx < 0),
    }
}

/// What takes room in the statement.
fn carried_bytes(batch: &Batch) -> usize {
    let values = batch.values.iter().map(|it| it.sealed.body.len());
    let writes = batch.writes.iter().map(|it| it.sealed.body.len());
    let chunks = batch.chunks.iter().map(|it| it.body.len());
    values.chain(writes).chain(chunks).sum()
}

fn bind_threads<'q>(query: Query<'q>, batch: &Batch) -> Query<'q> {
    let all = &batch.threads;
    let text = |of: fn(&ThreadRow) -> Option<&str>| -> Vec<Option<String>> {
        all.iter().map(|it| of(it).map(str::to_owned)).collect()
    };
    let number =
        |of: fn(&ThreadRow) -> Option<i64>| -> Vec<Option<i64>> { all.iter().map(of).collect() };
    query
        .bind(text(|it| Some(&it.tenant)))
        .bind(text(|it| Some(&it.thread_id)))
        .bind(text(|it| it.owner.as_deref()))
        .bind(text(|it| it.condition.generation.as_deref()))
        .bind(number(|it| it.condition.fence))
        .bind(number(|it| it.condition.epoch))
        // Without a key nothing is made.
        .bind(number(|it| it.may_create.then_some(it.fresh.thread_key)))
        .bind(number(|it| Some(it.fresh.scope_id)))
        .bind(text(|it| Some(&it.fresh.generation)))
        .bind(number(|it| it.last_step))
        .bind(text(|it| it.labels.graph_id.as_deref()))
        .bind(text(|it| it.labels.assistant_id.as_deref()))
        .bind(text(|it| it.labels.user_id.as_deref()))
        .bind(all.iter().map(|it| it.value_count).collect::<Vec<_>>())
        .bind(fresh_checkpoints(batch))
        .bind(fresh_bytes(batch))
        .bind(batch.now)
}

/// Each part of the statement begins with the binds that the lean one has too.
fn bind_rows<'q>(query: Query<'q>, batch: &'q Batch) -> Query<'q> {
    let (checkpoints, writes) = (&batch.checkpoints, &batch.writes);
    let query = bind_checkpoints(query, batch)
        .bind(checkpoints.iter().map(|it| it.look_parent.as_deref()).collect::<Vec<_>>());
    let query = bind_values(query, batch)
        .bind(batch.values.iter().map(|it| it.checkpoint.map(ordinal)).collect::<Vec<_>>());
    let digest = |it: &'q SlotRow| match &it.value {
        SlotValue::Carried(Some(digest)) => Some(&digest[..]),
        _ => None,
    };
    let query = bind_slots(query, batch).bind(batch.slots.iter().map(digest).collect::<Vec<_>>());
    let replacing = |it: &WriteRow| it.idx < 0;
    let query = bind_writes(query, batch)
        .bind(writes.iter().map(|it| replacing(it).then_some(&*it.writer)).collect::<Vec<_>>())
        .bind(writes.iter().map(|it| replacing(it).then_some(it.seq)).collect::<Vec<_>>());
    bind_chunks(query, batch)
}

/// Whom threads must belong to.
fn owners(batch: &Batch) -> Vec<Option<String>> {
    batch.threads.iter().map(|it| it.condition.owner.clone()).collect()
}

/// A thread that is created has exactly the rows of this batch.
fn fresh_checkpoints(batch: &Batch) -> Vec<i64> {
    let mut counts = vec![0; batch.threads.len()];
    for row in &batch.checkpoints {
        counts[row.thread] += 1;
    }
    counts
}

fn fresh_bytes(batch: &Batch) -> Vec<i64> {
    let mut bytes = vec![0; batch.threads.len()];
    for row in &batch.checkpoints {
        bytes[row.thread] += i64::from(row.size_bytes);
    }
    for row in &batch.values {
        bytes[row.thread] += i64::from(row.sealed.size_bytes);
    }
    for row in &batch.writes {
        bytes[row.thread] += i64::from(row.sealed.size_bytes);
    }
    bytes
}

fn outcome(row: &PgRow) -> Outcome {
    let generation: String = row.get("generation");
    match row.get::<&str, _>("state") {
        "ok" => Outcome::Done { generation, epoch: row.get("epoch") },
        "generation" => Outcome::ThreadRestored { current: generation },
        "taken" => Outcome::ThreadTaken,
        "held" => Outcome::LeaseHeld,
        "fence" => Outcome::FenceStale { current: row.get("fence") },
        "quota" => Outcome::QuotaExceeded,
        "scope" => Outcome::ScopeStale { current: row.get("scope_id") },
        "epoch" => Outcome::EpochStale { current: row.get("epoch") },
        _ => Outcome::Raced,
    }
}
