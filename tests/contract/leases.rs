//! Tests that leases are acquired, renewed and released.

use threadkeep::domain::Conflict;
use threadkeep::domain::names::LeaseHolder;

use crate::conditions::{expire_leases, lease, one, request};
use crate::harness::{Harness, conflict, thread_id};

pub async fn a_lease_is_taken_renewed_and_released(h: Harness) {
    let taken = lease(&h, "me").await;
    let other = h.storage.acquire_lease(&h.caller, &request("other", None)).await;
    assert_eq!(conflict(other), Conflict::LeaseHeld);
    let mut longer = request("me", Some(taken.fence));
    longer.ttl_seconds = 600;
    let renewed = h.storage.renew_lease(&h.caller, &longer).await.unwrap();
    assert_eq!(renewed.fence, taken.fence);
    assert!(renewed.expires_at > taken.expires_at + 500 * 1_000_000);
    let stale = h.storage.renew_lease(&h.caller, &request("me", Some(taken.fence + 1))).await;
    assert_eq!(conflict(stale), Conflict::FenceStale { current: taken.fence });
    let foreign = h.storage.renew_lease(&h.caller, &request("other", Some(taken.fence))).await;
    assert_eq!(conflict(foreign), Conflict::FenceStale { current: taken.fence });
    h.storage.release_lease(&h.caller, &request("other", Some(taken.fence))).await.unwrap();
    assert_eq!(
        conflict(h.commit(one("1")).await),
        Conflict::LeaseHeld,
        "not the other's to release"
    );
    h.storage.release_lease(&h.caller, &request("me", Some(taken.fence))).await.unwrap();
    h.storage.release_lease(&h.caller, &request("me", Some(taken.fence))).await.unwrap();
    h.commit(one("1")).await.unwrap();
    assert_eq!(lease(&h, "other").await.fence, taken.fence + 1);
}

pub async fn the_fence_grows_unless_the_same_holder_still_holds(h: Harness) {
    let first = lease(&h, "me").await;
    assert_eq!(lease(&h, "me").await.fence, first.fence);
    expire_leases(&h).await;
    assert_eq!(lease(&h, "me").await.fence, first.fence + 1);
    expire_leases(&h).await;
    assert_eq!(lease(&h, "other").await.fence, first.fence + 2);
}

pub async fn an_expired_lease_refuses_nobody(h: Harness) {
    let held = lease(&h, "me").await;
    expire_leases(&h).await;
    h.commit(one("1")).await.unwrap();
    let late = h.storage.renew_lease(&h.caller, &request("me", Some(held.fence))).await;
    assert_eq!(conflict(late), Conflict::FenceStale { current: held.fence });
}

pub async fn a_lease_makes_its_thread(h: Harness) {
    let unknown = h.storage.renew_lease(&h.caller, &request("me", Some(1))).await;
    assert_eq!(conflict(unknown), Conflict::FenceStale { current: 0 });
    h.storage.release_lease(&h.caller, &request("me", Some(1))).await.unwrap();
    assert!(h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_none());
    let mut request = request("me", None);
    request.holder = LeaseHolder::new("ü".repeat(100)).unwrap();
    let lease = h.storage.acquire_lease(&h.caller, &request).await.unwrap();
    assert_eq!(lease.fence, 1);
    let thread = h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().unwrap();
    assert_eq!((thread.checkpoint_count, thread.size_bytes, thread.last_step), (0, 0, None));
    assert!(h.latest("t").await.is_none());
}
