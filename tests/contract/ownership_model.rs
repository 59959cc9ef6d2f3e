//! Tests ownership against a model: two subjects, the tenant and tokens work on the same few ids in random order.
//! The model predicts the threads that each caller sees. No caller ever sees a foreign thread.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::caller::Caller;
use threadkeep::domain::threads::retention::{Pruned, Rule};
use threadkeep::domain::threads::thread::{ThreadQuery, ThreadSort};
use threadkeep::domain::tokens::grants::{Access, Action, Actions, Reach};
use threadkeep::domain::{Conflict, Error, Result};

use crate::conditions::expire_leases;
use crate::granted_callers::{Desk, exact, owned, prefix, subject, tenant, with};
use crate::harness::{Harness, pruning};

const THREADS: [&str; 6] = ["a:1", "a:2", "a-1", "a", "%", "b"];

fn callers() -> Vec<Caller> {
    let mut both = with("both", vec![owned(Actions::READ), exact("a:1", Actions::APPEND)]);
    both.subject = Some("ann".into());
    vec![
        subject("ann"),
        subject("bob"),
        tenant(),
        with("below", vec![prefix("a:", Actions::ALL)]),
        with("one", vec![exact("a", Actions::ALL), exact("%", Actions::READ)]),
        both,
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Put,
    Acquire,
    Copy(usize),
    Prune,
    Delete,
    DeleteRuns(usize),
    Look,
}

/// Who does what, where.
fn step() -> impl Strategy<Value = (usize, usize, Step)> {
    let step = prop_oneof![
        6 => Just(Step::Put),
        1 => Just(Step::Acquire),
        2 => (0..THREADS.len()).prop_map(Step::Copy),
        1 => Just(Step::Prune),
        2 => Just(Step::Delete),
        1 => (0..callers().len()).prop_map(Step::DeleteRuns),
        5 => Just(Step::Look),
    ];
    (0..callers().len(), 0..THREADS.len(), step)
}

#[derive(Debug, Clone, Default)]
struct Modelled {
    owner: Option<String>,
    /// Checkpoint id → whose run made it.
    checkpoints: BTreeMap<String, String>,
}

type Model = BTreeMap<&'static str, Modelled>;

/// What a call should end with.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum End {
    Done,
    Absent,
    Taken,
    NotGranted,
    Exists,
}

fn end<T: std::fmt::Debug>(result: &Result<T>) -> End {
    match result {
        Ok(_) => End::Done,
        Err(Error::NotGranted(_)) => End::NotGranted,
        Err(Error::Conflict(Conflict::ThreadTaken)) => End::Taken,
        Err(Error::Conflict(Conflict::ThreadExists)) => End::Exists,
        other => panic!("{other:?}"),
    }
}

/// Of a thread as it is for this caller.
fn reach(model: &Model, caller: &Caller, thread: &str, action: Action) -> End {
    let found = model.get(thread);
    match caller.thread_access(thread, action) {
        Access::Denied => End::NotGranted,
        _ if found.is_none() => End::Absent,
        Access::IfOwnedBy(subject) if found.and_then(|it| it.owner.as_deref()) != Some(subject) => {
            End::Taken
        }
        _ => End::Done,
    }
}

struct World<'a> {
    h: &'a Harness,
    desk: Desk,
    callers: Vec<Caller>,
    model: Model,
    count: u32,
}

impl World<'_> {
    async fn take(&mut self, who: usize, at: usize, step: &Step) {
        let (caller, thread) = (self.callers[who].clone(), THREADS[at]);
        let to = |action| reach(&self.model, &caller, thread, action);
        match step {
            Step::Put => {
                let expected =
                    if to(Action::Append) == End::Absent { End::Done } else { to(Action::Append) };
                self.count += 1;
                let id = format!("{:05}", self.count);
                assert_eq!(end(&self.desk.put(&caller, thread, &id).await), expected);
                if expected == End::Done {
                    self.made(&caller, thread).checkpoints.insert(id, caller.credential.clone());
                }
            }
            Step::Acquire => {
                let expected =
                    if to(Action::Append) == End::Absent { End::Done } else { to(Action::Append) };
                assert_eq!(end(&self.desk.acquire(&caller, thread).await), expected);
                if expected == End::Done {
                    self.made(&caller, thread);
                }
                expire_leases(self.h).await;
            }
            Step::Copy(target) => self.copy(&caller, thread, THREADS[*target]).await,
            Step::Prune => {
                let request = pruning(&[thread], Rule::KEEP_LATEST);
                let refused = to(Action::Write) == End::NotGranted;
                let is_done = to(Action::Write) == End::Done;
                let pruned = self.desk.prune(&caller, request).await;
                assert_eq!(end(&pruned) == End::NotGranted, refused);
                if let Some(found) = self.model.get_mut(thread).filter(|_| is_done) {
                    let last = found.checkpoints.pop_last();
                    let gone = i64::try_from(found.checkpoints.len()).unwrap();
                    found.checkpoints = last.into_iter().collect();
                    assert_eq!(pruned.unwrap()[0].removed.checkpoints, gone);
                } else if !refused {
                    assert_eq!(pruned.unwrap()[0], Pruned::default());
                }
            }
            Step::Delete => {
                let deleted = self.desk.delete(&caller, thread).await;
                match to(Action::Write) {
                    End::NotGranted => assert_eq!(end(&deleted), End::NotGranted),
                    expected => assert_eq!(deleted.unwrap(), expected == End::Done),
                }
                if to(Action::Write) == End::Done {
                    self.model.remove(thread);
                }
            }
            Step::DeleteRuns(of) => {
                let run = self.callers[*of].credential.clone();
                self.delete_runs(&caller, &run).await;
            }
            Step::Look => self.look(&caller).await,
        }
    }

    fn made(&mut self, caller: &Caller, thread: &'static str) -> &mut Modelled {
        let owner = caller.subject.clone();
        self.model.entry(thread).or_insert_with(|| Modelled { owner, ..Modelled::default() })
    }

    async fn copy(&mut self, caller: &Caller, source: &'static str, target: &'static str) {
        let copied = self.desk.copy(caller, source, target).await;
        let into = reach(&self.model, caller, target, Action::Append);
        if into == End::NotGranted {
            return assert_eq!(end(&copied), End::NotGranted);
        }
        if reach(&self.model, caller, source, Action::Read) != End::Done {
            return assert_eq!(copied.unwrap(), 0, "there is no such source for this caller");
        }
        let rows = self.model[source].checkpoints.clone();
        match into {
            End::Taken => assert_eq!(end(&copied), End::Taken),
            End::Done if !self.model[target].checkpoints.is_empty() => {
                assert_eq!(end(&copied), End::Exists);
            }
            _ => {
                assert_eq!(copied.unwrap(), rows.len() as u64);
                self.made(caller, target).checkpoints = rows;
            }
        }
    }

    async fn delete_runs(&mut self, caller: &Caller, run: &str) {
        let deleted = self.desk.delete_runs(caller, run).await;
        if deleted.is_err() {
            assert_eq!(end(&deleted), End::NotGranted);
            return assert!(
                THREADS
                    .iter()
                    .all(|it| { reach(&self.model, caller, it, Action::Write) == End::NotGranted })
            );
        }
        for thread in THREADS {
            if reach(&self.model, caller, thread, Action::Write) == End::Done {
                let found = self.model.get_mut(thread).unwrap();
                found.checkpoints.retain(|_, of| of != run);
            }
        }
    }

    /// Everything that the caller can see is what the model says.
    async fn look(&self, caller: &Caller) {
        let mut expected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for thread in THREADS {
            let is_seen = reach(&self.model, caller, thread, Action::Read) == End::Done;
            let found = self.model.get(thread).filter(|_| is_seen);
            let latest = found.and_then(|it| it.checkpoints.keys().last().cloned());
            let shown = self.desk.thread(caller, thread).await;
            assert_eq!(shown.is_some(), is_seen, "{thread} for {}", caller.credential);
            if let Some(found) = found {
                assert_eq!(shown.unwrap().owner, found.owner);
                expected.insert(thread, found.checkpoints.keys().cloned().collect());
            }
            let place = crate::harness::target(thread, "", None);
            let (found, _) = self.desk.checkpoints.get(caller, &place, &[], None).await.unwrap();
            assert_eq!((found.generation.is_some(), found.view.map(|it| it.id)), (is_seen, latest));
        }
        let query = ThreadQuery {
            limit: 2,
            sort: ThreadSort::ThreadId,
            ascending: true,
            ..Default::default()
        };
        let Ok(threads) = self.desk.listed(caller, &query).await else {
            let reach = caller.reach_threads(Action::Read);
            return assert!(
                !reach.everything && reach.owner.is_none() && reach.prefixes.is_empty()
            );
        };
        assert!(threads.iter().eq(expected.keys()), "{threads:?} and {expected:?}");
        let mut shown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let all = self.desk.all(caller, 3).await.unwrap();
        all.iter().rev().for_each(|(id, thread)| shown.entry(thread).or_default().push(id.clone()));
        expected.retain(|_, rows| !rows.is_empty());
        assert_eq!(shown, expected);
    }
}

pub async fn nobody_sees_what_is_anothers(h: Harness) {
    let steps = std::env::var("THREADKEEP_TEST_UPHEAVAL_STEPS");
    let steps: usize = steps.ok().and_then(|it| it.parse().ok()).unwrap_or(250);
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let sequence = prop::collection::vec(step(), steps).new_tree(&mut runner).unwrap().current();
    let mut world = World {
        h: &h,
        desk: Desk::on(&h.storage).await,
        callers: callers(),
        model: Model::new(),
        count: 0,
    };
    for (who, at, step) in &sequence {
        world.take(*who, *at, step).await;
    }
    for caller in &world.callers {
        // A token with nothing to read is refused as a whole.
        if caller.reach_threads(Action::Read) != Reach::default() {
            world.look(caller).await;
        }
    }
}
