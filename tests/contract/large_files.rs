//! Tests moves and copies of large files. Within a namespace root their bytes are not copied; to another root they are. A file is known by
//! its SHA-256, whatever the order of its parts.

use std::sync::Arc;

use bytes::Bytes;
use sqlx::{Connection, Executor, PgConnection};
use threadkeep::domain::files::dialect::Dialect;
use threadkeep::domain::files::moving::{MoveFile, Moved};
use threadkeep::domain::files::raw_files::{PutFile, RawBody, Repetition};
use threadkeep::domain::files::{FileCall, FileChangeCall, Files as Moving};
use threadkeep::domain::scheduling::cpu_pool;
use threadkeep::domain::store::file_head::FileHead;
use threadkeep::domain::store::item::Key;
use threadkeep::domain::tenants::erasure::{More, Stage};
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error, Result};

use crate::connections::{WAIT_FOR_A_LOCK, until};
use crate::contents::{Files, noise, nothing_is_left, place, put, sound};
use crate::harness::{Harness, NEVER};
use crate::packs::HOUR;
use crate::store::{START, address, granted, namespace};

const LARGE: usize = (5 << 20) + 17;
const ANN: [&str; 2] = ["ann", "workspace"];
const BOB: [&str; 2] = ["bob", "workspace"];

fn to(labels: &[&str], from: &str, to: &str, copies: bool) -> MoveFile {
    MoveFile {
        from: Key::of_text(from).unwrap(),
        to: Key::of_text(to).unwrap(),
        to_namespace: namespace(labels),
        overwrites: false,
        if_version: None,
        copies,
    }
}

/// Out of ann's workspace.
async fn transfer(files: &Files, request: &MoveFile) -> Result<Moved> {
    keyed(files, request, None).await
}

async fn keyed(files: &Files, request: &MoveFile, key: Option<&str>) -> Result<Moved> {
    let moving = Moving::new(files.store.storage.clone(), Arc::clone(&files.store.items), 1 << 20);
    let namespace = namespace(&ANN);
    let caller = &files.store.caller;
    let asking = FileCall { caller, dialect: Dialect::Python, namespace: &namespace };
    let idempotency = key.map(|it| (it.to_owned(), [7; 32]));
    let asked = FileChangeCall { asking, idempotency: idempotency.as_ref(), deadline: NEVER };
    moving.transfer(asked, request).await
}

async fn read(files: &Files, labels: &[&str], path: &str) -> Option<Vec<u8>> {
    let (caller, address) = (&files.store.caller, address(labels, path));
    let file = files.raw.open(caller, &address).await.unwrap()?;
    let RawBody::Large(id) = file.body else { panic!("it is no large file") };
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < file.size_bytes {
        let slice = files.raw.read_slice(caller, id, bytes.len() as u64).await.unwrap().1;
        bytes.extend_from_slice(&slice);
    }
    Some(bytes)
}

async fn head(files: &Files, labels: &[&str], path: &str) -> FileHead {
    let found = files.raw.find(&files.store.caller, &address(labels, path)).await.unwrap();
    found.unwrap().head
}

async fn rows(h: &Harness) -> [i64; 3] {
    let mut rows = [0; 3];
    for (at, table) in ["contents", "content_slices", "chunks"].iter().enumerate() {
        rows[at] = h.count(&format!("select count(*) from {table}")).await;
    }
    rows
}

pub async fn within_a_root_nothing_of_a_large_file_is_copied(h: Harness) {
    let files = Files::on(&h).await;
    let bytes = noise(1, LARGE);
    files.upload("/d/a.bin", &bytes).await;
    files.store.put(&ANN, "/d/small.md", r#"{"content":"tea"}"#).await;
    let (before, of_first) = (rows(&h).await, head(&files, &ANN, "/d/a.bin").await);
    let memories = ["ann", "filesystem"];
    for (labels, target) in [(&ANN, "/e"), (&memories, "/d")] {
        let copied = transfer(&files, &to(labels, "/d", target, true)).await.unwrap();
        assert_eq!(copied.files, 2);
        assert!(read(&files, labels, &format!("{target}/a.bin")).await.unwrap() == bytes);
        assert_eq!(head(&files, labels, &format!("{target}/a.bin")).await, of_first);
    }
    let moved = transfer(&files, &to(&ANN, "/e/a.bin", "/b.bin", false)).await.unwrap();
    assert_eq!(moved.files, 1);
    assert_eq!(rows(&h).await, before);
    assert!(read(&files, &ANN, "/e/a.bin").await.is_none());
    // The content goes with the last that shows it.
    for (labels, path) in [(&ANN, "/d/a.bin"), (&memories, "/d/a.bin")] {
        files.store.delete(labels, path).await;
        files.sweep_all().await;
        assert!(read(&files, &ANN, "/b.bin").await.unwrap() == bytes);
        sound(&h).await;
    }
    files.delete("/b.bin").await;
    files.sweep_all().await;
    nothing_is_left(&h).await;
}

pub async fn a_large_file_is_moved_under_the_conditions_of_any_other(h: Harness) {
    let files = Files::on(&h).await;
    let bytes = noise(2, LARGE);
    let version = files.upload("/a.bin", &bytes).await.version;
    files.upload("/b.bin", &noise(3, LARGE)).await;
    let other = MoveFile { if_version: Some(version + 1), ..to(&ANN, "/a.bin", "/c.bin", false) };
    let refused = transfer(&files, &other).await;
    let conflict = Conflict::VersionConflict { current: version };
    assert!(matches!(&refused, Err(Error::Conflict(it)) if *it == conflict), "{refused:?}");
    let taken = transfer(&files, &to(&ANN, "/a.bin", "/b.bin", false)).await;
    assert!(taken.unwrap_err().to_string().contains("already exists"));
    let over = MoveFile { overwrites: true, ..to(&ANN, "/a.bin", "/b.bin", false) };
    let moved = keyed(&files, &over, Some("k")).await.unwrap();
    assert_eq!(keyed(&files, &over, Some("k")).await.unwrap(), moved);
    assert!(read(&files, &ANN, "/b.bin").await.unwrap() == bytes);
    assert!(read(&files, &ANN, "/a.bin").await.is_none());
    files.sweep_all().await;
    assert_eq!(h.count("select count(*) from contents").await, 1);
    assert!(read(&files, &ANN, "/b.bin").await.unwrap() == bytes);
    sound(&h).await;
}

pub async fn into_another_root_the_bytes_are_copied(h: Harness) {
    let files = Files::on(&h).await;
    let bytes = noise(4, LARGE);
    files.upload("/a.bin", &bytes).await;
    let copy = to(&BOB, "/a.bin", "/b.bin", true);
    let copied = keyed(&files, &copy, Some("k")).await.unwrap();
    assert_eq!(rows(&h).await[0], 2);
    assert_eq!(keyed(&files, &copy, Some("k")).await.unwrap(), copied);
    // What is refused leaves no copy.
    let taken = transfer(&files, &copy).await;
    assert!(taken.unwrap_err().to_string().contains("already exists"));
    assert_eq!(rows(&h).await[0], 2);
    for stage in [Stage::Items, Stage::Traces, Stage::Content] {
        for _ in 0..20 {
            let caller = &files.store.caller;
            let slice = h.storage.erase_slice(caller, "ann", stage).await.unwrap();
            if slice.more == More::Nothing {
                break;
            }
        }
    }
    assert!(read(&files, &BOB, "/b.bin").await.unwrap() == bytes);
    sound(&h).await;
    // Moved, the one that was there goes.
    files.upload("/a.bin", &bytes).await;
    transfer(&files, &to(&["eve"], "/a.bin", "/a.bin", false)).await.unwrap();
    assert!(read(&files, &["eve"], "/a.bin").await.unwrap() == bytes);
    assert!(files.read("/a.bin").await.is_none());
    // Who may not read the one or write the other gets nothing.
    let half = granted("tenant-a", &[(&["ann"], Actions::ALL)]);
    let half = Files::of(&h.storage, &half).await;
    let refused = transfer(&half, &to(&BOB, "/a.bin", "/c.bin", true)).await;
    assert!(matches!(refused, Err(Error::NotGranted(_))), "{refused:?}");
}

pub async fn a_file_is_known_by_its_bytes_whatever_the_order_of_its_parts(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    let bytes = noise(5, LARGE);
    let tag = |file: threadkeep::domain::files::raw_files::RawFile| file.tag;
    let whole = FileHead::sha256_of(&bytes);
    let parts = [&bytes[..2_000_000], &bytes[2_000_000..2_000_003], &bytes[2_000_003..]];
    for (path, order) in [("/one", &[1, 2, 3][..]), ("/two", &[3, 2, 1]), ("/three", &[2, 1, 3])] {
        let id = files.uploads.begin(caller, &place(path)).await.unwrap();
        for number in order {
            files.send(id, *number, parts[*number as usize - 1]).await.unwrap();
        }
        if path == "/three" {
            // Sent again, with what is behind it sent before.
            files.send(id, 1, b"wrong").await.unwrap();
            files.send(id, 1, parts[0]).await.unwrap();
        }
        files.show(id, path).await.unwrap();
        assert_eq!(head(&files, &ANN, path).await.sha256, Some(whole), "{path}");
    }
    // So the same bytes again are not written, in one part or in many, and have one tag.
    assert!(files.upload("/two", &bytes).await.unchanged);
    let one = files.raw.open(caller, &place("/one")).await.unwrap().map(tag);
    assert_eq!(one, files.raw.open(caller, &place("/three")).await.unwrap().map(tag));
    let small = files.raw.put(caller, put("/small"), bytes[..9].to_vec().into()).await.unwrap();
    assert_eq!(small.size_bytes, 9);
    assert_ne!(one, files.raw.open(caller, &place("/small")).await.unwrap().map(tag));
}

/// A lost answer, and somebody else has changed the file since.
pub async fn the_end_of_an_upload_that_comes_again_changes_nothing(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    let ends = || PutFile { repetition: Repetition::Upload, ..put("/a.bin") };
    let bytes = noise(11, 200_000);
    let id = files.uploads.begin(caller, &place("/a.bin")).await.unwrap();
    files.send(id, 1, &bytes).await.unwrap();
    let end = async || {
        let whole = files.uploads.finish(caller, id, None).await.unwrap();
        files.raw.show(caller, ends(), &whole).await.unwrap()
    };
    let first = end().await;
    assert!(first.created && !first.unchanged);
    assert_eq!(end().await, first);
    assert!(files.read("/a.bin").await.unwrap() == bytes);
    files.raw.put(caller, put("/a.bin"), Bytes::from_static(b"later")).await.unwrap();
    assert_eq!(end().await, first);
    assert_eq!(files.read("/a.bin").await.unwrap(), b"later");
    files.delete("/a.bin").await;
    assert_eq!(end().await, first);
    assert_eq!(files.read("/a.bin").await, None);
    sound(&h).await;
}

pub async fn a_put_of_bytes_that_comes_again_with_its_key_is_done_once(h: Harness) {
    let files = Files::on(&h).await;
    let caller = &files.store.caller;
    let keyed = |key: &str, if_version| PutFile {
        if_version,
        repetition: Repetition::Key(key.into()),
        ..put("/a.txt")
    };
    let send = async |put: PutFile, bytes: &'static [u8]| {
        files.raw.put(caller, put, Bytes::from_static(bytes)).await
    };
    let first = send(keyed("one", Some(0)), b"one").await.unwrap();
    assert!(first.created);
    assert_eq!(send(keyed("one", Some(0)), b"one").await.unwrap(), first);
    // Without a condition, too; each of them a request of its own.
    let second = send(keyed("two", None), b"two").await.unwrap();
    assert!(second.version > first.version && !second.created);
    assert_eq!(send(keyed("one", Some(0)), b"one").await.unwrap(), first);
    let third = send(keyed("three", Some(second.version)), b"three").await.unwrap();
    assert_eq!(send(keyed("two", None), b"two").await.unwrap(), second);
    assert_eq!(send(keyed("three", Some(second.version)), b"three").await.unwrap(), third);
    assert_eq!(files.read("/a.txt").await.unwrap(), b"three");
    // The same key for something else; a stale condition under a new key.
    for (put, bytes) in [(keyed("two", None), &b"2"[..]), (keyed("two", Some(0)), b"two")] {
        let refused = send(put, bytes).await;
        assert!(matches!(refused, Err(Error::IdempotencyMismatch)), "{refused:?}");
    }
    let stale = send(keyed("four", Some(first.version)), b"four").await;
    let current = third.version;
    let conflict = Conflict::VersionConflict { current };
    assert!(matches!(&stale, Err(Error::Conflict(it)) if *it == conflict), "{stale:?}");
    files.delete("/a.txt").await;
    assert_eq!(send(keyed("two", None), b"two").await.unwrap(), second);
    assert_eq!(files.read("/a.txt").await, None);
    sound(&h).await;
}

/// Else downloads that wait for the pool would hold their values meanwhile.
pub async fn a_value_over_256_kib_is_read_at_a_place_of_the_cpu_pool_and_a_small_one_without(
    h: Harness,
) {
    /// The pool is the process's: two cases that take half of it each would wait for each other.
    static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let files = Files::on(&h).await;
    for (path, size) in [("/small", 100 << 10), ("/large", 300 << 10)] {
        let caller = &files.store.caller;
        files.raw.put(caller, put(path), noise(3, size).into()).await.unwrap();
    }
    let _one = ONE.lock().await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut places = Vec::new();
    for _ in 0..cores {
        places.push(cpu_pool::take_place("another").await.unwrap());
    }

    let mut large = std::pin::pin!(files.read("/large"));
    for _ in 0..20 {
        assert!(futures::poll!(&mut large).is_pending());
        assert_eq!(files.read("/small").await.unwrap().len(), 100 << 10);
    }
    drop(places);
    assert_eq!(large.await.unwrap(), noise(3, 300 << 10));
}

/// A collection that comes before the replacement has ended waits for it: else it would remove the note of what was replaced, and
/// the chunks would stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collection_waits_for_a_part_that_is_being_replaced() {
    let h = Harness::postgres().await;
    let files = Files::on(&h).await;
    let id = files.uploads.begin(&files.store.caller, &place("/a.bin")).await.unwrap();
    files.send(id, 1, b"the first time").await.unwrap();
    h.sql(
        "insert into garbage (tenant, thread_key, scope_id, created_at)
        select tenant, scope_id, scope_id, 1 from contents",
    )
    .await;
    // Stops the replacement after it has dropped the slices of the first part.
    let mut pause = PgConnection::connect(h.url()).await.unwrap();
    pause.execute("begin; select 1 from content_parts for update").await.unwrap();
    let replace = async { files.send(id, 1, b"the second time").await.unwrap() };
    let collect = async {
        until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 1).await;
        let mut sweep = std::pin::pin!(h.storage.sweep(START + 2 * HOUR));
        let is_done = tokio::select! {
            done = &mut sweep => { done.unwrap(); true }
            () = until(&h, WAIT_FOR_A_LOCK, |found| found.len() == 2) => false,
        };
        pause.execute("rollback").await.unwrap();
        if !is_done {
            sweep.await.unwrap();
        }
    };
    tokio::join!(replace, collect);

    files.show(id, "/a.bin").await.unwrap();
    assert_eq!(files.read("/a.bin").await.unwrap(), b"the second time");
    h.storage.sweep(START + 2 * HOUR).await.unwrap();
    sound(&h).await;
}
