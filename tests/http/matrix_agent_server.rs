//! Defines what the permission matrix expects of the routes of the LangGraph Agent Server, and asks those that are always refused.

use serde_json::{Value, json};

use crate::matrix::{NOBODYS, Route, THREAD, World, routes};
use crate::matrix_table::{
    ANYBODY, Answers, DENIED, NO_THREAD, OK, READ, Request, Row, TAKEN, WRITE_ITEM, answers, body,
    query, row,
};

const READ_THREAD: Answers = answers([NO_THREAD, NO_THREAD, NO_THREAD, OK, DENIED]);

/// They would run a graph, or ask for a run: the second field says whether on a thread.
pub const REFUSED: [&str; 31] = [
    "agent_server_abort_run",
    "agent_server_abort_runs",
    "agent_server_call_agent",
    "agent_server_call_mcp",
    "agent_server_create_cron",
    "agent_server_create_cron_on_thread",
    "agent_server_create_run",
    "agent_server_create_run_on_thread",
    "agent_server_create_runs",
    "agent_server_delete_run",
    "agent_server_follow_run",
    "agent_server_follow_thread",
    "agent_server_get_run",
    "agent_server_get_ui",
    "agent_server_run_command",
    "agent_server_stream_run",
    "agent_server_stream_run_on_thread",
    "agent_server_update_state",
    "agent_server_wait_for_end_of_run",
    "agent_server_wait_for_run",
    "agent_server_wait_for_run_on_thread",
    "agent_server_create_assistant",
    "agent_server_delete_assistant",
    "agent_server_get_assistant",
    "agent_server_get_graph",
    "agent_server_get_schemas",
    "agent_server_get_subgraph",
    "agent_server_get_subgraphs",
    "agent_server_list_assistant_versions",
    "agent_server_restore_assistant",
    "agent_server_update_assistant",
];

const COPY_ABSENT: &str = "409 thread_absent";

pub const ROWS: &[Row] = &[
    // Answers the thread, so to append alone is not enough.
    row(
        "agent_server_create_thread",
        |thread, _| body(json!({"thread_id": thread, "if_exists": "do_nothing"})),
        answers([OK, TAKEN, DENIED, DENIED, DENIED]),
    ),
    row("agent_server_get_thread", |thread, _| of(thread), READ_THREAD),
    row(
        "agent_server_update_thread",
        |thread, _| with(thread, json!({"metadata": {"a": 1}})),
        answers([NO_THREAD, NO_THREAD, NO_THREAD, DENIED, NO_THREAD]),
    ),
    row(
        "agent_server_delete_thread",
        |thread, _| of(thread),
        answers([NO_THREAD, NO_THREAD, NO_THREAD, DENIED, DENIED]),
    ),
    row(
        "agent_server_copy_thread",
        |thread, _| of(thread),
        answers([COPY_ABSENT, COPY_ABSENT, COPY_ABSENT, DENIED, DENIED]),
    ),
    row("agent_server_get_thread_storage", |thread, _| of(thread), READ_THREAD),
    row("agent_server_follow_events", |thread, _| of(thread), READ_THREAD),
    row(
        "agent_server_search_threads",
        |_, _| body(json!({})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row(
        "agent_server_count_threads",
        |_, _| body(json!({})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row(
        "agent_server_prune_threads",
        |thread, _| body(json!({"thread_ids": [thread]})),
        answers([OK, NO_THREAD, NO_THREAD, DENIED, DENIED]),
    ),
    row("agent_server_get_state", |thread, _| of(thread), READ_THREAD),
    row("agent_server_get_state_at", |thread, _| of(thread), READ_THREAD),
    row(
        "agent_server_get_state_of_checkpoint",
        |thread, _| with(thread, json!({"checkpoint": {}, "subgraphs": true})),
        READ_THREAD,
    ),
    row("agent_server_list_states", |thread, _| of(thread), READ_THREAD),
    row("agent_server_find_states", |thread, _| with(thread, json!({"limit": 9})), READ_THREAD),
    row("agent_server_list_runs", |thread, _| of(thread), READ_THREAD),
    row(
        "agent_server_put_item",
        |thread, _| body(json!({"namespace": ["ann", thread], "key": "k", "value": {"n": 1}})),
        WRITE_ITEM,
    ),
    row(
        "agent_server_get_item",
        |thread, _| query(&format!("?namespace=ann.{thread}&key=k")),
        READ,
    ),
    row(
        "agent_server_delete_item",
        |thread, _| body(json!({"namespace": ["ann", thread], "key": "k"})),
        WRITE_ITEM,
    ),
    row(
        "agent_server_search_items",
        |thread, _| body(json!({"namespace_prefix": ["ann", thread]})),
        READ,
    ),
    row("agent_server_list_namespaces", |_, _| body(json!({})), READ),
    row(
        "agent_server_search_assistants",
        |_, _| body(json!({})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row(
        "agent_server_count_assistants",
        |_, _| body(json!({})),
        answers([OK, OK, DENIED, DENIED, DENIED]),
    ),
    row("agent_server_search_crons", |_, _| body(json!({})), ANYBODY),
    row("agent_server_count_crons", |_, _| body(json!({})), ANYBODY),
];

fn of(thread: &str) -> Request {
    Request::Thread(thread.to_owned(), None)
}

fn with(thread: &str, body: Value) -> Request {
    Request::Thread(thread.to_owned(), Some(body))
}

/// The path of a route about this thread.
pub fn path_of_thread(path: &str, thread: &str) -> String {
    let path = path.replace("{thread_id}", thread).replace("{checkpoint_id}", "1");
    path.replace("{run_id}", "r-1").replace("{assistant_id}", "a-1")
}

#[tokio::test]
async fn what_would_run_a_graph_is_refused_and_tells_nothing_of_foreign_threads() {
    let it = World::new().await;
    let all: Vec<Route> =
        routes().into_iter().filter(|it| REFUSED.contains(&it.operation.as_str())).collect();
    assert_eq!(all.len(), REFUSED.len());
    for route in all {
        let is_of_thread = route.path.contains("{thread_id}");
        // Nobody's threads name this one.
        let is_of_assistant = route.path.starts_with("/assistants/");
        let is_of_run = route.path.contains("{run_id}") || route.path == "/runs/cancel";
        let own = match route.operation.as_str() {
            // Somebody has the lease of the thread.
            "agent_server_update_state" => (409, "lease_held"),
            _ if is_of_assistant => (404, "assistant_not_found"),
            _ if is_of_run => (404, "run_not_found"),
            _ => (422, "needs_graph"),
        };
        let ask = async |who: Option<&str>, thread: &str| {
            let headers: Vec<_> = who.map(|it| ("x-api-key", it)).into_iter().collect();
            let request = with(thread, json!({}));
            it.ask_with(&route, &request, &headers).await.problem()
        };
        assert_eq!(ask(None, THREAD).await, (401, "unauthorized".to_owned()), "{route:?}");
        assert_eq!(ask(Some(&it.acme), THREAD).await, (own.0, own.1.to_owned()), "{route:?}");
        for who in [&it.bob, &it.globex, &it.elsewhere] {
            let foreign = ask(Some(who), THREAD).await;
            assert_eq!(foreign, ask(Some(who), NOBODYS).await, "{route:?}");
            let is_listing = route.path.starts_with("/assistants/") && *who == it.elsewhere;
            let expected = match () {
                () if is_of_thread => (404, "thread_not_found"),
                () if is_listing => (403, "not_granted"),
                () => own,
            };
            assert_eq!(foreign, (expected.0, expected.1.to_owned()), "{route:?}");
        }
    }
}
