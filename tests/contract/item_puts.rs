//! Tests plain puts: their answers, and the removal of what belongs to the items that they replace.

use threadkeep::domain::store::item::{ItemOp, OpResult};
use threadkeep::domain::store::vector::{FieldVector, Model, NewVectors, Vector};

use crate::harness::{Harness, masters};
use crate::store::{SECOND, Store, change, put};
use crate::subjects::check_sound;

/// New items, items with lives and versions of their own, and items whose lives have ended.
pub async fn puts_of_a_batch_answer_the_version_of_each(h: Harness) {
    let store = Store::on(&h).await;
    let key = |at: usize| format!("k{:02}", at * 37 % 60);
    for at in (0..60).filter(|at| at % 3 > 0) {
        for _ in 0..=at % 4 {
            let mut put = change(&["n"], &key(at), Some("{\"before\":1}"));
            put.value.as_mut().unwrap().ttl_micros = (at % 3 == 2).then_some(SECOND);
            store.try_put(put).await.unwrap();
        }
    }
    let mut before = Vec::new();
    for at in 0..60 {
        before.push(store.get(&["n"], &key(at)).await);
    }
    store.clock.advance(2 * SECOND);
    let puts = (0..60).map(|at| put(&["n"], &key(at), &format!("{{\"at\":{at}}}")));
    let answers = store.batch(puts.collect(), true).await.unwrap();
    let now = store.clock.now();
    for (at, answer) in answers.into_iter().enumerate() {
        let item = store.get(&["n"], &key(at)).await.unwrap();
        assert_eq!(answer.unwrap(), OpResult::Put(item.version), "{at}");
        assert_eq!((item.updated_at, item.ttl_micros), (now, None), "{at}");
        let lived = before[at].as_ref().filter(|_| at % 3 == 1);
        assert_eq!(item.created_at, lived.map_or(now, |it| it.created_at), "{at}");
        match (lived, &before[at]) {
            (Some(earlier), _) => assert_eq!(item.version, earlier.version + 1, "{at}"),
            (None, Some(expired)) => assert!(item.version > expired.version, "{at}"),
            (None, None) => assert_eq!(at % 3, 0),
        }
    }
    check_sound(&h).await;
}

/// Vectors, the queue of the server's vectors, and chunks of a large value.
pub async fn a_plain_put_leaves_nothing_of_what_it_replaces(h: Harness) {
    let store = Store::on(&h).await;
    let large = format!("{{\"text\":\"{}\"}}", "so much ".repeat(9_000));
    store.put(&["n"], "k", &large).await;
    store.put(&["n"], "k", "{}").await;
    assert_eq!(h.count("select count(*) from garbage").await, 1);
    assert_eq!(h.count("select count(*) from items where scope_id is not null").await, 0);
    if masters().is_some() {
        return;
    }
    let mut near = change(&["n"], "k", Some("{}"));
    let vector = Vector::new("v", vec![1.0, 0.0]).unwrap();
    let one = FieldVector { field: "$".into(), vector };
    let vectors = NewVectors::new(Model::default(), vec![one]).unwrap();
    near.value.as_mut().unwrap().vectors = Some(vectors);
    store.try_put(near).await.unwrap();
    assert_eq!(h.count("select count(*) from item_vectors").await, 1);
    store.run(ItemOp::Change(change(&["n"], "k", Some("{}")))).await.unwrap();
    assert_eq!(h.count("select count(*) from item_vectors").await, 0);
    assert_eq!(h.count("select count(*) from items where vector_bytes > 0").await, 0);
}

pub async fn a_clock_that_is_set_back_sets_no_version_back(h: Harness) {
    let store = Store::on(&h).await;
    let first = store.put(&["n"], "k", "{}").await;
    store.clock.advance(-3_600 * SECOND);
    let second = store.put(&["n"], "k", "{}").await;
    store.delete(&["n"], "k").await;
    let third = store.put(&["n"], "k", "{}").await;
    let other = store.put(&["n"], "other", "{}").await;
    assert!(first < second && second < third && third < other);
}
