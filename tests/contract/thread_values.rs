//! Tests that threads are found by short values of their newest state, and that no thread is left out whose values are not known.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use threadkeep::decode::run_state::READ_STATE;
use threadkeep::domain::Error;
use threadkeep::domain::checkpoints::run_states::{DerivedRunStates, RunStateSweeper};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::{Examine, Noun, Report, State};
use threadkeep::domain::threads::details::{Change, UpdateThread};
use threadkeep::domain::threads::details_filter::contained;
use threadkeep::domain::threads::run_state::Status;
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::short_values::is_short;
use threadkeep::domain::threads::thread::{ThreadQuery, ThreadSort};

use crate::commands::{Put, Writes};
use crate::granted_callers::{copying, tenant};
use crate::harness::{Harness, NEVER, commit, masters, thread_id, value};
use crate::run_states::{HOUR, id, now};
use crate::snapshot_calls::{Desk, in_place, into};

fn asking(wanted: &Json) -> ThreadQuery {
    let values = contained("values", wanted.to_string().as_bytes()).unwrap();
    assert!(values.iter().all(is_short), "{wanted}");
    ThreadQuery {
        values,
        limit: 100,
        sort: ThreadSort::ThreadId,
        ascending: true,
        ..ThreadQuery::default()
    }
}

async fn put(h: &Harness, thread: &str, number: usize, values: &Json) {
    let Json::Object(values) = values else { panic!("{values}") };
    let version = number.to_string();
    let put = values.iter().fold(Put::new(&id(number)), |put, (channel, it)| {
        put.sets_value(channel, &version, value("json", it.to_string()))
    });
    h.commit(commit(thread, vec![put.op()])).await.unwrap();
}

/// Those that changed are derived before threads are searched by their states. One search derives for some seconds: on a busy machine the
/// next one goes on.
async fn derive(threads: &Threads) {
    let query = ThreadQuery { statuses: vec![Status::Idle], ..ThreadQuery::default() };
    for _ in 0..20 {
        match threads.count(&tenant(), query.clone()).await {
            Ok(_) => return,
            Err(Error::ThreadsIndexing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("twenty searches did not derive the states");
}

/// Threads that are known to have the values, and those that may have them. A count agrees with both.
async fn found(threads: &Threads, wanted: &Json) -> [Vec<String>; 2] {
    derive(threads).await;
    let page = threads.list(&tenant(), asking(wanted)).await.unwrap();
    let ids = |are_known: bool| {
        let found = page.threads.iter().filter(|it| it.run.has_asked_values == are_known);
        found.map(|it| it.thread_id.clone()).collect::<Vec<_>>()
    };
    let both = [ids(true), ids(false)];
    for (are_known, ids) in [(true, &both[0]), (false, &both[1])] {
        let query = ThreadQuery { has_known_values: Some(are_known), ..asking(wanted) };
        assert_eq!(
            threads.count(&tenant(), query.clone()).await.unwrap(),
            ids.len() as u64,
            "{wanted}"
        );
        let page = threads.list(&tenant(), query).await.unwrap();
        assert_eq!(&page.threads.into_iter().map(|it| it.thread_id).collect::<Vec<_>>(), ids);
    }
    both
}

async fn known(threads: &Threads, wanted: &Json) -> Vec<String> {
    let [known, unknown] = found(threads, wanted).await;
    assert_eq!(unknown, [""; 0], "{wanted}");
    known
}

pub async fn threads_are_found_by_their_short_values(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    let long = "x".repeat(257);
    put(&h, "a", 1, &json!({"topic": "Rome", "count": 3, "done": true, "messages": [1]})).await;
    put(
        &h,
        "b",
        1,
        &json!({"topic": "Rome", "count": 3.0, "none": null, "odd \" name": "\u{0} \u{1}"}),
    )
    .await;
    put(&h, "c", 1, &json!({"topic": ["Rome"], "count": "3", "share": 0.5, "long": long})).await;
    put(&h, "empty", 1, &json!({})).await;
    let none = [""; 0].map(str::to_owned).to_vec();
    for (wanted, expected) in [
        (json!({"topic": "Rome"}), vec!["a", "b"]),
        (json!({"topic": "rome"}), vec![]),
        (json!({"topic": "Rome", "done": true}), vec!["a"]),
        (json!({"done": 1}), vec![]),
        (json!({"none": null}), vec!["b"]),
        (json!({"absent": null}), vec![]),
        (json!({"topic": null}), vec![]),
    ] {
        assert_eq!(known(&threads, &wanted).await, expected, "{wanted}");
    }
    // One engine decides of numbers and names by opening.
    for (wanted, expected) in [
        (json!({"count": 3}), vec!["a", "b"]),
        (json!({"count": 4}), vec![]),
        (json!({"share": 0.5}), vec!["c"]),
        (json!({"odd \" name": "\u{0} \u{1}"}), vec!["b"]),
    ] {
        let [known, unknown] = found(&threads, &wanted).await;
        let mut all = [known, unknown].concat();
        all.sort();
        assert!(expected.iter().all(|it| all.contains(&(*it).to_owned())), "{wanted} {all:?}");
        if !h.url().starts_with("sqlite") {
            assert_eq!(all, expected, "{wanted}");
        }
    }
    // A newer state says something else, and of some channels nothing.
    put(&h, "a", 2, &json!({"topic": "Oslo"})).await;
    assert_eq!(known(&threads, &json!({"topic": "Rome"})).await, ["b"]);
    assert_eq!(known(&threads, &json!({"topic": "Oslo"})).await, ["a"]);
    assert_eq!(known(&threads, &json!({"done": true})).await, none);
    // Other conditions hold besides.
    let query = ThreadQuery { prefix: Some("b".into()), ..asking(&json!({"topic": "Oslo"})) };
    assert_eq!(threads.count(&tenant(), query).await.unwrap(), 0);
}

pub async fn threads_whose_values_are_not_known_are_never_left_out(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    let many: serde_json::Map<String, Json> =
        (0..40).map(|it| (format!("field-{it}"), json!("x".repeat(60)))).collect();
    put(&h, "many", 1, &Json::Object(many)).await;
    put(&h, "root", 1, &json!({"__root__": {"topic": "Rome"}})).await;
    let delta = json!({"lc": 2, "type": "delta_snapshot", "value": "Rome"});
    put(&h, "delta", 1, &json!({"topic": delta})).await;
    put(&h, "known", 1, &json!({"topic": "Oslo", "files": {"/a": "b"}})).await;
    assert_eq!(
        found(&threads, &json!({"topic": "Rome"})).await,
        [vec![], vec!["delta".to_owned(), "many".into(), "root".into()]]
    );
    assert_eq!(found(&threads, &json!({"topic": "Oslo"})).await[0], ["known"]);
    // Details that do not open keep nobody else from being derived.
    put(&h, "damaged", 1, &json!({"topic": "Oslo"})).await;
    put(&h, "other", 1, &json!({"topic": "Oslo"})).await;
    assert_eq!(found(&threads, &json!({"topic": "Oslo"})).await[0], ["damaged", "known", "other"]);
    let key = "(select thread_key from threads where thread_id = 'damaged')";
    h.sql(&format!(
        "update thread_details set document = substr(document, 2) where thread_key = {key}"
    ))
    .await;
    h.sql("update threads set is_stale = 1 <> 0").await;
    let other = ThreadQuery { prefix: Some("other".into()), ..asking(&json!({"topic": "Oslo"})) };
    derive(&threads).await;
    let page = threads.list(&tenant(), other).await.unwrap();
    assert!(page.threads[0].run.has_asked_values);
    h.sql(&format!("delete from thread_details where thread_key = {key}")).await;
    // What tasks wrote to a channel is no value yet; of a delta channel it is.
    let writes = Writes::new(&id(1), "00000000-0000-0000-0000-000000000000");
    let writes = writes.write_value(0, "topic", value("json", "\"Rome\""));
    h.commit(commit("known", vec![writes.op()])).await.unwrap();
    assert_eq!(found(&threads, &json!({"topic": "Oslo"})).await[0], ["known", "other"]);
}

pub async fn details_change_nothing_of_what_is_known(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    put(&h, "t", 1, &json!({"topic": "Rome"})).await;
    let rome = json!({"topic": "Rome"});
    assert_eq!(known(&threads, &rome).await, ["t"]);
    let update = |metadata: &str| UpdateThread {
        thread_id: thread_id("t"),
        title: Change::Set("A title".into()),
        metadata: Some(metadata.to_owned()),
        replace_metadata: true,
        ttl: Change::Keep,
        if_version: None,
        idempotency: None,
    };
    for metadata in [r#"{"topic":"Oslo"}"#, "{}"] {
        threads.update(&tenant(), &update(metadata), NEVER).await.unwrap();
        let stale = h.storage.list_stale_threads("tenant-a", i64::MIN, 10).await.unwrap();
        assert_eq!(stale, []);
        assert_eq!(known(&threads, &rome).await, ["t"]);
        assert_eq!(known(&threads, &json!({"topic": "Oslo"})).await, [""; 0]);
    }
    // Metadata and values are asked for side by side.
    threads.update(&tenant(), &update(r#"{"topic":"Oslo"}"#), NEVER).await.unwrap();
    let metadata = contained("metadata", br#"{"topic":"Oslo"}"#).unwrap();
    let mut query = asking(&rome);
    query.details.metadata = metadata.clone();
    assert_eq!(threads.count(&tenant(), query).await.unwrap(), 1);
    let mut query = asking(&json!({"topic": "Oslo"}));
    query.details.metadata = metadata;
    assert_eq!(threads.count(&tenant(), query).await.unwrap(), 0);
}

pub async fn an_older_version_makes_values_unknown(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    for thread in ["a", "b", "c"] {
        put(&h, thread, 1, &json!({"topic": "Rome"})).await;
    }
    let rome = json!({"topic": "Rome"});
    assert_eq!(known(&threads, &rome).await, ["a", "b", "c"]);
    // It derives a newer state and knows nothing of values, and a thread of before they were read.
    put(&h, "a", 2, &json!({"topic": "Oslo"})).await;
    h.sql("update threads set run_of = updated_at, is_stale = 0 <> 0 where thread_id = 'a'").await;
    h.sql("update threads set values_of = 0 where thread_id = 'b'").await;
    let names = |ids: &[&str]| ids.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(found(&threads, &rome).await, [names(&["c"]), names(&["a", "b"])]);
    assert_eq!(found(&threads, &json!({"topic": "Oslo"})).await, [vec![], names(&["a", "b"])]);
    // Those that were never read are read in the background.
    let clock = Arc::new(Clock::Fixed((Clock::System.now() + HOUR).into()));
    let states = Arc::new(DerivedRunStates::new(Arc::clone(&h.storage) as _, READ_STATE));
    let sweeper = RunStateSweeper::new(states, clock);
    let mut position = (String::new(), i64::MIN);
    while sweeper.sweep(&mut position).await.unwrap() {}
    assert_eq!(found(&threads, &rome).await, [names(&["b", "c"]), names(&["a"])]);
    assert!(!sweeper.sweep(&mut position).await.unwrap(), "nothing is left");
}

pub async fn the_doctor_finds_and_mends_values(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    let (rome, oslo) = (json!({"topic": "Rome"}), json!({"topic": "Oslo"}));
    for (thread, values) in [("a", &rome), ("b", &oslo), ("c", &rome), ("d", &json!({}))] {
        put(&h, thread, 1, values).await;
    }
    let [all, _] = found(&threads, &rome).await;
    assert_eq!(all, ["a", "c"]);
    let states = DerivedRunStates::new(Arc::clone(&h.storage) as _, READ_STATE);
    let examine = async |fix: bool| {
        let mut report = Report::default();
        states.examine(&Examine { tenant: None, fix, now: 0 }, &mut report).await.unwrap();
        let counts = [State::Checked, State::WrongCounter, State::Repaired]
            .map(|it| report.tally(it, Noun::RunStates).count);
        let ids = report.places.into_iter().map(|it| (it.place.thread_id.unwrap(), it.detail));
        (counts, ids.collect::<Vec<_>>())
    };
    assert_eq!(examine(false).await, ([4, 0, 0], vec![]));
    // One has the values of a checkpoint before, one has none, and one whose values are not known is opened by searches.
    put(&h, "a", 2, &oslo).await;
    let key = "select thread_key from threads where thread_id in ('b', 'c')";
    h.sql(&format!("delete from thread_details where thread_key in ({key})")).await;
    h.sql("update threads set run_of = updated_at, values_of = updated_at, is_stale = 0 <> 0 where thread_id = 'a'").await;
    h.sql("update threads set values_of = -1 where thread_id = 'c'").await;
    assert_eq!(found(&threads, &oslo).await, [vec![], vec!["c".to_owned()]]);
    let detail = "the short values are not those of the newest checkpoint";
    let wrong = ["a", "b"].map(|it| (it.to_owned(), detail.into()));
    assert_eq!(examine(false).await, ([4, 2, 0], wrong.to_vec()));
    assert_eq!(examine(true).await, ([4, 0, 2], vec![]));
    assert_eq!(examine(false).await, ([4, 0, 0], vec![]));
    assert_eq!(found(&threads, &oslo).await[0], ["a", "b"]);
}

pub async fn values_follow_the_state_through_copies_and_restores(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    let (rome, oslo) = (json!({"topic": "Rome"}), json!({"topic": "Oslo"}));
    put(&h, "t", 1, &rome).await;
    assert_eq!(known(&threads, &rome).await, ["t"]);
    let desk = Desk::on(&h).await;
    desk.taken(&h, "s", &["t"]).await;
    threads.copy(&h.caller, &copying("t", "copy"), NEVER).await.unwrap();
    put(&h, "copy", 2, &oslo).await;
    put(&h, "t", 2, &oslo).await;
    assert_eq!(known(&threads, &oslo).await, ["copy", "t"]);
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    desk.restore(&h.caller, &into("s", &[("t", "new")])).await.unwrap();
    assert_eq!(known(&threads, &rome).await, ["new", "t"]);
    assert_eq!(known(&threads, &oslo).await, ["copy"]);
    // Into a thread that has values of its own.
    threads.copy(&h.caller, &copying("new", "copy"), NEVER).await.ok();
    let [has_rome, _] = found(&threads, &rome).await;
    let [has_oslo, _] = found(&threads, &oslo).await;
    assert_eq!([has_rome, has_oslo].concat().len(), 3);
}

pub async fn nothing_of_encrypted_values_is_known(h: Harness) {
    let h = if masters().is_some() { h } else { h.encrypting(None).await };
    let threads = now(&h).await;
    put(&h, "t", 1, &json!({"topic": "Rome"})).await;
    let [known, unknown] = found(&threads, &json!({"topic": "Oslo"})).await;
    assert_eq!((known, unknown), (vec![], vec!["t".to_owned()]));
    let shown = "select count(*) from thread_details where projection is not null";
    assert_eq!(h.count(shown).await, 0);
}

/// More than are found by the index.
const MANY: usize = 2_100;

pub async fn many_matches_are_walked_and_counted(h: Harness) {
    if masters().is_some() {
        return nothing_of_encrypted_values_is_known(h).await;
    }
    let threads = now(&h).await;
    for number in 0..MANY {
        let kind = if number % 700 == 0 { "rare" } else { "many" };
        put(&h, &format!("{number:04}"), 1, &json!({"kind": kind, "all": true})).await;
    }
    derive(&threads).await;
    for (wanted, expected) in [(json!({"all": true}), MANY), (json!({"kind": "rare"}), 3)] {
        // The second time it is known that there are many.
        for _ in 0..2 {
            let query = ThreadQuery { limit: 2, ascending: false, ..asking(&wanted) };
            let page = threads.list(&tenant(), query).await.unwrap();
            let ids: Vec<&str> = page.threads.iter().map(|it| it.thread_id.as_str()).collect();
            let last = if expected == MANY { ["2099", "2098"] } else { ["1400", "0700"] };
            assert_eq!((ids.as_slice(), page.next.is_some()), (&last[..], true), "{wanted}");
        }
        let count = threads.count(&tenant(), asking(&wanted)).await.unwrap();
        assert_eq!(count, expected as u64, "{wanted}");
    }
}
