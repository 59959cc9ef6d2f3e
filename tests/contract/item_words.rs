//! Tests searches by words: the found items, their order, and when words of earlier items are indexed.

use std::collections::BTreeMap;

use threadkeep::domain::Error;
use threadkeep::domain::store::item::{Item, ItemSort, SearchItems, SearchMode};
use threadkeep::domain::store::namespace_settings::Declared;
use threadkeep::domain::store::ranking::{Candidate, rank};
use threadkeep::domain::store::vector::{FieldVector, Metric, Model, Near, NewVectors, Vector};
use threadkeep::domain::store::word_walks::WordWalks;
use threadkeep::domain::store::words::{ItemWords, TextQuery};
use threadkeep::domain::tokens::grants::Actions;

use crate::harness::{Harness, NEVER, caller_of, masters};
use crate::store::{SECOND, Store, change, granted, keys, namespace, scope, search, text};
use crate::subjects::{ANN, check_sound, erase};

pub async fn declare(store: &Store, labels: &[&str], fields: &[&str]) {
    let fields: Vec<String> = fields.iter().map(|it| (*it).to_owned()).collect();
    let declared = Declared { history: None, text_fields: Some(fields) };
    store.settings.put(&store.caller, namespace(labels), declared, NEVER).await.unwrap();
}

pub fn finding(labels: &[&str], query: &str) -> SearchItems {
    let mode = SearchMode::Text(TextQuery::new(query).unwrap());
    SearchItems { mode, sort: ItemSort::Score, ..search(labels, "{}") }
}

async fn found(store: &Store, labels: &[&str], query: &str) -> Vec<String> {
    keys(&store.search(finding(labels, query)).await.items)
}

pub async fn walk(store: &Store) -> u64 {
    let (storage, clock) =
        (std::sync::Arc::clone(&store.storage), std::sync::Arc::clone(&store.clock));
    let settings = std::sync::Arc::clone(&store.settings);
    WordWalks::new(storage, settings, clock).work().await.unwrap()
}

async fn is_indexing(store: &Store, labels: &[&str]) -> bool {
    let (own, _) = store.settings.get(&store.caller, &namespace(labels)).await.unwrap();
    own.unwrap().is_indexing
}

pub async fn words_find_the_items_that_have_them(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], &["$"]).await;
    store.put(&["n"], "tea", r#"{"text":"Green TEA, and tea again","n":5}"#).await;
    store.put(&["n", "below"], "both", r#"{"list":["Tea",{"deep":"coffee"}]}"#).await;
    store
        .put(&["n"], "coffee", r#"{"text":"Coffee is what it is: a long text about coffee"}"#)
        .await;
    store.put(&["m"], "other", r#"{"text":"tea"}"#).await;
    assert_eq!(found(&store, &["n"], "TEA!").await, ["tea", "both"]);
    assert_eq!(found(&store, &["n"], "coffee tea").await[0], "both");
    assert_eq!(found(&store, &["n", "below"], "tea").await, ["both"]);
    assert!(found(&store, &["n"], "te").await.is_empty(), "words, not their beginnings");
    assert!(found(&store, &["n"], "5 ?! text2").await.is_empty());
    assert!(found(&store, &["n"], " -- ").await.is_empty());
    let page = store.search(finding(&["n"], "tea")).await;
    let scores: Vec<f64> = page.items.iter().map(|it| it.score.unwrap()).collect();
    assert!(scores[0] > scores[1] && scores[1] > 0.0, "{scores:?}");
    assert_eq!(text(&page.items[1]), r#"{"list":["Tea",{"deep":"coffee"}]}"#);
    let exact = SearchItems {
        scope: threadkeep::domain::store::item::Scope { exact: true, ..scope(&["n"], "{}") },
        ..finding(&["n"], "tea")
    };
    assert_eq!(keys(&store.search(exact).await.items), ["tea"]);
    let filtered =
        SearchItems { scope: scope(&["n"], r#"{"n":{"$lt":6}}"#), ..finding(&["n"], "coffee tea") };
    assert_eq!(keys(&store.search(filtered).await.items), ["tea"]);
    // A put replaces the words, a deletion takes them along, a life ends them.
    store.put(&["n"], "tea", r#"{"text":"water"}"#).await;
    assert_eq!(found(&store, &["n"], "tea").await, ["both"]);
    store.delete(&["n", "below"], "both").await;
    assert!(found(&store, &["n"], "tea").await.is_empty());
    let mut short = change(&["n"], "short", Some(r#"{"text":"water"}"#));
    short.value.as_mut().unwrap().ttl_micros = Some(SECOND);
    store.try_put(short).await.unwrap();
    assert_eq!(found(&store, &["n"], "water").await.len(), 2);
    store.clock.advance(2 * SECOND);
    assert_eq!(found(&store, &["n"], "water").await, ["tea"]);
    check_sound(&h).await;
}

pub async fn a_namespace_without_words_says_how_to_declare_them(h: Harness) {
    let store = Store::on(&h).await;
    let refused = |error: Error| match error {
        Error::Invalid { field, detail, .. } => (field, detail),
        other => panic!("{other}"),
    };
    let ask = async |labels: &[&str]| {
        let op = threadkeep::domain::store::item::ItemOp::Search(finding(labels, "tea"));
        store.run(op).await.map(|_| ()).map_err(refused)
    };
    let (field, detail) = ask(&["n"]).await.unwrap_err();
    assert_eq!(field, "mode");
    assert!(detail.contains("/v1/store/settings/put") && detail.contains(r#"["n"]"#), "{detail}");
    declare(&store, &["n"], &["$"]).await;
    declare(&store, &["n", "off"], &[]).await;
    assert!(ask(&["n", "x"]).await.is_ok());
    assert!(ask(&["n", "off"]).await.is_err());
    assert!(ask(&[]).await.is_err(), "what is above is not declared");
    store.put(&["n", "off"], "k", r#"{"text":"tea"}"#).await;
    store.put(&["n", "on"], "k2", r#"{"text":"tea"}"#).await;
    assert_eq!(found(&store, &["n"], "tea").await, ["k2"]);
}

/// Random documents: each engine has the order of the model, so both have the same.
pub async fn the_order_is_that_of_the_model(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], &["title", "body.text"]).await;
    let mut random = Random(41);
    let words = ["tea", "Coffee", "water", "milk", "ünïcode", "don't", "日本", "x1"];
    let mut documents: BTreeMap<(Vec<String>, String), String> = BTreeMap::new();
    for at in 0..160 {
        let mut some = |most: u64| {
            let count = random.below(most);
            let picked = (0..count).map(|_| words[usize::try_from(random.below(8)).unwrap()]);
            picked.collect::<Vec<_>>().join(" ")
        };
        let value =
            serde_json::json!({"title": some(4), "body": {"text": [some(30)], "other": "tea"}});
        let labels = [["n", "a"], ["n", "b"]][at % 2];
        let key = format!("k{:02}", at % 90);
        store.put(&labels, &key, &value.to_string()).await;
        documents.insert((labels.map(str::to_owned).to_vec(), key), value.to_string());
        if at % 3 == 0 {
            store.clock.advance(SECOND);
        }
    }
    let items = store.scan(search(&["n"], "{}")).await;
    assert_eq!(items.len(), documents.len());
    for query in ["tea", "tea coffee", "milk ünïcode don't", "日 本 x1", "coffee none", "none"]
    {
        for prefix in [&["n"][..], &["n", "b"][..]] {
            let expected = model(&items, prefix, query);
            let page = store.search(finding(prefix, query)).await;
            let place = |it: &Item| (it.address.clone(), it.score.unwrap().to_bits());
            assert_eq!(page.items.iter().map(place).collect::<Vec<_>>(), expected, "{query}");
            // By cursor and by offset the same.
            let pages = SearchItems { limit: 7, ..finding(prefix, query) };
            let scanned = store.scan(pages.clone()).await;
            assert_eq!(scanned.iter().map(place).collect::<Vec<_>>(), expected, "{query}");
            let second = store.search(SearchItems { offset: 7, ..pages }).await;
            let rest: Vec<_> = expected.iter().skip(7).take(7).cloned().collect();
            assert_eq!(second.items.iter().map(place).collect::<Vec<_>>(), rest, "{query}");
        }
    }
}

fn model(
    items: &[Item],
    prefix: &[&str],
    query: &str,
) -> Vec<(threadkeep::domain::store::item::Address, u64)> {
    let numbers = TextQuery::new(query).unwrap().numbers("tenant-a");
    let fields = ["title".to_owned(), "body.text".to_owned()];
    let candidate = |it: &Item| {
        let document = serde_json::from_str(&text(it)).unwrap();
        let own = ItemWords::of("tenant-a", &fields, &document);
        let count = |it: &i64| own.words.binary_search(it).map_or(0, |at| own.counts[at]);
        Candidate {
            address: it.address.clone(),
            version: it.version,
            created_at: it.created_at,
            total: own.total,
            counts: numbers.iter().map(count).collect(),
        }
    };
    let below = items.iter().filter(|it| it.address.namespace.starts_with(&namespace(prefix)));
    let all = below.map(candidate).filter(|it| it.counts.iter().any(|it| *it > 0)).collect();
    rank(all).into_iter().map(|it| (it.address, it.score.to_bits())).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

pub async fn items_from_before_get_their_words_in_the_background(h: Harness) {
    let store = Store::on(&h).await;
    let large = format!(r#"{{"text":"tea {}","other":"coffee"}}"#, "and more ".repeat(20_000));
    for at in 0..450 {
        let value = if at == 7 {
            large.clone()
        } else {
            format!(r#"{{"text":"tea {at}","other":"coffee"}}"#)
        };
        store.put(&["n", &format!("l{}", at % 3)], &format!("k{at:03}"), &value).await;
    }
    store.put(&["m"], "k", r#"{"text":"tea"}"#).await;
    declare(&store, &["n"], &["text"]).await;
    assert!(is_indexing(&store, &["n"]).await);
    assert_eq!(walk(&store).await, 0, "other servers may not know it yet");
    store.put(&["n"], "new", r#"{"text":"tea"}"#).await;
    // Words of encrypted values are made when they are sought.
    let expected = if masters().is_some() { 451 } else { 1 };
    assert_eq!(store.scan(finding(&["n"], "tea")).await.len(), expected);
    store.clock.advance(6 * SECOND);
    assert_eq!(walk(&store).await, 1);
    assert!(!is_indexing(&store, &["n"]).await);
    assert_eq!(store.scan(finding(&["n"], "tea")).await.len(), 451);
    assert!(found(&store, &["n"], "coffee").await.is_empty());
    assert_eq!(found(&store, &["n"], "more").await, ["k007"]);
    // Other fields.
    declare(&store, &["n"], &["other"]).await;
    store.clock.advance(6 * SECOND);
    assert_eq!((walk(&store).await, walk(&store).await), (1, 0));
    assert_eq!(store.scan(finding(&["n"], "coffee")).await.len(), 450);
    assert!(found(&store, &["n"], "tea").await.is_empty());
    // None any more: nothing is left of them.
    store.settings.delete(&store.caller, &namespace(&["n"]), NEVER).await.unwrap();
    store.clock.advance(6 * SECOND);
    assert_eq!(walk(&store).await, 1);
    assert_eq!(h.count("select count(*) from items where words is not null").await, 0);
    assert_eq!(h.count("select count(*) from word_walks").await, 0);
    check_sound(&h).await;
}

pub async fn a_server_that_did_not_know_is_caught_up_with(h: Harness) {
    let (one, late) = (Store::on(&h).await, Store::on(&h).await);
    declare(&one, &["n"], &["$"]).await;
    late.put(&["n"], "k", r#"{"text":"tea"}"#).await;
    assert_eq!(found(&one, &["n"], "tea").await.is_empty(), masters().is_none());
    one.clock.advance(6 * SECOND);
    // Two servers: one of them walks.
    late.clock.advance(6 * SECOND);
    assert_eq!(walk(&one).await + walk(&late).await, 1);
    late.settings.poll().await.unwrap();
    assert_eq!(found(&late, &["n"], "tea").await, ["k"]);
}

pub async fn walks_beside_writers_leave_no_stale_words(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    for at in 0..300 {
        store.put(&["n"], &format!("k{at:03}"), r#"{"text":"before"}"#).await;
    }
    declare(&store, &["n"], &["text"]).await;
    store.clock.advance(6 * SECOND);
    let writer = {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move {
            for at in (0..300).step_by(2) {
                store.put(&["n"], &format!("k{at:03}"), r#"{"text":"after"}"#).await;
            }
        })
    };
    walk(&store).await;
    writer.await.unwrap();
    assert_eq!(store.scan(finding(&["n"], "before")).await.len(), 150);
    assert_eq!(store.scan(finding(&["n"], "after")).await.len(), 150);
}

pub async fn a_token_finds_what_it_may_read(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &[], &["$"]).await;
    for labels in [["ann", "x"], ["bob", "x"]] {
        store.put(&labels, labels[0], r#"{"text":"tea"}"#).await;
    }
    let other = Store::of(&h.storage, &caller_of("tenant-b")).await;
    declare(&other, &[], &["$"]).await;
    other.put(&["ann"], "theirs", r#"{"text":"tea"}"#).await;
    let ann = granted("tenant-a", &[(&["ann"], Actions::READ)]);
    let page = store.search_as(&ann, finding(&[], "tea")).await;
    assert_eq!(keys(&page.items), ["ann"]);
    assert_eq!(found(&store, &[], "tea").await.len(), 2);
    assert_eq!(found(&other, &[], "tea").await, ["theirs"]);
    assert_eq!(store.search_as(&ann, finding(&["bob"], "tea")).await.items, []);
}

pub async fn an_erasure_takes_words_along(h: Harness) {
    let store = Store::of(&h.storage, &caller_of(crate::subjects::TENANT)).await;
    declare(&store, &[ANN], &["$"]).await;
    store.put(&[ANN], "k", r#"{"text":"tea"}"#).await;
    erase(&h.storage, ANN).await;
    for table in ["items", "word_walks", "namespace_settings"] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}

pub async fn words_and_vectors_are_fused_by_their_places(h: Harness) {
    let store = Store::on(&h).await;
    if masters().is_some() {
        return a_hybrid_search_says_that_there_are_no_vectors(&store).await;
    }
    if h.storage.name() == "postgres"
        && h.count("select count(*) from pg_available_extensions where name = 'vector'").await == 0
    {
        return;
    }
    declare(&store, &["n"], &["$"]).await;
    let put = async |key: &str, words: &str, numbers: [f32; 2]| {
        let vector = Vector::new("v", numbers.to_vec()).unwrap();
        let one = FieldVector { field: "$".into(), vector };
        let mut put = change(&["n"], key, Some(&serde_json::json!({"text": words}).to_string()));
        let vectors = NewVectors::new(Model::default(), vec![one]).unwrap();
        put.value.as_mut().unwrap().vectors = Some(vectors);
        store.try_put(put).await.unwrap();
    };
    put("words", "tea tea tea", [0.0, 1.0]).await;
    put("both", "tea and much else that makes it long", [0.9, 0.1]).await;
    put("near", "water", [1.0, 0.0]).await;
    put("neither", "water", [-1.0, 0.2]).await;
    store.put(&["n"], "no-vector", r#"{"text":"milk"}"#).await;
    let near = Near {
        model: Model::default(),
        metric: Metric::Cosine,
        vector: Vector::new("q", vec![1.0, 0.0]).unwrap(),
    };
    let mode = SearchMode::Hybrid(TextQuery::new("tea").unwrap(), near);
    let query = SearchItems { mode, sort: ItemSort::Score, ..search(&["n"], "{}") };
    let page = store.search(query.clone()).await;
    assert_eq!(keys(&page.items), ["words", "both", "near", "neither"]);
    let expected = 1.0 / 61.0 + 1.0 / 63.0;
    assert!((page.items[0].score.unwrap() - expected).abs() < 1e-12, "{:?}", page.items[0].score);
    let scanned = store.scan(SearchItems { limit: 1, ..query.clone() }).await;
    assert_eq!(keys(&scanned), ["words", "both", "near", "neither"]);
    let filtered =
        SearchItems { scope: scope(&["n"], r#"{"text":{"$ne":"tea tea tea"}}"#), ..query };
    assert_eq!(keys(&store.search(filtered).await.items), ["both", "near", "neither"]);
}

async fn a_hybrid_search_says_that_there_are_no_vectors(store: &Store) {
    declare(store, &["n"], &["$"]).await;
    let vector = Vector::new("q", vec![1.0, 0.0]).unwrap();
    let near = Near { model: Model::default(), metric: Metric::Cosine, vector };
    let mode = SearchMode::Hybrid(TextQuery::new("tea").unwrap(), near);
    let query = SearchItems { mode, sort: ItemSort::Score, ..search(&["n"], "{}") };
    let refused =
        store.run(threadkeep::domain::store::item::ItemOp::Search(query)).await.unwrap_err();
    assert!(matches!(refused, Error::VectorsNeedPlaintext { field: "query_vector" }), "{refused}");
}

/// Nothing of the words is stored, and what is found is what an index would find.
pub async fn words_of_encrypted_items_are_made_when_they_are_sought(h: Harness) {
    let h = h.encrypting(None).await;
    let store = Store::on(&h).await;
    declare(&store, &["n"], &["text"]).await;
    declare(&store, &["n", "off"], &[]).await;
    let large = format!(r#"{{"text":"tea {}","kind":"large"}}"#, "and more ".repeat(20_000));
    for (labels, key, value) in [
        (&["n"][..], "once", r#"{"text":"tea and water","kind":"small"}"#),
        (&["n", "below"], "twice", r#"{"text":"tea, tea","kind":"small"}"#),
        (&["n"], "large", &large),
        (&["n"], "elsewhere", r#"{"other":"tea"}"#),
        (&["n", "off"], "off", r#"{"text":"tea"}"#),
        (&["m"], "m", r#"{"text":"tea"}"#),
    ] {
        store.put(labels, key, value).await;
    }
    assert_eq!(found(&store, &["n"], "Tea").await, ["twice", "once", "large"]);
    assert_eq!(found(&store, &["n"], "water tea").await[0], "once");
    assert!(found(&store, &["n"], "te").await.is_empty());
    let filtered =
        SearchItems { scope: scope(&["n"], r#"{"kind":"large"}"#), ..finding(&["n"], "tea") };
    assert_eq!(keys(&store.search(filtered).await.items), ["large"]);
    let pages = SearchItems { limit: 1, ..finding(&["n"], "tea") };
    assert_eq!(keys(&store.scan(pages).await), ["twice", "once", "large"]);
    assert_eq!(h.count("select count(*) from items where words is not null").await, 0);
    let ann = granted("tenant-a", &[(&["n", "below"], Actions::READ)]);
    assert_eq!(keys(&store.search_as(&ann, finding(&["n"], "tea")).await.items), ["twice"]);
}
