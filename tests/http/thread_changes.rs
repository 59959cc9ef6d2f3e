//! Tests the feed of changed threads through the router: what its events say, whom they are for, and how it ends.

use serde_json::json;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::limits::LIMITS;
use threadkeep::domain::threads::run_state::{Run, RunState};
use threadkeep::domain::threads::thread::Thread;

use crate::changes::Stream;
use crate::server::Server;
use crate::threads::thread;
use crate::tokens::Fleet;

const FEED: &str = "/v1/threads/changes";

/// It changed now.
fn change(server: &Server, id: &str, run: Run) {
    let now = Clock::System.now();
    let mut threads = server.storage.threads.lock().unwrap();
    threads.retain(|it| it.thread_id != id);
    threads.push(Thread { run, ..thread(id, now, now) });
}

fn stale() -> Run {
    Run { is_stale: true, ..Run::default() }
}

#[tokio::test]
async fn events_name_the_thread_and_its_status_and_no_value() {
    let server = Server::keyless().await;
    change(&server, "before", Run::default());
    let mut all = Stream::at(&server, FEED, &[("accept", "text/event-stream")]).await;
    let mut named = Stream::at(&server, &format!("{FEED}?id=a&id=c"), &[]).await;
    let mut below = Stream::at(&server, &format!("{FEED}?prefix=b"), &[]).await;
    for stream in [&mut all, &mut named, &mut below] {
        let first = stream.next().await.unwrap();
        assert_eq!((first.name.as_str(), first.data.as_str()), ("ready", "{}"));
    }
    change(&server, "a", stale());
    let told = all.change().await;
    let fields: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["generation", "kind", "thread_id", "updated_at"]);
    assert_eq!((&told["thread_id"], &told["kind"]), (&json!("a"), &json!("update")));
    change(&server, "b", Run { state: RunState::Interrupted, ..Run::default() });
    let told = all.change().await;
    assert_eq!((&told["thread_id"], &told["status"]), (&json!("b"), &json!("interrupted")));
    assert_eq!(named.change().await["thread_id"], "a");
    assert_eq!(below.change().await["thread_id"], "b");
}

#[tokio::test]
async fn grants_decide_of_which_threads_somebody_hears() {
    let fleet = Fleet::of(1).await;
    let server = &fleet.servers[0];
    let grants = json!([{"id": "mine", "actions": ["read"]}, {"id": "log", "actions": ["append"]}]);
    let token = fleet.mint(fleet.key(), &json!({"grants": {"threads": grants}})).await;
    let writer = json!([{"id": "mine", "actions": ["append", "write"]}]);
    let writer = fleet.mint(fleet.key(), &json!({"grants": {"threads": writer}})).await;
    let headers = [("x-api-key", writer.as_str())];
    server.get_with(FEED, &headers).await.assert_problem(403, "not_granted");
    let mut stream = Stream::at(server, FEED, &[("x-api-key", &token)]).await;
    stream.next().await.unwrap();
    for id in ["foreign", "log", "mine"] {
        change(server, id, Run::default());
    }
    assert_eq!(stream.change().await["thread_id"], "mine");
    fleet.post("/v1/tokens/revoke", &token, &json!({})).await.ok();
    let end = stream.next().await.unwrap().told();
    assert_eq!(end, ("end".to_owned(), json!({"code": "token_revoked"})));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_follower_of_threads_comes_back_behind_its_last_event() {
    let server = Server::keyless().await;
    let mut first = Stream::at(&server, FEED, &[]).await;
    first.next().await.unwrap();
    change(&server, "a", Run::default());
    let id = first.next().await.unwrap().id;
    drop(first);
    change(&server, "b", Run::default());
    let last = [("last-event-id", id.as_str())];
    for (query, headers) in [(format!("?after={id}"), &[][..]), (String::new(), &last[..])] {
        let mut again = Stream::at(&server, &format!("{FEED}{query}"), headers).await;
        assert_eq!(again.next().await.unwrap().name, "ready");
        while again.change().await["thread_id"] != "b" {}
    }
}

#[tokio::test]
async fn a_follower_names_so_many_threads_and_no_more() {
    let server = Server::keyless().await;
    let most = usize::try_from(LIMITS.followed_threads_max).unwrap();
    let named = |count: usize| format!("{FEED}?{}", &"&id=a".repeat(count)[1..]);
    drop(Stream::at(&server, &named(most), &[]).await);
    let answer = server.get(&named(most + 1)).await;
    answer.assert_problem(422, "invalid");
    assert_eq!(answer.field(), "id");
    assert_eq!(answer.json()["limit"], LIMITS.followed_threads_max);
}

#[tokio::test]
async fn bad_input_is_refused_with_its_field() {
    let server = Server::keyless().await;
    let cases = [
        ("?after=x".to_owned(), "after"),
        ("?id=".to_owned(), "id"),
        (format!("?prefix={}", "p".repeat(513)), "prefix"),
        ("?ns=a".to_owned(), "ns"),
    ];
    for (query, field) in cases {
        let answer = server.get(&format!("{FEED}{query}")).await;
        answer.assert_problem(422, "invalid");
        assert_eq!(answer.field(), field, "{query}");
    }
    let only_json = [("accept", "application/json")];
    server.get_with(FEED, &only_json).await.assert_problem(406, "not_acceptable");
}
