//! Tests branches, copies, prunes and deletes in random order. Every checkpoint that survives reads back exactly, and when everything is
//! deleted nothing is left.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::doctor::{Noun, State, Tally};
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};

use crate::commands::{Put, Writes};
use crate::content::{check_empty, list};
use crate::doctor::examine;
use crate::harness::{Harness, commit, pruning, text, thread_id, values};
use crate::packs::{check_all_gone, later, with_store};
use crate::quotas::check_usage;

/// Sequences tried, and steps in each.
fn sizes() -> (u32, usize) {
    let named = |name: &str| std::env::var(name).ok().and_then(|it| it.parse().ok());
    (
        named("THREADKEEP_TEST_UPHEAVAL_ROUNDS").unwrap_or(6),
        named("THREADKEEP_TEST_UPHEAVAL_STEPS").map_or(40, |it: u32| it as usize),
    )
}

#[derive(Debug, Clone)]
enum Step {
    /// Grows the list of a checkpoint, or begins a branch with a list of its own.
    Put {
        thread: u8,
        on: u8,
        messages: u8,
        run: u8,
    },
    Write {
        thread: u8,
        on: u8,
        task: u8,
        messages: u8,
    },
    Copy {
        from: u8,
        to: u8,
    },
    Prune {
        thread: u8,
    },
    DeleteRun {
        run: u8,
    },
    Delete {
        thread: u8,
    },
    /// A round of the packer, when so many hours have passed.
    Pack {
        hours: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..3_u8;
    prop_oneof![
        12 => (thread.clone(), any::<u8>(), 0..40_u8, 0..4_u8)
            .prop_map(|(thread, on, messages, run)| Step::Put { thread, on, messages, run }),
        4 => (thread.clone(), any::<u8>(), 0..9_u8, 0..40_u8)
            .prop_map(|(thread, on, task, messages)| Step::Write { thread, on, task, messages }),
        3 => (thread.clone(), thread.clone()).prop_map(|(from, to)| Step::Copy { from, to }),
        2 => thread.clone().prop_map(|thread| Step::Prune { thread }),
        1 => (0..4_u8).prop_map(|run| Step::DeleteRun { run }),
        1 => thread.prop_map(|thread| Step::Delete { thread }),
    ]
}

fn step_with_packer() -> impl Strategy<Value = Step> {
    prop_oneof![
        24 => step(),
        4 => (2..30_u8).prop_map(|hours| Step::Pack { hours }),
    ]
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Row {
    messages: u8,
    run: u8,
    /// task → messages of its write
    writes: BTreeMap<String, u8>,
}

/// thread → checkpoint id → what it shows
type Model = BTreeMap<u8, BTreeMap<String, Row>>;

fn name(thread: u8) -> String {
    format!("thread {thread}")
}

async fn take(h: &Harness, model: &mut Model, count: &mut u32, step: &Step) {
    match step {
        Step::Put { thread, on, messages, run } => {
            *count += 1;
            let id = format!("{count:05}");
            let rows = model.entry(*thread).or_default();
            let parent = rows.keys().nth(usize::from(*on) % rows.len().max(1)).cloned();
            // Mostly the parent's list and one more message, else another branch's.
            let grown = parent.as_ref().filter(|_| on % 3 != 0).map(|it| rows[it].messages + 1);
            let messages = grown.filter(|it| *it < 60).unwrap_or(*messages);
            let mut put = Put::new(&id).metadata(&format!(r#"{{"run_id":"{run}"}}"#));
            put = put.sets("m", &count.to_string(), &list(usize::from(messages)));
            if let Some(parent) = &parent {
                put = put.parent(parent);
            }
            h.commit(commit(&name(*thread), vec![put.op()])).await.unwrap();
            rows.insert(id, Row { messages, run: *run, writes: BTreeMap::new() });
        }
        Step::Write { thread, on, task, messages } => {
            let Some(rows) = model.get_mut(thread) else { return };
            let at = usize::from(*on) % rows.len().max(1);
            let Some((id, row)) = rows.iter_mut().nth(at) else { return };
            let group =
                Writes::new(id, &task.to_string()).write(0, "m", &list(usize::from(*messages)));
            h.commit(commit(&name(*thread), vec![group.op()])).await.unwrap();
            row.writes.entry(task.to_string()).or_insert(*messages);
        }
        Step::Copy { from, to } => {
            let occupied = model.get(to).is_some_and(|rows| !rows.is_empty());
            let request = CopyThread {
                source: thread_id(&name(*from)),
                target: thread_id(&name(*to)),
                idempotency: None,
                full: None,
            };
            let copied = h.storage.copy_thread(&h.caller, &request).await;
            match model.get(from).cloned() {
                Some(_) if occupied => assert!(copied.is_err()),
                Some(rows) => {
                    assert_eq!(copied.unwrap(), rows.len() as u64);
                    model.insert(*to, rows);
                }
                None => assert_eq!(copied.unwrap(), 0),
            }
        }
        Step::Prune { thread } => {
            let request = pruning(&[&name(*thread)], Rule::KEEP_LATEST);
            h.storage.prune_threads(&h.caller, &request).await.unwrap();
            if let Some(rows) = model.get_mut(thread) {
                *rows = rows.pop_last().into_iter().collect();
            }
        }
        Step::DeleteRun { run } => {
            h.storage.delete_for_runs(&h.caller, &[run.to_string()]).await.unwrap();
            for rows in model.values_mut() {
                rows.retain(|_, row| row.run != *run);
            }
        }
        Step::Delete { thread } => {
            delete(h, *thread).await;
            model.remove(thread);
        }
        Step::Pack { hours } => {
            h.storage.move_content(later(i64::from(*hours))).await.unwrap();
        }
    }
}

async fn delete(h: &Harness, thread: u8) {
    let request =
        DeleteThread { thread_id: thread_id(&name(thread)), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
}

async fn compare(h: &Harness, model: &Model, taken: &[Step]) {
    for thread in 0..3 {
        let found = h.all(&name(thread)).await.into_iter().map(|view| {
            let length = |text: &str| text.matches("\"type\"").count();
            let shown = values(&view)["m"].clone();
            assert_eq!(shown, list(length(&shown)), "{taken:?}");
            let writes = view.writes.iter().map(|write| {
                let data = text(&write.value);
                assert_eq!(data, list(length(&data)), "{taken:?}");
                (write.task_id.clone(), u8::try_from(length(&data)).unwrap())
            });
            (view.id.clone(), (u8::try_from(length(&shown)).unwrap(), writes.collect()))
        });
        let found: BTreeMap<String, (u8, BTreeMap<String, u8>)> = found.collect();
        let rows = model.get(&thread).cloned().unwrap_or_default();
        let expected = rows.into_iter().map(|(id, row)| (id, (row.messages, row.writes))).collect();
        assert_eq!(found, expected, "thread {thread} after {taken:?}");
    }
}

/// A write that came second leaves chunks that nothing names: orphans, which a repair removes, and nothing else.
async fn check_examination(h: &Harness, taken: &[Step]) {
    let found = examine(h, true).await;
    let bad = |(state, noun, _): &(State, Noun, Tally)| match state {
        State::Checked => false,
        State::Repaired => *noun != Noun::Chunks,
        _ => true,
    };
    assert_eq!(found.counts().find(bad), None, "{found:?} after {taken:?}");
    let after = examine(h, false).await;
    assert!(after.counts().all(|(state, _, _)| state == State::Checked), "{after:?}");
}

pub async fn what_survives_reads_back_and_nothing_is_left_in_the_end(h: Harness) {
    run(&h, step().boxed()).await;
}

/// With an object store, into which content moves all the time.
pub async fn what_survives_reads_back_from_packs_too(h: Harness) {
    let (h, store) = with_store(h).await;
    run(&h, step_with_packer().boxed()).await;
    check_all_gone(&h, &store).await;
    assert!(store.gets.load(SeqCst) > 50, "packs were read");
}

async fn run(h: &Harness, step: BoxedStrategy<Step>) {
    let (rounds, steps) = sizes();
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    for _ in 0..rounds {
        let sequence =
            prop::collection::vec(step.clone(), steps).new_tree(&mut runner).unwrap().current();
        let (mut model, mut count) = (Model::new(), 0);
        for (at, step) in sequence.iter().enumerate() {
            take(h, &mut model, &mut count, step).await;
            if at % 10 == 9 {
                compare(h, &model, &sequence[..=at]).await;
                assert_eq!(h.storage.check_moved_content().await.unwrap(), Vec::<String>::new());
            }
        }
        compare(h, &model, &sequence).await;
        check_usage(h).await;
        check_examination(h, &sequence).await;
        compare(h, &model, &sequence).await;
        for thread in 0..3 {
            delete(h, thread).await;
        }
        // What a copy found in the way of its target is left to the sweep.
        h.storage.sweep(later(2)).await.unwrap();
        check_empty(h).await;
        assert_eq!(h.storage.check_moved_content().await.unwrap(), Vec::<String>::new());
    }
}
