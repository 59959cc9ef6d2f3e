//! Tests that items come back as they were put, with versions that never repeat, and are written only where the condition holds.

use std::slice::from_ref;
use std::time::Duration;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::store::item::{Address, ChangeItem, ItemOp, Key, NamespacePage, OpResult};
use threadkeep::domain::{Conflict, Error};

use crate::harness::{Harness, NEVER, caller_of};
use crate::store::{
    SECOND, START, Store, all_namespaces, change, current, get, namespace, put, search, text,
};

pub async fn an_item_comes_back_as_it_was_put(h: Harness) {
    let store = Store::on(&h).await;
    let texts = [
        "{}".to_owned(),
        r#"{"a": 1.0, "b":1180591620717411303424 ,"a":2e2,"n":null}"#.to_owned(),
        r#"{"nul":"\u0000","lone":"\ud800x","pair":"\ud83d\ude00","é":"ü"}"#.to_owned(),
        format!(r#"{{"text":"{}"}}"#, "many words ".repeat(1_000)),
        format!(r#"{{"noise":"{}"}}"#, noise(200_000)),
        format!(r#"{{"more":"{}"}}"#, noise(3_000_000)),
    ];
    let keys = [
        r#""""#,
        r#""/a b.md""#,
        r#""/ü%_\\.md""#,
        r#""a\u0000b""#,
        r#""\ud800""#,
        r#""\ud800\u0000""#,
    ];
    for key in keys {
        let key = Key::of_json(key.as_bytes()).unwrap();
        for (at, text) in texts.iter().enumerate() {
            let address = Address { namespace: namespace(&["n", "%_*:/ ü"]), key: key.clone() };
            let mut put = change(&["n"], "", Some(text));
            put.address = address.clone();
            store.try_put(put).await.unwrap();
            let found =
                store.storage.get_items(&store.caller, from_ref(&address), None, START).await;
            let item = found.unwrap().remove(0).unwrap();
            assert_eq!(
                (crate::store::text(&item), &item.address),
                (text.clone(), &address),
                "{at}"
            );
            assert_eq!(usize::try_from(item.size_bytes).unwrap(), text.len());
        }
    }
    // A page ends at its bytes.
    assert_eq!(store.search(search(&["n"], "{}")).await.items.len(), 2);
    let found = store.scan(search(&["n"], "{}")).await;
    assert_eq!(found.len(), keys.len());
    assert!(found.iter().all(|it| text(it) == texts[5]));
}

pub async fn values_that_are_too_much_together_are_refused(h: Harness) {
    let store = Store::on(&h).await;
    for key in ["a", "b"] {
        let text = format!(r#"{{"a":"{}"}}"#, noise((1 << 20) - 8));
        store.try_put(change(&["n"], key, Some(&text))).await.unwrap();
    }
    let address = |key: &str| change(&["n"], key, None).address;
    let get = async |keys: &[&str], bytes_max: u64| {
        let addresses: Vec<Address> = keys.iter().map(|it| address(it)).collect();
        store.storage.get_items(&store.caller, &addresses, Some(bytes_max), START).await
    };
    let both = get(&["a", "b"], 2 << 20).await.unwrap();
    assert!(both.iter().flatten().all(|it| it.size_bytes == 1 << 20));
    for keys in [&["a", "b"], &["a", "a"]] {
        let refused = get(keys, (2 << 20) - 1).await.unwrap_err();
        assert!(matches!(refused, Error::TooLarge { limit: 2_097_151, .. }), "{refused:?}");
    }
}

fn noise(length: usize) -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    (0..length).map(|_| next()).collect()
}

pub async fn a_put_replaces_the_value_and_keeps_the_creation(h: Harness) {
    let store = Store::on(&h).await;
    let first = store.put(&["n"], "k", r#"{"a":1,"b":2}"#).await;
    let created = store.get(&["n"], "k").await.unwrap();
    store.clock.advance(SECOND);
    let second = store.put(&["n"], "k", r#"{"c":3}"#).await;
    let item = store.get(&["n"], "k").await.unwrap();
    assert_eq!((text(&item).as_str(), item.version), (r#"{"c":3}"#, second));
    assert_eq!((second, item.created_at), (first + 1, created.created_at));
    assert_eq!(item.updated_at, created.updated_at + SECOND);
    store.delete(&["n"], "k").await;
    store.delete(&["n"], "k").await;
    assert_eq!(store.get(&["n"], "k").await, None);
    assert_eq!(store.get(&["n", "k"], "k").await, None);
    assert!(store.namespaces(all_namespaces()).await.is_empty());
}

pub async fn a_version_never_comes_twice_for_a_key(h: Harness) {
    let store = Store::on(&h).await;
    let mut seen = Vec::new();
    for round in 0..5 {
        for _ in 0..=round {
            seen.push(store.put(&["n"], "k", "{}").await);
        }
        store.delete(&["n"], "k").await;
    }
    assert!(seen.windows(2).all(|it| it[0] < it[1]), "{seen:?}");
}

pub async fn a_condition_holds_or_nothing_happens(h: Harness) {
    let store = Store::on(&h).await;
    let with = |if_version, value| ChangeItem {
        if_version: Some(if_version),
        ..change(&["n"], "k", value)
    };
    assert_eq!(current(store.try_put(with(7, Some("{}"))).await), 0);
    assert_eq!(current(store.try_put(with(7, None)).await), 0);
    let first = store.try_put(with(0, Some(r#"{"a":1}"#))).await.unwrap();
    assert_eq!(current(store.try_put(with(0, Some("{}"))).await), first);
    let second = store.try_put(with(first, Some(r#"{"a":2}"#))).await.unwrap();
    assert_eq!(current(store.try_put(with(first, Some("{}"))).await), second);
    assert_eq!(current(store.try_put(with(first, None)).await), second);
    assert_eq!(text(&store.get(&["n"], "k").await.unwrap()), r#"{"a":2}"#);
    assert_eq!(store.try_put(with(second, None)).await.unwrap(), 0);
    assert_eq!(store.get(&["n"], "k").await, None);
    // A client that slept through the deletion and the return does not overwrite what is there now.
    store.put(&["n"], "k", r#"{"new":true}"#).await;
    assert!(store.try_put(with(second, Some("{}"))).await.is_err());
    assert!(store.try_put(with(first, Some("{}"))).await.is_err());
}

pub async fn a_repeated_request_is_answered_once(h: Harness) {
    let store = Store::on(&h).await;
    let version = store.put(&["n"], "k", r#"{"count":5}"#).await;
    let op = || {
        let put = change(&["n"], "k", Some(r#"{"count":6}"#));
        ItemOp::Change(ChangeItem { if_version: Some(version), ..put })
    };
    let key = |digest: u8| Some(("key-1".to_owned(), [digest; 32]));
    let send = async |caller: &Caller, key| store.items.run(caller, op(), key, NEVER).await;
    let first = send(&store.caller, key(1)).await.unwrap();
    assert_eq!(first, OpResult::Put(version + 1));
    assert_eq!(send(&store.caller, key(1)).await.unwrap(), first);
    // Also when somebody else was faster in between.
    store.put(&["n"], "k", r#"{"count":7}"#).await;
    assert_eq!(send(&store.caller, key(1)).await.unwrap(), first);
    assert_eq!(text(&store.get(&["n"], "k").await.unwrap()), r#"{"count":7}"#);
    assert!(matches!(send(&store.caller, key(2)).await, Err(Error::IdempotencyMismatch)));
    // Another client that did the same by itself is not told that it happened.
    let another = Some(("key-2".to_owned(), [1; 32]));
    assert_eq!(current(send(&store.caller, another).await), version + 2);
    let other = Caller { credential: "another".into(), ..store.caller.clone() };
    assert_eq!(current(send(&other, key(1)).await), version + 2);
}

pub async fn a_batch_reads_before_it_writes_and_the_last_put_counts(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["n"], "old", "{}").await;
    let ops = vec![
        put(&["n"], "k", r#"{"v":1}"#),
        get(&["n"], "k", true),
        put(&["n"], "k", r#"{"v":2}"#),
        ItemOp::Search(search(&["n"], "{}")),
        put(&["n"], "old", "{}"),
        ItemOp::Change(change(&["n"], "old", None)),
        ItemOp::ListNamespaces(all_namespaces()),
        put(&["m"], "k", "{}"),
        ItemOp::Count(crate::store::scope(&[], "{}")),
    ];
    for atomic in [true, false] {
        let results = store.batch(ops.clone(), atomic).await.unwrap();
        let results: Vec<OpResult> = results.into_iter().map(Result::unwrap).collect();
        let OpResult::Put(version) = results[0] else { panic!("{results:?}") };
        assert_eq!((&results[2], &results[5]), (&OpResult::Put(version), &OpResult::Deleted));
        assert_eq!(text(&store.get(&["n"], "k").await.unwrap()), r#"{"v":2}"#);
        assert_eq!(store.get(&["n"], "old").await, None);
        if atomic {
            assert_eq!((&results[1], &results[8]), (&OpResult::Got(None), &OpResult::Count(1)));
            let namespaces = vec![namespace(&["n"])];
            let only = NamespacePage { namespaces, ..NamespacePage::default() };
            assert_eq!(results[6], OpResult::Namespaces(only));
            let OpResult::Found(page) = &results[3] else { panic!("{results:?}") };
            assert_eq!(crate::store::keys(&page.items), ["old"]);
        }
    }
}

pub async fn a_batch_without_time_for_searches_gets_and_changes(h: Harness) {
    let store = Store::with_batch_time(&h.storage, &h.caller, Duration::ZERO).await;
    store.put(&["n"], "a", r#"{"n":1}"#).await;
    let ops = vec![
        ItemOp::Search(search(&["n"], r#"{"n":1}"#)),
        get(&["n"], "a", false),
        ItemOp::Change(change(&["n"], "b", Some("{}"))),
        ItemOp::ListNamespaces(all_namespaces()),
    ];
    let results = store.batch(ops, false).await.unwrap();
    let [
        Err(Error::ReadTooLong),
        Ok(OpResult::Got(Some(_))),
        Ok(OpResult::Put(_)),
        Err(Error::ReadTooLong),
    ] = &results[..]
    else {
        panic!("{results:?}")
    };
    assert!(store.get(&["n"], "b").await.is_some());
    // One search alone has its own time.
    assert_eq!(store.search(search(&["n"], r#"{"n":1}"#)).await.items.len(), 1);
}

pub async fn an_atomic_batch_happens_whole_or_not_at_all(h: Harness) {
    let store = Store::on(&h).await;
    let version = store.put(&["n"], "held", "{}").await;
    let conditional = |if_version| {
        let put = change(&["n"], "held", Some(r#"{"new":1}"#));
        ItemOp::Change(ChangeItem { if_version: Some(if_version), ..put })
    };
    let large = format!(r#"{{"text":"{}"}}"#, noise(100_000));
    let ops = |if_version| {
        vec![put(&["n"], "a", &large), conditional(if_version), put(&["z"], "b", "{}")]
    };
    assert_eq!(current(store.batch(ops(version + 1), true).await), version);
    assert_eq!(store.count(crate::store::scope(&[], "{}")).await, 1);
    let each = store.batch(ops(version + 1), false).await.unwrap();
    assert!(each[0].is_ok() && each[2].is_ok());
    assert!(matches!(each[1], Err(Error::Conflict(Conflict::VersionConflict { .. }))));
    let all = store.batch(ops(version), true).await.unwrap();
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(store.count(crate::store::scope(&[], "{}")).await, 3);
    // One operation that cannot be is the end of an atomic batch, before anything is written.
    let mut wrong = ops(version + 1);
    wrong.push(put(&["n"], "never", "[]"));
    let refused = store.batch(wrong, true).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    assert_eq!(store.get(&["n"], "never").await, None);
}

pub async fn values_that_are_no_documents_are_refused(h: Harness) {
    let store = Store::on(&h).await;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(101), "]".repeat(101));
    for value in ["[]", "1", "{", "", "{\"a\":NaN}", "{\"a\":1e99999}", "{\"a\":Infinity}", &deep] {
        let refused = store.try_put(change(&["n"], "k", Some(value))).await.unwrap_err();
        let Error::Invalid { field, .. } = &refused else { panic!("{value}: {refused}") };
        assert_eq!(field, "value");
    }
    assert_eq!(store.count(crate::store::scope(&[], "{}")).await, 0);
}

pub async fn all_edits_of_one_item_survive(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    let first = store.put(&["n"], "k", r#"{"seen":[]}"#).await;
    let edit = |task: usize| {
        let store = std::sync::Arc::clone(&store);
        async move {
            for round in 0..20 {
                loop {
                    let item = store.get(&["n"], "k").await.unwrap();
                    let mut value: serde_json::Value = serde_json::from_str(&text(&item)).unwrap();
                    value["seen"].as_array_mut().unwrap().push((task * 20 + round).into());
                    let put = change(&["n"], "k", Some(&value.to_string()));
                    let put = ChangeItem { if_version: Some(item.version), ..put };
                    match store.try_put(put).await {
                        Ok(_) => break,
                        Err(Error::Conflict(Conflict::VersionConflict { current })) => {
                            assert_ne!(current, item.version);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
    };
    let tasks: Vec<_> = (0..8).map(|task| tokio::spawn(edit(task))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let item = store.get(&["n"], "k").await.unwrap();
    let value: serde_json::Value = serde_json::from_str(&text(&item)).unwrap();
    let mut seen: Vec<u64> =
        value["seen"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..160).collect::<Vec<_>>());
    assert_eq!(item.version, first + 160);
}

pub async fn puts_that_meet_have_versions_of_their_own(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    let puts = (0..200).map(|at| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move { store.put(&["n"], "k", &format!("{{\"at\":{at}}}")).await })
    });
    let puts: Vec<_> = puts.collect();
    let mut versions = Vec::new();
    for put in puts {
        versions.push(put.await.unwrap());
    }
    let item = store.get(&["n"], "k").await.unwrap();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), 200);
    assert_eq!(versions.last(), Some(&item.version));
}

/// Two servers that create the same items at the same moments.
pub async fn two_servers_may_write_the_same_items(h: Harness) {
    let caller = caller_of("tenant-a");
    let (one, two) = (Store::of(&h.storage, &caller).await, Store::of(&h.storage, &caller).await);
    for round in 0..40 {
        let key = format!("k{round}");
        let created = async |store: &Store, value: &str| {
            let put = change(&["n"], &key, Some(value));
            let op = ItemOp::Change(ChangeItem { if_version: Some(0), ..put });
            store.items.run(&caller, op, None, NEVER).await
        };
        let (a, b) = tokio::join!(created(&one, r#"{"by":1}"#), created(&two, r#"{"by":2}"#));
        assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
        let both = [put(&["n"], "same", "{}"), put(&["n"], &key, "{}"), put(&["m"], &key, "{}")];
        let (a, b) = tokio::join!(one.batch(both.to_vec(), true), two.batch(both.to_vec(), true));
        assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
    }
    assert_eq!(one.count(crate::store::scope(&[], "{}")).await, 81);
}
