//! Tests faults of the store, of a server and of a pack: nothing acknowledged is lost, damage is an error, and no object is forgotten.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use threadkeep::domain::Error;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::storage::objects::{Objects, Packing};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::Put;
use crate::faulty_store::FaultyStore;
use crate::harness::{Harness, commit, config, everything, pruning, target, thread_id, values};
use crate::packs::{
    HOUR, PLACED, check_all_gone, check_grown, check_store, delete, grow, large, later, with_store,
};

/// What reads of thread `t` answer.
async fn read(h: &Harness) -> Vec<Result<(), Error>> {
    let get = h.storage.get_checkpoint(&h.caller, &target("t", "", None), &[]).await;
    let mut query = everything();
    query.thread_id = Some(thread_id("t"));
    let list = h.storage.list_checkpoints(&h.caller, &query).await;
    vec![get.map(drop), list.map(drop)]
}

pub async fn an_upload_whose_rows_never_came_is_deleted_after_a_day(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 30).await;
    store.dies_after_put.store(true, SeqCst);
    h.storage.move_content(later(2)).await.unwrap_err();
    store.dies_after_put.store(false, SeqCst);
    let orphans = store.objects().await;
    assert_eq!((orphans.len(), h.count(PLACED).await), (1, 0));
    assert_eq!(h.count("select count(*) from uploads").await, 1);
    check_grown(&h, "t", 30).await;
    // The claim of the dead is over: another server packs the scope, under other keys.
    h.storage.move_content(later(3)).await.unwrap();
    assert!(h.count(PLACED).await > 0);
    check_grown(&h, "t", 30).await;
    check_store(&h, &store).await;
    let there = async || {
        let orphan = &orphans[0].location;
        store.objects().await.iter().any(|it| it.location == *orphan)
    };
    h.storage.move_content(later(25)).await.unwrap();
    assert!(there().await, "an upload may take its time");
    h.storage.move_content(later(27)).await.unwrap();
    assert_eq!(h.count("select count(*) from uploads").await, 0);
    assert!(there().await);
    h.storage.move_content(later(29)).await.unwrap();
    assert!(!there().await);
    check_grown(&h, "t", 30).await;
    check_store(&h, &store).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn a_damaged_pack_is_an_integrity_error(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 30).await;
    h.storage.move_content(later(2)).await.unwrap();
    let damaged = async |what: &str| {
        for result in read(&h).await {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Integrity(_)), "{what}: {error}");
        }
        let findings = h.storage.check_moved_content().await.unwrap();
        assert_eq!(findings.len(), store.objects().await.len().max(1), "{what}: {findings:?}");
    };
    let flip = |mut bytes: Vec<u8>| {
        // In every envelope, behind its header.
        for at in (60..bytes.len()).step_by(300) {
            bytes[at] ^= 1;
        }
        bytes
    };
    store.change(flip).await;
    damaged("flipped").await;
    store.change(flip).await;
    assert!(read(&h).await.iter().all(Result::is_ok), "as it was");
    let removed = store.remove_all().await;
    for (path, payload) in removed.clone() {
        let length = payload.content_length();
        let bytes: Vec<u8> = payload.iter().flat_map(|it| it.to_vec()).take(length / 8).collect();
        store.put_back(vec![(path, bytes.into())]).await;
    }
    damaged("truncated").await;
    store.remove_all().await;
    for result in read(&h).await {
        assert!(matches!(result.unwrap_err(), Error::Integrity(_)), "missing");
    }
    let findings = h.storage.check_moved_content().await.unwrap();
    assert_eq!(findings.len(), removed.len(), "{findings:?}");
    // Damage in one scope keeps the packer from nothing else.
    grow(&h, "other", 1, 30).await;
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    h.storage.move_content(later(3)).await.unwrap();
    assert!(!store.objects().await.is_empty());
    check_grown(&h, "other", 30).await;
    store.put_back(removed).await;
    assert!(read(&h).await.iter().all(Result::is_ok), "as it was");
}

pub async fn a_store_that_is_down_stops_reads_of_packed_content_only(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 30).await;
    h.storage.move_content(later(2)).await.unwrap();
    grow(&h, "other", 1, 5).await;
    store.down.store(true, SeqCst);
    for result in read(&h).await {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
    h.storage.move_content(later(4)).await.unwrap_err();
    check_grown(&h, "other", 5).await;
    grow(&h, "other", 6, 30).await;
    // A commit to a packed thread needs none of what it leaves out.
    h.put(Put::new("0031").parent("0030").sets("m", "31", &large(31))).await;
    h.storage.check_ready().await.unwrap();
    assert!(h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_some());
    delete(&h, "other").await;
    store.down.store(false, SeqCst);
    check_grown(&h, "t", 31).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn two_packers_at_once_do_no_harm(h: Harness) {
    let (h, store) = with_store(h).await;
    for thread in ["a", "b", "c", "d"] {
        grow(&h, thread, 1, 20).await;
    }
    let second = h.beside(store.clone()).await;
    let (now, then) = (later(2), later(2));
    let (first, other) = tokio::join!(h.storage.move_content(now), second.move_content(then));
    first.and(other).unwrap();
    assert_eq!(h.count("select count(*) from object_deletions").await, 0, "nothing was done twice");
    for thread in ["a", "b", "c", "d"] {
        check_grown(&h, thread, 20).await;
    }
    check_store(&h, &store).await;
    for thread in ["a", "b", "c", "d"] {
        delete(&h, thread).await;
    }
    let (first, other) =
        tokio::join!(h.storage.move_content(later(4)), second.move_content(later(4)));
    first.and(other).unwrap();
    check_all_gone(&h, &store).await;
}

/// The claim of a slow server runs out, and another one packs the same scope meanwhile: the chunks point to one of the packs,
/// and the other is let go.
pub async fn a_scope_that_is_packed_twice_points_to_one_pack(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 20).await;
    let slow = FaultyStore::over(store.clone());
    slow.pauses.store(true, SeqCst);
    let second = h.beside(slow.clone()).await;
    let packing = tokio::spawn(async move { second.move_content(later(2)).await });
    slow.uploaded.notified().await;
    slow.pauses.store(false, SeqCst);
    h.storage.move_content(later(3)).await.unwrap();
    let placed = h.count(PLACED).await;
    slow.resume.notify_one();
    packing.await.unwrap().unwrap();
    assert_eq!(h.count(PLACED).await, placed);
    assert!(h.count("select count(*) from object_deletions").await > 0);
    let late = format!("select count(*) from packs where created_at < {}", later(2) + HOUR / 2);
    assert_eq!(h.count(&late).await, 0, "whoever came first has them");
    check_grown(&h, "t", 20).await;
    check_store(&h, &store).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

/// Between the upload and its rows the content goes: by a prune, with the thread, or with the thread and a new one of its name.
pub async fn what_is_removed_during_an_upload_is_not_brought_back(h: Harness) {
    let (h, store) = with_store(h).await;
    for remove in ["prune", "delete", "replace"] {
        grow(&h, "t", 1, 20).await;
        h.put(Put::new("0021").parent("0020").sets("m", "21", "short")).await;
        store.pauses.store(true, SeqCst);
        let storage = Arc::clone(&h.storage);
        let packing = tokio::spawn(async move { storage.move_content(later(2)).await });
        store.uploaded.notified().await;
        store.pauses.store(false, SeqCst);
        if remove == "prune" {
            h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
        } else {
            delete(&h, "t").await;
        }
        if remove == "replace" {
            grow(&h, "t", 1, 20).await;
        }
        store.resume.notify_one();
        packing.await.unwrap().unwrap();
        assert_eq!(h.count(PLACED).await, 0, "{remove}");
        assert_eq!(h.count("select count(*) from packs").await, 0, "{remove}");
        match remove {
            "prune" => assert_eq!(values(&h.latest("t").await.unwrap())["m"], "short"),
            "delete" => assert!(h.latest("t").await.is_none()),
            _ => check_grown(&h, "t", 20).await,
        }
        check_store(&h, &store).await;
        delete(&h, "t").await;
        check_all_gone(&h, &store).await;
    }
}

pub async fn a_server_without_the_right_store_is_refused(h: Harness) {
    let url = h.url().to_owned();
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 20).await;
    h.storage.move_content(later(2)).await.unwrap();
    let reader = StorageConfig { exclusive: false, ..config(&url) };
    let reader = storage::open(&reader).await.unwrap();
    let error = reader.get_checkpoint(&h.caller, &target("t", "", None), &[]).await.unwrap_err();
    assert!(error.to_string().contains("--object-store-url"), "{error}");
    assert_eq!(reader.check_moved_content().await.unwrap().len(), 1);
    // As a server: the lock of SQLite's file is free once the first one is gone.
    drop(reader);
    let caller = h.caller.clone();
    h.storage.close().await;
    let attempt = async |objects: Option<Objects>| {
        let config = StorageConfig { objects: objects.map(Arc::new), ..config(&url) };
        storage::open(&config).await
    };
    let objects = |store: &Arc<FaultyStore>, prefix: &str| {
        Objects::new(store.clone(), prefix.into(), Packing::default())
    };
    for given in [None, Some(objects(&store, "elsewhere"))] {
        let Err(error) = attempt(given).await else { panic!("a wrong store was taken") };
        let Error::Invalid { field, .. } = &error else { panic!("{error}") };
        assert_eq!(field, "object-store-url", "{error}");
    }
    let again = attempt(Some(objects(&store, "prefix"))).await.unwrap();
    let found = again.get_checkpoint(&caller, &target("t", "", None), &[]).await.unwrap();
    assert!(values(&found.view.unwrap())["m"] == large(20));
    let mut row = commit("t", vec![Put::new("9").sets("m", "9", "x").op()]);
    row.generation = None;
    again.prepare(&caller, row, crate::harness::NEVER).await.unwrap();
}
