//! Tests snapshots of threads: their content, their restores, and their access rules.

use threadkeep::domain::clock::Clock;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::Restore;
use threadkeep::domain::snapshots::storage::ListSnapshots;
use threadkeep::domain::tenants::audit::{ActKind, EventQuery};
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::{THREAD, ThreadQuery};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error};

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::content::list;
use crate::delta::{chain, id};
use crate::granted_callers::{self, exact, with};
use crate::harness::{Harness, commit, conflict, pruning, thread_id, values};
use crate::snapshot_calls::{Desk, check_sound, in_place, into, of, seen, snapshot_id};

/// A conversation with delta channels, a subgraph, large values and writes that are pending.
pub async fn converse(h: &Harness, thread: &str) {
    chain(h, thread, 6, &[2]).await;
    let large = list(40);
    let ops = vec![
        Put::new("s1").ns("sub:1").sets("a", "1", "in a subgraph").op(),
        Put::new(&id(7)).parent(&id(6)).sets("big", "1", &large).carries("m", "6").op(),
        Writes::new(&id(7), "t").write(0, "a", "pending").write(1, "b", &large).op(),
        Writes::new("early", "t").write(0, "a", "of a checkpoint that never comes").op(),
    ];
    h.commit(commit(thread, ops)).await.unwrap();
}

pub async fn what_came_after_is_gone_and_nothing_else(h: Harness) {
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    converse(&h, "beside").await;
    let (then, beside) = (seen(&h, "t").await, seen(&h, "beside").await);
    let snapshot = desk.taken(&h, "s", &["t"]).await;
    assert_eq!((snapshot.threads.len(), snapshot.threads[0].checkpoints), (1, 8));
    let stale = h.found("t", "", None, &[]).await.generation.unwrap();
    assert_eq!(snapshot.threads[0].generation, stale);
    h.commit(commit("t", vec![Put::new(&id(8)).parent(&id(7)).sets("big", "2", "later").op()]))
        .await
        .unwrap();
    let later = seen(&h, "t").await;
    assert_ne!(later, then);
    let done = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&h, "t").await, then);
    assert_eq!(seen(&h, "beside").await, beside);
    assert_eq!((done.threads[0].checkpoints, done.threads[0].replaced_checkpoints), (8, 9));
    // Who still writes for the old state is refused, who reads first goes on.
    let mut late = commit("t", vec![Put::new(&id(9)).parent(&id(8)).op()]);
    late.generation = Some(stale);
    let current = done.threads[0].generation.clone();
    assert_eq!(
        conflict(h.commit(late.clone()).await),
        Conflict::ThreadRestored { current: current.clone() }
    );
    assert_eq!(h.found("t", "", None, &[]).await.generation, Some(current.clone()));
    late.generation = Some(current);
    h.commit(late).await.unwrap();
    // What was replaced was kept.
    let safety = done.safety_snapshot_id.unwrap();
    let kept = desk.get(&h, &safety).await.unwrap();
    assert_eq!(kept.labels["safety_of"], "s");
    desk.restore(&h.caller, &in_place(&safety)).await.unwrap();
    assert_eq!(seen(&h, "t").await, later);
    h.check_counts("t").await;
    check_sound(&h).await;
}

pub async fn a_snapshot_stands_for_itself(h: Harness) {
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    let then = seen(&h, "t").await;
    desk.taken(&h, "s", &["t"]).await;
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_ne!(seen(&h, "t").await, then);
    check_sound(&h).await;
    h.storage.delete_thread(&h.caller, &deleting("t")).await.unwrap();
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(seen(&h, "t").await, None);
    let done = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert!(done.threads[0].created && done.safety_snapshot_id.is_none());
    assert_eq!(seen(&h, "t").await, then);
    // Into another id, too, which then goes its own way.
    desk.restore(&h.caller, &into("s", &[("t", "b")])).await.unwrap();
    assert_eq!(seen(&h, "b").await, then);
    h.commit(commit("b", vec![Put::new(&id(8)).parent(&id(7)).sets("a", "1", "x").op()]))
        .await
        .unwrap();
    assert_eq!(seen(&h, "t").await, then);
    assert_eq!(h.count("select count(distinct scope_id) from threads").await, 1, "shared");
    // Nothing is left of anything in the end.
    assert!(desk.delete(&h, "s").await && !desk.delete(&h, "s").await);
    assert_eq!(seen(&h, "t").await, then);
    for thread in ["t", "b"] {
        h.storage.delete_thread(&h.caller, &deleting(thread)).await.unwrap();
    }
    for table in
        ["threads", "checkpoints", "writes", "delta_bases", "chunks", "scopes", "scope_holders"]
    {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
    check_sound(&h).await;
}

pub async fn a_head_is_the_newest_of_each_namespace_with_its_delta_base(h: Harness) {
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    h.storage.copy_thread(&h.caller, &granted_callers::copying("t", "model")).await.unwrap();
    h.storage.prune_threads(&h.caller, &pruning(&["model"], Rule::KEEP_LATEST)).await.unwrap();
    let (whole, head) = (seen(&h, "t").await, seen(&h, "model").await);
    let taken = desk.take(&h.caller, of("s", &["t"], History::Head)).await.unwrap().snapshot;
    assert_eq!(taken.threads[0].checkpoints, 2);
    assert_eq!(seen(&h, "t").await, whole, "the thread keeps its past");
    desk.restore(&h.caller, &into("s", &[("t", "b")])).await.unwrap();
    assert_eq!(seen(&h, "b").await, head);
    h.check_counts("b").await;
    check_sound(&h).await;
}

pub async fn nobody_finds_what_a_snapshot_keeps(h: Harness) {
    let desk = Desk::on(&h).await;
    let with_run = Put::new("1").metadata(r#"{"run_id":"r"}"#).sets("a", "1", "x");
    h.commit(commit("t", vec![with_run.op()])).await.unwrap();
    let usage = h.storage.measure_usage("tenant-a").await.unwrap();
    desk.taken(&h, "s", &["t"]).await;
    let query = ThreadQuery { limit: 100, ..ThreadQuery::default() };
    assert_eq!(h.storage.list_threads(&h.caller, &query).await.unwrap().threads.len(), 1);
    assert_eq!(h.list(crate::harness::everything()).await.views.len(), 1);
    let more = h.storage.measure_usage("tenant-a").await.unwrap();
    assert_eq!((more.threads, more.bytes), (usage.threads, 2 * usage.bytes));
    // A run is deleted in the thread, not in what was kept of it.
    h.storage.delete_for_runs(&h.caller, &["r".to_owned()]).await.unwrap();
    assert!(h.all("t").await.is_empty());
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(h.all("t").await.len(), 1);
    check_sound(&h).await;
}

pub async fn the_same_request_again_finds_its_snapshot(h: Harness) {
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    let mut request = of("s", &["t"], History::All);
    request.labels.insert("sandbox".into(), "a".into());
    request.document = Some(bytes::Bytes::from_static(b"{\"n\": 1.0,\"n\":2}"));
    let first = desk.take(&h.caller, request.clone()).await.unwrap();
    let again = desk.take(&h.caller, request.clone()).await.unwrap();
    assert!(first.is_new && !again.is_new);
    assert_eq!(first.snapshot, again.snapshot);
    assert_eq!(again.snapshot.document, request.document);
    for other in
        [of("s", &["t"], History::All), of("s", &["t"], History::Head), of("s", &[], History::All)]
    {
        let refused = desk.take(&h.caller, other).await.unwrap_err();
        assert!(matches!(refused, Error::SnapshotIdTaken), "{refused}");
    }
    // Many at the same moment make one.
    let all = (0..6).map(|_| desk.take(&h.caller, of("race", &["t"], History::All)));
    let all = futures::future::join_all(all).await;
    let made = all.iter().filter(|it| it.as_ref().unwrap().is_new).count();
    assert_eq!(made, 1);
    assert_eq!(h.count("select count(*) from snapshots").await, 2);
    assert_eq!(h.count("select count(*) from threads").await, 3);
    let missing = desk.take(&h.caller, of("x", &["t", "never was"], History::All)).await;
    assert!(matches!(missing, Err(Error::NotFound(THREAD))), "{missing:?}");
    check_sound(&h).await;
}

pub async fn snapshots_are_listed_in_pages_and_by_label(h: Harness) {
    let desk = Desk::on(&h).await;
    h.put(Put::new("1")).await;
    for at in 0..7 {
        let mut request = of(&format!("s{at}"), &["t"], History::All);
        request.labels.insert("even".into(), (at % 2 == 0).to_string());
        desk.take(&h.caller, request).await.unwrap();
    }
    let mut query = ListSnapshots { limit: 3, ..ListSnapshots::default() };
    let mut ids = Vec::new();
    loop {
        let page = desk.snapshots.list(&h.caller, query.clone()).await.unwrap();
        assert!(page.snapshots.iter().all(|it| it.threads.len() == 1));
        ids.extend(page.snapshots.into_iter().map(|it| it.id));
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    assert_eq!(ids, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
    query = ListSnapshots { limit: 3, ..ListSnapshots::default() };
    query.labels.insert("even".into(), "true".into());
    let page = desk.snapshots.list(&h.caller, query).await.unwrap();
    let ids: Vec<String> = page.snapshots.into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["s6", "s4", "s2"]);
    assert!(page.next.is_some());
}

pub async fn a_restore_obeys_leases_and_owners(h: Harness) {
    let desk = Desk::on(&h).await;
    h.put(Put::new("1").sets("a", "1", "then")).await;
    desk.taken(&h, "s", &["t"]).await;
    h.put(Put::new("2").sets("a", "2", "later")).await;
    let held = lease(&h, "somebody").await;
    let later = seen(&h, "t").await;
    assert_eq!(conflict(desk.restore(&h.caller, &in_place("s")).await), Conflict::LeaseHeld);
    let with_fence = |fence| Restore { leases: vec![(thread_id("t"), fence)], ..in_place("s") };
    let refused = conflict(desk.restore(&h.caller, &with_fence(held.fence + 1)).await);
    assert_eq!(refused, Conflict::FenceStale { current: held.fence });
    assert_eq!(seen(&h, "t").await, later, "nothing happened");
    desk.restore(&h.caller, &with_fence(held.fence)).await.unwrap();
    assert_eq!(values(&h.latest("t").await.unwrap())["a"], "then");
    // The lease is still held.
    let unfenced = commit("t", vec![Put::new("3").op()]);
    assert_eq!(conflict(h.commit(unfenced.clone()).await), Conflict::LeaseHeld);
    h.commit(threadkeep::domain::checkpoints::checkpoint::Commit {
        fence: Some(held.fence),
        ..unfenced
    })
    .await
    .unwrap();
    // Into an id that is there.
    h.commit(commit("other", vec![Put::new("1").op()])).await.unwrap();
    let taken = desk.restore(&h.caller, &into("s", &[("t", "other")])).await;
    assert_eq!(conflict(taken), Conflict::ThreadExists);
    // Who may not write to the thread does not restore it, nor does who may not read the snapshot find it.
    let reader = granted_callers::with("reader", vec![exact("t", Actions::READ)]);
    granted_callers::assert_not_granted(desk.restore(&reader, &in_place("s")).await);
    let ann = granted_callers::subject("ann");
    let absent = desk.restore(&ann, &in_place("s")).await;
    assert!(matches!(absent, Err(Error::NotGranted(_))), "{absent:?}");
    check_sound(&h).await;
}

pub async fn of_two_threads_both_are_restored_or_none(h: Harness) {
    let desk = Desk::on(&h).await;
    for thread in ["t", "u"] {
        h.commit(commit(thread, vec![Put::new("1").sets("a", "1", "then").op()])).await.unwrap();
    }
    desk.taken(&h, "s", &["u", "t"]).await;
    for thread in ["t", "u"] {
        h.commit(commit(thread, vec![Put::new("2").sets("a", "2", "later").op()])).await.unwrap();
    }
    lease(&h, "somebody").await;
    let before = (seen(&h, "t").await, seen(&h, "u").await);
    assert_eq!(conflict(desk.restore(&h.caller, &in_place("s")).await), Conflict::LeaseHeld);
    assert_eq!((seen(&h, "t").await, seen(&h, "u").await), before);
    check_sound(&h).await;
    // What would happen is said, and does not happen.
    crate::conditions::expire_leases(&h).await;
    let would = Restore { dry_run: true, ..in_place("s") };
    let would = desk.restore(&h.caller, &would).await.unwrap();
    assert_eq!((seen(&h, "t").await, seen(&h, "u").await), before);
    assert!(would.dry_run && would.safety_snapshot_id.is_none());
    let did = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    let counts =
        |it: &threadkeep::domain::snapshots::restore::Restored| -> Vec<(String, i64, i64)> {
            let one = |it: &threadkeep::domain::snapshots::restore::RestoredThread| {
                (it.into.clone(), it.checkpoints, it.replaced_checkpoints)
            };
            it.threads.iter().map(one).collect()
        };
    assert_eq!(counts(&would), counts(&did));
    check_sound(&h).await;
}

pub async fn a_repeated_restore_happens_once(h: Harness) {
    let desk = Desk::on(&h).await;
    h.put(Put::new("1").sets("a", "1", "then")).await;
    desk.taken(&h, "s", &["t"]).await;
    let request = Restore { idempotency: Some(("key".into(), [1; 32])), ..in_place("s") };
    let first = desk.restore(&h.caller, &request).await.unwrap();
    h.put(Put::new("2").sets("a", "2", "later")).await;
    let later = seen(&h, "t").await;
    assert_eq!(desk.restore(&h.caller, &request).await.unwrap(), first);
    assert_eq!(seen(&h, "t").await, later, "the second time did nothing");
    desk.delete(&h, "s").await;
    assert_eq!(desk.restore(&h.caller, &request).await.unwrap(), first);
    let other = Restore { idempotency: Some(("key".into(), [2; 32])), ..in_place("s") };
    let refused = desk.restore(&h.caller, &other).await.unwrap_err();
    assert!(matches!(refused, Error::IdempotencyMismatch), "{refused}");
    let query = |act| EventQuery { act: Some(act), limit: 10, ..EventQuery::default() };
    for (act, count) in [(ActKind::SnapshotRestored, 1), (ActKind::SnapshotDeleted, 1)] {
        let events = h.storage.list_events("tenant-a", &query(act)).await.unwrap();
        assert_eq!(events.len(), count, "{act:?}");
    }
    check_sound(&h).await;
}

pub async fn a_restore_for_another_owner_shares_nothing(h: Harness) {
    let (desk, ann, bob) =
        (Desk::on(&h).await, granted_callers::subject("ann"), granted_callers::subject("bob"));
    let threads = granted_callers::Desk::on(&h.storage).await;
    threads.put(&ann, "t", "1").await.unwrap();
    h.put(Put::new("2").parent("1").sets("big", "1", &list(40))).await;
    let then = seen(&h, "t").await;
    desk.taken(&h, "s", &["t"]).await;
    // By a key of the tenant it stays whose it was.
    desk.restore(&h.caller, &into("s", &[("t", "b")])).await.unwrap();
    assert_eq!(threads.owner("b").await.as_deref(), Some("ann"));
    let granted = vec![exact("s", Actions::READ | Actions::APPEND)];
    let mut scoped = threadkeep::domain::tokens::grants::Scoped {
        snapshots: granted,
        ..threadkeep::domain::tokens::grants::Scoped::of_subject("bob")
    };
    scoped.threads.push(exact("t", Actions::READ));
    let bob = threadkeep::domain::caller::Caller {
        grants: threadkeep::domain::caller::Grants::Scoped(std::sync::Arc::new(scoped)),
        ..bob
    };
    assert_eq!(conflict(desk.restore(&bob, &in_place("s")).await), Conflict::ThreadTaken);
    desk.restore(&bob, &into("s", &[("t", "c")])).await.unwrap();
    assert_eq!(threads.owner("c").await.as_deref(), Some("bob"));
    assert_eq!(seen(&h, "c").await, then);
    check_sound(&h).await;
    // Erasing ann takes her threads out of everybody's snapshots, and leaves bob what is his.
    let both = of("both", &["t", "c"], History::All);
    desk.take(&h.caller, both).await.unwrap();
    let clock = std::sync::Arc::new(Clock::System);
    let erasures = Erasures::new(h.storage.clone(), clock);
    erasures.erase(&h.caller, "ann", |_| {}).await.unwrap();
    assert!(matches!(desk.get(&h, "s").await, Err(Error::NotFound(_))));
    let left = desk.get(&h, "both").await.unwrap();
    assert_eq!(left.threads.iter().map(|it| it.thread_id.as_str()).collect::<Vec<_>>(), ["c"]);
    assert_eq!(h.count("select count(*) from threads where owner = 'ann'").await, 0);
    assert_eq!(h.count("select count(*) from snapshot_parts where owner = 'ann'").await, 0);
    assert_eq!(seen(&h, "c").await, then);
    h.storage.delete_thread(&h.caller, &deleting("c")).await.unwrap();
    desk.restore(&h.caller, &in_place("both")).await.unwrap();
    assert_eq!(seen(&h, "c").await, then);
    check_sound(&h).await;
}

pub async fn what_expires_goes_and_what_a_crash_left(h: Harness) {
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    let mut request = of("s", &["t"], History::All);
    request.expires_in_seconds = Some(60);
    desk.take(&h.caller, request).await.unwrap();
    desk.taken(&h, "stays", &["t"]).await;
    let now = Clock::System.now();
    h.storage.sweep(now).await.unwrap();
    assert!(desk.get(&h, "s").await.is_ok());
    h.storage.sweep(now + 61_000_000).await.unwrap();
    assert!(matches!(desk.get(&h, "s").await, Err(Error::NotFound(_))));
    assert_eq!(h.count("select count(*) from threads").await, 2);
    // As if a server had died between the copy and the flip.
    h.sql("insert into snapshot_leftovers select tenant, snapshot_no, 1 from snapshots").await;
    h.sql("delete from snapshots").await;
    h.sql("delete from snapshot_parts").await;
    h.storage.sweep(now).await.unwrap();
    assert_eq!(h.count("select count(*) from threads").await, 1);
    check_sound(&h).await;
}

pub async fn a_subject_reaches_its_own_snapshots(h: Harness) {
    let (desk, ann, bob) =
        (Desk::on(&h).await, granted_callers::subject("ann"), granted_callers::subject("bob"));
    let own = |name: &str, caller: threadkeep::domain::caller::Caller| {
        let scoped = threadkeep::domain::tokens::grants::Scoped::of_subject(name);
        threadkeep::domain::caller::Caller {
            grants: threadkeep::domain::caller::Grants::Scoped(std::sync::Arc::new(scoped)),
            ..caller
        }
    };
    let (ann, bob) = (own("ann", ann), own("bob", bob));
    let threads = granted_callers::Desk::on(&h.storage).await;
    threads.put(&ann, "of ann", "1").await.unwrap();
    threads.put(&bob, "of bob", "1").await.unwrap();
    let taken = desk.take(&ann, of("s", &["of ann"], History::All)).await.unwrap();
    assert_eq!(taken.snapshot.owner.as_deref(), Some("ann"));
    for who in [&bob, &with("nobody", vec![])] {
        let listed =
            desk.snapshots.list(who, ListSnapshots { limit: 9, ..ListSnapshots::default() });
        assert!(listed.await.map_or(true, |it| it.snapshots.is_empty()));
        assert!(desk.snapshots.get(who, &snapshot_id("s")).await.is_err());
        let gone = desk.snapshots.delete(who, &snapshot_id("s"), crate::harness::NEVER).await;
        assert!(!gone.unwrap_or(false));
    }
    // Another's thread is absent; another's snapshot has the id already.
    let absent = desk.take(&ann, of("x", &["of bob"], History::All)).await;
    assert!(matches!(absent, Err(Error::NotFound(THREAD))), "{absent:?}");
    let refused = desk.take(&bob, of("s", &["of bob"], History::All)).await;
    assert!(matches!(refused, Err(Error::SnapshotIdTaken)), "{refused:?}");
    assert!(desk.snapshots.delete(&ann, &snapshot_id("s"), crate::harness::NEVER).await.unwrap());
    check_sound(&h).await;
}

fn deleting(thread: &str) -> DeleteThread {
    DeleteThread { thread_id: thread_id(thread), generation: None, fence: None }
}
