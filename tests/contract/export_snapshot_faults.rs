//! Tests imports of snapshots that fail at their last step or take long, and files with content that no snapshot has.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::error::FileFault;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::files::contents::ContentId;
use threadkeep::domain::snapshots::archives::{Archive, ArchiveId};
use threadkeep::domain::snapshots::export::ArrivedSnapshot;
use threadkeep::domain::snapshots::{History, Snapshot};
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::{Error, Result};
use threadkeep::export::{ImportOptions, Imported, Input, Parts, Selection, import};

use crate::archives::Workspaces;
use crate::contents::noise;
use crate::export_files::{
    NOW, Pieces, fault_of, file_of, options, other_engine, read_in, resealed,
};
use crate::harness::Harness;
use crate::session_calls::{self as sessions, name};
use crate::snapshot_calls::{Desk, check_sound, in_place, of, seen, snapshot_id};
use crate::snapshots::converse;
use crate::store::{Store, namespace};

const ID: &str = "s";
const DOCUMENT: &str = r#"{"n": 1.0,  "n": 2}"#;
const MINUTE: i64 = 60 * 1_000_000;

/// A snapshot with an archive of so many bytes, as a file.
async fn file(h: &Harness, archive_bytes: usize) -> Vec<u8> {
    let (agents, store) = (sessions::Desk::on(h).await, Store::on(h).await);
    converse(h, "t").await;
    for key in ["k1", "k2"] {
        store.put(&["a"], key, "{}").await;
    }
    agents.append(&name(&["p", "s"]), &["1"]).await.unwrap();
    let staged = Workspaces::on(h).await.stage(&h.caller, "w", &noise(2, archive_bytes)).await;
    let mut request = of(ID, &["t"], History::All);
    request.namespaces = vec![namespace(&["a"])];
    request.sessions = vec![name(&["p", "s"])];
    request.archive = Some(staged.unwrap().id);
    request.document = Some(DOCUMENT.into());
    Desk::on(h).await.take(&h.caller, request).await.unwrap();
    let parts = Parts { snapshots: vec![snapshot_id(ID)], ..Parts::default() };
    file_of(&*h.storage, &h.caller, &Selection::Parts(parts), None).await
}

/// A file during whose pieces something happens: minutes go by, and the statement is carried out before the last one.
struct Slow<'a> {
    h: &'a Harness,
    clock: &'a Clock,
    pieces: Pieces,
    minutes: i64,
    at_last: &'static str,
}

#[async_trait]
impl Input for Slow<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.minutes > 0 {
            self.clock.advance(self.minutes * MINUTE);
            let older = self.minutes * MINUTE;
            let text = format!("update snapshot_leftovers set created_at = created_at - {older}");
            self.h.sql(&format!("{text} where created_at > 0")).await;
            self.h.storage.sweep(Clock::System.now()).await?;
        }
        if self.pieces.0.len() == 1 && !self.at_last.is_empty() {
            self.h.sql(self.at_last).await;
        }
        self.pieces.next().await
    }
}

async fn read_slowly(
    h: &Harness,
    pieces: Pieces,
    (minutes, at_last): (i64, &'static str),
    options: &ImportOptions,
) -> Result<Imported> {
    let clock = Clock::Fixed(Mutex::new(NOW));
    let mut input = Slow { h, clock: &clock, pieces, minutes, at_last };
    import(&*h.storage, &h.caller, &mut input, (options, &clock), &mut |_| {}).await
}

pub async fn a_replacement_that_fails_leaves_what_was_there(h: Harness) {
    let (file, desk) = (file(&h, 1 << 20).await, Desk::on(&h).await);
    desk.delete(&h, ID).await;
    desk.taken(&h, ID, &["t"]).await;
    let (before, then) = (desk.get(&h, ID).await.unwrap(), seen(&h, "t").await);
    let noted = || h.count("select count(*) from audit_events where act = 'snapshot_deleted'");
    let deleted = noted().await;
    // As a sweep does it that begins to remove what has arrived.
    let swept = (0, "update snapshot_leftovers set created_at = 0");
    let pieces = Pieces::of(&file, 1_000);
    let failed = read_slowly(&h, pieces, swept, &options(Existing::Replace)).await.unwrap_err();
    assert!(matches!(failed, Error::Unavailable { .. }), "{failed}");
    assert_eq!(desk.get(&h, ID).await.unwrap(), before);
    let number = h.storage.begin_snapshot(&h.caller).await.unwrap();
    let act = Act::of(&h.caller, ActKind::SnapshotDeleted, ID, NOW);
    let archive = Archive {
        id: ArchiveId(ContentId::random()),
        workspace: "w".into(),
        size_bytes: 1,
        file_count: 1,
        sha256: [0; 32],
        staged_at: NOW,
    };
    for snapshot in [
        Snapshot { no: number ^ 1, ..before.clone() },
        Snapshot { no: number, archive: Some(archive), ..before.clone() },
    ] {
        let replaces = Some((before.no, &act));
        let arrived = ArrivedSnapshot { snapshot: &snapshot, digest: &[], replaces };
        h.storage.show_snapshot(&h.caller, arrived).await.unwrap_err();
        assert_eq!(desk.get(&h, ID).await.unwrap(), before);
    }
    // One that is not the one that was looked at.
    let late = Snapshot { no: number, ..before.clone() };
    let arrived = ArrivedSnapshot { snapshot: &late, digest: &[], replaces: None };
    assert!(!h.storage.show_snapshot(&h.caller, arrived).await.unwrap());
    h.storage.drop_snapshot(&h.caller, number).await.unwrap();
    assert_eq!((desk.get(&h, ID).await.unwrap(), noted().await), (before, deleted));
    desk.restore(&h.caller, &in_place(ID)).await.unwrap();
    assert_eq!(seen(&h, "t").await, then);
    check_sound(&h).await;
    let done = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!((done.snapshots.replaced, noted().await), (1, deleted + 1));
    assert!(desk.get(&h, ID).await.unwrap().archive.is_some());
    check_sound(&h).await;
}

pub async fn a_snapshot_may_arrive_for_hours(h: Harness) {
    let file = file(&h, 6 << 20).await;
    let other = other_engine(&h).await;
    // A slice takes half an hour, the archive more than an hour.
    let pieces = Pieces::of(&file, 420_000);
    let done = read_slowly(&other, pieces, (6, ""), &options(Existing::Refuse)).await.unwrap();
    assert_eq!(done.snapshots.created, 1);
    let found = Desk::on(&other).await.get(&other, ID).await.unwrap();
    let archive = found.archive.unwrap();
    let read = Workspaces::on(&other).await.read(&other.caller, &archive).await.unwrap();
    assert!(read == noise(2, 6 << 20));
    check_sound(&other).await;
}

/// Puts bytes of the same length in the place of others, once.
fn replaced(file: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut count = 0;
    let changed = resealed(file, |payload| {
        if let Some(at) = payload.windows(from.len()).position(|it| it == from) {
            payload[at..at + from.len()].copy_from_slice(to);
            count += 1;
        }
    });
    assert_eq!(count, 1, "{from:?}");
    changed
}

pub async fn what_no_snapshot_says_is_damage(h: Harness) {
    let file = file(&h, 1 << 20).await;
    let other = other_engine(&h).await;
    let changes: [(&[u8], &[u8]); 7] = [
        (DOCUMENT.as_bytes(), br#"{"n": 1.0,  "n": 2]"#),
        // Of the thread, twice, and behind the others.
        (b"\xa7part_no\x01", b"\xa7part_no\x00"),
        (b"\xa7part_no\x00", b"\xa7part_no\x03"),
        (b"\xa3key\xc4\x02k2", b"\xa3key\xc4\x02k1"),
        (b"\xa7history\xa3all", b"\xa7history\xa3bad"),
        (b"\xa7entries\x08", b"\xa7entries\x09"),
        (b"snapshot_id\xa1s\xa5owner\xc0", b"snapshot_id\xa1s\xa5owner\xa0"),
    ];
    for (from, to) in changes {
        let bad = replaced(&file, from, to);
        let refused = read_in(&other, &other.caller, &bad, &options(Existing::Refuse)).await;
        assert_eq!(fault_of(refused), FileFault::Damaged, "{}", from.escape_ascii());
        for table in
            ["snapshots", "snapshot_parts", "snapshot_items", "threads", "sessions", "archives"]
        {
            let left = other.count(&format!("select count(*) from {table}")).await;
            assert_eq!(left, 0, "{table} after {}", from.escape_ascii());
        }
        check_sound(&other).await;
    }
    let whole = resealed(&file, |_| {});
    assert!(whole == file);
}
