//! Tests that states of threads are derived again after whatever changes them, in the background too.

use std::sync::Arc;

use threadkeep::decode::run_state::READ_STATE;
use threadkeep::domain::Error;
use threadkeep::domain::checkpoints::run_states::{DerivedRunStates, RunStateSweeper};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::{Examine, Noun, Report, State};
use threadkeep::domain::threads::details::{Change, UpdateThread};
use threadkeep::domain::threads::run_state::{DERIVED_PER_SEARCH_MAX, RunState, Status};
use threadkeep::domain::threads::thread::ThreadQuery;

use crate::commands::Writes;
use crate::granted_callers::{copying, tenant};
use crate::harness::{Harness, NEVER, commit, masters, thread_id};
use crate::run_states::{HOUR, after, ask_task, checkpoint, found, id, now, shown, status};
use crate::snapshot_calls::{Desk, in_place};
use crate::thread_searches::saying;

pub async fn details_change_nothing_of_the_run(h: Harness) {
    let threads = now(&h).await;
    h.commit(commit("t", vec![checkpoint(&id(1), true, "update").op()])).await.unwrap();
    let change = || UpdateThread {
        thread_id: thread_id("t"),
        title: Change::Set("a title".into()),
        metadata: None,
        replace_metadata: false,
        ttl: Change::Keep,
        if_version: None,
        idempotency: None,
    };
    let made = h.storage.get_thread(&h.caller, &thread_id("t")).await.unwrap().unwrap();
    assert!(made.run.is_stale, "no commit waits for a state");
    for _ in 0..2 {
        let changed = threads.update(&h.caller, &change(), NEVER).await.unwrap();
        assert!(changed.updated_at > made.updated_at);
        assert_eq!(changed.state_updated_at(), made.updated_at);
        assert_eq!(changed.run.status(threads.busy_since()), Status::Interrupted);
        assert!(!changed.run.is_stale);
    }
    // Of a thread without checkpoints it is when it was made.
    let new = crate::thread_details::create("new", None, None);
    h.storage.create_thread(&h.caller, &new).await.unwrap();
    let new = shown(&threads, "new").await;
    assert_eq!((new.state_updated_at(), new.run.state), (new.created_at, RunState::Idle));
}

pub async fn what_copies_or_removes_checkpoints_changes_the_state(h: Harness) {
    let threads = now(&h).await;
    let asked = Writes::new(&id(2), &ask_task(&id(2))).write(-3, "__interrupt__", "\u{1}");
    let ops = vec![
        checkpoint(&id(1), false, "loop").op(),
        checkpoint(&id(2), true, "loop").op(),
        asked.op(),
    ];
    h.commit(commit("t", ops)).await.unwrap();
    assert_eq!(status(&threads, "t").await, Status::Interrupted);
    let desk = Desk::on(&h).await;
    desk.taken(&h, "s", &["t"]).await;
    threads.copy(&h.caller, &copying("t", "copy"), NEVER).await.unwrap();
    assert_eq!(status(&threads, "copy").await, Status::Interrupted);
    h.storage.delete_for_runs(&h.caller, &[id(2)]).await.unwrap();
    for thread in ["t", "copy"] {
        let seen = shown(&threads, thread).await;
        assert_eq!(seen.run.state, RunState::Idle, "{thread}: {seen:?}");
    }
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(status(&threads, "t").await, Status::Interrupted);
}

/// A server of the release before knows nothing of states.
pub async fn a_commit_of_an_old_server_is_found(h: Harness) {
    let threads = now(&h).await;
    h.commit(commit("t", vec![checkpoint(&id(1), false, "loop").op()])).await.unwrap();
    assert_eq!(status(&threads, "t").await, Status::Idle);
    let stale = "select count(*) from threads where is_stale";
    assert_eq!(h.count(stale).await, 0);
    for change in ["updated_at = updated_at + 1", "size_bytes = size_bytes + 1"] {
        h.sql(&format!("update threads set {change}")).await;
        assert_eq!(h.count(stale).await, 1, "{change}");
        assert_eq!(status(&threads, "t").await, Status::Idle);
        assert_eq!(h.count(stale).await, 0, "{change}");
    }
}

/// Threads that were there before states were kept.
pub async fn many_threads_are_derived_in_the_background_and_none_is_left_out(h: Harness) {
    if masters().is_some() {
        return;
    }
    let many = DERIVED_PER_SEARCH_MAX + 1;
    h.commit(commit("t", vec![checkpoint(&id(1), true, "update").op()])).await.unwrap();
    let numbers = format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {many})"
    );
    for (columns, values, table) in [
        (
            "tenant, thread_id, thread_key, scope_id, generation, fence, created_at, updated_at, checkpoint_count, size_bytes",
            "'tenant-a', 'old:' || n, n, n, 'g', 0, n, n, 0, 0",
            "threads",
        ),
        ("tenant, scope_id, epoch, next_no", "'tenant-a', n, n, 1", "scopes"),
    ] {
        h.sql(&format!("insert into {table} ({columns}) {numbers} select {values} from n")).await;
    }
    let threads = after(&h.storage, HOUR).await;
    let waiting =
        ThreadQuery { statuses: vec![Status::Interrupted], limit: 9, ..ThreadQuery::default() };
    // Titles are derived with the states: a search for words would answer short, too.
    for query in [saying("title"), waiting.clone()] {
        let error = threads.list(&tenant(), query.clone()).await.unwrap_err();
        let limit = DERIVED_PER_SEARCH_MAX;
        let is_it = matches!(error, Error::ThreadsIndexing { limit: it, .. } if it == limit);
        assert!(is_it, "{error}");
        h.sql("update threads set is_stale = true").await;
    }
    // What shows no state is answered, and each thread in it stands right.
    let newest = ThreadQuery { limit: 1, ..ThreadQuery::default() };
    let page = threads.list(&tenant(), newest).await.unwrap();
    assert_eq!(page.threads[0].run.state, RunState::Interrupted);
    let clock = Arc::new(Clock::Fixed((Clock::System.now() + HOUR).into()));
    let states = Arc::new(DerivedRunStates::new(Arc::clone(&h.storage) as _, READ_STATE));
    let sweeper = RunStateSweeper::new(states, clock);
    let mut position = (String::new(), i64::MIN);
    assert!(sweeper.sweep(&mut position).await.unwrap());
    // The first search derived most of them; what is left is few enough for one search.
    while let Err(error) = threads.list(&tenant(), waiting.clone()).await {
        assert!(matches!(error, Error::ThreadsIndexing { .. }), "{error}");
    }
    assert_eq!(found(&threads, &waiting).await, ["t"]);
    assert!(!sweeper.sweep(&mut position).await.unwrap());
    assert_eq!(h.count("select count(*) from threads where is_stale").await, 0);
}

pub async fn the_doctor_finds_and_mends_states(h: Harness) {
    let threads = now(&h).await;
    for thread in ["a", "b", "left alone"] {
        let put = checkpoint(&id(1), true, "update");
        h.commit(commit(thread, vec![put.op()])).await.unwrap();
        assert_eq!(status(&threads, thread).await, Status::Interrupted);
    }
    h.sql("update threads set run_state = 2 where thread_id <> 'left alone'").await;
    let states = DerivedRunStates::new(Arc::clone(&h.storage) as _, READ_STATE);
    let examine = async |fix: bool| {
        let mut report = Report::default();
        let request = Examine { tenant: Some("tenant-a".into()), fix, now: 0 };
        states.examine(&request, &mut report).await.unwrap();
        let other = Examine { tenant: Some("tenant-b".into()), ..request };
        states.examine(&other, &mut report).await.unwrap();
        [State::Checked, State::WrongCounter, State::Repaired]
            .map(|it| report.tally(it, Noun::RunStates).count)
    };
    assert_eq!(examine(false).await, [3, 2, 0]);
    assert_eq!(examine(true).await, [3, 0, 2]);
    assert_eq!(examine(false).await, [3, 0, 0]);
    for thread in ["a", "b", "left alone"] {
        assert_eq!(status(&threads, thread).await, Status::Interrupted);
    }
}
