//! Tests forks of threads at a checkpoint, branches, and leases that are broken.

use threadkeep::domain::names::{CheckpointId, CheckpointNs};
use threadkeep::domain::snapshots::storage::ForkThread;
use threadkeep::domain::tenants::audit::{ActKind, EventQuery};
use threadkeep::domain::{Conflict, Error};

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::delta::{chain, id, replay};
use crate::granted_callers::{self, assert_not_granted};
use crate::harness::{Harness, NEVER, commit, conflict, target, thread_id, values};
use crate::snapshot_calls::{Desk, check_sound, seen};

pub fn forking(source: &str, into: &str, checkpoint: &str) -> ForkThread {
    ForkThread {
        source: thread_id(source),
        target: thread_id(into),
        ns: CheckpointNs::new("").unwrap(),
        checkpoint_id: CheckpointId::new(checkpoint).unwrap(),
        idempotency: None,
    }
}

pub async fn a_fork_is_the_thread_up_to_a_checkpoint(h: Harness) {
    let desk = Desk::on(&h).await;
    chain(&h, "t", 6, &[2]).await;
    // A branch, and a subgraph before and behind the fork.
    let ops = vec![
        Put::new("0004-b").parent(&id(3)).sets("a", "1", "branch").op(),
        Put::new("0003-s").ns("n:1").sets("a", "1", "before").op(),
        Put::new("0005-s").ns("n:2").sets("a", "1", "behind").op(),
        Writes::new("0005-s", "t").write(0, "a", "behind").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    let whole = seen(&h, "t").await;
    let done = desk.snapshots.fork(&h.caller, &forking("t", "f", &id(4)), NEVER).await.unwrap();
    let ids: Vec<String> = h.all("f").await.into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["0004", "0003-s", "0003", "0002", "0001"]);
    assert_eq!(done.checkpoints, 5);
    let place = target("f", "", Some(&id(4)));
    let found = h.storage.get_history(&h.caller, &place, &["m".into()]).await.unwrap().unwrap();
    assert_eq!(replay(&found, "m"), "s2|w2,w3");
    assert_eq!(h.count("select count(*) from writes where checkpoint_id = '0005-s'").await, 1);
    h.commit(commit("f", vec![Put::new("0009").parent(&id(4)).sets("a", "1", "own").op()]))
        .await
        .unwrap();
    assert_eq!(values(&h.latest("f").await.unwrap())["a"], "own");
    assert_eq!(seen(&h, "t").await, whole);
    let again = desk.snapshots.fork(&h.caller, &forking("t", "f", &id(4)), NEVER).await;
    assert_eq!(conflict(again), Conflict::ThreadExists);
    for (source, checkpoint) in [("never was", "0004"), ("t", "none")] {
        let absent = desk.snapshots.fork(&h.caller, &forking(source, "g", checkpoint), NEVER).await;
        assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
    }
    assert!(seen(&h, "g").await.is_none());
    check_sound(&h).await;
    // Values behind the fork go with their thread, and the size of the fork does not count them.
    granted_callers::Desk::on(&h.storage).await.delete(&h.caller, "t").await.unwrap();
    check_sound(&h).await;
}

pub async fn a_repeated_fork_happens_once(h: Harness) {
    let desk = Desk::on(&h).await;
    chain(&h, "t", 3, &[]).await;
    let keyed = |into: &str, digest: u8| ForkThread {
        idempotency: Some(("key".into(), [digest; 32])),
        ..forking("t", into, &id(2))
    };
    let fork = async |request: ForkThread| desk.snapshots.fork(&h.caller, &request, NEVER).await;
    let first = fork(keyed("f", 1)).await.unwrap();
    h.commit(commit("f", vec![Put::new("0009").sets("a", "1", "own").op()])).await.unwrap();
    let later = seen(&h, "f").await;
    assert_eq!(fork(keyed("f", 1)).await.unwrap(), first);
    assert_eq!(seen(&h, "f").await, later, "the second time did nothing");
    let other = fork(keyed("g", 2)).await.unwrap_err();
    assert!(matches!(other, Error::IdempotencyMismatch), "{other}");
    assert!(seen(&h, "g").await.is_none());
    check_sound(&h).await;
}

pub async fn a_broken_lease_is_lost_to_its_holder(h: Harness) {
    let desk = Desk::on(&h).await;
    h.put(Put::new("1")).await;
    let held = lease(&h, "holder").await;
    let t = thread_id("t");
    assert_not_granted(
        desk.snapshots.break_lease(&granted_callers::subject("ann"), &t, NEVER).await,
    );
    assert!(desk.snapshots.break_lease(&h.caller, &t, NEVER).await.unwrap());
    assert!(!desk.snapshots.break_lease(&h.caller, &t, NEVER).await.unwrap());
    assert!(!desk.snapshots.break_lease(&h.caller, &thread_id("never was"), NEVER).await.unwrap());
    let mut late = commit("t", vec![Put::new("2").op()]);
    late.fence = Some(held.fence);
    let refused = conflict(h.commit(late.clone()).await);
    assert_eq!(refused, Conflict::FenceStale { current: held.fence + 1 });
    late.fence = None;
    h.commit(late).await.unwrap();
    assert!(lease(&h, "another").await.fence > held.fence + 1);
    let act = EventQuery { act: Some(ActKind::LeaseBroken), limit: 9, ..EventQuery::default() };
    let events = h.storage.list_events("tenant-a", &act).await.unwrap();
    assert_eq!(events.iter().map(|it| it.object.as_str()).collect::<Vec<_>>(), ["t"]);
}

pub async fn branches_are_counted(h: Harness) {
    let desk = Desk::on(&h).await;
    let t = thread_id("t");
    let forks = || desk.snapshots.count_forks(&h.caller, &t);
    assert_eq!(forks().await.unwrap(), 0);
    for (id, parent) in [("2", "1"), ("3", "2"), ("4", "3")] {
        h.put(Put::new(id).parent(parent)).await;
    }
    assert_eq!(forks().await.unwrap(), 0);
    h.put(Put::new("3b").parent("2")).await;
    h.put(Put::new("3c").parent("2")).await;
    h.put(Put::new("4b").parent("3")).await;
    assert_eq!(forks().await.unwrap(), 2);
    assert_eq!(desk.snapshots.count_forks(&granted_callers::subject("ann"), &t).await.unwrap(), 0);
}
