//! Tests that no append is lost among many small ones of many callers, together and one by one. It prints how many there were per second;
//! for figures run `THREADKEEP_TEST_SESSION_APPENDS=30 cargo test --release --test contract session_speed -- --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use threadkeep::domain::clock::Clock;
use threadkeep::domain::sessions::change::Change;
use threadkeep::domain::sessions::ledger::{Batch, Outcome};

use crate::harness::{Harness, NEVER};
use crate::session_calls::{Desk, append, entry, name};

const CALLERS: usize = 64;
const SESSIONS: usize = 8;
const APPENDS_DEFAULT: usize = 2;
const ENVELOPE: &str = r#"{"id":"b6c1","timestamp":"2026-01-31T12:00:00Z","sequence":7,"source":"runtime","event":{"type":"tool.before","tool":"search","input":{"query":"tea"}}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite() {
    measure(Harness::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    measure(Harness::postgres().await).await;
}

async fn measure(harness: Harness) {
    let named = std::env::var("THREADKEEP_TEST_SESSION_APPENDS");
    let appends = named.ok().and_then(|it| it.parse().ok()).unwrap_or(APPENDS_DEFAULT);
    let desk = Arc::new(Desk::on(&harness).await);
    for queued in [true, false] {
        let began = Instant::now();
        let tasks = (0..CALLERS).map(|caller| {
            let (desk, storage) = (Arc::clone(&desk), Arc::clone(&harness.storage));
            let session = name(&["speed", &format!("{queued} {}", caller % SESSIONS)]);
            tokio::spawn(async move {
                for at in 0..appends {
                    let id = format!("{caller} {at}");
                    let steps = vec![append("trace", vec![entry(Some(&id), ENVELOPE)])];
                    if queued {
                        desk.change(&session, steps).await.unwrap();
                        continue;
                    }
                    // Past the queue: a transaction for each.
                    let change = Change { session: session.clone(), about: None, steps };
                    let write = async || {
                        let change = change.clone();
                        let prepared = storage.prepare_session(&desk.caller, change, None, NEVER);
                        let batch = Batch::new(vec![prepared.await.unwrap()], Clock::System.now());
                        storage.write_sessions(&batch).await
                    };
                    // One that another's first append has overtaken is prepared again, as the queue does it.
                    while !matches!(write().await.as_deref(), Ok([Outcome::Done(_)])) {}
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let per_second = (CALLERS * appends) as f64 / began.elapsed().as_secs_f64();
        for number in 0..SESSIONS {
            let session = name(&["speed", &format!("{queued} {number}")]);
            assert_eq!(desk.texts(&session, "trace").await.len(), CALLERS / SESSIONS * appends);
        }
        println!("{} queued={queued}: {per_second:.0} appends per second", harness.storage.name());
    }
}
