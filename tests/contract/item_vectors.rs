//! Tests vectors of items: the nearest come first, nothing stale is found, pages are never short.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use threadkeep::domain::store::item::{
    ChangeItem, Item, ItemOp, ItemSort, SearchItems, SearchMode, Select, ttl_micros,
};
use threadkeep::domain::store::vector::{FieldVector, Metric, Model, Near, NewVectors, Vector};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Error, Result};
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::harness::{Harness, caller_of, config, master_keys, masters};
use crate::store::{SECOND, Store, change, granted, keys, search, text};

pub fn vectors(model: &str, all: &[&[f32]]) -> NewVectors {
    let one = |it: &&[f32]| FieldVector {
        field: "text".into(),
        vector: Vector::new("vector", it.to_vec()).unwrap(),
    };
    NewVectors::new(Model::new(model).unwrap(), all.iter().map(one).collect()).unwrap()
}

pub fn put_near(labels: &[&str], key: &str, value: &str, all: &[&[f32]]) -> ChangeItem {
    let mut put = change(labels, key, Some(value));
    put.value.as_mut().unwrap().vectors = (!all.is_empty()).then(|| vectors("m", all));
    put
}

pub fn near(prefix: &[&str], filter: &str, to: &[f32], metric: Metric) -> SearchItems {
    let vector = Vector::new("query_vector", to.to_vec()).unwrap();
    let mode = SearchMode::Vector(Near { model: Model::new("m").unwrap(), metric, vector });
    SearchItems { mode, sort: ItemSort::Score, ..search(prefix, filter) }
}

pub fn scores(items: &[Item]) -> Vec<(String, Option<f64>)> {
    let rounded = |it: &Item| it.score.map(|it| (it * 1e5).round() / 1e5);
    keys(items).into_iter().zip(items.iter().map(rounded)).collect()
}

fn field<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.unwrap_err() {
        Error::Invalid { field, .. } => field,
        other => panic!("{other}"),
    }
}

/// With encryption there are no vectors: what a put or a search answers then. True: the case ends here.
pub async fn is_refused(store: &Store) -> bool {
    if masters().is_none() {
        return false;
    }
    let refused = store.try_put(put_near(&["n"], "k", "{}", &[&[1.0]])).await.unwrap_err();
    assert!(matches!(refused, Error::VectorsNeedPlaintext { field: "vectors" }), "{refused}");
    assert_eq!(store.get(&["n"], "k").await, None);
    let query = near(&[], "{}", &[1.0], Metric::Cosine);
    let refused = store.run(ItemOp::Search(query)).await.unwrap_err();
    assert!(matches!(refused, Error::VectorsNeedPlaintext { field: "query_vector" }), "{refused}");
    true
}

pub async fn the_nearest_come_first_and_the_rest_follows(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    for (labels, key, all) in [
        (&["a"][..], "east", &[&[2.0_f32, 0.0][..]][..]),
        (&["a"], "north", &[&[0.0, 1.0]]),
        (&["a", "b"], "both", &[&[0.0, 3.0], &[1.0, 0.1], &[-1.0, 0.0]]),
        (&["ab"], "other", &[&[1.0, 0.0]]),
        (&["a"], "old none", &[]),
        (&["a"], "new none", &[]),
        (&["a"], "west", &[&[-1.0, 0.0]]),
        (&["a"], "zero", &[&[0.0, 0.0]]),
    ] {
        let value = format!(r#"{{"n":{}}}"#, key.len());
        store.try_put(put_near(labels, key, &value, all)).await.unwrap();
        store.clock.advance(SECOND);
    }
    let query = near(&["a"], "{}", &[1.0, 0.0], Metric::Cosine);
    let all: Vec<(String, Option<f64>)> = [
        ("east", Some(1.0)),
        ("both", Some(0.99504)),
        ("zero", Some(0.0)),
        ("north", Some(0.0)),
        ("west", Some(-1.0)),
        ("new none", None),
        ("old none", None),
    ]
    .map(|(key, score)| (key.to_owned(), score))
    .to_vec();
    assert_eq!(scores(&store.search(query.clone()).await.items), all);
    // By offset and by cursor, and no page is short.
    for limit in [1, 2, 3, 7, 10] {
        let query = SearchItems { limit, ..query.clone() };
        assert_eq!(scores(&store.scan(query.clone()).await), all, "limit {limit}");
        let mut paged = Vec::new();
        while paged.len() < all.len() {
            let page = SearchItems { offset: paged.len(), ..query.clone() };
            let page = store.search(page).await.items;
            assert_eq!(page.len(), limit.min(all.len() - paged.len()));
            paged.extend(scores(&page));
        }
        assert_eq!(paged, all, "limit {limit}");
    }
    let mut exact = query.clone();
    exact.scope.exact = true;
    let without = |key: &str| all.iter().filter(|it| it.0 != key).cloned().collect::<Vec<_>>();
    assert_eq!(scores(&store.search(exact).await.items), without("both"));
    let bare = SearchItems { select: Select::Nothing, ..query.clone() };
    let bare = store.search(bare).await.items;
    assert!(scores(&bare) == all && bare.iter().all(|it| it.value.is_none()));
    let filtered = near(&["a"], r#"{"n":4}"#, &[1.0, 0.0], Metric::Cosine);
    let filtered = store.scan(SearchItems { limit: 1, ..filtered }).await;
    assert_eq!(keys(&filtered), ["east", "both", "zero", "west"]);
    assert!(store.search(near(&["c"], "{}", &[1.0, 0.0], Metric::L2)).await.items.is_empty());
    assert!(store.search(SearchItems { limit: 0, ..query }).await.items.is_empty());
}

/// Random items against a plain loop, every metric, with filters that the index of filters can and cannot decide.
pub async fn every_search_equals_a_plain_loop(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    let mut random = StdRng::seed_from_u64(7);
    let mut number = move || (random.random::<f32>() - 0.5) * 4.0;
    let long = "x".repeat(300);
    let mut stored: BTreeMap<String, Vec<Vec<f32>>> = BTreeMap::new();
    for part in 0..3 {
        let ops = (0..60).map(|at| {
            let key = format!("k{:03}", part * 60 + at);
            let all: Vec<Vec<f32>> =
                (0..at % 4).map(|_| (0..6).map(|_| number()).collect()).collect();
            let borrowed: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
            let value = format!(r#"{{"third":{},"long":"{long}{}"}}"#, at % 3 == 0, at % 5);
            let put = put_near(&["n"], &key, &value, &borrowed);
            stored.insert(key, all);
            ItemOp::Change(put)
        });
        store.batch(ops.collect(), true).await.unwrap();
        store.clock.advance(SECOND);
    }
    let asked: Vec<f32> = (0..6).map(|_| number()).collect();
    for metric in [Metric::Cosine, Metric::L2, Metric::InnerProduct] {
        for (filter, matches) in [
            ("{}".to_owned(), (|_| true) as fn(usize) -> bool),
            (r#"{"third":true}"#.to_owned(), |at| at % 60 % 3 == 0),
            (format!(r#"{{"long":"{long}2"}}"#), |at| at % 60 % 5 == 2),
            (format!(r#"{{"long":{{"$ne":"{long}2"}},"third":false}}"#), |at| {
                at % 60 % 5 != 2 && at % 60 % 3 != 0
            }),
        ] {
            let score = |all: &Vec<Vec<f32>>| {
                all.iter().map(|it| metric.score(&asked, it)).max_by(f64::total_cmp)
            };
            let mut expected: Vec<(&String, Option<f64>, usize)> = stored
                .iter()
                .enumerate()
                .filter(|(at, _)| matches(*at))
                .map(|(at, (key, all))| (key, score(all), at / 60))
                .collect();
            expected.sort_by(|a, b| match (a.1, b.1) {
                (Some(x), Some(y)) => y.total_cmp(&x),
                (x, y) => y.is_some().cmp(&x.is_some()).then(b.2.cmp(&a.2)).then(a.0.cmp(b.0)),
            });
            let query = SearchItems { limit: 7, ..near(&["n"], &filter, &asked, metric) };
            let found = store.scan(query).await;
            assert_eq!(found.len(), expected.len(), "{metric:?} {filter}");
            for (item, (key, score, _)) in found.iter().zip(&expected) {
                assert_eq!(item.address.key.text(), Some(key.as_str()), "{metric:?} {filter}");
                let close = |a: f64, b: f64| (a - b).abs() < 1e-5;
                assert!(match (item.score, *score) {
                    (Some(a), Some(b)) => close(a, b),
                    (a, b) => a == b,
                });
            }
        }
    }
}

pub async fn nothing_stale_is_found_or_left(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    let left =
        async || h.count("select count(*) from item_vectors where tenant = 'tenant-a'").await;
    let found = async || {
        let query = near(&[], "{}", &[1.0, 0.0], Metric::Cosine);
        scores(&store.search(query).await.items)
    };
    let put = async |all: &[&[f32]]| {
        store.try_put(put_near(&["n"], "k", "{}", all)).await.unwrap();
    };
    put(&[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]]).await;
    assert_eq!((found().await, left().await), (vec![("k".to_owned(), Some(1.0))], 3));
    put(&[&[0.0, 1.0]]).await;
    assert_eq!((found().await, left().await), (vec![("k".to_owned(), Some(0.0))], 1));
    put(&[]).await;
    assert_eq!((found().await, left().await), (vec![("k".to_owned(), None)], 0));
    put(&[&[0.0, 1.0]]).await;
    store.delete(&["n"], "k").await;
    assert_eq!((found().await, left().await), (vec![], 0));
    let mut short = put_near(&["n"], "k", "{}", &[&[1.0, 0.0]]);
    short.value.as_mut().unwrap().ttl_micros = Some(ttl_micros(0.5).unwrap());
    store.try_put(short).await.unwrap();
    put_other(&store).await;
    store.clock.advance(31 * SECOND);
    assert_eq!(found().await, [("other".to_owned(), Some(0.0))]);
    store.storage.sweep(store.clock.now()).await.unwrap();
    assert_eq!(left().await, 1, "what has expired is swept, and nothing else");
    // A put that is refused changes nothing.
    let mut refused = put_near(&["n"], "other", "{}", &[&[1.0, 0.0]]);
    refused.if_version = Some(1);
    assert!(crate::store::current(store.try_put(refused).await) > 1);
    assert_eq!(found().await, [("other".to_owned(), Some(0.0))]);
    // Of several puts in one batch the last one counts.
    let ops = [&[0.5, 0.5][..], &[-1.0, 0.0], &[3.0, 0.0]]
        .map(|it| ItemOp::Change(put_near(&["n"], "other", "{}", &[it])));
    store.batch(ops.to_vec(), false).await.unwrap();
    assert_eq!((found().await, left().await), (vec![("other".to_owned(), Some(1.0))], 1));
}

async fn put_other(store: &Store) {
    store.try_put(put_near(&["n"], "other", "{}", &[&[0.0, 1.0]])).await.unwrap();
}

pub async fn an_erased_subject_leaves_no_vector(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    for labels in [&["ann"][..], &["ann", "x"], &["bob"]] {
        for key in ["a", "b", "c"] {
            store.try_put(put_near(labels, key, "{}", &[&[1.0], &[2.0]])).await.unwrap();
        }
    }
    crate::subjects::erase(&h.storage, "ann").await;
    let left = "select count(*) from item_vectors where tenant = 'tenant-a'";
    assert_eq!(h.count(left).await, 6);
    let query = near(&[], "{}", &[1.0], Metric::Cosine);
    assert_eq!(keys(&store.search(query).await.items), ["a", "b", "c"]);
}

pub async fn only_vectors_of_one_model_and_length_are_compared(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    store.try_put(put_near(&["n"], "m", "{}", &[&[1.0, 0.0]])).await.unwrap();
    let of = |key: &str, model: &str, all: &[&[f32]]| {
        let mut put = change(&["n"], key, Some("{}"));
        put.value.as_mut().unwrap().vectors = Some(vectors(model, all));
        put
    };
    store.try_put(of("other", "other", &[&[1.0, 0.0, 0.0]])).await.unwrap();
    let query = near(&[], "{}", &[1.0, 0.0], Metric::Cosine);
    let found = store.search(query.clone()).await.items;
    assert_eq!(scores(&found), [("m".to_owned(), Some(1.0)), ("other".to_owned(), None)]);
    // Another length under the same name is a mistake, and nothing of it is stored.
    let wrong = store.try_put(of("wrong", "m", &[&[1.0, 0.0, 0.0]])).await;
    assert_eq!(field(wrong), "vectors[0].vector");
    let ops = vec![
        ItemOp::Change(put_near(&["n"], "first", "{}", &[&[0.0, 1.0]])),
        ItemOp::Change(of("wrong", "m", &[&[1.0]])),
    ];
    assert!(store.batch(ops, true).await.is_err());
    assert_eq!(store.search(query).await.items.len(), 2);
    let asked = near(&[], "{}", &[1.0], Metric::Cosine);
    assert_eq!(field(store.run(ItemOp::Search(asked.clone())).await), "query_vector");
    // Each tenant has models of its own.
    let other = caller_of("tenant-b");
    assert!(store.search_as(&other, asked).await.items.is_empty());
    store.run_as(&other, ItemOp::Change(of("k", "m", &[&[1.0]]))).await.unwrap();
    let second = Store::of(&store.storage, &other).await;
    assert!(field(second.try_put(of("k", "m", &[&[1.0, 2.0]])).await).starts_with("vectors"));
    for at in 0..63 {
        second.try_put(of("k", &format!("m{at}"), &[&[1.0]])).await.unwrap();
    }
    assert_eq!(field(second.try_put(of("k", "one-more", &[&[1.0]])).await), "model");
    second.try_put(of("k", "m62", &[&[2.0]])).await.unwrap();
}

pub async fn vectors_of_others_are_not_found(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    for labels in [&["ann"][..], &["ann", "x"], &["anna"], &["bob"]] {
        let key = labels.join("|");
        store.try_put(put_near(labels, &key, r#"{"a":1}"#, &[&[1.0, 0.5]])).await.unwrap();
        store.clock.advance(SECOND);
    }
    for filter in ["{}", r#"{"a":1}"#] {
        let query = near(&[], filter, &[1.0, 0.0], Metric::InnerProduct);
        let stranger = caller_of("tenant-b");
        assert!(store.search_as(&stranger, query.clone()).await.items.is_empty());
        let ann = granted("tenant-a", &[(&["ann"], Actions::READ)]);
        assert_eq!(keys(&store.search_as(&ann, query.clone()).await.items), ["ann|x", "ann"]);
        let nobody = granted("tenant-a", &[(&["nobody"], Actions::READ)]);
        assert!(store.search_as(&nobody, query).await.items.is_empty());
    }
}

pub async fn the_longest_names_and_vectors_are_kept(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    let label = "l".repeat(20);
    let labels: Vec<&str> = vec![&label; 32];
    let numbers: Vec<f32> = (0..4_096_u16).map(|it| f32::from(it) / 4_096.0 - 0.25).collect();
    let model = "m".repeat(128);
    let mut put = change(&labels, &"k".repeat(1_024), Some("{}"));
    let many: Vec<&[f32]> = vec![&numbers; 3];
    put.value.as_mut().unwrap().vectors = Some(vectors(&model, &many));
    store.try_put(put).await.unwrap();
    let mut query = near(&labels, "{}", &numbers, Metric::Cosine);
    let SearchMode::Vector(sought) = &mut query.mode else { panic!() };
    sought.model = Model::new(&model).unwrap();
    let found = store.search(query).await.items;
    assert!((found[0].score.unwrap() - 1.0).abs() < 1e-6);
}

/// Servers that put the same item at the same time leave the vectors of one of them.
pub async fn a_race_leaves_vectors_of_one_version(h: Harness) {
    let (first, second) = (Store::on(&h).await, Store::on(&h).await);
    if is_refused(&first).await {
        return;
    }
    // Each time another item: the next put of the same one would clean up.
    for round in 0..40 {
        let key = format!("k{round}");
        let put = async |store: &Store, to: f32| {
            let put = put_near(&["n"], &key, "{}", &[&[to, 1.0], &[to, 2.0]]);
            store.try_put(put).await.unwrap()
        };
        put(&first, 0.0).await;
        tokio::join!(put(&first, 1.0), put(&second, 2.0));
    }
    assert_eq!(h.count("select count(*) from item_vectors where tenant = 'tenant-a'").await, 80);
    let stale = "select count(*) from item_vectors v where not exists
        (select 1 from items i where i.tenant = v.tenant and i.key = v.key and i.version = v.version)";
    assert_eq!(h.count(stale).await, 0);
}

pub async fn turning_encryption_on_removes_them(h: Harness) {
    let store = Store::on(&h).await;
    if is_refused(&store).await {
        return;
    }
    store.try_put(put_near(&["n"], "k", r#"{"a":1}"#, &[&[1.0, 2.0]])).await.unwrap();
    let command = StorageConfig {
        exclusive: false,
        encryption: Encryption::Begins(master_keys(7)),
        ..config(h.url())
    };
    let encrypting = storage::open(&command).await.unwrap();
    encrypting.encrypt_stored().await.unwrap();
    encrypting.close().await;
    assert_eq!(h.count("select count(*) from item_vectors where tenant = 'tenant-a'").await, 0);
    let bytes = "select cast(sum(vector_bytes) as bigint) from items where tenant = 'tenant-a'";
    assert_eq!(h.count(bytes).await, 0);
    let h = h.encrypting(None).await;
    let store = Store::on(&h).await;
    assert_eq!(text(&store.get(&["n"], "k").await.unwrap()), r#"{"a":1}"#);
    let again = store.try_put(put_near(&["n"], "k", "{}", &[&[1.0, 2.0]])).await;
    assert!(matches!(again, Err(Error::VectorsNeedPlaintext { field: "vectors" })), "{again:?}");
}
