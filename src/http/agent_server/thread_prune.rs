//! Serves the removal of many threads, or of all but their newest checkpoints.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::call::JsonCall;
use super::thread_search::distinct;
use crate::app::App;
use crate::domain::Result;
use crate::domain::caller::{Caller, Grants};
use crate::domain::limits::LIMITS;
use crate::domain::names::{ThreadId, at_most};
use crate::domain::threads::retention::{PruneRequest, Pruned, Rule};
use crate::domain::threads::thread::ThreadQuery;
use crate::http::checkpoints::pruning::StrategyBody;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::problem::{Code, Problem};

/// Prune threads
///
/// Deletes them, or with `keep_latest` all but the newest checkpoint of each namespace. Threads that are not there are not counted; a caller
/// who may not see all of the tenant is told 404 instead.
#[utoipa::path(
    post, path = "/threads/prune", operation_id = "agent_server_prune_threads", tag = "agent-server",
    request_body(content = PruneBody, example = json!({"thread_ids": ["t-1"], "strategy": "keep_latest"})),
    responses(
        (status = 200, description = "Done", body = AgentServerPruned, example = json!({"pruned_count": 1})),
        (status = 404, description = "`thread_not_found`"), (status = 409, description = "`lease_held`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn prune(State(app): State<Arc<App>>, call: JsonCall<PruneThreads>) -> Answer {
    let Call { caller, deadline, input: PruneThreads { thread_ids, rule }, reply } = call.0;
    let thread_ids = distinct(app.threads.resolve(&caller, thread_ids).await?);
    let count = count_existing(&app, &caller, &thread_ids).await?;
    let request = PruneRequest { thread_ids, rule, dry_run: false };
    let (request, pruned) = app.checkpoints.prune(&caller, request, deadline).await?;
    for (thread_id, pruned) in request.thread_ids.iter().zip(&pruned) {
        let values = app.values.of(&caller, thread_id);
        if *pruned == Pruned::default() { values.forget_if_granted() } else { values.forget() }
    }
    reply.with(&AgentServerPruned { pruned_count: count }).await
}

/// # Errors
/// 404 where one is absent or foreign, for who may not see all of the tenant.
async fn count_existing(app: &App, caller: &Caller, ids: &[ThreadId]) -> Result<u64, Problem> {
    if ids.is_empty() {
        return Ok(0);
    }
    if caller.grants == Grants::Tenant {
        let named = ids.iter().map(|it| it.as_str().to_owned()).collect();
        let query = ThreadQuery { ids: Some(named), ..ThreadQuery::default() };
        return Ok(app.threads.count(caller, query).await?);
    }
    for id in ids {
        if app.threads.get(caller, id).await?.is_none() {
            let detail = "At least one thread not found or not authorized";
            return Err(Problem::new(Code::ThreadNotFound, detail).at("thread_ids"));
        }
    }
    Ok(ids.len() as u64)
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerPruneThreads)]
pub struct PruneBody {
    /// At most 1,000; of one that is named twice, once.
    thread_ids: Vec<Text>,
    /// Default `delete`.
    strategy: Option<StrategyBody>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerPruned {
    pruned_count: u64,
}

pub struct PruneThreads {
    thread_ids: Vec<ThreadId>,
    rule: Rule,
}

impl Input for PruneThreads {
    type Wire<'a> = PruneBody;

    fn from_wire(wire: PruneBody, _: &Received) -> Result<Self> {
        at_most("thread_ids", wire.thread_ids.len(), LIMITS.ids_per_request_max)?;
        let id = |it: Text| ThreadId::new(it.0).map_err(|error| error.within("thread_ids"));
        let thread_ids = wire.thread_ids.into_iter().map(id).collect::<Result<_>>()?;
        let rule = match wire.strategy {
            None | Some(StrategyBody::Delete) => Rule::DELETE,
            Some(StrategyBody::KeepLatest) => Rule::KEEP_LATEST,
        };
        Ok(Self { thread_ids, rule })
    }
}
