//! Serves the store, one operation per call, for generated clients and for people. Clients of frameworks send batches.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::answers::{ItemOut, NamespacesOut, PageOut};
use super::wire::{CountBody, DeleteBody, GetBody, ListBody, PutBody, SearchBody};
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::store::item::{ItemOp, ItemSort, OpResult};
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, Call, Reply};
use crate::http::request::decode::{Input, Received};
use crate::http::request::problem::Problem;

/// An operation on its way in, and the key of its request.
pub struct One<const ROUTE: usize> {
    op: ItemOp,
    idempotency: Option<(String, [u8; 32])>,
}

const PUT: usize = 0;
const GET: usize = 1;
const DELETE: usize = 2;
const SEARCH: usize = 3;
const NAMESPACES: usize = 4;
const COUNT: usize = 5;

/// Put an item
///
/// Creates it, or replaces its whole value and keeps `created_at`. Without `if_version` the last put wins, and a repetition puts the
/// same once more; with it, one with the same `Idempotency-Key` is answered like the first.
#[utoipa::path(
    post, path = "/v1/store/put", operation_id = "put_item", tag = "store",
    request_body(content = PutBody, example = json!({"namespace": ["ann", "memories"], "key": "likes",
        "value": {"text": "tea", "score": 0.5}, "ttl_minutes": 1440.0, "if_version": 0})),
    responses(
        (status = 200, description = "Durable", body = VersionOut, example = json!({"version": 1_793_404_800_000_000_i64})),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, call: Call<One<PUT>>) -> Answer {
    let (result, reply) = run(&app, call).await?;
    match result {
        OpResult::Put(version) => reply.with(&VersionOut { version }).await,
        _ => Err(unexpected()),
    }
}

/// Get an item
///
/// An absent `item` means that there is none, or that it is not the caller's, or that it has expired.
#[utoipa::path(
    post, path = "/v1/store/get", operation_id = "get_item", tag = "store",
    request_body(content = GetBody, example = json!({"namespace": ["ann", "memories"], "key": "likes"})),
    responses((status = 200, description = "The item, if there is one", body = GotItem)),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<One<GET>>) -> Answer {
    let (result, reply) = run(&app, call).await?;
    match result {
        OpResult::Got(item) => reply.with(&GotItem { item: item.map(ItemOut::from) }).await,
        _ => Err(unexpected()),
    }
}

/// Delete an item
///
/// No error when there is none, unless `if_version` asks for one.
#[utoipa::path(
    post, path = "/v1/store/delete", operation_id = "delete_item", tag = "store",
    request_body(content = DeleteBody, example = json!({"namespace": ["ann", "memories"], "key": "likes"})),
    responses(
        (status = 200, description = "Deleted, or never there", body = Empty),
        (status = 409, description = "`version_conflict`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<One<DELETE>>) -> Answer {
    let (_, reply) = run(&app, call).await?;
    reply.done().await
}

/// Search items
///
/// Items below a prefix that match a filter. `created` and `key` are orders that puts do not change: pages by cursor miss
/// nothing and repeat nothing while others write.
#[utoipa::path(
    post, path = "/v1/store/search", operation_id = "search_items", tag = "store",
    request_body(content = SearchBody, example = json!({"prefix": ["ann"], "filter": {"score": {"$gte": 0.5}}, "limit": 10})),
    responses((status = 200, description = "A page", body = PageOut, example = json!({"items": []}))),
)]
pub async fn search(State(app): State<Arc<App>>, call: Call<One<SEARCH>>) -> Answer {
    let sort = match &call.input.op {
        ItemOp::Search(query) => query.sort,
        _ => ItemSort::Created,
    };
    let (result, reply) = run(&app, call).await?;
    match result {
        OpResult::Found(page) => reply.with(&PageOut::new(page, sort)).await,
        _ => Err(unexpected()),
    }
}

/// List namespaces
///
/// Those that hold items, in the order of their labels. A page has at most 1,000; follow `next_cursor`.
#[utoipa::path(
    post, path = "/v1/store/namespaces", operation_id = "list_namespaces", tag = "store",
    request_body(content = ListBody, example = json!({"conditions": [{"match": "prefix", "path": ["ann", "*"]}], "max_depth": 2})),
    responses((status = 200, description = "Namespaces", body = NamespacesOut, example = json!({"namespaces": [["ann", "memories"]]}))),
)]
pub async fn list_namespaces(State(app): State<Arc<App>>, call: Call<One<NAMESPACES>>) -> Answer {
    let (result, reply) = run(&app, call).await?;
    match result {
        OpResult::Namespaces(found) => reply.with(&NamespacesOut::from(found)).await,
        _ => Err(unexpected()),
    }
}

/// Count items
#[utoipa::path(
    post, path = "/v1/store/count", operation_id = "count_items", tag = "store",
    request_body(content = CountBody, example = json!({"prefix": ["ann"]})),
    responses((status = 200, description = "How many there are", body = CountOut, example = json!({"count": 3}))),
)]
pub async fn count(State(app): State<Arc<App>>, call: Call<One<COUNT>>) -> Answer {
    let (result, reply) = run(&app, call).await?;
    match result {
        OpResult::Count(count) => reply.with(&CountOut { count }).await,
        _ => Err(unexpected()),
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = ItemVersion)]
pub struct VersionOut {
    pub version: i64,
}

#[derive(Serialize, ToSchema)]
pub struct GotItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ItemCount)]
pub struct CountOut {
    pub count: u64,
}

async fn run<const ROUTE: usize>(
    app: &App,
    call: Call<One<ROUTE>>,
) -> Result<(OpResult, Reply), Problem> {
    let Call { caller, deadline, input, reply } = call;
    Ok((ask(app, &caller, input, deadline).await?, reply))
}

async fn ask<const ROUTE: usize>(
    app: &App,
    caller: &Caller,
    one: One<ROUTE>,
    deadline: Micros,
) -> Result<OpResult> {
    app.items.run(caller, one.op, one.idempotency, deadline).await
}

fn unexpected() -> Problem {
    Error::Internal("an operation has another result than it should".into()).into()
}

/// Declares what arrives at a route.
macro_rules! input {
    ($($route:ident $body:ty, $received:ident, $wire:ident => $op:expr;)*) => {
        $(impl Input for One<$route> {
            type Wire<'a> = $body;

            fn from_wire($wire: Self::Wire<'_>, $received: &Received) -> Result<Self> {
                Ok(Self { op: $op, idempotency: $received.idempotency(stringify!($route)) })
            }
        })*
    };
}

input! {
    PUT PutBody<'a>, received, wire => ItemOp::Change(wire.into_domain(received)?);
    GET GetBody<'a>, received, wire => ItemOp::Get(wire.into_domain()?);
    DELETE DeleteBody<'a>, received, wire => ItemOp::Change(wire.into_domain()?);
    SEARCH SearchBody<'a>, received, wire => ItemOp::Search(wire.into_domain()?);
    NAMESPACES ListBody, received, wire => ItemOp::ListNamespaces(wire.into_domain()?);
    COUNT CountBody<'a>, received, wire => ItemOp::Count(wire.into_domain()?);
}
