//! Takes and restores snapshots for tests as routes do, and reads a whole thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use threadkeep::domain::Result;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::names::{SnapshotId, ThreadId};
use threadkeep::domain::snapshots::restore::{
    Chosen, Restore, RestoreNamespace, RestoreThread, Restored,
};
use threadkeep::domain::snapshots::service::Snapshots;
use threadkeep::domain::snapshots::take::{TakeSnapshot, TakeThread, Taken};
use threadkeep::domain::snapshots::{History, Snapshot};
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;

use crate::delta::replay_view;
use crate::doctor::examine;
use crate::harness::{Harness, NEVER, everything, text, thread_id};
use crate::store::namespace;

pub struct Desk {
    pub snapshots: Snapshots,
}

impl Desk {
    pub async fn on(h: &Harness) -> Self {
        Self::at(h, Arc::new(Clock::System)).await
    }

    pub async fn at(h: &Harness, clock: Arc<Clock>) -> Self {
        let storage = || Arc::clone(&h.storage);
        let quotas = Quotas::load(storage(), Arc::clone(&clock), Rates::default()).await.unwrap();
        Self { snapshots: Snapshots::new(storage(), clock, Arc::new(quotas)) }
    }

    pub async fn take(&self, caller: &Caller, request: TakeSnapshot) -> Result<Taken> {
        self.snapshots.take(caller, request, NEVER).await
    }

    /// A new snapshot of threads with all of their history.
    pub async fn taken(&self, h: &Harness, id: &str, threads: &[&str]) -> Snapshot {
        let taken = self.take(&h.caller, of(id, threads, History::All)).await.unwrap();
        assert!(taken.is_new);
        taken.snapshot
    }

    pub async fn restore(&self, caller: &Caller, request: &Restore) -> Result<Restored> {
        self.snapshots.restore(caller, request, NEVER).await
    }

    pub async fn get(&self, h: &Harness, id: &str) -> Result<Snapshot> {
        self.snapshots.get(&h.caller, &snapshot_id(id)).await
    }

    pub async fn delete(&self, h: &Harness, id: &str) -> bool {
        self.snapshots.delete(&h.caller, &snapshot_id(id), NEVER).await.unwrap()
    }
}

pub fn snapshot_id(id: &str) -> SnapshotId {
    SnapshotId::new(id).unwrap()
}

pub fn of(id: &str, threads: &[&str], history: History) -> TakeSnapshot {
    let thread = |it: &&str| TakeThread { thread_id: thread_id(it), history };
    TakeSnapshot {
        id: Some(snapshot_id(id)),
        threads: threads.iter().map(thread).collect(),
        namespaces: Vec::new(),
        sessions: Vec::new(),
        archive: None,
        labels: BTreeMap::new(),
        document: None,
        expires_in_seconds: None,
    }
}

/// Everything in place, with a safety snapshot.
pub fn in_place(id: &str) -> Restore {
    Restore {
        id: snapshot_id(id),
        dry_run: false,
        threads: Chosen::All,
        namespaces: Chosen::All,
        sessions: Chosen::All,
        subjects: BTreeMap::new(),
        safety: true,
        leases: Vec::new(),
        idempotency: None,
    }
}

/// These threads, each into another id.
pub fn into(id: &str, threads: &[(&str, &str)]) -> Restore {
    let one = |(from, to): &(&str, &str)| RestoreThread {
        thread_id: thread_id(from),
        into: Some(thread_id(to)),
    };
    Restore { threads: Chosen::These(threads.iter().map(one).collect()), ..in_place(id) }
}

/// Nothing but these namespaces, each where it is said.
pub fn moved(id: &str, namespaces: &[(&[&str], Option<&[&str]>)]) -> Restore {
    let one = |(from, to): &(&[&str], Option<&[&str]>)| RestoreNamespace {
        namespace: namespace(from),
        into: to.map(namespace),
    };
    Restore {
        threads: Chosen::These(Vec::new()),
        namespaces: Chosen::These(namespaces.iter().map(one).collect()),
        sessions: Chosen::These(Vec::new()),
        ..in_place(id)
    }
}

/// Everything that there is to read of a thread, but for its generation and times.
pub async fn seen(h: &Harness, thread: &str) -> Option<String> {
    let id = ThreadId::new(thread).unwrap();
    let row = h.storage.get_thread(&h.caller, &id).await.unwrap()?;
    let query =
        ListQuery { thread_id: Some(id), history_channels: Some(vec!["m".into()]), ..everything() };
    let page = h.list(query).await;
    let mut lines = vec![format!("{} {:?}", row.checkpoint_count, row.last_step)];
    for view in &page.views {
        let values: Vec<String> = view
            .values
            .iter()
            .map(|(channel, value)| format!("{}={}", channel.as_str(), text(value)))
            .collect();
        let writes: Vec<String> = view
            .writes
            .iter()
            .map(|it| format!("{}:{}={}", it.task_id, it.channel, text(&it.value)))
            .collect();
        let history = replay_view(view, &page.chain, "m");
        lines.push(format!(
            "{:?} {} parent {:?} {values:?} {writes:?} {history} {:?} {:?}",
            view.ns, view.id, view.parent, view.skeleton, view.metadata
        ));
    }
    Some(lines.join("\n"))
}

/// Nothing is damaged, lost or left over.
pub async fn check_sound(h: &Harness) {
    let report = examine(h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(h.count("select count(*) from snapshot_leftovers").await, 0, "leftovers");
}
