//! Serves the store: items by namespace and key.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::call::{JsonCall, PlainCall};
use super::query::list as names_of;
use crate::app::App;
use crate::domain::store::item::{
    Address, ChangeItem, GetItem, Item, ItemOp, Key, NewValue, OpResult, ttl_micros,
};
use crate::domain::store::namespace::{Namespace, RESERVED_ROOT};
use crate::domain::time::rfc3339_with_offset;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, ExactOut, Text};
use crate::http::request::problem::{Code, Problem};
use crate::http::request::query_fields::Fields;
use crate::http::store::key::{KeyIn, KeyOut};
use crate::http::store::vectors::{IndexIn, paths};

/// Put an item
///
/// Creates it, or replaces its whole value. `index` counts where the server makes vectors, and does nothing elsewhere.
#[utoipa::path(
    put, path = "/store/items", operation_id = "agent_server_put_item", tag = "agent-server",
    request_body(content = ItemBody, example = json!({"namespace": ["ann", "memories"], "key": "likes", "value": {"text": "tea"}})),
    responses((status = 204, description = "Durable"), (status = 400, description = "`bad_request`"), (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put(State(app): State<Arc<App>>, call: JsonCall<PutItem>) -> Answer {
    let Call { caller, deadline, input: PutItem { namespace, key, mut value }, .. } = call.0;
    let address = Address { namespace: namespace_of_put(namespace)?, key };
    if !app.items.makes_vectors() {
        value.index.clear();
    }
    let change = ChangeItem { address, value: Some(value), if_version: None };
    app.items.run(&caller, ItemOp::Change(change), None, deadline).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Get an item
///
/// `null` where there is none, where it is not the caller's, and where it has expired.
#[utoipa::path(
    get, path = "/store/items", operation_id = "agent_server_get_item", tag = "agent-server",
    params(
        ("namespace" = String, Query, description = "Labels, joined by dots; also repeated, or a JSON list"),
        ("key" = String, Query),
        ("refresh_ttl" = Option<String>, Query, description = "`false` or `0`: the read does not extend the item's life"),
    ),
    responses(
        (status = 200, description = "The item, or null", body = Option<AgentServerItem>),
        (status = 400, description = "`bad_request`, `malformed_body`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, uri: Uri, call: PlainCall) -> Answer {
    let fields = Fields::with_unknown(&uri)?;
    let key = fields.all("key").last().filter(|it| !it.is_empty());
    let key = key.ok_or_else(|| Problem::new(Code::BadRequest, "Key is required").at("key"))?;
    let namespace = Namespace::new(labels_of(&fields)?)?;
    // What is neither means nothing here, as for other servers.
    let is_no = |it: &str| it.eq_ignore_ascii_case("false") || it == "0";
    let refresh_ttl = !fields.all("refresh_ttl").last().is_some_and(is_no);
    let address = Address { namespace, key: Key::of_text(key)? };
    let op = ItemOp::Get(GetItem { address, refresh_ttl });
    match app.items.run(&call.caller, op, None, call.deadline).await? {
        OpResult::Got(found) => call.reply.with(&found.map(AgentServerItem::of)).await,
        _ => Err(unexpected()),
    }
}

/// Delete an item
///
/// No error when there is none.
#[utoipa::path(
    delete, path = "/store/items", operation_id = "agent_server_delete_item", tag = "agent-server",
    request_body(content = ItemName, example = json!({"namespace": ["ann", "memories"], "key": "likes"})),
    responses((status = 204, description = "Deleted, or never there")),
)]
pub async fn delete(State(app): State<Arc<App>>, call: JsonCall<DeleteItem>) -> Answer {
    let Call { caller, deadline, input: DeleteItem(address), .. } = call.0;
    if !address.namespace.labels().is_empty() {
        let change = ChangeItem { address, value: None, if_version: None };
        app.items.run(&caller, ItemOp::Change(change), None, deadline).await?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub fn unexpected() -> Problem {
    Error::Internal("an operation has another result than it should".into()).into()
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerPutItem)]
pub struct ItemBody<'a> {
    namespace: Vec<Text>,
    #[serde(borrow)]
    key: KeyIn<'a>,
    /// An object.
    #[serde(borrow)]
    value: Exact<'a>,
    index: Option<IndexIn>,
    /// Minutes without a put, or a read that refreshes, after which it expires. Absent: never.
    #[schema(minimum = 0, maximum = 52_560_000)]
    ttl: Option<f64>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerItemName)]
pub struct ItemName<'a> {
    namespace: Option<Vec<Text>>,
    #[serde(borrow)]
    key: KeyIn<'a>,
}

/// An item that is to be put.
pub struct PutItem {
    /// Not checked yet.
    namespace: Vec<String>,
    key: Key,
    value: NewValue,
}

pub struct DeleteItem(Address);

/// An item in answers.
#[derive(Serialize, ToSchema)]
pub struct AgentServerItem {
    namespace: Vec<String>,
    #[schema(value_type = String)]
    key: KeyOut,
    #[schema(value_type = serde_json::Value)]
    value: Option<ExactOut>,
    created_at: String,
    updated_at: String,
}

impl AgentServerItem {
    pub fn of(item: Item) -> Self {
        Self {
            namespace: item.address.namespace.labels().to_vec(),
            key: KeyOut(item.address.key),
            value: item.value.map(ExactOut),
            created_at: rfc3339_with_offset(item.created_at),
            updated_at: rfc3339_with_offset(item.updated_at),
        }
    }
}

impl Input for PutItem {
    type Wire<'a> = ItemBody<'a>;

    fn from_wire(wire: ItemBody<'_>, received: &Received) -> Result<Self> {
        let text = wire.value.part_of(&received.body);
        let key = wire.key.into_domain()?;
        if key.text() == Some("") {
            return Err(Error::invalid("key", "key must not be empty"));
        }
        let value = NewValue {
            // Without what else was in the body.
            text: Bytes::copy_from_slice(&text),
            ttl_micros: wire.ttl.map(ttl_micros).transpose().map_err(of_ttl)?,
            index: paths(wire.index, false)?,
            vectors: None,
            kept: None,
        };
        value.read()?;
        Ok(Self { namespace: texts(wire.namespace), key, value })
    }
}

impl Input for DeleteItem {
    type Wire<'a> = ItemName<'a>;

    fn from_wire(wire: ItemName<'_>, _: &Received) -> Result<Self> {
        let namespace = Namespace::new(texts(wire.namespace.unwrap_or_default()))?;
        Ok(Self(Address { namespace, key: wire.key.into_domain()? }))
    }
}

/// Clients call it by another name here.
fn of_ttl(error: Error) -> Error {
    match error {
        Error::Invalid { detail, limit, .. } => {
            let detail = detail.replace("ttl_minutes", "ttl");
            Error::Invalid { field: "ttl".into(), detail, limit }
        }
        other => other,
    }
}

/// No labels and the reserved root are 400 here, what is wrong with a label is 422.
fn namespace_of_put(labels: Vec<String>) -> Result<Namespace, Problem> {
    let is_refused = labels.first().is_none_or(|it| it == RESERVED_ROOT);
    Namespace::of_put(labels).map_err(|error| {
        let problem = Problem::from(error);
        if is_refused { Problem { code: Code::BadRequest, ..problem } } else { problem }
    })
}

/// Dots stand between labels, which have none.
fn labels_of(fields: &Fields) -> Result<Vec<String>> {
    let named = names_of(fields, "namespace")?;
    let labels: Vec<String> =
        named.iter().flat_map(|it| it.split('.')).map(str::to_owned).collect();
    if labels.is_empty() {
        return Err(Error::invalid("namespace", "namespace must be given: labels joined by dots"));
    }
    Ok(labels)
}

pub fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|it| it.0).collect()
}
