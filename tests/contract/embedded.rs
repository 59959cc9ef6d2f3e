//! Tests promises of the embedded engine alone: one server per file, and no rows left of work that a crash cut off.

use threadkeep::domain::Error;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::error::Obstacle;
use threadkeep::domain::threads::storage::CopyThread;
use threadkeep::storage::{self, StorageConfig};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, config, thread_id};

#[tokio::test]
async fn a_second_server_is_told_and_a_short_command_is_not() {
    let h = Harness::sqlite().await;
    let Err(Error::Obstacle { kind: Obstacle::DatabaseTaken, detail }) =
        storage::open(&config(h.url())).await
    else {
        panic!("two servers opened one file");
    };
    assert!(detail.contains("another server"), "{detail}");
    let beside = StorageConfig { exclusive: false, ..config(h.url()) };
    let beside = storage::open(&beside).await.unwrap();
    h.put(Put::new("1")).await;
    assert!(beside.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_some());
    assert!(h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_some());
}

#[tokio::test]
async fn an_old_or_too_new_schema_is_refused() {
    let h = Harness::sqlite().await;
    let beside = StorageConfig { exclusive: false, migrate: false, ..config(h.url()) };
    storage::open(&beside).await.unwrap();
    h.sql("update schema_version set min_binary_version = 1000").await;
    let Err(error) = storage::open(&beside).await else { panic!("a newer schema was opened") };
    assert!(error.to_string().contains("newer threadkeep"), "{error}");
    h.sql("delete from schema_version").await;
    let Err(error) = storage::open(&beside).await else { panic!("an old schema was opened") };
    assert!(error.to_string().contains("threadkeep migrate"), "{error}");
}

#[tokio::test]
async fn a_sweep_removes_what_a_crash_left() {
    let h = Harness::sqlite().await;
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    let ops = vec![
        Put::new("1").sets("a", "1", &large).op(),
        Writes::new("1", "t").write(0, "a", "w").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    let chunks = h.count("select count(*) from chunks").await;
    let request = CopyThread {
        source: thread_id("t"),
        target: thread_id("copy"),
        idempotency: None,
        full: None,
    };
    h.storage.copy_thread(&h.caller, &request).await.unwrap();
    // As if the server had died between the last slice of the copy and the flip.
    h.sql("insert into garbage (tenant, thread_key, scope_id, created_at) select tenant, thread_key, scope_id, 1 from threads where thread_id = 'copy'")
        .await;
    h.sql("delete from scope_holders where holder = 'copy'; delete from threads where thread_id = 'copy'").await;
    let before = h.all("t").await;
    h.storage.sweep(Clock::System.now()).await.unwrap();
    for (table, left) in [
        ("checkpoints", 1),
        ("writes", 1),
        ("manifests", 1),
        ("chunks", chunks),
        ("scopes", 1),
        ("garbage", 0),
    ] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, left, "{table}");
    }
    assert_eq!(h.all("t").await, before);
}

#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_changes_nothing_for_the_others() {
    let h = Harness::sqlite().await;
    h.put(Put::new("1").sets("a", "1", "x")).await;
    for _ in 0..50 {
        let request = CopyThread {
            source: thread_id("t"),
            target: thread_id("c"),
            idempotency: None,
            full: None,
        };
        let copy = h.storage.copy_thread(&h.caller, &request);
        let left = tokio::time::timeout(std::time::Duration::from_micros(300), copy).await;
        let _ = left.is_err();
        h.put(Put::new("1").sets("a", "1", "x")).await;
        assert_eq!(h.latest("t").await.unwrap().id, "1");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let outer = tempfile::tempdir().unwrap();
    // A folder that was there keeps its mode; one that is made has 0700, with those above it.
    let (there, made) = (outer.path().join("there"), outer.path().join("made/below"));
    std::fs::create_dir(&there).unwrap();
    set(&there, 0o755);
    for folder in [&there, &made] {
        let path = folder.join("tk.db");
        let url = format!("sqlite://{}", path.display());
        let storage = storage::open(&config(&url)).await.unwrap();
        let files = || std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        assert!(files().count() >= 3, "with -wal and -shm");
        for file in files() {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
        // Files of an earlier version.
        files().for_each(|it| set(&it, 0o644));
        let beside = StorageConfig { exclusive: false, ..config(&url) };
        let beside = storage::open(&beside).await.unwrap();
        for file in files().filter(|it| it.extension().is_none_or(|it| it != "lock")) {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
        beside.close().await;
        storage.close().await;
    }
    assert_eq!(mode(&there), 0o755);
    assert_eq!((mode(&made), mode(made.parent().unwrap())), (0o700, 0o700));
}
