//! Implements storage in memory for tests of the routes. It keeps commits as they were sent.
//! Scripts supply the other answers that a test needs. The contract suite tests the real engines.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use async_trait::async_trait;
use bytes::Bytes;
use threadkeep::content::keys::TenantSecret;
use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{
    CheckpointPut, Commit, EMPTY, ListCursor, ListQuery, Op, PendingWrite, Target, View, WriteGroup,
};
use threadkeep::domain::checkpoints::history::Chain;
use threadkeep::domain::checkpoints::planner::Batch;
use threadkeep::domain::checkpoints::prepared::Prepared;
use threadkeep::domain::checkpoints::storage::{
    CheckpointStorage, CheckpointTuple, Outcome, Page, TargetHistory,
};
use threadkeep::domain::checkpoints::timeline::{Timeline, TimelineQuery};
use threadkeep::domain::clock::Micros;
use threadkeep::domain::doctor::{self, Examine};
use threadkeep::domain::engine::{Engine, PoolUse};
use threadkeep::domain::names::{CheckpointNs, ThreadId};
use threadkeep::domain::progress::Progress;
use threadkeep::domain::scheduling::background_tasks::Running;
use threadkeep::domain::store::item::{Address, Item};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::namespace_settings::Setting;
use threadkeep::domain::tenants::storage_use::StorageUse;
use threadkeep::domain::threads::retention::{Policy, PruneRequest, Pruned, Removed, Report};
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread, ThreadStorage};
use threadkeep::domain::threads::thread::{Lease, LeaseRequest, Thread, ThreadPage, ThreadQuery};
use threadkeep::domain::tokens::credential::{Revocation, SigningSecret};
use threadkeep::domain::tokens::key::Key;
use threadkeep::domain::{Error, Result};
use threadkeep::storage::checkpoints::prepare;
use threadkeep::storage::content::chunk_memory::ChunkMemory;

use crate::memory_accounts::Accounts;
use crate::memory_feeds::Logs;

pub const GENERATION: &str = "generation-1";

type Make<T> = Box<dyn Fn() -> T + Send>;

#[derive(Default)]
pub struct Memory {
    /// (tenant, thread) → commits, in the order of arrival.
    pub commits: Mutex<BTreeMap<(String, String), Vec<Commit>>>,
    pub keys: Mutex<Vec<Key>>,
    pub running: Running,
    pub threads: Mutex<Vec<Thread>>,
    /// (tenant, thread) → what it takes.
    pub storage_uses: Mutex<HashMap<(String, String), StorageUse>>,
    /// What the next reads find besides the checkpoint.
    pub chain: Mutex<Chain>,
    /// What all calls but those for keys fail with.
    pub failure: Mutex<Option<Make<Error>>>,
    pub batch_failure: Mutex<Option<Make<BatchError>>>,
    pub outcome: Mutex<Option<Outcome>>,
    pub keys_fail: Mutex<bool>,
    pub secrets: Mutex<Vec<SigningSecret>>,
    pub revocations: Mutex<Vec<Revocation>>,
    /// How many times the credentials were read.
    pub loads: AtomicU64,
    pub panics: Mutex<bool>,
    /// Names of the calls that arrived, with what tests ask about.
    pub calls: Mutex<Vec<String>>,
    /// (tenant, thread) → policy.
    pub policies: Mutex<BTreeMap<(String, Option<String>), Policy>>,
    /// By tenant, newest first.
    pub reports: Mutex<BTreeMap<String, Vec<Report>>>,
    /// (tenant, address) → item.
    pub items: Mutex<BTreeMap<(String, Address), Item>>,
    /// (tenant, address) → earlier versions, oldest first.
    pub item_versions: Mutex<BTreeMap<(String, Address), Vec<Item>>>,
    /// (tenant, namespace) → setting.
    pub settings: Mutex<BTreeMap<(String, Namespace), Setting>>,
    /// Values on their way to a batch.
    pub texts: Mutex<HashMap<Address, Bytes>>,
    pub accounts: Accounts,
    pub logs: Logs,
    pub copies: Mutex<HashMap<String, [u8; 32]>>,
    /// Commits wait for a permit when there is a gate.
    pub gate: Mutex<Option<std::sync::Arc<tokio::sync::Semaphore>>>,
    pub closed: AtomicU64,
    pending: Mutex<HashMap<(String, String), Vec<Commit>>>,
}

impl Memory {
    pub fn fail(&self, make: impl Fn() -> Error + Send + 'static) {
        *self.failure.lock().unwrap() = Some(Box::new(make));
    }

    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    pub fn is_untouched(&self) -> bool {
        self.calls().is_empty() && self.commits.lock().unwrap().is_empty()
    }

    pub fn called(&self, call: impl Into<String>) -> Result<()> {
        self.calls.lock().unwrap().push(call.into());
        assert!(!*self.panics.lock().unwrap(), "a panic on demand: SECRET");
        match &*self.failure.lock().unwrap() {
            Some(make) => Err(make()),
            None => Ok(()),
        }
    }

    pub fn views(&self, caller: &Caller) -> Vec<View> {
        let commits = self.commits.lock().unwrap();
        let mut views = Vec::new();
        for ((_, thread), commits) in commits.iter().filter(|((it, _), _)| *it == caller.tenant) {
            for op in commits.iter().flat_map(|commit| &commit.ops) {
                if let Op::Checkpoint(put) = op {
                    views.push(view(thread, put));
                }
            }
            for op in commits.iter().flat_map(|commit| &commit.ops) {
                if let Op::Writes(group) = op {
                    let at = |it: &&mut View| {
                        it.thread_id == *thread && it.id == group.checkpoint_id.as_str()
                    };
                    views.iter_mut().filter(at).for_each(|it| it.writes.extend(written(group)));
                }
            }
        }
        views.sort_by(|a, b| b.id.cmp(&a.id));
        views
    }
}

/// In the order of arrival.
fn written(group: &WriteGroup) -> impl Iterator<Item = PendingWrite> {
    group.writes.iter().map(|it| PendingWrite {
        task_id: group.task_id.to_string(),
        channel: it.channel.to_string(),
        value: it.value.clone(),
        call: None,
    })
}

fn view(thread_id: &str, put: &CheckpointPut) -> View {
    let with_value = put.values.iter().filter(|it| it.value.tag.as_str() != EMPTY);
    View {
        thread_id: thread_id.to_owned(),
        ns: put.ns.to_string(),
        id: put.id.to_string(),
        parent: put.parent.as_ref().map(ToString::to_string),
        skeleton: put.skeleton.clone(),
        metadata: put.metadata.clone(),
        values: with_value.map(|it| (it.channel.to_string(), it.value.clone())).collect(),
        ..View::default()
    }
}

#[async_trait]
impl CheckpointStorage for Memory {
    async fn prepare(&self, caller: &Caller, commit: Commit, deadline: Micros) -> Result<Prepared> {
        self.called("prepare")?;
        let key = (caller.tenant.clone(), commit.thread_id.to_string());
        let secret = TenantSecret::new([7; 32]);
        let prepared = prepare::prepare(
            &secret,
            caller,
            commit.clone(),
            deadline,
            &ChunkMemory::default(),
            None,
        )
        .await?;
        self.pending.lock().unwrap().entry(key).or_default().push(commit);
        Ok(prepared)
    }

    async fn write_batch(&self, batch: &Batch) -> Result<Vec<Outcome>, BatchError> {
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        if let Some(make) = &*self.batch_failure.lock().unwrap() {
            return Err(make());
        }
        let scripted = self.outcome.lock().unwrap().clone();
        let done = || Outcome::Done { generation: GENERATION.into(), epoch: 1 };
        let outcomes = batch.threads.iter().map(|row| {
            let key = (row.tenant.clone(), row.thread_id.clone());
            let mut outcome = scripted.clone().unwrap_or_else(done);
            if !row.may_create && !self.commits.lock().unwrap().contains_key(&key) {
                outcome = Outcome::QuotaExceeded;
            }
            let commits = self.pending.lock().unwrap().remove(&key).unwrap_or_default();
            if matches!(outcome, Outcome::Done { .. }) {
                self.commits.lock().unwrap().entry(key).or_default().extend(commits);
            }
            outcome
        });
        Ok(outcomes.collect())
    }

    async fn get_checkpoint(
        &self,
        caller: &Caller,
        target: &Target,
        history_channels: &[String],
    ) -> Result<CheckpointTuple> {
        self.called(format!("get {history_channels:?}"))?;
        let wanted = |it: &View| {
            it.thread_id == target.thread_id.as_str()
                && it.ns == target.ns.as_str()
                && target.id.as_ref().is_none_or(|id| id.as_str() == it.id)
        };
        let view = self.views(caller).into_iter().find(wanted);
        Ok(CheckpointTuple {
            generation: view.as_ref().map(|_| GENERATION.into()),
            view,
            history_channels: history_channels.to_vec(),
            chain: self.chain.lock().unwrap().clone(),
        })
    }

    async fn list_checkpoints(&self, caller: &Caller, query: &ListQuery) -> Result<Page> {
        self.called(format!(
            "list {} {:?} {:?}",
            query.limit, query.filter, query.history_channels
        ))?;
        let after = query.after.as_ref().map(|it| it.id.clone());
        let mut views = self.views(caller);
        views.retain(|it| query.thread_id.as_ref().is_none_or(|id| id.as_str() == it.thread_id));
        views.retain(|it| after.as_ref().is_none_or(|id| it.id < *id));
        let more = views.len() > query.limit;
        views.truncate(query.limit);
        let next = views.last().filter(|_| more).map(|it| ListCursor {
            id: it.id.clone(),
            thread_id: it.thread_id.clone(),
            ns: it.ns.clone(),
        });
        Ok(Page { views, next, chain: self.chain.lock().unwrap().clone(), ..Page::default() })
    }

    async fn list_timeline(&self, _: &Caller, query: &TimelineQuery) -> Result<Timeline> {
        self.called(format!("list_timeline {query:?}"))?;
        Ok(Timeline::default())
    }

    async fn get_history(
        &self,
        caller: &Caller,
        target: &Target,
        channels: &[String],
    ) -> Result<Option<TargetHistory>> {
        let found = self.get_checkpoint(caller, target, channels).await?;
        Ok(found.view.map(|view| TargetHistory {
            checkpoint_id: view.id,
            parent: view.parent,
            bases: view.bases,
            chain: found.chain,
        }))
    }

    async fn list_checkpoint_namespaces(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
        among: &[CheckpointNs],
    ) -> Result<Vec<String>> {
        self.namespaces(caller, thread_id, among)
    }

    async fn delete_for_runs(&self, _: &Caller, run_ids: &[String]) -> Result<()> {
        self.called(format!("delete_for_runs {run_ids:?}"))
    }
}

#[async_trait]
impl ThreadStorage for Memory {
    async fn get_thread(&self, _: &Caller, thread_id: &ThreadId) -> Result<Option<Thread>> {
        self.called("get_thread")?;
        let threads = self.threads.lock().unwrap();
        Ok(threads.iter().find(|it| it.thread_id == thread_id.as_str()).cloned())
    }

    async fn list_threads(&self, _: &Caller, query: &ThreadQuery) -> Result<ThreadPage> {
        self.called(format!("list_threads {query:?}"))?;
        let mut threads = self.threads.lock().unwrap().clone();
        let key = |it: &Thread| (it.position(query).time, it.thread_id.clone());
        threads.sort_by_key(key);
        if !query.ascending {
            threads.reverse();
        }
        if let Some(after) = &query.after {
            let position = (after.time, after.thread_id.clone());
            threads.retain(|it| (key(it) > position) == query.ascending && key(it) != position);
        }
        let more = threads.len() > query.limit;
        threads.truncate(query.limit);
        let next = threads.last().filter(|_| more).map(|it| it.position(query));
        Ok(ThreadPage { threads, next })
    }

    async fn count_threads(&self, _: &Caller, query: &ThreadQuery) -> Result<u64> {
        self.called(format!("count_threads {query:?}"))?;
        Ok(self.threads.lock().unwrap().len() as u64)
    }

    async fn get_storage_use(
        &self,
        caller: &Caller,
        thread_id: &ThreadId,
    ) -> Result<Option<StorageUse>> {
        self.called(format!("storage {} {thread_id}", caller.tenant))?;
        let uses = self.storage_uses.lock().unwrap();
        Ok(uses.get(&(caller.tenant.clone(), thread_id.to_string())).cloned())
    }

    async fn acquire_lease(&self, _: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.called(format!("acquire {} {}", request.holder, request.ttl_seconds))?;
        if let Some(full) = request.full {
            return Err(Error::QuotaExceeded(full));
        }
        Ok(Lease { fence: 1, expires_at: 1_000_000 })
    }

    async fn renew_lease(&self, _: &Caller, request: &LeaseRequest) -> Result<Lease> {
        self.called(format!("renew {:?}", request.fence))?;
        Ok(Lease { fence: 1, expires_at: 2_000_000 })
    }

    async fn release_lease(&self, _: &Caller, request: &LeaseRequest) -> Result<()> {
        self.called(format!("release {:?}", request.fence))
    }

    async fn delete_thread(&self, caller: &Caller, request: &DeleteThread) -> Result<bool> {
        self.called(format!("delete {:?} {:?}", request.generation, request.fence))?;
        let key = (caller.tenant.clone(), request.thread_id.to_string());
        Ok(self.commits.lock().unwrap().remove(&key).is_some())
    }

    async fn prune_threads(&self, _: &Caller, request: &PruneRequest) -> Result<Vec<Pruned>> {
        let ids: Vec<&str> = request.thread_ids.iter().map(ThreadId::as_str).collect();
        self.called(format!("prune {ids:?} {:?} {}", request.rule, request.dry_run))?;
        let removed = Removed { checkpoints: 3, stored_bytes: -5, ..Removed::default() };
        Ok(ids.iter().map(|_| Pruned { removed, deleted: false }).collect())
    }

    async fn copy_thread(&self, _: &Caller, request: &CopyThread) -> Result<u64> {
        self.called(format!("copy {} {}", request.source, request.target))?;
        request.check_room(false)?;
        if let Some((key, digest)) = &request.idempotency {
            let mut copies = self.copies.lock().unwrap();
            if copies.insert(key.clone(), *digest).is_some_and(|known| known != *digest) {
                return Err(Error::IdempotencyMismatch);
            }
        }
        Ok(3)
    }
}

#[async_trait]
impl Engine for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn pools(&self) -> Vec<PoolUse> {
        vec![PoolUse { name: "data", in_use: 3, idle: 1, max: 8, waiting: 2, opened: 9 }]
    }

    async fn check_ready(&self) -> Result<()> {
        self.called("check_ready")
    }

    async fn sweep(&self, _: Micros) -> Result<()> {
        Ok(())
    }

    async fn examine_watched(&self, _: &Examine, _: &Progress) -> Result<doctor::Report> {
        Ok(doctor::Report::default())
    }

    async fn close(&self) {
        self.closed.fetch_add(1, Relaxed);
    }
}
