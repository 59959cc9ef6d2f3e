//! Tests timelines: the checkpoints of a thread without their values.

use threadkeep::domain::caller::Caller;
use threadkeep::domain::checkpoints::timeline::{
    SkeletonBefore, Timeline, TimelineNode, TimelineQuery,
};
use threadkeep::domain::names::{CheckpointId, CheckpointNs};

use crate::commands::{Put, Writes};
use crate::harness::{Harness, caller_of, commit, pruning, thread_id};
use threadkeep::domain::threads::retention::Rule;

pub fn all(thread: &str) -> TimelineQuery {
    TimelineQuery {
        thread_id: thread_id(thread),
        ns: None,
        before: None,
        after: None,
        limit: 1_000,
        position: None,
    }
}

async fn read(h: &Harness, caller: &Caller, query: &TimelineQuery) -> Timeline {
    h.storage.list_timeline(caller, query).await.unwrap()
}

fn ids(timeline: &Timeline) -> Vec<String> {
    timeline.nodes.iter().map(|it| format!("{}/{}", it.ns, it.id)).collect()
}

fn skeleton_before(node: &TimelineNode) -> Option<String> {
    match node.before.as_ref()? {
        SkeletonBefore::Nothing => Some("nothing".into()),
        SkeletonBefore::Of(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
    }
}

/// Three steps of a thread, and two of a sub-agent under the second.
async fn steps(h: &Harness) {
    let first = Put::new("1").metadata(r#"{"step":-1,"source":"input"}"#).sets("a", "1", "x");
    let second = Put::new("2").parent("1").metadata(r#"{"step":0,"run_id":"r"}"#);
    let third = Put::new("3").parent("2").carries("a", "1").sets("b", "2", "y");
    let ops = vec![first.op(), second.sets("a", "2", "z").op(), third.op()];
    h.commit(commit("t", ops)).await.unwrap();
    let agent = |id: &str| Put::new(id).ns("tools:1").metadata(r#"{"lc_agent_name":"poet"}"#);
    h.commit(commit("t", vec![agent("21").op(), agent("22").parent("21").op()])).await.unwrap();
    h.write(Writes::new("2", "task").write(0, "a", "1234").write(-3, "__interrupt__", "q")).await;
    h.write(Writes::new("2", "other").write(-1, "__error__", "e")).await;
    h.commit(commit("else", vec![Put::new("9").op()])).await.unwrap();
}

pub async fn nodes_tell_their_writes_and_what_they_began_with(h: Harness) {
    steps(&h).await;
    let timeline = read(&h, &h.caller, &all("t")).await;
    assert_eq!(ids(&timeline), ["/3", "tools:1/22", "tools:1/21", "/2", "/1"]);
    assert!(timeline.next.is_none());
    let of = |id: &str| timeline.nodes.iter().find(|it| it.id == id).unwrap();
    let second = of("2");
    assert_eq!((second.writes, second.interrupts, second.has_error), (3, 1, true));
    assert_eq!(second.run_id.as_deref(), Some("r"));
    let documents = (second.skeleton.len() + second.metadata.len()) as u64;
    assert_eq!(second.size_bytes, documents + 6);
    let first = of("1");
    assert_eq!((first.writes, first.interrupts, first.has_error), (0, 0, false));
    assert_eq!(first.run_id, None);
    assert_eq!(skeleton_before(first).as_deref(), Some("nothing"));
    let text = |node: &TimelineNode| String::from_utf8(node.skeleton.to_vec()).unwrap();
    assert_eq!(skeleton_before(second), Some(text(first)));
    assert_eq!(skeleton_before(of("22")), Some(text(of("21"))));
    let generation = h.found("t", "", None, &[]).await.generation;
    assert_eq!(timeline.generation, generation);
}

pub async fn pages_go_on_and_reach_for_the_parents_of_their_last(h: Harness) {
    steps(&h).await;
    let whole = read(&h, &h.caller, &all("t")).await;
    let mut query = TimelineQuery { limit: 2, ..all("t") };
    let mut seen = Vec::new();
    for page in 0..3 {
        let timeline = read(&h, &h.caller, &query).await;
        assert_eq!(timeline.namespaces.is_empty(), page > 0, "on the first page only");
        assert_eq!(timeline.generation, whole.generation);
        seen.extend(timeline.nodes);
        query.position = timeline.next;
    }
    assert!(query.position.is_none());
    assert_eq!(seen.len(), 5);
    for (one, other) in seen.iter().zip(&whole.nodes) {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

pub async fn a_timeline_is_of_a_namespace_and_between_two_checkpoints(h: Harness) {
    steps(&h).await;
    let id = |text: &str| Some(CheckpointId::new(text).unwrap());
    let root = Some(CheckpointNs::root());
    for (query, expected) in [
        (TimelineQuery { ns: root.clone(), ..all("t") }, &["/3", "/2", "/1"][..]),
        (TimelineQuery { after: id("2"), ..all("t") }, &["/3", "tools:1/22", "tools:1/21"]),
        (TimelineQuery { after: id("2"), ns: root.clone(), ..all("t") }, &["/3"]),
        (TimelineQuery { after: id("3"), ..all("t") }, &[]),
        (TimelineQuery { before: id("22"), after: id("1"), ..all("t") }, &["tools:1/21", "/2"]),
        (TimelineQuery { ns: Some(CheckpointNs::new("no").unwrap()), ..all("t") }, &[]),
    ] {
        assert_eq!(ids(&read(&h, &h.caller, &query).await), expected, "{query:?}");
    }
}

pub async fn namespaces_come_with_their_newest_checkpoint(h: Harness) {
    steps(&h).await;
    let timeline = read(&h, &h.caller, &TimelineQuery { limit: 1, ..all("t") }).await;
    let told: Vec<(&str, u64, &str)> = timeline
        .namespaces
        .iter()
        .map(|it| (it.ns.as_str(), it.checkpoints, it.newest.as_str()))
        .collect();
    assert_eq!(told, [("", 3, "3"), ("tools:1", 2, "22")]);
    assert_eq!(timeline.namespaces[1].metadata, r#"{"lc_agent_name":"poet"}"#);
}

pub async fn a_parent_that_is_gone_is_not_known(h: Harness) {
    steps(&h).await;
    let timeline = read(&h, &h.caller, &all("t")).await;
    assert!(timeline.nodes.iter().all(|it| it.before.is_some()));
    h.commit(commit("t", vec![Put::new("5").parent("4").op()])).await.unwrap();
    let timeline = read(&h, &h.caller, &all("t")).await;
    assert_eq!((timeline.nodes[0].id.as_str(), skeleton_before(&timeline.nodes[0])), ("5", None));
    let request = pruning(&["t"], Rule::keep(1, None));
    h.storage.prune_threads(&h.caller, &request).await.unwrap();
    assert_eq!(ids(&read(&h, &h.caller, &all("t")).await), ["/5", "tools:1/22"]);
}

pub async fn a_thread_that_is_not_there_has_no_generation(h: Harness) {
    steps(&h).await;
    for (caller, thread) in [(&h.caller, "none"), (&caller_of("another"), "t")] {
        let timeline = read(&h, caller, &all(thread)).await;
        assert_eq!(timeline.generation, None);
        assert!(timeline.nodes.is_empty() && timeline.namespaces.is_empty());
    }
}

pub async fn a_page_ends_where_its_documents_are_large(h: Harness) {
    let long = "m".repeat(1_500_000);
    for at in 1..=5 {
        let metadata = format!(r#"{{"note":"{long}"}}"#);
        h.put(Put::new(&at.to_string()).metadata(&metadata)).await;
    }
    let mut query = all("t");
    let mut seen = Vec::new();
    loop {
        let timeline = read(&h, &h.caller, &query).await;
        assert!((1..=2).contains(&timeline.nodes.len()), "{}", timeline.nodes.len());
        seen.extend(ids(&timeline));
        query.position = timeline.next;
        if query.position.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["/5", "/4", "/3", "/2", "/1"]);
}
