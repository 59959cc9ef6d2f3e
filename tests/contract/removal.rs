//! Tests deletion of threads and of runs.

use threadkeep::domain::Conflict;
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::threads::storage::DeleteThread;

use crate::commands::{Put, Writes};
use crate::conditions::{lease, one};
use crate::delta::replay_view;
use crate::harness::{Harness, commit, conflict, everything, masters, thread_id, values, writes};

const HOUR: i64 = 3_600 * 1_000_000;
const DAY: i64 = 24 * HOUR;

fn request(thread: &str) -> DeleteThread {
    DeleteThread { thread_id: thread_id(thread), generation: None, fence: None }
}

pub async fn a_deleted_thread_is_gone_with_everything(h: Harness) {
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    for thread in ["t", "kept"] {
        let ops = vec![
            Put::new("1").sets("a", "1", &large).sets("b", "1", "x").op(),
            Put::new("1").ns("child").sets("a", "1", "y").op(),
            Writes::new("1", "t").write(0, "a", "w").write(1, "a", &large).op(),
            Writes::new("orphan", "t").write(0, "a", "w").op(),
        ];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    let kept = h.all("kept").await;
    let own = "select count(*) from chunks
        where scope_id = (select scope_id from threads where thread_id = 'kept')";
    let chunks = h.count(own).await;
    assert!(chunks > 0);
    h.storage.delete_thread(&h.caller, &request("t")).await.unwrap();
    assert!(h.all("t").await.is_empty());
    assert!(h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_none());
    let found = h.found("t", "child", None, &[]).await;
    assert!(found.view.is_none() && found.generation.is_none());
    assert_eq!(h.all("kept").await, kept);
    for (table, left) in [
        ("checkpoints", 2),
        ("writes", 3),
        ("scopes", 1),
        ("scope_holders", 1),
        ("garbage", 0),
        ("chunks", chunks),
    ] {
        assert_eq!(h.count(&format!("select count(*) from {table}")).await, left, "{table}");
    }
    h.storage.delete_thread(&h.caller, &request("t")).await.unwrap();
    h.storage.delete_thread(&h.caller, &request("never was")).await.unwrap();
}

pub async fn deletion_obeys_lease_and_generation(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    let stale = DeleteThread { generation: Some("other".into()), ..request("t") };
    let refused = conflict(h.storage.delete_thread(&h.caller, &stale).await);
    assert_eq!(refused, Conflict::ThreadRestored { current: generation });
    let held = lease(&h, "me").await;
    let refused = conflict(h.storage.delete_thread(&h.caller, &request("t")).await);
    assert_eq!(refused, Conflict::LeaseHeld);
    let stale = DeleteThread { fence: Some(held.fence + 1), ..request("t") };
    let refused = conflict(h.storage.delete_thread(&h.caller, &stale).await);
    assert_eq!(refused, Conflict::FenceStale { current: held.fence });
    assert!(h.latest("t").await.is_some());
    let fenced = DeleteThread { fence: Some(held.fence), ..request("t") };
    h.storage.delete_thread(&h.caller, &fenced).await.unwrap();
    assert!(h.latest("t").await.is_none());
}

pub async fn a_thread_made_again_shows_nothing_of_the_old_one(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "old")).await;
    h.write(Writes::new("2", "t").write(0, "a", "old early write")).await;
    h.storage.delete_thread(&h.caller, &request("t")).await.unwrap();
    h.put(Put::new("2").parent("1").carries("a", "1")).await;
    let view = h.latest("t").await.unwrap();
    assert!(view.values.is_empty() && view.writes.is_empty());
    assert_eq!(h.all("t").await.len(), 1);
    h.check_counts("t").await;
}

/// A checkpoint of a run, with a write.
fn of_run(id: &str, parent: Option<&str>, run: &str) -> Put {
    let metadata = format!(r#"{{"run_id":"{run}","counters_since_delta_snapshot":{{"m":[1,1]}}}}"#);
    let put = Put::new(id).metadata(&metadata).empties("m", id);
    match parent {
        Some(parent) => put.parent(parent),
        None => put,
    }
}

pub async fn runs_are_deleted_across_threads_and_namespaces(h: Harness) {
    for thread in ["t", "u"] {
        let ops = vec![
            of_run("1", None, "r1").op(),
            of_run("2", Some("1"), "r2").op(),
            of_run("1", None, "r1").ns("child").op(),
            Writes::new("1", "t").write(0, "m", "gone").op(),
            Writes::new("2", "t").write(0, "m", "stays").op(),
        ];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    h.storage.delete_for_runs(&h.caller, &[]).await.unwrap();
    h.storage.delete_for_runs(&h.caller, &["unknown".into()]).await.unwrap();
    assert_eq!(h.list(everything()).await.views.len(), 6);
    h.storage.delete_for_runs(&h.caller, &["r1".into(), "x".into()]).await.unwrap();
    for thread in ["t", "u"] {
        let left = h.all(thread).await;
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].id.as_str(), left[0].parent.as_deref()), ("2", None));
        assert_eq!(writes(&left[0]), ["t:m=stays"]);
        h.check_counts(thread).await;
    }
}

pub async fn deleting_the_middle_run_keeps_the_heads_messages(h: Harness) {
    let runs = [(1..4, "r1"), (4..7, "r2"), (7..10, "r3")];
    for (ids, run) in runs {
        for at in ids {
            let parent = (at > 1).then(|| (at - 1).to_string());
            let mut put = of_run(&at.to_string(), parent.as_deref(), run);
            if at == 2 {
                put = Put::new("2").parent("1").sets("m", "2", "seed");
            }
            if at == 7 {
                put = put.sets("plain", "7", "value");
            }
            let write = Writes::new(&at.to_string(), "task").write(0, "m", &format!("w{at}"));
            h.commit(commit("t", vec![put.op(), write.op()])).await.unwrap();
        }
    }
    let query = ListQuery {
        thread_id: Some(thread_id("t")),
        history_channels: Some(Vec::new()),
        ..everything()
    };
    let before = h.list(query.clone()).await;
    let replays =
        |page: &threadkeep::domain::checkpoints::storage::Page, from: &str| -> Vec<String> {
            let late = page.views.iter().filter(|view| view.id.as_str() >= from);
            late.map(|view| replay_view(view, &page.chain, "m")).collect()
        };
    let expected = replays(&before, "7");
    assert_eq!(expected[0], "seed|w2,w3,w4,w5,w6,w7,w8");
    h.storage.delete_for_runs(&h.caller, &["r2".into()]).await.unwrap();
    let after = h.list(query).await;
    let ids: String = after.views.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, "987321");
    assert_eq!(replays(&after, "7"), expected);
    let child = h.get("7").await;
    assert_eq!((child.parent.as_deref(), child.bases.len()), (None, 1));
    assert_eq!(values(&h.get("7").await), [("plain", "value".into())].into());
    h.storage.delete_for_runs(&h.caller, &["r1".into()]).await.unwrap();
    let found = h.found("t", "", None, &[]).await;
    assert_eq!(replay_view(&found.view.unwrap(), &found.chain, "m"), expected[0]);
    h.check_counts("t").await;
}

pub async fn deleting_runs_keeps_writes_of_checkpoints_that_never_came(h: Harness) {
    h.put(of_run("1", None, "r1")).await;
    h.put(of_run("5", Some("1"), "r2")).await;
    h.write(Writes::new("3", "t").write(0, "a", "may still come")).await;
    h.storage.delete_for_runs(&h.caller, &["r1".into()]).await.unwrap();
    h.put(Put::new("3")).await;
    assert_eq!(writes(&h.get("3").await), ["t:a=may still come"]);
}

pub async fn deleting_runs_keeps_counts_true_and_raises_the_epoch(h: Harness) {
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    h.put(of_run("1", None, "r1").sets("big", "1", &large)).await;
    h.put(of_run("2", Some("1"), "r2").carries("big", "1").sets("other", "2", "o")).await;
    h.put(of_run("3", Some("2"), "r3").sets("big", "3", "small")).await;
    let epoch = h.count("select epoch from scopes").await;
    h.storage.delete_for_runs(&h.caller, &["r1".into()]).await.unwrap();
    assert!(h.count("select epoch from scopes").await > epoch);
    assert_eq!(values(&h.get("2").await)["big"], large, "a value that others show stays");
    h.check_counts("t").await;
    h.storage.delete_for_runs(&h.caller, &["r2".into()]).await.unwrap();
    assert_eq!(h.count("select count(*) from chunks").await, 0);
    assert_eq!(h.count("select count(*) from manifests").await, 1);
    h.check_counts("t").await;
    let _held = lease(&h, "me").await;
    let refused = conflict(h.storage.delete_for_runs(&h.caller, &["r3".into()]).await);
    assert_eq!(refused, Conflict::LeaseHeld);
    assert_eq!(h.all("t").await.len(), 1);
}

pub async fn a_sweep_removes_tombstones_after_a_week(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    lease(&h, "me").await;
    let now = Clock::System.now();
    let delete = DeleteThread { fence: Some(1), ..request("t") };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    h.storage.sweep(now + 6 * DAY).await.unwrap();
    assert_eq!(h.commit(one("1")).await.unwrap(), generation);
    h.storage.delete_thread(&h.caller, &request("t")).await.unwrap();
    h.storage.sweep(now + 8 * DAY).await.unwrap();
    assert_ne!(h.commit(one("1")).await.unwrap(), generation);
    assert_eq!(lease(&h, "me").await.fence, 1);
}

/// What a server that lives is still writing is garbage to all others for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_as_old_as_the_clock_of_the_database_says() {
    let h = Harness::postgres().await;
    // A database whose clock is two hours behind the server's.
    h.sql(
        "create schema behind;
         create function behind.clock_timestamp() returns timestamptz language sql volatile
            as $$ select pg_catalog.clock_timestamp() - interval '2 hours' $$;
         do $$ begin
            execute format('alter database %I set search_path = behind, pg_catalog, public', current_database());
         end $$",
    )
    .await;
    let storage = h.open_with(masters(), None).await.unwrap();
    h.sql(
        "insert into garbage (tenant, thread_key, scope_id, created_at)
         values ('tenant-a', 1000, 1000, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
    )
    .await;
    let now = Clock::System.now();
    storage.sweep(now + HOUR / 2).await.unwrap();
    assert_eq!(h.count("select count(*) from garbage").await, 1);
    storage.sweep(now + 2 * HOUR).await.unwrap();
    assert_eq!(h.count("select count(*) from garbage").await, 0);
}
