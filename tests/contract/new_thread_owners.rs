//! Tests the owners of new threads: made by two callers at once, made again after a deletion, copied.

use threadkeep::domain::Conflict;
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::tokens::grants::Actions;

use crate::conditions::expire_leases;
use crate::granted_callers::{Desk, exact, prefix, put, subject, tenant, with};
use crate::harness::{Harness, NEVER, conflict};

/// On two servers, by commits, leases and copies.
pub async fn a_thread_that_two_make_at_once_goes_to_one(h: Harness) {
    let desks = [Desk::on(&h.storage).await, Desk::beside(&h).await];
    let callers = [subject("ann"), subject("bob")];
    for (caller, desk) in callers.iter().zip(&desks) {
        desk.put(caller, &format!("{} source", caller.credential), "1").await.unwrap();
    }
    for round in 0..30 {
        let thread = format!("thread {round}");
        let make = async |at: usize| {
            let (desk, caller) = (&desks[at], &callers[at]);
            match (round + at) % 3 {
                0 => desk.acquire(caller, &thread).await.map(drop),
                1 => {
                    let source = format!("{} source", caller.credential);
                    desk.copy(caller, &source, &thread).await.map(drop)
                }
                _ => desk.put(caller, &thread, "1").await.map(drop),
            }
        };
        let (ann, bob) = tokio::join!(make(0), make(1));
        let (winner, loser, name) = match (&ann, &bob) {
            (Ok(()), Err(_)) => (0, bob, "ann"),
            (Err(_), Ok(())) => (1, ann, "bob"),
            both => panic!("{round}: {both:?}"),
        };
        assert_eq!(conflict(loser), Conflict::ThreadTaken, "{round}");
        assert_eq!(desks[0].owner(&thread).await.as_deref(), Some(name));
        assert!(desks[winner].thread(&callers[winner], &thread).await.is_some());
        assert!(desks[winner].thread(&callers[1 - winner], &thread).await.is_none());
    }
}

/// In one queue, where both wait for the same batch.
pub async fn commits_with_other_conditions_are_batches_of_their_own(h: Harness) {
    let (ann, bob) = (subject("ann"), subject("bob"));
    let mut named = with("named", vec![exact("t", Actions::ALL)]);
    named.subject = Some("ann".into());
    let mut prepared = Vec::new();
    for (at, caller) in [&ann, &named, &bob, &tenant(), &ann].into_iter().enumerate() {
        let commit = put(caller, "t", &at.to_string());
        prepared.push(h.storage.prepare(caller, commit, NEVER).await.unwrap());
    }
    let waiting: Vec<_> = prepared.iter().collect();
    let taken = |from: usize| fold(&waiting[from..], 1).1.len();
    assert_eq!((taken(0), taken(1), taken(2), taken(3), taken(4)), (1, 1, 1, 1, 1));
    let both = [&prepared[0], &prepared[4]];
    assert_eq!(fold(&both, 1).1.len(), 2, "those of one caller go together");
    // All of them wait for the same queue.
    let done = prepared.into_iter().map(|it| h.queue.commit(it));
    let mut done = futures::future::join_all(done).await;
    assert_eq!(conflict(done.remove(2)), Conflict::ThreadTaken);
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(Desk::on(&h.storage).await.thread(&ann, "t").await.unwrap().checkpoint_count, 4);
}

/// Leaves nothing of a thread but what a deletion leaves: its generation and its fence, 3.
async fn leave(h: &Harness, desk: &Desk, maker: &threadkeep::domain::caller::Caller) -> String {
    let generation = desk.put(maker, "t", "1").await.unwrap();
    for fence in 1..=3 {
        assert_eq!(desk.acquire(maker, "t").await.unwrap().fence, fence);
        expire_leases(h).await;
    }
    assert!(desk.delete(maker, "t").await.unwrap());
    generation
}

/// What a caller with nothing but its own can learn of a thread that is not there.
async fn look(desk: &Desk, caller: &threadkeep::domain::caller::Caller) -> Vec<String> {
    let mut seen = Vec::new();
    seen.push(format!("{:?}", desk.renew(caller, "t", 3).await));
    seen.push(format!("{:?}", desk.release(caller, "t", 3).await));
    let mut fenced = put(caller, "t", "1");
    fenced.fence = Some(3);
    seen.push(format!("{:?}", desk.commit(caller, fenced).await));
    seen.push(format!("{:?}", desk.thread(caller, "t").await));
    let mut restored = put(caller, "t", "1");
    restored.generation = Some("from another life".into());
    restored.fence = Some(0);
    let generation = desk.commit(caller, restored).await.unwrap();
    seen.push(format!("{:?}", desk.acquire(caller, "t").await.unwrap().fence));
    let thread = desk.thread(caller, "t").await.unwrap();
    assert_eq!((thread.owner, thread.generation), (caller.subject.clone(), generation));
    seen
}

pub async fn what_another_left_was_never_there(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let (ann, bob) = (subject("ann"), subject("bob"));
    let absent = look(&desk, &ann).await;
    assert_eq!(absent[4], "1");
    for maker in [&bob, &tenant()] {
        desk.delete(&tenant(), "t").await.unwrap_err();
        expire_leases(&h).await;
        assert!(desk.delete(&tenant(), "t").await.unwrap());
        h.sql("delete from thread_tombstones").await;
        let left = leave(&h, &desk, maker).await;
        assert_eq!(look(&desk, &ann).await, absent);
        assert_ne!(desk.thread(&ann, "t").await.unwrap().generation, left);
        assert_eq!(h.count("select count(*) from thread_tombstones").await, 0);
    }
    // A lease and a copy make it anew too.
    for make in ["lease", "copy"] {
        expire_leases(&h).await;
        assert!(desk.delete(&ann, "t").await.unwrap());
        h.sql("delete from thread_tombstones").await;
        let left = leave(&h, &desk, &bob).await;
        desk.put(&ann, "source", "1").await.unwrap();
        if make == "copy" {
            assert_eq!(desk.copy(&ann, "source", "t").await.unwrap(), 1);
        }
        assert_eq!(desk.acquire(&ann, "t").await.unwrap().fence, 1, "{make}");
        assert_ne!(desk.thread(&ann, "t").await.unwrap().generation, left, "{make}");
    }
}

/// Its own goes on, and so does anybody's for who is granted the name.
pub async fn a_fence_goes_on_for_the_owner_and_for_who_is_granted_the_name(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let (ann, named) = (subject("ann"), with("named", vec![exact("t", Actions::ALL)]));
    for (maker, again) in [(&ann, &ann), (&ann, &named), (&ann, &tenant()), (&tenant(), &named)] {
        let left = leave(&h, &desk, maker).await;
        let stale = desk.renew(again, "t", 2).await;
        assert_eq!(conflict(stale), Conflict::FenceStale { current: 3 });
        let mut restored = put(again, "t", "1");
        restored.generation = Some("another".into());
        let refused = conflict(desk.commit(again, restored).await);
        assert_eq!(refused, Conflict::ThreadRestored { current: left.clone() });
        assert_eq!(desk.put(again, "t", "1").await.unwrap(), left);
        assert_eq!(desk.acquire(again, "t").await.unwrap().fence, 4);
        assert_eq!(desk.owner("t").await, again.subject, "it belongs to who made it again");
        expire_leases(&h).await;
        assert!(desk.delete(&tenant(), "t").await.unwrap());
        h.sql("delete from thread_tombstones").await;
    }
}

/// Content is shared within one owner: the one that the target has in the end.
pub async fn a_copy_shares_content_only_with_its_own_owner(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let (ann, bob) = (subject("ann"), subject("bob"));
    let below = with("below", vec![prefix("a:", Actions::ALL)]);
    desk.put(&ann, "a:ann", "1").await.unwrap();
    desk.put(&tenant(), "a:nobody", "1").await.unwrap();
    desk.acquire(&ann, "a:leased by ann").await.unwrap();
    desk.acquire(&bob, "a:leased by bob").await.unwrap();
    desk.acquire(&tenant(), "a:leased").await.unwrap();
    expire_leases(&h).await;
    for (caller, source, target, owner, shares) in [
        (&ann, "a:ann", "a:1", Some("ann"), true),
        (&tenant(), "a:ann", "a:2", None, false),
        (&below, "a:nobody", "a:3", None, true),
        (&below, "a:ann", "a:4", None, false),
        (&tenant(), "a:nobody", "a:leased by ann", Some("ann"), false),
        (&ann, "a:ann", "a:leased by ann 2", Some("ann"), true),
        (&tenant(), "a:ann", "a:leased by bob", Some("bob"), false),
        (&tenant(), "a:nobody", "a:leased", None, true),
    ] {
        assert_eq!(desk.copy(caller, source, target).await.unwrap(), 1, "{target}");
        assert_eq!(desk.owner(target).await.as_deref(), owner, "{target}");
        let scopes = format!(
            "select count(distinct scope_id) from threads where thread_id in ('{source}', '{target}')"
        );
        assert_eq!(h.count(&scopes).await == 1, shares, "{source} to {target}");
        assert_eq!(desk.latest(&tenant(), target).await.unwrap().as_deref(), Some("1"));
    }
    assert_eq!(desk.copy(&bob, "a:ann", "mine").await.unwrap(), 0);
    assert!(desk.thread(&tenant(), "mine").await.is_none());
}
