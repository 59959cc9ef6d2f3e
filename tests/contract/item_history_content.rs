//! Tests the content of earlier versions of items: their chunks, their erasure, and the doctor's report.

use threadkeep::domain::doctor::{Examine, Noun, State};
use threadkeep::domain::store::item::{ChangeItem, ItemSort, SearchItems, SearchMode};
use threadkeep::domain::store::namespace_settings::Declared;
use threadkeep::domain::store::words::TextQuery;
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::harness::{Harness, NEVER, caller_of, config, master_keys, masters};
use crate::item_history::{VERSIONS, all, declare, page, restore, restoring, texts};
use crate::store::{SECOND, START, Store, address, change, keys, namespace, search, text};
use crate::subjects::{ANN, check_sound, erase};

fn large(at: u32) -> String {
    let words: Vec<String> =
        (0..20_000).map(|it| format!("word{}", it * 7_919 % 100_003)).collect();
    format!(r#"{{"text":"{} and {at}"}}"#, words.join(" "))
}

pub async fn an_erasure_takes_versions_and_settings(h: Harness) {
    let store = Store::of(&h.storage, &caller_of(crate::subjects::TENANT)).await;
    declare(&store, &[ANN], 3).await;
    declare(&store, &["bob"], 3).await;
    for labels in [[ANN, "x"], ["bob", "x"]] {
        for at in 0..3 {
            store.put(&labels, "k", &large(at)).await;
        }
    }
    erase(&h.storage, ANN).await;
    assert_eq!(h.count(VERSIONS).await, 2);
    assert_eq!(h.count("select count(*) from namespace_settings").await, 1);
    assert_eq!(texts(&store, &["bob", "x"], "k").await, [large(2), large(1), large(0)]);
    let report =
        h.storage.examine(&Examine { tenant: None, fix: false, now: START }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// Nothing but the history names their chunks; what it shares costs nothing.
pub async fn chunks_of_versions_are_kept_and_go_with_them(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 2).await;
    let later = |hours: i64| START + (i64::from(u32::MAX) + hours * 3_600) * SECOND;
    let other = large(7).replace("word", "other");
    store.put(&["n"], "k", &large(0)).await;
    let first = h.count("select count(*) from chunks").await;
    store.put(&["n"], "k", &large(1)).await;
    let grown = h.count("select count(*) from chunks").await;
    assert!(grown < first + 8, "{first} {grown}");
    store.put(&["n"], "k", "{}").await;
    let usage = h.storage.measure_usage("tenant-a").await.unwrap();
    assert_eq!(usage.items, 1);
    assert_eq!(usage.bytes, 2 + 2 * large(0).len() as u64);
    // The collection of what the present value does not name.
    store.storage.sweep(later(2)).await.unwrap();
    store.storage.sweep(later(4)).await.unwrap();
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    assert_eq!(h.count("select count(*) from chunks").await, grown);
    assert_eq!(texts(&store, &["n"], "k").await, ["{}".to_owned(), large(1), large(0)]);
    check_sound(&h).await;
    let version = page(&store, &all(&["n"], "k")).await.versions[2].version;
    restore(&store, &restoring(address(&["n"], "k"), version)).await.unwrap();
    assert_eq!(text(&store.get(&["n"], "k").await.unwrap()), large(0));
    // One after the other drops off.
    for _ in 0..3 {
        store.put(&["n"], "k", &other).await;
    }
    assert_eq!(texts(&store, &["n"], "k").await, [other.clone(), other.clone(), other.clone()]);
    store.storage.sweep(later(6)).await.unwrap();
    store.storage.sweep(later(8)).await.unwrap();
    let words = h.count("select count(*) from chunks").await;
    assert!(words < 2 * first - 20, "what no version names is gone: {grown} {words}");
    store.put(&["n"], "k", "{}").await;
    store.delete(&["n"], "k").await;
    store.storage.sweep(later(10)).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 0);
    check_sound(&h).await;
}

pub async fn collections_beside_versions_lose_nothing(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    declare(&store, &["ann"], 3).await;
    let storage = std::sync::Arc::clone(&h.storage);
    let sweeps = tokio::spawn(async move {
        for hours in 1..30 {
            let now = START + (i64::from(u32::MAX) + hours * 7_200) * SECOND;
            storage.sweep(now).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    let writer = |task: u32| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move {
            for round in 0..10 {
                let key = format!("k{}", (task + round) % 3);
                let text = if round % 3 == 2 { "{}".to_owned() } else { large(task * 100 + round) };
                store.put(&["ann"], &key, &text).await;
                for it in texts(&store, &["ann"], &key).await {
                    assert!(it.ends_with('}'));
                }
            }
        })
    };
    for task in (0..3).map(writer).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    sweeps.await.unwrap();
    for item in store.scan(search(&["ann"], "{}")).await {
        let key = item.address.key.text().unwrap().to_owned();
        assert_eq!(texts(&store, &["ann"], &key).await.len(), 4);
    }
    let report =
        h.storage.examine(&Examine { tenant: None, fix: false, now: START }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

pub async fn the_doctor_finds_damaged_versions(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 5).await;
    for at in 0..4 {
        store.put(&["n"], "k", &format!(r#"{{"some":"text that is long","at":{at}}}"#)).await;
    }
    let put = ChangeItem { if_version: None, ..change(&["n"], "large", Some(&large(1))) };
    store.try_put(put).await.unwrap();
    store.put(&["n"], "large", "{}").await;
    let examine = async |fix| {
        let request = Examine { tenant: None, fix, now: START };
        h.storage.examine(&request).await.unwrap()
    };
    let sound = examine(false).await;
    assert!(sound.is_sound(), "{sound:?}");
    assert_eq!(sound.tally(State::Checked, Noun::ItemVersions).count, 4);
    h.sql(
        "update item_versions set body = substr(body, 1, length(body) - 3)
        where version = (select min(version) from item_versions where size_bytes < 100)",
    )
    .await;
    h.sql("delete from chunks where name = (select min(name) from chunks)").await;
    let found = examine(false).await;
    assert_eq!(found.tally(State::Damaged, Noun::ItemVersions).count, 1);
    assert_eq!(found.tally(State::Unreadable, Noun::ItemVersions).count, 1);
    assert_eq!(found.tally(State::Missing, Noun::Chunks).count, 1);
    h.sql("update items set history = 0").await;
    h.sql("insert into item_versions (tenant, namespace, key, version, updated_at, size_bytes, digest, body)
        select tenant, namespace, key, 1, 1, 2, digest, body from items where size_bytes < 100 limit 1").await;
    h.sql("delete from items where size_bytes < 100").await;
    assert!(examine(false).await.tally(State::Orphan, Noun::ItemVersions).count >= 1);
    assert!(examine(true).await.tally(State::Repaired, Noun::ItemVersions).count >= 1);
    assert_eq!(examine(false).await.tally(State::Orphan, Noun::ItemVersions).count, 0);
}

/// What is there already is encrypted in its place; words, which would say what it says, are gone.
pub async fn turning_encryption_on_keeps_versions_and_drops_words(h: Harness) {
    if masters().is_some() {
        return;
    }
    let store = Store::on(&h).await;
    let declared = Declared { history: Some(3), text_fields: Some(vec!["$".into()]) };
    store.settings.put(&store.caller, namespace(&["n"]), declared, NEVER).await.unwrap();
    for at in 0..2 {
        store.put(&["n"], "k", &large(at)).await;
    }
    store.put(&["n"], "k", r#"{"text":"small"}"#).await;
    let before = texts(&store, &["n"], "k").await;
    assert_eq!(before.len(), 3);
    let encryption = Encryption::Begins(master_keys(7));
    let command = StorageConfig { exclusive: false, encryption, ..config(h.url()) };
    let encrypting = storage::open(&command).await.unwrap();
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    encrypting.close().await;
    let h = h.encrypting(None).await;
    let store = Store::on(&h).await;
    assert_eq!(texts(&store, &["n"], "k").await, before);
    assert_eq!(h.count("select count(*) from items where words is not null").await, 0);
    let mode = SearchMode::Text(TextQuery::new("small").unwrap());
    let query = SearchItems { mode, sort: ItemSort::Score, ..search(&["n"], "{}") };
    // Made from the opened value now.
    assert_eq!(keys(&store.search(query).await.items), ["k"]);
    store.put(&["n"], "k", r#"{"text":"new"}"#).await;
    assert_eq!(h.count("select count(*) from items where words is not null").await, 0);
    assert_eq!(texts(&store, &["n"], "k").await.len(), 4);
    let report =
        h.storage.examine(&Examine { tenant: None, fix: false, now: START }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}
