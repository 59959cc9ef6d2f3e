//! Reads and writes checkpoints on PostgreSQL, one statement per operation.

pub(in crate::storage) mod batch;
mod batch_binds;
pub(in crate::storage) mod batch_sql;
pub(in crate::storage) mod chunks;
pub(in crate::storage) mod lean;
mod lean_sql;
pub(in crate::storage) mod list;
pub(super) mod list_details;
pub(in crate::storage) mod read_sql;
pub(in crate::storage) mod reading;
pub(in crate::storage) mod runs;
pub(in crate::storage) mod values;
mod walk;

use async_trait::async_trait;

use crate::domain::Result;
use crate::domain::batch_error::BatchError;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{Commit, ListQuery, Target};
use crate::domain::checkpoints::planner::Batch;
use crate::domain::checkpoints::prepared::Prepared;
use crate::domain::checkpoints::storage::{
    CheckpointStorage, CheckpointTuple, Outcome, Page, TargetHistory,
};
use crate::domain::checkpoints::timeline::{Timeline, TimelineQuery};
use crate::domain::clock::Micros;
use crate::domain::names::{CheckpointNs, ThreadId};
use crate::domain::tokens::grants::Action;
use crate::storage::checkpoints::namespaces::list_checkpoint_namespaces;
use crate::storage::checkpoints::prepare::prepare;
use crate::storage::checkpoints::timeline;
use crate::storage::checkpoints::value_parts::named_in;
use crate::storage::postgres::PostgresStorage;
use crate::storage::threads::thread_filter::OwnedThread;

/// A statement that reads and met a broken connection is repeated once on a new one: after the database was restarted every
/// idle connection is dead. Removals leave the repetition to the caller.
#[async_trait]
impl CheckpointStorage for PostgresStorage {
    async fn prepare(&self, caller: &Caller, commit: Commit, deadline: Micros) -> Result<Prepared> {
        let secret = self.secret(&caller.tenant).await?;
        let named = named_in(self, (&secret, &self.chunks), caller, &commit).await?;
        prepare(&secret, caller, commit, deadline, &self.chunks, named.as_ref()).await
    }

    async fn write_batch(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
        self.write_rows(batch).await
    }

    async fn get_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple> {
        self.read_checkpoint(caller, target, history_channels).await
    }

    async fn list_checkpoints(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        self.read_page(caller, query).await
    }

    async fn list_timeline(&self, caller: &Caller, query: &TimelineQuery) -> Result<Timeline> {
        let page = self.read_page(caller, &query.listing()).await?;
        let secret = self.secret(&caller.tenant).await?;
        let thread = OwnedThread::by(caller, query.thread_id.as_str(), Action::Read);
        timeline::complete(self, &secret, thread, query, page).await
    }

    async fn get_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        self.read_history(caller, target, channels).await
    }

    async fn list_checkpoint_namespaces(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        among: &[CheckpointNs],
    ) -> Result<Vec<String>> {
        let secret = self.secret(&caller.tenant).await?;
        let thread = OwnedThread::by(caller, thread_id.as_str(), Action::Read);
        list_checkpoint_namespaces(self, thread, &secret, among).await
    }

    async fn delete_for_runs(&self, caller: &Caller, run_ids: &[String]) -> Result<()> {
        self.clear_pool_on_loss(self.remove_runs(caller, run_ids).await)
    }
}
