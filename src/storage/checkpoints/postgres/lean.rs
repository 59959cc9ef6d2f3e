//! Sends a batch of the group commit with the lean statement, if this process knows all of its threads. Whatever is rare takes the full
//! statement of `batch.rs`: new threads, replaced checkpoints and writes, carried values that the parent does not have.
//!
//! Memory is a hint: the statement trusts nothing of it (`lean_sql.rs`). A batch with a member that failed a condition is sent again as a
//! whole, in full; every row of a batch is repeatable.

use std::collections::HashSet;

use moka::sync::Cache;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::batch_binds::{
    Query, bind_checkpoints, bind_chunks, bind_slots, bind_values, bind_writes,
};
use super::batch_sql::Statements;
use super::lean_sql::{LeanShape, assemble};
use crate::domain::batch_error::BatchError;
use crate::domain::checkpoints::planner::{Batch, SlotValue, ThreadRow};
use crate::domain::checkpoints::storage::Outcome;
use crate::domain::metric_families as families;
use crate::storage::postgres::PostgresStorage;

/// An entry takes about 200 bytes.
const THREADS_MAX: u64 = 100_000;

/// What a thread had when this process last wrote to it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LeanThread {
    thread_key: i64,
    scope_id: i64,
    epoch: i64,
}

/// The threads that this process knows, and the forms of the statement.
pub struct Lean {
    threads: Cache<(String, String), LeanThread>,
    statements: Statements<LeanShape>,
}

impl Default for Lean {
    fn default() -> Self {
        Self { threads: Cache::new(THREADS_MAX), statements: Statements::of(assemble) }
    }
}

impl Lean {
    /// Learns from a row of the full statement.
    pub fn record(&self, thread: &ThreadRow, outcome: &Outcome, row: &PgRow) {
        let Outcome::Done { epoch, .. } = *outcome else { return };
        let stored =
            (row.get::<Option<i64>, _>("thread_key"), row.get::<Option<i64>, _>("scope_id"));
        let (thread_key, scope_id) = match stored {
            (Some(thread_key), Some(scope_id)) => (thread_key, scope_id),
            // Epochs are random: with this one the batch made the thread.
            _ if epoch == thread.fresh.thread_key => (epoch, thread.fresh.scope_id),
            _ => return,
        };
        self.threads.insert(key(thread), LeanThread { thread_key, scope_id, epoch });
    }
}

impl PostgresStorage {
    /// One round trip. None: the batch is not lean, or some member was not written.
    pub(super) async fn write_lean(
        &self,
        batch: &Batch,
    ) -> Result<Option<Vec<Outcome>>, BatchError> {
        let Some(known) = self.lean_members(batch) else { return Ok(None) };
        let shape = shape(batch);
        let mut query = bind_threads(sqlx::query(self.lean.statements.text(shape)), batch, &known);
        if shape.checkpoints {
            query = bind_slots(bind_checkpoints(query, batch), batch);
        }
        if shape.values {
            query = bind_values(query, batch);
        }
        if shape.chunks {
            query = bind_chunks(query, batch);
        }
        if shape.writes {
            query = bind_writes(query, batch);
        }
        let rows = self.fetch_batch(batch, query).await?;
        let mut outcomes = Vec::with_capacity(rows.len());
        for ((row, thread), known) in rows.iter().zip(&batch.threads).zip(&known) {
            match row.get::<Option<String>, _>(0) {
                Some(generation) => {
                    outcomes.push(Outcome::Done { generation, epoch: known.thread.epoch });
                }
                None => self.lean.threads.invalidate(&key(thread)),
            }
        }
        let is_whole = outcomes.len() == batch.threads.len();
        let form = if is_whole { "lean" } else { "repeated" };
        metrics::counter!(families::COMMIT_BATCHES, "form" => form).increment(1);
        Ok(is_whole.then_some(outcomes))
    }

    fn lean_members(&self, batch: &Batch) -> Option<Vec<Member>> {
        let mut scopes = HashSet::with_capacity(batch.threads.len());
        let mut members = Vec::with_capacity(batch.threads.len());
        for thread in &batch.threads {
            let known = self.lean.threads.get(&key(thread))?;
            // Threads of one scope number their values one after the other.
            if !scopes.insert((&thread.tenant, known.scope_id))
                || thread.condition.epoch.is_some_and(|it| it != known.epoch)
            {
                return None;
            }
            let mut member = Member { thread: known, ..Member::default() };
            if let Some(sealed) = self.chunks.scopes.checked(thread) {
                let row = sealed.row.filter(|it| it.thread_key == known.thread_key)?;
                if sealed.scope.id != known.scope_id {
                    return None;
                }
                member.is_sealed = true;
                member.seal_owner = row.owner.map(|it| it.to_string());
            }
            members.push(member);
        }
        for row in &batch.checkpoints {
            let puts = &mut members[row.thread].puts;
            if *puts || row.parent.as_ref() == Some(&row.id) || row.parent != row.look_parent {
                return None;
            }
            *puts = true;
        }
        for row in &batch.values {
            members[row.thread].value_bytes += i64::from(row.sealed.size_bytes);
        }
        let is_plain = batch.writes.iter().all(|it| it.idx >= 0)
            && batch.slots.iter().all(|it| !matches!(it.value, SlotValue::Carried(Some(_))));
        is_plain.then_some(members)
    }
}

/// A thread of a batch, and what the batch has of it.
#[derive(Debug, Default)]
struct Member {
    thread: LeanThread,
    is_sealed: bool,
    seal_owner: Option<String>,
    puts: bool,
    value_bytes: i64,
}

fn key(thread: &ThreadRow) -> (String, String) {
    (thread.tenant.clone(), thread.thread_id.clone())
}

fn shape(batch: &Batch) -> LeanShape {
    LeanShape {
        checkpoints: !batch.checkpoints.is_empty(),
        values: !batch.values.is_empty(),
        chunks: !batch.chunks.is_empty(),
        writes: !batch.writes.is_empty(),
    }
}

fn bind_threads<'q>(query: Query<'q>, batch: &'q Batch, members: &'q [Member]) -> Query<'q> {
    let all = &batch.threads;
    let text = |of: fn(&ThreadRow) -> Option<&str>| all.iter().map(of).collect::<Vec<_>>();
    let number = |of: fn(&Member) -> i64| members.iter().map(of).collect::<Vec<_>>();
    query
        .bind(text(|it| Some(&it.tenant)))
        .bind(text(|it| Some(&it.thread_id)))
        .bind(number(|it| it.thread.thread_key))
        .bind(number(|it| it.thread.scope_id))
        .bind(number(|it| it.thread.epoch))
        .bind(text(|it| it.condition.generation.as_deref()))
        .bind(all.iter().map(|it| it.condition.fence).collect::<Vec<_>>())
        .bind(text(|it| it.condition.owner.as_deref()))
        .bind(members.iter().map(|it| it.is_sealed).collect::<Vec<_>>())
        .bind(members.iter().map(|it| it.seal_owner.as_deref()).collect::<Vec<_>>())
        .bind(all.iter().map(|it| it.last_step).collect::<Vec<_>>())
        .bind(text(|it| it.labels.graph_id.as_deref()))
        .bind(text(|it| it.labels.assistant_id.as_deref()))
        .bind(text(|it| it.labels.user_id.as_deref()))
        .bind(all.iter().map(|it| it.value_count).collect::<Vec<_>>())
        .bind(number(|it| it.value_bytes))
        .bind(members.iter().map(|it| it.puts).collect::<Vec<_>>())
        .bind(batch.now)
}
