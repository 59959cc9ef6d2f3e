//! Tests searches of items: they match whole labels in a total order, pages miss nothing, and no foreign item is found.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::store::item::{
    ItemOp, ItemSort, ListNamespaces, MatchCondition, MatchKind, Scope, Select,
};
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::tokens::grants::Actions;

use crate::harness::{Harness, caller_of};
use crate::store::{
    SECOND, Store, all_namespaces, change, granted, keys, namespace, put, search, text,
};

pub async fn a_prefix_ends_at_a_label(h: Harness) {
    let store = Store::on(&h).await;
    for labels in [&["f"][..], &["f", "x"], &["foo"], &["f\u{1}"], &["f", "x", "y"], &["e"], &["F"]]
    {
        store.put(labels, "k", "{}").await;
    }
    let found = async |prefix: &[&str], exact: bool| {
        let mut query = search(prefix, "{}");
        query.scope.exact = exact;
        query.sort = ItemSort::Key;
        let items = store.search(query.clone()).await.items;
        assert_eq!(store.count(query.scope).await, items.len() as u64);
        items.iter().map(|it| it.address.namespace.labels().join("|")).collect::<Vec<_>>()
    };
    assert_eq!(found(&["f"], false).await, ["f", "f|x", "f|x|y"]);
    assert_eq!(found(&["f"], true).await, ["f"]);
    assert_eq!(found(&["f", "x"], false).await, ["f|x", "f|x|y"]);
    assert_eq!(found(&["fo"], false).await, [""; 0]);
    assert_eq!(found(&[], false).await, ["F", "e", "f", "f|x", "f|x|y", "f\u{1}", "foo"]);
    assert_eq!(found(&[], true).await, [""; 0]);
}

pub async fn pages_of_a_batch_miss_nothing_and_repeat_nothing(h: Harness) {
    let store = Store::on(&h).await;
    let ops = (0..450).map(|at| put(&["n"], &format!("k{at:03}"), "{}")).collect();
    store.batch(ops, true).await.unwrap();
    let all: BTreeSet<String> = (0..450).map(|at| format!("k{at:03}")).collect();
    for sort in [ItemSort::Created, ItemSort::Key] {
        let (mut paged, mut query) = (Vec::new(), search(&["n"], "{}"));
        (query.limit, query.sort) = (100, sort);
        loop {
            let page = keys(&store.search(query.clone()).await.items);
            // An update between two pages moves nothing.
            store.clock.advance(SECOND);
            store.put(&["n"], "k007", r#"{"updated":true}"#).await;
            store.put(&["n"], "k444", r#"{"updated":true}"#).await;
            if page.is_empty() {
                break;
            }
            query.offset += page.len();
            paged.extend(page);
        }
        assert_eq!((paged.len(), paged.into_iter().collect::<BTreeSet<_>>()), (450, all.clone()));
        query.offset = 0;
        for limit in [1, 7, 450, 1_000] {
            query.limit = limit;
            let scanned = keys(&store.scan(query.clone()).await);
            assert_eq!((scanned.len(), scanned.into_iter().collect()), (450, all.clone()));
        }
    }
    let mut newest = search(&["n"], "{}");
    (newest.sort, newest.limit) = (ItemSort::Updated, 2);
    assert_eq!(keys(&store.search(newest).await.items), ["k007", "k444"]);
}

pub async fn newest_come_first_and_a_put_does_not_move_them(h: Harness) {
    let store = Store::on(&h).await;
    for key in ["c", "a", "b"] {
        store.put(&["n"], key, r#"{"x":1}"#).await;
        store.clock.advance(SECOND);
    }
    store.put(&["n"], "c", r#"{"x":2}"#).await;
    for filter in ["{}", r#"{"x":{"$gt":0}}"#] {
        assert_eq!(keys(&store.search(search(&["n"], filter)).await.items), ["b", "a", "c"]);
    }
    let mut query = search(&["n"], "{}");
    query.limit = 0;
    assert!(store.search(query.clone()).await.items.is_empty());
    (query.limit, query.offset) = (1, 1);
    assert_eq!(keys(&store.search(query).await.items), ["a"]);
}

pub async fn an_answer_has_what_was_selected(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["n"], "k", r#"{"a": 1.0,"b":{"c" : 2},"d":null}"#).await;
    let found = async |select: Select| {
        let query = threadkeep::domain::store::item::SearchItems { select, ..search(&["n"], "{}") };
        store.search(query).await.items.remove(0)
    };
    assert_eq!(found(Select::Nothing).await.value, None);
    let fields = |of: &[&str]| Select::Fields(of.iter().map(|it| (*it).to_owned()).collect());
    assert_eq!(text(&found(fields(&["d", "b", "zz"])).await), r#"{"d":null,"b":{"c" : 2}}"#);
    let item = found(fields(&[])).await;
    assert_eq!((text(&item).as_str(), item.size_bytes), ("{}", 33));
}

pub fn runner() -> TestRunner {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config::default(), rng)
}

pub fn sample<T: std::fmt::Debug>(
    strategy: &impl Strategy<Value = T>,
    runner: &mut TestRunner,
) -> T {
    strategy.new_tree(runner).unwrap().current()
}

fn labels() -> impl Strategy<Value = Vec<String>> {
    let alphabet = [
        "a",
        ":",
        "%",
        "_",
        "*",
        "/",
        " ",
        "ü",
        "\\",
        "\"",
        ",",
        "{}",
        "NULL",
        "a:",
        "%a",
        "\u{1}",
        "\u{10ffff}",
    ];
    let label = prop::collection::vec(prop::sample::select(alphabet.to_vec()), 1..3);
    prop::collection::vec(label.prop_map(|it| it.concat()), 1..4)
}

fn of(labels: &[String]) -> Vec<&str> {
    labels.iter().map(String::as_str).collect()
}

/// Listings and searches equal plain loops over tuples; tenant B sees nothing of tenant A.
pub async fn namespaces_are_tuples_for_any_labels(h: Harness) {
    let store = Store::on(&h).await;
    let mut runner = runner();
    let mut all: BTreeSet<Vec<String>> = BTreeSet::new();
    while all.len() < 60 {
        let labels = sample(&labels(), &mut runner);
        store.put(&of(&labels), "k", &serde_json::json!({"at": labels}).to_string()).await;
        all.insert(labels);
    }
    let other = caller_of("tenant-b");
    for _ in 0..25 {
        let mut prefix = sample(&labels(), &mut runner);
        if let Some(known) = all.iter().nth(prefix.len() * 13 % all.len()) {
            prefix = known[..prefix.len().min(known.len())].to_vec();
        }
        let below: Vec<&Vec<String>> = all.iter().filter(|it| it.starts_with(&prefix)).collect();
        let mut query = search(&of(&prefix), "{}");
        query.sort = ItemSort::Key;
        let found = store.search(query.clone()).await.items;
        let found: Vec<Vec<String>> =
            found.iter().map(|it| it.address.namespace.labels().to_vec()).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), below, "{prefix:?}");
        assert!(store.search_as(&other, query).await.items.is_empty());
        assert_eq!(store.get_as(&other, &of(&prefix), "k").await, None);
        let is_star = prefix.iter().any(|it| it == "*");
        for depth in [None, Some(1), Some(2), Some(5)] {
            let condition = MatchCondition::new(MatchKind::Prefix, prefix.clone()).unwrap();
            let suffix = MatchCondition::new(MatchKind::Suffix, vec![prefix[0].clone()]).unwrap();
            for conditions in [
                vec![],
                vec![condition.clone()],
                vec![suffix.clone()],
                vec![condition.clone(), suffix],
            ] {
                let query = ListNamespaces { conditions, max_depth: depth, ..all_namespaces() };
                let mut expected: Vec<Vec<String>> = all
                    .iter()
                    .filter(|it| query.matches(&Namespace::new((*it).clone()).unwrap()))
                    .map(|it| it[..depth.unwrap_or(9).min(it.len())].to_vec())
                    .collect();
                expected.dedup();
                assert_eq!(store.namespaces(query.clone()).await, expected, "{query:?} {is_star}");
                assert!(store.namespaces_as(&other, query.clone()).await.is_empty());
                let paged = ListNamespaces { limit: 2, offset: 1, ..query.clone() };
                let part: Vec<Vec<String>> = expected.iter().skip(1).take(2).cloned().collect();
                assert_eq!(store.namespaces(paged).await, part);
                // Each namespace has one item.
                let below = |it: &Vec<String>| all.iter().filter(|one| one.starts_with(it)).count();
                let counts: Vec<u64> = expected.iter().map(|it| below(it) as u64).collect();
                let by_cursor = ListNamespaces { limit: 7, ..query };
                assert_eq!(store.scan_namespaces(by_cursor).await, (expected, counts));
            }
        }
    }
    let none = ListNamespaces { max_depth: Some(0), ..all_namespaces() };
    assert_eq!(store.namespaces(none).await, [[""; 0]]);
}

/// Over a thousand namespaces, which one statement does not list.
pub async fn many_namespaces_are_listed_completely(h: Harness) {
    let store = Store::on(&h).await;
    let names: Vec<String> = (0..1_300).map(|at| format!("{at:04}")).collect();
    for part in names.chunks(500) {
        let ops = part.iter().map(|it| put(&[it, "x"], "k", "{}")).collect();
        store.batch(ops, true).await.unwrap();
    }
    for depth in [None, Some(1)] {
        let page = |offset| ListNamespaces { offset, max_depth: depth, ..all_namespaces() };
        let all = [store.namespaces(page(0)).await, store.namespaces(page(1_000)).await].concat();
        let (scanned, counts) = store.scan_namespaces(page(0)).await;
        assert!(scanned == all && counts.iter().all(|it| *it == 1));
        assert_eq!(all.iter().map(|it| it[0].clone()).collect::<Vec<_>>(), names);
    }
}

pub async fn a_token_sees_and_writes_what_it_was_granted(h: Harness) {
    let store = Store::on(&h).await;
    for labels in [&["ann"][..], &["ann", "x"], &["anna"], &["bob", "x"], &["bob"]] {
        store.put(labels, "k", r#"{"a":1}"#).await;
    }
    let ann = granted("tenant-a", &[(&["ann"], Actions::ALL), (&["bob", "x"], Actions::READ)]);
    let seen = async |prefix: &[&str], filter: &str| {
        let mut query = search(prefix, filter);
        query.sort = ItemSort::Key;
        let items = store.search_as(&ann, query).await.items;
        items.iter().map(|it| it.address.namespace.labels().join("|")).collect::<Vec<_>>()
    };
    for filter in ["{}", r#"{"a":1}"#] {
        assert_eq!(seen(&[], filter).await, ["ann", "ann|x", "bob|x"]);
        assert_eq!(seen(&["bob"], filter).await, ["bob|x"]);
        assert_eq!(seen(&["anna"], filter).await, [""; 0]);
    }
    let listed = store.namespaces_as(&ann, all_namespaces()).await;
    assert_eq!(listed, [vec!["ann"], vec!["ann", "x"], vec!["bob", "x"]]);
    assert_eq!(store.get_as(&ann, &["bob"], "k").await, None);
    assert!(store.get_as(&ann, &["bob", "x"], "k").await.is_some());
    let counted = store.run_as(&ann, ItemOp::Count(Scope::default())).await.unwrap();
    assert_eq!(counted, threadkeep::domain::store::item::OpResult::Count(3));
    let mut exact = search(&["bob"], "{}");
    exact.scope.exact = true;
    assert!(store.search_as(&ann, exact).await.items.is_empty());
    let refused = |result: threadkeep::domain::Result<_>| {
        assert!(matches!(result, Err(threadkeep::domain::Error::NotGranted(_))), "{result:?}");
    };
    for labels in [&["bob"][..], &["bob", "x"], &["anna"], &["absent"]] {
        refused(store.run_as(&ann, put(labels, "k", "{}")).await);
        refused(store.run_as(&ann, ItemOp::Change(change(labels, "k", None))).await);
    }
    assert!(store.run_as(&ann, put(&["ann", "x"], "new", "{}")).await.is_ok());
    let adder = granted("tenant-a", &[(&["log"], Actions::APPEND)]);
    refused(store.run_as(&adder, put(&["log"], "k", "{}")).await);
    refused(store.run_as(&adder, ItemOp::Search(search(&["log"], "{}"))).await);
    let mut add = change(&["log"], "k", Some("{}"));
    add.if_version = Some(0);
    assert!(store.run_as(&adder, ItemOp::Change(add.clone())).await.is_ok());
    assert!(crate::store::current(store.run_as(&adder, ItemOp::Change(add)).await) > 0);
    assert_eq!(namespace(&["log"]).root(), "log");
}
