//! Serves what a thread takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::call::{PlainCall, ThreadPath, no_thread};
use super::shown_ids::ShownIds;
use crate::app::App;
use crate::domain::tenants::storage_use::StorageUse;
use crate::http::request::call::Answer;

/// Get what a thread takes
///
/// Bytes as they were sent.
#[utoipa::path(
    get, path = "/threads/{thread_id}/storage", operation_id = "agent_server_get_thread_storage", tag = "agent-server",
    params(("thread_id" = String, Path)),
    responses(
        (status = 200, description = "Sizes", body = AgentServerStorage),
        (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn get_storage(
    State(app): State<Arc<App>>,
    path: ThreadPath,
    ids: ShownIds,
    call: PlainCall,
) -> Answer {
    let found = app.threads.get_storage_use(&call.caller, &path.0).await?;
    let found = found.ok_or_else(|| no_thread(&path.0))?;
    call.reply.with(&AgentServerStorage::of(ids.of(path.0.as_str()), found)).await
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerStorage {
    thread_id: String,
    total_bytes: u64,
    checkpoints: AgentServerUse,
    channel_values: AgentServerChannels,
    pending_writes: AgentServerUse,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerUse {
    count: u64,
    bytes: u64,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerChannels {
    count: u64,
    bytes: u64,
    by_channel: BTreeMap<String, AgentServerChannel>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerChannel {
    versions: u64,
    bytes: u64,
}

impl AgentServerStorage {
    fn of(thread_id: String, found: StorageUse) -> Self {
        let values_bytes = found.channels.iter().map(|it| it.logical_bytes).sum();
        let documents_bytes =
            found.logical_bytes.saturating_sub(values_bytes).saturating_sub(found.writes_bytes);
        let channel = |versions, bytes| AgentServerChannel { versions, bytes };
        let channels = found.channels.into_iter();
        let by_channel =
            channels.map(|it| (it.channel, channel(it.versions, it.logical_bytes))).collect();
        Self {
            thread_id,
            total_bytes: found.logical_bytes,
            checkpoints: AgentServerUse { count: found.checkpoints, bytes: documents_bytes },
            channel_values: AgentServerChannels {
                count: found.versions,
                bytes: values_bytes,
                by_channel,
            },
            pending_writes: AgentServerUse { count: found.writes, bytes: found.writes_bytes },
        }
    }
}
