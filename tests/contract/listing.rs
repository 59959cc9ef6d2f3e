//! Tests listings of checkpoints.

use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, View};
use threadkeep::domain::checkpoints::storage::Page;
use threadkeep::domain::json::exact_json;
use threadkeep::domain::names::{CheckpointId, CheckpointNs};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, caller_of, commit, everything, thread_id, value};

fn ids(views: &[View]) -> Vec<String> {
    views.iter().map(|it| format!("{}/{}/{}", it.thread_id, it.ns, it.id)).collect()
}

fn filter(text: &str) -> serde_json::Value {
    exact_json::parse("filter", text.as_bytes()).unwrap()
}

pub async fn all_threads_newest_first_in_a_stable_order(h: Harness) {
    for (thread, ns, id) in [
        ("b", "", "2"),
        ("a", "", "2"),
        ("a", "n", "2"),
        ("a", "", "1"),
        ("b", "", "3"),
        ("a", "", "ä"),
    ] {
        h.commit(commit(thread, vec![Put::new(id).ns(ns).op()])).await.unwrap();
    }
    let expected = ["a//ä", "b//3", "a//2", "a/n/2", "b//2", "a//1"];
    assert_eq!(ids(&h.list(everything()).await.views), expected);
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = h.list(ListQuery { limit: 2, after, ..everything() }).await;
        seen.extend(ids(&page.views));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected, "pages of two");
    let ns = Some(CheckpointNs::new("").unwrap());
    let root = h.list(ListQuery { thread_id: Some(thread_id("a")), ns, ..everything() }).await;
    assert_eq!(ids(&root.views), ["a//ä", "a//2", "a//1"]);
    let id = Some(CheckpointId::new("2").unwrap());
    let of_id = h.list(ListQuery { id, ..everything() }).await;
    assert_eq!(ids(&of_id.views), ["a//2", "a/n/2", "b//2"]);
    assert!(
        h.list(ListQuery { thread_id: Some(thread_id("x")), ..everything() })
            .await
            .views
            .is_empty()
    );
}

pub async fn filters_match_by_containment(h: Harness) {
    h.put(Put::new("1").metadata(r#"{"source":"input","step":-1,"parents":{}}"#)).await;
    h.put(Put::new("2").metadata(r#"{"source":"loop","step":0,"score":42,"parents":{"":"x"}}"#))
        .await;
    h.put(Put::new("3").metadata(r#"{"source":"loop","step":1.0,"tags":["a","b"],"n":null}"#))
        .await;
    h.put(Put::new("4").metadata(r#"{"big":1180591620717411303424,"s":"\u0000","l":"\ud800"}"#))
        .await;
    for (text, expected) in [
        ("{}", &["4", "3", "2", "1"][..]),
        (r#"{"source":"loop"}"#, &["3", "2"]),
        (r#"{"source":"loop","step":1}"#, &["3"]),
        (r#"{"score":4.2e1}"#, &["2"]),
        (r#"{"score":"42"}"#, &[]),
        (r#"{"parents":{}}"#, &["2", "1"]),
        (r#"{"tags":["a"]}"#, &["3"]),
        (r#"{"absent":null}"#, &[]),
        (r#"{"n":null}"#, &["3"]),
        (r#"{"big":1180591620717411303424}"#, &["4"]),
        (r#"{"big":1180591620717411303425}"#, &[]),
        (r#"{"s":"\u0000"}"#, &["4"]),
        (r#"{"l":"\ud800"}"#, &["4"]),
        (r#"{"l":"\ud801"}"#, &[]),
    ] {
        let page = h.list(ListQuery { filter: Some(filter(text)), ..everything() }).await;
        let ids: Vec<&str> = page.views.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, expected, "{text}");
        assert_eq!(page.next, None);
    }
    let one = h
        .list(ListQuery { filter: Some(filter(r#"{"source":"loop"}"#)), limit: 1, ..everything() })
        .await;
    assert_eq!(one.views[0].id, "3");
    let next = ListQuery {
        filter: Some(filter(r#"{"source":"loop"}"#)),
        limit: 1,
        after: one.next,
        ..everything()
    };
    assert_eq!(h.list(next).await.views[0].id, "2");
}

pub async fn before_limit_and_cursor_cut_pages(h: Harness) {
    for at in 1..=5 {
        h.put(Put::new(&at.to_string())).await;
    }
    let before = |id: &str| Some(CheckpointId::new(id).unwrap());
    let cut = |page: Page| page.views.into_iter().map(|it| it.id).collect::<String>();
    assert_eq!(cut(h.list(ListQuery { before: before("4"), ..everything() }).await), "321");
    assert_eq!(
        cut(h.list(ListQuery { before: before("4"), limit: 2, ..everything() }).await),
        "32"
    );
    assert_eq!(cut(h.list(ListQuery { before: before("1"), ..everything() }).await), "");
    assert_eq!(cut(h.list(ListQuery { limit: 0, ..everything() }).await), "");
    let page = h.list(ListQuery { limit: 5, ..everything() }).await;
    assert_eq!(cut(page), "54321");
}

pub async fn a_page_ends_at_its_bytes(h: Harness) {
    for at in 1..=7 {
        let data: String = (0..300_000).map(|it| (it * at).to_string()).collect();
        h.put(Put::new(&at.to_string()).sets("a", &at.to_string(), &data)).await;
    }
    let mut seen = String::new();
    let mut after = None;
    let mut pages = 0;
    loop {
        let page = h.list(ListQuery { after, ..everything() }).await;
        let bytes: usize = page.views.iter().map(|it| it.values[0].1.data.len()).sum();
        assert!(page.views.len() == 1 || bytes <= 4 << 20, "{bytes} bytes in a page");
        seen.extend(page.views.iter().map(|it| it.id.clone()));
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, "7654321");
    assert!(pages > 2, "{pages} pages");
    let bare = h.list(ListQuery { values: false, ..everything() }).await;
    assert_eq!(bare.views.len(), 7);
    assert!(bare.views.iter().all(|it| it.values.is_empty() && !it.skeleton.is_empty()));
}

pub async fn listed_views_equal_those_of_get(h: Harness) {
    h.put(Put::new("1").format(1).sets("a", "1", "x").metadata(r#"{"run_id":"r"}"#)).await;
    h.write(Writes::new("1", "t").write(0, "__pregel_tasks", "send").write(-1, "__error__", "e"))
        .await;
    h.put(Put::new("2").format(1).parent("1").carries("a", "1").sets_value(
        "n",
        "2",
        value("null", ""),
    ))
    .await;
    for mut view in h.list(everything()).await.views {
        let mut got = h.get(&view.id).await;
        for it in view.writes.iter_mut().chain(&mut got.writes) {
            // Not every list reads the calls.
            it.call = None;
        }
        assert_eq!(view, got);
    }
}

pub async fn a_filter_that_rarely_matches_still_ends(h: Harness) {
    let ops = |range: std::ops::Range<i32>| {
        let put =
            |at: i32| Put::new(&format!("{at:05}")).metadata(&format!(r#"{{"n":{at}}}"#)).op();
        range.map(put).collect::<Vec<_>>()
    };
    for start in 0..10 {
        h.commit(commit("t", ops(start * 250..(start + 1) * 250))).await.unwrap();
    }
    let mut after = None;
    let mut found = Vec::new();
    loop {
        let page =
            h.list(ListQuery { filter: Some(filter(r#"{"n":3}"#)), after, ..everything() }).await;
        found.extend(page.views.into_iter().map(|it| it.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["00003"]);
}

pub async fn only_namespaces_with_checkpoints_are_told(h: Harness) {
    for ns in ["", "a:1", "a:1|b:2", "ä"] {
        h.commit(commit("t", vec![Put::new("1").ns(ns).op()])).await.unwrap();
    }
    h.commit(commit("t", vec![Writes::new("2", "task").write(0, "c", "x").op()])).await.unwrap();
    h.commit(commit("other", vec![Put::new("1").ns("z").op()])).await.unwrap();
    let names =
        ["", "a:1", "a", "a:1|b:2", "z", "ä", "\"'"].map(|it| CheckpointNs::new(it).unwrap());
    let told = async |caller: &Caller, thread: &str| {
        let found = h.storage.list_checkpoint_namespaces(caller, &thread_id(thread), &names).await;
        let mut found = found.unwrap();
        found.sort();
        found
    };
    assert_eq!(told(&h.caller, "t").await, ["", "a:1", "a:1|b:2", "ä"]);
    assert_eq!(told(&h.caller, "other").await, ["z"]);
    assert_eq!(told(&h.caller, "none").await, [""; 0]);
    assert_eq!(told(&caller_of("another"), "t").await, [""; 0]);
    let none = h.storage.list_checkpoint_namespaces(&h.caller, &thread_id("t"), &[]).await.unwrap();
    assert_eq!(none, [""; 0]);
}
