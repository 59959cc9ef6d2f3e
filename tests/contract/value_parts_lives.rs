//! Tests that values in parts are like any other whatever happens to their thread, and that parts wait a day for their commit.

use threadkeep::domain::Conflict;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::group_commit::Ended;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::CopyThread;

use crate::commands::Put;
use crate::content::check_empty;
use crate::export_files::{exported, imported};
use crate::harness::{Harness, NEVER, commit, conflict, pruning, thread_id};
use crate::packs::{PLACED, check_all_gone, check_store, delete, later, with_store};
use crate::snapshot_calls::{Desk, in_place, into};
use crate::value_parts::{LARGE, check, noise, put_large, put_parts, service, sound};

pub async fn parts_wait_for_a_day_and_what_was_committed_stays(h: Harness) {
    let of = service(&h).await;
    let (kept, left) = (noise(1, LARGE), noise(2, LARGE));
    put_large(&h, &of, "t", &kept).await;
    let waiting = put_parts(&of, &h.caller, "t", &left).await;
    // A collection in between takes nothing that waits.
    h.put(Put::new("2").sets("m", "2", "short")).await;
    let collect = async |rule: Rule| {
        h.storage.prune_threads(&h.caller, &pruning(&["t"], rule)).await.unwrap();
    };
    collect(Rule::KEEP_LATEST).await;
    let put = Put::new("3").sets_value("m", "3", waiting.clone());
    of.commit(&h.caller, commit("t", vec![put.op()]), NEVER).await.unwrap();
    assert!(h.get("3").await.values[0].1.data == left);
    sound(&h).await;
    h.storage.sweep(later(25)).await.unwrap();
    assert_eq!(h.count("select count(*) from contents").await, 0);
    assert_eq!(h.count("select count(*) from content_slices").await, 0);
    let put = commit("t", vec![Put::new("4").sets_value("m", "4", waiting).op()]);
    let refused = of.commit(&h.caller, put, NEVER).await.map(drop);
    assert_eq!(conflict(refused), Conflict::PartsMissing { field: "values.data".into() });
    h.put(Put::new("5").sets("m", "5", "short")).await;
    h.storage.sweep(later(50)).await.unwrap();
    assert!(h.get("3").await.values[0].1.data == left, "only what waited is gone");
    sound(&h).await;
    collect(Rule::KEEP_LATEST).await;
    h.storage.sweep(later(75)).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 0);
    let waiting = put_parts(&of, &h.caller, "t", &left).await;
    drop(waiting);
    delete(&h, "t").await;
    assert_eq!(h.count("select count(*) from contents").await, 0);
    check_empty(&h).await;
}

/// What was seen of the parts is checked under the scope lock.
pub async fn a_commit_of_parts_is_planned_again_after_a_removal(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, LARGE);
    h.put(Put::new("1").sets("m", "1", "x")).await;
    h.put(Put::new("2").sets("m", "2", "x")).await;
    let value = put_parts(&of, &h.caller, "t", &data).await;
    let planned: Commit = commit("t", vec![Put::new("3").sets_value("m", "3", value).op()]);
    let prepared = h.prepare(planned.clone()).await;
    assert!(prepared.condition.epoch.is_some() && prepared.chunks.is_empty());
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_eq!(h.queue.commit(prepared).await.unwrap(), Ended::EpochStale);
    h.commit(planned).await.unwrap();
    assert!(h.get("3").await.values[0].1.data == data);
}

pub async fn copies_and_snapshots_keep_them(h: Harness) {
    let (of, desk) = (service(&h).await, Desk::on(&h).await);
    let data = noise(1, LARGE);
    put_large(&h, &of, "t", &data).await;
    let request = CopyThread {
        source: thread_id("t"),
        target: thread_id("copy"),
        idempotency: None,
        full: None,
    };
    h.storage.copy_thread(&h.caller, &request).await.unwrap();
    desk.taken(&h, "s", &["t"]).await;
    delete(&h, "t").await;
    check(&h, &of, "copy", &data).await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    desk.restore(&h.caller, &into("s", &[("t", "restored")])).await.unwrap();
    for thread in ["t", "restored"] {
        check(&h, &of, thread, &data).await;
    }
    sound(&h).await;
}

pub async fn exports_and_packs_keep_them(h: Harness) {
    let (h, store) = with_store(h).await;
    let of = service(&h).await;
    let data = noise(1, LARGE);
    put_large(&h, &of, "t", &data).await;
    let file = exported(&h).await;
    let other = if h.is_sqlite() { Harness::postgres().await } else { Harness::sqlite().await };
    imported(&other, &file).await;
    assert!(other.latest("t").await.unwrap().values[0].1.data == data);
    assert_eq!(exported(&other).await, file);
    h.storage.move_content(later(2)).await.unwrap();
    assert!(h.count(PLACED).await > 0, "chunks lie in packs");
    check(&h, &of, "t", &data).await;
    check_store(&h, &store).await;
    sound(&h).await;
    delete(&h, "t").await;
    check_all_gone(&h, &store).await;
}

pub async fn parts_count_once_for_the_quota(h: Harness) {
    let of = service(&h).await;
    let data = noise(1, LARGE);
    let value = put_parts(&of, &h.caller, "t", &data).await;
    let used = async || h.storage.measure_usage("tenant-a").await.unwrap().bytes;
    let waiting = used().await;
    assert!(waiting >= LARGE as u64, "{waiting}");
    let put = commit("t", vec![Put::new("1").sets_value("m", "1", value).op()]);
    of.commit(&h.caller, put, NEVER).await.unwrap();
    let committed = used().await;
    assert!(committed < waiting + 1_000, "{committed} after {waiting}");
}
