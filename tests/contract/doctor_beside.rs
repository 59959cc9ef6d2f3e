//! Tests examinations beside other work: commits, prunes, copies and deletions are never taken for damage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use threadkeep::domain::doctor::State;
use threadkeep::domain::threads::retention::{PruneRequest, Rule};
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};

use crate::commands::{Put, Writes};
use crate::content::list;
use crate::doctor::examine;
use crate::harness::{Harness, commit, thread_id};

/// Writers go on beside the examination, and after a repair whoever wrote before writes on.
pub async fn work_beside_an_examination_is_never_damage(h: Harness) {
    let (h, done) = (Arc::new(h), Arc::new(AtomicBool::new(false)));
    let work = |thread: &'static str, seed: usize| {
        let (h, done) = (Arc::clone(&h), Arc::clone(&done));
        tokio::spawn(async move {
            let mut text = list(seed);
            let copy = format!("{thread} copied");
            for step in 1..60_u32 {
                text += &format!("message {step}");
                let id = format!("{step:03}");
                let put = Put::new(&id).parent(&format!("{:03}", step - 1));
                let put = put.sets("m", &step.to_string(), &text);
                let write = Writes::new(&id, "t").write(0, "m", &text);
                h.commit(commit(thread, vec![put.op(), write.op()])).await.unwrap();
                let ids = [thread_id(thread)];
                if step % 7 == 0 {
                    let rule = Rule::KEEP_LATEST;
                    let request = PruneRequest { thread_ids: ids.into(), rule, dry_run: false };
                    h.storage.prune_threads(&h.caller, &request).await.unwrap();
                }
                if step % 10 == 0 {
                    let (source, target) = (thread_id(thread), thread_id(&copy));
                    let request = CopyThread { source, target, idempotency: None, full: None };
                    h.storage.copy_thread(&h.caller, &request).await.unwrap();
                }
                if step % 10 == 3 {
                    let request =
                        DeleteThread { thread_id: thread_id(&copy), generation: None, fence: None };
                    h.storage.delete_thread(&h.caller, &request).await.unwrap();
                }
            }
            done.store(true, Relaxed);
        })
    };
    let workers = [work("a", 20), work("b", 30)];
    let mut examined = 0;
    while !done.load(Relaxed) {
        let report = examine(&h, examined % 2 == 1).await;
        assert!(report.is_sound(), "{report:?}");
        examined += 1;
    }
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(examined > 1);
    let report = examine(&h, false).await;
    assert!(report.counts().all(|(state, _, _)| state == State::Checked), "{report:?}");
}
