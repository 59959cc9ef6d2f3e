//! Serves `POST /v1/threads/fork`: makes a new thread from any checkpoint of another one.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::Result;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::snapshots::storage::{ForkThread, Forked};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

const FORK: &str = "/v1/threads/fork";

/// Fork a thread
///
/// A copy of the checkpoint with its writes, of its ancestors, and of what of subgraphs is not newer, into a thread that is not
/// there. It shares content with the thread that it comes from.
#[utoipa::path(
    post, path = FORK, operation_id = "fork_thread", tag = "threads",
    request_body(content = ForkBody, example = json!({"source": "t-1", "target": "t-2", "checkpoint_id": "1f0c-2"})),
    responses(
        (status = 200, description = "Forked", body = ForkedOut, example = json!({"checkpoints": 3, "generation": "9f0c"})),
        (status = 404, description = "`thread_not_found`, `not_found`: no such checkpoint"),
        (status = 409, description = "`thread_exists`, `thread_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn fork(State(app): State<Arc<App>>, call: Call<Fork>) -> Answer {
    let Call { caller, deadline, input: Fork(request), reply } = call;
    reply.with(&ForkedOut::from(app.snapshots.fork(&caller, &request, deadline).await?)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ForkThread)]
pub struct ForkBody {
    source: Text,
    target: Text,
    checkpoint_id: Text,
    /// Default: the root graph's.
    checkpoint_ns: Option<Text>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ForkedThread)]
pub struct ForkedOut {
    checkpoints: i64,
    generation: String,
}

pub struct Fork(ForkThread);

impl Input for Fork {
    type Wire<'a> = ForkBody;

    fn from_wire(wire: ForkBody, received: &Received) -> Result<Self> {
        let ns = wire.checkpoint_ns.map_or_else(String::new, |it| it.0);
        Ok(Self(ForkThread {
            source: ThreadId::new(wire.source.0).map_err(|error| error.within("source"))?,
            target: ThreadId::new(wire.target.0).map_err(|error| error.within("target"))?,
            ns: CheckpointNs::new(ns)?,
            checkpoint_id: CheckpointId::new(wire.checkpoint_id.0)?,
            idempotency: received.idempotency(FORK),
        }))
    }
}

impl From<Forked> for ForkedOut {
    fn from(forked: Forked) -> Self {
        Self { checkpoints: forked.checkpoints, generation: forked.generation }
    }
}
