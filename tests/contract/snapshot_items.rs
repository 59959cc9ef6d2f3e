//! Tests snapshots of namespaces: items come back as they were, under new versions, and nothing else changes.

use std::sync::Arc;

use threadkeep::domain::Error;
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::Restore;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::store::vector::Metric;
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tokens::grants::{Actions, Grant, NamespaceGrant, Scoped, Selector};

use crate::content::list;
use crate::feeds::{read, shown};
use crate::granted_callers::assert_not_granted;
use crate::harness::{Harness, masters};
use crate::item_history::{declare as declare_history, file, texts};
use crate::item_vectors::{near, put_near, scores};
use crate::item_words::{declare as declare_words, finding};
use crate::snapshot_calls::{Desk, check_sound, in_place, moved, of, snapshot_id};
use crate::store::{SECOND, START, Store, change, keys, namespace, search, text};

pub fn taking(id: &str, namespaces: &[&[&str]]) -> TakeSnapshot {
    let namespaces = namespaces.iter().map(|it| namespace(it)).collect();
    TakeSnapshot { namespaces, ..of(id, &[], History::All) }
}

/// Everything that there is to read of the items below a namespace, but for versions.
pub async fn seen(store: &Store, labels: &[&str]) -> Vec<String> {
    let items = store.scan(search(labels, "{}")).await;
    let mut lines: Vec<String> = items
        .iter()
        .map(|it| {
            let key = it.address.key.text().unwrap();
            let (ns, ttl) = (it.address.namespace.labels(), it.ttl_micros);
            format!("{ns:?} {key} {} {} {ttl:?} {}", it.created_at, it.updated_at, text(it))
        })
        .collect();
    lines.sort();
    lines
}

/// Small, large, a file, below, and one with a strange key.
pub async fn furnish(store: &Store, root: &str) {
    store.put(&[root], "small", r#"{"n": 1.0, "s": "a"}"#).await;
    store.put(&[root], "large", &format!(r#"{{"list":[{}]}}"#, list(200))).await;
    store.put(&[root, "files"], "/notes.md", &file("one\ntwo")).await;
    store.put(&[root, "below", "it"], "", "{}").await;
    store.clock.advance(SECOND);
}

pub async fn a_namespace_is_what_it_was(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    for root in ["a", "ab", "b"] {
        furnish(&store, root).await;
    }
    declare_history(&store, &["a"], 3).await;
    store.put(&["a"], "versions", r#"{"at":1}"#).await;
    let taken = desk.take(&h.caller, taking("s", &[&["a"]])).await.unwrap().snapshot;
    let (then, beside) = (seen(&store, &["a"]).await, seen(&store, &["b"]).await);
    assert_eq!((taken.namespaces[0].items, then.len()), (5, 5));
    let version = store.get(&["a"], "small").await.unwrap().version;
    store.clock.advance(SECOND);
    let changed = store.put(&["a"], "small", r#"{"n":2}"#).await;
    store.put(&["a"], "large", &format!(r#"{{"list":[{}]}}"#, list(10))).await;
    store.put(&["a"], "versions", r#"{"at":2}"#).await;
    store.put(&["a", "files"], "/new.md", &file("new")).await;
    store.delete(&["a", "below", "it"], "").await;
    let later = seen(&store, &["a"]).await;
    let would = Restore { dry_run: true, ..in_place("s") };
    let would = desk.restore(&h.caller, &would).await.unwrap();
    assert_eq!(seen(&store, &["a"]).await, later);
    let done = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&store, &["a"]).await, then);
    assert_eq!((seen(&store, &["b"]).await, seen(&store, &["ab"]).await.len()), (beside, 4));
    let counts = &done.namespaces[0];
    assert_eq!((counts.written, counts.unchanged, counts.removed), (4, 1, 1));
    assert_eq!(would.namespaces, done.namespaces);
    let restored = store.get(&["a"], "small").await.unwrap().version;
    assert!(restored > changed && changed > version, "a version never comes twice");
    assert_eq!(texts(&store, &["a"], "versions").await.len(), 3, "what it replaced is a version");
    // A second time there is nothing to do.
    let again = desk.restore(&h.caller, &in_place("s")).await.unwrap();
    let counts = &again.namespaces[0];
    assert_eq!((counts.written, counts.unchanged, counts.removed), (0, 5, 0));
    // And back to what was replaced.
    desk.restore(&h.caller, &in_place(&done.safety_snapshot_id.unwrap())).await.unwrap();
    assert_eq!(seen(&store, &["a"]).await, later);
    check_sound(&h).await;
}

pub async fn items_of_a_snapshot_outlive_their_items(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    furnish(&store, "a").await;
    let then = seen(&store, &["a"]).await;
    desk.take(&h.caller, taking("s", &[&["a"]])).await.unwrap();
    for (labels, key) in [(&["a"][..], "small"), (&["a"], "large"), (&["a", "files"], "/notes.md")]
    {
        store.delete(labels, key).await;
    }
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    check_sound(&h).await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&store, &["a"]).await, then);
    // The snapshot goes, its copies and their content with it.
    assert!(desk.delete(&h, "s").await);
    let left = desk.snapshots.list(
        &h.caller,
        threadkeep::domain::snapshots::storage::ListSnapshots { limit: 9, ..Default::default() },
    );
    for snapshot in left.await.unwrap().snapshots {
        desk.delete(&h, &snapshot.id).await;
    }
    assert_eq!(h.count("select count(*) from snapshot_items").await, 0);
    assert_eq!(h.count("select count(*) from item_versions where version < 0").await, 0);
    store.delete(&["a"], "large").await;
    h.sql("update garbage set created_at = 0").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 0);
    check_sound(&h).await;
}

pub async fn vectors_words_and_lives_come_back(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    let hour: Micros = 3_600 * SECOND;
    let mut short = change(&["a"], "short", Some("{}"));
    short.value.as_mut().unwrap().ttl_micros = Some(hour);
    declare_words(&store, &["a"], &["$"]).await;
    store.put(&["a"], "said", r#"{"text":"a sparrow sings"}"#).await;
    if masters().is_none() {
        store.try_put(put_near(&["a"], "near", "{}", &[&[1.0, 0.0]])).await.unwrap();
    }
    store.try_put(short).await.unwrap();
    store.clock.advance(hour / 2);
    desk.take(&h.caller, taking("s", &[&["a"]])).await.unwrap();
    store.clock.advance(2 * hour);
    assert!(store.get(&["a"], "short").await.is_none());
    store.put(&["a"], "said", r#"{"text":"silence"}"#).await;
    store.put(&["a"], "near", "{}").await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    // What was left of its life begins anew.
    let item = store.items.run(
        &store.caller,
        crate::store::get(&["a"], "short", false),
        None,
        crate::harness::NEVER,
    );
    let threadkeep::domain::store::item::OpResult::Got(Some(item)) = item.await.unwrap() else {
        panic!()
    };
    assert_eq!(item.expires_at.unwrap(), store.clock.now() + hour / 2);
    let found = |query: &'static str| store.search(finding(&["a"], query));
    assert_eq!(keys(&found("sparrow").await.items), ["said"]);
    assert!(found("silence").await.items.is_empty());
    if masters().is_none() {
        let page = store.search(near(&["a"], "{}", &[1.0, 0.0], Metric::Cosine)).await;
        assert_eq!(scores(&page.items)[0], ("near".to_owned(), Some(1.0)));
    }
    check_sound(&h).await;
}

pub async fn changes_of_a_restore_are_in_the_feed(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    store.put(&["n"], "stays", "{}").await;
    store.put(&["n"], "back", "{}").await;
    store.put(&["n"], "changed", "{}").await;
    desk.take(&h.caller, taking("s", &[&["n"]])).await.unwrap();
    store.put(&["n"], "changed", r#"{"a":1}"#).await;
    store.put(&["n"], "gone", "{}").await;
    store.delete(&["n"], "back").await;
    let start = store.storage.open_feed("tenant-a", START).await.unwrap();
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    let (changes, end) = read(&*store.storage, &start, 3, 100).await;
    let mut lines = shown(&changes);
    lines.sort();
    assert_eq!(lines, ["delete gone n", "put back n", "put changed n"]);
    for (key, put) in [("back", "put back n"), ("changed", "put changed n")] {
        let at = shown(&changes).iter().position(|it| it == put).unwrap();
        let version = store.get(&["n"], key).await.unwrap().version;
        assert_eq!(changes[at].version, version, "{key}");
    }
    // Numbers go on behind it.
    store.put(&["n"], "later", "{}").await;
    let (changes, _) = read(&*store.storage, &end, 1, 100).await;
    assert_eq!(shown(&changes), ["put later n"]);
}

pub async fn erasing_a_subject_takes_its_items_out_of_snapshots(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    for root in ["ann", "bob"] {
        furnish(&store, root).await;
    }
    desk.take(&h.caller, taking("both", &[&["ann"], &["bob", "files"]])).await.unwrap();
    desk.take(&h.caller, taking("of ann", &[&["ann", "files"]])).await.unwrap();
    let then = seen(&store, &["bob"]).await;
    let erasures = Erasures::new(h.storage.clone(), Arc::clone(&store.clock));
    erasures.erase(&h.caller, "ann", |_| {}).await.unwrap();
    assert!(matches!(desk.get(&h, "of ann").await, Err(Error::NotFound(_))));
    let left = desk.get(&h, "both").await.unwrap();
    assert_eq!(left.namespaces.len(), 1);
    for table in ["snapshot_items", "item_versions", "snapshot_parts", "items"] {
        let rows = h.dump(table).await;
        let hex = hex::encode_upper("ann\0");
        assert!(!rows.contains("ann") && !rows.contains(&hex), "{table}: {rows}");
    }
    store.delete(&["bob", "files"], "/notes.md").await;
    desk.restore(&h.caller, &in_place("both")).await.unwrap();
    assert_eq!(seen(&store, &["bob"]).await, then);
    check_sound(&h).await;
}

pub async fn only_who_may_read_takes_and_who_may_write_restores(h: Harness) {
    let store = Store::on(&h).await;
    let desk = Desk::at(&h, Arc::clone(&store.clock)).await;
    furnish(&store, "a").await;
    let with = |actions| {
        let namespaces = vec![NamespaceGrant { prefix: vec!["a".into()], actions }];
        let everything = Selector::Exact("s".into());
        let snapshots = vec![Grant { selector: everything, actions: Actions::ALL }];
        let scoped = Scoped { namespaces, snapshots, ..Scoped::default() };
        Caller { grants: Grants::Scoped(Arc::new(scoped)), ..h.caller.clone() }
    };
    let (reader, blind, writer) = (with(Actions::READ), with(Actions::WRITE), with(Actions::ALL));
    assert_not_granted(desk.take(&blind, taking("s", &[&["a"]])).await);
    assert_not_granted(desk.take(&reader, taking("s", &[&["b"]])).await);
    desk.take(&reader, taking("s", &[&["a"]])).await.unwrap();
    store.delete(&["a"], "small").await;
    assert_not_granted(desk.restore(&reader, &in_place("s")).await);
    assert!(store.get(&["a"], "small").await.is_none());
    // What a restore replaces would be in a snapshot that whoever may not read it could restore elsewhere.
    let hidden = desk.restore(&blind, &in_place("s")).await.map(drop);
    assert!(matches!(hidden, Err(Error::NotFound(_))), "{hidden:?}");
    desk.restore(&writer, &in_place("s")).await.unwrap();
    assert!(store.get(&["a"], "small").await.is_some());
    let other = moved("s", &[(&["b"], None)]);
    let refused = desk.restore(&writer, &other).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { field, .. } if field == "namespaces"));
    assert!(desk.snapshots.get(&writer, &snapshot_id("s")).await.is_ok());
    check_sound(&h).await;
}
