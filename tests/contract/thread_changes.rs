//! Tests the feed of changed threads, directly on the engines: which changes are told, to whom, from where, and that none is missed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use threadkeep::domain::Error;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::threads::changes::{
    ThreadChange, ThreadChangeKind, ThreadChanges, ThreadFollower, Told, WatchedThreads,
};
use threadkeep::domain::threads::run_state::RunState;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::storage;
use threadkeep::storage::StorageConfig;
use tokio::time::timeout;

use crate::commands::Put;
use crate::granted_callers::{prefix, subject, with};
use crate::harness::{Harness, commit, config, thread_id};
use crate::run_states::now;
use crate::subjects::{ANN, commit_as};

const PATIENCE: Duration = Duration::from_mins(1);
/// In which nothing comes.
const QUIET: Duration = Duration::from_millis(700);

async fn put(h: &Harness, thread: &str, id: &str) {
    h.commit(commit(thread, vec![Put::new(id).sets("a", id, "x").op()])).await.unwrap();
}

async fn delete(h: &Harness, thread: &str) {
    let request = DeleteThread { thread_id: thread_id(thread), generation: None, fence: None };
    assert!(h.storage.delete_thread(&h.caller, &request).await.unwrap());
}

/// A server beside the one that writes.
async fn feed_beside(h: &Harness) -> Arc<ThreadChanges> {
    let config = StorageConfig { exclusive: false, ..config(h.url()) };
    let storage: Arc<dyn Storage> =
        if h.is_sqlite() { h.storage.clone() } else { storage::open(&config).await.unwrap() };
    let feed = Arc::new(ThreadChanges::new(storage, Arc::new(Clock::System)));
    tokio::spawn(Arc::clone(&feed).run());
    feed
}

async fn follow(feed: &ThreadChanges, caller: &Caller) -> ThreadFollower {
    feed.follow(caller, WatchedThreads::default(), None).await.unwrap()
}

async fn change(follower: &mut ThreadFollower) -> Arc<ThreadChange> {
    match timeout(PATIENCE, follower.next()).await.unwrap() {
        Told::Change(change) => change,
        Told::Resync => panic!("changes were left out"),
    }
}

/// Until nothing more comes.
async fn heard(follower: &mut ThreadFollower) -> BTreeSet<String> {
    let mut threads = BTreeSet::from([change(follower).await.thread_id.clone()]);
    while let Ok(Told::Change(change)) = timeout(QUIET, follower.next()).await {
        threads.insert(change.thread_id.clone());
    }
    threads
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

pub async fn changes_come_newest_first_and_deleted_threads_with_them(h: Harness) {
    for thread in ["a", "b", "c"] {
        put(&h, thread, "1").await;
    }
    let tenant = h.caller.tenant.as_str();
    let all = h.storage.list_changed_threads(tenant, 0, 10).await.unwrap();
    let ids: Vec<&str> = all.iter().map(|it| it.thread_id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
    let since = all[1].at;
    now(&h).await.get(&h.caller, &thread_id("b")).await.unwrap().unwrap();
    put(&h, "a", "2").await;
    delete(&h, "c").await;
    let later = h.storage.list_changed_threads(tenant, since, 10).await.unwrap();
    let kind = |it: &ThreadChange| match it.kind {
        ThreadChangeKind::Delete => "gone",
        ThreadChangeKind::Update(run) if run.is_stale => "stale",
        ThreadChangeKind::Update(run) => {
            assert_eq!(run.state, RunState::Idle);
            "idle"
        }
    };
    let told: Vec<(&str, &str)> =
        later.iter().map(|it| (it.thread_id.as_str(), kind(it))).collect();
    assert_eq!(told, [("c", "gone"), ("a", "stale"), ("b", "idle")]);
    assert_eq!(h.storage.list_changed_threads(tenant, 0, 2).await.unwrap(), later[..2]);
    assert!(h.storage.list_changed_threads("tenant-b", 0, 10).await.unwrap().is_empty());
}

/// Who may read a thread by its owner is told by the owner in its row.
pub async fn a_thread_whose_owner_somebody_changed_is_not_told(h: Harness) {
    let h = h.encrypting(None).await;
    for thread in ["a", "b"] {
        put(&h, thread, "1").await;
    }
    h.sql("update threads set owner = 'eve' where thread_id = 'a'").await;
    let found = h.storage.list_changed_threads(&h.caller.tenant, 0, 10).await.unwrap();
    let ids: Vec<&str> = found.iter().map(|it| it.thread_id.as_str()).collect();
    assert_eq!(ids, ["b"]);
}

pub async fn what_another_server_does_is_told_once(h: Harness) {
    put(&h, "before", "1").await;
    let feed = feed_beside(&h).await;
    let mut follower = follow(&feed, &h.caller).await;
    put(&h, "a", "1").await;
    let made = change(&mut follower).await;
    assert_eq!(made.thread_id, "a");
    assert!(timeout(QUIET, follower.next()).await.is_err(), "it was told");
    put(&h, "a", "2").await;
    let changed = change(&mut follower).await;
    assert_eq!((changed.thread_id.as_str(), &changed.generation), ("a", &made.generation));
    assert!(changed.at > made.at);
    delete(&h, "before").await;
    let gone = change(&mut follower).await;
    assert_eq!((gone.thread_id.as_str(), gone.kind), ("before", ThreadChangeKind::Delete));
    // The status is told when it is known.
    now(&h).await.get(&h.caller, &thread_id("a")).await.unwrap().unwrap();
    let derived = change(&mut follower).await;
    assert_eq!((derived.thread_id.as_str(), derived.at), ("a", changed.at));
    assert!(derived.kind.status(0).is_some() && changed.kind.status(0).is_none());
}

pub async fn followers_hear_of_what_they_may_read_only(h: Harness) {
    let feed = feed_beside(&h).await;
    let mut of_ann = follow(&feed, &subject(ANN)).await;
    let mut of_prefix = follow(&feed, &with("bob", vec![prefix("p:", Actions::READ)])).await;
    let mut of_writer = follow(&feed, &with("eve", vec![prefix("p:", Actions::WRITE)])).await;
    let mut of_tenant = follow(&feed, &h.caller).await;
    let mut of_other = follow(&feed, &Caller::of_tenant("tenant-b")).await;
    let named = WatchedThreads { ids: vec!["p:1".into(), "x".into()], prefix: None };
    let mut of_names = feed.follow(&h.caller, named, None).await.unwrap();
    let below = WatchedThreads { ids: vec![], prefix: Some("p:".into()) };
    let mut below = feed.follow(&h.caller, below, None).await.unwrap();
    commit_as(&h, Some(ANN), "of ann", Put::new("1")).await;
    for thread in ["p:1", "p:2", "q"] {
        put(&h, thread, "1").await;
    }
    let all = set(&["of ann", "p:1", "p:2", "q"]);
    assert_eq!(heard(&mut of_tenant).await, all);
    assert_eq!(heard(&mut of_ann).await, set(&["of ann"]));
    assert_eq!(heard(&mut of_prefix).await, set(&["p:1", "p:2"]));
    assert_eq!(heard(&mut below).await, set(&["p:1", "p:2"]));
    assert_eq!(heard(&mut of_names).await, set(&["p:1"]));
    for nobody in [&mut of_writer, &mut of_other] {
        assert!(timeout(QUIET, nobody.next()).await.is_err());
    }
}

pub async fn a_follower_of_threads_comes_back_where_it_was(h: Harness) {
    let feed = feed_beside(&h).await;
    let mut first = follow(&feed, &h.caller).await;
    put(&h, "a", "1").await;
    change(&mut first).await;
    let position = first.position();
    drop(first);
    put(&h, "b", "1").await;
    delete(&h, "a").await;
    let feed = feed_beside(&h).await;
    let all = WatchedThreads::default;
    let mut second = feed.follow(&h.caller, all(), Some(position)).await.unwrap();
    assert!(heard(&mut second).await.is_superset(&set(&["a", "b"])));
    let old = feed.follow(&h.caller, all(), Some(position - 25 * 3_600_000_000)).await;
    assert!(matches!(old.map(drop), Err(Error::PositionGone)));
}

/// A write has its time before it can be seen: here it is seen a minute after it.
pub async fn a_change_that_is_seen_late_is_told_all_the_same(h: Harness) {
    for thread in ["late", "other"] {
        put(&h, thread, "1").await;
    }
    let feed = feed_beside(&h).await;
    let mut follower = follow(&feed, &h.caller).await;
    put(&h, "other", "2").await;
    assert_eq!(change(&mut follower).await.thread_id, "other");
    h.sql("update threads set updated_at = updated_at - 60000000 where thread_id = 'late'").await;
    assert_eq!(change(&mut follower).await.thread_id, "late");
}
