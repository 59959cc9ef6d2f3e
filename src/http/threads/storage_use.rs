//! Serves `GET /v1/threads/storage`: the storage that a thread takes. It shows sizes and names of channels, never values.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::names::ThreadId;
use crate::domain::tenants::storage_use::{ChannelUse, StorageUse};
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::query_fields::query_of;

/// Get what a thread takes
///
/// Bytes as they were sent, against bytes as they are stored; by channel. An absent `storage` means that there is no
/// such thread, and nothing else.
#[utoipa::path(
    get, path = "/v1/threads/storage", operation_id = "get_thread_storage", tag = "threads",
    params(StorageParams),
    responses(
        (status = 200, description = "Sizes, if there is such a thread", body = GotStorage, example = json!({"storage": {
            "logical_bytes": 65_500_000, "stored_bytes": 830_000, "content_bytes": 790_000, "share_saved": 0.987,
            "checkpoints": 340, "versions": 1_020, "writes": 680, "chunks": 410, "shared_with": 0,
            "channels": [
                {"channel": "messages", "versions": 340, "logical_bytes": 64_900_000, "newest_bytes": 386_000}
            ]
        }})),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let StorageParams { thread_id } = query_of(&uri)?;
    let found = app.threads.get_storage_use(&call.caller, &ThreadId::new(thread_id)?).await?;
    call.reply.with(&GotStorage { storage: found.map(StorageOut::from) }).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StorageParams {
    thread_id: String,
}

#[derive(Serialize, ToSchema)]
pub struct GotStorage {
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<StorageOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ThreadStorage)]
pub struct StorageOut {
    /// Documents, writes and the values that checkpoints show, before compression and sharing.
    logical_bytes: u64,
    /// Bodies, lists, maps and documents as they are stored, the whole content scope included, also what of it was moved to
    /// an object store.
    stored_bytes: u64,
    /// Values and chunks of the content scope, which copies share.
    content_bytes: u64,
    /// 1 - `stored_bytes` / `logical_bytes`; below 0 where compression and sharing cost more than they save.
    share_saved: f64,
    checkpoints: u64,
    /// Values that checkpoints show, each once.
    versions: u64,
    writes: u64,
    chunks: u64,
    /// Other threads with the same content scope: copies, or what this is a copy of.
    shared_with: u64,
    /// Largest first.
    channels: Vec<ChannelOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChannelStorage)]
pub struct ChannelOut {
    channel: String,
    versions: u64,
    logical_bytes: u64,
    /// Of the value that the newest checkpoint with a value of this channel shows.
    newest_bytes: u64,
}

impl From<StorageUse> for StorageOut {
    fn from(found: StorageUse) -> Self {
        Self {
            share_saved: found.share_saved(),
            logical_bytes: found.logical_bytes,
            stored_bytes: found.stored_bytes,
            content_bytes: found.content_bytes,
            checkpoints: found.checkpoints,
            versions: found.versions,
            writes: found.writes,
            chunks: found.chunks,
            shared_with: found.shared_with,
            channels: found.channels.into_iter().map(ChannelOut::from).collect(),
        }
    }
}

impl From<ChannelUse> for ChannelOut {
    fn from(it: ChannelUse) -> Self {
        let ChannelUse { channel, versions, logical_bytes, newest_bytes } = it;
        Self { channel, versions, logical_bytes, newest_bytes }
    }
}
