//! Tests policies and the sweeper with a clock that the tests move, on one server or several.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::Op;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::threads::retention::{
    Claim, Done, Policy, Progress, PruneRequest, Removed, Report, ReportQuery, Retained, Rule,
    Rules,
};
use threadkeep::domain::threads::sweeper::Sweeper;
use threadkeep::domain::threads::thread::LeaseRequest;
use threadkeep::storage;
use tokio::sync::Notify;

use crate::commands::{Put, Writes};
use crate::delta::{chain, id};
use crate::harness::{Harness, NEVER, caller_of, commit, config, everything, pruning, thread_id};

pub const SECOND: Micros = 1_000_000;
pub const DAY: Micros = 24 * 3_600 * SECOND;
pub const NOTHING: Rules = Rules {
    expire_after_seconds: None,
    keep_last: None,
    older_than_seconds: None,
    keep_interrupted: true,
    dry_run: false,
};
pub const KEEP_TWO: Rules = Rules { keep_last: Some(2), ..NOTHING };
pub const EXPIRE: Rules = Rules { expire_after_seconds: Some(3_600), ..NOTHING };

/// A server's sweeper with its clock.
pub struct Server {
    pub clock: Arc<Clock>,
    storage: Arc<dyn Storage>,
    sweeper: Sweeper,
}

impl Server {
    pub fn on(storage: &Arc<dyn Storage>) -> Self {
        let clock = Arc::new(Clock::Fixed(Clock::System.now().into()));
        let (interval, wake) = (Duration::from_mins(1), Arc::new(Notify::new()));
        let sweeper = Sweeper::new(storage.clone(), Arc::clone(&clock), interval, wake);
        Self { clock, storage: Arc::clone(storage), sweeper }
    }

    pub async fn put(&self, caller: &Caller, thread: Option<&str>, rules: Rules) -> Policy {
        let thread = thread.map(thread_id);
        let act = Act::of(caller, ActKind::PolicyPut, "", self.clock.now());
        self.storage.put_policy(caller, thread.as_ref(), &rules, &act).await.unwrap()
    }

    /// Lets so much time pass, then works off what is due.
    pub async fn sweep_after(&self, micros: Micros) -> u64 {
        self.clock.advance(micros);
        self.sweeper.sweep().await.unwrap()
    }

    /// Applies the ttl of threads: how many of them went or lost something.
    pub async fn expire(&self) -> u64 {
        self.sweeper.expire_threads().await.unwrap()
    }

    pub async fn claim(&self) -> Claim {
        let now = self.clock.now();
        self.storage.claim_policy(now, now + 60 * SECOND).await.unwrap().unwrap()
    }
}

pub async fn reports(h: &Harness) -> Vec<Report> {
    let query = ReportQuery { limit: 1_000, ..ReportQuery::default() };
    h.storage.list_reports(&h.caller, &query).await.unwrap()
}

pub async fn lengths(h: &Harness, threads: &[&str]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for thread in threads {
        lengths.push(h.all(thread).await.len());
    }
    lengths
}

pub async fn a_sweep_applies_policies_and_leaves_reports(h: Harness) {
    for thread in ["a", "b", "exempt", "own"] {
        chain(&h, thread, 5, &[2]).await;
    }
    let (other, everything) = (caller_of("tenant-b"), everything());
    let foreign = h.storage.prepare(&other, commit("a", five()), NEVER).await.unwrap();
    h.queue.commit(foreign).await.unwrap();
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    server.put(&h.caller, Some("exempt"), NOTHING).await;
    server.put(&h.caller, Some("own"), Rules { keep_last: Some(4), ..NOTHING }).await;
    let expected = h.storage.prune_threads(&h.caller, &dry(&["a", "b"], 2)).await.unwrap();
    assert_eq!(server.sweep_after(0).await, 3);
    assert_eq!(lengths(&h, &["a", "b", "exempt", "own"]).await, [2, 2, 5, 4]);
    let foreign = h.storage.list_checkpoints(&other, &everything).await.unwrap();
    assert_eq!(foreign.views.len(), 5, "another tenant's");
    let mut removed = Removed::default();
    for thread in &expected {
        removed += thread.removed;
    }
    let reports = reports(&h).await;
    assert_eq!(reports.len(), 3);
    let of = |thread: Option<&str>| {
        reports.iter().find(|it| it.thread_id.as_deref() == thread).unwrap().clone()
    };
    let done = Done { examined: 2, pruned: 2, removed, ..Done::default() };
    let tenant = of(None);
    assert_eq!((tenant.done, tenant.dry_run, tenant.last_error), (done, false, None));
    assert_eq!((of(Some("exempt")).done, of(Some("own")).done.pruned), (Done::default(), 1));
    for thread in ["a", "b", "own"] {
        h.check_counts(thread).await;
    }
    assert_eq!(server.sweep_after(SECOND).await, 0, "not due yet");
    assert_eq!(server.sweep_after(60 * SECOND).await, 3);
}

pub async fn unchanged_threads_are_not_looked_at_again(h: Harness) {
    chain(&h, "a", 5, &[]).await;
    chain(&h, "b", 5, &[]).await;
    // More than two checkpoints stay of this one.
    let memory = |id: &str| Put::new(id).ns("memory").op();
    h.commit(commit("a", vec![memory("1"), memory("2")])).await.unwrap();
    let server = Server::on(&h.storage);
    let rules = Rules { older_than_seconds: Some(3_600), ..KEEP_TWO };
    server.put(&h.caller, None, rules).await;
    let examined = async || reports(&h).await[0].done.examined;
    server.sweep_after(0).await;
    assert_eq!((examined().await, lengths(&h, &["a", "b"]).await), (2, vec![7, 5]), "too young");
    server.sweep_after(7_200 * SECOND).await;
    assert_eq!((examined().await, lengths(&h, &["a", "b"]).await), (2, vec![4, 2]));
    server.sweep_after(7_200 * SECOND).await;
    assert_eq!(examined().await, 0, "nothing can go of what was old enough then");
    server.put(&h.caller, None, rules).await;
    server.sweep_after(SECOND).await;
    assert_eq!(
        examined().await,
        1,
        "b has two checkpoints; a policy that was put looks at a again"
    );
    let commit_now = async |thread: &str| {
        chain(&h, thread, 5, &[]).await;
        let now = server.clock.now();
        h.sql(&format!("update threads set updated_at = {now} where thread_id = '{thread}'")).await;
    };
    commit_now("a").await;
    server.put(&h.caller, Some("b"), NOTHING).await;
    server.sweep_after(61 * SECOND).await;
    let all = reports(&h).await;
    assert!(all.iter().any(|it| it.thread_id.is_none() && it.done.examined == 1), "{all:?}");
    commit_now("b").await;
    server.sweep_after(7_200 * SECOND).await;
    let act = Act::of(&h.caller, ActKind::PolicyDeleted, "b", server.clock.now());
    h.storage.delete_policy(&h.caller, Some(&thread_id("b")), &act).await.unwrap();
    server.sweep_after(61 * SECOND).await;
    assert_eq!(
        (examined().await, lengths(&h, &["b"]).await),
        (2, vec![2]),
        "b is the tenant's again, and all are looked at"
    );
}

pub async fn threads_expire_but_for_those_that_wait(h: Harness) {
    for thread in ["old", "waiting", "busy"] {
        chain(&h, thread, 3, &[]).await;
    }
    let interrupt = Writes::new(&id(3), "t").write(-3, "__interrupt__", "approve?").op();
    h.commit(commit("waiting", vec![interrupt])).await.unwrap();
    let server = Server::on(&h.storage);
    let rules = Rules { keep_last: Some(2), ..EXPIRE };
    server.put(&h.caller, None, rules).await;
    let a_day_ago = server.clock.now() - DAY;
    let old = "thread_id in ('old', 'waiting')";
    h.sql(&format!("update threads set updated_at = {a_day_ago} where {old}")).await;
    server.sweep_after(0).await;
    assert_eq!(lengths(&h, &["old", "waiting", "busy"]).await, [0, 2, 2]);
    assert!(h.storage.get_thread(&h.caller, &thread_id("old")).await.unwrap().is_none());
    let report = &reports(&h).await[0];
    assert_eq!((report.done.examined, report.done.expired, report.done.pruned), (3, 1, 2));
    assert_eq!(report.done.removed.checkpoints, 5);
    server.put(&h.caller, None, Rules { keep_interrupted: false, ..rules }).await;
    server.sweep_after(SECOND).await;
    assert_eq!(lengths(&h, &["old", "waiting", "busy"]).await, [0, 0, 2]);
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    assert_eq!(h.count("select count(*) from thread_tombstones").await, 2);
}

pub async fn a_renewed_lease_keeps_an_expired_thread(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, Rules { keep_last: Some(1), ..EXPIRE }).await;
    let request = |fence| LeaseRequest {
        thread_id: thread_id("t"),
        holder: LeaseHolder::new("worker").unwrap(),
        fence,
        ttl_seconds: 60,
        full: None,
    };
    let lease = h.storage.acquire_lease(&h.caller, &request(None)).await.unwrap();
    server.clock.advance(DAY);
    let claim = server.claim().await;
    assert_eq!(h.storage.list_claimed_threads(&claim, 10).await.unwrap(), ["t"]);
    h.storage.renew_lease(&h.caller, &request(Some(lease.fence))).await.unwrap();
    let held = h.storage.retain_thread(&claim, "t", server.clock.now()).await.unwrap();
    assert_eq!((held, lengths(&h, &["t"]).await), (Retained::LeaseHeld, vec![3]));
    // The round is taken over and skips it; without the lease it goes.
    server.sweep_after(DAY).await;
    let report = reports(&h).await.remove(0);
    assert_eq!(
        (report.done.skipped, report.done.examined, lengths(&h, &["t"]).await[0]),
        (1, 1, 3)
    );
    h.storage.release_lease(&h.caller, &request(Some(lease.fence))).await.unwrap();
    server.sweep_after(61 * SECOND).await;
    assert_eq!(lengths(&h, &["t"]).await, [0]);
    let again = h.storage.acquire_lease(&h.caller, &request(None)).await.unwrap();
    assert!(again.fence > lease.fence, "the fence goes on from the tombstone");
}

pub async fn a_dry_run_says_what_the_real_one_does(h: Harness) {
    chain(&h, "a", 5, &[2]).await;
    chain(&h, "b", 9, &[]).await;
    chain(&h, "exempt", 9, &[]).await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, Some("exempt"), NOTHING).await;
    server.put(&h.caller, None, Rules { dry_run: true, ..KEEP_TWO }).await;
    let reports = async |h: &Harness| -> Vec<Report> {
        reports(h).await.into_iter().filter(|it| it.thread_id.is_none()).collect()
    };
    server.sweep_after(0).await;
    server.sweep_after(61 * SECOND).await;
    let dry = reports(&h).await;
    assert_eq!((dry.len(), dry[0].dry_run, lengths(&h, &["a", "b"]).await), (1, true, vec![5, 9]));
    server.put(&h.caller, None, KEEP_TWO).await;
    server.sweep_after(SECOND).await;
    let all = reports(&h).await;
    assert_eq!((all[0].done, lengths(&h, &["a", "b"]).await), (dry[0].done, vec![2, 2]));
    assert_eq!((all.len(), all[0].dry_run), (1, false), "it replaces the dry run's");
    server.sweep_after(61 * SECOND).await;
    server.sweep_after(61 * SECOND).await;
    let all = reports(&h).await;
    assert_eq!(
        (all.len(), all[0].done),
        (2, Done::default()),
        "one of nothing, one of the removal"
    );
}

pub async fn two_servers_do_each_piece_of_work_once(h: Harness) {
    let threads: Vec<String> = (0..12).map(|at| format!("t{at:02}")).collect();
    for thread in &threads {
        chain(&h, thread, 4, &[]).await;
    }
    // One file has one server: there, two sweepers of one.
    let second = if h.is_sqlite() {
        Arc::clone(&h.storage)
    } else {
        storage::open(&config(h.url())).await.unwrap()
    };
    let servers = [Server::on(&h.storage), Server::on(&second)];
    servers[0].put(&h.caller, None, KEEP_TWO).await;
    for thread in &threads[..6] {
        servers[0].put(&h.caller, Some(thread), KEEP_TWO).await;
    }
    servers[1].clock.advance(SECOND);
    let (one, two) = tokio::join!(servers[0].sweep_after(0), servers[1].sweep_after(0));
    assert_eq!(one + two, 7);
    let all = reports(&h).await;
    assert_eq!(all.len(), 7);
    let sum = |of: fn(&Done) -> i64| all.iter().map(|it| of(&it.done)).sum::<i64>();
    assert_eq!(sum(|it| it.pruned), 12);
    assert_eq!((sum(|it| it.removed.checkpoints), sum(|it| it.errors + it.skipped)), (24, 0));
    assert_eq!(h.count("select count(*) from checkpoints").await, 24);
}

/// A server dies in the middle of a round, with a removal done and not a page counted.
pub async fn a_round_is_taken_over_where_a_crash_left_it(h: Harness) {
    for thread in ["a", "b", "c", "d"] {
        chain(&h, thread, 5, &[]).await;
    }
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    let claim = server.claim().await;
    assert_eq!(h.storage.list_claimed_threads(&claim, 2).await.unwrap(), ["a", "b"]);
    let now = server.clock.now();
    let retain = async |thread: &str| h.storage.retain_thread(&claim, thread, now).await.unwrap();
    assert!(matches!(retain("a").await, Retained::Pruned(_)));
    let progress = Progress { last_thread_id: "a".into(), ..Progress::default() };
    assert!(h.storage.advance_claim(&claim, &progress, now).await.unwrap());
    assert!(matches!(retain("b").await, Retained::Pruned(_)));
    // Here it dies.
    assert_eq!(server.sweep_after(60 * SECOND).await, 0, "its claim still holds");
    assert_eq!(server.sweep_after(61 * SECOND).await, 2, "its round, and the next one");
    let report = reports(&h).await.into_iter().find(|it| it.done.pruned > 0).unwrap();
    assert_eq!((report.done.pruned, report.done.removed.checkpoints), (4, 12), "none is lost");
    assert_eq!((report.started_at, report.done.examined), (claim.started_at, 4));
    assert_eq!(lengths(&h, &["a", "b", "c", "d"]).await, [2, 2, 2, 2]);
    // It was not dead, only slow: what it still tries does nothing.
    chain(&h, "e", 5, &[]).await;
    assert_eq!(retain("e").await, Retained::NotClaimed);
    assert!(!h.storage.advance_claim(&claim, &progress, now).await.unwrap());
    assert!(!h.storage.finish_claim(&claim, now).await.unwrap());
    assert_eq!((lengths(&h, &["e"]).await[0], reports(&h).await.len()), (5, 2));
}

/// One thread cannot be read: the others are pruned, and the report says so.
pub async fn a_damaged_thread_stops_nobody(h: Harness) {
    for thread in ["a", "b", "c"] {
        chain(&h, thread, 4, &[]).await;
    }
    h.sql(
        "update writes set parts = substr(digest, 1, 5) where checkpoint_id = '0002' and thread_key =
            (select thread_key from threads where thread_id = 'b')",
    )
    .await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    server.sweep_after(0).await;
    let report = reports(&h).await.remove(0);
    assert_eq!((report.done.examined, report.done.pruned, report.done.errors), (3, 2, 1));
    assert_eq!(report.last_error.as_deref(), Some("integrity"));
    assert_eq!(h.count("select count(*) from checkpoints").await, 8);
}

fn dry(threads: &[&str], last: u32) -> PruneRequest {
    let rule = Rule::keep(last, None);
    PruneRequest { dry_run: true, ..pruning(threads, rule) }
}

fn five() -> Vec<Op> {
    (1..=5).map(|at| Put::new(&id(at)).op()).collect()
}
