//! Tests that a batch equals its commands one by one, whatever they are.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::checkpoints::checkpoint::{ListQuery, Op, View};
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::prepared::Prepared;

use crate::commands::{Put, Writes};
use crate::harness::{Harness, NEVER, caller_of, commit, everything};

const ROUNDS: u32 = 60;

/// One operation, small enough that ids, versions and positions collide often.
#[derive(Debug, Clone)]
enum Step {
    Put { id: u8, parent: Option<u8>, ns: bool, channels: Vec<(u8, u8, Source)> },
    Write { id: u8, task: u8, idx: i32, seq: i64, data: u8 },
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Carried,
    Held(u8),
    Empty,
    New(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let source = prop_oneof![
        3 => Just(Source::Carried),
        1 => (0..3_u8).prop_map(Source::Held),
        1 => Just(Source::Empty),
        4 => (0..6_u8).prop_map(Source::New),
    ];
    let channels = prop::collection::vec((0..3_u8, 0..3_u8, source), 0..4);
    prop_oneof![
        3 => (0..5_u8, prop::option::of(0..5_u8), prop::bool::weighted(0.2), channels)
            .prop_map(|(id, parent, ns, channels)| Step::Put { id, parent, ns, channels }),
        2 => (0..5_u8, 0..2_u8, -2..3_i32, 0..3_i64, 0..6_u8)
            .prop_map(|(id, task, idx, seq, data)| Step::Write { id, task, idx, seq, data }),
    ]
}

/// Even ones are large enough to become chunks.
fn data(seed: u8) -> String {
    let length = if seed.is_multiple_of(2) { 3_000 } else { 1 };
    (0..length).map(|at| (at * (usize::from(seed) + 3)).to_string()).collect()
}

fn op(step: &Step) -> Op {
    match step {
        Step::Put { id, parent, ns, channels } => {
            let mut put = Put::new(&id.to_string()).ns(if *ns { "n:s" } else { "" });
            if let Some(parent) = parent {
                put = put.parent(&parent.to_string());
            }
            let mut used = Vec::new();
            for (channel, version, source) in channels {
                if used.contains(channel) {
                    continue;
                }
                used.push(*channel);
                let (channel, version) = (format!("c{channel}"), version.to_string());
                put = match source {
                    Source::Carried => put.carries(&channel, &version),
                    Source::Held(seed) => {
                        put.carries(&channel, &version).holds(&channel, &version, &data(*seed))
                    }
                    Source::Empty => put.empties(&channel, &version),
                    Source::New(seed) => put.sets(&channel, &version, &data(*seed)),
                };
            }
            put.op()
        }
        Step::Write { id, task, idx, seq, data: seed } => {
            let group = Writes::new(&id.to_string(), &task.to_string()).seq(*seq);
            group.write(*idx, &format!("c{idx}"), &data(*seed)).op()
        }
    }
}

pub async fn a_batch_equals_its_commands_one_by_one(h: Harness) {
    let config = Config { cases: ROUNDS, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let commands = prop::collection::vec((0..2_u8, step()), 1..14);
    for round in 0..ROUNDS {
        let commands = commands.new_tree(&mut runner).unwrap().current();
        let (batched, single) = (format!("batched-{round}"), format!("single-{round}"));
        write(&h, &batched, &commands, usize::MAX).await;
        write(&h, &single, &commands, 1).await;
        let (batched, single) = (all(&h, &batched).await, all(&h, &single).await);
        assert_eq!(batched, single, "round {round}: {commands:#?}");
    }
}

/// Applies the commands, each a commit of its own, in batches of at most `together`.
async fn write(h: &Harness, tenant: &str, commands: &[(u8, Step)], together: usize) {
    let caller = caller_of(tenant);
    let mut waiting = Vec::new();
    for (thread, step) in commands {
        let commit = commit(&format!("t{thread}"), vec![op(step)]);
        waiting.push(h.storage.prepare(&caller, commit, NEVER).await.unwrap());
    }
    while !waiting.is_empty() {
        let next: Vec<&Prepared> = waiting.iter().take(together).collect();
        let (batch, taken) = fold(&next, 1);
        h.storage.write_batch(&batch).await.unwrap();
        let taken: Vec<usize> = taken.into_iter().map(|(at, _)| at).collect();
        let mut at = 0;
        waiting.retain(|_| {
            at += 1;
            !taken.contains(&(at - 1))
        });
    }
}

async fn all(h: &Harness, tenant: &str) -> Vec<View> {
    let query = ListQuery { history_channels: None, ..everything() };
    h.storage.list_checkpoints(&caller_of(tenant), &query).await.unwrap().views
}
