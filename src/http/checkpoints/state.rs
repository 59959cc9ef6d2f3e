//! Serves `GET /v1/state`: the state of a graph in plain JSON, for people and for programs without the serializers of LangGraph.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::channel_values::{RawChannel, RawValue, unreadable};
use super::cuts::{CutParams, Held, budget};
use crate::app::App;
use crate::decode::state::state;
use crate::decode::tasks::{Interrupt, Task, Write};
use crate::decode::values::{channels, size_bytes};
use crate::decode::{Budget, Cuts, Json};
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::{LargeValues, PendingWrite, Target};
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::checkpoints::wanted::WantedChannels;
use crate::domain::limits::LIMITS;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::query_fields::query_of;

/// Get a state
///
/// The newest of a thread, or the record of a checkpoint that is named, in plain JSON: what the graph's `get_state` tells, with
/// messages as objects with `type` and `content`, delta channels replayed, the tasks that are next, what they ask and what they have
/// written. Values are decoded for display and never built: what cannot be shown is `{"$opaque": {"codec", "size_bytes", "reason"}}`.
/// The reducers of a graph are not known here, so the newest state shows what finished parallel tasks wrote in `writes` and, but for
/// delta channels, not yet in `values`. An absent `state` means that there is no such checkpoint, and nothing else.
///
/// With `string_bytes_max`, `items_max` or `from`, a text, list or object that is shown in part is
/// `{"$cut": {"size_bytes", "length", "from", "head", "pointer"}}`. `size_bytes` counts the text, or the JSON text of a list or object
/// without escapes; `length` and `from` are those of a list or object, whose `head` begins at `from`. `pointer` names the place: send it
/// as `pointer`, without the other three, and it comes whole. Places outside of `values` have none. An object of the graph's own whose only
/// field is `$cut` is answered as cut, too, with none of its fields, so that every `$cut` of such an answer is a cut. Keys of objects
/// are never cut. With `pointer`, `values` has its channel only, whose value is that of the place, and nothing where there is no such
/// place.
#[utoipa::path(
    get, path = "/v1/state", operation_id = "get_state", tag = "checkpoints",
    params(
        StateParams,
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of what the caller holds"),
    ),
    responses(
        (status = 200, description = "The state, if there is one", body = GotState, headers(
            ("ETag" = String, description = "Of everything that the answer shows, pending writes too; where the query has a `checkpoint_id`"),
        ), example = json!({"state": {
            "thread_id": "t-1", "checkpoint_ns": "", "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            "parent_checkpoint_id": "1ef4f797-8335-6428-8000-8a1503f9b874", "created_at": "2026-01-31T12:00:09.000000+00:00",
            "metadata": {"source": "loop", "step": 1, "parents": {}},
            "values": {"messages": [
                {"content": "Remember the door code", "additional_kwargs": {}, "response_metadata": {}, "type": "human",
                    "name": null, "id": "h1"}
            ]},
            "next": ["ask"],
            "tasks": [{
                "id": "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2", "name": "ask", "path": ["__pregel_pull", "ask"],
                "interrupts": [{"id": "32b1c9", "value": {"question": "Which door?"}}]
            }],
            "interrupts": [{"id": "32b1c9", "value": {"question": "Which door?"}}],
            "writes": [{
                "task_id": "a4ee5b0f-c3f7-d0f2-3b69-c0580291e4b2", "channel": "__interrupt__", "tag": "msgpack",
                "value": [{"value": {"question": "Which door?"}, "id": "32b1c9"}]
            }]
        }})),
        (status = 304, description = "The caller holds it already"),
        (status = 413, description = "`too_large`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    call: BodylessCall,
    headers: HeaderMap,
    uri: Uri,
) -> Answer {
    let mut params: StateParams = query_of(&uri)?;
    let raw = params.raw.unwrap_or(false);
    let cuts = params.cuts()?;
    let target = params.target()?;
    let is_live = target.id.is_none();
    let held = Held::new(!is_live, headers, &uri);
    let (found, _) = app.checkpoints.get(&call.caller, &target, &[], None).await?;
    let shown = cpu_pool::run_sized(&call.caller.tenant, size_bytes(&found), move || {
        held.or_show(found, |found| StateOut::of(found, is_live, raw, cuts))
    })
    .await?;
    shown?.reply(call.reply, |state| GotState { state }).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StateParams {
    thread_id: String,
    /// Absent: the root graph.
    checkpoint_ns: Option<String>,
    /// Absent: the newest, by byte order.
    checkpoint_id: Option<String>,
    /// Also what is stored, as it is: base64 with the tag of its codec. Default false.
    raw: Option<bool>,
    /// Cuts longer texts: bytes of UTF-8.
    string_bytes_max: Option<u64>,
    /// Cuts longer lists, and objects with more fields, at any depth.
    items_max: Option<u64>,
    /// Where the value of a channel, or the value that `pointer` names, begins to be shown, if it is a list or an object. Below zero
    /// it counts from the end. Default 0.
    from: Option<i64>,
    /// Only this place of the values, as a JSON Pointer that begins with the channel: `/messages/3/content`.
    pointer: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct GotState {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StateOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = State)]
pub struct StateOut {
    thread_id: String,
    checkpoint_ns: String,
    checkpoint_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    /// As the client said when it made the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[schema(value_type = serde_json::Value)]
    metadata: Json,
    /// An object by channel, without those that are the graph's own affair; of a graph with one unnamed value, the value.
    #[schema(value_type = serde_json::Value)]
    values: Json,
    /// Names of the tasks that have still to run.
    next: Vec<String>,
    tasks: Vec<TaskOut>,
    /// Those of all tasks.
    interrupts: Vec<InterruptOut>,
    /// Pending writes, in (task path, task id, index) order.
    writes: Vec<StateWrite>,
    /// With `raw` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Vec<RawChannel>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StateTask)]
pub struct TaskOut {
    /// Absent where the checkpoint's id is none that LangGraph makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Name of the node; `__start__` for the function of a functional graph.
    name: String,
    /// `["__pregel_pull", name]` or `["__pregel_push", index, …]`.
    #[schema(value_type = Vec<serde_json::Value>)]
    path: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    error: Option<Json>,
    interrupts: Vec<InterruptOut>,
    /// What the task wrote, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Json>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StateInterrupt)]
pub struct InterruptOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[schema(value_type = serde_json::Value)]
    value: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    response_schema: Option<Json>,
}

#[derive(Serialize, ToSchema)]
pub struct StateWrite {
    task_id: String,
    channel: String,
    tag: String,
    #[schema(value_type = serde_json::Value)]
    value: Json,
    /// With `raw` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<RawValue>,
}

impl StateParams {
    fn cuts(&mut self) -> Result<Cuts> {
        let Self { string_bytes_max, items_max, from, pointer, .. } = self;
        let (string_bytes_max, items_max, from) = (*string_bytes_max, *items_max, *from);
        CutParams { string_bytes_max, items_max, from, pointer: pointer.take() }.into_cuts()
    }

    fn target(self) -> Result<Target> {
        Ok(Target {
            thread_id: ThreadId::new(self.thread_id)?,
            ns: CheckpointNs::new(self.checkpoint_ns.unwrap_or_default())?,
            id: self.checkpoint_id.map(CheckpointId::new).transpose()?,
            large_values: match self.raw {
                Some(true) => LargeValues::Inline,
                _ => LargeValues::Shown,
            },
            wanted: WantedChannels::All,
        })
    }
}

impl StateOut {
    /// None: there is no such checkpoint.
    fn of(
        found: CheckpointTuple,
        is_live: bool,
        with_raw: bool,
        cuts: Cuts,
    ) -> Result<Option<Self>> {
        let mut budget = budget(LIMITS.display_bytes_max, cuts);
        let shown = state(&found, is_live, &mut budget).map_err(unreadable)?;
        let raw = with_raw.then(|| {
            let stored = channels(&found, &[], &mut Budget::new(LIMITS.display_bytes_max));
            stored.into_iter().map(|it| RawChannel::of(it.name, it.stored)).collect()
        });
        let (Some(view), Some(shown)) = (found.view, shown) else { return Ok(None) };
        let interrupts = shown.interrupts().into_iter().map(InterruptOut::from).collect();
        let written = shown.writes.into_iter().zip(view.writes);
        let write = |(shown, stored): (Write, PendingWrite)| StateWrite {
            task_id: shown.task_id,
            channel: shown.channel,
            tag: shown.tag,
            value: shown.value,
            raw: with_raw.then(|| RawValue::of(stored.value)),
        };
        Ok(Some(Self {
            thread_id: view.thread_id,
            checkpoint_ns: view.ns,
            checkpoint_id: view.id,
            parent_checkpoint_id: view.parent,
            created_at: shown.created_at,
            metadata: shown.metadata,
            values: shown.values,
            next: shown.next,
            tasks: shown.tasks.into_iter().map(TaskOut::from).collect(),
            interrupts,
            writes: written.map(write).collect(),
            raw,
        }))
    }
}

impl From<Task> for TaskOut {
    fn from(it: Task) -> Self {
        Self {
            id: it.id,
            name: it.name,
            path: it.path,
            error: it.error,
            interrupts: it.interrupts.into_iter().map(InterruptOut::from).collect(),
            result: it.result,
        }
    }
}

impl From<Interrupt> for InterruptOut {
    fn from(it: Interrupt) -> Self {
        Self { id: it.id, value: it.value, response_schema: it.response_schema }
    }
}
