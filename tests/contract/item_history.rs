//! Tests earlier versions of items: which are kept, what they read, and that they are removed with the item.

use threadkeep::domain::caller::Caller;
use threadkeep::domain::store::history::RestoreItem;
use threadkeep::domain::store::history_storage::{ItemVersion, ListVersions, VersionPage};
use threadkeep::domain::store::item::Address;
use threadkeep::domain::store::namespace_settings::Declared;
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Error, Result};

use crate::harness::{Harness, NEVER, caller_of};
use crate::store::{SECOND, START, Store, address, change, current, granted, namespace, text};
use crate::subjects::check_sound;

pub const VERSIONS: &str = "select count(*) from item_versions";

/// A file as deepagents keeps it.
pub fn file(content: &str) -> String {
    let times = r#""created_at":"2026-01-01T00:00:00Z","modified_at":"2026-01-01T00:00:00Z""#;
    format!(r#"{{"content":{},{times}}}"#, serde_json::json!(content))
}

pub async fn declare(store: &Store, labels: &[&str], history: u32) {
    let declared = Declared { history: Some(history), text_fields: None };
    store.settings.put(&store.caller, namespace(labels), declared, NEVER).await.unwrap();
}

pub async fn page(store: &Store, query: &ListVersions) -> VersionPage {
    store.items.list_versions(&store.caller, query).await.unwrap()
}

pub fn all(labels: &[&str], key: &str) -> ListVersions {
    ListVersions { address: address(labels, key), before: None, limit: 1_000, values: true }
}

pub async fn texts(store: &Store, labels: &[&str], key: &str) -> Vec<String> {
    page(store, &all(labels, key)).await.versions.iter().map(text_of).collect()
}

fn text_of(version: &ItemVersion) -> String {
    String::from_utf8(version.value.clone().unwrap().to_vec()).unwrap()
}

pub fn restoring(of: Address, version: i64) -> RestoreItem {
    RestoreItem { address: of, version, if_version: None }
}

pub async fn restore(store: &Store, request: &RestoreItem) -> Result<i64> {
    store.items.restore(&store.caller, request, None, NEVER).await
}

pub async fn files_keep_ten_versions_and_others_none(h: Harness) {
    let store = Store::on(&h).await;
    let mut versions = Vec::new();
    for at in 0..14 {
        store.clock.advance(SECOND);
        versions.push(store.put(&["n"], "/a.md", &file(&format!("text {at}"))).await);
        store.put(&["n"], "other", &format!(r#"{{"at":{at}}}"#)).await;
    }
    let found = page(&store, &all(&["n"], "/a.md")).await.versions;
    let expected: Vec<String> = (3..14).rev().map(|at| file(&format!("text {at}"))).collect();
    assert_eq!(found.iter().map(text_of).collect::<Vec<_>>(), expected);
    let numbers: Vec<i64> = found.iter().map(|it| it.version).collect();
    assert_eq!(numbers, versions[3..].iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(found.iter().filter(|it| it.is_current).count(), 1);
    assert!(found[0].is_current && found[0].updated_at == START + 14 * SECOND);
    assert!(found.windows(2).all(|it| it[0].updated_at == it[1].updated_at + SECOND));
    assert_eq!(texts(&store, &["n"], "other").await, [r#"{"at":13}"#]);
    assert_eq!(h.count(VERSIONS).await, 10);
    // What took a file's place is no reason to forget the file.
    store.put(&["n"], "/a.md", "{}").await;
    assert_eq!(texts(&store, &["n"], "/a.md").await.len(), 11);
    assert_eq!(texts(&store, &["n"], "/a.md").await[1], file("text 13"));
    check_sound(&h).await;
}

pub async fn the_longest_prefix_says_how_many(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &[], 2).await;
    declare(&store, &["n", "much"], 4).await;
    declare(&store, &["n", "none"], 0).await;
    let kept = async |labels: &[&str]| {
        for at in 0..7 {
            store.put(labels, "k", &file(&at.to_string())).await;
        }
        texts(&store, labels, "k").await.len() - 1
    };
    assert_eq!(kept(&["n"]).await, 2);
    assert_eq!(kept(&["n", "much"]).await, 4);
    assert_eq!(kept(&["n", "much", "below"]).await, 4);
    assert_eq!(kept(&["n", "muchmore"]).await, 2);
    assert_eq!(kept(&["n", "none", "x"]).await, 0);
    // Of another tenant nothing was said.
    let other = Store::of(&h.storage, &caller_of("tenant-b")).await;
    for at in 0..3 {
        other.put(&["n", "much"], "k", &format!(r#"{{"at":{at}}}"#)).await;
    }
    assert_eq!(texts(&other, &["n", "much"], "k").await.len(), 1);
    // A smaller number holds from the next put on.
    declare(&store, &["n", "much"], 1).await;
    store.put(&["n", "much"], "k", "{}").await;
    assert_eq!(texts(&store, &["n", "much"], "k").await, ["{}".to_owned(), file("6")]);
    store.settings.delete(&store.caller, &namespace(&["n", "much"]), NEVER).await.unwrap();
    assert_eq!(kept(&["n", "much"]).await, 2);
    declare(&store, &["n", "much"], 0).await;
    store.put(&["n", "much"], "k", "{}").await;
    assert_eq!(texts(&store, &["n", "much"], "k").await, ["{}"]);
}

pub async fn a_version_comes_back_as_a_new_one(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 5).await;
    let mut first = change(&["n"], "k", Some(r#"{"a": 1.0,"lone":"\ud800"}"#));
    first.value.as_mut().unwrap().ttl_micros = Some(600 * SECOND);
    let first = store.try_put(first).await.unwrap();
    let second = store.put(&["n"], "k", r#"{"a":2}"#).await;
    store.clock.advance(SECOND);
    let wrong = RestoreItem { if_version: Some(first), ..restoring(address(&["n"], "k"), first) };
    assert_eq!(current(restore(&store, &wrong).await), second);
    let right = RestoreItem { if_version: Some(second), ..wrong };
    assert_eq!(restore(&store, &right).await.unwrap(), second + 1);
    let item = store.get(&["n"], "k").await.unwrap();
    assert_eq!(text(&item), r#"{"a": 1.0,"lone":"\ud800"}"#);
    assert_eq!(item.expires_at, Some(START + 601 * SECOND));
    assert_eq!(texts(&store, &["n"], "k").await.len(), 3);
    let again = restore(&store, &restoring(address(&["n"], "k"), second)).await.unwrap();
    assert_eq!((again, texts(&store, &["n"], "k").await[0].as_str()), (second + 2, r#"{"a":2}"#));
    for (key, version) in [("k", first - 1), ("k", again + 1), ("other", first)] {
        let refused = restore(&store, &restoring(address(&["n"], key), version)).await;
        assert!(matches!(refused, Err(Error::NotFound(_))), "{key} {version}: {refused:?}");
    }
    check_sound(&h).await;
}

pub async fn a_repeated_restoration_is_answered_once(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 1).await;
    let first = store.put(&["n"], "k", r#"{"a":1}"#).await;
    store.put(&["n"], "k", r#"{"a":2}"#).await;
    let key = |digest: u8| Some(("key-1".to_owned(), [digest; 32]));
    let request = restoring(address(&["n"], "k"), first);
    let send = async |key| store.items.restore(&store.caller, &request, key, NEVER).await;
    let done = send(key(1)).await.unwrap();
    assert_eq!(done, first + 2);
    // The version is not kept any more.
    assert_eq!(send(key(1)).await.unwrap(), done);
    assert!(matches!(send(key(2)).await, Err(Error::IdempotencyMismatch)));
    assert!(matches!(send(None).await, Err(Error::NotFound(_))));
    let other = Some(("key-2".to_owned(), [1; 32]));
    assert!(matches!(send(other.clone()).await, Err(Error::NotFound(_))));
    assert!(matches!(send(other).await, Err(Error::NotFound(_))));
    assert_eq!(texts(&store, &["n"], "k").await, [r#"{"a":1}"#, r#"{"a":2}"#]);
}

pub async fn pages_of_versions_are_whole_and_end_at_their_bytes(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 20).await;
    let large = |at: u32| format!(r#"{{"at":{at},"text":"{}"}}"#, "word ".repeat(500_000));
    for at in 0..9 {
        store
            .put(&["n"], "k", &if at % 3 == 0 { large(at) } else { format!("{{\"at\":{at}}}") })
            .await;
    }
    let mut query = ListVersions { limit: 4, values: false, ..all(&["n"], "k") };
    let mut seen = Vec::new();
    loop {
        let found = page(&store, &query).await;
        assert!(found.versions.iter().all(|it| it.value.is_none()));
        seen.extend(found.versions.iter().map(|it| it.version));
        query.before = found.next;
        if query.before.is_none() {
            break;
        }
        assert_eq!(found.versions.len(), 4);
    }
    assert_eq!(seen.len(), 9);
    assert!(seen.windows(2).all(|it| it[0] == it[1] + 1));
    let (mut query, mut count, mut pages) = (all(&["n"], "k"), 0, 0);
    loop {
        let found = page(&store, &query).await;
        for version in &found.versions {
            count += 1;
            let at = 9 - count;
            let expected = if at % 3 == 0 { large(at) } else { format!("{{\"at\":{at}}}") };
            assert_eq!(text_of(version), expected);
            assert_eq!(version.size_bytes, i64::try_from(expected.len()).unwrap());
        }
        (query.before, pages) = (found.next, pages + 1);
        if query.before.is_none() {
            break;
        }
    }
    assert_eq!((count, pages), (9, 2), "4 MiB of values end a page");
    let nothing = ListVersions { limit: 0, ..all(&["n"], "k") };
    assert_eq!(page(&store, &nothing).await.versions, []);
}

pub async fn versions_go_with_their_item(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], 3).await;
    let fill = async |key: &str| {
        for at in 0..3 {
            let mut put = change(&["n"], key, Some(&format!("{{\"at\":{at}}}")));
            put.value.as_mut().unwrap().ttl_micros = Some(60 * SECOND);
            store.try_put(put).await.unwrap();
        }
    };
    fill("deleted").await;
    store.delete(&["n"], "deleted").await;
    assert_eq!(h.count(VERSIONS).await, 0);
    store.put(&["n"], "deleted", "{}").await;
    assert_eq!(
        texts(&store, &["n"], "deleted").await,
        ["{}"],
        "of the earlier item nothing is left"
    );
    fill("expired").await;
    fill("again").await;
    store.clock.advance(61 * SECOND);
    assert_eq!(texts(&store, &["n"], "expired").await, Vec::<String>::new());
    let address = address(&["n"], "expired");
    assert_eq!(store.items.get_version(&store.caller, &address, 1).await.unwrap(), None);
    // Another item under the same name, before the sweep.
    store.put(&["n"], "again", r#"{"new":1}"#).await;
    assert_eq!(texts(&store, &["n"], "again").await, [r#"{"new":1}"#]);
    assert_eq!(h.count(VERSIONS).await, 2);
    store.storage.sweep(START + 62 * SECOND).await.unwrap();
    assert_eq!(h.count(VERSIONS).await, 0);
    check_sound(&h).await;
}

pub async fn every_acknowledged_version_is_kept(h: Harness) {
    let store = std::sync::Arc::new(Store::on(&h).await);
    declare(&store, &["n"], 100).await;
    let puts = (0..40).map(|at| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move { (store.put(&["n"], "k", &format!("{{\"at\":{at}}}")).await, at) })
    });
    let mut told = Vec::new();
    for put in puts.collect::<Vec<_>>() {
        told.push(put.await.unwrap());
    }
    told.sort_unstable_by_key(|it| -it.0);
    let found = page(&store, &all(&["n"], "k")).await.versions;
    let found: Vec<(i64, String)> = found.iter().map(|it| (it.version, text_of(it))).collect();
    let told: Vec<(i64, String)> =
        told.into_iter().map(|(version, at)| (version, format!("{{\"at\":{at}}}"))).collect();
    assert_eq!(found, told);
}

pub async fn only_who_may_read_and_write_sees_and_restores(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["ann"], 3).await;
    let first = store.put(&["ann", "x"], "k", r#"{"a":1}"#).await;
    store.put(&["ann", "x"], "k", r#"{"a":2}"#).await;
    let tenant = "tenant-a";
    let reader = granted(tenant, &[(&["ann"], Actions::READ)]);
    let writer = granted(tenant, &[(&["ann"], Actions::WRITE)]);
    let stranger = granted(tenant, &[(&["bob"], Actions::ALL)]);
    let query = all(&["ann", "x"], "k");
    let seen = async |caller: &Caller| store.items.list_versions(caller, &query).await;
    assert_eq!(seen(&reader).await.unwrap().versions.len(), 2);
    assert_eq!(seen(&stranger).await.unwrap().versions.len(), 0);
    assert!(matches!(seen(&writer).await, Err(Error::NotGranted(_))));
    assert_eq!(seen(&caller_of("tenant-b")).await.unwrap().versions.len(), 0);
    let request = restoring(address(&["ann", "x"], "k"), first);
    for caller in [&reader, &writer, &stranger] {
        let refused = store.items.restore(caller, &request, None, NEVER).await;
        assert!(matches!(refused, Err(Error::NotGranted(_))), "{refused:?}");
        if caller != &writer {
            let of = namespace(&["ann", "x"]);
            let declared = Declared { history: Some(1), text_fields: None };
            let refused = store.settings.put(caller, of.clone(), declared, NEVER).await;
            assert!(matches!(refused, Err(Error::NotGranted(_))));
            let refused = store.settings.delete(caller, &of, NEVER).await;
            assert!(matches!(refused, Err(Error::NotGranted(_))));
        }
    }
    let whole = store.settings.put(
        &writer,
        namespace(&[]),
        Declared { history: Some(1), text_fields: None },
        NEVER,
    );
    assert!(
        matches!(whole.await, Err(Error::NotGranted(_))),
        "the whole tenant is not the token's"
    );
    let all = Declared { history: Some(3), text_fields: None };
    let (own, effective) = store.settings.get(&reader, &namespace(&["ann"])).await.unwrap();
    assert_eq!((own.unwrap().declared, effective), (all.clone(), all));
    let (own, effective) = store.settings.get(&stranger, &namespace(&["ann"])).await.unwrap();
    assert_eq!((own, effective), (None, Declared::default()));
    assert_eq!(store.settings.list(&stranger, &namespace(&[])).await.unwrap(), []);
    assert_eq!(store.settings.list(&reader, &namespace(&[])).await.unwrap().len(), 1);
}

pub async fn servers_follow_each_others_settings(h: Harness) {
    let (one, two) = (Store::on(&h).await, Store::on(&h).await);
    declare(&one, &["n"], 2).await;
    two.settings.poll().await.unwrap();
    for at in 0..4 {
        two.put(&["n"], "k", &format!("{{\"at\":{at}}}")).await;
    }
    assert_eq!(texts(&one, &["n"], "k").await.len(), 3);
}
