//! Tests that threads show fields of the metadata of checkpoints, behind what people set, and are found by them.

use threadkeep::domain::threads::details::{Change, UpdateThread};
use threadkeep::domain::threads::run_state::{Derived, FirstMessage, RunState};
use threadkeep::domain::threads::service::Threads;

use crate::commands::Put;
use crate::granted_callers::{copying, tenant};
use crate::harness::{Harness, NEVER, commit, thread_id};
use crate::run_states::{id, showing_after, shown};
use crate::thread_searches::having;

/// The service of threads that show `customer` and `n`.
async fn showing(h: &Harness) -> Threads {
    showing_after(&["customer", "n"], &h.storage, 0).await
}

async fn put(h: &Harness, thread: &str, number: usize, metadata: &str) {
    let checkpoint = Put::new(&id(number)).metadata(metadata).op();
    h.commit(commit(thread, vec![checkpoint])).await.unwrap();
}

async fn found(threads: &Threads, wanted: &str) -> Vec<String> {
    let page = threads.list(&tenant(), having(wanted)).await.unwrap();
    let count = threads.count(&tenant(), having(wanted)).await.unwrap();
    assert_eq!(count, page.threads.len() as u64, "{wanted}");
    page.threads.into_iter().map(|it| it.thread_id).collect()
}

async fn metadata(threads: &Threads, thread: &str) -> String {
    shown(threads, thread).await.shown_metadata().unwrap()
}

pub async fn fields_of_checkpoints_show_and_are_found(h: Harness) {
    let threads = showing(&h).await;
    put(&h, "a", 1, r#"{"step":1,"customer":"acme","n": 1.0,"other":2}"#).await;
    put(&h, "b", 1, r#"{"step":1,"customer":"b & co"}"#).await;
    put(&h, "none", 1, r#"{"step":1,"other":3}"#).await;
    // Nobody looked at the threads before.
    assert_eq!(found(&threads, r#"{"customer":"acme"}"#).await, ["a"]);
    assert_eq!(found(&threads, r#"{"customer":"acme","n":1}"#).await, ["a"]);
    assert_eq!(found(&threads, r#"{"other":2}"#).await, [""; 0]);
    assert_eq!(metadata(&threads, "a").await, r#"{"customer":"acme","n":1.0}"#);
    assert_eq!(metadata(&threads, "none").await, "{}");
    // A newer checkpoint says something else, and of some fields nothing.
    put(&h, "a", 2, r#"{"step":2,"customer":"other"}"#).await;
    assert_eq!(metadata(&threads, "a").await, r#"{"customer":"other","n":1.0}"#);
    assert_eq!(found(&threads, r#"{"customer":"acme"}"#).await, [""; 0]);
    assert_eq!(found(&threads, r#"{"customer":"other"}"#).await, ["a"]);
    // What people set comes first, and gives way when it goes.
    let set = |metadata: &str, replace_metadata: bool| UpdateThread {
        thread_id: thread_id("a"),
        title: Change::Keep,
        metadata: Some(metadata.to_owned()),
        replace_metadata,
        ttl: Change::Keep,
        if_version: None,
        idempotency: None,
    };
    let by_hand = set(r#"{"customer":"mine"}"#, false);
    threads.update(&tenant(), &by_hand, NEVER).await.unwrap();
    put(&h, "a", 3, r#"{"step":3,"customer":"third"}"#).await;
    assert_eq!(metadata(&threads, "a").await, r#"{"customer":"mine","n":1.0}"#);
    assert_eq!(found(&threads, r#"{"customer":"third"}"#).await, [""; 0]);
    threads.update(&tenant(), &set("{}", true), NEVER).await.unwrap();
    assert_eq!(found(&threads, r#"{"customer":"third"}"#).await, ["a"]);
    // A copy has them, too.
    h.storage.copy_thread(&h.caller, &copying("a", "copy")).await.unwrap();
    assert_eq!(found(&threads, r#"{"customer":"third"}"#).await, ["a", "copy"]);
}

pub async fn fields_of_an_older_checkpoint_are_not_taken(h: Harness) {
    let threads = showing(&h).await;
    put(&h, "a", 1, r#"{"customer":"first"}"#).await;
    let stale = h.storage.list_stale_threads("tenant-a", i64::MIN, 10).await.unwrap();
    let [stale] = &stale[..] else { panic!("{stale:?}") };
    let derived = |customer: &str| Derived {
        metadata: Some(format!(r#"{{"customer":"{customer}"}}"#)),
        first_message: FirstMessage::Absent,
        ..Derived::untitled(stale, RunState::Idle)
    };
    put(&h, "a", 2, r#"{"customer":"second"}"#).await;
    h.storage.put_run_states("tenant-a", &[derived("first")]).await.unwrap();
    assert_eq!(found(&threads, r#"{"customer":"first"}"#).await, [""; 0]);
    assert_eq!(metadata(&threads, "a").await, r#"{"customer":"second"}"#);
    h.storage.put_run_states("tenant-a", &[derived("first")]).await.unwrap();
    assert_eq!(metadata(&threads, "a").await, r#"{"customer":"second"}"#);
}
