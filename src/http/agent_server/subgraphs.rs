//! Reads states, those of subgraphs inside of them, and finds out which tasks are subgraphs.

use std::collections::HashSet;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::select::Select;
use super::state_view::{Rules, StateView};
use crate::app::App;
use crate::decode::Budget;
use crate::decode::values::size_bytes;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{LargeValues, Target};
use crate::domain::limits::LIMITS;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};

/// Subgraphs inside of each other.
const DEPTH_MAX: u32 = 16;

/// Whose states are read.
pub struct StateReader<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
    pub thread_id: &'a ThreadId,
    /// The id that the states show.
    pub shown_id: &'a str,
}

/// What one answer may still have of states in states.
struct Left {
    budget: Budget,
    states: u64,
}

impl StateReader<'_> {
    /// The state of a checkpoint; without an id the newest. `with_states`: those of subgraphs in place of references to them. None: there
    /// is no such thread.
    ///
    /// # Errors
    /// `TooLarge` for a checkpoint that cannot be shown; `Invalid` for too many subgraphs.
    pub async fn read(
        &self,
        ns: CheckpointNs,
        id: Option<CheckpointId>,
        select: &Select,
        with_states: bool,
    ) -> Result<Option<StateView>> {
        let states = if with_states { LIMITS.subgraph_states_max } else { 0 };
        let mut left = Left { budget: Budget::new(LIMITS.display_bytes_max), states };
        let depth = if with_states { DEPTH_MAX } else { 0 };
        self.read_at(ns, id, select, depth, &mut left).await
    }

    fn read_at<'a>(
        &'a self,
        ns: CheckpointNs,
        id: Option<CheckpointId>,
        select: &'a Select,
        depth: u32,
        left: &'a mut Left,
    ) -> BoxFuture<'a, Result<Option<StateView>>> {
        async move {
            let rules = if id.is_some() { Rules::Pinned } else { Rules::Live };
            let (thread_id, shown_id) = (self.thread_id.clone(), self.shown_id.to_owned());
            let (large_values, wanted) = (LargeValues::Shown, select.channels());
            let target = Target { thread_id, ns, id, large_values, wanted };
            let (found, _) = self.app.checkpoints.get(self.caller, &target, &[], None).await?;
            if found.generation.is_none() {
                return Ok(None);
            }
            let select = select.clone();
            let mut budget = std::mem::replace(&mut left.budget, Budget::new(0));
            let size = size_bytes(&found);
            let shown = cpu_pool::run_sized(&self.caller.tenant, size, move || {
                let shown = StateView::of(&found, &shown_id, &select, rules, &mut budget);
                (shown, budget)
            });
            let (shown, budget) = shown.await?;
            left.budget = budget;
            let mut shown = shown?;
            self.add_subgraphs(&mut shown, &target.ns, depth, left).await?;
            Ok(Some(shown))
        }
        .boxed()
    }

    async fn add_subgraphs(
        &self,
        shown: &mut StateView,
        ns: &CheckpointNs,
        depth: u32,
        left: &mut Left,
    ) -> Result<()> {
        let all = shown.namespaces(ns.as_str());
        let existing = self.existing(all.iter().flatten()).await?;
        for (task, ns) in shown.tasks.iter_mut().zip(all) {
            let Some(ns) = first_of(ns, &existing) else { continue };
            if depth == 0 {
                task.refer_to(self.shown_id, &ns);
                continue;
            }
            left.states = left.states.checked_sub(1).ok_or_else(too_many)?;
            let all = Select::default();
            let state = self.read_at(ns, None, &all, depth - 1, left).await?;
            task.state = state.map(Box::new);
        }
        Ok(())
    }

    /// Adds references to the subgraphs of all these states of one namespace. One round trip.
    ///
    /// # Errors
    /// A storage that cannot be read.
    pub async fn refer_to_subgraphs(&self, states: &mut [StateView], ns: &str) -> Result<()> {
        let all: Vec<Vec<Vec<CheckpointNs>>> = states.iter().map(|it| it.namespaces(ns)).collect();
        let existing = self.existing(all.iter().flatten().flatten()).await?;
        for (state, namespaces) in states.iter_mut().zip(all) {
            for (task, ns) in state.tasks.iter_mut().zip(namespaces) {
                if let Some(ns) = first_of(ns, &existing) {
                    task.refer_to(self.shown_id, &ns);
                }
            }
        }
        Ok(())
    }

    async fn existing(
        &self,
        among: impl Iterator<Item = &CheckpointNs>,
    ) -> Result<HashSet<String>> {
        let among: Vec<CheckpointNs> = among.cloned().collect();
        let found =
            self.app.checkpoints.list_checkpoint_namespaces(self.caller, self.thread_id, &among);
        Ok(found.await?.into_iter().collect())
    }
}

fn first_of(among: Vec<CheckpointNs>, existing: &HashSet<String>) -> Option<CheckpointNs> {
    among.into_iter().find(|it| existing.contains(it.as_str()))
}

fn too_many() -> Error {
    let max = LIMITS.subgraph_states_max;
    let detail = format!("an answer has the states of at most {max} subgraphs");
    Error::out_of_range("subgraphs", detail, max)
}
