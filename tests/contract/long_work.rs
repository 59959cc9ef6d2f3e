//! Tests that work on large content leaves the async workers, on every engine: what the CPU pool counts is as much as there is to do, so what comes
//! back to the workers is missed.

use std::fmt::Debug;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, Value};
use threadkeep::domain::scheduling::cpu_pool::count_long_work;
use threadkeep::domain::sessions::loading::Load;
use threadkeep::domain::sessions::storage::FindDocuments;
use threadkeep::domain::store::history_storage::ListVersions;
use threadkeep::domain::threads::retention::{PruneRequest, Rule};

use crate::commands::{Put, Writes};
use crate::delta::counting;
use crate::harness::{Harness, commit, everything, target, thread_id, value};
use crate::item_history;
use crate::session_calls::{Desk, name, put};
use crate::store::{Store, scope, search};

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

pub async fn large_entries_of_sessions_are_opened_beside_the_workers(h: Harness) {
    let (desk, session) = (Desk::on(&h).await, name(&["s"]));
    check("an append", LARGE, desk.append(&session, &[&document()])).await;
    check("entries", OPENED, desk.load(&session, Load::default())).await;
    desk.change(&session, vec![put("d", &noise(), None)]).await.unwrap();
    check("a document", OPENED, desk.document(&session, "d")).await;
    let find = FindDocuments { kind: "kind".into(), key_prefix: Vec::new(), name: "d".into() };
    check("documents", OPENED, desk.sessions.find_documents(&desk.caller, &find)).await;
}
