//! Tests exports and imports of the store: items, files, contents, settings and rules of retention.

use threadkeep::domain::error::FileFault;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::store::history_storage::ListVersions;
use threadkeep::domain::store::namespace_settings::{Declared, Setting};
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::threads::retention::Rules;
use threadkeep::export::{Parts, Selection};

use crate::contents::{Files, LARGE, noise};
use crate::doctor::examine;
use crate::export_files::{
    NOW, exported, fault_of, file_of, frames, imported, options, other_engine, read_in,
};
use crate::harness::{Harness, caller_of, conflict, masters};
use crate::item_vectors::put_near;
use crate::store::{START, Store, address, change, namespace, put, search, text};

const TEN_YEARS: i64 = 10 * 365 * 86_400 * 1_000_000;

/// Items with everything that items can have.
async fn populate(h: &Harness) -> Files {
    let act = |kind| Act::of_operator("tenant-a", kind, "", START);
    let declared = Declared { history: Some(3), text_fields: Some(vec!["$".into()]) };
    let setting = Setting {
        namespace: namespace(&["ann", "notes"]),
        declared,
        changed_at: START,
        is_indexing: false,
    };
    let put_setting = act(ActKind::NamespaceSettingPut);
    h.storage.put_namespace_setting(&h.caller, &setting, 10, &put_setting).await.unwrap();
    let rules = Rules {
        expire_after_seconds: None,
        keep_last: Some(5),
        older_than_seconds: None,
        keep_interrupted: true,
        dry_run: true,
    };
    h.storage.put_policy(&h.caller, None, &rules, &act(ActKind::PolicyPut)).await.unwrap();
    let files = Files::on(h).await;
    let store = &files.store;
    for value in [r#"{"a":1,"n":1.0}"#, "{\"a\":2,\"s\":\"\\ud800 and \\u0000\"}"] {
        store.put(&["ann"], "likes", value).await;
    }
    for at in 1..=5 {
        store.put(&["ann", "notes"], "n", &format!(r#"{{"text":"word number {at}"}}"#)).await;
    }
    store.put(&["ann", "notes"], "", r#"{"text":"an empty key"}"#).await;
    store.put(&["ann b"], "large", &format!(r#"{{"x":"{}"}}"#, "large, ".repeat(30_000))).await;
    let file = r#"{"content":"x","created_at":"2026","modified_at":"2026"}"#;
    store.put(&["ann", "workspace"], "/small", file).await;
    store.put(&["ann", "workspace"], "/small", &file.replace('x', "y")).await;
    let mut brief = change(&["bob"], "brief", Some("{}"));
    brief.value.as_mut().unwrap().ttl_micros = Some(TEN_YEARS);
    store.try_put(brief).await.unwrap();
    let mut gone = change(&["bob"], "gone", Some("{}"));
    gone.value.as_mut().unwrap().ttl_micros = Some(1_000);
    store.try_put(gone).await.unwrap();
    if masters().is_none() {
        let near = put_near(&["ann"], "near", "{}", &[&[0.1, -2.5e-7], &[1.0, 3.4e38]]);
        store.try_put(near).await.unwrap();
    }
    files.upload("/large", &noise(1, LARGE)).await;
    files.upload("/large", &noise(2, LARGE)).await;
    files
}

pub async fn items_travel_to_the_other_engine_and_back(h: Harness) {
    let files = populate(&h).await;
    let first = exported(&h).await;
    let between = other_engine(&h).await;
    let done = imported(&between, &first).await;
    assert_eq!((done.settings.created, done.policies.created), (1, 1));
    let count = if masters().is_some() { 7 } else { 8 };
    assert_eq!(done.items.created, count);
    assert_eq!(exported(&between).await, first);
    let back = if h.is_sqlite() { Harness::sqlite().await } else { Harness::postgres().await };
    imported(&back, &exported(&between).await).await;
    assert_eq!(exported(&back).await, first);
    for it in [&between, &back] {
        let there = Files::on(it).await;
        assert_eq!(there.read("/large").await, files.read("/large").await);
        for (labels, key) in [
            (&["ann"][..], "likes"),
            (&["ann", "notes"], ""),
            (&["ann b"], "large"),
            (&["bob"], "brief"),
        ] {
            assert_eq!(there.store.get(labels, key).await, files.store.get(labels, key).await);
        }
        let versions = ListVersions {
            address: address(&["ann", "notes"], "n"),
            before: None,
            limit: 10,
            values: true,
        };
        let of = |store: &Store| (store.items.clone(), store.caller.clone());
        let (items, caller) = of(&there.store);
        let found = items.list_versions(&caller, &versions).await.unwrap();
        let (items, caller) = of(&files.store);
        assert_eq!(found, items.list_versions(&caller, &versions).await.unwrap());
        assert_eq!(found.versions.len(), 4);
        // Filters find them, and they go on from their versions.
        let hits = there.store.search(search(&["ann"], r#"{"a":2}"#)).await.items;
        assert_eq!(hits.len(), 1, "{:?}", hits.iter().map(text).collect::<Vec<_>>());
        let version = there.store.put(&["ann"], "likes", "{}").await;
        assert_eq!(version, hits[0].version + 1);
        let report = examine(it, false).await;
        assert!(report.is_sound(), "{report:?}");
    }
    let part = Selection::Parts(Parts {
        namespaces: vec![namespace(&["ann", "notes"])],
        ..Parts::default()
    });
    let part = file_of(&*h.storage, &h.caller, &part, None).await;
    let third = other_engine(&h).await;
    let done = imported(&third, &part).await;
    assert_eq!((done.items.created, done.settings.created, done.policies.created), (2, 1, 0));
}

pub async fn items_that_moved_on_are_refused_or_replaced(h: Harness) {
    let files = populate(&h).await;
    let file = exported(&h).await;
    let contents = "select count(*) from contents";
    let before = h.count(contents).await;
    let again = imported(&h, &file).await;
    assert_eq!((again.items.created, again.items.replaced, again.items.conflicts), (0, 0, 0));
    assert_eq!((again.settings.unchanged, again.policies.unchanged), (1, 1));
    let again = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!(again.items.replaced, 0);
    assert_eq!(h.count(contents).await, before);
    files.store.run(put(&["ann"], "likes", r#"{"later":1}"#)).await.unwrap();
    files.upload("/large", &noise(3, LARGE)).await;
    let refused = conflict(read_in(&h, &h.caller, &file, &options(Existing::Refuse)).await);
    assert!(refused.to_string().contains("likes"), "{refused}");
    let done = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!(done.items.replaced, 2);
    // All is as in the file but the versions, which go on.
    let again = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!((again.items.replaced, again.items.created), (0, 0));
    let again = imported(&h, &file).await;
    assert_eq!(again.items.conflicts, 0);
    let likes = files.store.get(&["ann"], "likes").await.unwrap();
    assert!(text(&likes).contains("\\ud800"), "{}", text(&likes));
    assert_eq!(files.read("/large").await.unwrap(), noise(2, LARGE));
    let report = examine(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
}

pub async fn a_damaged_content_shows_nothing(h: Harness) {
    let files = Files::on(&h).await;
    files.upload("/large", &noise(1, LARGE)).await;
    let file = exported(&h).await;
    let all = frames(&file);
    let between = other_engine(&h).await;
    for (number, frame) in all.windows(2).enumerate() {
        let mut damaged = file.clone();
        damaged[frame[1] - 40] ^= 1;
        let caller = caller_of(&format!("flip-{number}"));
        let refused = read_in(&between, &caller, &damaged, &options(Existing::Refuse)).await;
        assert_eq!(fault_of(refused), FileFault::Damaged);
        let cut = &file[..frame[1] - 40];
        let refused = read_in(&between, &caller, cut, &options(Existing::Refuse)).await;
        assert_eq!(fault_of(refused), FileFault::Truncated);
        let whole = i64::from(number + 2 >= all.len());
        for table in ["items", "contents"] {
            let rows = format!("select count(*) from {table} where tenant = '{}'", caller.tenant);
            assert_eq!(between.count(&rows).await, whole, "{table} after frame {number}");
        }
    }
    const { assert!(NOW > START) };
}
