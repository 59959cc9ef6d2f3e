//! Tests that snapshots are encrypted, and that damage of them is found.

use std::path::Path;

use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::{Noun, State};
use threadkeep::domain::snapshots::export::ArrivedSnapshot;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::snapshots::{History, Snapshot};
use threadkeep::storage::postgres::PostgresStorage;
use threadkeep::storage::snapshots::SnapshotEngine;
use threadkeep::storage::sqlite::{SqliteConfig, SqliteStorage};
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::archives::Workspaces;
use crate::contents::noise;
use crate::doctor::{examine, flip};
use crate::harness::{Harness, config, master_keys, masters};
use crate::session_calls::{self as sessions, name};
use crate::snapshot_calls::{Desk, check_sound, in_place, of, seen};
use crate::snapshots::converse;
use crate::store::{Store, namespace};

const RECORD: &[u8] = b"{\"note\": \"what a client wrote about its sandbox\", \"n\": 1.0}";

pub async fn turning_encryption_on_seals_snapshots(h: Harness) {
    converse(&h, "t").await;
    let then = seen(&h, "t").await;
    let mut request = of("s", &["t"], History::All);
    request.document = Some(RECORD.into());
    let (workspaces, bytes) = (Workspaces::on(&h).await, noise(1, 3 << 20));
    let archive = workspaces.stage(&h.caller, "w", &bytes).await.unwrap();
    request.archive = Some(archive.id);
    Desk::on(&h).await.take(&h.caller, request).await.unwrap();
    if masters().is_none() {
        let encryption = Encryption::Begins(master_keys(7));
        let command = StorageConfig { exclusive: false, encryption, ..config(h.url()) };
        let encrypting = storage::open(&command).await.unwrap();
        assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
        encrypting.close().await;
    }
    let h = if masters().is_none() { h.encrypting(None).await } else { h };
    let desk = Desk::on(&h).await;
    assert_eq!(desk.get(&h, "s").await.unwrap().document.as_deref(), Some(RECORD));
    assert_eq!(desk.get(&h, "s").await.unwrap().archive.as_ref(), Some(&archive));
    assert!(Workspaces::on(&h).await.read(&h.caller, &archive).await.unwrap() == bytes);
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&h, "t").await, then);
    check_sound(&h).await;
    let dump = h.dump("snapshots").await.to_lowercase();
    assert!(!dump.contains(&hex::encode("about its sandbox")), "{dump}");
    // A digest in plain would say which bytes are sealed.
    for table in ["archives", "contents", "content_parts", "content_slices"] {
        let dump = h.dump(table).await.to_lowercase();
        for digest in [hex::encode(archive.sha256), hex::encode(hex::encode(archive.sha256))] {
            assert!(!dump.contains(&digest), "{table}: {dump}");
        }
    }
}

pub async fn what_a_snapshot_lacks_is_found(h: Harness) {
    let (store, agents) = (Store::on(&h).await, sessions::Desk::on(&h).await);
    let desk = Desk::on(&h).await;
    converse(&h, "t").await;
    store.put(&["a"], "k", r#"{"n":1}"#).await;
    store.put(&["a", "b"], "k", r#"{"n":2}"#).await;
    agents.append(&name(&["p", "s"]), &["1"]).await.unwrap();
    let take = async |id: &str| {
        let request = TakeSnapshot {
            namespaces: vec![namespace(&["a"])],
            sessions: vec![name(&["p", "s"])],
            document: Some(RECORD.into()),
            ..of(id, &["t"], History::All)
        };
        desk.take(&h.caller, request).await.unwrap();
    };
    let found = async || {
        let report = examine(&h, false).await;
        let count = |state| report.tally(state, Noun::Snapshots).count;
        (count(State::Missing), count(State::Damaged), count(State::Orphan))
    };
    take("s").await;
    check_sound(&h).await;
    let hidden = "length(thread_id) > 512";
    let flipped = flip(&h, "snapshots", "document", "true");
    let below = h.count("select count(*) from snapshot_items").await;
    assert_eq!(below, 2);
    for (damage, expected) in [
        (
            format!("update threads set checkpoint_count = checkpoint_count + 1 where {hidden}"),
            (1, 0, 0),
        ),
        ("delete from item_versions where version < 0 and size_bytes > 0".to_owned(), (2, 0, 0)),
        ("delete from sessions where kind like ':%'".to_owned(), (3, 0, 0)),
        // What it should have is not known then.
        (flipped.clone(), (0, 1, 0)),
        (flipped, (3, 0, 0)),
        ("update snapshot_parts set history = 'some' where kind = 'thread'".to_owned(), (0, 1, 0)),
        ("update snapshots set labels = '['".to_owned(), (0, 1, 0)),
        ("delete from snapshots".to_owned(), (0, 0, 3)),
    ] {
        h.sql(&damage).await;
        assert_eq!(found().await, expected, "{damage}");
    }
}

/// Missing, damaged and left over.
async fn found(h: &Harness) -> (u64, u64, u64) {
    let report = examine(h, false).await;
    let count = |state| report.tally(state, Noun::Snapshots).count;
    (count(State::Missing), count(State::Damaged), count(State::Orphan))
}

pub async fn what_a_snapshot_lacks_of_its_archive_is_found(h: Harness) {
    let (desk, workspaces) = (Desk::on(&h).await, Workspaces::on(&h).await);
    for id in ["a", "b"] {
        converse(&h, id).await;
        let archive = workspaces.stage(&h.caller, id, &noise(1, 3 << 20)).await.unwrap();
        let request = TakeSnapshot { archive: Some(archive.id), ..of(id, &[id], History::All) };
        desk.take(&h.caller, request).await.unwrap();
    }
    check_sound(&h).await;
    assert_eq!(found(&h).await, (0, 0, 0));
    let of_a = |what: &str| {
        format!("{what} content_id = (select content_id from archives where workspace = 'a')")
    };
    let parts_of = "snapshot_no = (select snapshot_no from snapshots where snapshot_id =";
    let flipped = flip(&h, "archives", "head", "workspace = 'a'");
    for (damage, expected) in [
        (flipped.clone(), (0, 1, 0)),
        (flipped, (0, 0, 0)),
        (of_a("delete from content_slices where no > 0 and"), (1, 0, 0)),
        // One that is damaged hides no other.
        (format!("update snapshot_parts set history = 'some' where {parts_of} 'a')"), (1, 1, 0)),
        (format!("update snapshot_parts set entries = 99 where {parts_of} 'b')"), (2, 1, 0)),
        (of_a("delete from contents where"), (2, 1, 0)),
        ("delete from archives where workspace = 'a'".to_owned(), (2, 1, 0)),
        ("delete from archives where workspace = 'b'".to_owned(), (3, 1, 1)),
    ] {
        h.sql(&damage).await;
        assert_eq!(found(&h).await, expected, "{damage}");
    }
}

pub async fn what_no_snapshot_shows_is_counted(h: Harness) {
    let (desk, workspaces) = (Desk::on(&h).await, Workspaces::on(&h).await);
    let agents = sessions::Desk::on(&h).await;
    agents.append(&name(&["p", "s"]), &["1"]).await.unwrap();
    converse(&h, "shared").await;
    for id in ["a", "b"] {
        converse(&h, id).await;
        let archive = workspaces.stage(&h.caller, id, &noise(1, 1 << 20)).await.unwrap();
        let request = TakeSnapshot {
            sessions: vec![name(&["p", "s"])],
            archive: Some(archive.id),
            ..of(id, &[id, "shared"], History::All)
        };
        desk.take(&h.caller, request).await.unwrap();
    }
    assert_eq!(found(&h).await, (0, 0, 0));
    // Two threads, a session and an archive.
    h.sql("delete from snapshots where snapshot_id = 'a'").await;
    assert_eq!(found(&h).await, (0, 0, 4));
    let stray = "snapshot_no not in (select snapshot_no from snapshots)";
    // Its content is said to be shown, and nothing shows it.
    h.sql(&format!("delete from snapshot_archives where {stray}")).await;
    assert_eq!(found(&h).await, (0, 0, 4));
    // What is going to be removed is none of it.
    h.sql(&format!(
        "insert into snapshot_leftovers (tenant, snapshot_no, created_at)
         select distinct tenant, snapshot_no, 1 from snapshot_parts where {stray}"
    ))
    .await;
    assert_eq!(found(&h).await, (0, 0, 1));
}

/// A commit whose answer was lost, or a sweep at the moment of the flip.
pub async fn what_is_seen_is_no_leftover_and_what_was_removed_is_never_seen(h: Harness) {
    let (store, agents) = (Store::on(&h).await, sessions::Desk::on(&h).await);
    let (desk, workspaces) = (Desk::on(&h).await, Workspaces::on(&h).await);
    converse(&h, "t").await;
    store.put(&["a"], "k", r#"{"n":1}"#).await;
    agents.append(&name(&["p", "s"]), &["1"]).await.unwrap();
    let archive = workspaces.stage(&h.caller, "w", &noise(1, 1 << 20)).await.unwrap();
    let request = TakeSnapshot {
        namespaces: vec![namespace(&["a"])],
        sessions: vec![name(&["p", "s"])],
        archive: Some(archive.id),
        ..of("s", &["t"], History::All)
    };
    let taken = desk.take(&h.caller, request).await.unwrap().snapshot;
    let then = seen(&h, "t").await;
    h.storage.drop_snapshot(&h.caller, taken.no).await.unwrap();
    converse(&h, "t").await;
    store.delete(&["a"], "k").await;
    agents.delete(&name(&["p", "s"])).await;
    check_sound(&h).await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(seen(&h, "t").await, then);
    assert!(store.get(&["a"], "k").await.is_some());
    assert_eq!(agents.texts(&name(&["p", "s"]), "").await, ["1"]);
    assert_eq!(workspaces.read(&h.caller, &archive).await.unwrap(), noise(1, 1 << 20));
    // The other way round.
    let number = h.storage.begin_snapshot(&h.caller).await.unwrap();
    h.storage.drop_snapshot(&h.caller, number).await.unwrap();
    let late = Snapshot { id: "late".into(), no: number, archive: None, ..taken };
    h.storage.renew_snapshot(&h.caller, number).await.unwrap_err();
    let arrived = ArrivedSnapshot { snapshot: &late, digest: &[], replaces: None };
    h.storage.show_snapshot(&h.caller, arrived).await.unwrap_err();
    desk.get(&h, "late").await.unwrap_err();
    // One that took longer than notes are left for.
    let number = h.storage.begin_snapshot(&h.caller).await.unwrap();
    h.sql("delete from snapshot_leftovers").await;
    let kept = h.count("select count(*) from snapshot_items").await;
    let items =
        h.storage.read_items(&h.caller, &namespace(&["a"]), None, Clock::System.now()).await;
    h.storage.keep_items(&h.caller, number, items.unwrap().items).await.unwrap();
    assert_eq!(h.count("select count(*) from snapshot_items").await, kept + 1);
    h.storage.drop_snapshot(&h.caller, number).await.unwrap();
    assert_eq!(h.count("select count(*) from snapshot_items").await, kept);
    check_sound(&h).await;
}

/// Numbers are random up to the greatest there is: what counts with one is too large once in some thousand snapshots.
pub async fn a_snapshot_may_have_the_greatest_number(h: Harness) {
    converse(&h, "t").await;
    Store::on(&h).await.put(&["n"], "k", "{}").await;
    let session = name(&["p", "s"]);
    sessions::Desk::on(&h).await.append(&session, &["first"]).await.unwrap();
    let request = TakeSnapshot {
        namespaces: vec![namespace(&["n"])],
        sessions: vec![session],
        ..of("s", &["t"], History::All)
    };
    if let Some(path) = h.url().strip_prefix("sqlite://") {
        let (path, masters) = (Path::new(path), masters());
        let config = SqliteConfig {
            read_times: threadkeep::storage::ReadTimes::default(),
            path,
            migrate: false,
            create: false,
            exclusive: false,
            objects: None,
            masters,
        };
        copy_as_the_last(&SqliteStorage::open(config).await.unwrap(), &h, &request).await;
    } else {
        let config = StorageConfig { exclusive: false, ..config(h.url()) };
        copy_as_the_last(&PostgresStorage::open(&config).await.unwrap(), &h, &request).await;
    }
    for (table, rows) in [("threads", 2), ("snapshot_items", 1), ("sessions", 2)] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, rows, "{table}");
    }
}

async fn copy_as_the_last(engine: &impl SnapshotEngine, h: &Harness, request: &TakeSnapshot) {
    let now = Clock::System.now();
    assert!(engine.copy_now(&h.caller, i64::MAX, request, now).await.unwrap() >= now);
}
