//! Serves Agentrail's small documents: memos, todos, results of tools, and logs of skills.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ContentBody, ContentIn, PathIds, change, document, own, put};
use crate::app::App;
use crate::domain::agentrail::{self, ARTIFACTS, MEMO, SKILL_LOGS, TODO};
use crate::domain::sessions::Content;
use crate::domain::sessions::change::{NewEntry, Step};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::service::append;
use crate::domain::{Error, Result};
use crate::http::Empty;
use crate::http::request::call::{Answer, BodylessCall, Call, Reply};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Exact;
use crate::http::sessions::text::ContentOut;
use crate::http::sessions::{asking, milliseconds};

/// Get a memo of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/memo/{scope}/{owner}/{name}", operation_id = "agentrail_get_memo", tag = "agentrail",
    params(("tenant" = String, Path), ("scope" = String, Path, description = "`session` or `user`"), ("owner" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "With its content", body = Memo), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_memo(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let (owner, name) = memo(&ids)?;
    shown(call.reply, document(&app, &call.caller, &owner, &name).await?).await
}

/// Put a memo of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/memo/{scope}/{owner}/{name}", operation_id = "agentrail_put_memo", tag = "agentrail",
    params(("tenant" = String, Path), ("scope" = String, Path), ("owner" = String, Path), ("name" = String, Path)),
    request_body(content = ContentBody, example = json!({"content": "# Notes"})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_memo(State(app): State<Arc<App>>, ids: PathIds, call: Call<ContentIn>) -> Answer {
    let (owner, name) = memo(&ids)?;
    let Call { caller, deadline, input, reply } = call;
    change(&app, &asking(&caller, deadline, None), owner, vec![put(name, input.text)]).await?;
    reply.done().await
}

/// Append to a memo of Agentrail's
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/memo/{scope}/{owner}/{name}/append", operation_id = "agentrail_append_memo", tag = "agentrail",
    params(("tenant" = String, Path), ("scope" = String, Path), ("owner" = String, Path), ("name" = String, Path)),
    request_body(content = ContentBody, example = json!({"content": "\nmore"})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`invalid`, `idempotency_mismatch`")),
)]
pub async fn append_memo(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<ContentIn>,
) -> Answer {
    let (owner, name) = memo(&ids)?;
    let Call { caller, deadline, input, reply } = call;
    let content = NewEntry { id: None, text: input.text };
    let steps = vec![Step::ExtendDocument { name, content }];
    change(&app, &asking(&caller, deadline, input.idempotency), owner, steps).await?;
    reply.done().await
}

/// Get the todos of a session of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/todos", operation_id = "agentrail_get_todos", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "With their content", body = Memo), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_todos(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    shown(call.reply, document(&app, &call.caller, &ids.session()?, TODO).await?).await
}

/// Put the todos of a session of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}/todos", operation_id = "agentrail_put_todos", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = ContentBody, example = json!({"content": "- [ ] tea"})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_todos(State(app): State<Arc<App>>, ids: PathIds, call: Call<ContentIn>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![put(TODO, input.text)];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// List results of tools of a session of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/artifacts", operation_id = "agentrail_list_artifacts", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "Their ids", body = Artifacts)),
)]
pub async fn list_artifacts(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: BodylessCall,
) -> Answer {
    let found = app.sessions.list_documents(&call.caller, &ids.session()?, ARTIFACTS).await?;
    let ids = found.iter().filter_map(|it| it.name.strip_prefix(ARTIFACTS));
    call.reply.with(&Artifacts { artifacts: ids.map(str::to_owned).collect() }).await
}

/// Get the result of a tool of Agentrail's
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/artifacts/{tool_call}", operation_id = "agentrail_get_artifact", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("tool_call" = String, Path)),
    responses((status = 200, description = "With its content", body = Memo), (status = 404, description = "`document_not_found`")),
)]
pub async fn get_artifact(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let name = artifact(&ids);
    shown(call.reply, document(&app, &call.caller, &ids.session()?, &name).await?).await
}

/// Put the result of a tool of Agentrail's
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}/artifacts/{tool_call}", operation_id = "agentrail_put_artifact", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("tool_call" = String, Path)),
    request_body(content = ContentBody, example = json!({"content": "output"})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_artifact(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<ContentIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![put(artifact(&ids), input.text)];
    change(&app, &asking(&caller, deadline, None), ids.session()?, steps).await?;
    reply.done().await
}

/// Log what a skill of Agentrail's did
///
/// The body is the log's entry.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/skill-logs", operation_id = "agentrail_log_skill", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = Exact, example = json!({"skillName": "search", "task": "find", "messages": []})),
    responses((status = 200, description = "Durable", body = Empty), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`invalid`, `idempotency_mismatch`")),
)]
pub async fn log_skill(State(app): State<Arc<App>>, ids: PathIds, call: Call<SkillLog>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let steps = vec![append(SKILL_LOGS, vec![input.entry])];
    change(&app, &asking(&caller, deadline, input.idempotency), ids.session()?, steps).await?;
    reply.done().await
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailMemo)]
pub struct Memo {
    #[schema(value_type = String)]
    content: ContentOut,
    /// Milliseconds since 1970.
    updated_at: i64,
    bytes: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailArtifacts)]
pub struct Artifacts {
    artifacts: Vec<String>,
}

pub struct SkillLog {
    entry: NewEntry,
    idempotency: Option<(String, [u8; 32])>,
}

impl Input for SkillLog {
    type Wire<'a> = Exact<'a>;

    fn from_wire(wire: Exact<'_>, received: &Received) -> Result<Self> {
        let text: Bytes = own(&wire, received);
        let entry = NewEntry { id: None, text };
        Ok(Self { entry, idempotency: received.idempotency("agentrail skill-logs") })
    }
}

async fn shown(reply: Reply, found: Content) -> Answer {
    let Content { document, text } = found;
    let updated_at = milliseconds(document.updated_at);
    reply.with(&Memo { content: ContentOut(text), updated_at, bytes: document.size_bytes }).await
}

/// Of a session or of a user.
fn memo(ids: &PathIds) -> Result<(SessionName, String)> {
    let (tenant, owner) = (ids.id("tenant"), ids.id("owner"));
    let owner = match ids.id("scope") {
        "session" => agentrail::session(tenant, owner)?,
        "user" => agentrail::user(tenant, owner)?,
        _ => return Err(Error::invalid("scope", "scope must be session or user")),
    };
    Ok((owner, format!("{MEMO}{}", ids.id("name"))))
}

fn artifact(ids: &PathIds) -> String {
    format!("{ARTIFACTS}{}", ids.id("tool_call"))
}
