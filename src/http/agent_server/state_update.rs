//! Serves updates of a state, as far as what they make of it is stored; reducers and edges of nodes are the graph's.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::call::{JsonCall, ThreadPath, no_thread};
use super::shown_ids::ShownIds;
use super::state::{At, CheckpointIn};
use super::state_writer::{Made, StateWriter, Written};
use crate::app::App;
use crate::decode::state_update::Change;
use crate::decode::{Budget, Fields, Json, read_text};
use crate::domain::limits::LIMITS;
use crate::domain::names::CheckpointId;
use crate::domain::threads::thread::Thread;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::problem::{Code, Problem};

const GRAPH: &str = "graph_id";
const COPY: &str = "__copy__";
const END: &str = "__end__";

/// Update the state
///
/// Without values: `as_node` `__copy__` copies the checkpoint, for a fork; `__end__` clears what would run next. Values without `as_node`
/// go to delta channels, and to channels that `--state-update-channels` names. Each makes the checkpoint that the graph's `update_state`
/// would make. Anything else is for the graph: call `update_state` in the process that has it.
#[utoipa::path(
    post, path = "/threads/{thread_id}/state", operation_id = "agent_server_update_state", tag = "agent-server",
    params(("thread_id" = String, Path)),
    request_body(content = StateUpdateBody, example = json!({"values": null, "as_node": "__end__"})),
    responses(
        (status = 200, description = "The new checkpoint", body = UpdatedState, example = json!({
            "checkpoint": {"thread_id": "t-1", "checkpoint_ns": "", "checkpoint_id": "1f1eaf1c-bdba-6a1f-8003-3fad73080c10"},
            "configurable": {"thread_id": "t-1", "checkpoint_ns": "", "checkpoint_id": "1f1eaf1c-bdba-6a1f-8003-3fad73080c10"},
            "checkpoint_id": "1f1eaf1c-bdba-6a1f-8003-3fad73080c10"
        })),
        (status = 400, description = "`bad_request`"),
        (status = 404, description = "`thread_not_found`"), (status = 409, description = "`lease_held`, `thread_restored`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`needs_graph`, `invalid`"),
    ),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    path: ThreadPath,
    ids: ShownIds,
    call: JsonCall<StateUpdate>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call.0;
    let thread = app.threads.get(&caller, &path.0).await?.ok_or_else(|| no_thread(&path.0))?;
    let writer = StateWriter { app: &app, caller: &caller, thread_id: &path.0, deadline };
    match writer.write(&thread, input).await? {
        Written::Checkpoint(made) => {
            reply.with(&UpdatedState::new(ids.of(&thread.thread_id), made)).await
        }
        Written::Refused(reason) => Err(refusal(&thread, &reason)),
    }
}

/// What the graph decides. Where no graph is named, as other servers say it.
fn refusal(thread: &Thread, reason: &str) -> Problem {
    if has_graph(thread) {
        let detail = format!(
            "{reason}; call update_state in the process that has the graph, with ThreadkeepSaver"
        );
        return Problem::new(Code::NeedsGraph, detail);
    }
    let detail = format!(
        "Thread '{}' has no assigned graph ID: there is no associated graph, and {reason}, so its state cannot be updated here",
        thread.thread_id
    );
    Problem::new(Code::BadRequest, detail).at("thread_id")
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
    /// An object, or null.
    #[serde(borrow)]
    values: Option<Exact<'a>>,
    /// `__copy__` and `__end__`, without values.
    as_node: Option<Text>,
    /// Absent: the newest of the root graph.
    checkpoint: Option<CheckpointIn>,
    checkpoint_id: Option<Text>,
}

/// An update, and the checkpoint that it goes on from.
pub struct StateUpdate {
    pub at: At,
    pub change: Asked,
}

pub enum Asked {
    Change(Change),
    /// Values for channels.
    Write(Fields),
    /// A list of updates.
    List,
    /// For the graph, for this reason.
    Graph(String),
}

/// Values by channel.
fn fields(text: &[u8]) -> Result<Fields> {
    let mut budget = Budget::new(LIMITS.display_bytes_max);
    match read_text(text, &mut budget) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(Error::invalid("values", "values must be an object")),
        Err(reason) => Err(Error::invalid("values", format!("values cannot be read: {reason}"))),
    }
}

impl Input for StateUpdate {
    type Wire<'a> = StateUpdateBody<'a>;

    fn from_wire(wire: StateUpdateBody<'_>, _: &Received) -> Result<Self> {
        let StateUpdateBody { values, as_node, checkpoint, checkpoint_id } = wire;
        let mut at = checkpoint.map(CheckpointIn::into_domain).transpose()?.unwrap_or_default();
        let named = checkpoint_id.map(|it| CheckpointId::new(it.0)).transpose()?;
        at.id = at.id.or(named);
        let first = values.as_ref().and_then(|it| it.0.trim_ascii_start().first().copied());
        let change = match (first, as_node.as_ref().map(|it| it.0.as_str())) {
            (None | Some(b'n'), Some(COPY)) => Asked::Change(Change::Copy),
            (None | Some(b'n'), Some(END)) => Asked::Change(Change::Clear),
            (None | Some(b'n'), None) => {
                Asked::Graph("an update without values is for the graph".to_owned())
            }
            (None | Some(b'n' | b'{'), Some(node)) => Asked::Graph(format!(
                "what node {node:?} writes, and what runs after it, is for the graph"
            )),
            (Some(b'{'), None) => Asked::Write(fields(values.map_or(b"".as_slice(), |it| it.0))?),
            (Some(b'['), _) => Asked::List,
            _ => return Err(Error::invalid("values", "values must be an object")),
        };
        Ok(Self { at, change })
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentServerUpdatedState)]
pub struct UpdatedState {
    checkpoint: MadeCheckpoint,
    /// The same.
    configurable: MadeCheckpoint,
    checkpoint_id: String,
}

/// In a subgraph with `checkpoint_map`, too.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = AgentServerMadeCheckpoint)]
pub struct MadeCheckpoint {
    thread_id: String,
    checkpoint_ns: String,
    checkpoint_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    checkpoint_map: Option<Json>,
}

impl UpdatedState {
    fn new(thread_id: String, made: Made) -> Self {
        let Made { ns, id, map } = made;
        let checkpoint = MadeCheckpoint {
            thread_id,
            checkpoint_ns: ns,
            checkpoint_id: id.clone(),
            checkpoint_map: map,
        };
        Self { configurable: checkpoint.clone(), checkpoint, checkpoint_id: id }
    }
}
