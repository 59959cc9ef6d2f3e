//! Tests that a poisonous command fails alone: healthy ones that wait beside it succeed, in their order.

use threadkeep::domain::batch_error::BatchError;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::group_commit::Ended;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::prepared::{Prepared, PreparedOp};
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::names::ThreadId;
use threadkeep::domain::{Conflict, Error};

use crate::commands::{Put, Writes};
use crate::conditions::{lease, one};
use crate::harness::{Harness, NEVER, caller_of, commit, target, thread_id, values, writes};

pub async fn each_poisonous_command_fails_alone(h: Harness) {
    let generation = h.commit(one("0")).await.unwrap();
    stale_conditions(&h, &generation).await;
    refused_before_the_queue(&h).await;
    same_key_twice(&h).await;
    parent_in_the_same_batch(&h).await;
    a_statement_that_fails(&h).await;
}

/// Two commits of one thread of another tenant.
async fn healthy(h: &Harness, round: &str) -> [Prepared; 2] {
    let tenant = caller_of("healthy");
    let first = commit(round, vec![Put::new("1").sets("a", "1", "first").op()]);
    let second = commit(round, vec![Put::new("2").parent("1").carries("a", "1").op()]);
    [
        h.storage.prepare(&tenant, first, NEVER).await.unwrap(),
        h.storage.prepare(&tenant, second, NEVER).await.unwrap(),
    ]
}

async fn check_healthy(h: &Harness, round: &str) {
    let tenant = caller_of("healthy");
    let found = h.storage.get_checkpoint(&tenant, &target(round, "", None), &[]).await.unwrap();
    let view = found.view.unwrap();
    assert_eq!((view.id.as_str(), values(&view)["a"].as_str()), ("2", "first"), "{round}");
}

async fn stale_conditions(h: &Harness, generation: &str) {
    let mut stale = h.prepare(one("1")).await;
    stale.condition.generation = Some("another".into());
    let mut epoch = h.prepare(one("2")).await;
    epoch.condition.epoch = Some(1_000_000);
    let mut fence = h.prepare(one("3")).await;
    fence.condition.fence = Some(99);
    lease(h, "me").await;
    let leased = h.prepare(one("4")).await;
    let [a, b] = healthy(h, "conditions").await;
    // The lease is held: the epoch is asked for with its fence.
    epoch.condition.fence = Some(1);
    let (stale, epoch, fence, leased, a, b) = tokio::join!(
        h.queue.commit(stale),
        h.queue.commit(epoch),
        h.queue.commit(fence),
        h.queue.commit(leased),
        h.queue.commit(a),
        h.queue.commit(b)
    );
    let current = generation.to_owned();
    assert!(
        matches!(stale, Err(Error::Conflict(Conflict::ThreadRestored { current: it })) if it == current)
    );
    assert!(matches!(epoch, Ok(Ended::EpochStale)), "{epoch:?}");
    assert!(
        matches!(fence, Err(Error::Conflict(Conflict::FenceStale { current: 1 }))),
        "{fence:?}"
    );
    assert!(matches!(leased, Err(Error::Conflict(Conflict::LeaseHeld))), "{leased:?}");
    a.and(b).unwrap();
    check_healthy(h, "conditions").await;
    assert_eq!(h.latest("t").await.unwrap().id, "0");
    crate::conditions::expire_leases(h).await;
}

/// Too long a key and odd bytes never get to the queue.
async fn refused_before_the_queue(h: &Harness) {
    assert!(ThreadId::new("x".repeat(513)).is_err());
    assert!(ThreadId::new("a\0b").is_err());
    let odd = |skeleton: &str| commit("t", vec![Put::new("1").skeleton(skeleton).op()]);
    for skeleton in ["", "[]", "{", "{\"channel_versions\":{\"a\":[]}}", "{\"channel_versions\":3}"]
    {
        let refused = h.storage.prepare(&h.caller, odd(skeleton), NEVER).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{skeleton}");
    }
    // The longest keys that are legal together fit every index.
    let long = |length: usize| "ü".repeat(length / 2);
    let put = Put::new(&long(256)).ns(&long(512)).sets(&long(512), "1", "v");
    let group = Writes::new(&long(256), &long(256)).ns(&long(512)).path(&long(1_024));
    let longest = commit(&long(512), vec![put.op(), group.write(0, &long(512), "w").op()]);
    let [a, b] = healthy(h, "long").await;
    let (longest, a, b) = tokio::join!(h.commit(longest), h.queue.commit(a), h.queue.commit(b));
    longest.unwrap();
    a.and(b).unwrap();
    check_healthy(h, "long").await;
    let view = h.found(&long(512), &long(512), None, &[]).await.view.unwrap();
    assert_eq!((view.values.len(), view.writes.len()), (1, 1));
}

async fn same_key_twice(h: &Harness) {
    let group =
        |data: &str| Writes::new("k", "t").write(0, "a", data).write(-1, "__error__", data).op();
    let put = |data: &str| Put::new("k").sets("a", "1", data).op();
    let ops = vec![put("one"), group("one"), put("two"), group("two")];
    let [a, b] = healthy(h, "twice").await;
    let (twice, again, a, b) = tokio::join!(
        h.commit(commit("keys", ops)),
        h.commit(commit("keys", vec![put("three"), group("three")])),
        h.queue.commit(a),
        h.queue.commit(b)
    );
    twice.and(again).unwrap();
    a.and(b).unwrap();
    check_healthy(h, "twice").await;
    let view = h.latest("keys").await.unwrap();
    assert_eq!(values(&view)["a"], "three");
    assert_eq!(writes(&view), ["t:__error__=three", "t:a=one"]);
}

async fn parent_in_the_same_batch(h: &Harness) {
    let commits: Vec<Commit> = (1..=5)
        .map(|at| {
            let put = Put::new(&at.to_string());
            let put = if at == 1 {
                put.sets("a", "1", "x").sets("b", "1", "y")
            } else {
                let version = at.to_string();
                put.parent(&(at - 1).to_string()).carries("a", "1").sets("b", &version, &version)
            };
            commit("chain", vec![put.op()])
        })
        .collect();
    let mut prepared = Vec::new();
    for commit in commits {
        prepared.push(h.prepare(commit).await);
    }
    let [a, b] = healthy(h, "parents").await;
    let waiting: Vec<&Prepared> = prepared.iter().chain([&a, &b]).collect();
    let (batch, taken) = fold(&waiting, 1);
    assert_eq!((taken.len(), batch.threads.len()), (7, 2), "all in one batch");
    let outcomes = h.storage.write_batch(&batch).await.unwrap();
    assert!(outcomes.iter().all(|it| matches!(it, Outcome::Done { .. })), "{outcomes:?}");
    check_healthy(h, "parents").await;
    for at in 2..=5 {
        let view = h.found("chain", "", Some(&at.to_string()), &[]).await.view.unwrap();
        assert_eq!(values(&view), [("a", "x".into()), ("b", at.to_string())].into());
    }
}

/// A row that the database itself refuses, past every check: what a defect would make.
async fn a_statement_that_fails(h: &Harness) {
    let mut poison =
        h.prepare(commit("poison", vec![Put::new("1").sets("a", "1", "x").op()])).await;
    let statement =
        "create unique index poison on checkpoints (size_bytes) where size_bytes = 7654321";
    h.sql(statement).await;
    let twice = poison.ops.clone();
    poison.ops.extend(twice);
    for (at, op) in poison.ops.iter_mut().enumerate() {
        let PreparedOp::Checkpoint(put) = op else {
            continue;
        };
        put.size_bytes = 7_654_321;
        put.id = threadkeep::domain::names::CheckpointId::new(format!("{at}")).unwrap();
    }
    let [a, b] = healthy(h, "statement").await;
    let (batch, _) = fold(&[&poison, &a], 1);
    let failed = h.storage.write_batch(&batch).await.unwrap_err();
    assert!(matches!(failed, BatchError::Statement(_)), "{failed:?}");
    let found = h.found("poison", "", None, &[]).await;
    assert!(found.generation.is_none(), "a batch that fails leaves nothing");
    let (poison, a, b) = tokio::join!(h.queue.commit(poison), h.queue.commit(a), h.queue.commit(b));
    assert!(matches!(poison, Err(Error::Internal(_))), "{poison:?}");
    a.and(b).unwrap();
    check_healthy(h, "statement").await;
    assert!(h.storage.get_thread(&h.caller, &thread_id("poison")).await.unwrap().is_none());
}
