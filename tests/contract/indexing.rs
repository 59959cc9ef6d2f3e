//! Tests vectors that the server makes: in the background, of the current items, again after a failure and for another model.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use threadkeep::domain::json::field_path::FieldPath;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::store::embedding::{Embedder, Embeddings, Refused};
use threadkeep::domain::store::indexing::Indexer;
use threadkeep::domain::store::item::{
    ChangeItem, ItemOp, ItemSort, OpResult, SearchItems, SearchMode,
};
use threadkeep::domain::store::vector::{Metric, Model, Vector};
use threadkeep::domain::store::words::TextQuery;
use threadkeep::domain::{Error, Result};

use crate::harness::{Harness, masters};
use crate::item_vectors::scores;
use crate::item_words::declare;
use crate::store::{SECOND, Store, change, search};

/// A text is where its first letter is on a circle.
pub struct Letters {
    model: Model,
    refuses: Mutex<Option<Refused>>,
    asked: AtomicUsize,
}

impl Letters {
    pub fn new(model: &str) -> Arc<Self> {
        let (refuses, asked) = (Mutex::new(None), AtomicUsize::new(0));
        Arc::new(Self { model: Model::new(model).unwrap(), refuses, asked })
    }

    fn refuse(&self, refused: Option<Refused>) {
        *self.refuses.lock().unwrap() = refused;
    }
}

#[async_trait]
impl Embeddings for Letters {
    fn model(&self) -> &Model {
        &self.model
    }

    fn dims(&self) -> usize {
        2
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vector>, Refused> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match &*self.refuses.lock().unwrap() {
            Some(Refused::Texts(poison)) if texts.iter().any(|it| it.contains(poison)) => {
                return Err(Refused::Texts("no".into()));
            }
            Some(Refused::ForNow(detail)) => return Err(Refused::ForNow(detail.clone())),
            _ => {}
        }
        let vector = |it: &String| {
            let angle = f32::from(it.bytes().next().unwrap_or(0) - b'a') / 26.0;
            Vector::new("v", vec![angle.cos(), angle.sin()]).unwrap()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

pub async fn store_with(h: &Harness, letters: &Arc<Letters>) -> Store {
    let store = Store::on(h).await;
    let embedder = Embedder::new(Some(Arc::clone(letters) as Arc<dyn Embeddings>));
    let Store { items, settings, quotas, clock, caller, storage } = store;
    let items = Arc::into_inner(items).unwrap().with_embeddings(embedder, Arc::default());
    let items = Arc::new(items);
    Store { items, settings, quotas, clock, caller, storage }
}

pub fn worker(store: &Store, letters: &Arc<Letters>) -> Indexer {
    let embeddings = Arc::clone(letters) as Arc<dyn Embeddings>;
    Indexer::new(store.storage.clone(), embeddings, Arc::clone(&store.clock), Arc::default())
}

pub fn indexed(labels: &[&str], key: &str, value: &str, paths: &[&str]) -> ChangeItem {
    let mut put = change(labels, key, Some(value));
    let paths = paths.iter().map(|it| FieldPath::new(it).unwrap()).collect();
    put.value.as_mut().unwrap().index = paths;
    put
}

fn asking(text: &str) -> SearchItems {
    let mode = SearchMode::Question { text: text.into(), metric: Metric::Cosine, words: None };
    SearchItems { mode, sort: ItemSort::Score, ..search(&[], "{}") }
}

async fn found(store: &Store, text: &str) -> Vec<(String, Option<f64>)> {
    scores(&store.search(asking(text)).await.items)
}

async fn work_off(worker: &Indexer) {
    while worker.round().await.unwrap() {}
}

pub async fn is_refused(store: &Store) -> bool {
    if masters().is_some() {
        let error = store.try_put(indexed(&["n"], "k", "{}", &["$"])).await.unwrap_err();
        assert!(matches!(error, Error::VectorsNeedPlaintext { field: "index" }), "{error}");
    }
    masters().is_some()
}

pub async fn texts_at_paths_become_vectors_later(h: Harness) {
    let letters = Letters::new("letters");
    let store = store_with(&h, &letters).await;
    if is_refused(&store).await {
        return;
    }
    store.try_put(indexed(&["n"], "a", r#"{"t":"apple"}"#, &["t"])).await.unwrap();
    let both = r#"{"t":["zebra","bee"],"x":"apple"}"#;
    store.try_put(indexed(&["n"], "b", both, &["t[*]"])).await.unwrap();
    store.try_put(indexed(&["n"], "none", r#"{"t":null}"#, &["t", "absent"])).await.unwrap();
    store.put(&["n"], "plain", r#"{"t":"apple"}"#).await;
    assert_eq!(letters.asked.load(Ordering::SeqCst), 0, "no put waits for the endpoint");
    assert!(found(&store, "apple").await.iter().all(|it| it.1.is_none()));
    let worker = worker(&store, &letters);
    work_off(&worker).await;
    let (near, far) = ((1.0_f64 / 26.0).cos(), (25.0_f64 / 26.0).cos());
    let round = |it: f64| Some((it * 1e5).round() / 1e5);
    let of_apple = found(&store, "apple").await;
    assert_eq!(of_apple[..2], [("a".into(), Some(1.0)), ("b".into(), round(near))]);
    assert!(of_apple[2..].iter().all(|it| it.1.is_none()) && of_apple.len() == 4);
    assert_eq!(found(&store, "z").await[1], ("a".to_owned(), round(far)));
    // What replaces an item, or removes it, leaves nothing.
    store.try_put(indexed(&["n"], "b", r#"{"t":"apple"}"#, &["t"])).await.unwrap();
    store.put(&["n"], "a", "{}").await;
    store.delete(&["n"], "none").await;
    assert_eq!(h.count("select count(*) from item_indexing where tenant = 'tenant-a'").await, 1);
    work_off(&worker).await;
    assert_eq!(found(&store, "apple").await[0], ("b".to_owned(), Some(1.0)));
    assert_eq!(h.count("select count(*) from item_vectors where tenant = 'tenant-a'").await, 1);
    crate::subjects::erase(&h.storage, "n").await;
    for table in ["item_vectors", "item_indexing"] {
        assert_eq!(h.count(&format!("select count(*) from {table} where tenant > ''")).await, 0);
    }
}

pub async fn words_and_meaning_of_one_question_are_searched_together(h: Harness) {
    let letters = Letters::new("letters");
    let store = store_with(&h, &letters).await;
    if is_refused(&store).await {
        return;
    }
    declare(&store, &["n"], &["t"]).await;
    for (key, value) in [
        // Both; only the word; only the meaning, as its letter says; neither.
        ("both", r#"{"t":"apple pie"}"#),
        ("word", r#"{"t":"zebra apple"}"#),
        ("near", r#"{"t":"avocado"}"#),
        ("none", r#"{"x":"apple"}"#),
    ] {
        store.try_put(indexed(&["n"], key, value, &["t"])).await.unwrap();
    }
    work_off(&worker(&store, &letters)).await;
    let words = Some(TextQuery::new("apple").unwrap());
    let mode = SearchMode::Question { text: "apple".into(), metric: Metric::Cosine, words };
    let query = SearchItems { mode, sort: ItemSort::Score, ..search(&["n"], "{}") };
    let found = scores(&store.search(query).await.items);
    assert_eq!(found[0].0, "both");
    assert!(found[0].1 > found[1].1, "{found:?}");
    let mut with_score: Vec<&str> =
        found.iter().filter(|it| it.1.is_some()).map(|it| it.0.as_str()).collect();
    with_score.sort_unstable();
    assert_eq!(with_score, ["both", "near", "word"]);
}

pub async fn a_failing_endpoint_is_tried_again_and_fails_no_put(h: Harness) {
    let letters = Letters::new("letters");
    let store = store_with(&h, &letters).await;
    if is_refused(&store).await {
        return;
    }
    let worker = worker(&store, &letters);
    letters.refuse(Some(Refused::ForNow("away".into())));
    store.try_put(indexed(&["n"], "a", r#"{"t":"apple"}"#, &["t"])).await.unwrap();
    assert!(worker.round().await.unwrap());
    assert!(!worker.round().await.unwrap(), "it waits");
    let asked = store.run(ItemOp::Search(asking("apple"))).await;
    assert!(matches!(asked, Err(Error::Unavailable { .. })), "{asked:?}");
    letters.refuse(None);
    assert!(!worker.round().await.unwrap(), "it still waits");
    store.clock.advance(3 * SECOND);
    work_off(&worker).await;
    assert_eq!(found(&store, "apple").await, [("a".to_owned(), Some(1.0))]);
    // One text that is not taken keeps nobody else waiting.
    letters.refuse(Some(Refused::Texts("poison".into())));
    for (key, text) in [("b", "bee"), ("c", "poison"), ("d", "dog")] {
        let value = format!(r#"{{"t":"{text}"}}"#);
        store.try_put(indexed(&["n"], key, &value, &["t"])).await.unwrap();
    }
    work_off(&worker).await;
    let scored: Vec<(String, bool)> =
        found(&store, "apple").await.into_iter().map(|it| (it.0, it.1.is_some())).collect();
    let expected = [("a", true), ("b", true), ("d", true), ("c", false)];
    assert_eq!(scored, expected.map(|it| (it.0.to_owned(), it.1)));
    let refused = store.run(ItemOp::Search(asking("poison"))).await;
    assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "query"));
}

pub async fn another_model_makes_all_vectors_again(h: Harness) {
    let first = Letters::new("first");
    let store = store_with(&h, &first).await;
    if is_refused(&store).await {
        return;
    }
    for key in ["a", "b", "c"] {
        let put = indexed(&["n"], key, &format!(r#"{{"t":"{key}"}}"#), &["t"]);
        store.try_put(put).await.unwrap();
    }
    work_off(&worker(&store, &first)).await;
    let second = Letters::new("second");
    let later = store_with(&h, &second).await;
    assert!(found(&later, "a").await.iter().all(|it| it.1.is_none()), "nothing is mixed");
    work_off(&worker(&later, &second)).await;
    assert_eq!(found(&later, "a").await[0], ("a".to_owned(), Some(1.0)));
    let models = h.texts("select distinct model from item_vectors where tenant = 'tenant-a'").await;
    assert_eq!(models, ["second"]);
    assert!(!worker(&later, &second).round().await.unwrap());
}

pub async fn a_crashed_worker_loses_nothing_and_two_do_the_work_once(h: Harness) {
    let letters = Letters::new("letters");
    let store = store_with(&h, &letters).await;
    if is_refused(&store).await {
        return;
    }
    let ops = (0..100)
        .map(|at| ItemOp::Change(indexed(&["n"], &format!("k{at}"), r#"{"t":"x"}"#, &["t"])));
    store.batch(ops.collect(), true).await.unwrap();
    let storage: &Arc<dyn Storage> = &store.storage;
    let now = store.clock.now();
    let claimed = storage.claim_indexing(now, now + SECOND, 10).await.unwrap();
    assert_eq!(claimed.len(), 10);
    let (one, two) = (worker(&store, &letters), worker(&store, &letters));
    tokio::join!(work_off(&one), work_off(&two));
    let made =
        async || h.count("select count(*) from item_vectors where tenant = 'tenant-a'").await;
    assert_eq!(made().await, 90, "what another has claimed is left to it");
    store.clock.advance(2 * SECOND);
    work_off(&one).await;
    assert_eq!(made().await, 100);
    // Whoever comes late with what is no longer there changes nothing.
    let OpResult::Put(_) =
        store.run(ItemOp::Change(change(&["n"], "k0", Some("{}")))).await.unwrap()
    else {
        panic!("no put");
    };
    let stale = claimed.iter().find(|it| it.address.key.text() == Some("k0"));
    let vectors = crate::item_vectors::vectors("letters", &[&[1.0, 0.0]]);
    if let Some(task) = stale.or(claimed.first()) {
        storage.finish_indexing(task, vectors.model(), Some(&vectors)).await.unwrap();
    }
    let left = "select count(*) from item_vectors v where not exists
        (select 1 from items i where i.tenant = v.tenant and i.key = v.key and i.version = v.version)";
    assert_eq!(h.count(left).await, 0);
}

pub async fn without_an_endpoint_it_is_said(h: Harness) {
    let store = Store::on(&h).await;
    for (op, field) in [
        (ItemOp::Change(indexed(&["n"], "k", "{}", &["$"])), "index"),
        (ItemOp::Search(asking("x")), "query"),
    ] {
        let Err(Error::Invalid { field: found, detail, .. }) = store.run(op).await else {
            panic!("nobody makes these vectors");
        };
        assert_eq!(found, field);
        assert!(detail.starts_with("search_needs_embeddings"), "{detail}");
    }
    assert_eq!(store.get(&["n"], "k").await, None);
}
