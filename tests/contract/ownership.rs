//! Tests that a foreign thread is an absent one, for every call; `thread_taken` is the one exception.

use std::fmt::Debug;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::names::CheckpointNs;
use threadkeep::domain::threads::retention::{ReportQuery, Rule, Rules};
use threadkeep::domain::threads::thread::ThreadQuery;
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error, Result};

use crate::conditions::expire_leases;
use crate::granted_callers::{
    Desk, assert_not_granted, copying, exact, owned, prefix, put, subject, tenant, with,
};
use crate::harness::{Harness, NEVER, conflict, everything, pruning, target, thread_id};
use crate::sweeping::{DAY, KEEP_TWO, SECOND, Server};

/// Four checkpoints, a policy with a report, and a lease that is held.
async fn furnish(desk: &Desk, server: &Server, maker: &Caller, thread: &str) {
    for id in ["1", "2", "3", "4"] {
        desk.put(maker, thread, id).await.unwrap();
    }
    server.put(&tenant(), Some(thread), Rules { dry_run: true, ..KEEP_TWO }).await;
    assert_eq!(server.sweep_after(SECOND).await, 1);
    desk.acquire(maker, thread).await.unwrap();
}

/// What every call answers that must not tell a foreign thread from an absent one, without the thread's own id.
async fn answers(desk: &Desk, caller: &Caller, thread: &str) -> Vec<String> {
    let mut answers = Vec::new();
    let mut add = |name: &str, answer: &dyn Debug| {
        answers.push(format!("{name}: {answer:?}").replace(thread, "the thread"));
    };
    let (id, channels) = (thread_id(thread), ["made by".to_owned()]);
    for one in [None, Some("4"), Some("none")] {
        let place = target(thread, "", one);
        add("get", &desk.checkpoints.get(caller, &place, &channels, None).await);
        add("history", &desk.checkpoints.history(caller, &place, &channels, None).await);
    }
    let query = ListQuery { thread_id: Some(id.clone()), ..everything() };
    add("list", &desk.checkpoints.list(caller, query).await);
    let query = crate::timelines::all(thread);
    add("timeline", &desk.checkpoints.list_timeline(caller, &query).await);
    let root = [CheckpointNs::root()];
    add("namespaces", &desk.checkpoints.list_checkpoint_namespaces(caller, &id, &root).await);
    add("thread", &desk.threads.get(caller, &id).await);
    add("storage", &desk.threads.get_storage_use(caller, &id).await);
    add("policy", &desk.policies.get(caller, Some(&id)).await);
    let reports = ReportQuery { thread_id: Some(id.clone()), limit: 9, after: None };
    add("reports", &desk.policies.list_reports(caller, reports).await);
    add("run", &desk.policies.run(caller, Some(&id), NEVER).await);
    add("put policy", &desk.policies.put(caller, Some(&id), &KEEP_TWO, NEVER).await);
    add("delete policy", &desk.policies.delete(caller, Some(&id), NEVER).await);
    add("copy from", &desk.copy(caller, thread, "copy").await);
    for rule in [Rule::KEEP_LATEST, Rule::DELETE] {
        let mut request = pruning(&[thread], rule);
        request.dry_run = true;
        add("dry run", &desk.prune(caller, request).await);
        add("prune", &desk.prune(caller, pruning(&[thread], rule)).await);
    }
    for run in ["bob", "local", "ann"] {
        add("runs", &desk.delete_runs(caller, run).await);
    }
    add("delete", &desk.delete(caller, thread).await);
    answers
}

/// Everything that there is to see of the tenant.
async fn all_of_it(h: &Harness, desk: &Desk) -> String {
    let all = ThreadQuery { limit: 100, ..ThreadQuery::default() };
    let mut threads = desk.threads.list(&tenant(), all).await.unwrap().threads;
    // Whoever shows a thread may derive its state.
    for it in &mut threads {
        it.run.is_stale = false;
    }
    let views = h.list(everything()).await.views;
    let rows = h.count("select count(*) from retention_policies").await;
    let leased = h.count("select count(*) from threads where lease_holder is not null").await;
    format!("{threads:?} {views:?} {rows} {leased}")
}

pub async fn a_foreign_thread_answers_like_an_absent_one(h: Harness) {
    let (desk, server) = (Desk::on(&h.storage).await, Server::on(&h.storage));
    let (ann, bob) = (subject("ann"), subject("bob"));
    furnish(&desk, &server, &bob, "bob's").await;
    furnish(&desk, &server, &tenant(), "nobody's").await;
    let before = all_of_it(&h, &desk).await;
    let reads = with("reads", vec![exact("another", Actions::READ | Actions::WRITE)]);
    let owned_only =
        Caller { subject: Some("ann".into()), ..with("ann 2", vec![owned(Actions::ALL)]) };
    for caller in [&ann, &owned_only] {
        let absent = answers(&desk, caller, "absent").await;
        assert!(absent.iter().all(|it| !it.contains("Conflict")), "{absent:?}");
        for foreign in ["bob's", "nobody's"] {
            assert_eq!(answers(&desk, caller, foreign).await, absent, "{foreign}");
        }
    }
    // Reads of what no grant names, decided by the token alone; so are its writes.
    let place = |thread| target(thread, "", None);
    for thread in ["bob's", "absent"] {
        let (found, _) = desk.checkpoints.get(&reads, &place(thread), &[], None).await.unwrap();
        assert_eq!((found.generation, found.view), (None, None));
        assert_eq!(desk.thread(&reads, thread).await, None);
        assert_not_granted(desk.delete(&reads, thread).await);
        assert_not_granted(desk.prune(&reads, pruning(&[thread], Rule::DELETE)).await);
        assert_not_granted(desk.put(&reads, thread, "5").await);
        assert_not_granted(desk.acquire(&reads, thread).await);
        assert_not_granted(desk.copy(&reads, "another", thread).await);
        assert_not_granted(
            desk.policies.put(&reads, Some(&thread_id(thread)), &KEEP_TWO, NEVER).await,
        );
        assert_eq!(desk.copy(&reads, thread, "another").await.unwrap(), 0);
    }
    assert_eq!(all_of_it(&h, &desk).await, before, "nothing was touched");
    // The same calls for its own thread do all of that.
    furnish(&desk, &server, &ann, "ann's").await;
    expire_leases(&h).await;
    let own = answers(&desk, &ann, "ann's").await;
    let absent = answers(&desk, &ann, "absent").await;
    let differ = own.iter().zip(&absent).filter(|(own, absent)| own != absent).count();
    assert!(differ >= 14, "{own:#?}");
    assert_eq!(desk.thread(&tenant(), "ann's").await, None);
}

/// The engine asks for itself: a call that the domain should have refused finds nothing.
pub async fn what_is_denied_finds_nothing_in_the_engine_either(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    desk.put(&tenant(), "t", "1").await.unwrap();
    let denied = with("nothing", Vec::new());
    let place = target("t", "", None);
    assert!(h.storage.get_checkpoint(&denied, &place, &[]).await.unwrap().generation.is_none());
    assert!(h.storage.get_history(&denied, &place, &[]).await.unwrap().is_none());
    let of_thread = ListQuery { thread_id: Some(thread_id("t")), ..everything() };
    for query in [of_thread, everything()] {
        assert!(h.storage.list_checkpoints(&denied, &query).await.unwrap().views.is_empty());
    }
    let threads = ThreadQuery { limit: 9, ..ThreadQuery::default() };
    assert!(h.storage.list_threads(&denied, &threads).await.unwrap().threads.is_empty());
    h.storage.delete_for_runs(&denied, &["local".into()]).await.unwrap();
    h.storage.prune_threads(&denied, &pruning(&["t"], Rule::DELETE)).await.unwrap();
    let prepared = h.storage.prepare(&denied, put(&denied, "t", "2"), NEVER).await.unwrap();
    let (batch, _) = fold(&[&prepared], 1);
    assert_eq!(h.storage.write_batch(&batch).await.unwrap(), [Outcome::ThreadTaken]);
    assert_eq!(desk.latest(&tenant(), "t").await.unwrap().as_deref(), Some("1"));
}

#[track_caller]
fn assert_taken<T: Debug>(result: Result<T>) {
    assert_eq!(conflict(result), Conflict::ThreadTaken);
}

pub async fn who_only_owns_is_told_that_a_thread_is_taken_and_nothing_more(h: Harness) {
    let (desk, server) = (Desk::on(&h.storage).await, Server::on(&h.storage));
    let ann = subject("ann");
    furnish(&desk, &server, &subject("bob"), "bob's").await;
    furnish(&desk, &server, &tenant(), "nobody's").await;
    desk.put(&ann, "source", "1").await.unwrap();
    let before = all_of_it(&h, &desk).await;
    for thread in ["bob's", "nobody's"] {
        // Before generation, lease and fence, which would tell more.
        for (generation, fence) in
            [(None, None), (Some("x"), None), (None, Some(1)), (None, Some(7))]
        {
            let mut wanted = put(&ann, thread, "5");
            (wanted.generation, wanted.fence) = (generation.map(str::to_owned), fence);
            assert_taken(desk.commit(&ann, wanted).await);
        }
        let mut stale = h.storage.prepare(&ann, put(&ann, thread, "5"), NEVER).await.unwrap();
        stale.condition.epoch = Some(1);
        let (batch, _) = fold(&[&stale], 1);
        assert_eq!(h.storage.write_batch(&batch).await.unwrap(), [Outcome::ThreadTaken]);
        assert_taken(desk.acquire(&ann, thread).await);
        for fence in [1, 7] {
            assert_taken(desk.renew(&ann, thread, fence).await);
            assert_taken(desk.release(&ann, thread, fence).await);
        }
        assert_taken(desk.copy(&ann, "source", thread).await);
        assert_eq!(desk.copy(&ann, "absent", thread).await.unwrap(), 0, "no source, no question");
        assert_eq!(desk.copy(&ann, "bob's", thread).await.unwrap(), 0);
    }
    assert_eq!(all_of_it(&h, &desk).await, before);
    // In one batch with commits of others, which succeed.
    let whole = tenant();
    let (mine, taken, theirs) = tokio::join!(
        desk.put(&ann, "source", "2"),
        desk.put(&ann, "bob's", "5"),
        desk.put(&whole, "more", "1")
    );
    mine.and(theirs).unwrap();
    assert_taken(taken);
}

pub async fn a_granted_name_is_written_whoever_owns_it(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let named = with("named", vec![exact("a:1", Actions::ALL)]);
    let below = with("below", vec![prefix("a:", Actions::ALL)]);
    let appends = with("appends", vec![prefix("a:", Actions::APPEND)]);
    let reads = with("reads", vec![prefix("a:", Actions::READ)]);
    desk.put(&subject("ann"), "a:1", "1").await.unwrap();
    for (at, caller) in [&named, &below, &appends].into_iter().enumerate() {
        desk.put(caller, "a:1", &(at + 2).to_string()).await.unwrap();
        let lease = desk.acquire(caller, "a:1").await.unwrap();
        desk.renew(caller, "a:1", lease.fence).await.unwrap();
        desk.release(caller, "a:1", lease.fence).await.unwrap();
        assert_not_granted(desk.put(caller, "b", "1").await);
    }
    assert_eq!(desk.owner("a:1").await.as_deref(), Some("ann"), "it stays whose it was");
    assert_eq!(desk.latest(&reads, "a:1").await.unwrap().as_deref(), Some("4"));
    assert_not_granted(desk.put(&reads, "a:1", "9").await);
    for refused in [desk.delete(&appends, "a:1").await, desk.delete(&reads, "a:1").await] {
        assert_not_granted(refused);
    }
    assert_not_granted(desk.latest(&appends, "a:1").await);
    assert_not_granted(desk.delete_runs(&appends, "ann").await);
    assert_not_granted(desk.prune(&appends, pruning(&["a:1"], Rule::DELETE)).await);
    desk.delete_runs(&named, "ann").await.unwrap();
    assert_eq!(desk.thread(&below, "a:1").await.unwrap().checkpoint_count, 3);
    desk.prune(&below, pruning(&["a:1"], Rule::KEEP_LATEST)).await.unwrap();
    assert!(desk.delete(&below, "a:1").await.unwrap());
    assert!(!desk.delete(&below, "a:1").await.unwrap());
}

/// The tenant's own policy, its reports and its rounds are for who has the whole tenant.
pub async fn what_is_the_tenants_is_for_the_whole_tenant(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let below = with("below", vec![prefix("a:", Actions::ALL)]);
    for caller in [&subject("ann"), &below] {
        assert_not_granted(desk.policies.get(caller, None).await);
        assert_not_granted(desk.policies.put(caller, None, &KEEP_TWO, NEVER).await);
        assert_not_granted(desk.policies.delete(caller, None, NEVER).await);
        assert_not_granted(desk.policies.run(caller, None, NEVER).await);
        assert_not_granted(desk.policies.list_reports(caller, ReportQuery::default()).await);
    }
    desk.policies.put(&tenant(), None, &KEEP_TWO, NEVER).await.unwrap();
    assert_eq!(desk.policies.run(&tenant(), None, NEVER).await.unwrap(), 1);
}

pub async fn a_policy_and_its_reports_are_its_owners(h: Harness) {
    let (desk, server) = (Desk::on(&h.storage).await, Server::on(&h.storage));
    let (ann, bob) = (subject("ann"), subject("bob"));
    let id = thread_id("t");
    let reports = ReportQuery { thread_id: Some(id.clone()), limit: 9, after: None };
    desk.put(&ann, "t", "1").await.unwrap();
    assert!(desk.policies.put(&ann, Some(&id), &KEEP_TWO, NEVER).await.is_ok());
    assert_eq!(server.sweep_after(SECOND).await, 1);
    assert_eq!(desk.policies.list_reports(&ann, reports.clone()).await.unwrap().reports.len(), 1);
    let full = "insert into retention_policies (tenant, kind, thread_id, keep_interrupted, dry_run, created_at,
            updated_at, due_at)
        with recursive n (n) as (select 1 union all select n + 1 from n where n < 999)
        select tenant, kind, cast(n as text), keep_interrupted, dry_run, created_at, updated_at, due_at
        from n, retention_policies";
    h.sql(full).await;
    // With as many policies as there may be, too: whether the thread has one is not told by the limit.
    desk.put(&bob, "bob's", "1").await.unwrap();
    for thread in ["t", "bob's", "absent", "7"] {
        let (eve, id) = (subject("eve"), thread_id(thread));
        let put = desk.policies.put(&eve, Some(&id), &KEEP_TWO, NEVER).await;
        assert!(matches!(put, Err(Error::NotFound("thread"))), "{thread}");
    }
    assert!(desk.policies.put(&ann, Some(&id), &KEEP_TWO, NEVER).await.is_ok());
    assert!(desk.delete(&ann, "t").await.unwrap());
    desk.put(&bob, "t", "1").await.unwrap();
    assert_eq!(desk.policies.get(&bob, Some(&id)).await.unwrap(), None);
    assert!(desk.policies.list_reports(&bob, reports.clone()).await.unwrap().reports.is_empty());
    assert_eq!(
        desk.policies.list_reports(&tenant(), reports.clone()).await.unwrap().reports.len(),
        1
    );
    // Of a round that deletes the thread, too.
    let rules = Rules { expire_after_seconds: Some(1), ..KEEP_TWO };
    desk.policies.put(&bob, Some(&id), &rules, NEVER).await.unwrap();
    h.sql("delete from retention_policies where thread_id <> 't'").await;
    assert_eq!(server.sweep_after(DAY).await, 1);
    assert_eq!(desk.thread(&tenant(), "t").await, None);
    let listed = async |caller: &Caller| {
        let page = desk.policies.list_reports(caller, reports.clone()).await.unwrap();
        page.reports.into_iter().map(|it| it.done.expired).collect::<Vec<i64>>()
    };
    assert_eq!((listed(&bob).await, listed(&tenant()).await), (vec![], vec![1]));
    desk.put(&ann, "t", "1").await.unwrap();
    assert_eq!((listed(&bob).await, listed(&ann).await), (vec![], vec![]));
    assert!(desk.delete(&ann, "t").await.unwrap());
    desk.put(&bob, "t", "1").await.unwrap();
    assert_eq!((listed(&bob).await, listed(&ann).await), (vec![1], vec![]));
}

/// Repeated requests are known by who sends them.
pub async fn answers_are_kept_for_the_credential(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    desk.put(&tenant(), "a:source", "1").await.unwrap();
    let callers = ["one", "two"].map(|it| with(it, vec![prefix("a:", Actions::ALL)]));
    for (at, caller) in callers.iter().enumerate() {
        let digest = [u8::try_from(at).unwrap(); 32];
        let mut request = copying("a:source", &format!("a:copy {at}"));
        request.idempotency = Some(("key".into(), digest));
        for _ in 0..2 {
            assert_eq!(desk.threads.copy(caller, &request, NEVER).await.unwrap(), 1);
        }
        request.idempotency = Some(("key".into(), [9; 32]));
        let other = desk.threads.copy(caller, &request, NEVER).await;
        assert!(matches!(other, Err(Error::IdempotencyMismatch)), "{other:?}");
    }
}
