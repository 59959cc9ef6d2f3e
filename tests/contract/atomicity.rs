//! Tests that many callers at once lose nothing and keep the order of a thread's commits.

use std::sync::Arc;

use crate::commands::{Put, Writes};
use crate::harness::{Harness, caller_of, commit, target, values, writes};

pub async fn many_tasks_on_many_threads_lose_nothing(h: Harness) {
    let h = Arc::new(h);
    let tasks = (0..24_usize).map(|task| {
        let h = Arc::clone(&h);
        tokio::spawn(async move {
            // Three tasks share a thread, each with its own ids.
            let thread = format!("thread-{}", task / 3);
            for step in 0..12 {
                let id = format!("{step:03}-{task}");
                let data = format!("{task}:{step}");
                let mut put = Put::new(&id).sets("a", &format!("{data:?}"), &data);
                if step > 0 {
                    put = put.parent(&format!("{:03}-{task}", step - 1)).carries("first", "0");
                } else {
                    put = put.sets("first", "0", &data);
                }
                let write = Writes::new(&id, "task").write(0, "a", &data);
                let (a, b) = tokio::join!(
                    h.commit(commit(&thread, vec![put.op()])),
                    h.commit(commit(&thread, vec![write.op()]))
                );
                a.and(b).unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for thread in 0..8 {
        let views = h.all(&format!("thread-{thread}")).await;
        assert_eq!(views.len(), 36);
        for view in &views {
            let (step, task) = view.id.split_once('-').unwrap();
            let data = format!("{task}:{}", step.parse::<u32>().unwrap());
            assert_eq!(values(view)["a"], data);
            assert!(values(view).contains_key("first"));
            assert_eq!(writes(view), [format!("task:a={data}")]);
        }
        h.check_counts(&format!("thread-{thread}")).await;
    }
}

pub async fn commits_of_one_thread_keep_their_order(h: Harness) {
    let mut waiting = Vec::new();
    for step in 0..60 {
        let put = Put::new("1").metadata(&format!(r#"{{"step":{step}}}"#)).sets(
            "a",
            "1",
            &step.to_string(),
        );
        waiting.push(h.prepare(commit("t", vec![put.op()])).await);
    }
    let answers = futures::future::join_all(waiting.into_iter().map(|it| h.queue.commit(it))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(values(&h.get("1").await)["a"], "59");
}

pub async fn many_callers_may_meet_a_new_tenant_at_once(h: Harness) {
    for round in 0..10 {
        let tenant = caller_of(&format!("new-{round}"));
        let reads = (0..16).map(|_| async {
            h.storage.get_checkpoint(&tenant, &target("t", "", None), &[]).await
        });
        let found = futures::future::join_all(reads).await;
        assert!(found.iter().all(Result::is_ok), "{found:?}");
    }
}
