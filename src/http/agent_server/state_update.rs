//! Refuses updates of a state: reducers and writers of nodes are the graph's.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::call::{JsonCall, ThreadPath, no_thread};
use super::runs::needs_graph;
use super::state::CheckpointIn;
use crate::app::App;
use crate::domain::names::CheckpointId;
use crate::domain::threads::thread::Thread;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::problem::{Code, Problem};

const GRAPH: &str = "graph_id";

/// Update the state
///
/// Always refused: what an update makes of a state is decided by the graph's reducers and nodes. Call `update_state` in the process that
/// has the graph.
#[utoipa::path(
    post, path = "/threads/{thread_id}/state", operation_id = "agent_server_update_state", tag = "agent-server",
    params(("thread_id" = String, Path)),
    request_body(content = StateUpdateBody, example = json!({"values": {"title": "another"}})),
    responses(
        (status = 204, description = "Not answered: there is no graph here"), (status = 400, description = "`bad_request`"),
        (status = 404, description = "`thread_not_found`"), (status = 422, description = "`needs_graph`, `invalid`"),
    ),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    path: ThreadPath,
    call: JsonCall<StateUpdate>,
) -> Answer {
    let Call { caller, input: StateUpdate { is_list }, .. } = call.0;
    let thread = app.threads.get(&caller, &path.0).await?.ok_or_else(|| no_thread(&path.0))?;
    if !has_graph(&thread) {
        let detail = format!(
            "Thread '{}' has no assigned graph ID: there is no associated graph, so its state cannot be updated here",
            thread.thread_id
        );
        return Err(Problem::new(Code::BadRequest, detail).at("thread_id"));
    }
    if is_list {
        let detail = "values must be an object: updates as a list are for the graph";
        return Err(Problem::new(Code::BadRequest, detail).at("values"));
    }
    Err(needs_graph(
        "the state changes by the reducers and nodes of the graph, which threadkeep does not have; call update_state in the process \
         that has the graph, with ThreadkeepSaver",
    ))
}

/// Checkpoints name it, or whoever set the metadata.
fn has_graph(thread: &Thread) -> bool {
    let set = || {
        let metadata: serde_json::Value = serde_json::from_str(&thread.details.metadata).ok()?;
        metadata.get(GRAPH).cloned()
    };
    thread.graph_id.is_some() || set().is_some_and(|it| it.is_string())
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerStateUpdate)]
pub struct StateUpdateBody<'a> {
    #[serde(borrow)]
    values: Option<Exact<'a>>,
    as_node: Option<Text>,
    checkpoint: Option<CheckpointIn>,
    checkpoint_id: Option<Text>,
}

/// An update, as far as its refusal says something of it.
pub struct StateUpdate {
    is_list: bool,
}

impl Input for StateUpdate {
    type Wire<'a> = StateUpdateBody<'a>;

    fn from_wire(wire: StateUpdateBody<'_>, _: &Received) -> Result<Self> {
        let StateUpdateBody { values, as_node, checkpoint, checkpoint_id } = wire;
        drop(as_node);
        checkpoint.map(CheckpointIn::into_domain).transpose()?;
        checkpoint_id.map(|it| CheckpointId::new(it.0)).transpose()?;
        let first = values.and_then(|it| it.0.trim_ascii_start().first().copied());
        match first {
            None | Some(b'{') => Ok(Self { is_list: false }),
            Some(b'[') => Ok(Self { is_list: true }),
            Some(_) => Err(Error::invalid("values", "values must be an object")),
        }
    }
}
