//! Tests large values of items: shared chunks, freed chunks, and the doctor's report.

use threadkeep::domain::clock::Micros;
use threadkeep::domain::doctor::{Examine, Noun, State};
use threadkeep::domain::store::item::{ChangeItem, ItemOp};

use crate::harness::{Harness, NEVER, caller_of};
use crate::store::{SECOND, START, Store, change, put, search, text};

const CHUNKS: &str = "select count(*) from chunks";

fn document(words: usize, tail: &str) -> String {
    let words: Vec<String> = (0..words).map(|at| format!("word{}", at * 7_919 % 100_003)).collect();
    format!(r#"{{"text":"{} {tail}"}}"#, words.join(" "))
}

/// Shares nothing with the others.
fn another() -> String {
    document(20_000, "").replace("word", "other")
}

async fn report(h: &Harness, fix: bool) -> threadkeep::domain::doctor::Report {
    let request = Examine { tenant: None, fix, now: START };
    h.storage.examine(&request).await.unwrap()
}

pub async fn equal_parts_of_a_namespace_root_are_kept_once(h: Harness) {
    let store = Store::on(&h).await;
    let text_of = document(20_000, "");
    store.put(&["ann", "files"], "a", &text_of).await;
    let first = h.count(CHUNKS).await;
    assert!(first > 50, "{first}");
    store.put(&["ann", "files"], "a", &document(20_000, "and more")).await;
    store.put(&["ann", "other"], "b", &text_of).await;
    let shared = h.count(CHUNKS).await;
    assert!(shared < first + 10, "{first} {shared}");
    // Of another root, and of another tenant, nothing is shared.
    store.put(&["bob"], "a", &text_of).await;
    store.run_as(&caller_of("tenant-b"), put(&["ann"], "a", &text_of)).await.unwrap();
    assert!(h.count(CHUNKS).await >= shared + 2 * first - 10);
    assert_eq!(h.count("select count(*) from namespace_roots").await, 3);
    let report = report(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.tally(State::Checked, Noun::Items).count, 4);
    assert_eq!(report.tally(State::Orphan, Noun::Chunks).count, 0);
}

pub async fn chunks_go_an_hour_after_the_last_item_that_needs_them(h: Harness) {
    let store = Store::on(&h).await;
    let large = document(20_000, "");
    store.put(&["ann"], "a", &large).await;
    store.put(&["ann"], "b", &large).await;
    let mut short = change(&["ann"], "c", Some(&another()));
    short.value.as_mut().unwrap().ttl_micros = Some(60 * SECOND);
    store.try_put(short).await.unwrap();
    let all = h.count(CHUNKS).await;
    store.put(&["ann"], "a", "{}").await;
    store.storage.sweep(START + 7_200 * SECOND).await.unwrap();
    // The sweep that removes an item leaves its content to a later one.
    store.storage.sweep(START + 2 * 7_200 * SECOND).await.unwrap();
    let left = h.count(CHUNKS).await;
    assert!(left < all && left > 100, "{all} {left}");
    assert_eq!(text(&store.get(&["ann"], "b").await.unwrap()), large);
    // A server that remembers chunks that are gone plans anew.
    store.put(&["ann"], "c", &another()).await;
    store.delete(&["ann"], "b").await;
    store.delete(&["ann"], "c").await;
    store.storage.sweep(START + 3 * 7_200 * SECOND).await.unwrap();
    assert_eq!(h.count(CHUNKS).await, 0);
    assert_eq!(h.count("select count(*) from garbage").await, 0);
    store.put(&["ann"], "d", &large).await;
    assert_eq!(text(&store.get(&["ann"], "d").await.unwrap()), large);
    let report = report(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
}

/// Writers, readers and collections of one root at the same time.
pub async fn collections_beside_writers_lose_nothing(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    let storage = std::sync::Arc::clone(&h.storage);
    let writer = |task: usize| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move {
            for round in 0..12 {
                let key = format!("k{}", (task + round) % 3);
                let value = document(6_000 + 500 * ((task * 5 + round) % 4), &format!("{task}"));
                store.put(&["ann"], &key, &value).await;
                if round % 4 == 3 {
                    store.delete(&["ann"], &key).await;
                }
                for item in store.scan(search(&["ann"], "{}")).await {
                    assert!(text(&item).ends_with("\"}"));
                }
            }
        })
    };
    let sweeps = tokio::spawn(async move {
        let mut now: Micros = START;
        for _ in 0..25 {
            now += 7_200 * SECOND;
            storage.sweep(now).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    for task in (0..3).map(writer).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    sweeps.await.unwrap();
    let report = report(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
    store.storage.sweep(START + 10_000 * 7_200 * SECOND).await.unwrap();
    assert_eq!(report_orphans(&h).await, 0);
}

async fn report_orphans(h: &Harness) -> u64 {
    report(h, false).await.tally(State::Orphan, Noun::Chunks).count
}

pub async fn the_doctor_finds_damaged_items(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["ann"], "small", r#"{"a":"some text that is long enough"}"#).await;
    store.put(&["ann"], "large", &document(20_000, "")).await;
    store.put(&["bob"], "sound", "{}").await;
    h.sql("update items set body = substr(body, 1, length(body) - 3) where size_bytes < 100 and size_bytes > 2").await;
    h.sql("delete from chunks where name = (select min(name) from chunks)").await;
    let found = report(&h, true).await;
    assert_eq!(found.tally(State::Damaged, Noun::Items).count, 1);
    assert_eq!(found.tally(State::Unreadable, Noun::Items).count, 1);
    assert_eq!(found.tally(State::Missing, Noun::Chunks).count, 1);
    assert_eq!(found.tally(State::Checked, Noun::Items).count, 3);
    assert!(found.places.iter().any(|it| it.place.namespace == Some(vec!["ann".into()])));
    assert!(!format!("{found:?}").contains("small"), "keys stay out of reports");
    let read = store.run(crate::store::get(&["ann"], "small", true)).await;
    assert!(matches!(read, Err(threadkeep::domain::Error::Integrity(_))), "{read:?}");
}

pub async fn orphaned_chunks_are_found_and_removed(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["ann"], "a", &document(20_000, "")).await;
    h.sql(
        "insert into chunks (tenant, scope_id, name, body)
        select tenant, scope_id, cast('123456789012' as BYTES), body from chunks limit 1"
            .replace("BYTES", if h.is_sqlite() { "blob" } else { "bytea" })
            .as_str(),
    )
    .await;
    assert_eq!(report_orphans(&h).await, 1);
    assert_eq!(report(&h, true).await.tally(State::Repaired, Noun::Chunks).count, 1);
    assert_eq!(report_orphans(&h).await, 0);
    assert_eq!(text(&store.get(&["ann"], "a").await.unwrap()), document(20_000, ""));
    let op =
        ItemOp::Change(ChangeItem { if_version: Some(0), ..change(&["ann"], "a", Some("{}")) });
    assert!(store.items.run(&store.caller, op, None, NEVER).await.is_err());
}

/// What a quota refuses is a new item, never a change of one that is there.
pub async fn a_full_tenant_changes_its_items_and_makes_none(h: Harness) {
    let act = threadkeep::domain::tenants::audit::Act::of_operator(
        "tenant-a",
        threadkeep::domain::tenants::audit::ActKind::QuotaSet,
        "",
        1,
    );
    let quota =
        threadkeep::domain::tenants::quotas::Quota { items_max: Some(2), ..Default::default() };
    let store = Store::on(&h).await;
    store.put(&["n"], "a", "{}").await;
    store.put(&["n"], "b", "{}").await;
    h.storage.put_quota("tenant-a", &quota, &act).await.unwrap();
    let usage = h.storage.measure_usage("tenant-a").await.unwrap();
    assert_eq!((usage.items, usage.bytes), (2, 4));
    // A server that has looked.
    let full = Store::on(&h).await;
    full.quotas.poll().await.unwrap();
    let refused = full.try_put(change(&["n"], "c", Some("{}"))).await.unwrap_err();
    assert!(matches!(refused, threadkeep::domain::Error::QuotaExceeded(_)), "{refused}");
    let both = vec![put(&["n"], "a", r#"{"new":1}"#), put(&["n"], "c", "{}")];
    assert!(full.batch(both, true).await.is_err());
    assert_eq!(text(&full.get(&["n"], "a").await.unwrap()), "{}");
    full.put(&["n"], "a", r#"{"new":1}"#).await;
    full.delete(&["n"], "b").await;
    full.quotas.poll().await.unwrap();
    full.put(&["n"], "c", "{}").await;
}
