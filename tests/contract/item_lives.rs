//! Tests times to live: an expired item is absent at once, reads extend, the sweep removes.

use threadkeep::domain::store::item::Item;
use threadkeep::domain::store::item::{ChangeItem, ItemOp, OpResult, ttl_micros};

use crate::harness::Harness;
use crate::store::{SECOND, START, Store, all_namespaces, change, current, get, scope, search};

async fn put(store: &Store, key: &str, minutes: Option<f64>) -> i64 {
    let mut put = change(&["n"], key, Some(r#"{"a":1}"#));
    put.value.as_mut().unwrap().ttl_micros = minutes.map(|it| ttl_micros(it).unwrap());
    store.try_put(put).await.unwrap()
}

async fn peek(store: &Store, key: &str) -> Option<Item> {
    match store.run(get(&["n"], key, false)).await.unwrap() {
        OpResult::Got(item) => item,
        other => panic!("{other:?}"),
    }
}

pub async fn what_has_expired_is_absent_everywhere(h: Harness) {
    let store = Store::on(&h).await;
    put(&store, "short", Some(0.4)).await;
    put(&store, "at once", Some(0.0)).await;
    put(&store, "for ever", None).await;
    assert_eq!(peek(&store, "at once").await, None);
    store.clock.advance(23 * SECOND);
    assert!(peek(&store, "short").await.is_some());
    store.clock.advance(SECOND);
    assert_eq!(peek(&store, "short").await, None);
    assert_eq!(store.count(scope(&["n"], "{}")).await, 1);
    assert_eq!(store.count(scope(&["n"], r#"{"a":1}"#)).await, 1);
    assert_eq!(store.search(search(&[], "{}")).await.items.len(), 1);
    assert_eq!(store.search(search(&["n"], r#"{"a":1}"#)).await.items.len(), 1);
    store.delete(&["n"], "for ever").await;
    assert!(store.namespaces(all_namespaces()).await.is_empty());
}

pub async fn a_read_extends_a_life_of_which_a_tenth_has_passed(h: Harness) {
    let store = Store::on(&h).await;
    put(&store, "k", Some(0.4)).await;
    let expiry = async || peek(&store, "k").await.unwrap().expires_at.unwrap();
    let first = expiry().await;
    // The first read of a short life is not its end.
    store.clock.advance(2 * SECOND);
    assert_eq!(store.get(&["n"], "k").await.unwrap().expires_at, Some(first));
    assert_eq!(expiry().await, first, "less than a tenth");
    store.clock.advance(SECOND);
    assert_eq!(expiry().await, first, "a read that does not refresh");
    let read = store.get(&["n"], "k").await.unwrap();
    assert_eq!((read.expires_at, expiry().await), (Some(first + 3 * SECOND), first + 3 * SECOND));
    store.clock.advance(20 * SECOND);
    let found = store.search(search(&["n"], "{}")).await.items;
    assert_eq!(
        (found[0].expires_at, expiry().await),
        (Some(first + 23 * SECOND), first + 23 * SECOND)
    );
    assert_eq!(found[0].version, peek(&store, "k").await.unwrap().version, "a read is no change");
    // Only what a search returns.
    put(&store, "later", Some(0.4)).await;
    store.clock.advance(10 * SECOND);
    let mut one = search(&["n"], "{}");
    one.limit = 1;
    assert_eq!(crate::store::keys(&store.search(one).await.items), ["later"]);
    assert_eq!(expiry().await, first + 23 * SECOND);
}

pub async fn a_put_without_a_life_takes_the_earlier_one_away(h: Harness) {
    let store = Store::on(&h).await;
    put(&store, "k", Some(1.0)).await;
    put(&store, "k", None).await;
    store.clock.advance(3_600 * SECOND);
    let item = peek(&store, "k").await.unwrap();
    assert_eq!((item.expires_at, item.ttl_micros), (None, None));
}

pub async fn an_expired_item_is_created_anew(h: Harness) {
    let store = Store::on(&h).await;
    let first = put(&store, "k", Some(0.5)).await;
    store.clock.advance(60 * SECOND);
    let with = |it| ChangeItem { if_version: Some(it), ..change(&["n"], "k", Some("{}")) };
    assert_eq!(current(store.try_put(with(first)).await), 0, "it is not there");
    let second = store.try_put(with(0)).await.unwrap();
    let item = peek(&store, "k").await.unwrap();
    assert!(second > first && item.created_at >= START + 60 * SECOND);
    assert_eq!((item.version, item.expires_at), (second, None));
}

pub async fn the_sweep_removes_what_has_expired_and_nothing_else(h: Harness) {
    let store = Store::on(&h).await;
    for at in 0..1_200 {
        let op = |minutes: Option<f64>| {
            let mut put = change(&["n"], &format!("k{at}"), Some("{}"));
            put.value.as_mut().unwrap().ttl_micros = minutes.map(|it| ttl_micros(it).unwrap());
            ItemOp::Change(put)
        };
        if at % 400 == 0 {
            store.batch(vec![op(None)], true).await.unwrap();
        } else {
            store.batch(vec![op(Some(1.0 + f64::from(at % 2)))], true).await.unwrap();
        }
    }
    store.storage.sweep(START + 90 * SECOND).await.unwrap();
    let left = h.count("select count(*) from items").await;
    assert_eq!(left, 3 + 600);
    store.storage.sweep(START + 900 * SECOND).await.unwrap();
    assert_eq!(h.count("select count(*) from items").await, 3);
}
