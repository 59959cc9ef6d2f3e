//! Tests that cold content in packs reads back as it was, and that content that nothing needs any more is deleted from the store.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use object_store::local::LocalFileSystem;
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::checkpoints::storage::Page;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};

use crate::commands::{Put, Writes};
use crate::content::{check_empty, list};
use crate::delta::{self, counting, replay_view};
use crate::faulty_store::FaultyStore;
use crate::harness::{Harness, NEVER, commit, everything, pruning, thread_id, values};

pub const HOUR: Micros = 3_600 * 1_000_000;
pub const PLACED: &str = "select count(*) from chunks where length(body) = 25";
const WHOLE: &str = "select count(*) from chunks where length(body) <> 25";

/// In so many hours: everything that was committed till now is cold then.
pub fn later(hours: i64) -> Micros {
    Clock::System.now() + hours * HOUR
}

pub async fn with_store(h: Harness) -> (Harness, Arc<FaultyStore>) {
    let store = FaultyStore::in_memory();
    (h.with_objects(store.clone()).await, store)
}

/// The list at a number: some chunks larger than the one before.
pub fn large(at: usize) -> String {
    list(5 * at)
}

pub async fn grow(h: &Harness, thread: &str, from: usize, to: usize) {
    for at in from..=to {
        let (id, parent) = (format!("{at:04}"), format!("{:04}", at - 1));
        let put = Put::new(&id).parent(&parent).sets("m", &at.to_string(), &large(at));
        h.commit(commit(thread, vec![put.op()])).await.unwrap();
    }
}

/// Every checkpoint of a thread shows the list it was sent with.
pub async fn check_grown(h: &Harness, thread: &str, count: usize) {
    let views = h.all(thread).await;
    assert_eq!(views.len(), count, "{thread}");
    for view in views {
        assert!(values(&view)["m"] == large(view.id.parse().unwrap()), "{thread} {}", view.id);
    }
}

pub async fn delete(h: &Harness, thread: &str) {
    let request = DeleteThread { thread_id: thread_id(thread), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
}

async fn rows(h: &Harness, table: &str) -> i64 {
    h.count(&format!("select count(*) from {table}")).await
}

/// What the database says of the store is true, and every object is known to it.
pub async fn check_store(h: &Harness, store: &FaultyStore) {
    assert_eq!(h.storage.check_moved_content().await.unwrap(), Vec::<String>::new());
    let objects = i64::try_from(store.objects().await.len()).unwrap();
    let known =
        rows(h, "packs").await + rows(h, "object_deletions").await + rows(h, "uploads").await;
    assert!(objects <= known, "{objects} objects, {known} known");
    assert!(rows(h, "packs").await <= objects);
}

/// Nothing of any thread is left, here and there.
pub async fn check_all_gone(h: &Harness, store: &FaultyStore) {
    check_empty(h).await;
    for hours in [200, 300] {
        h.storage.move_content(later(hours)).await.unwrap();
    }
    for table in ["packs", "uploads", "object_deletions", "scope_packing"] {
        assert_eq!(rows(h, table).await, 0, "{table}");
    }
    assert_eq!(store.objects().await, []);
}

pub async fn packed_content_reads_back_exactly(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 40).await;
    let group = Writes::new("0040", "task").write(0, "m", &list(800)).write(1, "m", "small");
    h.commit(commit("t", vec![group.op()])).await.unwrap();
    let whole = rows(&h, "chunks").await;
    let (before, epoch) = (h.all("t").await, h.count("select epoch from scopes").await);
    h.storage.move_content(later(2)).await.unwrap();
    let placed = h.count(PLACED).await;
    assert!(placed > 20 && placed < whole, "{placed} of {whole}: nodes stay");
    assert_eq!(placed + h.count(WHOLE).await, whole);
    assert!(store.objects().await.len() > 1);
    assert!(store.objects().await.iter().all(|it| it.location.as_ref().starts_with("prefix/")));
    assert_eq!(
        h.count("select epoch from scopes").await,
        epoch,
        "what is known of names stays true"
    );
    assert!(h.all("t").await == before);
    check_grown(&h, "t", 40).await;
    assert!(values(&h.get("0040").await)["m"] == large(40));
    assert_eq!(h.latest("t").await.unwrap().writes, before[0].writes);
    check_store(&h, &store).await;
    // Another round finds nothing to do.
    let packs = store.objects().await;
    h.storage.move_content(later(2)).await.unwrap();
    assert_eq!(store.objects().await, packs);
    // The thread goes on where it is.
    grow(&h, "t", 41, 44).await;
    let group = Writes::new("0041", "task").write(0, "m", &list(900));
    h.commit(commit("t", vec![group.op()])).await.unwrap();
    check_grown(&h, "t", 44).await;
    assert_eq!(h.count(PLACED).await, placed, "what is packed stays packed");
    h.storage.move_content(later(3)).await.unwrap();
    assert!(h.count(PLACED).await > placed);
    assert!(h.get("0041").await.writes[0].value.data == list(900));
    check_grown(&h, "t", 44).await;
    h.check_counts("t").await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn hot_and_small_threads_stay_in_the_database(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 20).await;
    h.put(Put::new("0021").parent("0020").sets("m", "21", "short")).await;
    h.commit(commit("small", vec![Put::new("1").sets("a", "1", "x").op()])).await.unwrap();
    h.storage.move_content(later(0)).await.unwrap();
    assert_eq!((store.objects().await.len(), rows(&h, "uploads").await), (0, 0));
    // A fork keeps the content of both hot.
    let request = CopyThread {
        source: thread_id("t"),
        target: thread_id("fork"),
        idempotency: None,
        full: None,
    };
    h.storage.copy_thread(&h.caller, &request).await.unwrap();
    h.sql(&format!("update threads set updated_at = {} where thread_id = 'fork'", later(2))).await;
    h.storage.move_content(later(2)).await.unwrap();
    assert_eq!(store.objects().await.len(), 0);
    h.storage.move_content(later(4)).await.unwrap();
    assert!(!store.objects().await.is_empty());
    assert_eq!(h.latest("fork").await.unwrap().id, "0021");
    for thread in ["small", "t", "fork"] {
        delete(&h, thread).await;
    }
    check_all_gone(&h, &store).await;
}

pub async fn packed_histories_lists_and_bases_are_whole(h: Harness) {
    let (h, store) = with_store(h).await;
    for at in 1..=12_usize {
        let (id, version) = (format!("{at:04}"), at.to_string());
        let metadata = counting(&["m"]).replacen('{', &format!(r#"{{"run_id":"r{at}","#), 1);
        let put = Put::new(&id).metadata(&metadata).parent(&format!("{:04}", at - 1));
        let put = if at % 5 == 1 {
            put.sets("m", &version, &large(20 + at))
        } else {
            put.empties("m", &version)
        };
        let write = Writes::new(&id, "task").write(0, "m", &large(30 + at));
        h.commit(commit("t", vec![put.op(), write.op()])).await.unwrap();
    }
    let query = || ListQuery {
        thread_id: Some(thread_id("t")),
        history_channels: Some(Vec::new()),
        ..everything()
    };
    let replay = |page: &Page| -> Vec<String> {
        page.views.iter().map(|it| replay_view(it, &page.chain, "m")).collect()
    };
    let history = async || delta::replay(&h.history("0010", &["m"]).await, "m");
    let before = (history().await, replay(&h.list(query()).await));
    h.storage.move_content(later(2)).await.unwrap();
    assert!(h.count(PLACED).await > 20);
    assert!(history().await == before.0);
    assert!(replay(&h.list(query()).await) == before.1);
    let found = h.found("t", "", None, &["m"]).await;
    assert!(replay_view(&found.view.unwrap(), &found.chain, "m") == before.1[0]);
    // Bases are made of what lies in packs: the second checkpoint leaves its history to the third.
    h.storage.delete_for_runs(&h.caller, &["r2".into()]).await.unwrap();
    assert!(replay(&h.list(query()).await) == [&before.1[..10], &before.1[11..]].concat());
    h.storage.delete_for_runs(&h.caller, &["r9".into(), "r10".into()]).await.unwrap();
    assert!(replay(&h.list(query()).await)[..2] == before.1[..2]);
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert!(replay(&h.list(query()).await) == before.1[..1]);
    h.check_counts("t").await;
    check_store(&h, &store).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn a_copy_for_another_owner_has_its_own_content(h: Harness) {
    let (h, store) = with_store(h).await;
    let mut owner = Caller::of_tenant("tenant-a");
    owner.subject = Some("ann".into());
    let put = Put::new("0030").sets("m", "1", &list(30)).sets("n", "1", &list(60));
    let prepared = h.storage.prepare(&owner, commit("t", vec![put.op()]), NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    h.storage.move_content(later(2)).await.unwrap();
    let (placed, whole) = (h.count(PLACED).await, h.count(WHOLE).await);
    // What came after the packing is copied too.
    let put = Put::new("0031").parent("0030").sets("m", "2", &list(31)).sets("n", "2", &list(90));
    let prepared = h.storage.prepare(&owner, commit("t", vec![put.op()]), NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    let whole_after = h.count(WHOLE).await;
    let copy = |idempotency| CopyThread {
        source: thread_id("t"),
        target: thread_id("copy"),
        idempotency,
        full: None,
    };
    store.down.store(true, SeqCst);
    let refused = h.storage.copy_thread(&h.caller, &copy(None)).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    store.down.store(false, SeqCst);
    assert_eq!(
        (rows(&h, "garbage").await, rows(&h, "scopes").await),
        (0, 1),
        "nothing is left of it"
    );
    let key = Some(("key".to_owned(), [7; 32]));
    for _ in 0..2 {
        assert_eq!(h.storage.copy_thread(&h.caller, &copy(key.clone())).await.unwrap(), 2);
    }
    assert!(whole_after > whole);
    assert_eq!(h.count(PLACED).await, placed);
    assert_eq!(h.count(WHOLE).await, 2 * whole_after + placed);
    let original = h.all("t").await;
    delete(&h, "t").await;
    h.storage.move_content(Clock::System.now() + HOUR + 1_000_000).await.unwrap();
    let copied = h.all("copy").await;
    assert_eq!(copied.len(), 2);
    for (copied, original) in copied.iter().zip(&original) {
        assert_eq!(copied.values, original.values);
    }
    delete(&h, "copy").await;
    check_all_gone(&h, &store).await;
}

pub async fn objects_are_deleted_an_hour_after_their_last_chunk(h: Harness) {
    let (h, store) = with_store(h).await;
    grow(&h, "t", 1, 30).await;
    grow(&h, "kept", 1, 30).await;
    h.storage.move_content(later(2)).await.unwrap();
    let objects = store.objects().await.len();
    delete(&h, "t").await;
    let packs = rows(&h, "packs").await;
    assert_eq!(usize::try_from(packs + rows(&h, "object_deletions").await).unwrap(), objects);
    assert_eq!(usize::try_from(packs).unwrap() * 2, objects);
    h.storage.move_content(Clock::System.now() + HOUR - 60_000_000).await.unwrap();
    assert_eq!(store.objects().await.len(), objects, "a read that began before may still ask");
    store.down.store(true, SeqCst);
    h.storage.move_content(later(2)).await.unwrap_err();
    assert_eq!(store.objects().await.len(), objects);
    store.down.store(false, SeqCst);
    // Whoever failed had taken them for a while.
    h.storage.move_content(later(3)).await.unwrap();
    assert_eq!(store.objects().await.len() * 2, objects);
    assert_eq!(rows(&h, "object_deletions").await, 0);
    check_grown(&h, "kept", 30).await;
    check_store(&h, &store).await;
    delete(&h, "kept").await;
    check_all_gone(&h, &store).await;
}

pub async fn packs_that_are_mostly_dead_are_rewritten(h: Harness) {
    let (h, store) = with_store(h).await;
    for at in 1..=12_usize {
        // Lists that share nothing: each prune leaves most of every pack dead.
        let other: String = large(40).replace(r#""id":""#, &format!(r#""id":"{at}-"#));
        let put = Put::new(&format!("{at:04}")).sets("m", &at.to_string(), &other);
        h.put(put).await;
    }
    h.put(Put::new("0013").parent("0012").sets("m", "13", &large(40)).carries("n", "1")).await;
    h.storage.move_content(later(2)).await.unwrap();
    let live = "select cast(sum(live_bytes) as bigint) from packs";
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    let latest = h.latest("t").await.unwrap();
    check_store(&h, &store).await;
    let (alive, packs) = (h.count(live).await, rows(&h, "packs").await);
    let sparse = "select count(*) from packs where live_bytes * 2 < size_bytes";
    assert!(h.count(sparse).await > 0);
    h.storage.move_content(later(3)).await.unwrap();
    assert_eq!(h.count(live).await, alive);
    assert_eq!(h.count(sparse).await, 0);
    assert!(rows(&h, "packs").await <= packs);
    assert!(h.latest("t").await.unwrap() == latest);
    check_store(&h, &store).await;
    h.storage.move_content(later(9)).await.unwrap();
    assert_eq!(store.objects().await.len(), usize::try_from(rows(&h, "packs").await).unwrap());
    assert!(h.latest("t").await.unwrap() == latest);
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn a_folder_is_a_store(h: Harness) {
    let folder = tempfile::tempdir().unwrap();
    let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let store = FaultyStore::over(Arc::new(local));
    let h = h.with_objects(store.clone()).await;
    grow(&h, "t", 1, 30).await;
    h.storage.move_content(later(2)).await.unwrap();
    let packs = std::fs::read_dir(folder.path().join("prefix")).unwrap().count();
    assert!(packs > 1 && packs == store.objects().await.len());
    check_grown(&h, "t", 30).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
    assert_eq!(std::fs::read_dir(folder.path().join("prefix")).unwrap().count(), 0);
}
