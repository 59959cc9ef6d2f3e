//! Tests snapshots in exports: restored on the other engine, they are the moment at which they were taken.

use threadkeep::domain::error::FileFault;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::snapshots::archives::Archive;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::snapshots::{History, Snapshot};
use threadkeep::domain::store::vector::Metric;
use threadkeep::domain::{Conflict, Error};
use threadkeep::export::{ImportOptions, Imported, Parts, Selection};

use crate::archives::Workspaces;
use crate::commands::Put;
use crate::contents::{Files, noise};
use crate::delta::chain;
use crate::export_files::{
    exported, fault_of, file_of, frames, imported, options, other_engine, read_in,
};
use crate::harness::{Harness, commit, masters};
use crate::item_vectors::{near, put_near, scores};
use crate::session_calls::{self as sessions, append, entry, name, put};
use crate::snapshot_calls::{Desk, check_sound, in_place, of, seen, snapshot_id};
use crate::snapshot_items::seen as items_seen;
use crate::snapshot_sessions::seen as session_seen;
use crate::store::namespace;

const ID: &str = "s";
const ARCHIVE: usize = (4 << 20) + 5;

/// Everything that a snapshot can have, and then other things in its place.
async fn take(h: &Harness) -> Snapshot {
    let (desk, files) = (Desk::on(h).await, Files::on(h).await);
    let (store, agents) = (&files.store, sessions::Desk::on(h).await);
    chain(h, "delta", 8, &[2]).await;
    h.commit(commit("t", vec![Put::new("1").sets("a", "1", "then").op()])).await.unwrap();
    files.upload("/large.bin", &noise(1, (5 << 20) + 17)).await;
    store.put(&["ann"], "small", r#"{"n": 1.0}"#).await;
    store.put(&["ann"], "list", &format!(r#"{{"list":[{}]}}"#, crate::content::list(200))).await;
    if masters().is_none() {
        store.try_put(put_near(&["ann"], "near", "{}", &[&[1.0, 0.0]])).await.unwrap();
    }
    let steps = vec![append("", vec![entry(Some("a"), "1")]), put("NOTES.md", "then", None)];
    agents.change(&name(&["p", "s"]), steps).await.unwrap();
    let archive = Workspaces::on(h).await.stage(&h.caller, "w", &noise(2, ARCHIVE)).await.unwrap();
    let request = TakeSnapshot {
        archive: Some(archive.id),
        namespaces: vec![namespace(&["ann"])],
        sessions: vec![name(&["p", "s"])],
        labels: [("sandbox".to_owned(), "a".to_owned())].into(),
        document: Some(r#"{"n": 1.0,  "n": 2}"#.into()),
        expires_in_seconds: Some(1_000_000_000),
        ..of(ID, &["t"], History::All)
    };
    let mut request = request;
    let head = of(ID, &["delta"], History::Head).threads;
    request.threads.extend(head);
    desk.take(&h.caller, request).await.unwrap().snapshot
}

/// What A did after the snapshot.
async fn go_on(h: &Harness) {
    let (files, agents) = (Files::on(h).await, sessions::Desk::on(h).await);
    h.commit(commit("t", vec![Put::new("2").sets("a", "2", "later").op()])).await.unwrap();
    files.store.put(&["ann"], "small", r#"{"n": 2}"#).await;
    files.delete("/large.bin").await;
    agents.append(&name(&["p", "s"]), &["2"]).await.unwrap();
}

async fn everything(h: &Harness) -> String {
    let (files, agents) = (Files::on(h).await, sessions::Desk::on(h).await);
    let items = items_seen(&files.store, &["ann"]).await;
    let large = files.read("/large.bin").await.map(|it| (it.len(), it == noise(1, (5 << 20) + 17)));
    let session = session_seen(&agents, &name(&["p", "s"])).await;
    let items: Vec<&String> = items.iter().filter(|it| !it.contains("upl_")).collect();
    format!("{:?} {:?} {items:?} {large:?} {session:?}", seen(h, "t").await, seen(h, "delta").await)
}

pub async fn a_snapshot_travels_and_is_restored_elsewhere(h: Harness) {
    let taken = take(&h).await;
    let desk = Desk::on(&h).await;
    desk.restore(&h.caller, &in_place(ID)).await.unwrap();
    let then = everything(&h).await;
    go_on(&h).await;
    assert_ne!(everything(&h).await, then);
    let file = exported(&h).await;
    let other = other_engine(&h).await;
    let there = imported(&other, &file).await;
    assert_eq!((there.snapshots.created, there.threads.created), (2, 2));
    let desk = Desk::on(&other).await;
    let found = desk.get(&other, ID).await.unwrap();
    let archive = found.archive.clone().unwrap();
    let workspaces = Workspaces::on(&other).await;
    assert_eq!(workspaces.read(&other.caller, &archive).await.unwrap(), noise(2, ARCHIVE));
    let archive = Archive { id: taken.archive.as_ref().unwrap().id, ..archive };
    assert_eq!(Snapshot { no: taken.no, archive: Some(archive), ..found }, taken);
    assert_eq!(everything(&other).await, everything(&h).await);
    desk.restore(&other.caller, &in_place(ID)).await.unwrap();
    assert_eq!(everything(&other).await, then);
    check_sound(&other).await;
    // A second time there is nothing to do, and what goes back is what left.
    let again = read_in(&other, &other.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!((again.snapshots.unchanged, again.snapshots.replaced), (2, 0));
    let parts = Parts { snapshots: vec![snapshot_id(ID)], ..Parts::default() };
    let back = file_of(&*other.storage, &other.caller, &Selection::Parts(parts), None).await;
    let back = read_in(&h, &h.caller, &back, &options(Existing::Refuse)).await.unwrap();
    assert_eq!((back.snapshots.unchanged, back.threads.created), (1, 0));
    if masters().is_none() {
        let store = Files::on(&other).await.store;
        let page = store.search(near(&["ann"], "{}", &[1.0, 0.0], Metric::Cosine)).await;
        assert_eq!(scores(&page.items)[0], ("near".to_owned(), Some(1.0)));
    }
    // The same request finds what has arrived: it stands for what was asked there.
    assert_eq!(other.count("select count(*) from snapshots where length(digest) = 32").await, 1);
    check_sound(&other).await;
    check_sound(&h).await;
}

pub async fn another_snapshot_of_the_id_is_refused_or_replaced(h: Harness) {
    let _ = take(&h).await;
    let file = exported(&h).await;
    let desk = Desk::on(&h).await;
    desk.delete(&h, ID).await;
    desk.taken(&h, ID, &["t"]).await;
    let before = desk.get(&h, ID).await.unwrap();
    let refused = read_in(&h, &h.caller, &file, &options(Existing::Refuse)).await.unwrap_err();
    let Error::Conflict(Conflict::ImportConflict { noun, name }) = refused else { panic!() };
    assert_eq!((noun, name.as_str()), ("the snapshot", ID));
    assert_eq!(desk.get(&h, ID).await.unwrap(), before);
    let dry = ImportOptions { dry_run: true, ..options(Existing::Refuse) };
    let would = read_in(&h, &h.caller, &file, &dry).await.unwrap();
    assert_eq!(would.snapshots.conflicts, 1);
    assert_eq!(desk.get(&h, ID).await.unwrap(), before);
    let done = read_in(&h, &h.caller, &file, &options(Existing::Replace)).await.unwrap();
    assert_eq!(done.snapshots.replaced, 1);
    let after = desk.get(&h, ID).await.unwrap();
    assert_eq!((after.threads.len(), after.namespaces.len(), after.sessions.len()), (2, 1, 1));
    check_sound(&h).await;
}

pub async fn of_a_file_that_breaks_off_no_snapshot_is_left(h: Harness) {
    let _ = take(&h).await;
    let parts = Parts { snapshots: vec![snapshot_id(ID)], ..Parts::default() };
    let file = file_of(&*h.storage, &h.caller, &Selection::Parts(parts), None).await;
    let ends = frames(&file);
    let other = other_engine(&h).await;
    let count = |it: &'static str| other.count(it);
    for at in [ends[2], ends[ends.len() / 2], ends[ends.len() - 3], ends[ends.len() - 2]] {
        let cut = read_in(&other, &other.caller, &file[..at], &options(Existing::Refuse)).await;
        assert_eq!(fault_of(cut), FileFault::Truncated);
        let mut damaged = file.clone();
        damaged[at - 40] ^= 1;
        let cut = read_in(&other, &other.caller, &damaged, &options(Existing::Refuse)).await;
        assert_eq!(fault_of(cut), FileFault::Damaged);
        if at == ends[ends.len() - 2] {
            // Its end was reached: it is whole.
            continue;
        }
        assert_eq!(count("select count(*) from snapshots").await, 0);
        assert_eq!(count("select count(*) from threads").await, 0);
        assert_eq!(count("select count(*) from sessions").await, 0);
        assert_eq!(count("select count(*) from snapshot_items").await, 0);
        assert_eq!(count("select count(*) from archives").await, 0);
        check_sound(&other).await;
    }
    let done: Imported = imported(&other, &file).await;
    assert_eq!(done.snapshots.created + done.snapshots.unchanged, 1);
    check_sound(&other).await;
}

pub async fn files_without_snapshots_stay_readable_for_older_programs(h: Harness) {
    let format = |file: &[u8]| {
        let at = frames(file)[0] + 4;
        let begin = &file[at..];
        let name = begin.windows(7).position(|it| it == b"\xa6format").unwrap();
        begin[name + 7]
    };
    h.commit(commit("t", vec![Put::new("1").op()])).await.unwrap();
    assert_eq!(format(&exported(&h).await), 1);
    Desk::on(&h).await.taken(&h, ID, &["t"]).await;
    let file = exported(&h).await;
    assert_eq!(format(&file), 2);
    let parts = Selection::Parts(Parts { threads: vec!["t".into()], ..Parts::default() });
    assert_eq!(format(&file_of(&*h.storage, &h.caller, &parts, None).await), 1);
}
