//! Tests threads as listings show them.

use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::{Thread, ThreadQuery, ThreadSort};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, NEVER, caller_of, commit, everything, pruning, target, thread_id};

async fn thread(h: &Harness, id: &str) -> Thread {
    h.storage.get_thread(&h.caller, &thread_id(id)).await.unwrap().unwrap()
}

pub async fn a_commit_describes_its_thread(h: Harness) {
    let metadata = r#"{"step":3,"graph_id":"g","assistant_id":"a","user_id":7}"#;
    h.put(Put::new("1").metadata(metadata).sets("c", "1", "value")).await;
    let first = thread(&h, "t").await;
    assert_eq!((first.last_step, first.checkpoint_count), (Some(3), 1));
    assert_eq!((first.graph_id.as_deref(), first.assistant_id.as_deref()), (Some("g"), Some("a")));
    assert_eq!((first.user_id, first.owner), (None, None), "a number is no text");
    assert_eq!(first.created_at, first.updated_at);
    h.put(Put::new("2").ns("child").metadata(r#"{"step":9,"user_id":"u"}"#)).await;
    h.write(Writes::new("2", "t").write(0, "a", "x")).await;
    let later = thread(&h, "t").await;
    assert_eq!(
        (later.last_step, later.checkpoint_count),
        (Some(3), 2),
        "steps are the root graph's"
    );
    assert_eq!((later.graph_id.as_deref(), later.user_id.as_deref()), (Some("g"), Some("u")));
    assert_eq!((later.created_at, &later.generation), (first.created_at, &first.generation));
    assert!(later.updated_at > first.updated_at && later.size_bytes > first.size_bytes);
    h.check_counts("t").await;
    let mut caller = h.caller.clone();
    caller.subject = Some("alice".into());
    let owned =
        h.storage.prepare(&caller, commit("owned", vec![Put::new("1").op()]), NEVER).await.unwrap();
    h.queue.commit(owned).await.unwrap();
    assert_eq!(thread(&h, "owned").await.owner.as_deref(), Some("alice"));
}

pub async fn listings_sort_filter_and_page(h: Harness) {
    for (id, graph) in [("a/1", "g1"), ("b", "g2"), ("a/2", "g1"), ("ä", "g1")] {
        let put = Put::new("1").metadata(&format!(r#"{{"graph_id":"{graph}"}}"#));
        h.commit(commit(id, vec![put.op()])).await.unwrap();
    }
    h.commit(commit("a/1", vec![Put::new("2").op()])).await.unwrap();
    let ids = async |query: ThreadQuery| {
        let mut seen: Vec<String> = Vec::new();
        let mut after = None;
        loop {
            let page = ThreadQuery { limit: 2, after, ..query.clone() };
            let page = h.storage.list_threads(&h.caller, &page).await.unwrap();
            seen.extend(page.threads.into_iter().map(|it| it.thread_id));
            after = page.next;
            if after.is_none() {
                return seen;
            }
        }
    };
    let by = |sort, ascending| ThreadQuery { sort, ascending, ..ThreadQuery::default() };
    assert_eq!(ids(by(ThreadSort::Created, false)).await, ["ä", "a/2", "b", "a/1"]);
    assert_eq!(ids(by(ThreadSort::Created, true)).await, ["a/1", "b", "a/2", "ä"]);
    assert_eq!(ids(by(ThreadSort::Updated, false)).await, ["a/1", "ä", "a/2", "b"]);
    // The others are of one size.
    assert_eq!(ids(by(ThreadSort::Size, false)).await, ["a/1", "ä", "b", "a/2"]);
    assert_eq!(ids(by(ThreadSort::Size, true)).await, ["a/2", "b", "ä", "a/1"]);
    assert_eq!(ids(by(ThreadSort::ThreadId, true)).await, ["a/1", "a/2", "b", "ä"]);
    assert_eq!(ids(by(ThreadSort::ThreadId, false)).await, ["ä", "b", "a/2", "a/1"]);
    let of_graph = ThreadQuery { graph_id: Some("g1".into()), ..by(ThreadSort::ThreadId, true) };
    assert_eq!(ids(of_graph).await, ["a/1", "a/2", "ä"]);
    let of_prefix = ThreadQuery { prefix: Some("a/".into()), ..by(ThreadSort::ThreadId, true) };
    assert_eq!(ids(of_prefix).await, ["a/1", "a/2"]);
    let none = ThreadQuery { user_id: Some("u".into()), ..by(ThreadSort::ThreadId, true) };
    assert!(ids(none).await.is_empty());
    for odd in ["%", "_", "A"] {
        let query = ThreadQuery { prefix: Some(odd.into()), ..by(ThreadSort::ThreadId, true) };
        assert!(ids(query).await.is_empty(), "a prefix is no pattern: {odd}");
    }
}

pub async fn tenants_never_meet(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "mine").metadata(r#"{"run_id":"r"}"#)).await;
    let other = caller_of("tenant-b");
    assert!(h.storage.get_thread(&other, &thread_id("t")).await.unwrap().is_none());
    let found = h.storage.get_checkpoint(&other, &target("t", "", None), &[]).await.unwrap();
    assert!(found.view.is_none() && found.generation.is_none());
    assert!(h.storage.list_checkpoints(&other, &everything()).await.unwrap().views.is_empty());
    let of_thread = ListQuery { thread_id: Some(thread_id("t")), ..everything() };
    assert!(h.storage.list_checkpoints(&other, &of_thread).await.unwrap().views.is_empty());
    let request = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    h.storage.delete_thread(&other, &request).await.unwrap();
    h.storage.delete_for_runs(&other, &["r".into()]).await.unwrap();
    h.storage.prune_threads(&other, &pruning(&["t"], Rule::DELETE)).await.unwrap();
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    let prepared =
        h.storage.prepare(&other, commit("t", vec![Put::new("9").op()]), NEVER).await.unwrap();
    h.queue.commit(prepared).await.unwrap();
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    assert_eq!(thread(&h, "t").await.checkpoint_count, 1);
}
