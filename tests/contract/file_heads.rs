//! Tests the notes about files beside their values: any put writes them, listings open no values, and contents kept elsewhere are no
//! values.

use threadkeep::domain::Error;
use threadkeep::domain::doctor::{Examine, Noun, State};
use threadkeep::domain::files::dialect::Dialect::{JavaScript, Python};
use threadkeep::domain::files::storage::{FileRow, KeyRange, ListFiles};
use threadkeep::domain::store::file_head::{FileHead, Form};
use threadkeep::domain::store::history::RestoreItem;
use threadkeep::domain::store::history_storage::ListVersions;
use threadkeep::domain::store::item::{ChangeItem, KeptContent, OpResult};
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::harness::{Harness, NEVER, config, master_keys, masters};
use crate::store::{START, Store, address, change, get, namespace, put, scope, search};

const UNKNOWN: &str = "select count(*) from items where file_head is null";
const TIMES: &str = r#""created_at":"2026-11-21T08:19:04.140Z","modified_at":"m""#;

async fn list_in(store: &Store, labels: &[&str], limit: usize) -> Vec<FileRow> {
    let mut range = KeyRange::all();
    let mut all = Vec::new();
    loop {
        let query = ListFiles { namespace: namespace(labels), range: range.clone(), limit };
        let page = store.storage.list_files(&store.caller, &query, START).await.unwrap();
        all.extend(page.files);
        let Some(next) = page.next else { return all };
        range.from = next;
    }
}

async fn list(store: &Store) -> Vec<FileRow> {
    list_in(store, &["u", "files"], 1_000).await
}

/// Files of both languages and of the first format, and what is none.
async fn fill(store: &Store) {
    let labels = ["u", "files"];
    for (key, value) in [
        ("/a.txt", format!(r#"{{"content":"aé","encoding":"utf-8",{TIMES}}}"#)),
        ("/b.png", format!(r#"{{"content":"AQI=","encoding":"base64",{TIMES}}}"#)),
        (
            "/c.png",
            format!(
                r#"{{"content":{{"$threadkeep:bytes":"AQID"}},"mimeType":"image/png",{TIMES}}}"#
            ),
        ),
        ("/dir/old", format!(r#"{{"content":["x","y"],{TIMES}}}"#)),
        ("/no", r#"{"content":5}"#.to_owned()),
        ("/none", "{}".to_owned()),
        ("/bare", r#"{"content":""}"#.to_owned()),
        ("odd\0", format!(r#"{{"content":"\ud800",{TIMES}}}"#)),
        ("/large", format!(r#"{{"content":"{}",{TIMES}}}"#, "large ".repeat(20_000))),
    ] {
        store.put(&labels, key, &value).await;
    }
    store.put(&["u", "files", "below"], "/below", r#"{"content":"x"}"#).await;
    store.put(&["u"], "/above", r#"{"content":"x"}"#).await;
}

fn shown(rows: &[FileRow]) -> Vec<(&str, Form, u64, u64)> {
    let of = |it: &FileHead| (it.form, it.size_in(Python), it.size_in(JavaScript));
    let row = |it: &'_ FileRow| of(&it.head);
    rows.iter()
        .map(|it| {
            let (form, python, script) = row(it);
            (it.key.text().unwrap(), form, python, script)
        })
        .collect()
}

const EXPECTED: [(&str, Form, u64, u64); 7] = [
    ("/a.txt", Form::Text, 3, 2),
    ("/b.png", Form::Base64, 4, 4),
    ("/bare", Form::Text, 0, 0),
    ("/c.png", Form::Bytes, 4, 3),
    ("/dir/old", Form::Lines, 3, 3),
    ("/large", Form::Text, 120_000, 120_000),
    ("odd\0", Form::Text, 3, 1),
];

pub async fn any_put_notes_what_a_listing_shows(h: Harness) {
    let store = Store::on(&h).await;
    fill(&store).await;
    assert_eq!(h.count(UNKNOWN).await, 0);
    // Nothing of a value is looked at.
    h.sql("update items set body = substr(body, 1, 1)").await;
    let files = list(&store).await;
    assert_eq!(shown(&files), EXPECTED);
    let image = &files[3].head;
    assert_eq!(image.media_type.as_ref().unwrap().text(), Some("image/png"));
    assert_eq!(image.modified_at.as_ref().unwrap().text(), Some("m"));
    assert!(!files[2].head.is_file_in(JavaScript));
    for limit in [1, 2, 7] {
        assert_eq!(list_in(&store, &["u", "files"], limit).await, files);
    }
    let query = ListFiles {
        namespace: namespace(&["u", "files"]),
        range: KeyRange::below(b"/dir"),
        limit: 10,
    };
    let page = store.storage.list_files(&store.caller, &query, START).await.unwrap();
    assert_eq!(shown(&page.files), [("/dir/old", Form::Lines, 3, 3)]);
    let readable = h.count("select count(*) from items where length(file_head) > 0").await;
    assert_eq!(readable, 9);
}

pub async fn a_replaced_or_deleted_file_is_noted_anew(h: Harness) {
    let store = Store::on(&h).await;
    fill(&store).await;
    let labels = ["u", "files"];
    store.put(&labels, "/a.txt", r#"{"content":"longer"}"#).await;
    store.put(&labels, "/bare", "{}").await;
    store.put(&labels, "/none", r#"{"content":"now it is"}"#).await;
    store.delete(&labels, "/b.png").await;
    let files = list(&store).await;
    let sizes: Vec<(&str, u64)> = shown(&files).iter().map(|it| (it.0, it.2)).collect();
    let expected = [
        ("/a.txt", 6),
        ("/c.png", 4),
        ("/dir/old", 3),
        ("/large", 120_000),
        ("/none", 9),
        ("odd\0", 3),
    ];
    assert_eq!(sizes, expected);
}

/// Items from before the migration have no head; neither have values whose texts do not fit.
pub async fn what_was_put_before_is_opened_once(h: Harness) {
    let store = Store::on(&h).await;
    fill(&store).await;
    let before = list(&store).await;
    h.sql("update items set file_head = null").await;
    assert_eq!(h.count(UNKNOWN).await, 11);
    assert_eq!(list_in(&store, &["u", "files"], 3).await, before);
    assert_eq!(h.count(UNKNOWN).await, 2, "only of this namespace");
    assert_eq!(list(&store).await, before);
    let long = "y".repeat(300);
    store.put(&["n"], "/x", &format!(r#"{{"content":"x","modified_at":"{long}"}}"#)).await;
    for _ in 0..2 {
        let files = list_in(&store, &["n"], 10).await;
        assert_eq!(files[0].head.modified_at.as_ref().unwrap().text(), Some(long.as_str()));
    }
}

fn kept(key: &str) -> ChangeItem {
    let mut change = change(&["u", "files"], key, Some(r#"{"content":""}"#));
    let head = FileHead {
        form: Form::Elsewhere,
        size: 5 << 30,
        units: 0,
        sha256: None,
        created_at: None,
        modified_at: Some("m".into()),
        media_type: Some("video/mp4".into()),
    };
    change.value.as_mut().unwrap().kept = Some(KeptContent { content_id: vec![7; 16], head });
    change
}

pub async fn what_is_kept_elsewhere_is_no_value_of_the_store(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["u", "files"], "/small", r#"{"content":"x"}"#).await;
    let first = store.try_put(kept("/film.mp4")).await.unwrap();
    let files = list(&store).await;
    assert_eq!(shown(&files)[0], ("/film.mp4", Form::Elsewhere, 5 << 30, 5 << 30));
    assert_eq!(files[0].content_id, Some(vec![7; 16]));
    let refused = store.run(get(&["u", "files"], "/film.mp4", true)).await;
    assert!(matches!(refused, Err(Error::ValueTooLarge)), "{refused:?}");
    let gets = vec![get(&["u", "files"], "/film.mp4", true), get(&["u", "files"], "/small", true)];
    let both = store.batch(gets, false).await.unwrap();
    assert!(matches!(both[0], Err(Error::ValueTooLarge)));
    assert!(matches!(both[1], Ok(OpResult::Got(Some(_)))));
    for (filter, found) in [("{}", 1), (r#"{"content":"x"}"#, 1), (r#"{"content":"z"}"#, 0)] {
        let page = store.search(search(&["u"], filter)).await;
        assert_eq!((page.items.len(), page.omitted), (found, 1), "{filter}");
    }
    assert_eq!(store.search(search(&["v"], "{}")).await.omitted, 0);
    assert_eq!(store.count(scope(&["u"], "{}")).await, 1);
    // Offsets and pages count what is shown.
    for at in 0..3 {
        store.try_put(kept(&format!("/film{at}"))).await.unwrap();
        store.put(&["u", "files"], &format!("/s{at}"), r#"{"content":"x"}"#).await;
    }
    let mut query = search(&["u"], "{}");
    (query.limit, query.offset) = (2, 2);
    let page = store.search(query).await;
    assert_eq!((page.items.len(), page.omitted), (2, 4));
    // An earlier version comes back only where the value has it.
    let address = address(&["u", "files"], "/film.mp4");
    store.put(&["u", "files"], "/film.mp4", r#"{"content":"y"}"#).await;
    let list = ListVersions { address: address.clone(), before: None, limit: 10, values: true };
    assert!(store.get(&["u", "files"], "/film.mp4").await.is_some());
    let restore = RestoreItem { address, version: first, if_version: None };
    let versions = store.items.list_versions(&store.caller, &list).await.unwrap().versions;
    if versions.len() > 1 {
        assert_eq!(versions[1].value, None);
        let refused = store.items.restore(&store.caller, &restore, None, NEVER).await;
        assert!(matches!(refused, Err(Error::ValueTooLarge)));
    }
}

/// Versions of files carry their heads, and the doctor opens them all.
pub async fn the_doctor_finds_damaged_heads(h: Harness) {
    let store = Store::on(&h).await;
    fill(&store).await;
    let value = format!(r#"{{"content":"new",{TIMES}}}"#);
    store.put(&["u", "files"], "/a.txt", &value).await;
    let heads = "select count(*) from item_versions where length(file_head) > 0";
    assert_eq!(h.count(heads).await, 1);
    let examine = async || {
        let request = Examine { tenant: None, fix: false, now: START };
        h.storage.examine(&request).await.unwrap()
    };
    let sound = examine().await;
    assert!(sound.is_sound(), "{sound:?}");
    for table in ["items", "item_versions"] {
        let last = format!(
            "update {table} set file_head = substr(file_head, 1, length(file_head) - 1)
            where length(file_head) > 0"
        );
        h.sql(&last).await;
    }
    let found = examine().await;
    assert_eq!(found.tally(State::Damaged, Noun::Items).count, 9);
    assert_eq!(found.tally(State::Damaged, Noun::ItemVersions).count, 1);
}

pub async fn turning_encryption_on_seals_heads(h: Harness) {
    if masters().is_some() {
        let store = Store::on(&h).await;
        fill(&store).await;
        assert!(!h.dump("items").await.contains(&hex::encode("image/png")));
        return;
    }
    let store = Store::on(&h).await;
    fill(&store).await;
    let value = format!(r#"{{"content":"new","mimeType":"text/very",{TIMES}}}"#);
    store.run(put(&["u", "files"], "/a.txt", &value)).await.unwrap();
    store.run(put(&["u", "files"], "/a.txt", &value)).await.unwrap();
    let before = list(&store).await;
    let encryption = Encryption::Begins(master_keys(7));
    let command = StorageConfig { exclusive: false, encryption, ..config(h.url()) };
    let encrypting = storage::open(&command).await.unwrap();
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    encrypting.close().await;
    let h = h.encrypting(None).await;
    let store = Store::on(&h).await;
    assert_eq!(list(&store).await, before);
    for table in ["items", "item_versions"] {
        let dump = h.dump(table).await;
        assert!(
            !dump.contains("text/very") && !dump.contains(&hex::encode("text/very")),
            "{table}"
        );
    }
    let report =
        h.storage.examine(&Examine { tenant: None, fix: false, now: START }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}
