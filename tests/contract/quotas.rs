//! Tests quotas: who may add what, how far a quota may be overshot, and what usage reports.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::service::Checkpoints;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::error::Full;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::quotas::{Measured, POLL_EVERY, Quota, Quotas, Usage};
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::domain::threads::thread::ThreadQuery;
use threadkeep::domain::{Conflict, Error, Result};

use crate::commands::Put;
use crate::conditions::request;
use crate::delta::chain;
use crate::harness::{Harness, NEVER, caller_of, commit, conflict, thread_id};

const FULL: Full = Full { resource: "threads", limit: 1, used: 1 };

/// What a server does with quotas, without its timer.
struct Server {
    quotas: Arc<Quotas>,
    checkpoints: Checkpoints,
    threads: Threads,
    clock: Arc<Clock>,
}

impl Server {
    async fn on(h: &Harness) -> Self {
        let clock = Arc::new(Clock::Fixed(Clock::System.now().into()));
        let storage = || Arc::clone(&h.storage);
        let commits = Arc::new(GroupCommit::start(storage(), &clock));
        let quotas = Quotas::load(storage(), Arc::clone(&clock), Rates::default()).await.unwrap();
        let quotas = Arc::new(quotas);
        let checkpoints =
            Checkpoints::new(storage(), commits, Arc::clone(&clock), Arc::clone(&quotas));
        let threads = crate::run_states::threads(&storage(), &clock, &quotas);
        Self { quotas, checkpoints, threads, clock }
    }

    async fn poll(&self) {
        self.clock.advance(i64::try_from(POLL_EVERY.as_micros()).unwrap());
        self.quotas.poll().await.unwrap();
    }

    async fn commit(&self, h: &Harness, thread: &str, id: &str) -> Result<()> {
        let commit = commit(thread, vec![Put::new(id).sets("a", "1", "a value").op()]);
        self.checkpoints.commit(&h.caller, commit, NEVER).await.map(drop)
    }
}

async fn set(h: &Harness, tenant: &str, quota: Quota) {
    let act = Act::of_operator(tenant, ActKind::QuotaSet, "", 1);
    h.storage.put_quota(tenant, &quota, &act).await.unwrap();
}

fn threads_max(limit: u64) -> Quota {
    Quota { threads_max: Some(limit), ..Quota::default() }
}

fn bytes_max(limit: u64) -> Quota {
    Quota { bytes_max: Some(limit), ..Quota::default() }
}

/// Resource, limit and use of a refusal.
#[track_caller]
fn full<T: std::fmt::Debug>(result: Result<T>) -> (&'static str, u64, u64) {
    match result {
        Err(Error::QuotaExceeded(Full { resource, limit, used })) => (resource, limit, used),
        other => panic!("{other:?}"),
    }
}

/// To thread `thread`, which it may not make.
fn confined(thread: &str, id: &str) -> Commit {
    Commit { full: Some(FULL), ..commit(thread, vec![Put::new(id).op()]) }
}

pub async fn a_quota_is_set_replaced_and_removed(h: Harness) {
    let rates = Rates { per_tenant: Some(500), per_token: Some(50) };
    let all = Quota { bytes_max: Some(1 << 53), threads_max: Some(0), items_max: Some(3), rates };
    set(&h, "a", all).await;
    set(&h, "b", threads_max(1)).await;
    let mut listed = h.storage.list_quotas().await.unwrap();
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(listed, [("a".to_owned(), all), ("b".to_owned(), threads_max(1))]);
    set(&h, "a", bytes_max(9)).await;
    set(&h, "b", Quota::default()).await;
    assert_eq!(h.storage.list_quotas().await.unwrap(), [("a".to_owned(), bytes_max(9))]);
}

pub async fn a_full_tenant_commits_to_its_threads_and_makes_none(h: Harness) {
    let server = Server::on(&h).await;
    set(&h, "tenant-a", threads_max(2)).await;
    set(&h, "tenant-b", threads_max(0)).await;
    server.poll().await;
    server.commit(&h, "one", "1").await.unwrap();
    server.commit(&h, "two", "1").await.unwrap();
    server.poll().await;
    server.commit(&h, "one", "2").await.unwrap();
    assert_eq!(full(server.commit(&h, "three", "1").await), ("threads", 2, 2));
    assert_eq!(h.count("select count(*) from threads").await, 2);
    assert_eq!(h.count("select count(*) from scopes").await, 2);
    assert_eq!(h.count("select count(*) from checkpoints").await, 3);
    let delete = DeleteThread { thread_id: thread_id("two"), generation: None, fence: None };
    server.threads.delete(&h.caller, &delete, NEVER).await.unwrap();
    // Deleted here, but nobody has looked yet. It is not known to be there any more either.
    assert_eq!(full(server.commit(&h, "two", "1").await), ("threads", 2, 2));
    server.poll().await;
    server.commit(&h, "three", "1").await.unwrap();
    server.poll().await;
    set(&h, "tenant-a", Quota::default()).await;
    server.poll().await;
    server.commit(&h, "four", "1").await.unwrap();
}

pub async fn a_refused_thread_takes_nobody_down(h: Harness) {
    h.commit(commit("old", vec![Put::new("1").op()])).await.unwrap();
    let mut waiting = Vec::new();
    for commit in [
        confined("absent", "1"),
        commit("new", vec![Put::new("1").op()]),
        confined("old", "2"),
        // One may make the thread, the other goes in the next batch.
        commit("both", vec![Put::new("1").op()]),
        confined("both", "2"),
    ] {
        waiting.push(h.prepare(commit).await);
    }
    let (batch, taken) = fold(&waiting.iter().collect::<Vec<_>>(), 1);
    assert_eq!(taken.len(), 4);
    let outcomes = h.storage.write_batch(&batch).await.unwrap();
    let refused = |at: usize| {
        let row = taken.iter().find(|it| it.0 == at).unwrap().1;
        outcomes[row] == Outcome::QuotaExceeded
    };
    assert_eq!([0, 1, 2, 3].map(refused), [true, false, false, false], "{outcomes:?}");
    h.queue.commit(waiting.pop().unwrap()).await.unwrap();
    for (thread, checkpoints) in [("old", 2), ("new", 1), ("both", 2)] {
        assert_eq!(h.all(thread).await.len(), checkpoints, "{thread}");
        h.check_counts(thread).await;
    }
    assert_eq!(h.count("select count(*) from threads where thread_id = 'absent'").await, 0);
    // Also when this server believes that the thread is there.
    h.sql("delete from threads where thread_id = 'new'").await;
    assert_eq!(full(h.commit(confined("new", "2")).await), ("threads", 1, 1));
}

pub async fn conditions_come_before_the_quota(h: Harness) {
    let server = Server::on(&h).await;
    server.commit(&h, "t", "1").await.unwrap();
    let stale = Commit { generation: Some("other".into()), ..confined("t", "2") };
    assert!(matches!(conflict(h.commit(stale).await), Conflict::ThreadRestored { .. }));
    let delete = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    let stale = Commit { generation: Some("other".into()), ..confined("t", "2") };
    assert!(matches!(conflict(h.commit(stale).await), Conflict::ThreadRestored { .. }));
    assert_eq!(full(h.commit(confined("t", "2")).await), ("threads", 1, 1));
    // What was left behind for the thread is still there.
    assert_eq!(h.count("select count(*) from thread_tombstones").await, 1);
}

pub async fn leases_and_copies_make_no_thread_either(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    h.storage.acquire_lease(&h.caller, &request("worker", None)).await.unwrap();
    let server = Server::on(&h).await;
    set(&h, "tenant-a", threads_max(1)).await;
    server.poll().await;
    let lease = |thread: &str, holder: &str| {
        let thread_id = thread_id(thread);
        threadkeep::domain::threads::thread::LeaseRequest { thread_id, ..request(holder, None) }
    };
    let take = async |thread: &str, holder: &str| {
        server.threads.acquire_lease(&h.caller, &lease(thread, holder), NEVER).await
    };
    assert_eq!(take("t", "worker").await.unwrap().fence, 1, "held already");
    assert_eq!(conflict(take("t", "another").await), Conflict::LeaseHeld);
    assert_eq!(full(take("u", "worker").await), ("threads", 1, 1));
    let copy = |target: &str, key: Option<&str>| CopyThread {
        source: thread_id("t"),
        target: thread_id(target),
        idempotency: key.map(|it| (it.to_owned(), [1; 32])),
        full: None,
    };
    let copied = async |request: &CopyThread| server.threads.copy(&h.caller, request, NEVER).await;
    assert_eq!(full(copied(&copy("u", Some("1"))).await), ("threads", 1, 1));
    for table in ["threads", "scopes", "scope_holders"] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 1, "{table}");
    }
    assert_eq!(h.count("select count(*) from thread_tombstones").await, 0);
    // With room it goes, and then the same request has the same answer although there is none left.
    set(&h, "tenant-a", threads_max(2)).await;
    server.poll().await;
    assert_eq!(copied(&copy("u", Some("1"))).await.unwrap(), 3);
    server.poll().await;
    assert_eq!(copied(&copy("u", Some("1"))).await.unwrap(), 3);
    assert_eq!(full(copied(&copy("v", None)).await), ("threads", 2, 2));
    // Onto an empty thread that is there: only bytes can be in the way.
    h.sql("update threads set lease_expires_at = 0").await;
    set(&h, "tenant-a", threads_max(3)).await;
    server.poll().await;
    take("v", "worker").await.unwrap();
    h.sql("update threads set lease_expires_at = 0").await;
    server.poll().await;
    set(&h, "tenant-a", bytes_max(1)).await;
    server.poll().await;
    assert_eq!(full(copied(&copy("v", None)).await).0, "bytes");
    set(&h, "tenant-a", threads_max(1)).await;
    server.poll().await;
    assert_eq!(copied(&copy("v", None)).await.unwrap(), 3);
}

pub async fn bytes_are_overshot_by_one_poll_at_most_and_deleting_makes_room(h: Harness) {
    let server = Server::on(&h).await;
    set(&h, "tenant-a", bytes_max(100)).await;
    server.poll().await;
    for id in ["1", "2", "3", "4", "5"] {
        server.commit(&h, "t", id).await.unwrap();
    }
    let (measured, quota) = server.quotas.usage(&h.caller).await.unwrap();
    assert_eq!((measured.usage.bytes, quota), (0, bytes_max(100)), "as of the last look");
    server.poll().await;
    let (Measured { usage, at }, _) = server.quotas.usage(&h.caller).await.unwrap();
    assert_eq!(at, server.clock.now());
    assert!(usage.bytes > 100, "{usage:?}");
    assert_eq!(full(server.commit(&h, "t", "6").await), ("bytes", 100, usage.bytes));
    assert_eq!(full(server.commit(&h, "u", "1").await), ("bytes", 100, usage.bytes));
    assert!(
        server
            .checkpoints
            .get(&h.caller, &crate::harness::target("t", "", None), &[], None)
            .await
            .is_ok()
    );
    let delete = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    server.threads.delete(&h.caller, &delete, NEVER).await.unwrap();
    server.poll().await;
    server.commit(&h, "t", "6").await.unwrap();
}

pub async fn two_servers_follow_one_quota(h: Harness) {
    let (one, two) = (Server::on(&h).await, Server::on(&h).await);
    set(&h, "tenant-a", threads_max(1)).await;
    one.poll().await;
    two.poll().await;
    one.commit(&h, "one", "1").await.unwrap();
    // The other has not looked: this is how far a quota is overshot.
    two.commit(&h, "two", "1").await.unwrap();
    one.poll().await;
    two.poll().await;
    for server in [&one, &two] {
        assert_eq!(full(server.commit(&h, "three", "1").await), ("threads", 1, 2));
        server.commit(&h, "one", "2").await.unwrap();
    }
    // A quota that cannot be read again still holds, and so does the usage.
    h.sql("alter table quotas rename to away").await;
    one.quotas.poll().await.unwrap_err();
    assert_eq!(full(one.commit(&h, "three", "1").await), ("threads", 1, 2));
}

/// Usage equals the sum over listed threads.
pub async fn check_usage(h: &Harness) -> Usage {
    let query = ThreadQuery { limit: 1_000, ..ThreadQuery::default() };
    let threads = h.storage.list_threads(&h.caller, &query).await.unwrap().threads;
    let bytes = threads.iter().map(|it| it.size_bytes.unsigned_abs()).sum();
    let usage = h.storage.measure_usage(&h.caller.tenant).await.unwrap();
    assert_eq!(usage, Usage { bytes, threads: threads.len() as u64, items: 0 });
    usage
}

pub async fn usage_is_the_sum_over_listed_threads(h: Harness) {
    for (thread, length) in [("a", 2), ("b", 5), ("c", 1), ("gone", 4)] {
        chain(&h, thread, length, &[]).await;
    }
    let copy = CopyThread {
        source: thread_id("b"),
        target: thread_id("copy"),
        idempotency: None,
        full: None,
    };
    h.storage.copy_thread(&h.caller, &copy).await.unwrap();
    let delete = DeleteThread { thread_id: thread_id("gone"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    let usage = check_usage(&h).await;
    assert_eq!(usage.threads, 4);
    assert_eq!(h.storage.measure_usage("tenant-b").await.unwrap(), Usage::default());
    // Asked for without a quota: looked up once in ten seconds.
    let server = Server::on(&h).await;
    assert_eq!(server.quotas.usage(&h.caller).await.unwrap().0.usage, usage);
    h.sql("delete from threads").await;
    assert_eq!(server.quotas.usage(&h.caller).await.unwrap().0.usage, usage);
    server.clock.advance(i64::try_from(Duration::from_secs(11).as_micros()).unwrap());
    assert_eq!(server.quotas.usage(&h.caller).await.unwrap().0.usage, Usage::default());
    let scoped = Caller {
        grants: threadkeep::domain::caller::Grants::Scoped(Arc::default()),
        ..caller_of("tenant-a")
    };
    let refused = server.quotas.usage(&scoped).await;
    assert!(matches!(refused, Err(Error::NotGranted(_))), "{refused:?}");
}
