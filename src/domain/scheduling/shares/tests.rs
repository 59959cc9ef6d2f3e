//! Tests of the ledger: nobody goes over its share, and whose body ends.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;

const SIZES: Sizes = Sizes { all: 256, tenant: 128, credential: 64 };

fn holder(tenant: usize, credential: usize) -> Holder {
    Holder::new(format!("t{tenant}"), format!("c{credential}"))
}

/// A body of so many bytes that moved that many in a second of its client's time, and whose turn it is.
fn body(shares: &Arc<Shares>, holder: &Holder, bytes: usize, (moved, turn): (u64, Turn)) -> Held {
    let mut held = shares.account(holder.clone()).open();
    held.grow(bytes).unwrap();
    note(&held, moved, turn);
    held
}

fn note(held: &Held, moved: u64, turn: Turn) {
    let mut pace = Pace::default();
    let now = Instant::now();
    pace.wait(now);
    pace.moved(moved, now + Duration::from_secs(2));
    held.body().note(pace, turn);
}

const FAST: u64 = 10 << 20;
const SLOW: u64 = 10;

#[test]
fn the_slowest_body_of_the_largest_holder_gives_way_to_a_smaller_one() {
    let shares = Shares::new(SIZES);
    let (large, other) = (holder(0, 0), holder(1, 0));
    let oldest = body(&shares, &large, 40, (FAST, Turn::Sender));
    let slowest = body(&shares, &large, 40, (SLOW, Turn::Sender));
    let working = body(&shares, &large, 40, (0, Turn::Server));
    let _more = body(&shares, &holder(2, 0), 100, (SLOW, Turn::Server));
    let mut small = body(&shares, &other, 10, (0, Turn::Server));
    small.grow(40).unwrap();
    assert!(slowest.body().is_ended());
    assert!(!oldest.body().is_ended() && !working.body().is_ended());
    assert_eq!(shares.held_bytes(), 40 + 40 + 100 + 50);
    drop(slowest);
    assert_eq!(shares.held_bytes(), 40 + 40 + 100 + 50);
}

#[test]
fn who_holds_most_is_refused_and_ends_nobody_else() {
    let shares = Shares::new(SIZES);
    let innocent = body(&shares, &holder(1, 0), 20, (SLOW, Turn::Sender));
    let _more = body(&shares, &holder(2, 0), 120, (FAST, Turn::Server));
    let mut large = body(&shares, &holder(0, 0), 100, (FAST, Turn::Sender));
    assert_eq!(large.grow(20), Err(Full::Share(SIZES.all)));
    assert!(!innocent.body().is_ended());
}

#[test]
fn a_credential_ends_its_own_body_only_when_that_is_slow() {
    let shares = Shares::new(SIZES);
    let own = holder(0, 0);
    let steady = body(&shares, &own, 60, (FAST, Turn::Receiver));
    let _big = body(&shares, &own, 60, (FAST, Turn::Receiver));
    let mut third = shares.account(own).open();
    assert_eq!(third.grow(10), Err(Full::Share(SIZES.tenant)));
    note(&steady, SLOW, Turn::Receiver);
    // Who takes it has not let go of it yet: what its frames hold is counted until then.
    assert_eq!(third.grow(10), Err(Full::Share(SIZES.tenant)));
    assert!(steady.body().is_ended());
    drop(steady);
    third.grow(10).unwrap();
}

#[test]
fn what_an_ended_body_keeps_for_sending_goes_at_once() {
    let shares = Shares::new(SIZES);
    let own = holder(0, 0);
    let kept = Arc::new(Mutex::new(Some(body(&shares, &own, 60, (SLOW, Turn::Receiver)))));
    let (slot, ended) =
        (Arc::clone(&kept), Arc::clone(kept.lock().unwrap().as_ref().unwrap().body()));
    ended.on_end(Box::new(move || drop(slot.lock().unwrap().take())));
    let _big = body(&shares, &own, 60, (FAST, Turn::Receiver));
    let mut third = shares.account(own).open();
    third.grow(10).unwrap();
    assert!(kept.lock().unwrap().is_none());
    assert_eq!(shares.held_bytes(), 70);
}

#[test]
fn one_body_of_a_credential_may_be_as_large_as_the_share_of_its_tenant() {
    let shares = Shares::new(SIZES);
    let own = shares.account(holder(0, 0));
    let mut small = own.open();
    small.grow(8).unwrap();
    let mut large = own.open();
    large.grow(100).unwrap();
    small.grow(8).unwrap();
    assert_eq!(large.grow(13), Err(Full::Share(SIZES.tenant)));
    assert_eq!(small.grow(100), Err(Full::Share(SIZES.tenant)));
}

#[test]
fn every_legal_body_fits_into_the_share_of_a_credential_that_holds_its_quarter() {
    let sizes = Sizes::default();
    assert_eq!((sizes.tenant, sizes.credential), (sizes.all / 2, sizes.all / 4));
    assert!(sizes.tenant >= LIMITS.body_bytes_max);
}

#[derive(Debug, Clone)]
enum Step {
    Open(usize, usize),
    Grow(usize, usize),
    Note(usize, u64, Turn),
    Split(usize, u64),
    Close(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let turn = prop_oneof![Just(Turn::Server), Just(Turn::Sender), Just(Turn::Receiver)];
    prop_oneof![
        (0_usize..4, 0_usize..3).prop_map(|(tenant, credential)| Step::Open(tenant, credential)),
        (0_usize..24, 0_usize..90).prop_map(|(at, bytes)| Step::Grow(at, bytes)),
        (0_usize..24, 0_u64..(1 << 21), turn)
            .prop_map(|(at, moved, turn)| Step::Note(at, moved, turn)),
        (0_usize..24, 0_u64..90).prop_map(|(at, bytes)| Step::Split(at, bytes)),
        (0_usize..24).prop_map(Step::Close),
    ]
}

fn check(shares: &Shares) {
    let book = shares.book();
    let tenants: u64 = book.tenants.values().map(|it| it.bytes).sum();
    assert_eq!(book.bytes, tenants);
    assert!(book.bytes <= SIZES.all);
    for tenant in book.tenants.values() {
        let credentials: u64 = tenant.credentials.values().map(|it| it.bytes).sum();
        assert_eq!(tenant.bytes, credentials);
        assert!(tenant.bytes <= SIZES.tenant);
        for credential in tenant.credentials.values() {
            let sizes: Vec<u64> =
                credential.bodies.iter().map(|it| it.bytes.load(Ordering::Relaxed)).collect();
            let sum: u64 = sizes.iter().sum();
            assert_eq!(credential.bytes, sum);
            assert!(sum - sizes.iter().max().unwrap() <= SIZES.credential);
        }
    }
}

proptest! {
    #[test]
    fn no_share_is_ever_exceeded_and_everything_is_given_back(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let shares = Shares::new(SIZES);
        let mut all: Vec<Held> = Vec::new();
        for step in steps {
            match step {
                Step::Open(tenant, credential) => {
                    all.push(shares.account(holder(tenant, credential)).open());
                }
                Step::Grow(at, bytes) => {
                    if let Some(it) = all.get_mut(at) {
                        it.grow(bytes).ok();
                    }
                }
                Step::Note(at, moved, turn) => {
                    if let Some(it) = all.get(at) {
                        note(it, moved, turn);
                    }
                }
                Step::Split(at, bytes) => {
                    if let Some(part) = all.get_mut(at).map(|it| it.split(bytes)) {
                        all.push(part);
                    }
                }
                Step::Close(at) => {
                    if at < all.len() {
                        all.swap_remove(at);
                    }
                }
            }
            check(&shares);
        }
        drop(all);
        prop_assert_eq!(shares.held_bytes(), 0);
        prop_assert!(shares.book().tenants.is_empty());
    }
}
