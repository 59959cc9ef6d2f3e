//! Removing checkpoints: `delete-for-runs` and `prune`.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Empty;
use super::call::{Answer, Call};
use super::decode::{Input, Received};
use super::exact::Text;
use crate::app::App;
use crate::domain::checkpoint::PruneStrategy;
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, ThreadId};
use crate::domain::{Error, Result};

/// Delete the checkpoints of runs
///
/// In all threads of the tenant. Checkpoints that stay keep their state, also that of delta channels.
#[utoipa::path(
    post, path = "/v1/checkpoints/delete-for-runs", operation_id = "delete_for_runs", tag = "checkpoints",
    request_body(content = DeleteForRunsBody, example = json!({"run_ids": ["1ef4f797-8335-6428-8001-8a1503f9b875"]})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete_for_runs(State(app): State<Arc<App>>, call: Call<DeleteForRuns>) -> Answer {
    let Call { caller, deadline, input: DeleteForRuns(run_ids), reply } = call;
    app.checkpoints.delete_for_runs(&caller, &run_ids, deadline).await?;
    reply.done()
}

/// Prune threads
///
/// `keep_latest` keeps the latest checkpoint of each namespace, `delete` nothing. Unknown threads are no error.
#[utoipa::path(
    post, path = "/v1/checkpoints/prune", operation_id = "prune_threads", tag = "checkpoints",
    request_body(content = PruneBody, example = json!({"thread_ids": ["t-1"], "strategy": "keep_latest"})),
    responses((status = 200, description = "Pruned", body = Empty)),
)]
pub async fn prune(State(app): State<Arc<App>>, call: Call<Prune>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    app.checkpoints.prune(&caller, &input.thread_ids, input.strategy, deadline).await?;
    input.thread_ids.iter().for_each(|it| app.values.of(&caller, it).forget());
    reply.done()
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteForRuns)]
pub struct DeleteForRunsBody {
    /// At most 1,000.
    run_ids: Vec<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Prune)]
pub struct PruneBody {
    /// At most 1,000.
    thread_ids: Vec<Text>,
    strategy: StrategyBody,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schema(as = PruneStrategy)]
pub enum StrategyBody {
    KeepLatest,
    Delete,
}

/// Run ids, legal ones.
pub struct DeleteForRuns(Vec<String>);

pub struct Prune {
    thread_ids: Vec<ThreadId>,
    strategy: PruneStrategy,
}

impl Input for DeleteForRuns {
    type Wire<'a> = DeleteForRunsBody;

    fn from_wire(wire: DeleteForRunsBody, _: &Received) -> Result<Self> {
        let legal = |it: Text| {
            names::check("run_ids", &it.0, LIMITS.checkpoint_id_bytes_max, true)?;
            Ok(it.0)
        };
        wire.run_ids.into_iter().map(legal).collect::<Result<_>>().map(Self)
    }
}

impl Input for Prune {
    type Wire<'a> = PruneBody;

    fn from_wire(wire: PruneBody, _: &Received) -> Result<Self> {
        let thread_id = |it: Text| {
            ThreadId::new(it.0).map_err(|error| match error {
                Error::Invalid { detail, limit, .. } => {
                    Error::Invalid { field: "thread_ids".into(), detail, limit }
                }
                other => other,
            })
        };
        Ok(Self {
            thread_ids: wire.thread_ids.into_iter().map(thread_id).collect::<Result<_>>()?,
            strategy: match wire.strategy {
                StrategyBody::KeepLatest => PruneStrategy::KeepLatest,
                StrategyBody::Delete => PruneStrategy::Delete,
            },
        })
    }
}
