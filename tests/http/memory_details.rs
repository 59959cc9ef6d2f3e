//! Implements titles, metadata and states of threads for the storage in memory.

use std::ops::Bound;

use async_trait::async_trait;
use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Micros;
use threadkeep::domain::names::{CheckpointNs, ThreadId};
use threadkeep::domain::threads::alias_lookup::{
    AliasPosition, AliasStorage, FoundName, UnaliasedThread,
};
use threadkeep::domain::threads::changes::{ThreadChange, ThreadChangeKind, ThreadChangeStorage};
use threadkeep::domain::threads::details::{
    CreateThread, Created, Details, ThreadDetailsStorage, UpdateThread,
};
use threadkeep::domain::threads::graphs::{Graph, GraphStorage};
use threadkeep::domain::threads::run_state::{
    Derived, KeptState, Run, RunStateStorage, StalePosition, StaleThread,
};
use threadkeep::domain::threads::thread::Thread;

use crate::memory::Memory;

/// The tests of details run on a real engine.
#[async_trait]
impl ThreadDetailsStorage for Memory {
    async fn create_thread(&self, _: &Caller, request: &CreateThread) -> Result<Created> {
        self.called(format!("create_thread {}", request.thread_id))?;
        self.threads.lock().unwrap().push(Thread {
            thread_id: request.thread_id.to_string(),
            created_at: 1,
            updated_at: 1,
            last_step: None,
            checkpoint_count: 0,
            size_bytes: 0,
            generation: "g".into(),
            owner: None,
            graph_id: None,
            assistant_id: None,
            user_id: None,
            details: Details::of_new(request, 1)?,
            run: Run::default(),
        });
        Ok(Created { thread_id: request.thread_id.to_string(), is_new: true })
    }

    async fn update_thread(&self, _: &Caller, request: &UpdateThread) -> Result<()> {
        self.called(format!("update_thread {}", request.thread_id))
    }
}

/// No thread is stale: each has the state that its test gives it.
#[async_trait]
impl RunStateStorage for Memory {
    async fn list_stale_threads(&self, _: &str, _: i64, _: usize) -> Result<Vec<StaleThread>> {
        Ok(Vec::new())
    }

    async fn list_quiet_stale_threads(
        &self,
        _: &StalePosition,
        _: Micros,
        _: usize,
    ) -> Result<Vec<StaleThread>> {
        Ok(Vec::new())
    }

    async fn list_run_states(&self, _: Bound<(&str, &str)>, _: usize) -> Result<Vec<KeptState>> {
        Ok(Vec::new())
    }

    async fn list_wrong_values(&self, _: &str, _: &[&Derived]) -> Result<Vec<i64>> {
        Ok(Vec::new())
    }

    async fn count_stale_threads(&self, _: u64) -> Result<u64> {
        Ok(0)
    }

    async fn mark_stale(&self, _: &str, _: i64) -> Result<()> {
        Ok(())
    }

    async fn mark_unread_stale(&self, _: usize) -> Result<usize> {
        Ok(0)
    }

    async fn put_run_states(&self, _: &str, _: &[Derived]) -> Result<()> {
        Ok(())
    }
}

/// The tests of assistants run on a real engine.
#[async_trait]
impl GraphStorage for Memory {
    async fn list_named_graphs(&self, _: &Caller, _: usize) -> Result<Vec<Graph>> {
        self.called("list_named_graphs")?;
        Ok(Vec::new())
    }
}

/// Threads are found by their ids alone.
#[async_trait]
impl AliasStorage for Memory {
    async fn list_threads_named(&self, _: &str, _: &[String]) -> Result<Vec<FoundName>> {
        self.called("list_threads_named")?;
        Ok(Vec::new())
    }

    async fn list_unaliased_threads(
        &self,
        _: &str,
        _: i64,
        _: usize,
    ) -> Result<Vec<UnaliasedThread>> {
        Ok(Vec::new())
    }

    async fn list_all_unaliased_threads(
        &self,
        _: &AliasPosition,
        _: usize,
    ) -> Result<Vec<UnaliasedThread>> {
        Ok(Vec::new())
    }

    async fn put_aliases(&self, _: &str, _: &[(UnaliasedThread, String)]) -> Result<()> {
        Ok(())
    }
}

impl Memory {
    /// Those of these namespaces that have a checkpoint.
    pub fn namespaces(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        among: &[CheckpointNs],
    ) -> Result<Vec<String>> {
        self.called("list_checkpoint_namespaces")?;
        let views = self.views(caller);
        let has = |ns: &&CheckpointNs| {
            views.iter().any(|it| it.thread_id == thread_id.as_str() && it.ns == ns.as_str())
        };
        Ok(among.iter().filter(has).map(|it| it.as_str().to_owned()).collect())
    }
}

/// Nothing is deleted here.
#[async_trait]
impl ThreadChangeStorage for Memory {
    async fn list_changed_threads(
        &self,
        _: &str,
        since: Micros,
        limit: usize,
    ) -> Result<Vec<ThreadChange>> {
        let threads = self.threads.lock().unwrap();
        let mut changed: Vec<ThreadChange> = threads
            .iter()
            .filter(|it| it.updated_at >= since)
            .map(|it| ThreadChange {
                thread_id: it.thread_id.clone(),
                owner: it.owner.clone(),
                generation: it.generation.clone(),
                at: it.updated_at,
                kind: ThreadChangeKind::Update(it.run),
            })
            .collect();
        changed.sort_by_key(|it| -it.at);
        changed.truncate(limit);
        Ok(changed)
    }
}
