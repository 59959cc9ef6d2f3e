//! Makes an update of a state: reads what it goes on from, has the next checkpoint built, and commits it as a saver would.

use std::sync::Arc;

use super::state::At;
use super::state_update::{Asked, StateUpdate};
use crate::app::App;
use crate::decode::Json;
use crate::decode::state_update::{Change, Planned, Refusal, Stored, is_update, plan};
use crate::decode::values::size_bytes;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{LargeValues, ListQuery, Target};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::clock::Micros;
use crate::domain::error::Conflict;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::domain::threads::thread::Thread;
use crate::domain::tokens::grants::Action;
use crate::domain::{Error, Result};
use crate::http::request::problem::{Code, Problem};

/// Updates that may follow each other without a step of the graph.
const UPDATES_MAX: usize = 100;

/// Whose state is updated, and by whom.
pub struct StateWriter<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
    pub thread_id: &'a ThreadId,
    pub deadline: Micros,
}

pub enum Written {
    Checkpoint(Made),
    /// For the graph, for this reason. Nothing was written.
    Refused(String),
}

/// A checkpoint that was made.
pub struct Made {
    pub ns: String,
    pub id: String,
    /// Of a subgraph, those above it.
    pub map: Option<Json>,
}

impl StateWriter<'_> {
    /// # Errors
    /// `LeaseHeld` while another works on the thread; those of a commit.
    pub async fn write(&self, thread: &Thread, update: StateUpdate) -> Result<Written, Problem> {
        self.caller.require_thread(self.thread_id, Action::Append)?;
        if thread.run.is_leased {
            return Err(self.in_flight());
        }
        let StateUpdate { at, change } = update;
        match change {
            Asked::Change(change) => self.change(at, change).await,
            Asked::Write(values) => {
                let rules = Arc::clone(&self.app.agent_server.state_update_channels);
                self.change(at, Change::Write { values, rules }).await
            }
            Asked::Graph(reason) => Ok(Written::Refused(reason)),
            Asked::List => {
                let detail = "values must be an object: updates as a list are for the graph";
                Err(Problem::new(Code::BadRequest, detail).at("values"))
            }
        }
    }

    async fn change(&self, at: At, change: Change) -> Result<Written, Problem> {
        let ns = at.ns.to_string();
        // Two that go on from one checkpoint would write under one task.
        let turns = &self.app.state_update_turns;
        let _turn = turns.take((&self.caller.tenant, self.thread_id)).await;
        let Planned { commit, checkpoint_id, checkpoint_map } = match self
            .planned(at, change)
            .await?
        {
            Ok(planned) => planned,
            Err(Refusal::NeedsGraph(reason)) => return Ok(Written::Refused(reason.into_owned())),
            Err(Refusal::Error(error)) => return Err(error.into()),
        };
        match self.app.checkpoints.commit(self.caller, commit, self.deadline).await {
            Err(Error::Conflict(Conflict::LeaseHeld)) => return Err(self.in_flight()),
            done => done?,
        };
        Ok(Written::Checkpoint(Made { ns, id: checkpoint_id, map: checkpoint_map }))
    }

    async fn planned(&self, at: At, change: Change) -> Result<Result<Planned, Refusal>> {
        let base = self.read(&at.ns, at.id.clone()).await?;
        let (step, before) = match &change {
            Change::Write { .. } => self.last_step(&at.ns, &base).await?,
            Change::Copy | Change::Clear => (None, None),
        };
        let newest_id = match &at.id {
            None => None,
            Some(_) => self.newest_id(&at.ns).await?,
        };
        let own = base.view.as_ref().map(|it| it.id.clone());
        let newest_id = newest_id.or(own).unwrap_or_default();
        let (thread_id, now) = (self.thread_id.clone(), self.app.clock.now());
        cpu_pool::run_sized(&self.caller.tenant, size_bytes(&base), move || {
            let (step, before) = (step.as_ref(), before.as_ref());
            let stored = Stored { base: &base, step, before, newest_id: &newest_id, now };
            plan(&thread_id, &stored, &change)
        })
        .await
    }

    /// The checkpoint that the graph's last step made, where it is not this one, and the one before it.
    async fn last_step(
        &self,
        ns: &CheckpointNs,
        base: &CheckpointTuple,
    ) -> Result<(Option<CheckpointTuple>, Option<CheckpointTuple>)> {
        let mut step: Option<CheckpointTuple> = None;
        for _ in 0..UPDATES_MAX {
            let view = step.as_ref().unwrap_or(base).view.as_ref();
            let parent = view.filter(|it| is_update(it)).and_then(|it| it.parent.clone());
            let Some(parent) = parent else { break };
            step = Some(self.read(ns, Some(CheckpointId::new(parent)?)).await?);
        }
        let parent = step.as_ref().unwrap_or(base).view.as_ref().and_then(|it| it.parent.clone());
        let before = match parent {
            Some(id) => Some(self.read(ns, Some(CheckpointId::new(id)?)).await?),
            None => None,
        };
        Ok((step, before))
    }

    async fn read(&self, ns: &CheckpointNs, id: Option<CheckpointId>) -> Result<CheckpointTuple> {
        let target = Target {
            thread_id: self.thread_id.clone(),
            ns: ns.clone(),
            id,
            large_values: LargeValues::Shown,
            wanted: WantedChannels::All,
        };
        Ok(self.app.checkpoints.get(self.caller, &target, &[], None).await?.0)
    }

    async fn newest_id(&self, ns: &CheckpointNs) -> Result<Option<String>> {
        let query = ListQuery {
            thread_id: Some(self.thread_id.clone()),
            ns: Some(ns.clone()),
            limit: 1,
            ..ListQuery::default()
        };
        let page = self.app.checkpoints.list(self.caller, query).await?;
        Ok(page.views.into_iter().next().map(|it| it.id))
    }

    fn in_flight(&self) -> Problem {
        let detail = format!(
            "Thread {} has in-flight runs: its lease is held; update its state when it is given back",
            self.thread_id
        );
        Problem::new(Code::LeaseHeld, detail)
    }
}
