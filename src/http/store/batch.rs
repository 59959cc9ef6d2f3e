//! Serves `POST /v1/store/batch`: runs several operations of the store, with a result for each.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answers::{ItemOut, NamespacesOut, PageOut};
use super::handlers::{CountOut, GotItem, VersionOut};
use super::wire::{CountBody, DeleteBody, GetBody, ListBody, PutBody, SearchBody};
use crate::app::App;
use crate::domain::Result;
use crate::domain::store::item::{ItemOp, ItemSort, OpResult};
use crate::domain::store::service::ItemBatchRequest;
use crate::http::Empty;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::problem::Problem;

/// Run operations of the store together
///
/// All reads see the state from before the batch; of several changes of one item the last one counts. With `atomic` (the
/// default) all changes happen or none, and the first error is the error of the call, its field begins with `ops[n]`. Without,
/// each operation has its own result or `error`. Searches, lists and counts have the time of one search together,
/// `search_seconds_max`; what has none left is `deadline_exceeded`. Gets and changes are not cut off.
#[utoipa::path(
    post, path = "/v1/store/batch", operation_id = "run_store_batch", tag = "store",
    request_body(content = BatchBody, example = json!({"atomic": false, "ops": [
        {"put": {"namespace": ["ann", "memories"], "key": "likes", "value": {"text": "tea"}}},
        {"get": {"namespace": ["ann", "memories"], "key": "name"}},
        {"search": {"prefix": ["ann"], "limit": 10}}
    ]})),
    responses(
        (status = 200, description = "One result per operation, in their order", body = BatchOut,
            example = json!({"results": [{"version": 1_793_404_800_000_000_i64}, {}, {"items": []}]})),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn batch(State(app): State<Arc<App>>, call: Call<Batch>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let Batch { ops, atomic, idempotency } = input;
    let sorts: Vec<ItemSort> = ops.iter().map(sort_of).collect();
    let request = ItemBatchRequest { ops, atomic, idempotency, deadline };
    let results = app.items.batch(&caller, request).await?;
    let results = results.into_iter().zip(sorts).map(|(it, sort)| ResultOut::new(it, sort));
    reply.with(&BatchOut { results: results.collect() }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StoreBatch)]
pub struct BatchBody<'a> {
    /// At most 1,000.
    #[serde(borrow)]
    ops: Vec<OpBody<'a>>,
    /// Default true.
    atomic: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StoreOp)]
pub enum OpBody<'a> {
    #[serde(borrow)]
    Put(PutBody<'a>),
    #[serde(borrow)]
    Get(GetBody<'a>),
    #[serde(borrow)]
    Delete(DeleteBody<'a>),
    #[serde(borrow)]
    Search(Box<SearchBody<'a>>),
    ListNamespaces(ListBody),
    #[serde(borrow)]
    Count(CountBody<'a>),
}

pub struct Batch {
    ops: Vec<Result<ItemOp>>,
    atomic: bool,
    idempotency: Option<(String, [u8; 32])>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StoreResults)]
pub struct BatchOut {
    results: Vec<ResultOut>,
}

/// As the call for the operation alone answers it, or why there is no result.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = StoreResult)]
pub enum ResultOut {
    Version(VersionOut),
    Page(PageOut),
    Namespaces(NamespacesOut),
    Count(CountOut),
    Failed(FailedOut),
    Got(Box<GotItem>),
    Deleted(Empty),
}

#[derive(Serialize, ToSchema)]
#[schema(as = FailedStoreOp)]
pub struct FailedOut {
    error: ErrorOut,
}

/// What a call for the operation alone would have answered as a problem.
#[derive(Serialize, ToSchema)]
#[schema(as = StoreOpError)]
pub struct ErrorOut {
    status: u16,
    code: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<i64>,
}

impl ResultOut {
    fn new(result: Result<OpResult>, sort: ItemSort) -> Self {
        match result {
            Ok(OpResult::Put(version)) => Self::Version(VersionOut { version }),
            Ok(OpResult::Got(item)) => {
                Self::Got(Box::new(GotItem { item: item.map(ItemOut::from) }))
            }
            Ok(OpResult::Deleted) => Self::Deleted(Empty {}),
            Ok(OpResult::Found(page)) => Self::Page(PageOut::new(page, sort)),
            Ok(OpResult::Namespaces(found)) => Self::Namespaces(NamespacesOut::from(found)),
            Ok(OpResult::Count(count)) => Self::Count(CountOut { count }),
            Err(error) => Self::Failed(FailedOut { error: ErrorOut::new(error.into()) }),
        }
    }
}

impl ErrorOut {
    fn new(problem: Problem) -> Self {
        if let Some(cause) = &problem.cause {
            // The call as a whole succeeds, so the edge does not log it.
            tracing::error!(%cause, "an operation of a batch failed");
        }
        let (status, code, _) = problem.code.parts();
        Self {
            status,
            code,
            detail: problem.detail.into_owned(),
            field: problem.field,
            limit: problem.limit,
            current_version: problem.current_version,
        }
    }
}

fn sort_of(op: &Result<ItemOp>) -> ItemSort {
    match op {
        Ok(ItemOp::Search(query)) => query.sort,
        _ => ItemSort::Created,
    }
}

impl Input for Batch {
    type Wire<'a> = BatchBody<'a>;

    fn from_wire(wire: BatchBody<'_>, received: &Received) -> Result<Self> {
        let ops = wire.ops.into_iter().map(|op| match op {
            OpBody::Put(put) => put.into_domain(received).map(ItemOp::Change),
            OpBody::Get(get) => get.into_domain().map(ItemOp::Get),
            OpBody::Delete(delete) => delete.into_domain().map(ItemOp::Change),
            OpBody::Search(search) => search.into_domain().map(ItemOp::Search),
            OpBody::ListNamespaces(list) => list.into_domain().map(ItemOp::ListNamespaces),
            OpBody::Count(count) => count.into_domain().map(ItemOp::Count),
        });
        Ok(Self {
            ops: ops.collect(),
            atomic: wire.atomic.unwrap_or(true),
            idempotency: received.idempotency("/v1/store/batch"),
        })
    }
}
