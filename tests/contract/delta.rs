//! Tests delta history: the walk along the parent chain (`get_delta_channel_history`).

use threadkeep::domain::checkpoints::checkpoint::{ListQuery, View};
use threadkeep::domain::checkpoints::history::{Chain, History};
use threadkeep::domain::checkpoints::storage::TargetHistory;

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, everything, target, text, thread_id, value};

/// `seed|write,write` as a client replays it.
pub fn shown(history: &History) -> String {
    let seed = history.seed.as_ref().map_or_else(|| "-".to_owned(), text);
    let writes: Vec<String> = history.writes.iter().map(|(_, it)| text(it)).collect();
    format!("{seed}|{}", writes.join(","))
}

pub fn replay(found: &TargetHistory, channel: &str) -> String {
    shown(&found.chain.history("", &found.bases, found.parent.as_deref(), channel))
}

pub fn replay_view(view: &View, chain: &Chain, channel: &str) -> String {
    shown(&chain.history(&view.ns, &view.bases, view.parent.as_deref(), channel))
}

/// Metadata that names delta channels.
pub fn counting(channels: &[&str]) -> String {
    let counters: Vec<String> = channels.iter().map(|it| format!("{it:?}:[1,1]")).collect();
    format!(r#"{{"counters_since_delta_snapshot":{{{}}}}}"#, counters.join(","))
}

/// A chain 1 ← 2 ← … ← n of checkpoints that move `m` without a value; each has one write on `m`. A number in
/// `snapshots` has a value.
pub async fn chain(h: &Harness, thread: &str, length: usize, snapshots: &[usize]) {
    for at in 1..=length {
        let mut put = Put::new(&id(at)).metadata(&counting(&["m"]));
        if at > 1 {
            put = put.parent(&id(at - 1));
        }
        let version = at.to_string();
        put = if snapshots.contains(&at) {
            put.sets("m", &version, &format!("s{at}"))
        } else {
            put.empties("m", &version)
        };
        let write = Writes::new(&id(at), "task").write(0, "m", &format!("w{at}"));
        h.commit(commit(thread, vec![put.op(), write.op()])).await.unwrap();
    }
}

pub fn id(at: usize) -> String {
    format!("{at:04}")
}

pub async fn history_collects_writes_back_to_the_seed(h: Harness) {
    chain(&h, "t", 5, &[2]).await;
    assert_eq!(replay(&h.history("0005", &["m"]).await, "m"), "s2|w2,w3,w4");
    assert_eq!(
        replay(&h.history("0003", &["m"]).await, "m"),
        "s2|w2",
        "the target's writes are not in it"
    );
    assert_eq!(replay(&h.history("0002", &["m"]).await, "m"), "-|w1");
    let none = h.history("0005", &[]).await;
    assert!(none.chain.nodes.is_empty());
    let unknown = target("t", "", Some("x"));
    let absent = h.storage.get_history(&h.caller, &unknown, &["m".into()]).await.unwrap();
    assert!(absent.is_none());
}

pub async fn each_channel_stops_at_its_own_ancestor(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "a1").empties("b", "1")).await;
    h.write(Writes::new("1", "t").write(0, "a", "wa1").write(1, "b", "wb1")).await;
    h.put(Put::new("2").parent("1").empties("a", "2").sets("b", "2", "b2")).await;
    h.write(Writes::new("2", "t2").path("~2").write(0, "a", "wa2-late").write(1, "b", "wb2")).await;
    h.write(Writes::new("2", "t9").path("~1").write(0, "a", "wa2-early")).await;
    h.put(Put::new("3").parent("2").empties("a", "3").empties("b", "3")).await;
    let found = h.history("3", &["a", "b", "unknown"]).await;
    assert_eq!(replay(&found, "a"), "a1|wa1,wa2-early,wa2-late");
    assert_eq!(replay(&found, "b"), "b2|wb2");
    assert_eq!(replay(&found, "unknown"), "-|");
    let oldest = found.chain.nodes.last().unwrap();
    assert!(oldest.writes.iter().all(|(channel, _, _)| channel == "a"), "b has stopped before");
}

pub async fn writes_of_a_fork_off_the_path_do_not_count(h: Harness) {
    chain(&h, "t", 3, &[1]).await;
    h.put(Put::new("0002b").parent("0001").empties("m", "2")).await;
    h.write(Writes::new("0002b", "task").write(0, "m", "fork")).await;
    h.put(Put::new("0004").parent("0002b").empties("m", "3")).await;
    assert_eq!(replay(&h.history("0004", &["m"]).await, "m"), "s1|w1,fork");
    assert_eq!(replay(&h.history("0003", &["m"]).await, "m"), "s1|w1,w2");
}

pub async fn a_chain_without_a_seed_ends_at_the_root(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    let found = h.history("0003", &["m"]).await;
    assert_eq!(replay(&found, "m"), "-|w1,w2");
    assert_eq!(found.chain.nodes.len(), 2);
}

pub async fn a_missing_parent_ends_the_walk_and_a_loop_too(h: Harness) {
    h.put(Put::new("2").parent("1").empties("m", "2")).await;
    h.write(Writes::new("2", "t").write(0, "m", "w2")).await;
    h.write(Writes::new("1", "t").write(0, "m", "of a checkpoint that never came")).await;
    h.put(Put::new("3").parent("2").empties("m", "3")).await;
    assert_eq!(replay(&h.history("3", &["m"]).await, "m"), "-|w2");
    h.put(Put::new("a").parent("b").empties("m", "2")).await;
    h.put(Put::new("b").parent("a").empties("m", "2")).await;
    h.write(Writes::new("a", "t").write(0, "m", "wa")).await;
    h.write(Writes::new("b", "t").write(0, "m", "wb")).await;
    assert_eq!(replay(&h.history("b", &["m"]).await, "m"), "-|wb,wa", "once around");
}

pub async fn history_works_for_channels_without_a_version(h: Harness) {
    h.put(Put::new("1").sets("m", "1", "snapshot")).await;
    h.write(Writes::new("1", "t").write(0, "m", "w1")).await;
    h.put(Put::new("2").parent("1")).await;
    h.write(Writes::new("2", "t").write(0, "m", "w2")).await;
    h.put(Put::new("3").parent("2")).await;
    assert_eq!(replay(&h.history("3", &["m"]).await, "m"), "snapshot|w1,w2");
}

pub async fn get_answers_the_history_of_delta_channels_and_of_those_asked_for(h: Harness) {
    chain(&h, "t", 4, &[1]).await;
    let found = h.found("t", "", None, &[]).await;
    let view = found.view.unwrap();
    assert_eq!(view.delta_channels, ["m"]);
    assert_eq!(found.history_channels, ["m"]);
    assert_eq!(replay_view(&view, &found.chain, "m"), "s1|w1,w2,w3");
    let at_snapshot = h.found("t", "", Some("0001"), &["m"]).await;
    assert!(at_snapshot.history_channels.is_empty() && at_snapshot.chain.nodes.is_empty());
    let put =
        Put::new("0005").parent("0004").empties("m", "5").empties("asked", "5").sets("v", "5", "v");
    h.put(put).await;
    let found = h.found("t", "", None, &["asked", "v", "no version"]).await;
    assert_eq!(found.history_channels, ["asked"], "metadata names none here, v has a value");
    assert_eq!(replay_view(&found.view.unwrap(), &found.chain, "asked"), "-|");
}

pub async fn a_plain_checkpoint_reads_no_ancestor(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "x")).await;
    h.put(Put::new("2").parent("1").empties("branch:to:n", "2").carries("a", "1")).await;
    let found = h.found("t", "", None, &[]).await;
    assert!(found.chain.nodes.is_empty() && found.history_channels.is_empty());
}

pub async fn a_long_walk_is_complete(h: Harness) {
    let mut ops = Vec::new();
    for at in 1..=700_usize {
        let mut put = Put::new(&id(at)).empties("m", &at.to_string());
        if at > 1 {
            put = put.parent(&id(at - 1));
        }
        ops.push(put.op());
        ops.push(Writes::new(&id(at), "t").write(0, "m", &format!("w{at}")).op());
    }
    for slice in ops.chunks(200) {
        h.commit(commit("t", slice.to_vec())).await.unwrap();
    }
    let found = h.history("0700", &["m"]).await;
    let expected: Vec<String> = (1..700).map(|at| format!("w{at}")).collect();
    assert_eq!(replay(&found, "m"), format!("-|{}", expected.join(",")));
}

pub async fn listed_histories_share_one_chain(h: Harness) {
    chain(&h, "t", 6, &[2, 5]).await;
    let query = ListQuery {
        thread_id: Some(thread_id("t")),
        history_channels: Some(Vec::new()),
        ..everything()
    };
    let page = h.list(query.clone()).await;
    assert_eq!(page.history_channels, ["m"]);
    let replays: Vec<String> =
        page.views.iter().map(|view| replay_view(view, &page.chain, "m")).collect();
    let expected = ["s5|w5", "-", "s2|w2,w3", "s2|w2", "-", "-|"];
    for (at, expected) in expected.iter().enumerate().filter(|(_, it)| **it != "-") {
        assert_eq!(replays[at], *expected, "{}", page.views[at].id);
    }
    assert!(page.chain.nodes.len() <= 5, "each ancestor once");
    let plain = h.list(ListQuery { history_channels: None, ..query }).await;
    assert!(plain.chain.nodes.is_empty());
}

pub async fn empty_is_no_seed_and_null_is_one(h: Harness) {
    h.put(Put::new("1").sets("m", "1", "old")).await;
    h.put(Put::new("2").parent("1").empties("m", "2")).await;
    h.write(Writes::new("2", "t").write(0, "m", "w2")).await;
    h.put(Put::new("3").parent("2").empties("m", "3")).await;
    assert_eq!(replay(&h.history("3", &["m"]).await, "m"), "old|w2");
    h.put(Put::new("4").parent("3").sets_value("m", "4", value("null", ""))).await;
    h.put(Put::new("5").parent("4").empties("m", "5")).await;
    let found = h.history("5", &["m"]).await;
    let history = found.chain.history("", &found.bases, found.parent.as_deref(), "m");
    assert_eq!(history.seed, Some(value("null", "")));
}
