//! Tests retention of a thread by one call: parts, deletion, ages, leases.

use rand::Rng as _;
use threadkeep::domain::Conflict;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::names::ThreadId;
use threadkeep::domain::threads::retention::{PruneRequest, Pruned, Removed, Rule};
use threadkeep::domain::threads::storage::CopyThread;

use crate::commands::{Put, Writes};
use crate::conditions::{expire_leases, lease};
use crate::delta::{chain, counting, id};
use crate::harness::{Harness, caller_of, commit, conflict, pruning, thread_id, values};

const KEEP_TWO: Rule = Rule::keep(2, None);

async fn prune(h: &Harness, threads: &[&str], rule: Rule) -> Vec<Pruned> {
    h.storage.prune_threads(&h.caller, &pruning(threads, rule)).await.unwrap()
}

async fn would(h: &Harness, threads: &[&str], rule: Rule) -> Vec<Pruned> {
    let request = PruneRequest { dry_run: true, ..pruning(threads, rule) };
    h.storage.prune_threads(&h.caller, &request).await.unwrap()
}

pub async fn the_last_of_each_namespace_stay(h: Harness) {
    chain(&h, "t", 5, &[2]).await;
    for at in 1..=3 {
        h.put(Put::new(&at.to_string()).ns("memory").sets("a", "1", "x")).await;
    }
    let pruned = prune(&h, &["t", "unknown"], KEEP_TWO).await;
    assert_eq!((pruned[0].removed.checkpoints, pruned[1]), (4, Pruned::default()));
    let left: Vec<String> = h.all("t").await.into_iter().map(|it| it.ns + &it.id).collect();
    assert_eq!(left, ["memory3", "memory2", "0005", "0004"]);
    assert_eq!(h.get("0004").await.parent, None);
    assert_eq!(h.get("0005").await.parent.as_deref(), Some("0004"));
    assert_eq!(prune(&h, &["t"], KEEP_TWO).await, [Pruned::default()]);
}

pub async fn an_age_is_that_of_the_first_storing(h: Harness) {
    let put = |at: &str| Put::new(at).sets("a", at, at);
    h.put(put("1")).await;
    h.put(put("2").parent("1")).await;
    h.sql("update checkpoints set created_at = 1000").await;
    h.put(put("3").parent("2")).await;
    h.put(put("1")).await;
    let now = Clock::System.now();
    let since = |since: Micros| Rule::keep(1, Some(since));
    assert_eq!(would(&h, &["t"], since(999)).await[0].removed.checkpoints, 0);
    assert_eq!(would(&h, &["t"], since(1_000)).await[0].removed.checkpoints, 0, "not older");
    assert_eq!(would(&h, &["t"], since(1_001)).await[0].removed.checkpoints, 2);
    assert_eq!(would(&h, &["t"], since(now + 60_000_000)).await[0].removed.checkpoints, 2);
    assert_eq!(would(&h, &["t"], Rule::keep(2, Some(1_001))).await[0].removed.checkpoints, 1);
    // What stays keeps its age, also when an engine moves it.
    prune(&h, &["t"], Rule::keep(2, Some(1_001))).await;
    assert_eq!(h.count("select min(created_at) from checkpoints").await, 1_000);
    h.put(put("4").parent("3")).await;
    h.sql("update checkpoints set created_at = 1000").await;
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    assert_eq!(h.count("select sum(cast(created_at as integer)) from checkpoints").await, 1_000);
    let target = thread_id("copy");
    let request = CopyThread { source: thread_id("t"), target, idempotency: None, full: None };
    h.storage.copy_thread(&h.caller, &request).await.unwrap();
    assert_eq!(would(&h, &["copy"], since(1_001)).await[0].removed.checkpoints, 0, "a new copy");
}

pub async fn a_deletion_reports_everything(h: Harness) {
    chain(&h, "t", 4, &[2]).await;
    chain(&h, "u", 4, &[2]).await;
    let large: String = (0..3_000).map(|it| it.to_string()).collect();
    for thread in ["t", "u"] {
        let ops = vec![
            Put::new("1").ns("memory").sets("a", "1", &large).op(),
            Writes::new("9", "t").write(0, "a", &large).op(),
        ];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    let size = |thread: ThreadId| {
        let (storage, caller) = (h.storage.clone(), h.caller.clone());
        async move { storage.get_thread(&caller, &thread).await.unwrap().unwrap().size_bytes }
    };
    let size_bytes = size(thread_id("t")).await;
    let expected = would(&h, &["t"], Rule::DELETE).await;
    assert_eq!(h.all("t").await.len(), 5);
    let done = prune(&h, &["t", "unknown"], Rule::DELETE).await;
    assert_eq!((done[0], done[1]), (expected[0], Pruned::default()));
    let Removed { checkpoints, writes, values, size_bytes: sized, stored_bytes } = done[0].removed;
    assert_eq!((checkpoints, writes, sized, done[0].deleted), (5, 5, size_bytes, true));
    assert_eq!(values, h.count("select count(*) from manifests").await, "u has as many");
    let left = "select cast((select sum(length(documents)) from checkpoints)
        + (select sum(length(body) + coalesce(length(parts), 0)) from writes)
        + (select sum(length(body) + coalesce(length(parts), 0)) from manifests)
        + (select coalesce(sum(length(body)), 0) from chunks) as bigint)";
    let left = h.count(left).await;
    assert!((left - stored_bytes).abs() <= 16, "{left} and {stored_bytes}: nonces differ");
    assert_eq!(h.all("u").await.len(), 5);
}

pub async fn a_waiting_thread_is_not_deleted(h: Harness) {
    for thread in ["waiting", "went on"] {
        let ops = vec![
            Put::new("1").op(),
            Writes::new("1", "t").write(-3, "__interrupt__", "approve?").op(),
        ];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    h.commit(commit("went on", vec![Put::new("2").parent("1").op()])).await.unwrap();
    let rule = Rule { keep_interrupted: true, ..Rule::DELETE };
    let threads = ["waiting", "went on"];
    assert_eq!(would(&h, &threads, rule).await, prune(&h, &threads, rule).await);
    assert!(h.latest("waiting").await.is_some() && h.latest("went on").await.is_none());
    assert!(prune(&h, &["waiting"], Rule::DELETE).await[0].deleted);
}

pub async fn a_subgraph_that_waits_stays_with_its_callers(h: Harness) {
    let called = |ns: &str, parents: &str| {
        Put::new("1").ns(ns).metadata(&format!(r#"{{"parents":{parents}}}"#)).op()
    };
    let ops = vec![
        Put::new("1").op(),
        Put::new("2").parent("1").op(),
        Put::new("3").parent("2").op(),
        called("a:1", r#"{"":"1"}"#),
        called("a:2", r#"{"":"2"}"#),
        called("a:2|b:1", r#"{"":"2","a:2":"1"}"#),
        Put::new("2").ns("a:2").parent("1").metadata(r#"{"parents":{"":"2"}}"#).op(),
        Writes::new("1", "t").ns("a:2|b:1").write(-3, "__interrupt__", "approve?").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    let rule = Rule { keep_interrupted: true, ..Rule::KEEP_LATEST };
    prune(&h, &["t"], rule).await;
    let mut left: Vec<String> = h.all("t").await.into_iter().map(|it| it.ns + &it.id).collect();
    left.sort();
    assert_eq!(left, ["2", "3", "a:21", "a:22", "a:2|b:11"]);
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    assert_eq!(h.all("t").await.len(), 1);
}

pub async fn a_held_lease_refuses_a_dry_run_as_it_does_a_prune(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    lease(&h, "me").await;
    for dry_run in [true, false] {
        for rule in [KEEP_TWO, Rule::DELETE] {
            let request = PruneRequest { dry_run, ..pruning(&["t"], rule) };
            let refused = h.storage.prune_threads(&h.caller, &request).await;
            assert_eq!(conflict(refused), Conflict::LeaseHeld);
        }
    }
    expire_leases(&h).await;
    assert_eq!(prune(&h, &["t"], KEEP_TWO).await[0].removed.checkpoints, 1);
}

pub async fn another_tenant_prunes_nothing(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    let request = pruning(&["t"], Rule::DELETE);
    let pruned = h.storage.prune_threads(&caller_of("tenant-b"), &request).await.unwrap();
    assert_eq!((pruned, h.all("t").await.len()), (vec![Pruned::default()], 3));
}

/// More goes than one transaction may remove, and more stays than one may move.
pub async fn a_long_thread_goes_in_parts(h: Harness) {
    const LENGTH: usize = 3_000;
    let random = |length: usize| -> String {
        let mut bytes = vec![0_u8; length];
        rand::rng().fill_bytes(&mut bytes);
        bytes.iter().map(|it| char::from(b'a' + it % 26)).collect()
    };
    let (mut ops, mut large) = (Vec::new(), Vec::new());
    for at in 1..=LENGTH {
        let metadata = counting(&["m"]);
        let (counters, _) = metadata.rsplit_once('}').unwrap();
        let mut put = Put::new(&id(at))
            .metadata(&format!("{counters},\"noise\":\"{}\"}}", random(6_000)))
            .empties("m", &at.to_string())
            .sets("a", &at.to_string(), &format!("a{at}"));
        if at > 1 {
            put = put.parent(&id(at - 1));
        }
        ops.push(put.op());
        ops.push(Writes::new(&id(at), "task").write(0, "m", &format!("w{at}")).op());
        if ops.len() >= 200 {
            large.push(std::mem::take(&mut ops));
        }
    }
    for ops in large {
        h.commit(commit("t", ops)).await.unwrap();
    }
    let history = |view: &threadkeep::domain::checkpoints::storage::CheckpointTuple| {
        crate::delta::replay_view(view.view.as_ref().unwrap(), &view.chain, "m")
    };
    let head = h.found("t", "", None, &["m"]).await;
    let tail = h.found("t", "", Some(&id(LENGTH - 599)), &["m"]).await;
    let rule = Rule::keep(600, None);
    let expected = would(&h, &["t"], rule).await;
    assert_eq!(expected[0].removed.checkpoints, 2_400);
    let epoch = h.count("select epoch from scopes").await;
    let pruned = prune(&h, &["t"], rule).await;
    assert_eq!(pruned, expected, "parts sum up to the whole");
    let parts = h.count("select epoch from scopes").await - epoch;
    // SQLite raises it for each slice of the garbage too.
    let whole = if h.is_sqlite() { 10 } else { 1 };
    assert!(parts > whole, "each part raises the epoch, here {parts}");
    assert_eq!(h.count("select count(*) from checkpoints").await, 600);
    assert_eq!(h.count("select count(*) from manifests").await, 600);
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    h.check_counts("t").await;
    assert_eq!(history(&h.found("t", "", None, &["m"]).await), history(&head));
    let new_tail = h.found("t", "", Some(&id(LENGTH - 599)), &["m"]).await;
    assert_eq!(history(&new_tail), history(&tail), "the first that stays has a base");
    assert_eq!(values(new_tail.view.as_ref().unwrap()), values(tail.view.as_ref().unwrap()));
}
