//! Tests that a thread stands as its newest checkpoint of the root graph and its writes say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::prelude::*;
use rand::rngs::StdRng;
use threadkeep::decode::run_state::READ_STATE;
use threadkeep::domain::checkpoints::checkpoint::{Commit, Op};
use threadkeep::domain::checkpoints::group_commit::GroupCommit;
use threadkeep::domain::checkpoints::run_states::DerivedRunStates;
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::clock::{Clock, Micros};
use threadkeep::domain::names::Writer;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::quotas::Quotas;
use threadkeep::domain::tenants::rates::Rates;
use threadkeep::domain::threads::run_state::{RunState, Status};
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::thread::{Thread, ThreadQuery, ThreadSort};
use twox_hash::XxHash3_128;
use uuid::Uuid;

use crate::commands::{Put, Writes};
use crate::granted_callers::{leasing, tenant};
use crate::harness::{Harness, NEVER, commit, config, thread_id, value};

const BUSY_FOR: Duration = Duration::from_mins(2);
pub const HOUR: Micros = 3_600_000_000;
const THREADS: usize = 10;
const COMMITS: usize = 16;
const STATUSES: [Status; 4] = [Status::Busy, Status::Error, Status::Idle, Status::Interrupted];
const NULL_TASK: &str = "00000000-0000-0000-0000-000000000000";
const OTHER_TASK: &str = "11111111-1111-1111-1111-111111111111";
const BRANCH: &str = "branch:to:ask";

/// The service of threads as a server has it.
pub fn threads(storage: &Arc<dyn Storage>, clock: &Arc<Clock>, quotas: &Arc<Quotas>) -> Threads {
    showing(&[], storage, clock, quotas)
}

/// The same, with fields of the metadata of checkpoints that threads show.
fn showing(
    fields: &[&str],
    storage: &Arc<dyn Storage>,
    clock: &Arc<Clock>,
    quotas: &Arc<Quotas>,
) -> Threads {
    let storage = || Arc::clone(storage);
    let fields = fields.iter().copied().map(str::to_owned).collect();
    let states = DerivedRunStates::new(storage(), READ_STATE).with_metadata(fields);
    Threads::new(storage(), Arc::new(states), Arc::clone(clock), Arc::clone(quotas), BUSY_FOR)
}

/// The service at a time after now.
pub async fn after(storage: &Arc<dyn Storage>, later: Micros) -> Threads {
    showing_after(&[], storage, later).await
}

/// The same, with fields of the metadata of checkpoints that threads show.
pub async fn showing_after(fields: &[&str], storage: &Arc<dyn Storage>, later: Micros) -> Threads {
    let clock = Arc::new(Clock::Fixed((Clock::System.now() + later).into()));
    let quotas = Quotas::load(Arc::clone(storage) as _, Arc::clone(&clock), Rates::default());
    showing(fields, storage, &clock, &Arc::new(quotas.await.unwrap()))
}

pub async fn now(h: &Harness) -> Threads {
    after(&h.storage, 0).await
}

pub async fn shown(threads: &Threads, id: &str) -> Thread {
    threads.get(&tenant(), &thread_id(id)).await.unwrap().unwrap()
}

pub async fn status(threads: &Threads, id: &str) -> Status {
    shown(threads, id).await.run.status(threads.busy_since())
}

/// As LangGraph makes it; they grow.
pub fn id(number: usize) -> String {
    format!("1ef4f797-8335-6428-8001-{number:012x}")
}

/// Of node `ask` in the step after step 1.
pub fn ask_task(checkpoint: &str) -> String {
    let mut bytes = hex::decode(checkpoint.replace('-', "")).unwrap();
    for part in ["ask", "2", "ask", "__pregel_pull", BRANCH] {
        bytes.extend_from_slice(part.as_bytes());
    }
    Uuid::from_u128(XxHash3_128::oneshot(&bytes)).to_string()
}

/// A checkpoint after which node `ask` is to run, or none.
pub fn checkpoint(id: &str, is_next: bool, source: &str) -> Put {
    let seen = if is_next { "1.0" } else { "2.0" };
    let skeleton = format!(
        r#"{{"v":4,"id":"{id}","channel_versions":{{"{BRANCH}":"2.0"}},"versions_seen":{{"ask":{{"{BRANCH}":"{seen}"}}}}}}"#
    );
    Put::new(id)
        .skeleton(&skeleton)
        .metadata(&format!(r#"{{"step":1,"source":"{source}","run_id":"{id}"}}"#))
        .unlisted(BRANCH, "\"2.0\"", value("null", ""))
}

/// What the model knows of a thread.
#[derive(Default)]
struct Model {
    /// Whether a node is next, and the source.
    checkpoints: BTreeMap<String, (bool, &'static str)>,
    /// (checkpoint, task, index) → channel, writer, call.
    writes: BTreeMap<(String, String, i32), (&'static str, &'static str, i64)>,
}

impl Model {
    /// A write with an index below 0 replaces, but not a later one of the same writer.
    fn write(&mut self, key: (String, String, i32), write: (&'static str, &'static str, i64)) {
        let is_kept = self
            .writes
            .get(&key)
            .is_some_and(|(_, writer, seq)| key.2 >= 0 || (*writer == write.1 && *seq > write.2));
        if !is_kept {
            self.writes.insert(key, write);
        }
    }

    fn state(&self) -> RunState {
        let Some((newest, (is_next, source))) = self.checkpoints.last_key_value() else {
            return RunState::Idle;
        };
        let of = |task: Option<&str>, channel: &str| {
            let writes = self.writes.iter().filter(|((checkpoint, _, _), _)| checkpoint == newest);
            let of_task = writes.filter(|((_, it, _), _)| task.is_none_or(|task| it == task));
            let found = of_task.filter(|(_, it)| it.0 == channel);
            found.map(|((_, task, _), it)| (task.clone(), it.1, it.2)).collect::<Vec<_>>()
        };
        let has_ended = |task: &str| {
            !of(Some(task), "title").is_empty() || !of(Some(task), "__no_writes__").is_empty()
        };
        let is_failed =
            |(task, ..): &(String, _, _)| of(Some(task), "__error_source_node__").is_empty();
        if of(None, "__error__").iter().any(is_failed) {
            return RunState::Failed;
        }
        let answers = of(Some(NULL_TASK), "__resume__");
        let is_open = |(task, writer, seq): &(String, &str, i64)| {
            !has_ended(task) && !answers.iter().any(|it| it.1 != *writer || it.2 > *seq)
        };
        if of(None, "__interrupt__").iter().any(is_open) {
            return RunState::Interrupted;
        }
        match (*is_next && !has_ended(&ask_task(newest)), *source) {
            (false, _) => RunState::Idle,
            (true, "update" | "fork") => RunState::Interrupted,
            (true, _) => RunState::Pending,
        }
    }
}

/// One operation on a thread, done in the model too.
fn operation(random: &mut StdRng, model: &mut Model, writer: &'static str) -> Op {
    let number = random.random_range(1..7);
    let target = id(number);
    let is_root = random.random_bool(0.85);
    if random.random_bool(0.35) {
        let is_next = random.random_bool(0.7);
        let source = ["loop", "input", "update", "fork"].choose(random).copied().unwrap();
        let put = checkpoint(&target, is_next, source);
        if !is_root {
            return put.ns("sub:1").op();
        }
        model.checkpoints.insert(target, (is_next, source));
        return put.op();
    }
    let task = [&ask_task(&target), NULL_TASK, OTHER_TASK].choose(random).unwrap().to_string();
    let (index, channel) = [
        (0, "title"),
        (0, "__no_writes__"),
        (1, "__error_source_node__"),
        (-1, "__error__"),
        (-3, "__interrupt__"),
        (-3, "__interrupt__"),
        (-4, "__resume__"),
    ]
    .choose(random)
    .copied()
    .unwrap();
    let seq = random.random_range(0..4);
    let writes = Writes::new(&target, &task).seq(seq).write(index, channel, "\u{1}");
    if !is_root {
        return writes.ns("sub:1").op();
    }
    model.write((target, task, index), (channel, writer, seq));
    writes.op()
}

/// Random runs of threads: writes before their checkpoint and without one, repeats, batches, and two servers.
async fn run(h: &Harness, seed: u64) -> BTreeMap<String, Model> {
    let mut random = StdRng::seed_from_u64(seed);
    let other = if h.is_sqlite() {
        Arc::clone(&h.storage)
    } else {
        let config = threadkeep::storage::StorageConfig { exclusive: false, ..config(h.url()) };
        threadkeep::storage::open(&config).await.unwrap()
    };
    let queue = GroupCommit::start(Arc::clone(&other) as _, &Arc::new(Clock::System));
    let (here, there) = (now(h).await, after(&other, 0).await);
    let mut models: BTreeMap<String, Model> = BTreeMap::new();
    for _ in 0..COMMITS {
        for thread in 0..THREADS {
            let thread = format!("t{thread}");
            let model = models.entry(thread.clone()).or_default();
            let writer = ["w1", "w2"].choose(&mut random).copied().unwrap();
            let many = random.random_range(1..4);
            let ops: Vec<Op> = (0..many).map(|_| operation(&mut random, model, writer)).collect();
            let made = Commit { writer: Writer::new(writer).unwrap(), ..commit(&thread, ops) };
            let (storage, queue) =
                if random.random_bool(0.5) { (&other, &queue) } else { (&h.storage, &h.queue) };
            write(&**storage, queue, &h.caller, &made, NEVER).await.unwrap();
            for threads in [&here, &there] {
                if random.random_bool(0.6) {
                    let seen = shown(threads, &thread).await;
                    let kept = (&model.checkpoints, &model.writes);
                    assert_eq!(seen.run.state, model.state(), "{seed} {thread}: {kept:?}");
                    assert_eq!(seen.run.changed_at, seen.updated_at);
                }
            }
        }
    }
    models
}

pub async fn found(threads: &Threads, query: &ThreadQuery) -> Vec<String> {
    let page = threads.list(&tenant(), query.clone()).await.unwrap();
    assert_eq!(page.next, None);
    let counted = threads.count(&tenant(), query.clone()).await.unwrap();
    assert_eq!(counted, page.threads.len() as u64);
    let status = |it: &Thread| it.run.status(threads.busy_since());
    let asked = |it: &Thread| query.statuses.is_empty() || query.statuses.contains(&status(it));
    assert!(page.threads.iter().all(asked), "{query:?}: {page:?}");
    page.threads.into_iter().map(|it| it.thread_id).collect()
}

pub async fn threads_stand_as_a_model_says(h: Harness) {
    let mut seen = BTreeMap::new();
    for seed in 0..3 {
        let models = run(&h, seed).await;
        h.storage.acquire_lease(&h.caller, &leasing("t3", None)).await.unwrap();
        for later in [0, HOUR] {
            let threads = after(&h.storage, later).await;
            let status = |thread: &str, model: &Model| match model.state() {
                _ if thread == "t3" => Status::Busy,
                RunState::Idle => Status::Idle,
                RunState::Failed => Status::Error,
                RunState::Pending if later == 0 => Status::Busy,
                RunState::Interrupted | RunState::Pending => Status::Interrupted,
            };
            for some in 0_u32..16 {
                let chosen = |at: &usize| some & (1 << at) != 0;
                let statuses: Vec<Status> = (0..4).filter(chosen).map(|it| STATUSES[it]).collect();
                let is_asked = |(thread, model): &(&String, &Model)| {
                    some == 0 || statuses.contains(&status(thread, model))
                };
                let expected: Vec<_> =
                    models.iter().filter(is_asked).map(|(thread, _)| thread.clone()).collect();
                for sort in [ThreadSort::ThreadId, ThreadSort::Created, ThreadSort::Updated] {
                    let (statuses, limit, ascending) = (statuses.clone(), 100, true);
                    let query =
                        ThreadQuery { statuses, limit, sort, ascending, ..ThreadQuery::default() };
                    let mut all = found(&threads, &query).await;
                    all.sort();
                    assert_eq!(all, expected, "{seed} {later} {query:?}");
                }
                for (thread, model) in &models {
                    *seen.entry(status(thread, model).place()).or_insert(0) += 1;
                }
            }
        }
        for thread in models.keys() {
            h.sql(&format!("delete from threads where thread_id = '{thread}'")).await;
        }
    }
    assert_eq!(seen.len(), 4, "each status was there: {seen:?}");
}

/// All of them, a few on each page.
async fn paged(threads: &Threads, mut query: ThreadQuery) -> Vec<(i64, String)> {
    let (mut all, mut pages) = (Vec::new(), 0);
    loop {
        let page = threads.list(&tenant(), query.clone()).await.unwrap();
        assert!(page.threads.len() <= query.limit);
        let asked = ThreadQuery { busy_since: threads.busy_since(), ..query.clone() };
        all.extend(page.threads.iter().map(|it| (it.position(&asked).time, it.thread_id.clone())));
        pages += 1;
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert!(pages > 2);
    all
}

pub async fn orders_by_state_neither_skip_nor_repeat_at_rest(h: Harness) {
    run(&h, 7).await;
    let threads = now(&h).await;
    for sort in [ThreadSort::StateUpdated, ThreadSort::Status, ThreadSort::Updated] {
        // The last change makes some stale again, for the order by the time of the last change.
        for thread in ["t1", "t5"] {
            let put = checkpoint(&id(3), true, "loop");
            h.commit(commit(thread, vec![put.op()])).await.unwrap();
        }
        for ascending in [true, false] {
            let query = ThreadQuery { limit: 3, sort, ascending, ..ThreadQuery::default() };
            let all = paged(&threads, query).await;
            let mut sorted = all.clone();
            sorted.sort();
            if !ascending {
                sorted.reverse();
            }
            assert_eq!((all.len(), &all), (THREADS, &sorted), "{sort:?} {ascending}");
        }
    }
}

pub async fn threads_in_rare_states_come_in_the_order_of_their_times(h: Harness) {
    let thread = |number: usize| format!("t{}", number * 7 % 30);
    for number in 0..30 {
        let channel = ["__interrupt__", "__error__", "title"][number % 3];
        let writes = Writes::new(&id(1), &ask_task(&id(1))).write(-3, channel, "\u{1}");
        let ops = vec![checkpoint(&id(1), true, "loop").op(), writes.op()];
        h.commit(commit(&thread(number), ops)).await.unwrap();
    }
    // One is failed and leased, so it is busy.
    h.storage.acquire_lease(&h.caller, &leasing(&thread(1), None)).await.unwrap();
    // Those with tasks to run wait an hour later.
    let threads = after(&h.storage, HOUR).await;
    for statuses in [vec![Status::Interrupted], vec![Status::Error, Status::Interrupted]] {
        for (sort, ascending) in [ThreadSort::Created, ThreadSort::Updated]
            .into_iter()
            .flat_map(|it| [(it, true), (it, false)])
        {
            // They change, and nobody has derived them again.
            for number in [4, 12, 20] {
                let put = checkpoint(&id(1), true, "loop");
                h.commit(commit(&thread(number), vec![put.op()])).await.unwrap();
            }
            let query = ThreadQuery { sort, ascending, ..ThreadQuery::default() };
            let mut all = paged(&threads, ThreadQuery { limit: 8, ..query.clone() }).await;
            assert_eq!(all.len(), 30);
            all.retain(|(_, it)| {
                let number = (0..30).find(|number| thread(*number) == *it).unwrap();
                // The task of every third one has ended.
                let is_failed = number % 3 == 1 && number != 1;
                number % 3 == 0 || (is_failed && statuses.contains(&Status::Error))
            });
            let statuses = statuses.clone();
            let found = paged(&threads, ThreadQuery { statuses, limit: 4, ..query }).await;
            assert_eq!(found, all, "{sort:?} {ascending}");
        }
    }
}
