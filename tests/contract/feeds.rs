//! Tests the log of changes and its followers, directly on the engines.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection};
use threadkeep::domain::Error;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::store::feed::{Change, Position, Watched};
use threadkeep::domain::store::feeds::Feeds;
use threadkeep::domain::store::item::{ChangeItem, ItemOp, ttl_micros};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::store::subscription::{Step, Subscription};
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tokens::grants::Scoped;
use threadkeep::storage;
use threadkeep::storage::StorageConfig;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::harness::{Harness, caller_of, config};
use crate::store::{SECOND, START, Store, change, put};

const TENANT: &str = "tenant-a";
const HOUR: i64 = 3_600 * SECOND;
const PATIENCE: Duration = Duration::from_mins(1);

/// So many that follow, and where they end. Whoever else uses the cluster may delay the last ones.
pub async fn read(
    storage: &dyn Storage,
    after: &Position,
    count: usize,
    page: usize,
) -> (Vec<Change>, Position) {
    let (mut all, mut after) = (Vec::new(), after.clone());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = [(TENANT.to_owned(), after)];
        let found = storage.read_changes(&asked, page, START).await.unwrap().remove(0).unwrap();
        assert!(found.changes.len() <= page);
        all.extend(found.changes);
        after = found.next;
        if found.is_whole && (all.len() >= count || Instant::now() > deadline) {
            return (all, after);
        }
    }
}

pub fn shown(changes: &[Change]) -> Vec<String> {
    let text = |it: &Change| {
        let key = it.address.key.text().unwrap();
        format!("{} {key} {}", it.kind.name(), it.address.namespace.labels().join("/"))
    };
    changes.iter().map(text).collect()
}

async fn follow(feeds: &Arc<Feeds>, tenant: &str, after: Option<Position>) -> Subscription {
    let caller = Caller::of_tenant(tenant);
    let watched = Watched::new(&caller, &Namespace::default(), false);
    feeds.follow(&caller, "holder", watched, after).await.unwrap()
}

fn feeds_on(storage: &Arc<dyn Storage>) -> Arc<Feeds> {
    let clock = Arc::new(Clock::System);
    let feeds = Arc::new(Feeds::new(storage.clone(), clock, Arc::new(Notify::new())));
    tokio::spawn(Arc::clone(&feeds).run());
    feeds
}

/// The next so many changes.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<String> {
    let mut taken: Vec<Change> = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while taken.len() < count && Instant::now() < deadline {
        match subscription.next(Duration::from_millis(100)).await.unwrap() {
            Step::Changes(changes) => taken.extend(changes.iter().map(|it| (**it).clone())),
            Step::Nothing => {}
            Step::Resync => panic!("nothing was lost"),
        }
    }
    shown(&taken)
}

/// The next ones up to this one.
async fn take_until(subscription: &mut Subscription, last: &str) -> Vec<String> {
    let mut all = Vec::new();
    while all.last().is_none_or(|it| it != last) {
        let taken = take(subscription, 1).await;
        assert!(!taken.is_empty(), "nothing comes after {:?}", all.last());
        all.extend(taken);
    }
    all
}

pub async fn what_happens_to_items_is_logged_in_its_order(h: Harness) {
    let store = Store::on(&h).await;
    let old = store.put(&["n"], "old", "{}").await;
    let start = store.storage.open_feed(TENANT, START).await.unwrap();
    let first = store.put(&["n"], "k", "{}").await;
    let second = store.put(&["n"], "k", r#"{"a":1}"#).await;
    store.delete(&["n"], "k").await;
    store.delete(&["n"], "k").await;
    store.delete(&["n"], "old").await;
    let refused = ChangeItem { if_version: Some(7), ..change(&["n"], "k", Some("{}")) };
    store.try_put(refused).await.unwrap_err();
    let ops = vec![put(&["n", "b"], "b", "{}"), put(&["n", "a"], "c", "{}")];
    store.batch(ops, true).await.unwrap();
    let (changes, end) = read(&*store.storage, &start, 6, 100).await;
    let expected = ["put k n", "put k n", "delete k n", "delete old n", "put c n/a", "put b n/b"];
    assert_eq!(shown(&changes), expected);
    let versions: Vec<i64> = changes.iter().map(|it| it.version).collect();
    assert_eq!(versions[..4], [first, second, second, old]);
    assert!(changes.windows(2).all(|it| it[1].position.is_behind(&it[0].position)));
    assert_eq!(read(&*store.storage, &start, 6, 1).await.0, changes, "in pages of one");
    assert_eq!(read(&*store.storage, &changes[2].position, 3, 100).await.0, changes[3..]);
    assert_eq!(read(&*store.storage, &end, 0, 100).await.0, []);
}

pub async fn only_tenants_with_followers_have_a_log(h: Harness) {
    let store = Store::on(&h).await;
    let other = Store::of(&h.storage, &caller_of("tenant-b")).await;
    store.storage.open_feed("tenant-b", START).await.unwrap();
    store.put(&["n"], "k", "{}").await;
    other.put(&["n"], "k", "{}").await;
    assert_eq!(h.count("select count(*) from item_changes").await, 1);
    assert_eq!(h.count("select count(*) from item_changes where tenant = 'tenant-b'").await, 1);
    // Two days after the last one was seen nothing is logged any more.
    store.storage.open_feed("tenant-b", START + 2 * HOUR).await.unwrap();
    other.clock.advance(49 * HOUR);
    other.put(&["n"], "k", "{}").await;
    other.clock.advance(2 * HOUR);
    other.put(&["n"], "k", "{}").await;
    assert_eq!(h.count("select count(*) from item_changes").await, 2);
}

pub async fn the_end_of_a_life_is_logged(h: Harness) {
    let store = Store::on(&h).await;
    let start = store.storage.open_feed(TENANT, START).await.unwrap();
    let mut versions = Vec::new();
    for key in ["swept", "deleted", "replaced"] {
        let mut short = change(&["n"], key, Some("{}"));
        short.value.as_mut().unwrap().ttl_micros = Some(ttl_micros(1.0).unwrap());
        versions.push(store.try_put(short).await.unwrap());
    }
    store.clock.advance(60 * SECOND);
    store.delete(&["n"], "deleted").await;
    store.put(&["n"], "replaced", "{}").await;
    store.storage.sweep(START + 60 * SECOND).await.unwrap();
    let (changes, _) = read(&*store.storage, &start, 6, 100).await;
    let expected = ["expire deleted n", "put replaced n", "expire swept n"];
    assert_eq!(shown(&changes[3..]), expected);
    assert_eq!((changes[3].version, changes[5].version), (versions[1], versions[0]));
}

pub async fn what_is_old_goes_and_the_log_begins_anew(h: Harness) {
    let store = Store::on(&h).await;
    let start = store.storage.open_feed(TENANT, START).await.unwrap();
    let keys: Vec<String> = (0..1_200).map(|it| it.to_string()).collect();
    for part in keys.chunks(400) {
        let ops: Vec<ItemOp> = part.iter().map(|it| put(&["n"], it, "{}")).collect();
        store.batch(ops, true).await.unwrap();
    }
    store.clock.advance(10 * HOUR);
    store.put(&["n"], "young", "{}").await;
    let all = read(&*store.storage, &start, 1_201, 500).await.0;
    assert_eq!(all.len(), 1_201);
    // Longer than positions lead on.
    store.storage.sweep(START + 24 * HOUR).await.unwrap();
    assert_eq!(h.count("select count(*) from item_changes").await, 1_201);
    store.storage.sweep(START + 26 * HOUR).await.unwrap();
    assert_eq!(h.count("select count(*) from item_changes").await, 1);
    let left = read(&*store.storage, &all[5].position, 1, 500).await.0;
    assert_eq!(shown(&left), ["put young n"]);
    let end = store.storage.open_feed(TENANT, START + 26 * HOUR).await.unwrap();
    assert!(all[5].position.require_known(&end, START + 25 * HOUR).is_err());
    assert!(left[0].position.require_known(&end, START + 25 * HOUR).is_ok());
    // Nobody followed for days: another log, and no position of the old one.
    store.storage.sweep(START + 200 * HOUR).await.unwrap();
    assert_eq!(h.count("select count(*) from item_feeds").await, 0);
    let asked = [(TENANT.to_owned(), start.clone())];
    assert_eq!(store.storage.read_changes(&asked, 9, START).await.unwrap(), [None]);
    let anew = store.storage.open_feed(TENANT, START + 200 * HOUR).await.unwrap();
    assert_ne!(anew.feed, start.feed);
    assert!(matches!(start.require_known(&anew, START), Err(Error::PositionGone)));
    assert_eq!(store.storage.read_changes(&asked, 9, START).await.unwrap(), [None]);
}

/// A log that nobody kept up for two days ends, also where its rows were not swept.
pub async fn a_log_that_has_ended_is_another_one(h: Harness) {
    let start = h.storage.open_feed(TENANT, START).await.unwrap();
    let kept = h.storage.open_feed(TENANT, START + 47 * HOUR).await.unwrap();
    assert_eq!(kept.feed, start.feed);
    let still = h.storage.open_feed(TENANT, START + 90 * HOUR).await.unwrap();
    assert_eq!(still.feed, start.feed);
    let anew = h.storage.open_feed(TENANT, START + 139 * HOUR).await.unwrap();
    assert_ne!(anew.feed, start.feed);
}

pub async fn erasing_a_subject_erases_what_was_logged_of_it(h: Harness) {
    let store = Store::on(&h).await;
    let start = store.storage.open_feed(TENANT, START).await.unwrap();
    for key in ["a", "b"] {
        store.put(&["ann", "notes"], key, "{}").await;
        store.put(&["anna"], key, "{}").await;
    }
    let clock = Arc::new(Clock::System);
    let erasures = Erasures::new(store.storage.clone(), clock);
    erasures.erase(&store.caller, "ann", |_| {}).await.unwrap();
    let left = read(&*store.storage, &start, 2, 100).await.0;
    assert_eq!(shown(&left), ["put a anna", "put b anna"]);
}

pub async fn a_follower_reads_the_log_and_then_what_comes(h: Harness) {
    let store = Store::on(&h).await;
    let feeds = feeds_on(&h.storage);
    let start = follow(&feeds, TENANT, None).await.position().clone();
    let clock = Clock::System;
    store.clock.advance(clock.now() - START);
    let expected: Vec<String> = (0..1_300).map(|it| format!("put {it} n")).collect();
    for at in 0..1_100 {
        store.put(&["n"], &at.to_string(), "{}").await;
    }
    let mut follower = follow(&feeds, TENANT, Some(start)).await;
    let mut live = follow(&feeds, TENANT, None).await;
    let writer = async {
        for at in 1_100..1_300 {
            store.put(&["n"], &at.to_string(), "{}").await;
        }
    };
    // What was written just before it came may come too.
    let last = "put 1299 n";
    let ((), taken, seen) =
        tokio::join!(writer, take(&mut follower, 1_300), take_until(&mut live, last));
    assert_eq!(taken, expected);
    assert!(seen.len() >= 200 && expected.ends_with(&seen), "{seen:?}");
}

async fn second_server(h: &Harness) -> Arc<dyn Storage> {
    storage::open(&StorageConfig { exclusive: false, ..config(h.url()) }).await.unwrap()
}

/// Ids of transactions are given in another order than that of the commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_transaction_that_commits_after_a_later_one_is_not_missed() {
    let h = Harness::postgres().await;
    let store = Store::on(&h).await;
    let feeds = feeds_on(&h.storage);
    let mut follower = follow(&feeds, TENANT, None).await;
    store.put(&["n"], "first", "{}").await;
    assert_eq!(take(&mut follower, 1).await, ["put first n"]);
    let mut slow = PgConnection::connect(h.url()).await.unwrap();
    let write = "begin; insert into item_changes
        (tenant, xid, n, namespace, key, version, kind, written_at)
        values ('tenant-a', pg_current_xact_id(), 1, '{n}', 'slow', 1, 'put', 1)";
    slow.execute(write).await.unwrap();
    store.put(&["n"], "later", "{}").await;
    // Committed, and not told as long as an earlier one may still come.
    let early = timeout(Duration::from_millis(900), take(&mut follower, 1)).await;
    assert!(early.is_err(), "{early:?}");
    assert!(store.get(&["n"], "later").await.is_some());
    slow.execute("commit").await.unwrap();
    assert_eq!(take(&mut follower, 2).await, ["put slow n", "put later n"]);
}

/// What began before the log was opened does not write into it: who lists the items after that has seen it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_open_when_what_began_before_it_has_ended() {
    let h = Harness::postgres().await;
    let url = format!("{}&application_name=threadkeep", h.url());
    let mut slow = PgConnection::connect(&url).await.unwrap();
    slow.execute("begin isolation level repeatable read; select 1").await.unwrap();
    let storage = Arc::clone(&h.storage);
    let opening = tokio::spawn(async move { storage.open_feed(TENANT, START).await });
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(!opening.is_finished());
    slow.execute("rollback").await.unwrap();
    timeout(PATIENCE, opening).await.unwrap().unwrap().unwrap();
    // A log that is open is not waited for.
    slow.execute("begin isolation level repeatable read; select 1").await.unwrap();
    timeout(PATIENCE, h.storage.open_feed(TENANT, START)).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_on_one_server_sees_what_another_one_writes() {
    let h = Harness::postgres().await;
    let other = second_server(&h).await;
    let (here, there) = (Store::on(&h).await, Store::of(&other, &h.caller).await);
    // The position of a change leads on for a day after it was written.
    for store in [&here, &there] {
        store.clock.advance(Clock::System.now() - START);
    }
    let feeds = [feeds_on(&h.storage), feeds_on(&other)];
    let mut followers =
        [follow(&feeds[0], TENANT, None).await, follow(&feeds[1], TENANT, None).await];
    let mut expected = Vec::new();
    for at in 0..50 {
        let store = if at % 2 == 0 { &here } else { &there };
        store.put(&["n"], &at.to_string(), "{}").await;
        expected.push(format!("put {at} n"));
    }
    for follower in &mut followers {
        assert_eq!(take(follower, 50).await, expected);
    }
    // A position of one server leads on at the other.
    let position = followers[0].position().clone();
    here.put(&["n"], "more", "{}").await;
    let mut moved = follow(&feeds[1], TENANT, Some(position)).await;
    assert_eq!(take(&mut moved, 1).await, ["put more n"]);
    other.close().await;
}

/// Writers that commit in any order, and a follower who begins in their midst: each change comes once, none is missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_missed_beside_many_writers() {
    let h = Harness::postgres().await;
    let other = second_server(&h).await;
    let stores = [Store::on(&h).await, Store::of(&other, &h.caller).await];
    let feeds = feeds_on(&h.storage);
    let mut follower = follow(&feeds, TENANT, None).await;
    let write = async |writer: usize| {
        for at in 0..60 {
            let key = format!("{writer}-{at}");
            stores[writer % 2].put(&["n", &(writer % 3).to_string()], &key, "{}").await;
        }
    };
    let writers = futures::future::join_all((0..8).map(write));
    let (_, mut taken) = tokio::join!(writers, take(&mut follower, 480));
    taken.sort();
    let mut expected: Vec<String> = (0..480)
        .map(|it| (it / 60, it % 60))
        .map(|(writer, at)| format!("put {writer}-{at} n/{}", writer % 3))
        .collect();
    expected.sort();
    assert_eq!(taken, expected);
    other.close().await;
}

/// However many tokens are narrowed from one, they are one holder.
pub async fn one_token_leaves_seats_for_others_and_for_the_key_of_the_tenant(h: Harness) {
    let feeds = feeds_on(&h.storage);
    let scoped = |name: &str| Caller {
        grants: Grants::Scoped(Arc::new(Scoped::of_subject(name))),
        subject: Some(name.to_owned()),
        ..Caller::of_tenant(TENANT)
    };
    let ask = async |caller: &Caller, holder: &str| {
        let watched = Watched::new(caller, &Namespace::default(), false);
        feeds.follow(caller, holder, watched, None).await
    };
    let mut seats = Vec::new();
    for _ in 0..LIMITS.feed_followers_per_credential_max {
        seats.push(ask(&scoped("ann"), "key_1/ann").await.unwrap());
    }
    let refused = ask(&scoped("ann"), "key_1/ann").await.map(drop);
    assert!(matches!(refused, Err(Error::TooManyFollowers { .. })), "{refused:?}");
    for at in seats.len() as u64..LIMITS.feed_followers_scoped_max {
        let holder = format!("key_1/{}", at % 10);
        seats.push(ask(&scoped("bob"), &holder).await.unwrap());
    }
    let refused = ask(&scoped("eve"), "key_1/eve").await.map(drop);
    assert!(matches!(refused, Err(Error::TooManyFollowers { .. })), "{refused:?}");
    seats.push(ask(&Caller::of_tenant(TENANT), "key_1/").await.unwrap());
    drop(seats);
    ask(&scoped("ann"), "key_1/ann").await.unwrap();
}
