//! Policies and the sweeper: with a clock that the tests move, on one server or several.

use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::Error;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoint::Op;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::retention::{
    Claim, Done, Policy, Progress, PruneRequest, Removed, Report, ReportCursor, ReportQuery,
    Retained, Rule, Rules,
};
use threadkeep::domain::storage::{DeleteThread, Storage};
use threadkeep::domain::sweeper::Sweeper;
use threadkeep::domain::thread::LeaseRequest;
use threadkeep::storage;
use tokio::sync::Notify;

use crate::commands::{Put, Writes};
use crate::delta::{chain, id};
use crate::harness::{Harness, NEVER, caller_of, commit, config, everything, pruning, thread_id};

const SECOND: Micros = 1_000_000;
const DAY: Micros = 24 * 3_600 * SECOND;
const NOTHING: Rules = Rules {
    expire_after_seconds: None,
    keep_last: None,
    older_than_seconds: None,
    keep_interrupted: true,
    dry_run: false,
};
const KEEP_TWO: Rules = Rules { keep_last: Some(2), ..NOTHING };
const EXPIRE: Rules = Rules { expire_after_seconds: Some(3_600), ..NOTHING };

/// A server's sweeper with its clock.
struct Server {
    clock: Arc<Clock>,
    storage: Arc<dyn Storage>,
    sweeper: Sweeper,
}

impl Server {
    fn on(storage: &Arc<dyn Storage>) -> Self {
        let clock = Arc::new(Clock::Fixed(Clock::System.now().into()));
        let (interval, wake) = (Duration::from_mins(1), Arc::new(Notify::new()));
        let sweeper = Sweeper::new(Arc::clone(storage), Arc::clone(&clock), interval, wake);
        Self { clock, storage: Arc::clone(storage), sweeper }
    }

    async fn put(&self, caller: &Caller, thread: Option<&str>, rules: Rules) -> Policy {
        let thread = thread.map(thread_id);
        let now = self.clock.now();
        self.storage.put_policy(caller, thread.as_ref(), &rules, now).await.unwrap()
    }

    /// Lets so much time pass, then works off what is due.
    async fn sweep_after(&self, micros: Micros) -> u64 {
        self.clock.advance(micros);
        self.sweeper.sweep().await.unwrap()
    }

    async fn claim(&self) -> Claim {
        let now = self.clock.now();
        self.storage.claim_policy(now, now + 60 * SECOND).await.unwrap().unwrap()
    }
}

async fn reports(h: &Harness) -> Vec<Report> {
    let query = ReportQuery { limit: 1_000, ..ReportQuery::default() };
    h.storage.list_reports(&h.caller, &query).await.unwrap()
}

async fn lengths(h: &Harness, threads: &[&str]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for thread in threads {
        lengths.push(h.all(thread).await.len());
    }
    lengths
}

pub async fn a_policy_is_put_replaced_and_deleted(h: Harness) {
    let server = Server::on(&h.storage);
    let first = server.put(&h.caller, None, EXPIRE).await;
    server.clock.advance(SECOND);
    let second = server.put(&h.caller, None, KEEP_TWO).await;
    assert_eq!((second.rules, second.created_at), (KEEP_TWO, first.created_at));
    assert_eq!(second.updated_at, first.updated_at + SECOND);
    let own = server.put(&h.caller, Some("t"), NOTHING).await;
    assert_eq!(own.thread_id.as_deref(), Some("t"));
    let (t, other) = (thread_id("t"), caller_of("tenant-b"));
    assert_eq!(h.storage.get_policy(&h.caller, None).await.unwrap(), Some(second));
    assert_eq!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap(), Some(own));
    assert_eq!(h.storage.get_policy(&other, Some(&t)).await.unwrap(), None);
    h.storage.delete_policy(&other, Some(&t)).await.unwrap();
    assert!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap().is_some());
    h.storage.delete_policy(&h.caller, Some(&t)).await.unwrap();
    h.storage.delete_policy(&h.caller, Some(&t)).await.unwrap();
    assert_eq!(h.storage.get_policy(&h.caller, Some(&t)).await.unwrap(), None);
    assert!(h.storage.get_policy(&h.caller, None).await.unwrap().is_some());
}

pub async fn a_tenant_has_a_limited_number_of_thread_policies(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, Some("0"), NOTHING).await;
    let filled = "insert into retention_policies (tenant, kind, thread_id, keep_interrupted, dry_run, created_at,
            updated_at, due_at)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < 999)
        select tenant, kind, cast(n as text), keep_interrupted, dry_run, created_at, updated_at, due_at
        from n, retention_policies";
    h.sql(filled).await;
    let refused = h.storage.put_policy(&h.caller, Some(&thread_id("t")), &NOTHING, 1).await;
    assert!(matches!(refused, Err(Error::Invalid { limit: Some(1_000), .. })), "{refused:?}");
    server.put(&h.caller, Some("7"), KEEP_TWO).await;
    server.put(&h.caller, None, KEEP_TWO).await;
    server.put(&caller_of("tenant-b"), Some("t"), KEEP_TWO).await;
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
    h.storage.delete_policy(&h.caller, Some(&thread_id("b"))).await.unwrap();
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

pub async fn a_policy_put_in_the_middle_of_a_round_holds_at_once(h: Harness) {
    chain(&h, "a", 5, &[]).await;
    chain(&h, "b", 5, &[]).await;
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    let claim = server.claim().await;
    server.put(&h.caller, Some("a"), NOTHING).await;
    let now = server.clock.now();
    let a = h.storage.retain_thread(&claim, "a", now).await.unwrap();
    assert_eq!((a, lengths(&h, &["a"]).await), (Retained::NotClaimed, vec![5]), "it is exempt");
    server.put(&h.caller, None, Rules { keep_last: Some(4), ..NOTHING }).await;
    let b = h.storage.retain_thread(&claim, "b", now).await.unwrap();
    assert_eq!((b, lengths(&h, &["b"]).await), (Retained::NotClaimed, vec![5]));
    server.sweep_after(SECOND).await;
    assert_eq!(lengths(&h, &["a", "b"]).await, [5, 4]);
}

pub async fn a_policy_goes_with_its_thread(h: Harness) {
    for thread in ["expired", "deleted", "pruned"] {
        chain(&h, thread, 3, &[]).await;
    }
    let server = Server::on(&h.storage);
    for thread in ["expired", "deleted", "pruned", "not yet"] {
        server.put(&h.caller, Some(thread), EXPIRE).await;
    }
    let request = DeleteThread { thread_id: thread_id("deleted"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
    let delete = pruning(&["pruned"], Rule::DELETE);
    h.storage.prune_threads(&h.caller, &delete).await.unwrap();
    assert_eq!(h.count("select count(*) from retention_policies").await, 2);
    assert_eq!(server.sweep_after(DAY).await, 2);
    let not_yet = h.storage.get_policy(&h.caller, Some(&thread_id("not yet"))).await.unwrap();
    assert!(not_yet.is_some(), "its thread may still come");
    assert_eq!(h.count("select count(*) from retention_policies").await, 1);
    let expired = reports(&h).await;
    let expired = expired.iter().find(|it| it.thread_id.as_deref() == Some("expired")).unwrap();
    assert_eq!((expired.done.expired, expired.done.removed.checkpoints), (1, 3));
}

pub async fn reports_are_listed_in_pages_and_kept_for_a_month(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    for at in 0..3 {
        chain(&h, &format!("t{at}"), 4, &[]).await;
        server.sweep_after(61 * SECOND).await;
    }
    server.put(&h.caller, Some("t0"), Rules { keep_last: Some(1), ..NOTHING }).await;
    server.sweep_after(SECOND).await;
    let all = reports(&h).await;
    assert_eq!(all.len(), 4);
    assert!(all.windows(2).all(|it| it[0].finished_at >= it[1].finished_at), "{all:?}");
    let mut paged = Vec::new();
    let mut query = ReportQuery { limit: 1, ..ReportQuery::default() };
    while let Some(report) = h.storage.list_reports(&h.caller, &query).await.unwrap().pop() {
        query.after = Some(ReportCursor {
            finished_at: report.finished_at,
            report_id: report.report_id.clone(),
        });
        paged.push(report);
    }
    assert_eq!(paged, all);
    let own = ReportQuery { thread_id: Some(thread_id("t0")), limit: 9, after: None };
    assert_eq!(h.storage.list_reports(&h.caller, &own).await.unwrap().len(), 1);
    let foreign = h.storage.list_reports(&caller_of("tenant-b"), &own).await.unwrap();
    assert!(foreign.is_empty());
    h.sql("delete from retention_policies").await;
    server.sweep_after(29 * DAY).await;
    assert_eq!(reports(&h).await.len(), 4);
    server.sweep_after(2 * DAY).await;
    assert!(reports(&h).await.is_empty());
}

pub async fn a_requested_round_is_due_at_once(h: Harness) {
    let server = Server::on(&h.storage);
    server.put(&h.caller, None, KEEP_TWO).await;
    server.put(&h.caller, Some("t"), KEEP_TWO).await;
    server.put(&caller_of("tenant-b"), None, KEEP_TWO).await;
    assert_eq!(server.sweep_after(0).await, 3);
    let request = async |thread: Option<&str>| {
        let thread = thread.map(thread_id);
        let now = server.clock.now();
        h.storage.request_round(&h.caller, thread.as_ref(), now).await.unwrap()
    };
    assert_eq!((request(Some("t")).await, server.sweep_after(SECOND).await), (1, 1));
    assert_eq!((request(Some("u")).await, server.sweep_after(SECOND).await), (0, 0));
    assert_eq!((request(None).await, server.sweep_after(SECOND).await), (2, 2));
    // Asked for while a round runs: there is another one after it.
    request(Some("t")).await;
    let claim = server.claim().await;
    request(Some("t")).await;
    assert!(h.storage.finish_claim(&claim, server.clock.now()).await.unwrap());
    assert_eq!(server.sweep_after(SECOND).await, 1);
}

/// One thread cannot be read: the others are pruned, and the report says so.
pub async fn a_damaged_thread_stops_nobody(h: Harness) {
    for thread in ["a", "b", "c"] {
        chain(&h, thread, 4, &[]).await;
    }
    h.sql(
        "update writes set body = null, value_no = 7 where checkpoint_id = '0002' and thread_key =
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
