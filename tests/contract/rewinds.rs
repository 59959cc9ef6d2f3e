//! Tests rewinds of threads to a checkpoint, and the safety snapshots that undo them.

use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::names::{CheckpointId, CheckpointNs};
use threadkeep::domain::snapshots::rewind::{RewindThread, Rewound};
use threadkeep::domain::snapshots::storage::ForkThread;
use threadkeep::domain::tenants::audit::{ActKind, EventQuery};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error};

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::delta::{chain, id, replay};
use crate::granted_callers::{self, assert_not_granted};
use crate::harness::{Harness, NEVER, commit, conflict, target, thread_id, values};
use crate::snapshot_calls::{Desk, check_sound, in_place, into, seen};

pub fn to(checkpoint: &str) -> RewindThread {
    RewindThread {
        thread_id: thread_id("t"),
        ns: CheckpointNs::new("").unwrap(),
        checkpoint_id: CheckpointId::new(checkpoint).unwrap(),
        dry_run: false,
        safety: true,
        fence: None,
        idempotency: None,
    }
}

async fn rewound(h: &Harness, request: &RewindThread) -> threadkeep::domain::Result<Rewound> {
    Desk::on(h).await.snapshots.rewind(&h.caller, request, NEVER).await
}

/// Six checkpoints with delta channels, a branch, and a subgraph before and behind the fourth.
async fn grown(h: &Harness) {
    chain(h, "t", 6, &[2]).await;
    let ops = vec![
        Put::new("0004-b").parent(&id(3)).sets("a", "1", "branch").op(),
        Put::new("0003-s").ns("n:1").sets("a", "1", "before").op(),
        Put::new("0005-s").ns("n:2").sets("a", "1", "behind").op(),
        Writes::new("0005-s", "t").write(0, "a", "behind").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
}

pub async fn a_rewound_thread_is_what_a_fork_would_be(h: Harness) {
    let desk = Desk::on(&h).await;
    grown(&h).await;
    let whole = seen(&h, "t").await;
    let generation =
        h.commit(commit("t", vec![Writes::new("0004", "late").write(0, "m", "late").op()])).await;
    let generation = generation.unwrap();
    let whole_with_write = seen(&h, "t").await;
    assert_ne!(whole, whole_with_write);
    let fork = ForkThread {
        source: thread_id("t"),
        target: thread_id("f"),
        ns: CheckpointNs::new("").unwrap(),
        checkpoint_id: CheckpointId::new(id(4)).unwrap(),
        idempotency: None,
    };
    desk.snapshots.fork(&h.caller, &fork, NEVER).await.unwrap();
    let writes = h.count("select count(*) from writes w join threads t on t.tenant = w.tenant and t.thread_key = w.thread_key where t.thread_id = 't'").await;

    let dry = rewound(&h, &RewindThread { dry_run: true, ..to(&id(4)) }).await.unwrap();
    assert_eq!(seen(&h, "t").await, whole_with_write, "a dry run changes nothing");
    assert_eq!((dry.checkpoints, dry.checkpoints_removed, dry.safety_snapshot_id), (5, 4, None));
    assert_eq!(dry.generation, generation);

    let done = rewound(&h, &to(&id(4))).await.unwrap();
    assert_eq!((done.checkpoints, done.checkpoints_removed), (5, 4));
    assert_eq!(done.writes_removed, dry.writes_removed, "a dry run counts what goes");
    let left = h.count("select count(*) from writes w join threads t on t.tenant = w.tenant and t.thread_key = w.thread_key where t.thread_id = 't'").await;
    assert_eq!(done.writes_removed, writes - left);
    assert!(done.writes_removed > 0, "the write of the subgraph behind it went");
    assert_eq!(seen(&h, "t").await, seen(&h, "f").await);
    let place = target("t", "", Some(&id(4)));
    let found = h.storage.get_history(&h.caller, &place, &["m".into()]).await.unwrap().unwrap();
    assert_eq!(replay(&found, "m"), "s2|w2,w3");

    // Whoever still holds the state before is refused; who reads again goes on.
    assert_ne!(done.generation, generation);
    let old = Commit { generation: Some(generation), ..commit("t", vec![Put::new("0009").op()]) };
    let current = done.generation.clone();
    assert_eq!(conflict(h.commit(old).await), Conflict::ThreadRestored { current });
    h.commit(commit("t", vec![Put::new("0009").parent(&id(4)).sets("a", "1", "own").op()]))
        .await
        .unwrap();
    assert_eq!(values(&h.latest("t").await.unwrap())["a"], "own");

    let safety = done.safety_snapshot_id.unwrap();
    desk.restore(&h.caller, &in_place(&safety)).await.unwrap();
    assert_eq!(seen(&h, "t").await, whole_with_write, "the restore undoes the rewind");
    let acts = EventQuery { act: Some(ActKind::ThreadRewound), limit: 9, ..EventQuery::default() };
    let events = h.storage.list_events("tenant-a", &acts).await.unwrap();
    assert_eq!(events.iter().map(|it| it.object.as_str()).collect::<Vec<_>>(), ["t"]);
    check_sound(&h).await;
}

pub async fn a_rewind_without_safety_leaves_no_snapshot(h: Harness) {
    grown(&h).await;
    let before = h.count("select count(*) from threads").await;
    let done = rewound(&h, &RewindThread { safety: false, ..to(&id(2)) }).await.unwrap();
    assert_eq!((done.checkpoints, done.safety_snapshot_id), (2, None));
    assert_eq!(h.count("select count(*) from snapshots").await, 0);
    assert_eq!(h.count("select count(*) from threads").await, before);
    assert_eq!(h.count("select count(*) from snapshot_leftovers").await, 0);
    for absent in [to("none"), RewindThread { thread_id: thread_id("never was"), ..to("1") }] {
        for dry_run in [true, false] {
            let refused = rewound(&h, &RewindThread { dry_run, ..absent.clone() }).await;
            assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
        }
    }
    assert_eq!(h.count("select count(*) from threads").await, before);
    check_sound(&h).await;
}

pub async fn a_repeated_rewind_happens_once(h: Harness) {
    grown(&h).await;
    let keyed = |checkpoint: &str, digest: u8| RewindThread {
        idempotency: Some(("key".into(), [digest; 32])),
        ..to(checkpoint)
    };
    let first = rewound(&h, &keyed(&id(3), 1)).await.unwrap();
    h.commit(commit("t", vec![Put::new("0009").sets("a", "1", "own").op()])).await.unwrap();
    let later = seen(&h, "t").await;
    assert_eq!(rewound(&h, &keyed(&id(3), 1)).await.unwrap(), first);
    assert_eq!(seen(&h, "t").await, later, "the second time did nothing");
    let other = rewound(&h, &keyed(&id(2), 2)).await.unwrap_err();
    assert!(matches!(other, Error::IdempotencyMismatch), "{other}");
    assert_eq!(seen(&h, "t").await, later);
    check_sound(&h).await;
}

pub async fn a_held_lease_refuses_a_rewind_without_its_fence(h: Harness) {
    grown(&h).await;
    let held = lease(&h, "me").await;
    for dry_run in [true, false] {
        let request = RewindThread { dry_run, ..to(&id(4)) };
        assert_eq!(conflict(rewound(&h, &request).await), Conflict::LeaseHeld);
        let stale = RewindThread { fence: Some(held.fence + 1), ..request };
        let current = held.fence;
        assert_eq!(conflict(rewound(&h, &stale).await), Conflict::FenceStale { current });
    }
    rewound(&h, &RewindThread { fence: Some(held.fence), ..to(&id(4)) }).await.unwrap();
    assert_eq!(
        conflict(h.commit(commit("t", vec![Put::new("0009").op()])).await),
        Conflict::LeaseHeld
    );
    let mut fenced = commit("t", vec![Put::new("0009").op()]);
    fenced.fence = Some(held.fence);
    h.commit(fenced).await.expect("the holder goes on");
    check_sound(&h).await;
}

/// Writers go on through five rewinds. What was acknowledged is in the thread, or in a safety snapshot.
pub async fn a_rewind_beside_writers_loses_nothing(h: Harness) {
    let desk = Desk::on(&h).await;
    chain(&h, "t", 2, &[]).await;
    let writer = async {
        for at in 0..60 {
            let (checkpoint, task) = (format!("1{at:03}"), format!("task-{at}"));
            let ops = vec![
                Put::new(&checkpoint).parent(&id(2)).sets("a", "1", "x").op(),
                // To the checkpoint that stays: no rewind may take it away, whenever it comes.
                Writes::new(&id(2), &task).write(0, "b", "kept").op(),
            ];
            h.commit(commit("t", ops)).await.unwrap();
        }
    };
    let rewinds = async {
        let mut done = Vec::new();
        while done.len() < 5 {
            match rewound(&h, &to(&id(2))).await {
                Ok(it) => done.push(it),
                Err(Error::Unavailable { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        done
    };
    let ((), done) = tokio::join!(writer, rewinds);
    let mut stored: Vec<String> = h.all("t").await.into_iter().map(|it| it.id).collect();
    for (at, it) in done.iter().enumerate() {
        let copy = format!("s{at}");
        let safety = it.safety_snapshot_id.as_ref().unwrap();
        desk.restore(&h.caller, &into(safety, &[("t", &copy)])).await.unwrap();
        stored.extend(h.all(&copy).await.into_iter().map(|it| it.id));
    }
    for at in 0..60 {
        assert!(stored.contains(&format!("1{at:03}")), "1{at:03} is nowhere");
    }
    let kept = h.get(&id(2)).await.writes.iter().filter(|it| it.channel == "b").count();
    assert_eq!(kept, 60, "writes of the checkpoint that stays");
    check_sound(&h).await;
}

pub async fn a_rewind_needs_the_right_to_write_and_to_snapshot(h: Harness) {
    grown(&h).await;
    let desk = Desk::on(&h).await;
    let rewind = async |caller, safety| {
        desk.snapshots.rewind(&caller, &RewindThread { safety, ..to(&id(4)) }, NEVER).await
    };
    let foreign = rewind(granted_callers::subject("ann"), false).await;
    assert!(matches!(foreign, Err(Error::NotFound(_))), "{foreign:?}");
    let only = |actions| granted_callers::with("some", vec![granted_callers::exact("t", actions)]);
    assert_not_granted(rewind(only(Actions::READ), false).await);
    let blind = rewind(only(Actions::WRITE), false).await;
    assert!(matches!(blind, Err(Error::NotFound(_))), "{blind:?}");
    let writer = only(Actions::READ | Actions::WRITE);
    assert_not_granted(rewind(writer.clone(), true).await);
    assert_eq!(rewind(writer, false).await.unwrap().checkpoints_removed, 4);
}
