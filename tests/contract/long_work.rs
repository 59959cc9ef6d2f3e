//! Tests that work on large content leaves the async workers, on every engine: what the CPU pool counts is as much as there is to do, so what comes
//! back to the workers is missed.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all};
use sqlx::{Connection, Executor, SqliteConnection};
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, Value};
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::files::changing::UploadFile;
use threadkeep::domain::scheduling::cpu_pool::{count_long_work, count_long_work_in};
use threadkeep::domain::sessions::loading::Load;
use threadkeep::domain::sessions::storage::FindDocuments;
use threadkeep::domain::store::history_storage::ListVersions;
use threadkeep::domain::store::item::{SearchItems, Select};
use threadkeep::domain::store::vector::Metric;
use threadkeep::domain::threads::retention::{PruneRequest, Rule};
use threadkeep::export::ImportOptions;
use threadkeep::storage::objects::{Objects, Packing};
use threadkeep::storage::{self, StorageConfig};

use crate::commands::{Put, Writes};
use crate::contents::{Files, LARGE as OF_FILE};
use crate::delta::counting;
use crate::export_files::{exported, options, read_in};
use crate::faulty_store::FaultyStore;
use crate::files::{Drive, key};
use crate::harness::{
    Harness, caller_of, commit, config, everything, masters, pruning, target, thread_id, value,
};
use crate::indexing::{Letters, indexed, store_with, worker};
use crate::item_history;
use crate::item_vectors::{near, put_near};
use crate::item_words::{declare, finding, walk};
use crate::packs::{PLACED, later};
use crate::session_calls::{Desk, name, put};
use crate::store::{SECOND, Store, change, scope, search};

const LARGE: usize = 2 << 20;
/// Opening takes the chunks out of their envelopes, and puts the value together and checks it. Text of 64 letters takes three quarters of its bytes
/// in its envelopes.
const OPENED: usize = LARGE / 10 * 17;

/// Text that hardly gets smaller when it is compressed.
fn noise() -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(state >> 58) as usize]
    };
    (0..LARGE).map(|_| char::from(next())).collect()
}

fn large() -> Value {
    value("msgpack", noise().into_bytes())
}

fn document() -> String {
    format!(r#"{{"n":1,"text":"{}"}}"#, noise())
}

/// Bytes of the long work of a task.
fn long<'a, T: Debug + 'a>(task: impl Future<Output = T> + 'a) -> LocalBoxFuture<'a, usize> {
    count_long_work(Box::pin(task)).map(|it| it.1).boxed_local()
}

fn check<'a, T: Debug + 'a>(
    what: &'a str,
    least: usize,
    task: impl Future<Output = T> + 'a,
) -> LocalBoxFuture<'a, ()> {
    let check = move |bytes: usize| {
        assert!(bytes >= least, "{what}: {bytes} of {least} bytes were worked on beside them");
    };
    long(task).map(check).boxed_local()
}

pub async fn large_values_are_opened_beside_the_workers_and_small_ones_on_them(h: Harness) {
    h.put(Put::new("1").sets("small", "1", "short")).await;
    assert_eq!(long(h.get("1")).await, 0);
    h.put(Put::new("2").parent("1").sets_value("large", "2", large())).await;
    check("a checkpoint", OPENED, h.get("2")).await;
    check("a page", OPENED, h.all("t")).await;
    let delta = |id: &str| Put::new(id).metadata(&counting(&["delta"])).empties("delta", "1");
    let write = |id: &str| Writes::new(id, "task").write_value(0, "delta", large()).op();
    let ops = vec![delta("1").op(), write("1"), delta("2").parent("1").op(), write("2")];
    h.commit(commit("chain", ops)).await.unwrap();
    check("writes", OPENED, h.found("chain", "", Some("1"), &[])).await;
    check("a history", 2 * OPENED, h.found("chain", "", Some("2"), &["delta"])).await;
    let query = ListQuery {
        thread_id: Some(thread_id("chain")),
        history_channels: Some(vec!["delta".to_owned()]),
        limit: 1,
        ..everything()
    };
    check("a page with its history", 2 * OPENED, h.list(query)).await;
    let (latest, delta) = (target("chain", "", None), ["delta".to_owned()]);
    let history = h.storage.get_history(&h.caller, &latest, &delta);
    check("a history alone", OPENED, history).await;
    // What the newest checkpoint keeps of those that go.
    let thread_ids = vec![thread_id("chain")];
    let keep = PruneRequest { thread_ids, rule: Rule::KEEP_LATEST, dry_run: false };
    check("a removal", OPENED, h.storage.prune_threads(&h.caller, &keep)).await;
    check("a write and a base", OPENED + LARGE, h.found("chain", "", Some("2"), &["delta"])).await;
}

pub async fn large_documents_are_opened_beside_the_workers(h: Harness) {
    // Documents do not tell their size: four times their bytes are reckoned with.
    let opened = 3 * LARGE;
    let metadata = format!(r#"{{"source":"loop","pad":"{}"}}"#, noise());
    h.put(Put::new("1").metadata(&metadata)).await;
    check("a checkpoint", opened, h.get("1")).await;
    let filter = Some(serde_json::json!({"source": "loop"}));
    let bare = ListQuery { values: false, ..everything() };
    check("a page", opened, h.list(bare.clone())).await;
    // Without an index of the metadata each of the two opens them.
    let least = if h.is_sqlite() { 2 * opened } else { opened };
    check("a filter", least, h.list(ListQuery { filter, ..bare })).await;
}

pub async fn large_items_are_opened_and_filtered_beside_the_workers(h: Harness) {
    let store = Store::on(&h).await;
    store.put(&["n"], "small", r#"{"n":2}"#).await;
    assert_eq!(long(store.get(&["n"], "small")).await, 0);
    assert_eq!(long(store.search(search(&["n"], r#"{"n":2}"#))).await, 0);
    check("a put", LARGE, store.put(&["n"], "large", &document())).await;
    check("an item", OPENED, store.get(&["n"], "large")).await;
    check("a search", OPENED, store.search(search(&["n"], "{}"))).await;
    check("a filter", OPENED, store.search(search(&["n"], r#"{"n":1}"#))).await;
    // Of a long text no index says whether it matches.
    let filter = format!(r#"{{"text":"{}"}}"#, "A".repeat(3_000));
    check("a filter of text", OPENED, store.search(search(&["n"], &filter))).await;
    check("a count", OPENED, store.count(scope(&["n"], &filter))).await;
    item_history::declare(&store, &["v"], 3).await;
    store.put(&["v"], "k", &document()).await;
    store.put(&["v"], "k", "{}").await;
    let versions = ListVersions { values: true, ..item_history::all(&["v"], "k") };
    check("versions", OPENED, item_history::page(&store, &versions)).await;
}

pub async fn large_items_are_found_by_words_and_vectors_beside_the_workers(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["w"], &["n", "word"]).await;
    let text = format!(r#"{{"word":"tea","n":1,"text":"{}"}}"#, noise());
    store.put(&["w"], "k", &text).await;
    let words =
        SearchItems { scope: scope(&["w"], r#"{"n":{"$gt":0}}"#), ..finding(&["w"], "tea") };
    // Where values are encrypted they are opened first, and the words made, to find candidates.
    let times = if masters().is_some() { 2 } else { 1 };
    check("words", times * (OPENED + LARGE), store.search(words)).await;
    if masters().is_none() {
        store.try_put(put_near(&["near"], "k", &document(), &[&[1.0, 0.0]])).await.unwrap();
        let near = near(&["near"], r#"{"n":1}"#, &[1.0, 0.0], Metric::Cosine);
        check("vectors", OPENED, store.search(near)).await;
    }
}

pub async fn large_items_are_indexed_beside_the_workers(h: Harness) {
    if masters().is_some() {
        // What is encrypted has no index.
        return;
    }
    let letters = Letters::new("letters");
    let store = store_with(&h, &letters).await;
    store.put(&["w"], "before", &document()).await;
    declare(&store, &["w"], &["text"]).await;
    check("words of a put", 2 * LARGE, store.put(&["w"], "later", &document())).await;
    store.clock.advance(10 * SECOND);
    check("words of what was there", OPENED + LARGE, walk(&store)).await;
    let put = change(&["v"], "k", Some(&document()));
    let text = put.value.unwrap().text;
    let text = std::str::from_utf8(&text).unwrap();
    store.try_put(indexed(&["v"], "k", text, &["text"])).await.unwrap();
    check("paths", OPENED + LARGE, worker(&store, &letters).round()).await;
}

pub async fn large_files_are_edited_and_read_beside_the_workers(h: Harness) {
    let drive = Drive::on(&h).await;
    drive.write("/small", "a").await.unwrap();
    assert_eq!(long(drive.edit("/small", "a", "b")).await, 0);
    let text = format!("begin\n{}", noise());
    // It is made, and then sealed.
    check("a write", 2 * LARGE, drive.write("/large", &text)).await;
    check("an edit", OPENED + 2 * LARGE, drive.edit("/large", "begin\n", "end\n")).await;
    check("a read", OPENED + LARGE, drive.shown("/large", 0, 1)).await;
    let whole = [key("/large")];
    check("a download", OPENED + LARGE, drive.files.download(drive.asking(), &whole)).await;
    let upload = UploadFile { path: key("/up"), bytes: noise().into_bytes(), media_type: None };
    check("an upload", 2 * LARGE, drive.files.upload(drive.asked(), vec![upload])).await;
    // A small file of which a large one is made.
    drive.write("/grows", &"a".repeat(1_000)).await.unwrap();
    let mut grow = crate::files::edit("/grows", "a", &"b".repeat(2_000));
    grow.all = true;
    check("a growth", 2 * 2_000_000, drive.files.edit(drive.asked(), &grow)).await;
    let files = Files::on(&h).await;
    let bytes = noise().into_bytes();
    let raw = files.raw.put(&files.store.caller, crate::contents::put("/raw"), bytes.into());
    check("a put of bytes", 2 * LARGE, raw).await;
    check("bytes", OPENED + LARGE, files.read("/raw")).await;
    files.upload("/content", &vec![7; OF_FILE]).await;
    check("a content", OF_FILE, files.read("/content")).await;
}

pub async fn large_entries_of_sessions_are_opened_beside_the_workers(h: Harness) {
    let (desk, session) = (Desk::on(&h).await, name(&["s"]));
    check("an append", LARGE, desk.append(&session, &[&document()])).await;
    check("entries", OPENED, desk.load(&session, Load::default())).await;
    desk.change(&session, vec![put("d", &noise(), None)]).await.unwrap();
    check("a document", OPENED, desk.document(&session, "d")).await;
    let find = FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "d".into() };
    check("documents", OPENED, desk.sessions.find_documents(&desk.caller, &find)).await;
}

/// So many candidates are more than a millisecond of sorting.
const MANY: usize = 1_100;
/// What each counts.
const CANDIDATE: usize = 256;

pub async fn many_candidates_of_searches_are_sorted_beside_the_workers(h: Harness) {
    let store = Store::on(&h).await;
    declare(&store, &["n"], &["word"]).await;
    let put = |at: usize| {
        let (key, number) = (at.to_string(), at as f32);
        store.try_put(put_near(&["n"], &key, r#"{"word":"tea"}"#, &[&[1.0, number]]))
    };
    if masters().is_none() {
        join_all((0..MANY).map(put)).await.into_iter().for_each(|it| assert!(it.is_ok()));
        // Above a thousand, as far as a page may begin.
        let page = SearchItems {
            offset: 200,
            select: Select::Nothing,
            ..near(&["n"], "{}", &[1.0, 0.0], Metric::Cosine)
        };
        check("vectors", (MANY - 75) * CANDIDATE, store.search(page)).await;
    } else {
        let put =
            |at: usize| store.try_put(change(&["n"], &at.to_string(), Some(r#"{"word":"tea"}"#)));
        join_all((0..MANY).map(put)).await.into_iter().for_each(|it| assert!(it.is_ok()));
    }
    // PostgreSQL's rows are read beside the workers, too.
    let times = if h.is_sqlite() || masters().is_some() { 1 } else { 2 };
    let page = SearchItems { limit: 1, select: Select::Nothing, ..finding(&["n"], "tea") };
    check("words", times * MANY * CANDIDATE, store.search(page)).await;
}

pub async fn packed_content_is_opened_beside_the_workers(h: Harness) {
    h.put(Put::new("1").sets_value("large", "1", large())).await;
    // Packs as large as those of a server, and memory for what was read.
    let packing = Packing { pack_bytes_min: 1, ..Packing::default() };
    let objects = Objects::new(FaultyStore::in_memory(), "prefix".into(), packing);
    let objects = Some(Arc::new(objects));
    let config = StorageConfig { exclusive: false, objects, ..config(h.url()) };
    let server = storage::open(&config).await.unwrap();
    server.move_content(later(2)).await.unwrap();
    assert!(h.count(PLACED).await > 0);
    let latest = target("t", "", None);
    let read = || long(server.get_checkpoint(&h.caller, &latest, &[]));
    // The first time it is opened to see that it is what its name says. Then it is remembered.
    let (first, again) = (read().await, read().await);
    assert!(first >= again + LARGE / 2, "{first} and {again} bytes were worked on beside them");
}

pub async fn values_of_exports_are_opened_and_written_beside_the_workers(h: Harness) {
    // Its chunks are opened, the value is put together, cut for the file, and framed.
    let told = OPENED + 2 * LARGE;
    h.put(Put::new("1").sets_value("large", "1", large())).await;
    check("a value", told, exported(&h)).await;
    // Equal bytes would be in the file already.
    let other: String = noise().chars().rev().collect();
    let other = value("msgpack", other.into_bytes());
    h.write(Writes::new("1", "task").write_value(0, "other", other)).await;
    check("a write", 2 * told, exported(&h)).await;
    let metadata = format!(r#"{{"source":"loop","pad":"{}"}}"#, noise());
    h.put(Put::new("2").metadata(&metadata)).await;
    // Documents do not tell their size: four times their bytes are reckoned with.
    check("a document", 2 * told + 5 * LARGE, exported(&h)).await;
    let whole = 2 * told + 5 * LARGE;
    let (desk, session) = (Desk::on(&h).await, name(&["s"]));
    desk.append(&session, &[&document()]).await.unwrap();
    check("an entry", whole + told, exported(&h)).await;
    Store::on(&h).await.put(&["n"], "large", &document()).await;
    check("an item", whole + 2 * told, exported(&h)).await;
}

pub async fn imports_are_read_and_sealed_beside_the_workers(h: Harness) {
    // A frame is checked and decoded, its value is taken out of it and counted.
    let told = 4 * LARGE;
    let (other, dry_run) =
        (caller_of("other"), ImportOptions { dry_run: true, ..options(Existing::Refuse) });
    h.put(Put::new("1").sets_value("large", "1", large())).await;
    let file = exported(&h).await;
    check("a value", told, read_in(&h, &other, &file, &dry_run)).await;
    let (desk, session) = (Desk::on(&h).await, name(&["s"]));
    desk.append(&session, &[&document()]).await.unwrap();
    let file = exported(&h).await;
    check("an entry", 2 * told, read_in(&h, &other, &file, &dry_run)).await;
    Store::on(&h).await.put(&["n"], "large", &document()).await;
    let file = exported(&h).await;
    check("an item", 3 * told, read_in(&h, &other, &file, &dry_run)).await;
    // Each of the three is sealed.
    let all = 3 * (told + LARGE);
    check("all", all, read_in(&h, &other, &file, &options(Existing::Refuse))).await;
    Files::on(&h).await.upload("/content", &vec![7; OF_FILE]).await;
    let file = exported(&h).await;
    // Its slices are checked, decoded and counted, and the content is hashed.
    let whole = 3 * told + 4 * OF_FILE;
    check("a content", whole, read_in(&h, &caller_of("third"), &file, &dry_run)).await;
}

pub async fn bases_are_sealed_before_the_writer_is_taken(h: Harness) {
    let delta = |id: &str| {
        let metadata = counting(&["delta"]).replacen('{', &format!(r#"{{"run_id":"r{id}","#), 1);
        Put::new(id).metadata(&metadata).empties("delta", "1")
    };
    let write = |id: &str| Writes::new(id, "task").write_value(0, "delta", large()).op();
    for thread in ["pruned", "runs"] {
        let ops = vec![delta("1").op(), write("1"), delta("2").parent("1").op()];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    let (storage, caller) = (Arc::clone(&h.storage), h.caller.clone());
    let prune = async move {
        let keep = pruning(&["pruned"], Rule::KEEP_LATEST);
        assert_eq!(storage.prune_threads(&caller, &keep).await.unwrap()[0].removed.checkpoints, 1);
    };
    seal_while_another_writes(&h, prune).await;
    let (storage, caller) = (Arc::clone(&h.storage), h.caller.clone());
    let remove = async move { storage.delete_for_runs(&caller, &["r1".into()]).await.unwrap() };
    seal_while_another_writes(&h, remove).await;
    for thread in ["pruned", "runs"] {
        let found = h.found(thread, "", None, &["delta"]).await;
        assert_eq!(
            crate::delta::replay_view(&found.view.unwrap(), &found.chain, "delta").len(),
            LARGE + 2
        );
    }
}

/// Where there is one writer, somebody else has it until all bases are sealed, and nothing is left to be sealed afterwards.
async fn seal_while_another_writes(h: &Harness, task: impl Future<Output = ()> + Send + 'static) {
    let sealed = OPENED + LARGE;
    let counted = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&counted);
    let task = async move { count_long_work_in(&counting, task).await };
    let Some(path) = h.url().strip_prefix("sqlite://") else {
        task.await;
        assert!(counted.load(Ordering::Relaxed) >= sealed);
        return;
    };
    let mut other = SqliteConnection::connect(path).await.unwrap();
    other.execute("begin immediate").await.unwrap();
    let task = tokio::spawn(task);
    let all = async {
        while counted.load(Ordering::Relaxed) < sealed {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(8), all).await.expect("it waits for the writer first");
    let before = counted.load(Ordering::Relaxed);
    assert!(!task.is_finished());
    other.execute("rollback").await.unwrap();
    task.await.unwrap();
    assert_eq!(counted.load(Ordering::Relaxed), before, "sealed with the writer");
}
