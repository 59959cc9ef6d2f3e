//! Tests that content is stored once per scope, whatever happens to the threads that show it.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::group_commit::{Ended, GroupCommit};
use threadkeep::domain::checkpoints::service as checkpoints;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::storage;

use crate::commands::{Put, Writes};
use crate::connections::{WAIT_FOR_A_LOCK, until};
use crate::harness::{Harness, NEVER, commit, config, pruning, target, text, thread_id, values};

/// A list that has grown to `messages` messages, as JSON.
pub fn list(messages: usize) -> String {
    let message = |at: usize| {
        let words: Vec<String> =
            (0..60).map(|it| format!("{:x}", (at * 7_919 + it * 104_729) % 65_521)).collect();
        format!(r#"{{"type":"human","id":"{at}","content":"{}"}}"#, words.join(" "))
    };
    let all: Vec<String> = (0..messages).map(message).collect();
    format!("[{}]", all.join(","))
}

const STORED: &str = "select cast(
    (select coalesce(sum(length(body)), 0) from chunks)
    + (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from manifests)
    + (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from writes) as bigint)";

async fn grow(h: &Harness, thread: &str, from: usize, to: usize) {
    for at in from..=to {
        let (id, parent) = (format!("{at:04}"), format!("{:04}", at - 1));
        let put = Put::new(&id).parent(&parent).sets("m", &at.to_string(), &list(at));
        h.commit(commit(thread, vec![put.op()])).await.unwrap();
    }
}

pub async fn a_growing_list_costs_what_it_grows_by(h: Harness) {
    let mut stored = Vec::new();
    for until in [1, 20, 60, 100, 140] {
        grow(&h, "t", stored.last().map_or(1, |(it, _)| it + 1), until).await;
        stored.push((until, h.count(STORED).await));
    }
    let per_turn = |at: usize| {
        let (from, to) = (stored[at], stored[at + 1]);
        (to.1 - from.1) / i64::try_from(to.0 - from.0).unwrap()
    };
    let (early, late) = (per_turn(1), per_turn(3));
    assert!(late * 2 < early * 3, "a turn costs {early} bytes early and {late} late");
    let logical =
        h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().unwrap().size_bytes;
    let all = h.count(STORED).await;
    assert!(all * 20 < logical, "{all} of {logical} bytes");
    for view in h.all("t").await {
        assert_eq!(values(&view)["m"], list(view.id.parse().unwrap()), "{}", view.id);
    }
}

pub async fn equal_content_is_kept_once_in_a_scope_and_never_across_tenants(h: Harness) {
    let put = Put::new("1").sets("a", "1", &list(30)).sets("b", "1", &list(30));
    h.commit(commit("t", vec![put.clone().op()])).await.unwrap();
    let chunks = h.count("select count(*) from chunks").await;
    let group = Writes::new("1", "task").write(0, "m", &list(30));
    h.commit(commit("t", vec![Put::new("2").sets("c", "1", &list(30)).op(), group.op()]))
        .await
        .unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, chunks);
    let other = Caller::of_tenant("tenant-b");
    let prepared = h.storage.prepare(&other, commit("t", vec![put.op()]), NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 2 * chunks);
    assert_eq!(h.count("select count(distinct name) from chunks").await, 2 * chunks);
}

pub fn copy_of(source: &str, target: &str) -> CopyThread {
    CopyThread {
        source: thread_id(source),
        target: thread_id(target),
        idempotency: None,
        full: None,
    }
}

async fn delete(h: &Harness, thread: &str) {
    let request = DeleteThread { thread_id: thread_id(thread), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
}

/// Nothing of any thread is left.
pub async fn check_empty(h: &Harness) {
    for table in [
        "threads",
        "checkpoints",
        "writes",
        "delta_bases",
        "manifests",
        "chunks",
        "scopes",
        "scope_holders",
        "garbage",
    ] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}

pub async fn a_copy_shares_content_and_outlives_its_source(h: Harness) {
    grow(&h, "t", 1, 20).await;
    let before = h.count(STORED).await;
    h.storage.copy_thread(&h.caller, &copy_of("t", "copy")).await.unwrap();
    assert_eq!(h.count(STORED).await, before, "a copy costs no content");
    // Both go on, in one batch too: their values take numbers of one scope.
    let (a, b) = tokio::join!(
        h.commit(commit("t", vec![Put::new("0021").sets("m", "21", &list(21)).op()])),
        h.commit(commit("copy", vec![Put::new("0021").sets("m", "21", &list(40)).op()]))
    );
    a.and(b).unwrap();
    assert_eq!(values(&h.latest("t").await.unwrap())["m"], list(21));
    assert_eq!(values(&h.latest("copy").await.unwrap())["m"], list(40));
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_eq!(h.all("copy").await.len(), 21);
    delete(&h, "t").await;
    for view in h.all("copy").await {
        let messages = if view.id == "0021" { 40 } else { view.id.parse().unwrap() };
        assert_eq!(values(&view)["m"], list(messages), "{}", view.id);
    }
    delete(&h, "copy").await;
    check_empty(&h).await;
}

pub async fn a_copy_for_another_owner_shares_nothing(h: Harness) {
    let mut owner = Caller::of_tenant("tenant-a");
    owner.subject = Some("ann".into());
    let put = Put::new("1").sets("m", "1", &list(30));
    let prepared = h.storage.prepare(&owner, commit("t", vec![put.op()]), NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    let chunks = h.count("select count(*) from chunks").await;
    h.storage.copy_thread(&h.caller, &copy_of("t", "copy")).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 2 * chunks);
    delete(&h, "t").await;
    assert_eq!(values(&h.latest("copy").await.unwrap())["m"], list(30));
    delete(&h, "copy").await;
    check_empty(&h).await;
}

/// What a commit leaves out is checked under the scope lock: content that a removal took in between is sent again.
pub async fn a_commit_planned_before_a_removal_is_planned_again(h: Harness) {
    for remove in ["prune", "delete"] {
        grow(&h, "t", 1, 30).await;
        h.put(Put::new("0031").parent("0030").sets("m", "31", "short")).await;
        let planned = commit("t", vec![Put::new("0032").sets("m", "32", &list(30)).op()]);
        let prepared = h.prepare(planned.clone()).await;
        assert!(prepared.condition.epoch.is_some(), "the memory is warm");
        assert!(prepared.chunks.len() < 3, "{} chunks", prepared.chunks.len());
        match remove {
            "prune" => {
                h.storage
                    .prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST))
                    .await
                    .unwrap();
            }
            _ => {
                delete(&h, "t").await;
                h.put(Put::new("0001").sets("m", "1", "made again")).await;
            }
        }
        assert_eq!(h.count("select count(*) from chunks").await, 0);
        assert_eq!(h.queue.commit(prepared).await.unwrap(), Ended::EpochStale, "{remove}");
        h.commit(planned).await.unwrap();
        assert_eq!(values(&h.get("0032").await)["m"], list(30), "{remove}");
        delete(&h, "t").await;
        // A thread that is gone is made anew by the next commit, with everything in it.
        grow(&h, "t", 1, 2).await;
        delete(&h, "t").await;
    }
    check_empty(&h).await;
}

/// Another server on the same database.
pub async fn second_server(h: &Harness) -> (Arc<dyn Storage>, GroupCommit) {
    let storage = storage::open(&config(h.url())).await.unwrap();
    let queue = GroupCommit::start(storage.clone(), &Arc::new(Clock::System));
    (storage, queue)
}

async fn wait_for_a_lock(h: &Harness, waiting: usize) {
    until(h, WAIT_FOR_A_LOCK, |found| found.len() >= waiting).await;
}

/// A prune stands between locking the scope and removing, while a server with a warm memory commits what the prune is
/// about to remove; then the other order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prune_that_is_paused_leaves_nothing_dangling_in_either_order() {
    let h = Harness::postgres().await;
    let (storage, queue) = second_server(&h).await;
    let write = async |commit: Commit| {
        checkpoints::write(&*storage, &queue, &h.caller, &commit, NEVER).await.unwrap()
    };
    for prune_first in [true, false] {
        for at in 1..=20_usize {
            let put = Put::new(&format!("{at:04}")).sets("m", &at.to_string(), &list(at));
            write(commit("t", vec![put.op()])).await;
        }
        h.put(Put::new("0021").sets("m", "21", "short")).await;
        let mut pause = PgConnection::connect(h.url()).await.unwrap();
        pause.execute("begin").await.unwrap();
        // The prune meets a row that somebody holds after it has the scope lock; the commit, one that somebody is inserting.
        let stop = if prune_first {
            "select 1 from writes limit 0; select 1 from manifests where no = 1 for update"
                .to_owned()
        } else {
            "insert into checkpoints select tenant, thread_key, ns, '0022', parent_id, channel_keys, version_keys,
                value_nos, documents, size_bytes, legacy, sends_from, run_id, delta_channels, delta_keys
             from checkpoints where checkpoint_id = '0021'"
                .to_owned()
        };
        pause.execute(AssertSqlSafe(stop)).await.unwrap();
        let request = pruning(&["t"], Rule::KEEP_LATEST);
        let prune = h.storage.prune_threads(&h.caller, &request);
        let planned = write(commit("t", vec![Put::new("0022").sets("m", "22", &list(20)).op()]));
        let resume = async {
            wait_for_a_lock(&h, 2).await;
            pause.execute("rollback").await.unwrap();
        };
        if prune_first {
            let late = async {
                wait_for_a_lock(&h, 1).await;
                planned.await
            };
            let (done, _, ()) = tokio::join!(prune, late, resume);
            done.unwrap();
        } else {
            let late = async {
                wait_for_a_lock(&h, 1).await;
                prune.await
            };
            let (_, done, ()) = tokio::join!(planned, late, resume);
            done.unwrap();
        }
        assert_eq!(values(&h.get("0022").await)["m"], list(20), "prune first: {prune_first}");
        let found = storage.get_checkpoint(&h.caller, &target("t", "", None), &[]).await.unwrap();
        assert_eq!(text(&found.view.unwrap().values[0].1), list(20));
        delete(&h, "t").await;
    }
    check_empty(&h).await;
}

/// A thread that another server deleted and made again, under a memory that is warm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_another_server_made_again_loses_nothing() {
    let h = Harness::postgres().await;
    let (storage, queue) = second_server(&h).await;
    for round in 0..3 {
        for at in 1..=20_usize {
            let put = Put::new(&format!("{at:04}")).sets("m", &at.to_string(), &list(at));
            let commit = commit("t", vec![put.op()]);
            checkpoints::write(&*storage, &queue, &h.caller, &commit, NEVER).await.unwrap();
        }
        delete(&h, "t").await;
        if round > 0 {
            h.put(Put::new("0001").sets("m", "1", "made again")).await;
        }
    }
    let put = Put::new("0022").sets("m", "22", &list(21));
    let commit = commit("t", vec![put.op()]);
    checkpoints::write(&*storage, &queue, &h.caller, &commit, NEVER).await.unwrap();
    assert_eq!(values(&h.get("0022").await)["m"], list(21));
}
