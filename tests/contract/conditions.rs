//! Tests the conditions of a commit: generation, then lease and fence, then epoch.

use threadkeep::domain::Conflict;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::{Lease, LeaseRequest};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, conflict, thread_id};

pub fn one(id: &str) -> Commit {
    commit("t", vec![Put::new(id).op()])
}

pub fn request(holder: &str, fence: Option<i64>) -> LeaseRequest {
    LeaseRequest {
        thread_id: thread_id("t"),
        holder: LeaseHolder::new(holder).unwrap(),
        fence,
        ttl_seconds: 60,
        full: None,
    }
}

pub async fn lease(h: &Harness, holder: &str) -> Lease {
    h.storage.acquire_lease(&h.caller, &request(holder, None)).await.unwrap()
}

/// Makes every lease of the database run out.
pub async fn expire_leases(h: &Harness) {
    h.sql("update threads set lease_expires_at = 1 where lease_expires_at is not null").await;
}

pub async fn a_stale_generation_writes_nothing(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    let with = |id: &str, generation: &str| {
        let mut commit = one(id);
        commit.ops.push(Writes::new(id, "t").write(0, "a", "x").op());
        commit.generation = Some(generation.to_owned());
        commit
    };
    let refused = conflict(h.commit(with("2", "another")).await);
    assert_eq!(refused, Conflict::ThreadRestored { current: generation.clone() });
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    assert_eq!(h.count("select count(*) from writes").await, 0);
    assert_eq!(h.commit(with("2", &generation)).await.unwrap(), generation);
    assert_eq!(h.commit(one("3")).await.unwrap(), generation, "it does not change with commits");
}

pub async fn a_held_lease_refuses_every_write_without_its_fence(h: Harness) {
    h.commit(one("1")).await.unwrap();
    let lease = lease(&h, "me").await;
    assert_eq!(conflict(h.commit(one("2")).await), Conflict::LeaseHeld);
    let writes = commit("t", vec![Writes::new("1", "t").write(0, "a", "x").op()]);
    assert_eq!(conflict(h.commit(writes).await), Conflict::LeaseHeld);
    let mut fenced = one("2");
    fenced.fence = Some(lease.fence);
    h.commit(fenced).await.unwrap();
    assert_eq!(h.latest("t").await.unwrap().id, "2");
}

pub async fn a_stale_fence_is_refused_even_when_nobody_holds_the_lease(h: Harness) {
    let lease = lease(&h, "me").await;
    expire_leases(&h).await;
    let with = |fence| {
        let mut commit = one("1");
        commit.fence = Some(fence);
        commit
    };
    let refused = conflict(h.commit(with(lease.fence + 1)).await);
    assert_eq!(refused, Conflict::FenceStale { current: lease.fence });
    h.commit(with(lease.fence)).await.unwrap();
    h.commit(one("2")).await.unwrap();
}

pub async fn a_fence_of_a_thread_that_never_was_is_stale(h: Harness) {
    let fenced = Commit { fence: Some(7), ..one("1") };
    assert_eq!(conflict(h.commit(fenced).await), Conflict::FenceStale { current: 0 });
    h.commit(Commit { fence: Some(0), ..one("1") }).await.unwrap();
}

pub async fn a_stale_epoch_is_told_with_the_current_one(h: Harness) {
    h.commit(one("1")).await.unwrap();
    let current = h.count("select epoch from scopes").await;
    let mut prepared = h.prepare(one("2")).await;
    prepared.condition.epoch = Some(current + 5);
    let (batch, _) = fold(&[&prepared], 1);
    let outcomes = h.storage.write_batch(&batch).await.unwrap();
    assert_eq!(outcomes, [Outcome::EpochStale { current }]);
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    prepared.condition.epoch = Some(current);
    let (batch, _) = fold(&[&prepared], 1);
    let outcomes = h.storage.write_batch(&batch).await.unwrap();
    assert!(matches!(outcomes[..], [Outcome::Done { .. }]));
}

pub async fn generation_comes_before_lease_and_lease_before_epoch(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    lease(&h, "me").await;
    let outcome = async |generation: &str, fence, epoch| {
        let mut prepared = h.prepare(one("2")).await;
        prepared.condition.generation = Some(generation.to_owned());
        prepared.condition.fence = fence;
        prepared.condition.epoch = Some(epoch);
        let (batch, _) = fold(&[&prepared], 1);
        h.storage.write_batch(&batch).await.unwrap().remove(0)
    };
    let restored = Outcome::ThreadRestored { current: generation.clone() };
    assert_eq!(outcome("other", Some(99), 99).await, restored);
    assert_eq!(outcome(&generation, None, 99).await, Outcome::LeaseHeld);
    assert_eq!(outcome(&generation, Some(99), 99).await, Outcome::FenceStale { current: 1 });
    assert!(matches!(outcome(&generation, Some(1), 99).await, Outcome::EpochStale { .. }));
}

pub async fn a_new_thread_accepts_any_generation(h: Harness) {
    let mut first = one("1");
    first.generation = Some("from another life".into());
    let generation = h.commit(first).await.unwrap();
    assert_ne!(generation, "from another life");
    assert_eq!(h.found("t", "", None, &[]).await.generation, Some(generation));
}

pub async fn generation_and_fence_survive_deletion(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    let held = lease(&h, "me").await;
    let request = DeleteThread {
        thread_id: thread_id("t"),
        generation: Some(generation.clone()),
        fence: Some(held.fence),
    };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
    let mut stale = one("2");
    stale.generation = Some("another".into());
    let refused = conflict(h.commit(stale).await);
    assert_eq!(refused, Conflict::ThreadRestored { current: generation.clone() });
    let mut fenced = one("2");
    fenced.fence = Some(held.fence + 1);
    assert_eq!(conflict(h.commit(fenced).await), Conflict::FenceStale { current: held.fence });
    assert!(h.found("t", "", None, &[]).await.generation.is_none(), "refusals make no thread");
    assert_eq!(h.commit(one("2")).await.unwrap(), generation);
    assert_eq!(lease(&h, "me").await.fence, held.fence + 1);
}
