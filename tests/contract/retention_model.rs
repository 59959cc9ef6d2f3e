//! Tests retention against a model, for any rule and thread: the kept checkpoints show what they showed before. A dry run reports what the
//! removal then reports, and both report what the tables show.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::checkpoints::checkpoint::{Op, View};
use threadkeep::domain::threads::retention::{Keep, Pruned, Removed, Rule};
use threadkeep::domain::threads::storage::CopyThread;

use crate::commands::{Put, Writes};
use crate::delta::{counting, replay_view};
use crate::harness::{Harness, commit, pruning, thread_id};

const ROUNDS: u32 = 50;
const NAMESPACES: [&str; 5] = ["", "memory", "n:1", "n:2", "n:1|m:1"];

/// A checkpoint, small enough that ids collide over namespaces, ages over ids and branches over parents.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // Each is drawn by itself.
struct Step {
    ns: usize,
    id: u8,
    parent: Option<u8>,
    /// Of the root graph, stored or not.
    root: u8,
    caller: u8,
    snapshot: bool,
    carries: bool,
    large: bool,
    interrupt: bool,
    legacy: bool,
    age: u8,
    early: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0..NAMESPACES.len(), 0..8_u8, prop::option::weighted(0.8, 0..8_u8));
    let called = (0..9_u8, 0..8_u8);
    let flag = prop::bool::weighted(0.25);
    let flags = (flag, prop::bool::ANY, flag, flag, prop::bool::weighted(0.15), flag);
    (place, called, flags, 0..10_u8).prop_map(|(place, called, flags, age)| Step {
        ns: if place.0 > 2 && age.is_multiple_of(2) { 0 } else { place.0 },
        id: place.1,
        parent: place.2,
        root: called.0,
        caller: called.1,
        snapshot: flags.0,
        carries: flags.1,
        large: flags.2,
        interrupt: flags.3,
        legacy: flags.4,
        age,
        early: flags.5,
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let since = prop::option::of(prop_oneof![0..12_i64, Just(i64::MAX)]);
    (1..5_u32, since, prop::bool::ANY).prop_map(|(last, since, keep_interrupted)| Rule {
        expire_before: None,
        unchanged_since: None,
        keep: Some(Keep { last, since }),
        keep_interrupted,
    })
}

type Key = (&'static str, String);

fn key(step: &Step) -> Key {
    (NAMESPACES[step.ns], step.id.to_string())
}

/// What the model knows of a checkpoint's `metadata.parents`.
fn parents(step: &Step) -> Vec<(&'static str, String)> {
    let mut parents = Vec::new();
    if NAMESPACES[step.ns].contains(':') {
        parents.push(("", step.root.to_string()));
    }
    if NAMESPACES[step.ns].contains('|') {
        parents.push(("n:1", step.caller.to_string()));
    }
    parents
}

/// Whether a checkpoint stays, said once more and without regard to speed.
fn stays(all: &BTreeMap<Key, Step>, at: &Key, rule: &Rule) -> bool {
    let limits = rule.keep.unwrap();
    let head = |ns: &str| all.iter().rfind(|((it, _), _)| *it == ns).unwrap();
    let waits = |ns: &str| rule.keep_interrupted && head(ns).1.interrupt;
    let pinned = |it: &Key| {
        let (ns, id) = it;
        (waits(ns) && head(ns).0 == it)
            || all.keys().any(|(other, _)| {
                waits(other) && parents(head(other).1).iter().any(|(n, i)| n == ns && i == id)
            })
    };
    let young = |it: &Key| limits.since.is_some_and(|since| i64::from(all[it].age) >= since);
    let holds = |it: &Key| pinned(it) || young(it);
    let among_last = |(ns, id): &Key| {
        let greater = all.keys().filter(|(other, it)| other == ns && it > id).count();
        greater < limits.last as usize
    };
    let root_of = |ns: &str| parents(head(ns).1).first().map(|(ns, id)| (*ns, id.clone()));
    let root_stays = |root: &Key| {
        let called = |it: &Key| it.0.contains(':') && root_of(it.0).as_ref() == Some(root);
        among_last(root) || holds(root) || all.keys().any(|it| called(it) && holds(it))
    };
    match root_of(at.0) {
        Some(root) if all.contains_key(&root) && !root_stays(&root) => false,
        _ if at.0.is_empty() => root_stays(at),
        _ => among_last(at) || holds(at),
    }
}

pub async fn what_stays_equals_the_model(h: Harness) {
    let config = Config { cases: ROUNDS, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let rounds = (prop::collection::vec(step(), 1..26), rule());
    let mut went = 0;
    for round in 0..ROUNDS {
        let (steps, rule) = rounds.new_tree(&mut runner).unwrap().current();
        let thread = format!("t{round}");
        let all = write(&h, &thread, &steps).await;
        let context = format!("round {round}: {rule:?} {:#?}", all.values());
        let expected: BTreeSet<Key> =
            all.keys().filter(|it| stays(&all, it, &rule)).cloned().collect();
        if round.is_multiple_of(3) {
            // It shares the content: what it names is not free.
            let (source, target) = (thread_id(&thread), thread_id(&format!("copy {round}")));
            let request = CopyThread { source, target, idempotency: None, full: None };
            h.storage.copy_thread(&h.caller, &request).await.unwrap();
        }
        let before = show(&h, &thread, all.keys()).await;
        let tables = tables(&h, &thread).await;

        let mut request = pruning(&[&thread], rule);
        request.dry_run = true;
        let would = h.storage.prune_threads(&h.caller, &request).await.unwrap();
        assert_eq!(show(&h, &thread, all.keys()).await, before, "a dry run: {context}");
        assert_eq!(self::tables(&h, &thread).await, tables, "a dry run: {context}");
        request.dry_run = false;
        let did = h.storage.prune_threads(&h.caller, &request).await.unwrap();

        let left: BTreeSet<(String, String)> =
            h.all(&thread).await.into_iter().map(|it| (it.ns, it.id)).collect();
        let kept = expected.iter().map(|(ns, id)| ((*ns).to_owned(), id.clone())).collect();
        assert_eq!(left, kept, "{context}");
        let after = show(&h, &thread, expected.iter()).await;
        let shown = before.into_iter().filter(|(it, _)| expected.contains(it)).collect();
        assert_eq!(after, shown, "{context}");
        assert_eq!(would, did, "{context}");
        let difference = difference(tables, self::tables(&h, &thread).await);
        assert_eq!(did, [Pruned { removed: difference, deleted: false }], "{context}");
        h.check_counts(&thread).await;
        went += difference.checkpoints;
        let again = h.storage.prune_threads(&h.caller, &request).await.unwrap();
        assert_eq!(again, [Pruned::default()], "{context}");
    }
    assert!(went > i64::from(ROUNDS), "only {went} checkpoints went");
}

async fn write(h: &Harness, thread: &str, steps: &[Step]) -> BTreeMap<Key, Step> {
    let mut all: BTreeMap<Key, Step> = BTreeMap::new();
    for step in steps {
        // A second put would replace values, which then belong to nobody: not what is counted here.
        all.entry(key(step)).or_insert_with(|| step.clone());
    }
    let mut ops = Vec::new();
    for ((ns, id), step) in &all {
        ops.extend(checkpoint(&all, (ns, id), step));
    }
    h.commit(commit(thread, ops)).await.unwrap();
    for step in all.values().filter(|it| it.early) {
        let early = Writes::new("9", "task").ns(NAMESPACES[step.ns]).write(0, "a", "early");
        h.commit(commit(thread, vec![early.op()])).await.unwrap();
    }
    let mut ages = String::new();
    for ((ns, id), step) in &all {
        ages += &format!(
            "update checkpoints set created_at = {} where ns = '{ns}' and checkpoint_id = '{id}'
                and thread_key = (select thread_key from threads where thread_id = '{thread}');",
            step.age
        );
    }
    h.sql(&ages).await;
    all
}

fn checkpoint(all: &BTreeMap<Key, Step>, (ns, id): (&str, &str), step: &Step) -> Vec<Op> {
    let parents: BTreeMap<&str, String> = parents(step).into_iter().collect();
    let metadata = counting(&["m"]);
    let (counters, _) = metadata.rsplit_once('}').unwrap();
    let metadata = format!("{counters},\"parents\":{}}}", serde_json::json!(parents));
    let mut put = Put::new(id).ns(ns).metadata(&metadata);
    // A parent is older, so that no chain is a ring; or it never came.
    let parent = step.parent.filter(|it| *it < step.id || !has(all, ns, *it));
    if let Some(parent) = parent {
        put = put.parent(&parent.to_string());
    }
    if step.legacy {
        put = put.format(1);
    }
    let known = parent.filter(|it| has(all, ns, *it)).map(|it| it.to_string());
    put = match known.filter(|_| step.carries) {
        Some(parent) => put.carries("a", &format!("\"{}\"", version_of(all, ns, &parent))),
        None => put.sets("a", &format!("\"{id}\""), &data(id, step.large)),
    };
    put = if step.snapshot {
        put.sets("m", &format!("\"{id}\""), &format!("s{ns}{id}"))
    } else {
        put.empties("m", &format!("\"{id}\""))
    };
    let mut writes = Writes::new(id, "task").ns(ns).write(0, "m", &format!("w{ns}{id}"));
    writes = writes.write(1, "b", &data(&format!("w{id}"), step.large));
    if step.interrupt {
        writes = writes.write(-3, "__interrupt__", "wait");
    }
    if step.age < 3 {
        writes = writes.write(2, "__pregel_tasks", &format!("send{id}"));
    }
    vec![put.op(), writes.op()]
}

fn has(all: &BTreeMap<Key, Step>, ns: &str, id: u8) -> bool {
    all.keys().any(|(it, stored)| *it == ns && *stored == id.to_string())
}

/// The version of `a` that a checkpoint shows.
fn version_of(all: &BTreeMap<Key, Step>, ns: &str, id: &str) -> String {
    let step = all.iter().find(|((it, stored), _)| *it == ns && stored == id).unwrap().1;
    let parent = step.parent.filter(|it| *it < step.id && has(all, ns, *it));
    match parent.filter(|_| step.carries) {
        Some(parent) => version_of(all, ns, &parent.to_string()),
        None => id.to_owned(),
    }
}

/// Some are equal, so that chunks are shared between values that stay and values that go.
fn data(seed: &str, large: bool) -> String {
    let seed = seed.trim_start_matches('w').parse::<u32>().unwrap();
    let length = if large { 3_000 } else { 1 };
    (0..length).map(|at| (at * (seed % 3 + 1)).to_string()).collect()
}

/// All that a checkpoint shows, but for the parent that goes.
async fn show(
    h: &Harness,
    thread: &str,
    keys: impl Iterator<Item = &Key>,
) -> BTreeMap<Key, (View, String)> {
    let mut shown = BTreeMap::new();
    for (ns, id) in keys {
        let found = h.found(thread, ns, Some(id), &["m"]).await;
        let mut view = found.view.unwrap_or_else(|| panic!("{ns} {id} is gone"));
        let history = replay_view(&view, &found.chain, "m");
        view.parent = None;
        view.bases.clear();
        shown.insert((*ns, id.clone()), (view, history));
    }
    shown
}

/// What the tables hold, and what the thread says of its size.
async fn tables(h: &Harness, thread: &str) -> Removed {
    let stored = "select cast(
        (select coalesce(sum(length(documents)), 0) from checkpoints)
        + (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from writes)
        + (select coalesce(sum(length(document)), 0) from delta_bases)
        + (select coalesce(sum(length(body) + coalesce(length(parts), 0)), 0) from manifests)
        + (select coalesce(sum(length(body)), 0) from chunks) as bigint)";
    let described = h.storage.get_thread(&h.caller, &thread_id(thread)).await.unwrap().unwrap();
    Removed {
        checkpoints: h.count("select count(*) from checkpoints").await,
        writes: h.count("select count(*) from writes").await,
        values: h.count("select count(*) from manifests").await,
        size_bytes: described.size_bytes,
        stored_bytes: h.count(stored).await,
    }
}

fn difference(before: Removed, after: Removed) -> Removed {
    Removed {
        checkpoints: before.checkpoints - after.checkpoints,
        writes: before.writes - after.writes,
        values: before.values - after.values,
        size_bytes: before.size_bytes - after.size_bytes,
        stored_bytes: before.stored_bytes - after.stored_bytes,
    }
}
