//! Refuses runs, in words that say where they belong: the server keeps what graphs store, and runs none.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use serde::Serialize;
use utoipa::ToSchema;

use super::call::{PlainCall, ThreadPath, no_thread};
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::names::ThreadId;
use crate::http::request::call::Answer;
use crate::http::request::problem::{Code, Problem};

const RUNS: &str = "threadkeep keeps threads and runs no graph; start runs in the process that has the graph, with ThreadkeepSaver";

/// List runs
///
/// There are none: runs are where the graph is.
#[utoipa::path(
    get, path = "/threads/{thread_id}/runs", operation_id = "agent_server_list_runs", tag = "agent-server",
    params(("thread_id" = String, Path)),
    responses(
        (status = 200, description = "None", body = Vec<AgentServerRun>, example = json!([])),
        (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn list(State(app): State<Arc<App>>, path: ThreadPath, call: PlainCall) -> Answer {
    require_thread(&app, &call.caller, &path.0).await?;
    call.reply.with(&[(); 0]).await
}

/// # Errors
/// 404.
pub async fn require_thread(app: &App, caller: &Caller, id: &ThreadId) -> Result<(), Problem> {
    let found = app.threads.get(caller, id).await?;
    found.map(drop).ok_or_else(|| no_thread(id))
}

/// A call that would need the graph.
pub fn needs_graph(detail: &'static str) -> Problem {
    Problem::new(Code::NeedsGraph, detail)
}

fn no_run() -> Problem {
    Problem::new(Code::RunNotFound, "Run not found")
}

/// Refuses what would run a graph.
macro_rules! refuse {
    ($($name:ident $method:ident $path:literal $id:literal $summary:literal;)*) => { $(
        #[doc = $summary]
        ///
        /// Always refused: no graph runs here.
        #[utoipa::path(
            $method, path = $path, operation_id = $id, tag = "agent-server",
            responses((status = 204, description = "Not answered: there is no graph here"), (status = 422, description = "`needs_graph`")),
        )]
        pub async fn $name(_call: PlainCall) -> Answer {
            Err(needs_graph(RUNS))
        }
    )* };
}

/// The same of an assistant, whichever it is.
macro_rules! refuse_of_assistant {
    ($($name:ident $path:literal $id:literal $summary:literal;)*) => { $(
        #[doc = $summary]
        ///
        /// Always refused: no graph runs here.
        #[utoipa::path(
            post, path = $path, operation_id = $id, tag = "agent-server", params(("assistant_id" = String, Path)),
            responses(
                (status = 204, description = "Not answered: there is no graph here"),
                (status = 422, description = "`needs_graph`"),
            ),
        )]
        pub async fn $name(_call: PlainCall) -> Answer {
            Err(needs_graph(RUNS))
        }
    )* };
}

/// The same on a thread.
macro_rules! refuse_on_thread {
    ($($name:ident $method:ident $path:literal $id:literal $summary:literal;)*) => { $(
        #[doc = $summary]
        ///
        /// Always refused: no graph runs here.
        #[utoipa::path(
            $method, path = $path, operation_id = $id, tag = "agent-server", params(("thread_id" = String, Path)),
            responses(
                (status = 204, description = "Not answered: there is no graph here"), (status = 404, description = "`thread_not_found`"),
                (status = 422, description = "`needs_graph`"),
            ),
        )]
        pub async fn $name(State(app): State<Arc<App>>, path: ThreadPath, call: PlainCall) -> Answer {
            require_thread(&app, &call.caller, &path.0).await?;
            Err(needs_graph(RUNS))
        }
    )* };
}

/// Knows no run of a thread.
macro_rules! know_none {
    ($($name:ident $method:ident $path:literal $id:literal $summary:literal;)*) => { $(
        #[doc = $summary]
        ///
        /// There are no runs, so none is found.
        #[utoipa::path(
            $method, path = $path, operation_id = $id, tag = "agent-server",
            params(("thread_id" = String, Path), ("run_id" = String, Path)),
            responses(
                (status = 204, description = "Not answered: there is no graph here"), (status = 404, description = "`run_not_found`, `thread_not_found`"),
            ),
        )]
        pub async fn $name(State(app): State<Arc<App>>, path: ThreadPath, call: PlainCall) -> Answer {
            require_thread(&app, &call.caller, &path.0).await?;
            Err(no_run())
        }
    )* };
}

refuse! {
    create post "/runs" "agent_server_create_run" "Run a graph without a thread";
    stream post "/runs/stream" "agent_server_stream_run" "Run a graph without a thread, and stream";
    wait post "/runs/wait" "agent_server_wait_for_run" "Run a graph without a thread, and wait";
    batch post "/runs/batch" "agent_server_create_runs" "Run graphs";
    create_cron post "/runs/crons" "agent_server_create_cron" "Run a graph by the clock";
    mcp post "/mcp" "agent_server_call_mcp" "Call a graph as a tool";
}

refuse_of_assistant! {
    a2a "/a2a/{assistant_id}" "agent_server_call_agent" "Call a graph as an agent";
    ui "/ui/{assistant_id}" "agent_server_get_ui" "Get what a graph draws";
}

refuse_on_thread! {
    create_on_thread post "/threads/{thread_id}/runs" "agent_server_create_run_on_thread" "Run a graph on a thread";
    stream_on_thread post "/threads/{thread_id}/runs/stream" "agent_server_stream_run_on_thread" "Run a graph on a thread, and stream";
    wait_on_thread post "/threads/{thread_id}/runs/wait" "agent_server_wait_for_run_on_thread" "Run a graph on a thread, and wait";
    create_cron_on_thread post "/threads/{thread_id}/runs/crons" "agent_server_create_cron_on_thread" "Run a graph on a thread by the clock";
    command post "/threads/{thread_id}/commands" "agent_server_run_command" "Give a command to a thread";
    follow get "/threads/{thread_id}/stream" "agent_server_follow_thread" "Follow the runs of a thread";
}

know_none! {
    get get "/threads/{thread_id}/runs/{run_id}" "agent_server_get_run" "Get a run";
    delete delete "/threads/{thread_id}/runs/{run_id}" "agent_server_delete_run" "Delete a run";
    join get "/threads/{thread_id}/runs/{run_id}/join" "agent_server_wait_for_end_of_run" "Wait for the end of a run";
    join_stream get "/threads/{thread_id}/runs/{run_id}/stream" "agent_server_follow_run" "Follow a run";
    cancel post "/threads/{thread_id}/runs/{run_id}/cancel" "agent_server_abort_run" "Cancel a run";
}

/// Cancel runs
///
/// There are no runs, so none is found.
#[utoipa::path(
    post, path = "/runs/cancel", operation_id = "agent_server_abort_runs", tag = "agent-server",
    responses((status = 204, description = "Not answered: there is no graph here"), (status = 404, description = "`run_not_found`")),
)]
pub async fn cancel_all(_call: PlainCall) -> Answer {
    Err(Problem::new(Code::RunNotFound, "No runs found to cancel."))
}

/// Search runs by the clock
///
/// There are none.
#[utoipa::path(
    post, path = "/runs/crons/search", operation_id = "agent_server_search_crons", tag = "agent-server",
    responses((status = 200, description = "None", body = Vec<AgentServerRun>, example = json!([]))),
)]
pub async fn search_crons(call: PlainCall) -> Answer {
    let mut answer = call.reply.with(&[(); 0]).await?;
    answer.headers_mut().insert("x-pagination-total", HeaderValue::from(0));
    Ok(answer)
}

/// Count runs by the clock
///
/// There are none.
#[utoipa::path(
    post, path = "/runs/crons/count", operation_id = "agent_server_count_crons", tag = "agent-server",
    responses((status = 200, description = "0", body = i64, content_type = "application/json", example = json!(0))),
)]
pub async fn count_crons(call: PlainCall) -> Answer {
    call.reply.with(&0).await
}

/// A run, of which there is none.
#[derive(Serialize, ToSchema)]
pub struct AgentServerRun {
    run_id: String,
}
