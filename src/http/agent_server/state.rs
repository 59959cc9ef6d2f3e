//! Serves the states of a thread.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::Deserialize;
use utoipa::ToSchema;

use super::call::{AskedPath, JsonCall, PlainCall};
use super::query::{flag, list};
use super::select::Select;
use super::shown_ids::ShownIds;
use super::subgraphs::StateReader;
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call, Reply};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::path_ids::PathIds;
use crate::http::request::query_fields::Fields;

/// Get the newest state
///
/// Of the root graph, in plain JSON. A thread without checkpoints has the empty state. Nothing of it is built: what cannot be shown is
/// `{"$opaque": {"codec", "size_bytes", "reason"}}` in its place.
#[utoipa::path(
    get, path = "/threads/{thread_id}/state", operation_id = "agent_server_get_state", tag = "agent-server",
    params(
        ("thread_id" = String, Path),
        ("subgraphs" = Option<String>, Query, description = "true: with the states of subgraphs"),
        ("select" = Option<String>, Query, description = "Fields, or `values.KEY`; by comma, repeated, or a JSON list"),
    ),
    responses(
        (status = 200, description = "The state", body = AgentServerState),
        (status = 404, description = "`thread_not_found`"), (status = 413, description = "`too_large`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    uri: Uri,
    call: PlainCall,
) -> Answer {
    let wanted = Wanted { at: At::default(), ..Wanted::of_query(&uri)? };
    show(&app, &call.caller, (path, ids), wanted, call.reply).await
}

/// Get the state of a checkpoint
///
/// The record of that step. A checkpoint that is not there has the empty state.
#[utoipa::path(
    get, path = "/threads/{thread_id}/state/{checkpoint_id}", operation_id = "agent_server_get_state_at", tag = "agent-server",
    params(
        ("thread_id" = String, Path), ("checkpoint_id" = String, Path),
        ("subgraphs" = Option<String>, Query, description = "true: with the states of subgraphs"),
        ("select" = Option<String>, Query, description = "Fields, or `values.KEY`; by comma, repeated, or a JSON list"),
    ),
    responses(
        (status = 200, description = "The state", body = AgentServerState),
        (status = 404, description = "`thread_not_found`"), (status = 413, description = "`too_large`"),
    ),
)]
pub async fn get_at(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    path_ids: PathIds,
    uri: Uri,
    call: PlainCall,
) -> Answer {
    let id = Some(CheckpointId::new(path_ids.id("checkpoint_id"))?);
    let wanted = Wanted { at: At { id, ..At::default() }, ..Wanted::of_query(&uri)? };
    show(&app, &call.caller, (path, ids), wanted, call.reply).await
}

/// Get the state at a checkpoint
///
/// Also in the namespace of a subgraph. Without `checkpoint_id` the newest there. A `thread_id` inside means nothing.
#[utoipa::path(
    post, path = "/threads/{thread_id}/state/checkpoint", operation_id = "agent_server_get_state_of_checkpoint", tag = "agent-server",
    params(("thread_id" = String, Path)),
    request_body(content = StateBody, example = json!({"checkpoint": {"checkpoint_ns": ""}, "subgraphs": true})),
    responses(
        (status = 200, description = "The state", body = AgentServerState),
        (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn get_of_checkpoint(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    call: JsonCall<Wanted>,
) -> Answer {
    let Call { caller, input, reply, .. } = call.0;
    show(&app, &caller, (path, ids), input, reply).await
}

async fn show(
    app: &App,
    caller: &Caller,
    (path, ids): (AskedPath, ShownIds),
    wanted: Wanted,
    reply: Reply,
) -> Answer {
    let wanted = &wanted;
    let read = |thread_id: ThreadId| async move {
        let Wanted { at, subgraphs, select } = wanted;
        let shown_id = ids.of(thread_id.as_str());
        let reader = StateReader { app, caller, thread_id: &thread_id, shown_id: &shown_id };
        reader.read(at.ns.clone(), at.id.clone(), select, *subgraphs).await
    };
    reply.with(&path.read((app, caller), read).await?).await
}

/// A place in the history of a thread.
pub struct At {
    pub ns: CheckpointNs,
    pub id: Option<CheckpointId>,
}

/// What is asked of a state.
pub struct Wanted {
    at: At,
    subgraphs: bool,
    select: Select,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerStateRequest)]
pub struct StateBody {
    checkpoint: CheckpointIn,
    /// With the states of subgraphs. Default false.
    subgraphs: Option<bool>,
    /// Fields, or `values.KEY`. Absent or empty: all.
    select: Option<Vec<Text>>,
}

#[derive(Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "as clients send them")]
#[schema(as = AgentServerCheckpoint)]
pub struct CheckpointIn {
    /// Absent: the root graph.
    checkpoint_ns: Option<Text>,
    /// Absent: the newest.
    checkpoint_id: Option<Text>,
    /// Ids by namespace: what counts where there is no `checkpoint_id`.
    #[schema(value_type = Option<serde_json::Value>)]
    checkpoint_map: Option<HashMap<String, Option<Text>>>,
}

impl Default for At {
    fn default() -> Self {
        Self { ns: CheckpointNs::root(), id: None }
    }
}

impl Wanted {
    /// At the newest checkpoint.
    fn of_query(uri: &Uri) -> std::result::Result<Self, crate::http::request::problem::Problem> {
        let fields = Fields::with_unknown(uri)?;
        let select = Select::new(&list(&fields, "select")?)?;
        Ok(Self { at: At::default(), subgraphs: flag(&fields, "subgraphs")?, select })
    }
}

impl CheckpointIn {
    /// # Errors
    /// 422 naming the field.
    pub fn into_domain(self) -> Result<At> {
        let Self { checkpoint_ns, checkpoint_id, checkpoint_map } = self;
        let ns = CheckpointNs::new(checkpoint_ns.map_or_else(String::new, |it| it.0))?;
        let mapped = || checkpoint_map?.remove(ns.as_str()).flatten();
        let id = checkpoint_id.or_else(mapped).map(|it| CheckpointId::new(it.0)).transpose();
        Ok(At { id: id.map_err(|error: Error| error.within("checkpoint"))?, ns })
    }
}

impl Input for Wanted {
    type Wire<'a> = StateBody;

    fn from_wire(wire: StateBody, _: &Received) -> Result<Self> {
        Ok(Self {
            at: wire.checkpoint.into_domain()?,
            subgraphs: wire.subgraphs.unwrap_or(false),
            select: selected(wire.select)?,
        })
    }
}

/// # Errors
/// As [`Select::new`].
pub fn selected(names: Option<Vec<Text>>) -> Result<Select> {
    let names: Vec<String> = names.unwrap_or_default().into_iter().map(|it| it.0).collect();
    Select::new(&names)
}

/// A state, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub struct AgentServerState {
    values: serde_json::Value,
    /// Names of the tasks that have still to run.
    next: Vec<String>,
    /// With `id`, `name`, `path`, `error`, `interrupts`, `checkpoint`, `state` and `result`.
    tasks: Vec<serde_json::Value>,
    metadata: Option<serde_json::Value>,
    created_at: Option<String>,
    /// With `thread_id`, `checkpoint_ns` and `checkpoint_id`; in a subgraph with `checkpoint_map`, too.
    checkpoint: Option<serde_json::Value>,
    parent_checkpoint: Option<serde_json::Value>,
    /// Those of all tasks.
    interrupts: Vec<serde_json::Value>,
    checkpoint_id: Option<String>,
    parent_checkpoint_id: Option<String>,
}
