//! Tests task paths of the greatest length: the order of writes is exact over the whole path, wherever writes are read.

use threadkeep::domain::Error;
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, Op, PENDING_SENDS};
use threadkeep::domain::names::TaskPath;
use threadkeep::domain::threads::retention::Rule;

use crate::commands::{Put, Writes};
use crate::delta::{counting, replay, replay_view};
use crate::export_files::{exported, imported, other_engine};
use crate::granted_callers::copying;
use crate::harness::{Harness, commit, everything, pruning, text, thread_id, writes};
use crate::snapshot_calls::{Desk, check_sound, into};

const BYTES_MAX: usize = 64 << 10;

/// What paths of 64 KiB have in common but for their last byte.
fn common() -> String {
    "~__pregel_call, ".repeat(BYTES_MAX)[..BYTES_MAX - 1].to_owned()
}

/// Writes of one checkpoint in another order than that of their paths; their tasks say the opposite of the paths.
fn shuffled(checkpoint: &str, channel: &str) -> Vec<Op> {
    let group = |task: &str, end: &str| Writes::new(checkpoint, task).path(&(common() + end));
    vec![
        group("a", "3").write(0, channel, "fourth").op(),
        group("b", "2").write(1, channel, "third").write(0, channel, "second").op(),
        group("c", "").write(0, channel, "first").op(),
    ]
}

const PENDING: [&str; 4] = ["c:m=first", "b:m=second", "b:m=third", "a:m=fourth"];
const HISTORY: &str = "seed|first,second,third,fourth";
const SENDS: [&str; 4] = ["first", "second", "third", "fourth"];

/// Thread `t`: checkpoint 1 has the writes pending, 2 has them in its history and its own. Thread `old`: checkpoint 2 shows
/// those of its parent as pending sends.
async fn populate(h: &Harness) {
    let put = |id: &str| Put::new(id).metadata(&counting(&["m"]));
    let mut ops = vec![put("1").sets("m", "1", "seed").op()];
    ops.extend(shuffled("1", "m"));
    ops.push(put("2").parent("1").empties("m", "2").op());
    ops.extend(shuffled("2", "m"));
    h.commit(commit("t", ops)).await.unwrap();
    let mut ops = vec![Put::new("1").format(1).op()];
    ops.extend(shuffled("1", PENDING_SENDS));
    ops.push(Put::new("2").parent("1").format(1).op());
    h.commit(commit("old", ops)).await.unwrap();
}

/// What is pending and in the history of checkpoint 2, by get and by list.
async fn check_thread(h: &Harness, thread: &str) {
    let found = h.found(thread, "", None, &["m"]).await;
    let view = found.view.unwrap();
    assert_eq!(writes(&view), PENDING, "{thread}");
    assert_eq!(replay_view(&view, &found.chain, "m"), HISTORY, "{thread}");
    let query = ListQuery {
        thread_id: Some(thread_id(thread)),
        history_channels: Some(vec!["m".into()]),
        ..everything()
    };
    let page = h.list(query).await;
    for view in &page.views {
        assert_eq!(writes(view), PENDING, "{thread}");
    }
    assert_eq!(replay_view(&page.views[0], &page.chain, "m"), HISTORY, "{thread}");
}

async fn check_sends(h: &Harness, thread: &str) {
    let head = h.latest(thread).await.unwrap();
    assert_eq!(head.pending_sends.iter().map(text).collect::<Vec<_>>(), SENDS, "{thread}");
}

async fn check_everywhere(h: Harness) {
    populate(&h).await;
    check_thread(&h, "t").await;
    assert_eq!(replay(&h.history("2", &["m"]).await, "m"), HISTORY);
    check_sends(&h, "old").await;
    for (from, to) in [("t", "copy"), ("old", "old copy")] {
        h.storage.copy_thread(&h.caller, &copying(from, to)).await.unwrap();
    }
    let desk = Desk::on(&h).await;
    desk.taken(&h, "s", &["t", "old"]).await;
    desk.restore(&h.caller, &into("s", &[("t", "restored"), ("old", "old restored")]))
        .await
        .unwrap();
    let there = other_engine(&h).await;
    imported(&there, &exported(&h).await).await;
    for h in [&h, &there] {
        for thread in ["t", "copy", "restored"] {
            check_thread(h, thread).await;
        }
        for thread in ["old", "old copy", "old restored"] {
            check_sends(h, thread).await;
        }
    }
    // Their ancestors are gone: a base has the history now, and the sends.
    for h in [&h, &there] {
        let threads = ["t", "copy", "restored", "old", "old copy", "old restored"];
        h.storage.prune_threads(&h.caller, &pruning(&threads, Rule::KEEP_LATEST)).await.unwrap();
        for thread in &threads[..3] {
            check_thread(h, thread).await;
        }
        for thread in &threads[3..] {
            check_sends(h, thread).await;
        }
        check_sound(h).await;
    }
}

pub async fn paths_of_64_kib_order_writes_wherever_they_are_read(h: Harness) {
    check_everywhere(h).await;
}

pub async fn paths_of_64_kib_order_writes_where_values_are_encrypted(h: Harness) {
    check_everywhere(h.encrypting(None).await).await;
}

pub async fn a_longer_path_is_refused_with_field_and_limit(h: Harness) {
    let refused = |error: Error| match error {
        Error::Invalid { field, limit, .. } => (field, limit),
        other => panic!("{other}"),
    };
    let longer = TaskPath::new(common() + "12").unwrap_err();
    assert_eq!(refused(longer), ("task_path".into(), Some(65_536)));
    // Every write stores its path, so what they take together has a limit of its own.
    let many = |count: i32| {
        let group = Writes::new("1", "t").path(&(common() + "1"));
        commit("t", vec![(0..count).fold(group, |group, idx| group.write(idx, "m", "w")).op()])
    };
    let error = many(257).check().unwrap_err();
    assert_eq!(refused(error), ("task_path".into(), Some(16 << 20)));
    let whole = many(256);
    whole.check().unwrap();
    h.commit(whole).await.unwrap();
    h.put(Put::new("1")).await;
    assert_eq!(h.get("1").await.writes.len(), 256);
}
