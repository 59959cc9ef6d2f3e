//! Tests copies of threads.

use threadkeep::domain::checkpoints::checkpoint::View;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::domain::{Conflict, Error, Result};

use crate::commands::{Put, Writes};
use crate::conditions::{lease, one};
use crate::delta::{chain, replay_view};
use crate::harness::{Harness, commit, conflict, pruning, thread_id, value, values, writes};

fn request(source: &str, target: &str, idempotency: Option<(&str, u8)>) -> CopyThread {
    CopyThread {
        source: thread_id(source),
        target: thread_id(target),
        idempotency: idempotency.map(|(key, digest)| (key.to_owned(), [digest; 32])),
        full: None,
    }
}

async fn copy(h: &Harness, source: &str, target: &str) -> Result<u64> {
    h.storage.copy_thread(&h.caller, &request(source, target, None)).await
}

/// Views but for the id of their thread.
async fn content(h: &Harness, thread: &str) -> Vec<View> {
    let views = h.all(thread).await;
    views.into_iter().map(|view| View { thread_id: String::new(), ..view }).collect()
}

pub async fn a_copy_equals_its_source_and_is_independent(h: Harness) {
    let metadata = r#"{"step":4,"graph_id":"g"}"#;
    h.put(Put::new("1").sets("step", "1", "one").metadata(metadata)).await;
    h.put(Put::new("2").parent("1").sets("step", "1", "two")).await;
    h.put(Put::new("3").parent("2").sets("step", "1", "three").sets_value(
        "n",
        "1",
        value("null", ""),
    ))
    .await;
    h.put(Put::new("1").ns("child:x").sets("c", "1", "child")).await;
    h.write(Writes::new("2", "b").path("~2").write(0, "a", "x").write(-1, "__error__", "e")).await;
    h.write(Writes::new("2", "a").path("~3").write(0, "a", "y")).await;
    h.write(Writes::new("9", "early").write(0, "a", "z")).await;
    let before = content(&h, "t").await;
    assert_eq!(copy(&h, "t", "copy").await.unwrap(), 4);
    assert_eq!(content(&h, "copy").await, before);
    assert_eq!(content(&h, "t").await, before);
    let (source, made) = (
        h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().unwrap(),
        h.storage.get_thread(&h.caller, &thread_id("copy")).await.unwrap().unwrap(),
    );
    assert_ne!(source.generation, made.generation);
    assert_eq!((made.checkpoint_count, made.size_bytes), (4, source.size_bytes));
    assert_eq!((made.last_step, made.graph_id.as_deref()), (Some(4), Some("g")));
    h.check_counts("copy").await;
    h.commit(commit("copy", vec![Put::new("4").parent("3").carries("step", "1").op()]))
        .await
        .unwrap();
    h.commit(commit("copy", vec![Put::new("9").op()])).await.unwrap();
    let fork = h.found("copy", "", Some("4"), &[]).await.view.unwrap();
    assert_eq!(values(&fork)["step"], "three");
    assert_eq!(writes(&h.latest("copy").await.unwrap()), ["early:a=z"]);
    assert_eq!(content(&h, "t").await, before);
    let delete = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    assert_eq!(content(&h, "copy").await.len(), 6);
}

pub async fn a_copy_carries_bases_and_large_values(h: Harness) {
    chain(&h, "t", 12, &[2]).await;
    let large: String = (0..200_000).map(|it| it.to_string()).collect();
    h.put(Put::new("0013").parent("0012").empties("m", "13").sets("big", "13", &large)).await;
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_eq!(copy(&h, "t", "copy").await.unwrap(), 1);
    let (source, made) =
        (h.found("t", "", None, &["m"]).await, h.found("copy", "", None, &["m"]).await);
    let (source_view, view) = (source.view.unwrap(), made.view.unwrap());
    assert_eq!(view.bases, source_view.bases);
    assert_eq!(values(&view)["big"], large);
    let expected = replay_view(&source_view, &source.chain, "m");
    assert!(expected.starts_with("s2|w2,w3"), "{expected}");
    assert_eq!(replay_view(&view, &made.chain, "m"), expected);
}

pub async fn a_copy_onto_an_occupied_thread_is_refused(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "source")).await;
    h.commit(commit("full", vec![Put::new("1").op()])).await.unwrap();
    h.commit(commit("written", vec![Writes::new("1", "t").write(0, "a", "x").op()])).await.unwrap();
    for target in ["full", "written", "t"] {
        assert_eq!(conflict(copy(&h, "t", target).await), Conflict::ThreadExists, "{target}");
    }
    assert_eq!(h.all("full").await.len(), 1);
    let again = copy(&h, "t", "new").await.unwrap();
    assert_eq!((again, conflict(copy(&h, "t", "new").await)), (1, Conflict::ThreadExists));
}

pub async fn a_repeated_copy_answers_the_same(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "source")).await;
    let first = request("t", "copy", Some(("key", 1)));
    assert_eq!(h.storage.copy_thread(&h.caller, &first).await.unwrap(), 1);
    h.put(Put::new("2").parent("1")).await;
    assert_eq!(h.storage.copy_thread(&h.caller, &first).await.unwrap(), 1, "the stored answer");
    assert_eq!(h.all("copy").await.len(), 1);
    let other = request("t", "elsewhere", Some(("key", 2)));
    let refused = h.storage.copy_thread(&h.caller, &other).await.unwrap_err();
    assert!(matches!(refused, Error::IdempotencyMismatch));
    assert!(h.all("elsewhere").await.is_empty());
    let fresh = request("t", "elsewhere", Some(("key 2", 2)));
    assert_eq!(h.storage.copy_thread(&h.caller, &fresh).await.unwrap(), 2);
    let twice = request("t", "twice", Some(("key 3", 3)));
    let (a, b) = tokio::join!(
        h.storage.copy_thread(&h.caller, &twice),
        h.storage.copy_thread(&h.caller, &twice)
    );
    assert_eq!((a.unwrap(), b.unwrap()), (2, 2), "at the same moment");
    h.storage
        .sweep(threadkeep::domain::clock::Clock::System.now() + 25 * 3_600_000_000)
        .await
        .unwrap();
    let forgotten = h.storage.copy_thread(&h.caller, &first).await;
    assert_eq!(conflict(forgotten), Conflict::ThreadExists);
}

pub async fn an_unknown_source_creates_nothing(h: Harness) {
    assert_eq!(copy(&h, "unknown", "copy").await.unwrap(), 0);
    assert!(h.storage.get_thread(&h.caller, &thread_id("copy")).await.unwrap().is_none());
    assert_eq!(h.count("select count(*) from scopes").await, 0);
    assert_eq!(h.count("select count(*) from garbage").await, 0);
}

pub async fn a_copy_takes_over_fence_and_generation_of_a_deleted_target(h: Harness) {
    let generation = h.commit(one("1")).await.unwrap();
    let held = lease(&h, "me").await;
    let delete =
        DeleteThread { thread_id: thread_id("t"), generation: None, fence: Some(held.fence) };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    h.commit(commit("source", vec![Put::new("1").op()])).await.unwrap();
    assert_eq!(copy(&h, "source", "t").await.unwrap(), 1);
    assert_eq!(h.found("t", "", None, &[]).await.generation, Some(generation));
    assert_eq!(lease(&h, "me").await.fence, held.fence + 1);
}

pub async fn a_copy_onto_a_leased_thread_is_refused(h: Harness) {
    h.commit(commit("source", vec![Put::new("1").op()])).await.unwrap();
    let held = lease(&h, "me").await;
    assert_eq!(conflict(copy(&h, "source", "t").await), Conflict::LeaseHeld);
    crate::conditions::expire_leases(&h).await;
    assert_eq!(copy(&h, "source", "t").await.unwrap(), 1);
    assert_eq!(lease(&h, "me").await.fence, held.fence + 1);
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    h.check_counts("t").await;
}
