//! Serves `POST /v1/threads/rewind`: puts a thread back to one of its checkpoints.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::Result;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::snapshots::rewind::{RewindThread, Rewound};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

const REWIND: &str = "/v1/threads/rewind";

/// Rewind a thread
///
/// The thread keeps the checkpoint with its writes, its ancestors, and what of subgraphs is not newer: what a fork from there would have.
/// It gets a new generation, so that writers that still hold the old one are refused. The thread as it was is a snapshot, unless
/// `safety` is false: its restore undoes the rewind. `dry_run` says what would go.
#[utoipa::path(
    post, path = REWIND, operation_id = "rewind_thread", tag = "threads",
    request_body(content = RewindBody, example = json!({"thread_id": "t-1", "checkpoint_id": "1f0c-2", "dry_run": true})),
    responses(
        (status = 200, description = "Rewound, or what would go", body = RewoundOut, example = json!({"dry_run": true,
            "checkpoints": 4, "checkpoints_removed": 2, "writes_removed": 5, "generation": "9f0c"})),
        (status = 404, description = "`thread_not_found`, `not_found`: no such checkpoint"),
        (status = 409, description = "`lease_held`, `fence_stale`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn rewind(State(app): State<Arc<App>>, call: Call<Rewind>) -> Answer {
    let Call { caller, deadline, input: Rewind(request), reply } = call;
    let rewound = app.snapshots.rewind(&caller, &request, deadline).await?;
    if !rewound.dry_run {
        app.values.of(&caller, &request.thread_id).forget();
    }
    reply.with(&RewoundOut::from(rewound)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RewindThread)]
pub struct RewindBody {
    thread_id: Text,
    /// Of the newest checkpoint that stays.
    checkpoint_id: Text,
    /// Default: the root graph's.
    checkpoint_ns: Option<Text>,
    /// Default false.
    dry_run: Option<bool>,
    /// Keep the thread as it was as a snapshot. Default true.
    safety: Option<bool>,
    /// Needed while the thread's lease is held.
    fence: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RewoundThread)]
pub struct RewoundOut {
    dry_run: bool,
    /// Those that stay.
    checkpoints: i64,
    checkpoints_removed: i64,
    writes_removed: i64,
    generation: String,
    /// Restore it to undo the rewind. It stays until it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    safety_snapshot_id: Option<String>,
}

pub struct Rewind(RewindThread);

impl Input for Rewind {
    type Wire<'a> = RewindBody;

    fn from_wire(wire: RewindBody, received: &Received) -> Result<Self> {
        let ns = wire.checkpoint_ns.map_or_else(String::new, |it| it.0);
        Ok(Self(RewindThread {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            ns: CheckpointNs::new(ns)?,
            checkpoint_id: CheckpointId::new(wire.checkpoint_id.0)?,
            dry_run: wire.dry_run.unwrap_or(false),
            safety: wire.safety.unwrap_or(true),
            fence: wire.fence,
            idempotency: received.idempotency(REWIND),
        }))
    }
}

impl From<Rewound> for RewoundOut {
    fn from(rewound: Rewound) -> Self {
        let Rewound {
            dry_run,
            checkpoints,
            checkpoints_removed,
            writes_removed,
            generation,
            safety_snapshot_id,
        } = rewound;
        Self {
            dry_run,
            checkpoints,
            checkpoints_removed,
            writes_removed,
            generation,
            safety_snapshot_id,
        }
    }
}
