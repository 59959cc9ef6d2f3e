//! Serves `POST /v1/store/namespaces/largest`: the namespaces that hold the most.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::Result;
use crate::domain::pages::COUNTED_ROWS_MAX;
use crate::domain::store::item::CountedItems;
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor::limit;
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

const LIMIT_DEFAULT: i64 = 10;

/// List the largest namespaces
///
/// The namespaces whose items have the most bytes, the largest first, with what is in each itself, not below it. Goes through all items
/// below the prefix that the caller may read; where they are too many for its time, it ends with `deadline_exceeded`.
#[utoipa::path(
    post, path = "/v1/store/namespaces/largest", operation_id = "list_largest_namespaces", tag = "store",
    request_body(content = LargestBody, example = json!({"limit": 10})),
    responses((status = 200, description = "The largest namespaces", body = LargestOut, example = json!({"namespaces": [
        {"namespace": ["ann", "memories"], "items": 3, "size_bytes": 210, "updated_at": "2026-01-31T12:00:00.000000Z"}]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<Largest>) -> Answer {
    let Call { caller, input: Largest { prefix, limit }, reply, .. } = call;
    let found = app.items.largest_namespaces(&caller, &prefix, limit).await?;
    reply.with(&LargestOut { namespaces: found.into_iter().map(LargeOut::from).collect() }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListLargestNamespaces)]
pub struct LargestBody {
    /// Labels that the namespaces begin with.
    prefix: Option<Vec<Text>>,
    /// Default 10, at most 100.
    #[schema(minimum = 0)]
    limit: Option<i64>,
}

pub struct Largest {
    prefix: Namespace,
    limit: usize,
}

impl Input for Largest {
    type Wire<'a> = LargestBody;

    fn from_wire(wire: LargestBody, _: &Received) -> Result<Self> {
        let prefix = wire.prefix.unwrap_or_default().into_iter().map(|it| it.0).collect();
        let limit = limit(Some(wire.limit.unwrap_or(LIMIT_DEFAULT)))?.min(COUNTED_ROWS_MAX);
        Ok(Self { prefix: Namespace::new(prefix)?, limit })
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = LargestNamespaces)]
pub struct LargestOut {
    namespaces: Vec<LargeOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = LargeNamespace)]
pub struct LargeOut {
    namespace: Vec<String>,
    items: u64,
    /// As items count: before compression and sharing.
    size_bytes: u64,
    /// Of the item that was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    updated_at: Option<String>,
}

impl From<(Namespace, CountedItems)> for LargeOut {
    fn from((namespace, counted): (Namespace, CountedItems)) -> Self {
        let CountedItems { items, size_bytes, updated_at } = counted;
        let namespace = namespace.labels().to_vec();
        Self { namespace, items, size_bytes, updated_at: updated_at.map(rfc3339) }
    }
}
