//! Tests restores of snapshots after random histories: the result is the moment of the snapshot, and nothing else changed.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::sessions::change::Step as Change;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::snapshots::{History, Snapshot};
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;

use crate::commands::{Put, Writes};
use crate::content::list;
use crate::delta::counting;
use crate::granted_callers::copying;
use crate::harness::{Harness, commit, pruning, thread_id};
use crate::session_calls::{self as sessions, append, entry, name, put};
use crate::snapshot_calls::{Desk, check_sound, in_place, into, of, seen};
use crate::store::{Store, namespace, search, text};

const THREADS: [&str; 3] = ["t0", "t1", "t2"];

#[derive(Debug, Clone)]
enum Step {
    /// A checkpoint on another one; the delta channel `m` with or without a value.
    Put {
        thread: u8,
        on: u8,
        size: u8,
        snapshot: bool,
    },
    Write {
        thread: u8,
        on: u8,
        size: u8,
    },
    Prune {
        thread: u8,
        keep: u8,
    },
    Delete {
        thread: u8,
    },
    DeleteRun {
        run: u8,
    },
    Copy {
        from: u8,
        to: u8,
    },
    PutItem {
        root: u8,
        key: u8,
        size: u8,
    },
    DeleteItem {
        root: u8,
        key: u8,
    },
    Append {
        session: u8,
        size: u8,
    },
    Document {
        session: u8,
        size: u8,
    },
    Count {
        session: u8,
        by: u8,
    },
    DeleteSession {
        session: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (thread, on, size) = (0..3_u8, 0..8_u8, 0..40_u8);
    prop_oneof![
        6 => (thread.clone(), on.clone(), size.clone(), prop::bool::ANY)
            .prop_map(|(thread, on, size, snapshot)| Step::Put { thread, on, size, snapshot }),
        3 => (thread.clone(), on, size.clone())
            .prop_map(|(thread, on, size)| Step::Write { thread, on, size }),
        1 => (thread.clone(), 1..3_u8).prop_map(|(thread, keep)| Step::Prune { thread, keep }),
        1 => thread.clone().prop_map(|thread| Step::Delete { thread }),
        1 => (0..4_u8).prop_map(|run| Step::DeleteRun { run }),
        1 => (thread.clone(), thread).prop_map(|(from, to)| Step::Copy { from, to }),
        4 => (0..2_u8, 0..4_u8, size.clone())
            .prop_map(|(root, key, size)| Step::PutItem { root, key, size }),
        2 => (0..2_u8, 0..4_u8).prop_map(|(root, key)| Step::DeleteItem { root, key }),
        3 => (0..2_u8, size.clone()).prop_map(|(session, size)| Step::Append { session, size }),
        1 => (0..2_u8, size).prop_map(|(session, size)| Step::Document { session, size }),
        2 => (0..2_u8, 1..5_u8).prop_map(|(session, by)| Step::Count { session, by }),
        1 => (0..2_u8).prop_map(|session| Step::DeleteSession { session }),
    ]
}

struct World<'a> {
    h: &'a Harness,
    store: Store,
    agents: sessions::Desk,
    made: u32,
}

impl World<'_> {
    async fn act(&mut self, step: &Step) {
        self.made += 1;
        let h = self.h;
        let thread = |at: u8| THREADS[usize::from(at)];
        let id = |at: u32| format!("{at:05}");
        let on = |on: u8| id(self.made.saturating_sub(1 + u32::from(on)));
        match *step {
            Step::Put { thread: at, on: parent, size, snapshot } => {
                let metadata =
                    counting(&["m"]).replacen('{', &format!(r#"{{"run_id":"r{}","#, size % 4), 1);
                let version = self.made.to_string();
                let put = Put::new(&id(self.made)).metadata(&metadata).parent(&on(parent));
                let put = put.sets("big", &version, &list(usize::from(size)));
                let put = if snapshot {
                    put.sets("m", &version, &format!("s{version}"))
                } else {
                    put.empties("m", &version)
                };
                let write =
                    Writes::new(&id(self.made), "task").write(0, "m", &format!("w{version}"));
                h.commit(commit(thread(at), vec![put.op(), write.op()])).await.unwrap();
            }
            Step::Write { thread: at, on: parent, size } => {
                let write = Writes::new(&on(parent), &id(self.made));
                let write = write.write(0, "a", &list(usize::from(size)));
                h.commit(commit(thread(at), vec![write.op()])).await.unwrap();
            }
            Step::Prune { thread: at, keep } => {
                let rule = Rule::keep(keep.into(), None);
                h.storage.prune_threads(&h.caller, &pruning(&[thread(at)], rule)).await.unwrap();
            }
            Step::Delete { thread: at } => {
                let thread_id = thread_id(thread(at));
                let request = DeleteThread { thread_id, generation: None, fence: None };
                h.storage.delete_thread(&h.caller, &request).await.unwrap();
            }
            Step::DeleteRun { run } => {
                h.storage.delete_for_runs(&h.caller, &[format!("r{run}")]).await.unwrap();
            }
            Step::Copy { from, to } => {
                // Refused where there is something.
                let _ = h.storage.copy_thread(&h.caller, &copying(thread(from), thread(to))).await;
            }
            Step::PutItem { root, key, size } => {
                let value =
                    format!(r#"{{"at":{},"list":[{}]}}"#, self.made, list(usize::from(size) * 3));
                self.store.put(&[&format!("r{root}"), "x"], &key.to_string(), &value).await;
            }
            Step::DeleteItem { root, key } => {
                self.store.delete(&[&format!("r{root}"), "x"], &key.to_string()).await;
            }
            Step::Append { session, size } => {
                let entry = entry(None, &format!("[{}]", list(usize::from(size) * 3)));
                let session = name(&[&session.to_string()]);
                self.agents.change(&session, vec![append("", vec![entry])]).await.unwrap();
            }
            Step::Document { session, size } => {
                let session = name(&[&session.to_string()]);
                let put = put("doc", &list(usize::from(size)), None);
                self.agents.change(&session, vec![put]).await.unwrap();
            }
            Step::Count { session, by } => {
                let count = Change::Count { counter: "turns".into(), by: by.into() };
                self.agents.change(&name(&[&session.to_string()]), vec![count]).await.unwrap();
            }
            Step::DeleteSession { session } => {
                self.agents.delete(&name(&[&session.to_string()])).await;
            }
        }
    }

    async fn items(&self, root: &str) -> Vec<String> {
        let items = self.store.scan(search(&[root], "{}")).await;
        let line = |it: &threadkeep::domain::store::item::Item| {
            format!("{:?} {} {} {}", it.address.key, it.created_at, it.updated_at, text(it))
        };
        let mut lines: Vec<String> = items.iter().map(line).collect();
        lines.sort();
        lines
    }

    /// Entries, the document and the counter; None where there is no such session.
    async fn session(&self, at: &str) -> Option<(Vec<String>, Option<String>, i64)> {
        let (session, agents) = (name(&[at]), &self.agents);
        let turns = agents.sessions.get_counters(&agents.caller, &session, &["turns"]).await;
        let seen = (
            agents.texts(&session, "").await,
            agents.document(&session, "doc").await,
            turns.unwrap()[0],
        );
        (seen != (Vec::new(), None, 0)).then_some(seen)
    }

    /// Everything, in parts.
    async fn all(&self) -> Vec<String> {
        let mut all = Vec::new();
        for thread in THREADS {
            all.push(format!("{:?}", seen(self.h, thread).await));
        }
        for root in ["r0", "r1"] {
            all.push(format!("{:?}", self.items(root).await));
        }
        for session in ["0", "1"] {
            all.push(format!("{:?}", self.session(session).await));
        }
        all
    }

    /// The first thread whole, the head of the second, the first namespace and the first session, as far as they are there.
    async fn take(&self, desk: &Desk, id: &str) -> Snapshot {
        let mut request =
            TakeSnapshot { namespaces: vec![namespace(&["r0"])], ..of(id, &[], History::All) };
        for (thread, history) in [(THREADS[0], History::All), (THREADS[1], History::Head)] {
            if seen(self.h, thread).await.is_some() {
                request.threads.extend(of(id, &[thread], history).threads);
            }
        }
        let session = name(&["0"]);
        if self.session("0").await.is_some() {
            request.sessions.push(session);
        }
        desk.take(&self.h.caller, request).await.unwrap().snapshot
    }
}

/// The newest checkpoint with its values, its writes and what its delta channel comes to; of a head nothing else stays.
async fn head_of(h: &Harness, thread: &str) -> Option<String> {
    let all = seen(h, thread).await?;
    let newest = all.lines().nth(1)?.to_owned();
    let (before, parent) = newest.split_once(" parent ")?;
    // A parent that went is none.
    Some(format!("{before} {}", parent.split_once(" [")?.1))
}

fn rounds() -> usize {
    let named = std::env::var("THREADKEEP_TEST_SNAPSHOT_ROUNDS").ok();
    named.and_then(|it| it.parse().ok()).unwrap_or(4)
}

pub async fn a_restore_is_the_moment_whatever_happened(h: Harness) {
    let desk = Desk::on(&h).await;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[18; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (store, agents) = (Store::on(&h).await, sessions::Desk::on(&h).await);
    let mut world = World { h: &h, store, agents, made: 0 };
    for round in 0..rounds() {
        let steps = prop::collection::vec(step(), 25);
        let steps = steps.new_tree(&mut runner).unwrap().current();
        for step in &steps {
            world.act(step).await;
        }
        let (id, then) = (format!("s{round}"), world.all().await);
        let head = head_of(&h, THREADS[1]).await;
        let snapshot = world.take(&desk, &id).await;
        assert_eq!(world.all().await, then, "taking changes nothing");
        let steps = prop::collection::vec(step(), 25);
        let steps = steps.new_tree(&mut runner).unwrap().current();
        for step in &steps {
            world.act(step).await;
        }
        let before = world.all().await;
        desk.restore(&h.caller, &in_place(&id)).await.unwrap();
        let after = world.all().await;
        let has = |thread: &str| snapshot.threads.iter().any(|it| it.thread_id == thread);
        for (at, part) in after.iter().enumerate() {
            let is_restored = match at {
                0 => has(THREADS[0]),
                1 if has(THREADS[1]) => {
                    assert_eq!(head_of(&h, THREADS[1]).await, head, "round {round}: {steps:?}");
                    continue;
                }
                3 => true,
                5 => !snapshot.sessions.is_empty(),
                _ => false,
            };
            let expected = if is_restored { &then[at] } else { &before[at] };
            assert_eq!(part, expected, "part {at} of round {round}: {steps:?}");
        }
        if has("t0") {
            let other = format!("new{round}");
            desk.restore(&h.caller, &into(&id, &[("t0", &other)])).await.unwrap();
            assert_eq!(format!("{:?}", seen(&h, &other).await), then[0]);
        }
        check_sound(&h).await;
    }
}
