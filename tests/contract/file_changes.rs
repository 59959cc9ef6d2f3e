//! Tests changes, removals and moves of files of a namespace, on every engine. It also tests repeated requests and concurrent ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use threadkeep::domain::Error;
use threadkeep::domain::files::FileChangeCall;
use threadkeep::domain::files::changing::{AppendFile, UploadFile};
use threadkeep::domain::files::moving::{DeleteFile, MoveFile};
use threadkeep::domain::tokens::grants::Actions;

use crate::files::{Drive, edit, key, moving, says, write};
use crate::harness::Harness;
use crate::store::{current, granted, namespace};

const LABELS: [&str; 2] = ["u", "filesystem"];

pub async fn keys_in_other_forms_are_read_changed_and_deleted_as_they_are(h: Harness) {
    let drive = Drive::on(&h).await;
    for odd in ["rel", "/a/../b", "/f.md/child", "//x", "/", ""] {
        drive.store.put(&LABELS, odd, r#"{"content":["a","b"]}"#).await;
        assert_eq!(drive.text(odd).await, "a\nb", "{odd:?}");
        drive.edit(odd, "a", "c").await.unwrap();
        assert!(!drive.write(odd, "whole").await.unwrap().1);
        assert_eq!(drive.text(odd).await, "whole");
    }
    for bad in ["new", "/x/../y", "/x/", "//y", "/x\0", "/./x"] {
        let refused = drive.write(bad, "").await;
        assert!(matches!(refused, Err(Error::File { .. })), "{bad:?}");
        assert!(says(drive.files.append(drive.asked(), &append(bad, "")).await).contains("Path"));
    }
    assert_eq!(drive.delete("rel").await.unwrap(), 1);
    assert_eq!(drive.delete("/f.md").await.unwrap(), 1);
    assert_eq!(drive.delete("/").await.unwrap(), 4, "and the empty key");
}

fn append(path: &str, content: &str) -> AppendFile {
    AppendFile { path: key(path), content: content.into(), base_sha256: None, if_version: None }
}

pub async fn deletions_take_all_below_and_nothing_else(h: Harness) {
    let drive = Drive::on(&h).await;
    for path in ["/a", "/a/b", "/a/c/d", "/a!", "/ab", "/a0", "/b"] {
        drive.write(path, &"long ".repeat(20_000)).await.unwrap();
    }
    drive.store.put(&LABELS, "/a/odd", "{}").await;
    drive.store.put(&["u"], "/a/b", "{}").await;
    assert_eq!(drive.delete("/a/").await.unwrap(), 4);
    assert_eq!(drive.list("/", true, 100).await, ["/a!", "/a0", "/ab", "/b"]);
    assert!(drive.store.get(&["u"], "/a/b").await.is_some());
    let (version, _) = drive.write("/b", "x").await.unwrap();
    let with = |it| DeleteFile { path: key("/b"), if_version: Some(it) };
    assert_eq!(current(drive.files.delete(drive.asked(), &with(version - 1)).await), version);
    assert_eq!(drive.files.delete(drive.asked(), &with(version)).await.unwrap(), 1);
    assert_eq!(drive.delete("/").await.unwrap(), 3);
    // Nothing of the contents is left behind.
    assert!(h.count("select count(*) from garbage where scope_id is not null").await > 0);
}

pub async fn moves_and_copies_take_whole_directories(h: Harness) {
    let drive = Drive::on(&h).await;
    for path in ["/d/a", "/d/b/c", "/d/b/d", "/e"] {
        drive.write(path, path).await.unwrap();
    }
    assert_eq!(drive.transfer("/d", "/n/d", false).await.unwrap().files, 3);
    assert_eq!(drive.list("/", true, 100).await, ["/e", "/n/d/a", "/n/d/b/c", "/n/d/b/d"]);
    assert_eq!(drive.text("/n/d/b/c").await, "/d/b/c");
    assert_eq!(drive.transfer("/n/d/b", "/n/d", true).await.unwrap().files, 2);
    assert_eq!(drive.list("/n/d", false, 9).await, ["/n/d/a", "/n/d/b/", "/n/d/c", "/n/d/d"]);
    assert_eq!(
        says(drive.transfer("/e", "/n/d/a", false).await),
        "Error: File '/n/d/a' already exists"
    );
    assert_eq!(says(drive.transfer("/gone", "/x", false).await), "Error: File '/gone' not found");
    for inside in ["/n", "/n/x", "/n/d/y"] {
        assert!(says(drive.transfer("/n", inside, true).await).contains("lies in it"));
    }
    let over = MoveFile { overwrites: true, ..moving(&drive, "/e", "/n/d/a") };
    let moved = drive.files.transfer(drive.asked(), &over).await.unwrap();
    assert_eq!(drive.shown("/n/d/a", 0, 9).await.unwrap().version, moved.version);
    assert_eq!(drive.text("/n/d/a").await, "/e");
    let elsewhere = MoveFile { to_namespace: namespace(&["v"]), ..moving(&drive, "/n", "/n") };
    assert_eq!(drive.files.transfer(drive.asked(), &elsewhere).await.unwrap().files, 5);
    assert!(drive.list("/", true, 100).await.is_empty());
    assert!(drive.store.get(&["v"], "/n/d/b/c").await.is_some());
}

pub async fn appends_go_where_they_were_meant(h: Harness) {
    use sha2::Digest as _;

    let drive = Drive::on(&h).await;
    let run = async |append: AppendFile| drive.files.append(drive.asked(), &append).await;
    let based = |content: &str, base: &str| AppendFile {
        base_sha256: Some(sha2::Sha256::digest(base).into()),
        ..append("/log", content)
    };
    assert_eq!(says(run(based("x", "")).await), "Error: File '/log' not found");
    run(append("/log", "a\n")).await.unwrap();
    run(based("b\n", "a\n")).await.unwrap();
    assert_eq!(drive.text("/log").await, "a\nb\n");
    assert!(says(run(based("c\n", "a\n")).await).contains("another content"));
    let version = drive.shown("/log", 0, 1).await.unwrap().version;
    let stale = AppendFile { if_version: Some(version - 1), ..append("/log", "c") };
    assert_eq!(current(run(stale).await), version);
    assert_eq!(drive.text("/log").await, "a\nb\n");
}

/// A request that is sent again is answered as the first, whatever has come in between.
pub async fn repeated_changes_happen_once(h: Harness) {
    let drive = Drive::on(&h).await;
    let keys: Vec<(String, [u8; 32])> = (0..9).map(|it| (format!("k{it}"), [it; 32])).collect();
    let asked = |at: usize| FileChangeCall { idempotency: Some(&keys[at]), ..drive.asked() };
    let written = drive.files.write(asked(0), &write("/x", "a b")).await.unwrap();
    let edited = drive.files.edit(asked(1), &edit("/x", "b", "c")).await.unwrap();
    let appended = drive.files.append(asked(2), &append("/x", "!")).await.unwrap();
    let copied = drive
        .files
        .transfer(asked(3), &MoveFile { copies: true, ..moving(&drive, "/x", "/d/y") })
        .await;
    let moved = drive.files.transfer(asked(4), &moving(&drive, "/d", "/e")).await.unwrap();
    let delete = DeleteFile { path: key("/e"), if_version: None };
    let deleted = drive.files.delete(asked(5), &delete).await.unwrap();
    let last = DeleteFile { path: key("/x"), if_version: Some(appended) };
    let gone = drive.files.delete(asked(6), &last).await.unwrap();
    assert_eq!((deleted, gone, written.1, edited.1), (1, 1, true, 1));
    drive.write("/other", "z").await.unwrap();
    for _ in 0..2 {
        assert_eq!(drive.files.write(asked(0), &write("/x", "a b")).await.unwrap(), written);
        assert_eq!(drive.files.edit(asked(1), &edit("/x", "b", "c")).await.unwrap(), edited);
        assert_eq!(drive.files.append(asked(2), &append("/x", "!")).await.unwrap(), appended);
        let again = MoveFile { copies: true, ..moving(&drive, "/x", "/d/y") };
        assert_eq!(
            &drive.files.transfer(asked(3), &again).await.unwrap(),
            copied.as_ref().unwrap()
        );
        assert_eq!(
            drive.files.transfer(asked(4), &moving(&drive, "/d", "/e")).await.unwrap(),
            moved
        );
        assert_eq!(drive.files.delete(asked(5), &delete).await.unwrap(), deleted);
        assert_eq!(drive.files.delete(asked(6), &last).await.unwrap(), gone);
    }
    assert_eq!(drive.list("/", true, 9).await, ["/other"]);
    let other =
        FileChangeCall { idempotency: Some(&(keys[0].0.clone(), [99; 32])), ..drive.asked() };
    let refused = drive.files.write(other, &write("/x", "other")).await;
    assert!(matches!(refused, Err(Error::IdempotencyMismatch)));
    let other =
        FileChangeCall { idempotency: Some(&(keys[5].0.clone(), [99; 32])), ..drive.asked() };
    assert!(matches!(drive.files.delete(other, &delete).await, Err(Error::IdempotencyMismatch)));
}

/// More than an engine removes at one time.
pub async fn a_directory_of_many_files_goes_with_one_answer(h: Harness) {
    let drive = Drive::on(&h).await;
    for (folder, count) in [("d", 1_000), ("d", 201), ("e", 500)] {
        let file = |at: usize| UploadFile {
            path: key(&format!("/{folder}/{count}/{at}")),
            bytes: vec![b'x'; 9],
            media_type: None,
        };
        let files = (0..count).map(file).collect();
        let stored = drive.files.upload(drive.asked(), files).await.unwrap();
        assert!(stored.iter().all(Result::is_ok));
    }
    drive.write("/d.md", "stays").await.unwrap();
    for (folder, count) in [("/d", 1_201), ("/e", 500)] {
        let request = (folder.to_owned(), [7; 32]);
        let asked = FileChangeCall { idempotency: Some(&request), ..drive.asked() };
        let delete = DeleteFile { path: key(folder), if_version: None };
        for _ in 0..2 {
            assert_eq!(drive.files.delete(asked, &delete).await.unwrap(), count);
        }
        assert!(drive.list(folder, true, 9).await.is_empty());
    }
    assert_eq!(drive.list("/", true, 9).await, ["/d.md"]);
    assert_eq!(h.count("select count(*) from items").await, 1);
}

/// Eight writers, twenty edits each, through two servers.
pub async fn all_edits_of_one_file_survive(h: Harness) {
    let drives = Arc::new([Drive::on(&h).await, Drive::on(&h).await]);
    drives[0].write("/x", "begin\n").await.unwrap();
    let writer = |task: usize| {
        let drives = Arc::clone(&drives);
        tokio::spawn(async move {
            for at in 0..20 {
                let drive = &drives[task % 2];
                let line = format!("begin\n{task}-{at}\n");
                drive.edit("/x", "begin\n", &line).await.unwrap();
            }
        })
    };
    for task in (0..8).map(writer).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let text = drives[0].text("/x").await;
    let mut found: Vec<&str> = text.lines().skip(1).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!((found.len(), text.lines().count()), (160, 161));
}

/// Somebody's edits come through while another server's callers change the file all the time.
pub async fn nobody_waits_for_ever_on_a_busy_file(h: Harness) {
    let drives = Arc::new([Drive::on(&h).await, Drive::on(&h).await]);
    drives[0].write("/x", "begin\n").await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let busy = |_| {
        let (drives, done) = (Arc::clone(&drives), Arc::clone(&done));
        tokio::spawn(async move {
            let mut edits = 0;
            while !done.load(Ordering::Relaxed) {
                drives[1].edit("/x", "begin", "begin").await.unwrap();
                edits += 1;
            }
            edits
        })
    };
    let others: Vec<_> = (0..4).map(busy).collect();
    for at in 0..10 {
        drives[0].edit("/x", "begin\n", &format!("begin\n{at}\n")).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for other in others {
        assert!(other.await.unwrap() > 0);
    }
    assert_eq!(drives[0].text("/x").await.lines().count(), 11);
}

/// Every file that is there all the time is in every listing, once.
pub async fn listings_beside_writers_are_complete(h: Harness) {
    let drive = Arc::new(Drive::on(&h).await);
    for at in 0..120 {
        drive.write(&format!("/d{}/f{at:03}", at % 7), "x").await.unwrap();
    }
    let other = Arc::clone(&drive);
    let writer = tokio::spawn(async move {
        for at in 0..60 {
            other.edit(&format!("/d{}/f{:03}", at % 7, at), "x", "y").await.unwrap();
            other.write(&format!("/new{at}"), "x").await.unwrap();
            other.delete(&format!("/new{at}")).await.unwrap();
        }
    });
    while !writer.is_finished() {
        let mut all = drive.list("/", true, 11).await;
        all.retain(|it| !it.starts_with("/new"));
        let before = all.len();
        all.dedup();
        assert_eq!((before, all.len()), (120, 120));
    }
    writer.await.unwrap();
}

pub async fn a_token_reaches_the_files_of_its_namespaces(h: Harness) {
    let mut drive = Drive::on(&h).await;
    drive.write("/x", "secret").await.unwrap();
    drive.caller = granted(&drive.caller.tenant, &[(&["u", "other"], Actions::ALL)]);
    assert!(drive.list("/", true, 9).await.is_empty());
    assert_eq!(says(drive.shown("/x", 0, 9).await), "File '/x' not found");
    assert!(drive.glob("*", None).await.is_empty());
    assert!(drive.grep("secret", None, None).await.matches.is_empty());
    let denied = |it: Error| matches!(it, Error::NotGranted(_));
    assert!(denied(drive.write("/y", "").await.unwrap_err()));
    assert!(denied(drive.edit("/x", "s", "").await.unwrap_err()));
    assert!(denied(drive.delete("/x").await.unwrap_err()));
    assert!(denied(drive.transfer("/x", "/y", true).await.unwrap_err()));
    let into = MoveFile { to_namespace: namespace(&LABELS), ..moving(&drive, "/x", "/y") };
    drive.namespace = namespace(&["u", "other"]);
    assert!(denied(drive.files.transfer(drive.asked(), &into).await.unwrap_err()));
    drive.write("/mine", "x").await.unwrap();
}
