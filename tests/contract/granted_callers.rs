//! Makes callers with grants, and the calls of the domain that the routes make for them.

use std::sync::Arc;

use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::checkpoints::checkpoint::{Commit, ListQuery};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::service::Checkpoints;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::threads::retention::{PruneRequest, Pruned};
use threadkeep::domain::threads::retention_policies::Policies;
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::domain::threads::thread::{Lease, LeaseRequest, Thread, ThreadQuery};
use threadkeep::domain::tokens::grants::{Actions, Grant, Scoped, Selector};
use threadkeep::domain::{Error, Result};
use tokio::sync::Notify;

use crate::commands::Put;
use crate::harness::{Harness, NEVER, commit, config, everything, target, thread_id};

/// What a server offers.
pub struct Desk {
    pub checkpoints: Checkpoints,
    pub threads: Threads,
    pub policies: Policies,
}

impl Desk {
    pub async fn on(storage: &Arc<dyn Storage>) -> Self {
        let clock = Arc::new(Clock::System);
        let commits = Arc::new(GroupCommit::start(storage.clone(), &clock));
        let (storage, wake) = (|| Arc::clone(storage), Arc::new(Notify::new()));
        let quotas = Quotas::load(storage(), Arc::clone(&clock), Rates::default()).await.unwrap();
        let quotas = Arc::new(quotas);
        Self {
            checkpoints: Checkpoints::new(
                storage(),
                commits,
                Arc::clone(&clock),
                Arc::clone(&quotas),
            ),
            threads: crate::run_states::threads(&storage(), &clock, &quotas),
            policies: Policies::new(storage(), clock, wake),
        }
    }

    /// Of another server on the same data.
    pub async fn beside(h: &Harness) -> Self {
        let config = threadkeep::storage::StorageConfig { exclusive: false, ..config(h.url()) };
        Self::on(&threadkeep::storage::open(&config).await.unwrap()).await
    }

    pub async fn commit(&self, caller: &Caller, commit: Commit) -> Result<String> {
        Ok(self.checkpoints.commit(caller, commit, NEVER).await?.generation)
    }

    /// Commits a checkpoint whose value and run say who made it.
    pub async fn put(&self, caller: &Caller, thread: &str, id: &str) -> Result<String> {
        self.commit(caller, put(caller, thread, id)).await
    }

    /// Id of the newest checkpoint.
    pub async fn latest(&self, caller: &Caller, thread: &str) -> Result<Option<String>> {
        let target = target(thread, "", None);
        let (found, _) = self.checkpoints.get(caller, &target, &[], None).await?;
        assert_eq!(found.generation.is_some(), found.view.is_some());
        Ok(found.view.map(|it| it.id))
    }

    /// The same of a thread that may be without checkpoints.
    pub async fn latest_id(&self, caller: &Caller, thread: &str) -> Option<String> {
        let target = target(thread, "", None);
        let (found, _) = self.checkpoints.get(caller, &target, &[], None).await.unwrap();
        found.view.map(|it| it.id)
    }

    pub async fn thread(&self, caller: &Caller, thread: &str) -> Option<Thread> {
        self.threads.get(caller, &thread_id(thread)).await.unwrap()
    }

    pub async fn owner(&self, thread: &str) -> Option<String> {
        self.thread(&tenant(), thread).await.unwrap().owner
    }

    pub async fn delete(&self, caller: &Caller, thread: &str) -> Result<bool> {
        let request = DeleteThread { thread_id: thread_id(thread), generation: None, fence: None };
        self.threads.delete(caller, &request, NEVER).await
    }

    pub async fn prune(&self, caller: &Caller, request: PruneRequest) -> Result<Vec<Pruned>> {
        Ok(self.checkpoints.prune(caller, request, NEVER).await?.1)
    }

    pub async fn copy(&self, caller: &Caller, source: &str, target: &str) -> Result<u64> {
        self.threads.copy(caller, &copying(source, target), NEVER).await
    }

    pub async fn acquire(&self, caller: &Caller, thread: &str) -> Result<Lease> {
        self.threads.acquire_lease(caller, &leasing(thread, None), NEVER).await
    }

    pub async fn renew(&self, caller: &Caller, thread: &str, fence: i64) -> Result<Lease> {
        self.threads.renew_lease(caller, &leasing(thread, Some(fence)), NEVER).await
    }

    pub async fn release(&self, caller: &Caller, thread: &str, fence: i64) -> Result<()> {
        self.threads.release_lease(caller, &leasing(thread, Some(fence)), NEVER).await
    }

    pub async fn delete_runs(&self, caller: &Caller, run: &str) -> Result<()> {
        self.checkpoints.delete_for_runs(caller, &[run.to_owned()], NEVER).await
    }

    /// Ids of all threads of a listing, page by page.
    pub async fn listed(&self, caller: &Caller, query: &ThreadQuery) -> Result<Vec<String>> {
        let (mut listed, mut query) = (Vec::new(), query.clone());
        loop {
            let page = self.threads.list(caller, query.clone()).await?;
            assert!(page.threads.len() <= query.limit);
            listed.extend(page.threads.into_iter().map(|it| it.thread_id));
            let Some(next) = page.next else { return Ok(listed) };
            query.after = Some(next);
        }
    }

    /// (checkpoint id, thread id) of all threads, page by page.
    pub async fn all(&self, caller: &Caller, limit: usize) -> Result<Vec<(String, String)>> {
        let (mut listed, mut query) = (Vec::new(), ListQuery { limit, ..everything() });
        loop {
            let page = self.checkpoints.list(caller, query.clone()).await?;
            listed.extend(page.views.into_iter().map(|it| (it.id, it.thread_id)));
            let Some(next) = page.next else { return Ok(listed) };
            query.after = Some(next);
        }
    }
}

/// A checkpoint whose value and run say who made it.
pub fn put(caller: &Caller, thread: &str, id: &str) -> Commit {
    let metadata = format!(r#"{{"run_id":"{}"}}"#, caller.credential);
    let put = Put::new(id).metadata(&metadata).sets("made by", "1", &caller.credential);
    commit(thread, vec![put.op()])
}

pub fn copying(source: &str, target: &str) -> CopyThread {
    CopyThread {
        source: thread_id(source),
        target: thread_id(target),
        idempotency: None,
        full: None,
    }
}

pub fn leasing(thread: &str, fence: Option<i64>) -> LeaseRequest {
    LeaseRequest {
        thread_id: thread_id(thread),
        holder: LeaseHolder::new("holder").unwrap(),
        fence,
        ttl_seconds: 60,
        full: None,
    }
}

/// Of the tenant of [`Harness`].
pub fn tenant() -> Caller {
    Caller::of_tenant("tenant-a")
}

/// Reaches what it owns and nothing else.
pub fn subject(name: &str) -> Caller {
    let scoped = Scoped::of_subject(name);
    Caller { subject: Some(name.into()), ..with(name, scoped.threads) }
}

/// Without a subject.
pub fn with(credential: &str, threads: Vec<Grant>) -> Caller {
    Caller {
        grants: Grants::Scoped(Arc::new(Scoped { threads, ..Scoped::default() })),
        credential: credential.into(),
        ..tenant()
    }
}

pub fn exact(name: &str, actions: Actions) -> Grant {
    Grant { selector: Selector::Exact(name.into()), actions }
}

pub fn prefix(text: &str, actions: Actions) -> Grant {
    Grant { selector: Selector::Prefix(text.into()), actions }
}

pub fn owned(actions: Actions) -> Grant {
    Grant { selector: Selector::Owned, actions }
}

#[track_caller]
pub fn assert_not_granted<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::NotGranted(_))), "{result:?}");
}
