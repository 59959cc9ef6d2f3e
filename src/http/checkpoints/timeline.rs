//! Serves `POST /v1/checkpoints/timeline`: the steps of a thread without their values.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reading::{before, position};
use crate::app::App;
use crate::decode::timeline::{namespace, step};
use crate::domain::Result;
use crate::domain::checkpoints::checkpoint::ListCursor;
use crate::domain::checkpoints::timeline::{
    Timeline, TimelineNamespace, TimelineNode, TimelineQuery,
};
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor;
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

const CURSOR: &str = "timeline";
/// Any namespace.
const EVERY: &str = "*";

/// List the steps of a thread
///
/// Its checkpoints, newest first by checkpoint id (bytes), then namespace, with what is told of them by skeleton, metadata and the
/// number of their writes: no value is read. A page ends early where the documents of its checkpoints are large. An absent
/// `generation` means that there is no such thread. Sizes of values and the calls of tools are not told: both need the values.
#[utoipa::path(
    post, path = "/v1/checkpoints/timeline", operation_id = "list_timeline", tag = "checkpoints",
    request_body(content = TimelineBody, example = json!({"thread_id": "t-1", "checkpoint_ns": "*", "limit": 200})),
    responses((status = 200, description = "A page", body = TimelinePage, example = json!({
        "generation": "9f2b7c",
        "nodes": [{
            "checkpoint_ns": "", "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            "parent_checkpoint_id": "1ef4f797-8335-6428-8000-8a1503f9b874",
            "created_at": "2026-01-31T12:00:09.000000+00:00", "step": 1, "source": "loop", "node": "model",
            "changed": ["messages"], "size_bytes": 812, "writes": 2, "interrupts": 1, "error": false
        }],
        "namespaces": [
            {"checkpoint_ns": "", "checkpoints": 3, "newest": "1ef4f797-8335-6428-8001-8a1503f9b875"}
        ]
    }))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<TimelineQuery>) -> Answer {
    let Call { caller, input: query, reply, .. } = call;
    let timeline = app.checkpoints.list_timeline(&caller, &query).await?;
    let size = timeline.nodes.iter().map(|it| it.skeleton.len() + it.metadata.len()).sum();
    let page = cpu_pool::run_sized(&caller.tenant, size, move || TimelinePage::from(timeline));
    reply.with(&page.await?).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListTimeline)]
pub struct TimelineBody {
    thread_id: Text,
    /// Absent: the root graph. `*`: every namespace; one of that name is not to be had alone.
    checkpoint_ns: Option<Text>,
    /// Ids strictly smaller.
    before: Option<Text>,
    /// Ids strictly greater.
    after: Option<Text>,
    /// From 1 to `list_rows_max`, which is the default.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    cursor: Option<Text>,
}

#[derive(Serialize, ToSchema)]
pub struct TimelinePage {
    /// Of the thread; absent when there is no such thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<String>,
    nodes: Vec<TimelineNodeOut>,
    /// On the first page only: up to `list_rows_max` namespaces of the thread, those with the newest checkpoints first.
    namespaces: Vec<TimelineNamespaceOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TimelineNode)]
pub struct TimelineNodeOut {
    checkpoint_ns: String,
    checkpoint_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    /// As the client said when it made the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The node that ran, where the versions that nodes have seen tell of exactly one. What was sent leaves no trace there.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Channels with another version than in the parent, without those that are the graph's own affair. Absent where the parent is not
    /// stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Vec<String>>,
    /// Of skeleton, metadata and writes; without values, which checkpoints share.
    size_bytes: u64,
    /// Writes on the checkpoint.
    writes: u64,
    /// Tasks that asked something there, answered or not.
    interrupts: u64,
    /// Whether a task failed there.
    error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TimelineNamespace)]
pub struct TimelineNamespaceOut {
    checkpoint_ns: String,
    /// Name of the agent, as the metadata of its newest checkpoint tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// In the namespace above: what its newest checkpoint was made under.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_checkpoint_id: Option<String>,
    checkpoints: u64,
    /// Id of the newest.
    newest: String,
}

impl Input for TimelineQuery {
    type Wire<'a> = TimelineBody;

    fn from_wire(wire: TimelineBody, _: &Received) -> Result<Self> {
        let ns = match wire.checkpoint_ns {
            None => Some(CheckpointNs::new("")?),
            Some(ns) if ns.0 == EVERY => None,
            Some(ns) => Some(CheckpointNs::new(ns.0)?),
        };
        let limit = wire.limit.unwrap_or(LIMITS.list_rows_max.cast_signed());
        let query = Self {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            ns,
            before: wire.before.map(before).transpose()?,
            after: wire.after.map(after).transpose()?,
            // Below zero it is as wrong as 0.
            limit: usize::try_from(limit).unwrap_or_default(),
            position: wire.cursor.as_ref().map(|it| position(CURSOR, it)).transpose()?,
        };
        query.check()?;
        Ok(query)
    }
}

fn after(text: Text) -> Result<CheckpointId> {
    names::check("after", &text.0, LIMITS.checkpoint_id_bytes_max, false)?;
    CheckpointId::new(text.0)
}

impl From<Timeline> for TimelinePage {
    fn from(it: Timeline) -> Self {
        let position = |it: ListCursor| cursor::encode(CURSOR, &(it.id, it.thread_id, it.ns));
        Self {
            generation: it.generation,
            nodes: it.nodes.into_iter().map(TimelineNodeOut::from).collect(),
            namespaces: it.namespaces.into_iter().map(TimelineNamespaceOut::from).collect(),
            next_cursor: it.next.map(position),
        }
    }
}

impl From<TimelineNode> for TimelineNodeOut {
    fn from(it: TimelineNode) -> Self {
        let shown = step(&it.skeleton, &it.metadata, it.before.as_ref());
        Self {
            checkpoint_ns: it.ns,
            checkpoint_id: it.id,
            parent_checkpoint_id: it.parent,
            created_at: shown.created_at,
            step: shown.step,
            source: shown.source,
            node: shown.node,
            changed: shown.changed,
            size_bytes: it.size_bytes,
            writes: it.writes,
            interrupts: it.interrupts,
            error: it.has_error,
            run_id: it.run_id,
        }
    }
}

impl From<TimelineNamespace> for TimelineNamespaceOut {
    fn from(it: TimelineNamespace) -> Self {
        let shown = namespace(&it.ns, &it.metadata);
        Self {
            checkpoint_ns: it.ns,
            agent: shown.agent,
            parent_checkpoint_id: shown.parent_id,
            checkpoints: it.checkpoints,
            newest: it.newest,
        }
    }
}
