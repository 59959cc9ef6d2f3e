//! Serves `POST /v1/checkpoints/parts/put` and `…/get`: parts of large values.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::commit::generation;
use crate::app::App;
use crate::domain::checkpoints::checkpoint::NewPart;
use crate::domain::names::ThreadId;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Data, DataOut, Text};

/// Put a part of a large value
///
/// Ahead of the commit that names it. Every part but the last has `value_part_bytes`. It waits for its commit for a day; put again,
/// it gets another name, and both are good. The thread is made where there is none.
#[utoipa::path(
    post, path = "/v1/checkpoints/parts/put", operation_id = "put_value_part", tag = "checkpoints",
    request_body(content = PutPartBody, example = json!({"thread_id": "t-1", "index": 0, "data": "kaVoZWxsbw=="})),
    responses(
        (status = 200, description = "It is kept", body = PutPartOut, example = json!({"name": "AAECAwQFBgcICQoLDA0ODw=="})),
        (status = 413, description = "`quota_exceeded`"),
        (status = 409, description = "`thread_restored`, `thread_taken`, `lease_held` or `fence_stale`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, call: Call<NewPart>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let name = app.checkpoints.put_part(&caller, &input, deadline).await?;
    reply.with(&PutPartOut { name: DataOut(name) }).await
}

/// Get a part of a large value
///
/// Its name is one of `parts` in the `data` of a value that was read with `value_parts`. 409 where it is gone, because the thread
/// was pruned or deleted: read the checkpoint again.
#[utoipa::path(
    post, path = "/v1/checkpoints/parts/get", operation_id = "get_value_part", tag = "checkpoints",
    request_body(content = GetPartBody, example = json!({"thread_id": "t-1", "name": "AAECAwQFBgcICQoLDA0ODw=="})),
    responses(
        (status = 200, description = "Its bytes, at most 4 MiB", body = GotPart, example = json!({"data": "kaVoZWxsbw=="})),
        (status = 409, description = "`parts_missing`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<GetPart>) -> Answer {
    let Call { caller, input: GetPart { thread_id, name }, reply, .. } = call;
    let data = app.checkpoints.get_part(&caller, &thread_id, &name).await?;
    reply.with(&GotPart { data: DataOut(data) }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutValuePart)]
pub struct PutPartBody<'a> {
    thread_id: Text,
    /// As in the commit.
    generation: Option<Text>,
    /// As in the commit.
    fence: Option<i64>,
    /// The place of the part in its value, from 0.
    #[schema(minimum = 0, maximum = 127)]
    index: i64,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ValuePartName)]
pub struct PutPartOut {
    /// For the commit.
    #[schema(value_type = Data)]
    name: DataOut,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetValuePart)]
pub struct GetPartBody<'a> {
    thread_id: Text,
    #[serde(borrow)]
    name: Data<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ValuePart)]
pub struct GotPart {
    #[schema(value_type = Data)]
    data: DataOut,
}

/// A part to be read.
pub struct GetPart {
    thread_id: ThreadId,
    name: Bytes,
}

impl Input for NewPart {
    type Wire<'a> = PutPartBody<'a>;

    fn from_wire(wire: PutPartBody<'_>, received: &Received) -> Result<Self> {
        let negative = |_| Error::invalid("index", "index must be 0 or more");
        Ok(Self {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            generation: wire.generation.map(generation).transpose()?,
            fence: wire.fence,
            index: u64::try_from(wire.index).map_err(negative)?,
            data: wire.data.part_of(&received.body),
        })
    }
}

impl Input for GetPart {
    type Wire<'a> = GetPartBody<'a>;

    fn from_wire(wire: GetPartBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            name: wire.name.part_of(&received.body),
        })
    }
}
