//! Tests which batches PostgreSQL writes with the lean statement, and that it trusts nothing that a server remembers of a thread: whatever
//! another server did to the thread meanwhile, the commit ends as the full statement ends it.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use threadkeep::domain::checkpoints::checkpoint::{Commit, Op, View};
use threadkeep::domain::checkpoints::planner::fold;
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::checkpoints::storage::Outcome;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;

use crate::commands::{Put, Writes};
use crate::conditions::request;
use crate::content::{copy_of, second_server};
use crate::harness::{Harness, NEVER, commit, masters, pruning, thread_id, values};

/// How many batches a server wrote in each form.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Forms {
    lean: u64,
    /// A member failed, and the batch was sent again in full.
    repeated: u64,
    full: u64,
}

const LEAN: Forms = Forms { lean: 1, repeated: 0, full: 0 };
const REPEATED: Forms = Forms { lean: 0, repeated: 1, full: 1 };
const FULL: Forms = Forms { lean: 0, repeated: 0, full: 1 };

/// Batches are written by the test's own thread, which has the recorder.
struct Counting {
    h: Harness,
    recorder: PrometheusRecorder,
}

impl Counting {
    async fn start() -> Self {
        Self { h: Harness::postgres().await, recorder: PrometheusBuilder::new().build_recorder() }
    }

    fn counted(&self) -> Forms {
        let text = self.recorder.handle().render();
        let of = |form: &str| {
            let name = format!("threadkeep_commit_batches_total{{form=\"{form}\"}} ");
            let line = text.lines().find_map(|it| it.strip_prefix(&name));
            line.map_or(0, |it| it.parse().unwrap())
        };
        Forms { lean: of("lean"), repeated: of("repeated"), full: of("full") }
    }

    /// Commits in one batch.
    async fn batch(&self, commits: Vec<Commit>) -> (Vec<Outcome>, Forms) {
        let before = self.counted();
        let mut prepared = Vec::new();
        for commit in commits {
            prepared.push(self.h.storage.prepare(&self.h.caller, commit, NEVER).await.unwrap());
        }
        let (batch, placed) = fold(&prepared.iter().collect::<Vec<_>>(), 1);
        assert_eq!(placed.len(), prepared.len());
        let outcomes = {
            let _guard = metrics::set_default_local_recorder(&self.recorder);
            self.h.storage.write_batch(&batch).await.unwrap()
        };
        let after = self.counted();
        let forms = Forms {
            lean: after.lean - before.lean,
            repeated: after.repeated - before.repeated,
            full: after.full - before.full,
        };
        (outcomes, forms)
    }

    /// Commits to thread `t`, and expects success in a form. What was encrypted for another content scope is prepared once more.
    async fn writes(&self, ops: Vec<Op>, expected: Forms) {
        let (mut outcomes, forms) = self.batch(vec![commit("t", ops.clone())]).await;
        if let (Some(_), [Outcome::ScopeStale { .. }]) = (masters(), &outcomes[..]) {
            outcomes = self.batch(vec![commit("t", ops)]).await.0;
        } else {
            assert_eq!(forms, expected);
        }
        assert!(matches!(outcomes[..], [Outcome::Done { .. }]), "{outcomes:?}");
        self.h.check_counts("t").await;
    }

    async fn puts(&self, put: Put, expected: Forms) -> View {
        let Op::Checkpoint(it) = put.clone().op() else { panic!("a checkpoint") };
        self.writes(vec![put.op()], expected).await;
        self.h.get(it.id.as_str()).await
    }
}

#[tokio::test]
async fn whatever_is_not_rare_is_lean() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one").sets("b", "1", "old"), FULL).await;
    let second = Put::new("2").parent("1").sets("a", "2", "two").carries("b", "1");
    let second = c.puts(second.empties("c", "1"), LEAN).await;
    assert_eq!(values(&second)["a"], "two");
    assert_eq!(values(&second)["b"], "old");
    // Numbers go on, a channel without a value stays without one, and a value that no map shows is kept.
    let third = Put::new("3").parent("2").carries("a", "2").carries("b", "1").carries("c", "1");
    let third = c.puts(third.sets("d", "1", &"long ".repeat(4_000)), LEAN).await;
    assert_eq!(values(&third)["a"], "two");
    assert_eq!(values(&third)["d"], "long ".repeat(4_000));
    c.writes(vec![Writes::new("3", "t").write(0, "a", "x").write(1, "b", "y").op()], LEAN).await;
    // A checkpoint with its writes, a subgraph, and writes that were there.
    let put = Put::new("4").parent("3").sets("a", "3", "three");
    let both = vec![put.op(), Writes::new("4", "t").write(0, "a", "x").op()];
    c.writes(both, LEAN).await;
    c.writes(vec![Put::new("1").ns("inner").sets("a", "1", "inner").op()], LEAN).await;
    c.writes(vec![Writes::new("3", "t").write(0, "a", "again").op()], LEAN).await;
    let shown = c.h.get("3").await;
    assert_eq!(shown.writes.len(), 2);
}

#[tokio::test]
async fn what_is_rare_takes_the_full_statement() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one").sets("b", "1", "old"), FULL).await;
    // Writes that replace, a fork, and two checkpoints of one thread in one batch.
    c.writes(vec![Writes::new("1", "t").write(-1, "__error__", "x").op()], FULL).await;
    let fork = Put::new("2").parent("1").carries("b", "1").holds("b", "1", "old");
    c.puts(fork, FULL).await;
    let two = [Put::new("3").sets("a", "2", "x"), Put::new("4").sets("a", "3", "y")];
    c.writes(two.map(Put::op).to_vec(), FULL).await;
    // The same id again, and a value that the parent does not have: only the database knows.
    let again = c.puts(Put::new("4").parent("3").sets("a", "4", "again"), REPEATED).await;
    assert_eq!(values(&again)["a"], "again");
    assert_eq!(again.parent.as_deref(), Some("3"));
    let elsewhere = Put::new("5").parent("3").carries("b", "1").sets("a", "5", "z");
    let elsewhere = c.puts(elsewhere, REPEATED).await;
    assert_eq!(values(&elsewhere)["b"], "old");
    // What was forgotten then is known again.
    c.puts(Put::new("6").parent("5").carries("b", "1").carries("a", "5"), LEAN).await;
}

#[tokio::test]
async fn a_member_that_fails_writes_nothing_and_the_others_are_written() {
    let c = Counting::start().await;
    let put = |thread: &str, id: &str| commit(thread, vec![Put::new(id).sets("a", "1", id).op()]);
    for thread in ["t", "u"] {
        let (_, forms) = c.batch(vec![put(thread, "1")]).await;
        assert_eq!(forms, FULL);
    }
    let both = vec![put("t", "2"), put("u", "2")];
    assert_eq!(c.batch(both).await.1, LEAN);
    let numbers = "select s.next_no::bigint from scopes s join threads t using (tenant, scope_id)
        where t.thread_id = 'u'";
    let before = c.h.count(numbers).await;
    let restored = Commit { generation: Some("another".into()), ..put("u", "3") };
    let (outcomes, forms) = c.batch(vec![put("t", "3"), restored]).await;
    assert!(matches!(outcomes[..], [Outcome::Done { .. }, Outcome::ThreadRestored { .. }]));
    assert_eq!(forms, REPEATED);
    assert_eq!(c.h.count(numbers).await, before);
    assert_eq!(c.h.latest("t").await.unwrap().id, "3");
    assert_eq!(c.h.latest("u").await.unwrap().id, "2");
    c.h.check_counts("t").await;
    c.h.check_counts("u").await;
}

#[tokio::test]
async fn a_thread_that_another_server_made_again_is_another_one() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "first life"), FULL).await;
    c.puts(Put::new("2").parent("1").carries("a", "1"), LEAN).await;
    let (another, queue) = second_server(&c.h).await;
    let request = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    another.delete_thread(&c.h.caller, &request).await.unwrap();
    let made = commit("t", vec![Put::new("1").sets("a", "1", "second life").op()]);
    write(&*another, &queue, &c.h.caller, &made, NEVER).await.unwrap();
    let shown = c.puts(Put::new("2").parent("1").carries("a", "1"), REPEATED).await;
    assert_eq!(values(&shown)["a"], "second life");
    c.puts(Put::new("3").parent("2").carries("a", "1"), LEAN).await;
}

#[tokio::test]
async fn a_copy_of_the_same_content_under_the_same_name_is_another_thread() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one"), FULL).await;
    c.puts(Put::new("2").parent("1").carries("a", "1"), LEAN).await;
    let (another, _) = second_server(&c.h).await;
    c.h.sql("create table first_epoch as select epoch from scopes").await;
    another.copy_thread(&c.h.caller, &copy_of("t", "u")).await.unwrap();
    let request = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    another.delete_thread(&c.h.caller, &request).await.unwrap();
    another.copy_thread(&c.h.caller, &copy_of("u", "t")).await.unwrap();
    // Only the key of the thread may differ: the scope is the one of before.
    c.h.sql("update scopes set epoch = (select epoch from first_epoch)").await;
    c.writes(vec![Writes::new("2", "t").write(0, "a", "x").op()], REPEATED).await;
    assert_eq!(c.h.get("2").await.writes.len(), 1);
    let shown = c.puts(Put::new("3").parent("2").carries("a", "1"), LEAN).await;
    assert_eq!(values(&shown)["a"], "one");
    assert_eq!(c.h.all("t").await.len(), 3);
    assert_eq!(c.h.all("u").await.len(), 2);
}

#[tokio::test]
async fn what_another_server_removed_is_not_named_again() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one").sets("b", "1", "kept"), FULL).await;
    c.puts(Put::new("2").parent("1").sets("a", "2", "two").carries("b", "1"), LEAN).await;
    let (another, _) = second_server(&c.h).await;
    another.prune_threads(&c.h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_eq!(c.h.all("t").await.len(), 1);
    // The epoch has risen: the first commit is repeated, the next is lean.
    let shown =
        c.puts(Put::new("3").parent("2").carries("a", "2").carries("b", "1"), REPEATED).await;
    assert_eq!(values(&shown)["b"], "kept");
    c.puts(Put::new("4").parent("3").carries("a", "2").carries("b", "1"), LEAN).await;
}

#[tokio::test]
async fn a_checkpoint_that_another_server_put_is_replaced_once() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one"), FULL).await;
    let (another, queue) = second_server(&c.h).await;
    let theirs = Put::new("2").parent("1").sets("a", "2", "theirs").carries("b", "1");
    let theirs = commit("t", vec![theirs.op()]);
    write(&*another, &queue, &c.h.caller, &theirs, NEVER).await.unwrap();
    // A child takes what the parent has now.
    let child = c.puts(Put::new("3").parent("2").carries("a", "2"), LEAN).await;
    assert_eq!(values(&child)["a"], "theirs");
    let ours = c.puts(Put::new("2").parent("1").sets("a", "3", "ours"), REPEATED).await;
    assert_eq!(values(&ours)["a"], "ours");
    assert_eq!(values(&c.h.get("3").await)["a"], "theirs");
}

#[tokio::test]
async fn a_lease_and_an_owner_of_another_server_hold() {
    let c = Counting::start().await;
    c.puts(Put::new("1").sets("a", "1", "one"), FULL).await;
    let (another, _) = second_server(&c.h).await;
    let lease = another.acquire_lease(&c.h.caller, &request("another", None)).await.unwrap();
    let put = |id: &str| commit("t", vec![Put::new(id).sets("a", "2", id).op()]);
    let (outcomes, forms) = c.batch(vec![put("2")]).await;
    assert_eq!((&outcomes[..], forms), (&[Outcome::LeaseHeld][..], REPEATED));
    // A refusal is none of the memory's business, but it was forgotten.
    let fenced = |id: &str, fence| Commit { fence: Some(fence), ..put(id) };
    let (outcomes, forms) = c.batch(vec![fenced("3", lease.fence)]).await;
    assert!(matches!(outcomes[..], [Outcome::Done { .. }]));
    assert_eq!(forms, FULL);
    let (_, forms) = c.batch(vec![fenced("4", lease.fence)]).await;
    assert_eq!(forms, LEAN);
    let (outcomes, forms) = c.batch(vec![fenced("5", lease.fence + 1)]).await;
    assert_eq!(outcomes, [Outcome::FenceStale { current: lease.fence }]);
    assert_eq!(forms, REPEATED);
}
