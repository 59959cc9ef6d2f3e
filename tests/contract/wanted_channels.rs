//! Tests reads that want the values of some channels only.

use bytes::Bytes;
use threadkeep::domain::checkpoints::checkpoint::{LargeValues, ListQuery, Target, View};
use threadkeep::domain::checkpoints::wanted::WantedChannels;

use crate::commands::{Put, Writes};
use crate::delta::{counting, replay_view};
use crate::harness::{Harness, commit, everything, target, text, thread_id, value};
use crate::value_parts::service;

/// Three of them are more than an answer holds.
const MUCH: usize = 44 << 20;

fn only(channels: &[&str]) -> WantedChannels {
    WantedChannels::Only(channels.iter().map(|it| (*it).to_owned()).collect())
}

fn read(wanted: WantedChannels) -> Target {
    Target { large_values: LargeValues::Shown, wanted, ..target("t", "", None) }
}

fn listed(wanted: WantedChannels) -> ListQuery {
    let thread_id = Some(thread_id("t"));
    ListQuery {
        thread_id,
        large_values: LargeValues::Shown,
        wanted,
        history_channels: Some(Vec::new()),
        ..everything()
    }
}

/// Bytes at hand, and the size, of each value.
fn sizes(view: &View) -> Vec<(&str, usize, u64)> {
    let values = view.values.iter();
    values.map(|(name, it)| (name.as_str(), it.data.len(), it.size_bytes())).collect()
}

pub async fn long_values_of_channels_that_are_not_wanted_are_not_read(h: Harness) {
    let of = service(&h).await;
    let zeros = Bytes::from(vec![0; MUCH]);
    let much = || value("msgpack", zeros.clone());
    let put = Put::new("1").sets("a", "1", "short").sets_value("x", "1", much());
    h.put(put.sets_value("y", "1", much()).sets_value("z", "1", much())).await;
    let size = MUCH as u64;
    let expected = [("a", 5, 5), ("x", MUCH, size), ("y", 0, size), ("z", 0, size)];
    let (found, _) = of.get(&h.caller, &read(only(&["x"])), &[], None).await.unwrap();
    assert_eq!(sizes(&found.view.unwrap()), expected);
    let page = of.list(&h.caller, listed(only(&["x"]))).await.unwrap();
    assert_eq!(sizes(&page.views[0]), expected);
    let (found, _) = of.get(&h.caller, &read(only(&["none"])), &[], None).await.unwrap();
    let left_out: Vec<usize> = sizes(&found.view.unwrap()).iter().map(|it| it.1).collect();
    assert_eq!(left_out, [5, 0, 0, 0], "short ones always come");
    // A read of everything finds the values in chunks afterwards, too.
    h.put(Put::new("2").parent("1").carries("x", "1")).await;
    let (found, _) = of.get(&h.caller, &read(WantedChannels::All), &[], None).await.unwrap();
    assert_eq!(sizes(&found.view.unwrap()), [("x", MUCH, size)]);
}

pub async fn histories_of_channels_that_are_not_wanted_are_not_read(h: Harness) {
    let of = service(&h).await;
    let metadata = counting(&["m", "n"]);
    let both = |put: Put, version: &str| put.empties("m", version).empties("n", version);
    let writes = |id: &str| {
        let task = format!("task {id}");
        Writes::new(id, &task).write(0, "m", &format!("m{id}")).write(1, "n", &format!("n{id}"))
    };
    let first = both(Put::new("1").metadata(&metadata), "1");
    let second = both(Put::new("2").metadata(&metadata).parent("1"), "2");
    let ops = vec![first.op(), writes("1").op(), second.op()];
    h.commit(commit("t", ops)).await.unwrap();
    let (found, _) = of.get(&h.caller, &read(only(&["n"])), &[], None).await.unwrap();
    let view = found.view.unwrap();
    assert_eq!(
        (&found.history_channels, &view.delta_channels),
        (&vec!["n".to_owned()], &vec!["n".to_owned()])
    );
    assert_eq!(replay_view(&view, &found.chain, "n"), "-|n1");
    assert_eq!(replay_view(&view, &found.chain, "m"), "-|");
    let page = of.list(&h.caller, listed(only(&["n"]))).await.unwrap();
    assert_eq!(page.views[0].delta_channels, ["n"]);
    assert_eq!(replay_view(&page.views[0], &page.chain, "n"), "-|n1");
    assert_eq!(replay_view(&page.views[0], &page.chain, "m"), "-|");
    let (found, _) = of.get(&h.caller, &read(WantedChannels::All), &[], None).await.unwrap();
    assert_eq!(found.history_channels, ["m", "n"]);
}

pub async fn what_starts_tasks_is_read_where_tasks_are_wanted(h: Harness) {
    let of = service(&h).await;
    let (long, seen) = ("a".repeat(3_000), "b".repeat(3_000));
    let put = Put::new("1").sets("join:a+b:c", "1", &long).sets("__start__", "1", &seen);
    h.put(put.sets("x", "1", &long)).await;
    let channels = |view: &View| -> Vec<String> {
        let whole = view.values.iter().filter(|it| !it.1.data.is_empty());
        whole.map(|(name, it)| format!("{name} {}", text(it).len())).collect()
    };
    let (found, _) = of.get(&h.caller, &read(only(&["y"])), &[], None).await.unwrap();
    assert_eq!(channels(&found.view.unwrap()), [""; 0]);
    let with_tasks = only(&["y"]).with_tasks();
    let (found, _) = of.get(&h.caller, &read(with_tasks.clone()), &[], None).await.unwrap();
    let all = ["__start__ 3000", "join:a+b:c 3000", "x 3000"];
    assert_eq!(channels(&found.view.unwrap()), all);
    let page = of.list(&h.caller, listed(with_tasks.clone())).await.unwrap();
    assert_eq!(channels(&page.views[0]), all);
    h.put(Put::new("2").sets("__start__", "2", &seen).sets("x", "2", &long)).await;
    let (found, _) = of.get(&h.caller, &read(with_tasks), &[], None).await.unwrap();
    assert_eq!(channels(&found.view.unwrap()), ["__start__ 3000"]);
}
