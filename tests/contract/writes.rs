//! Tests pending and delta writes.

use crate::commands::{Put, Writes};
use crate::harness::{Harness, commit, text, value, writes};

pub async fn writes_come_in_the_order_of_path_task_and_position(h: Harness) {
    h.put(Put::new("1")).await;
    h.write(Writes::new("1", "aaa").path("~2").write(0, "c", "1").write(-1, "__error__", "e"))
        .await;
    h.write(Writes::new("1", "zzz").path("~1").write(0, "c", "2")).await;
    h.write(Writes::new("1", "mmm").write(0, "c", "3").write(1, "c", "4")).await;
    h.write(Writes::new("1", "bbb").path("~1").write(10, "c", "6").write(9, "c", "5")).await;
    let expected =
        ["mmm:c=3", "mmm:c=4", "bbb:c=5", "bbb:c=6", "zzz:c=2", "aaa:__error__=e", "aaa:c=1"];
    assert_eq!(writes(&h.get("1").await), expected);
}

pub async fn the_first_ordinary_write_wins_and_the_special_ones_replace(h: Harness) {
    h.put(Put::new("1")).await;
    h.write(Writes::new("1", "t").write(0, "a", "first").write(-1, "__error__", "e1")).await;
    h.write(
        Writes::new("1", "t")
            .write(0, "a", "late")
            .write(-1, "__error__", "e2")
            .write(1, "b", "new"),
    )
    .await;
    assert_eq!(writes(&h.get("1").await), ["t:__error__=e2", "t:a=first", "t:b=new"]);
    h.check_counts("t").await;
}

pub async fn a_late_special_write_of_the_same_writer_is_ignored(h: Harness) {
    let write = |seq, data: &str| Writes::new("1", "t").seq(seq).write(-3, "__interrupt__", data);
    h.write(write(5, "five")).await;
    h.write(write(4, "four")).await;
    assert_eq!(h.found("t", "", None, &[]).await.view, None);
    h.put(Put::new("1")).await;
    assert_eq!(writes(&h.get("1").await), ["t:__interrupt__=five"]);
    h.write(write(5, "five again")).await;
    assert_eq!(writes(&h.get("1").await), ["t:__interrupt__=five again"]);
    let mut other = commit("t", vec![write(1, "other").op()]);
    other.writer = threadkeep::domain::names::Writer::new("w2").unwrap();
    h.commit(other).await.unwrap();
    assert_eq!(writes(&h.get("1").await), ["t:__interrupt__=other"]);
}

pub async fn writes_may_arrive_before_their_checkpoint(h: Harness) {
    h.write(Writes::new("2", "task").write(0, "a", "early")).await;
    h.write(Writes::new("2", "task").ns("child").write(0, "a", "child")).await;
    assert!(h.latest("t").await.is_none());
    h.put(Put::new("1")).await;
    h.put(Put::new("2").parent("1")).await;
    assert_eq!(writes(&h.get("2").await), ["task:a=early"]);
    assert!(h.get("1").await.writes.is_empty());
    h.put(Put::new("2").ns("child")).await;
    assert_eq!(writes(&h.found("t", "child", None, &[]).await.view.unwrap()), ["task:a=child"]);
}

pub async fn large_writes_come_back_and_a_retry_adds_nothing(h: Harness) {
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    let group = Writes::new("1", "t").write(0, "a", &large).write(-4, "__resume__", &large);
    h.put(Put::new("1")).await;
    h.write(group.clone()).await;
    let manifests = h.count("select count(*) from manifests").await;
    for _ in 0..3 {
        h.write(group.clone()).await;
    }
    let view = h.get("1").await;
    assert_eq!(view.writes.len(), 2);
    assert!(view.writes.iter().all(|it| text(&it.value) == large));
    assert_eq!(h.count("select count(*) from manifests").await, manifests);
    h.check_counts("t").await;
    h.write(Writes::new("1", "t").write(-4, "__resume__", "small")).await;
    assert_eq!(text(&h.get("1").await.writes[0].value), "small");
    h.check_counts("t").await;
    h.write(group).await;
    assert_eq!(text(&h.get("1").await.writes[0].value), large);
    h.check_counts("t").await;
}

pub async fn an_old_checkpoint_shows_its_parents_pending_sends(h: Harness) {
    h.put(Put::new("1").format(1)).await;
    let sends =
        Writes::new("1", "task-2").write_value(0, "__pregel_tasks", value("json", "send-3"));
    h.write(sends).await;
    let sends =
        Writes::new("1", "task-1").write(0, "__pregel_tasks", "send-1").write(1, "other", "x");
    h.write(sends.write(2, "__pregel_tasks", "send-2")).await;
    h.put(Put::new("2").parent("1").format(1)).await;
    h.put(Put::new("3").parent("1").format(4)).await;
    let sends: Vec<String> = h.get("2").await.pending_sends.iter().map(text).collect();
    assert_eq!(sends, ["send-1", "send-2", "send-3"]);
    assert!(h.get("3").await.pending_sends.is_empty());
    let parent = h.get("1").await;
    assert!(parent.pending_sends.is_empty());
    assert_eq!(parent.writes.len(), 4);
}
