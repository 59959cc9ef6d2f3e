//! Tests that each checkpoint shows exactly the values that were sent with it.

use threadkeep::domain::Error;
use threadkeep::domain::limits::LIMITS;

use crate::commands::Put;
use crate::harness::{Harness, commit, value, values};

pub async fn a_checkpoint_comes_back_as_it_was_sent(h: Harness) {
    let skeleton = r#"{ "v":4, "z":null,"id":"1","channel_versions":{"a":"1","b":"1"} }"#;
    let put = Put::new("1").skeleton(skeleton).metadata(r#"{"source":"input", "step":-1}"#);
    let put = put.unlisted("a", "\"1\"", value("msgpack", "A")).unlisted(
        "b",
        "\"1\"",
        value("json", "B"),
    );
    h.put(put).await;
    let view = h.get("1").await;
    assert_eq!((view.thread_id.as_str(), view.ns.as_str(), view.parent), ("t", "", None));
    assert_eq!(view.skeleton, skeleton);
    assert_eq!(view.metadata, r#"{"source":"input", "step":-1}"#);
    assert_eq!(
        view.values,
        [("a".into(), value("msgpack", "A")), ("b".into(), value("json", "B"))]
    );
    assert!(view.writes.is_empty() && view.bases.is_empty() && view.pending_sends.is_empty());
}

pub async fn latest_is_the_greatest_id_by_bytes(h: Harness) {
    for id in ["b", "B", "a", "ä", "aa", "Z"] {
        h.put(Put::new(id)).await;
    }
    assert_eq!(h.latest("t").await.unwrap().id, "ä");
    assert!(h.latest("unknown").await.is_none());
    let found = h.found("t", "", Some("c"), &[]).await;
    assert!(found.view.is_none() && found.generation.is_some(), "known thread, unknown id");
}

pub async fn carried_values_come_from_the_parent_and_dropped_channels_are_gone(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "a1").sets("b", "1", "b1")).await;
    h.put(Put::new("2").parent("1").sets("a", "2", "a2").carries("b", "1")).await;
    h.put(Put::new("3").parent("2").carries("a", "2").sets("new", "3", "n")).await;
    assert_eq!(values(&h.get("1").await), [("a", "a1".into()), ("b", "b1".into())].into());
    assert_eq!(values(&h.get("2").await), [("a", "a2".into()), ("b", "b1".into())].into());
    assert_eq!(values(&h.get("3").await), [("a", "a2".into()), ("new", "n".into())].into());
}

pub async fn absent_empty_and_null_stay_three_things(h: Harness) {
    h.put(Put::new("1").sets("emptied", "1", "old").sets("never", "1", "x")).await;
    let put = Put::new("2").parent("1").empties("emptied", "2").carries("never", "9");
    h.put(put.sets_value("null", "2", value("null", ""))).await;
    let view = h.get("2").await;
    assert_eq!(view.values, [("null".into(), value("null", ""))]);
    h.put(Put::new("3").parent("2").carries("emptied", "2").carries("null", "2")).await;
    assert_eq!(h.get("3").await.values, [("null".into(), value("null", ""))], "carried as empty");
}

pub async fn values_show_only_for_channels_in_new_versions(h: Harness) {
    h.put(Put::new("1").carries("foo", "1").carries("baz", "1")).await;
    assert!(h.get("1").await.values.is_empty());
    h.put(Put::new("2").sets("foo", "1", "f").carries("baz", "1")).await;
    assert_eq!(values(&h.get("2").await), [("foo", "f".into())].into());
    h.put(Put::new("3").sets("foo", "1", "f").sets("baz", "1", "b")).await;
    assert_eq!(values(&h.get("3").await), [("baz", "b".into()), ("foo", "f".into())].into());
}

pub async fn branches_that_reuse_a_version_keep_their_own_values(h: Harness) {
    h.put(Put::new("1").sets("log", "1", "in")).await;
    h.put(Put::new("2").parent("1").sets("log", "2", "in n-A")).await;
    h.put(Put::new("3").parent("2").sets("log", "3", "in n-A m-A")).await;
    h.put(Put::new("4").parent("1").sets("log", "2", "in n-B")).await;
    h.put(Put::new("5").parent("4").sets("log", "3", "in n-B m-B").sets("x", "5", "y")).await;
    h.put(Put::new("6").parent("3").carries("log", "3")).await;
    h.put(Put::new("7").parent("5").carries("log", "3").carries("x", "5")).await;
    assert_eq!(values(&h.get("3").await)["log"], "in n-A m-A");
    assert_eq!(values(&h.get("5").await)["log"], "in n-B m-B");
    assert_eq!(values(&h.get("6").await)["log"], "in n-A m-A");
    assert_eq!(values(&h.get("7").await)["log"], "in n-B m-B");
}

pub async fn a_copy_takes_the_values_of_its_sibling(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "root")).await;
    h.put(Put::new("2").parent("1").sets("a", "2", "left").empties("gone", "2")).await;
    h.put(Put::new("3").parent("1").sets("a", "2", "right").sets("b", "2", "b")).await;
    h.put(Put::new("4").parent("1").carries("a", "2").carries("gone", "2")).await;
    h.put(Put::new("5").parent("1").carries("a", "2").carries("b", "2")).await;
    assert_eq!(values(&h.get("4").await), [("a", "left".into())].into());
    assert_eq!(values(&h.get("5").await), [("a", "right".into()), ("b", "b".into())].into());
    h.put(Put::new("6").carries("a", "1")).await;
    assert_eq!(values(&h.get("6").await), [("a", "root".into())].into(), "a copy of the root");
}

pub async fn a_fork_says_by_digest_which_value_it_means(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "root")).await;
    h.put(Put::new("2").parent("1").sets("a", "2", "left")).await;
    h.put(Put::new("3").parent("1").sets("a", "2", "right")).await;
    h.put(Put::new("4").parent("1").carries("a", "2").holds("a", "2", "left")).await;
    h.put(Put::new("5").parent("1").carries("a", "2").holds("a", "2", "right")).await;
    h.put(Put::new("6").parent("3").carries("a", "2").holds("a", "2", "left")).await;
    h.put(Put::new("7").parent("3").carries("a", "2").holds("a", "2", "never stored")).await;
    assert_eq!(values(&h.get("4").await)["a"], "left");
    assert_eq!(values(&h.get("5").await)["a"], "right");
    assert_eq!(values(&h.get("6").await)["a"], "left", "a digest decides before the parent");
    assert_eq!(values(&h.get("7").await)["a"], "right", "an unknown digest decides nothing");
}

pub async fn a_missing_parent_falls_back_to_the_newest_value_of_the_version(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "old")).await;
    h.put(Put::new("2").sets("a", "1", "newer").sets("b", "1", "b")).await;
    h.put(Put::new("9").parent("gone").carries("a", "1").carries("b", "2")).await;
    assert_eq!(values(&h.get("9").await), [("a", "newer".into())].into());
    let put = Put::new("3").unlisted("late", "7", value("msgpack", "L"));
    h.put(put).await;
    assert!(h.get("3").await.values.is_empty());
    h.put(Put::new("4").parent("3").carries("late", "7")).await;
    assert_eq!(values(&h.get("4").await), [("late", "L".into())].into());
}

pub async fn a_second_put_replaces_all_and_keeps_counts_true(h: Harness) {
    h.put(Put::new("0").sets("a", "0", "zero")).await;
    h.put(Put::new("1").parent("0").sets("a", "1", "first").sets("b", "1", "b")).await;
    h.put(Put::new("1").sets("a", "2", "second").metadata(r#"{"step":5,"long":"document"}"#)).await;
    let view = h.get("1").await;
    assert_eq!(values(&view), [("a", "second".into())].into());
    assert_eq!(view.parent, None);
    assert_eq!(view.metadata, r#"{"step":5,"long":"document"}"#);
    h.check_counts("t").await;
    let thread =
        h.storage.get_thread(&h.caller, &crate::harness::thread_id("t")).await.unwrap().unwrap();
    assert_eq!((thread.checkpoint_count, thread.last_step), (2, Some(5)));
}

pub async fn a_put_that_names_itself_keeps_the_stored_parent(h: Harness) {
    h.put(Put::new("1").parent("1").sets("a", "1", "x")).await;
    assert_eq!(h.get("1").await.parent, None);
    h.put(Put::new("2").parent("1").carries("a", "1")).await;
    h.put(Put::new("2").parent("2").carries("a", "1").sets("b", "2", "b")).await;
    let view = h.get("2").await;
    assert_eq!(view.parent.as_deref(), Some("1"));
    assert_eq!(values(&view), [("a", "x".into()), ("b", "b".into())].into());
}

pub async fn a_retry_of_a_put_stores_nothing_twice(h: Harness) {
    let large = "x".repeat(50) + &(0..3_000).map(|it| it.to_string()).collect::<String>();
    let put = Put::new("2").parent("1").sets("small", "2", "s").sets("large", "2", &large);
    let put = put.unlisted("later", "9", value("msgpack", "l"));
    h.put(Put::new("1").sets("small", "1", "s0")).await;
    h.put(put.clone()).await;
    let manifests = h.count("select count(*) from manifests").await;
    let before = h.get("2").await;
    for _ in 0..3 {
        h.put(put.clone()).await;
    }
    assert_eq!(h.get("2").await, before);
    assert_eq!(h.count("select count(*) from manifests").await, manifests);
    h.check_counts("t").await;
}

pub async fn namespaces_are_chains_of_their_own(h: Harness) {
    let ops = vec![
        Put::new("1").sets("a", "1", "root").op(),
        Put::new("1").ns("child:x").sets("a", "1", "child").op(),
        Put::new("2").ns("child:x").parent("1").carries("a", "1").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    let child = h.found("t", "child:x", None, &[]).await.view.unwrap();
    assert_eq!((child.id.as_str(), values(&child)["a"].as_str()), ("2", "child"));
    assert!(h.found("t", "child", None, &[]).await.view.is_none());
}

pub async fn a_version_has_so_many_bytes_and_no_more(h: Harness) {
    let most = usize::try_from(LIMITS.version_bytes_max).unwrap();
    let longest = |length: usize| {
        // Each escape is two bytes of UTF-8.
        let text = format!(r#""{}{}""#, r"\u00fc".repeat(length / 2), "x".repeat(length % 2));
        [text, "1".repeat(length)]
    };
    let puts = |version: &str| {
        let listed = Put::new("1").sets("a", version, "1");
        [listed, Put::new("1").unlisted("a", version, value("msgpack", "1"))]
    };
    for put in longest(most).iter().flat_map(|it| puts(it)) {
        h.put(put).await;
    }
    for (at, put) in longest(most + 1).iter().flat_map(|it| puts(it)).enumerate() {
        match h.commit(commit("new", vec![put.op()])).await {
            Err(Error::Invalid { field, limit, .. }) => {
                let fields = ["skeleton.channel_versions", "values.version"];
                assert_eq!((field.as_str(), limit), (fields[at % 2], Some(most as u64)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(h.latest("new").await.is_none());
}
