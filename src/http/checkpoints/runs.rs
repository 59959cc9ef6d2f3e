//! Serves `POST /v1/checkpoints/delete-for-runs`: removes the checkpoints of runs.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::Result;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::http::Empty;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

/// Delete the checkpoints of runs
///
/// In all threads that the caller may write to. Checkpoints that stay keep their state, also that of delta channels.
#[utoipa::path(
    post, path = "/v1/checkpoints/delete-for-runs", operation_id = "delete_checkpoints_of_runs", tag = "checkpoints",
    request_body(content = DeleteForRunsBody, example = json!({"run_ids": ["1ef4f797-8335-6428-8001-8a1503f9b875"]})),
    responses(
        (status = 200, description = "Deleted, or never there", body = Empty),
        (status = 409, description = "`lease_held`"),
    ),
)]
pub async fn delete_for_runs(State(app): State<Arc<App>>, call: Call<DeleteForRuns>) -> Answer {
    let Call { caller, deadline, input: DeleteForRuns(run_ids), reply } = call;
    app.checkpoints.delete_for_runs(&caller, &run_ids, deadline).await?;
    reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteForRuns)]
pub struct DeleteForRunsBody {
    /// At most 1,000.
    run_ids: Vec<Text>,
}

/// Run ids, legal ones.
pub struct DeleteForRuns(Vec<String>);

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
