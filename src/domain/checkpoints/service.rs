//! Runs the calls on checkpoints: checks the permission, then makes the one call that does it. Every route and every later front end uses
//! this file.

use std::sync::Arc;

use crate::domain::caller::{Caller, Permission};
use crate::domain::tokens::grants::Action;

use super::checkpoint::{Commit, ListQuery, Target, View};
use super::group_commit::{Committed, Ended, GroupCommit};
use super::history::Base;
use super::shown;
use super::timeline::{Timeline, TimelineQuery};
use super::value_parts::require_whole;
use crate::domain::checkpoints::storage::{
    CheckpointStorage, CheckpointTuple, Page, TargetHistory,
};
use crate::domain::clock::{Clock, Micros};
use crate::domain::error::{Error, Result};
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{Channel, CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::contention::Contention;
use crate::domain::tenants::quotas::Quotas;
use crate::domain::threads::retention::{PruneRequest, Pruned};

/// The checkpointer.
pub struct Checkpoints {
    pub(super) storage: Arc<dyn CheckpointStorage>,
    pub(super) commits: Arc<GroupCommit>,
    pub(super) clock: Arc<Clock>,
    pub(super) quotas: Arc<Quotas>,
}

/// A walk that a client holds already.
#[derive(Debug, Clone)]
pub struct KnownHistory {
    pub first_id: CheckpointId,
    /// None when the text that was sent cannot be a digest of ours: then nothing is left out.
    pub digest: Option<[u8; 16]>,
}

/// What a client learns about the chain of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DeltaHistory {
    /// Names everything from the first node on; None for an empty chain.
    pub digest: Option<[u8; 16]>,
    /// The node of the client's own chain before which the answer stops.
    pub continues_at: Option<String>,
}

/// Prepares a commit and hands it to the queue, again when content that it left out was removed in between.
///
/// # Errors
/// As [`GroupCommit::commit`].
pub async fn write(
    storage: &dyn CheckpointStorage,
    commits: &GroupCommit,
    caller: &Caller,
    commit: &Commit,
    deadline: Micros,
) -> Result<Committed> {
    let mut contention = Contention::default();
    loop {
        let prepared = storage.prepare(caller, commit.clone(), deadline).await?;
        if let Ended::Committed(committed) = commits.commit(prepared).await? {
            return Ok(committed);
        }
        contention.lost("content of the thread keeps").await?;
    }
}

impl Checkpoints {
    pub fn new(
        storage: Arc<dyn CheckpointStorage>,
        commits: Arc<GroupCommit>,
        clock: Arc<Clock>,
        quotas: Arc<Quotas>,
    ) -> Self {
        Self { storage, commits, clock, quotas }
    }

    /// What the token alone decides, for who does more than the call of [`Self::commit`].
    ///
    /// # Errors
    /// `NotGranted`.
    pub fn require_commit(&self, caller: &Caller, commit: &Commit) -> Result<()> {
        caller.require_thread(&commit.thread_id, Action::Append)
    }

    /// Durable when it returns. No round trip but the batch's own; one more after a removal of content, and three more for values
    /// in parts.
    ///
    /// # Errors
    /// Limits and shapes; `QuotaExceeded`; conflicts with the thread's generation or lease; see `GroupCommit::commit`.
    pub async fn commit(
        &self,
        caller: &Caller,
        mut commit: Commit,
        deadline: Micros,
    ) -> Result<Committed> {
        self.require_commit(caller, &commit)?;
        commit.check()?;
        self.quotas.require_bytes(caller)?;
        commit.full = self.quotas.threads_full(caller);
        let committed = write(&*self.storage, &self.commits, caller, &commit, deadline).await?;
        if commit.values().any(|it| it.in_parts.is_some())
            && let Err(error) = self.storage.take_value_parts(caller, &commit).await
        {
            tracing::warn!(%error, "parts of values count twice till the sweep takes them");
        }
        Ok(committed)
    }

    /// One round trip.
    ///
    /// # Errors
    /// Limits; `ValuesTooLarge`; a storage that cannot be read.
    pub async fn get(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
        held: Option<&KnownHistory>,
    ) -> Result<(CheckpointTuple, DeltaHistory)> {
        caller.require(Permission::Threads(Action::Read))?;
        check_channels("history_channels", history_channels)?;
        if !caller.may_read_thread(&target.thread_id) {
            return Ok((CheckpointTuple::default(), DeltaHistory::default()));
        }
        let mut found =
            shown::get_checkpoint(&*self.storage, caller, target, history_channels).await?;
        let values = found.view.iter().flat_map(View::all_values).chain(found.chain.all_values());
        require_whole(target.large_values, values)?;
        let cut = cut(&mut found.chain, held);
        Ok((found, cut))
    }

    /// Round trips as in `CheckpointStorage::list_checkpoints`.
    ///
    /// # Errors
    /// Limits; `ValuesTooLarge`; a storage that cannot be read.
    pub async fn list(&self, caller: &Caller, query: ListQuery) -> Result<Page> {
        match &query.thread_id {
            Some(_) => caller.require(Permission::Threads(Action::Read))?,
            None => caller.require_listing(Action::Read)?,
        }
        check_channels("history_channels", query.history_channels.as_deref().unwrap_or_default())?;
        let hidden = query.thread_id.as_ref().is_some_and(|it| !caller.may_read_thread(it));
        if hidden || query.limit == 0 {
            return Ok(Page::default());
        }
        let large_values = query.large_values;
        let page = shown::list_checkpoints(&*self.storage, caller, query.within_limits()).await?;
        let values = page.views.iter().flat_map(View::all_values).chain(page.chain.all_values());
        require_whole(large_values, values)?;
        Ok(page)
    }

    /// Round trips as in `CheckpointStorage::list_timeline`. A thread that is absent, or not the caller's, has an empty one.
    ///
    /// # Errors
    /// A limit that no page has; a storage that cannot be read.
    pub async fn list_timeline(&self, caller: &Caller, query: &TimelineQuery) -> Result<Timeline> {
        caller.require(Permission::Threads(Action::Read))?;
        query.check()?;
        if !caller.may_read_thread(&query.thread_id) {
            return Ok(Timeline::default());
        }
        self.storage.list_timeline(caller, query).await
    }

    /// One round trip. None: no such checkpoint.
    ///
    /// # Errors
    /// Limits; a storage that cannot be read.
    pub async fn history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
        held: Option<&KnownHistory>,
    ) -> Result<Option<(TargetHistory, DeltaHistory)>> {
        caller.require(Permission::Threads(Action::Read))?;
        check_channels("channels", channels)?;
        if !caller.may_read_thread(&target.thread_id) {
            return Ok(None);
        }
        let history = self.storage.get_history(caller, target, channels).await?;
        let Some(mut history) = history else { return Ok(None) };
        let bases = history.bases.iter().flat_map(Base::all_values);
        require_whole(target.large_values, bases.chain(history.chain.all_values()))?;
        let cut = cut(&mut history.chain, held);
        Ok(Some((history, cut)))
    }

    /// Those of `among` that have a checkpoint. One round trip, none for no names.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn list_checkpoint_namespaces(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        among: &[CheckpointNs],
    ) -> Result<Vec<String>> {
        caller.require(Permission::Threads(Action::Read))?;
        if among.is_empty() || !caller.may_read_thread(thread_id) {
            return Ok(Vec::new());
        }
        self.storage.list_checkpoint_namespaces(caller, thread_id, among).await
    }

    /// In all threads that the caller may write to, those that are granted by name too.
    ///
    /// # Errors
    /// `DeadlineExceeded` when it was not begun in time; a storage that cannot be written.
    pub async fn delete_for_runs(
        &self,
        caller: &Caller,
        run_ids: &[String],
        deadline: Micros,
    ) -> Result<()> {
        caller.require(Permission::Threads(Action::Write))?;
        at_most("run_ids", run_ids.len(), LIMITS.ids_per_request_max)?;
        self.clock.require_before(deadline)?;
        self.storage.delete_for_runs(caller, run_ids).await
    }

    /// Answers what went, or in a dry run would go, per thread in the order asked for; of a thread named twice, once.
    ///
    /// # Errors
    /// `DeadlineExceeded` when it was not begun in time; `LeaseHeld`; a storage that cannot be written.
    pub async fn prune(
        &self,
        caller: &Caller,
        mut request: PruneRequest,
        deadline: Micros,
    ) -> Result<(PruneRequest, Vec<Pruned>)> {
        caller.require(Permission::Threads(Action::Write))?;
        at_most("thread_ids", request.thread_ids.len(), LIMITS.ids_per_request_max)?;
        for thread_id in &request.thread_ids {
            caller.require_thread(thread_id, Action::Write)?;
        }
        self.clock.require_before(deadline)?;
        let mut seen = std::collections::HashSet::new();
        request.thread_ids.retain(|it| seen.insert(it.to_string()));
        let pruned = self.storage.prune_threads(caller, &request).await?;
        Ok((request, pruned))
    }
}

impl ListQuery {
    fn within_limits(mut self) -> Self {
        self.limit = self.limit.min(usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX));
        self
    }
}

fn cut(chain: &mut super::history::Chain, held: Option<&KnownHistory>) -> DeltaHistory {
    let digests = chain.digests();
    let digest = digests.first().copied();
    let continues_at = held.and_then(|held| {
        let held_digest = held.digest.as_ref()?;
        chain.cut(held.first_id.as_str(), held_digest, &digests)
    });
    DeltaHistory { digest, continues_at }
}

fn check_channels(field: &str, channels: &[String]) -> Result<()> {
    at_most(field, channels.len(), LIMITS.channels_max)?;
    channels.iter().try_for_each(|it| {
        Channel::new(it.as_str()).map(drop).map_err(|error| match error {
            Error::Invalid { detail, limit, .. } => {
                Error::Invalid { field: field.to_owned(), detail, limit }
            }
            other => other,
        })
    })
}
