//! Tests that `threadkeep encrypt` leaves no plain text.
//! The tests store a mark in every place for a client's text, then search every column of every table for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use threadkeep::content::envelope::open_at_most;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::store::namespace_settings::Declared;
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, NEVER, config, master_keys, masters, value};
use crate::item_history::file;
use crate::item_vectors::put_near;
use crate::session_calls::{self, append, entry, name, put};
use crate::snapshot_calls::{Desk, in_place, of, snapshot_id};
use crate::store::{SECOND, Store, namespace};
use crate::thread_details::details;

/// No compression shortens it, and no word is as long.
const MARK: &str = "q7Xw0ZkV3mRb9TnY";

/// No value with a mark is as long.
const MARK_BYTES_MAX: usize = 1 << 16;

/// Tables in which the mark can be read before, on either engine.
const READABLE: &[&str] = &[
    "checkpoints",
    "chunks",
    "item_versions",
    "items",
    "manifests",
    "session_entries",
    "snapshots",
    "thread_details",
    "writes",
];

/// Rows and columns that say what is in the values, though no mark can be read in them.
const TELLING: &[&str] = &[
    "select count(*) from items where words is not null or word_counts is not null or is_indexed",
    "select count(*) from item_vectors",
    "select count(*) from snapshot_items where words is not null or word_counts is not null or vector_bytes > 0",
    "select count(*) from snapshot_vectors",
];

async fn plant(h: &Harness) {
    let json = format!("{{\"text\":\"{MARK}\"}}");
    h.put(
        Put::new("1")
            .metadata(&json)
            .sets_value("a", "1", value("msgpack", MARK))
            .sets("b", "1", MARK)
            .sets("large", "1", &(MARK.repeat(100) + &"large ".repeat(10_000))),
    )
    .await;
    details(h, "t", MARK, &json).await;
    h.write(Writes::new("1", "task").write_value(0, "a", value("msgpack", MARK))).await;
    let store = Store::on(h).await;
    let declared = Declared { history: Some(3), text_fields: Some(vec!["$".to_owned()]) };
    store.settings.put(&store.caller, namespace(&["n"]), declared, NEVER).await.unwrap();
    for _ in 0..2 {
        let text = format!("{{\"text\":\"{MARK}\",\"at\":{}}}", store.clock.now());
        store.try_put(put_near(&["n"], "vector", &text, &[&[1.0, 0.5]])).await.unwrap();
        store.put(&["n"], "/file", &file(&format!("{MARK} {}", store.clock.now()))).await;
        store.clock.advance(SECOND);
    }
    let sessions = session_calls::Desk::on(h).await;
    let line = format!("{{\"line\":\"{MARK}\"}}");
    let steps = vec![append("", vec![entry(None, &line)]), put("notes", &line, None)];
    sessions.change(&name(&["s"]), steps).await.unwrap();
    let desk = Desk::at(h, Arc::clone(&store.clock)).await;
    let request = TakeSnapshot {
        namespaces: vec![namespace(&["n"])],
        sessions: vec![name(&["s"])],
        labels: [("label".to_owned(), MARK.to_owned())].into(),
        document: Some(json.into()),
        ..of("snap", &["t"], History::All)
    };
    desk.take(&h.caller, request).await.unwrap();
}

/// Tables in which the mark can be read: as it is, as digits, or in an envelope that needs no key.
async fn shown(h: &Harness) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for table in h.tables().await {
        if shows(&h.dump(&table).await) {
            found.insert(table);
        }
    }
    found
}

fn shows(dump: &str) -> bool {
    let has_mark = |bytes: &[u8]| bytes.windows(MARK.len()).any(|it| it == MARK.as_bytes());
    let mut cells =
        dump.split(|it: char| !it.is_ascii_hexdigit()).filter_map(|it| hex::decode(it).ok());
    dump.contains(MARK)
        || cells.any(|cell| {
            has_mark(&cell) || open_at_most(&cell, MARK_BYTES_MAX).is_ok_and(|it| has_mark(&it))
        })
}

pub async fn no_column_shows_what_a_client_said(h: Harness) {
    if masters().is_some() {
        return;
    }
    plant(&h).await;
    let before = shown(&h).await;
    for table in READABLE {
        assert!(before.contains(*table), "the mark was not planted in {table}");
    }
    for statement in TELLING {
        assert!(h.count(statement).await > 0, "nothing was planted: {statement}");
    }
    let encryption = Encryption::Begins(master_keys(7));
    let command = StorageConfig { exclusive: false, encryption, ..config(h.url()) };
    let encrypting = storage::open(&command).await.unwrap();
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    encrypting.close().await;
    let h = h.encrypting(None).await;
    assert_eq!(shown(&h).await, BTreeSet::new());
    for statement in TELLING {
        assert_eq!(h.count(statement).await, 0, "{statement}");
    }
    // It is all there, and a restore brings nothing plain back.
    let desk = Desk::on(&h).await;
    let snapshot = desk.get(&h, "snap").await.unwrap();
    assert_eq!(
        (snapshot.id.as_str(), snapshot.labels["label"].as_str()),
        (snapshot_id("snap").as_str(), MARK)
    );
    assert!(String::from_utf8(snapshot.document.unwrap().to_vec()).unwrap().contains(MARK));
    desk.restore(&h.caller, &in_place("snap")).await.unwrap();
    let store = Store::on(&h).await;
    assert!(store.get(&["n"], "vector").await.is_some());
    assert_eq!(shown(&h).await, BTreeSet::new());
    for statement in TELLING {
        assert_eq!(h.count(statement).await, 0, "{statement}");
    }
    if h.is_sqlite() {
        h.sql("vacuum").await;
        h.sql("pragma wal_checkpoint(truncate)").await;
        for file in std::fs::read_dir(h.files().await).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(MARK.len()).any(|it| it == MARK.as_bytes()), "a file shows it");
        }
    }
}
