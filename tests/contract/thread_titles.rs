//! Tests that a thread takes its title from the first message, once, and that it goes where the thread goes.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use threadkeep::decode::run_state::READ_STATE;
use threadkeep::domain::checkpoints::checkpoint::Op;
use threadkeep::domain::checkpoints::run_states::{DerivedRunStates, RunStateSweeper};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::threads::details::{Change, UpdateThread};
use threadkeep::domain::threads::service::Threads;
use threadkeep::domain::threads::title::TitleFrom;

use crate::commands::{Put, Writes};
use crate::granted_callers::{copying, tenant};
use crate::harness::{Harness, NEVER, commit, thread_id, value};
use crate::run_states::{HOUR, id, now, shown};
use crate::snapshot_calls::{Desk, in_place, into};
use crate::thread_searches::saying;

fn json_value(value_of: &Json) -> threadkeep::domain::checkpoints::checkpoint::Value {
    value("json", value_of.to_string())
}

fn said(number: usize, channel: &str, value_of: &Json) -> Op {
    Put::new(&id(number)).sets_value(channel, &number.to_string(), json_value(value_of)).op()
}

fn human(text: &str) -> Json {
    json!({"type": "human", "content": text})
}

fn update(thread: &str) -> UpdateThread {
    UpdateThread {
        thread_id: thread_id(thread),
        title: Change::Keep,
        metadata: None,
        replace_metadata: false,
        ttl: Change::Keep,
        if_version: None,
        idempotency: None,
    }
}

async fn put(h: &Harness, thread: &str, op: Op) {
    h.commit(commit(thread, vec![op])).await.unwrap();
}

async fn title(threads: &Threads, thread: &str) -> Option<(String, TitleFrom)> {
    let details = shown(threads, thread).await.details;
    details.shown_title().map(|(text, from)| (text.into_owned(), from))
}

fn derived(text: &str) -> (String, TitleFrom) {
    (text.to_owned(), TitleFrom::FirstMessage)
}

async fn misses(h: &Harness, thread: &str) -> i64 {
    h.count(&format!(
        "select cast(title_misses as bigint) from threads where thread_id = '{thread}'"
    ))
    .await
}

async fn found(threads: &Threads, text: &str) -> Vec<String> {
    let page = threads.list(&tenant(), saying(text)).await.unwrap();
    assert_eq!(threads.count(&tenant(), saying(text)).await.unwrap(), page.threads.len() as u64);
    page.threads.into_iter().map(|it| it.thread_id).collect()
}

pub async fn the_first_human_text_becomes_the_title_once(h: Harness) {
    let threads = now(&h).await;
    let input =
        json!({"messages": [["system", "You are"], ["user", " Where\n to\u{202e}?\u{7} "]]});
    put(&h, "input", said(1, "__start__", &input)).await;
    let pending = Writes::new(&id(1), "00000000-0000-0000-0000-000000000000");
    let pending = pending.write_value(0, "messages", json_value(&json!([human("Pending")])));
    h.commit(commit("pending", vec![Put::new(&id(1)).op(), pending.op()])).await.unwrap();
    let long = "é".repeat(500);
    put(&h, "long", said(1, "messages", &json!([human(&long)]))).await;
    // A search finds it though nobody looked at the thread before.
    assert_eq!(found(&threads, "where TO?").await, ["input"]);
    assert_eq!(found(&threads, "pend").await, ["pending"]);
    let version = shown(&threads, "input").await.details.version;
    assert_eq!((version, title(&threads, "input").await), (0, Some(derived("Where to?"))));
    assert_eq!(title(&threads, "long").await, Some(derived(&"é".repeat(200))));
    for (number, first) in [(2, "Where\n to?"), (3, "Something else"), (4, "And more")] {
        put(&h, "input", said(number, "messages", &json!([human(first)]))).await;
        assert_eq!(title(&threads, "input").await, Some(derived("Where to?")));
        assert_eq!(misses(&h, "input").await, -1);
    }
    assert_eq!(found(&threads, "else").await, [""; 0]);
}

pub async fn threads_without_a_human_text_are_not_read_again_and_again(h: Harness) {
    let threads = now(&h).await;
    for number in 1..12 {
        put(&h, "none", said(number, "other", &json!("text"))).await;
        let only = json!([{"type": "ai", "content": "Hello"}, {"type": "human", "content": [{"type": "image"}]}]);
        put(&h, "ai", said(number, "messages", &only)).await;
        assert_eq!((title(&threads, "none").await, title(&threads, "ai").await), (None, None));
        let read = i64::try_from(number).unwrap().min(8);
        assert_eq!((misses(&h, "none").await, misses(&h, "ai").await), (0, read));
    }
    put(&h, "ai", said(12, "messages", &json!([human("Too late")]))).await;
    assert_eq!(title(&threads, "ai").await, None);
    put(&h, "none", said(12, "messages", &json!([human("In time")]))).await;
    assert_eq!(title(&threads, "none").await, Some(derived("In time")));
    let large = json!([human(&format!("Large {}", "x".repeat(2 << 20)))]);
    put(&h, "large", said(1, "messages", &large)).await;
    let large = format!("Large {}", "x".repeat(194));
    assert_eq!(title(&threads, "large").await, Some(derived(&large)));
}

pub async fn a_title_that_was_set_wins_and_gives_way_again(h: Harness) {
    let threads = now(&h).await;
    let set = |title: Change<String>, metadata: Option<&str>| UpdateThread {
        title,
        metadata: metadata.map(str::to_owned),
        ..update("t")
    };
    put(&h, "t", said(1, "messages", &json!([human("Hello")]))).await;
    let by_hand = |text: &str, from| Some((text.to_owned(), from));
    // Set before anybody derived it, so that nothing is kept of the message.
    for (change, expected) in [
        (set(Change::Set("Set".into()), None), by_hand("Set", TitleFrom::Set)),
        (set(Change::Keep, Some(r#"{"title":"Meta"}"#)), by_hand("Set", TitleFrom::Set)),
        (set(Change::Remove, None), by_hand("Meta", TitleFrom::Metadata)),
        (set(Change::Keep, Some(r#"{"title":null}"#)), Some(derived("Hello"))),
        (set(Change::Set("Again".into()), None), by_hand("Again", TitleFrom::Set)),
        (set(Change::Remove, None), Some(derived("Hello"))),
    ] {
        let changed = threads.update(&h.caller, &change, NEVER).await.unwrap();
        let shown_now = changed.details.shown_title();
        assert_eq!(shown_now.map(|(text, from)| (text.into_owned(), from)), expected);
        assert_eq!(title(&threads, "t").await, expected);
        let text = expected.unwrap().0;
        assert_eq!(found(&threads, &text).await, ["t"]);
    }
    // A thread that was made with a title is never read for one.
    let made = crate::thread_details::create("made", Some("Made"), None);
    h.storage.create_thread(&h.caller, &made).await.unwrap();
    put(&h, "made", said(1, "messages", &json!([human("Hello")]))).await;
    assert_eq!(title(&threads, "made").await, by_hand("Made", TitleFrom::Set));
    assert_eq!(misses(&h, "made").await, -1);
    threads
        .update(&h.caller, &UpdateThread { title: Change::Remove, ..update("made") }, NEVER)
        .await
        .unwrap();
    assert_eq!(title(&threads, "made").await, Some(derived("Hello")));
}

pub async fn a_derived_title_follows_copies_snapshots_and_restores(h: Harness) {
    let threads = now(&h).await;
    put(&h, "t", said(1, "messages", &json!([human("First")]))).await;
    assert_eq!(title(&threads, "t").await, Some(derived("First")));
    put(&h, "t", said(2, "messages", &json!([human("Second")]))).await;
    threads.copy(&h.caller, &copying("t", "copy"), NEVER).await.unwrap();
    // A title of an empty target goes with the rest of it.
    put(&h, "untitled", Put::new(&id(1)).op()).await;
    let target = crate::thread_details::create("empty", Some("Gone"), None);
    h.storage.create_thread(&h.caller, &target).await.unwrap();
    threads.copy(&h.caller, &copying("untitled", "empty"), NEVER).await.unwrap();
    assert_eq!(title(&threads, "empty").await, None);
    put(&h, "empty", said(2, "messages", &json!([human("Filled")]))).await;
    assert_eq!(title(&threads, "empty").await, Some(derived("Filled")));
    let desk = Desk::on(&h).await;
    desk.taken(&h, "s", &["t"]).await;
    put(&h, "t", said(3, "messages", &json!([human("Third")]))).await;
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    desk.restore(&h.caller, &into("s", &[("t", "new")])).await.unwrap();
    for thread in ["t", "copy", "new"] {
        assert_eq!(title(&threads, thread).await, Some(derived("First")), "{thread}");
        assert_eq!(misses(&h, thread).await, -1, "{thread}");
    }
    assert_eq!(found(&threads, "first").await, ["copy", "new", "t"]);
    assert_eq!(found(&threads, "second").await, [""; 0]);
}

pub async fn threads_get_their_titles_in_the_background(h: Harness) {
    for number in 0..60 {
        let first = format!("Question {number:02}");
        put(&h, &format!("t-{number:02}"), said(1, "messages", &json!([human(&first)]))).await;
    }
    // One has details of its own, and none of a title.
    let metadata = Some(r#"{"a":1}"#.to_owned());
    let change = UpdateThread { metadata, ..update("t-07") };
    h.storage.update_thread(&h.caller, &change).await.unwrap();
    let clock = Arc::new(Clock::Fixed((Clock::System.now() + HOUR).into()));
    let states = Arc::new(DerivedRunStates::new(Arc::clone(&h.storage) as _, READ_STATE));
    let sweeper = RunStateSweeper::new(states, clock);
    let mut position = (String::new(), i64::MIN);
    while sweeper.sweep(&mut position).await.unwrap() {}
    let titled = "select count(*) from threads where title_misses = -1 and not is_stale";
    assert_eq!(h.count(titled).await, 60);
    let threads = now(&h).await;
    assert_eq!(title(&threads, "t-07").await, Some(derived("Question 07")));
    let details = shown(&threads, "t-07").await.details;
    assert_eq!(details.metadata, r#"{"a":1}"#);
    assert!(details.version > 0);
    assert_eq!(found(&threads, "question 5").await.len(), 10);
}
