//! Tests that the kept part of a pruned thread shows what it showed before.

use threadkeep::domain::Conflict;
use threadkeep::domain::threads::retention::Rule;

use crate::commands::{Put, Writes};
use crate::conditions::lease;
use crate::delta::{chain, counting, id, replay_view};
use crate::harness::{Harness, commit, conflict, pruning, text, thread_id, values, writes};

async fn prune(h: &Harness, threads: &[&str], rule: Rule) {
    h.storage.prune_threads(&h.caller, &pruning(threads, rule)).await.unwrap();
}

async fn replay_head(h: &Harness, thread: &str) -> String {
    let found = h.found(thread, "", None, &["m"]).await;
    replay_view(&found.view.unwrap(), &found.chain, "m")
}

pub async fn pruning_keeps_the_latest_of_each_namespace(h: Harness) {
    let large: String = (0..5_000).map(|it| it.to_string()).collect();
    for thread in ["t", "u", "other"] {
        let ops = vec![
            Put::new("1").sets("a", "1", &large).sets("b", "1", "old").op(),
            Put::new("2").parent("1").carries("a", "1").sets("b", "2", "new").op(),
            Put::new("3").parent("2").carries("a", "1").carries("b", "2").op(),
            Writes::new("2", "t").write(0, "b", "gone").op(),
            Writes::new("3", "t").write(0, "b", "stays").op(),
            Put::new("1").ns("memory").sets("a", "1", "child").op(),
            Put::new("2").ns("memory").parent("1").carries("a", "1").op(),
        ];
        h.commit(commit(thread, ops)).await.unwrap();
    }
    let other = h.all("other").await;
    prune(&h, &["t", "unknown", "u"], Rule::KEEP_LATEST).await;
    prune(&h, &[], Rule::KEEP_LATEST).await;
    for thread in ["t", "u"] {
        let left = h.all(thread).await;
        assert_eq!(left.len(), 2);
        let head = h.latest(thread).await.unwrap();
        assert_eq!((head.id.as_str(), head.parent.as_deref()), ("3", None));
        assert_eq!(values(&head), [("a", large.clone()), ("b", "new".into())].into());
        assert_eq!(writes(&head), ["t:b=stays"]);
        let child = h.found(thread, "memory", None, &[]).await.view.unwrap();
        assert_eq!(values(&child), [("a", "child".into())].into());
        h.check_counts(thread).await;
    }
    assert_eq!(h.all("other").await, other);
    h.put(Put::new("4").parent("3").carries("a", "1")).await;
    assert_eq!(values(&h.get("4").await)["a"], large, "the thread goes on");
    assert_eq!(h.count("select count(*) from garbage").await, 0);
}

pub async fn pruning_keeps_the_histories_of_delta_channels(h: Harness) {
    chain(&h, "t", 40, &[3]).await;
    chain(&h, "unseeded", 10, &[]).await;
    let before = replay_head(&h, "t").await;
    assert!(before.starts_with("s3|w3,w4,") && before.ends_with(",w39"));
    let unseeded = replay_head(&h, "unseeded").await;
    prune(&h, &["t", "unseeded"], Rule::KEEP_LATEST).await;
    assert_eq!(h.all("t").await.len(), 1);
    assert_eq!(replay_head(&h, "t").await, before);
    assert_eq!(replay_head(&h, "unseeded").await, unseeded);
    h.check_counts("t").await;
    let put = Put::new("0041").parent("0040").metadata(&counting(&["m"])).empties("m", "41");
    h.put(put).await;
    assert_eq!(replay_head(&h, "t").await, format!("{before},w40"), "a child walks to the base");
    let found = h.history("0041", &["m"]).await;
    assert_eq!(found.chain.nodes.len(), 1);
}

pub async fn pruning_twice_keeps_bases(h: Harness) {
    chain(&h, "t", 6, &[2]).await;
    let before = replay_head(&h, "t").await;
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    assert_eq!(replay_head(&h, "t").await, before);
    for at in 7..10 {
        let put = Put::new(&id(at))
            .parent(&id(at - 1))
            .metadata(&counting(&["m"]))
            .empties("m", &at.to_string());
        let write = Writes::new(&id(at), "task").write(0, "m", &format!("w{at}"));
        h.commit(commit("t", vec![put.op(), write.op()])).await.unwrap();
    }
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    assert_eq!(replay_head(&h, "t").await, format!("{before},w6,w7,w8"));
    assert_eq!(h.all("t").await.len(), 1);
}

pub async fn a_subgraphs_call_goes_with_its_root(h: Harness) {
    let call = |ns: &str, root: &str| {
        Put::new("x").ns(ns).metadata(&format!(r#"{{"parents":{{"":"{root}"}}}}"#)).op()
    };
    let ops = vec![
        Put::new("1").op(),
        Put::new("2").parent("1").op(),
        call("n:old", "1"),
        call("n:new", "2"),
        call("n:early", "3"),
        call("memory", "1"),
        Writes::new("x", "t").ns("n:old").write(0, "a", "w").op(),
        Writes::new("y", "t").ns("n:old").write(0, "a", "w").op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    let mut left: Vec<String> = h.all("t").await.into_iter().map(|it| it.ns).collect();
    left.sort();
    assert_eq!(left, ["", "memory", "n:early", "n:new"]);
    assert_eq!(h.count("select count(*) from writes").await, 0);
    h.check_counts("t").await;
}

pub async fn an_old_head_keeps_its_pending_sends(h: Harness) {
    h.put(Put::new("1").format(1)).await;
    h.write(Writes::new("1", "b").write(0, "__pregel_tasks", "second").write(1, "x", "y")).await;
    h.write(Writes::new("1", "a").write(0, "__pregel_tasks", "first")).await;
    h.put(Put::new("2").parent("1").format(1)).await;
    let before = h.get("2").await.pending_sends;
    assert_eq!(before.iter().map(text).collect::<Vec<_>>(), ["first", "second"]);
    for _ in 0..2 {
        prune(&h, &["t"], Rule::KEEP_LATEST).await;
        let head = h.get("2").await;
        assert_eq!((head.parent, head.pending_sends), (None, before.clone()));
        assert!(head.bases.is_empty());
    }
    assert_eq!(h.all("t").await[0].pending_sends, before);
}

pub async fn early_writes_stay_and_stray_ones_go(h: Harness) {
    h.put(Put::new("1")).await;
    h.put(Put::new("5").parent("1")).await;
    h.write(Writes::new("3", "t").write(0, "a", "stray")).await;
    h.write(Writes::new("7", "t").write(0, "a", "early")).await;
    h.write(Writes::new("1", "t").ns("no checkpoint yet").write(0, "a", "early")).await;
    prune(&h, &["t"], Rule::KEEP_LATEST).await;
    h.put(Put::new("3")).await;
    h.put(Put::new("7").parent("5")).await;
    h.put(Put::new("1").ns("no checkpoint yet")).await;
    assert!(h.get("3").await.writes.is_empty());
    assert_eq!(writes(&h.get("7").await), ["t:a=early"]);
    let other = h.found("t", "no checkpoint yet", None, &[]).await.view.unwrap();
    assert_eq!(writes(&other), ["t:a=early"]);
    h.check_counts("t").await;
}

pub async fn pruning_at_the_same_time_is_no_error(h: Harness) {
    chain(&h, "t", 30, &[]).await;
    let before = replay_head(&h, "t").await;
    let request = pruning(&["t"], Rule::KEEP_LATEST);
    let prune = || h.storage.prune_threads(&h.caller, &request);
    let (a, b, c) = tokio::join!(prune(), prune(), prune());
    a.and(b).and(c).unwrap();
    assert_eq!(h.all("t").await.len(), 1);
    assert_eq!(replay_head(&h, "t").await, before);
    h.check_counts("t").await;
}

pub async fn pruning_with_delete_removes_the_thread(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    chain(&h, "u", 3, &[]).await;
    prune(&h, &["t", "unknown"], Rule::DELETE).await;
    assert!(h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().is_none());
    assert_eq!(h.all("u").await.len(), 3);
}

pub async fn pruning_a_leased_thread_is_refused(h: Harness) {
    chain(&h, "t", 3, &[]).await;
    lease(&h, "me").await;
    for rule in [Rule::KEEP_LATEST, Rule::DELETE] {
        let refused = h.storage.prune_threads(&h.caller, &pruning(&["t"], rule)).await;
        assert_eq!(conflict(refused), Conflict::LeaseHeld);
    }
    assert_eq!(h.all("t").await.len(), 3);
}
