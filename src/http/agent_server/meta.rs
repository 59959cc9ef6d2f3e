//! Serves `/`, `/ok` and `/info`: what clients of the wire ask first. They need no credential.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::query::flag;
use crate::app::App;
use crate::http::readiness::check_storage;
use crate::http::request::call::Answer;
use crate::http::request::query_fields::Fields;

/// The version of the wire that the tests compare with. Clients decide by it what they may ask.
const WIRE_VERSION: &str = "0.16.7";

/// Whether the server answers
#[utoipa::path(
    get, path = "/", operation_id = "agent_server_get_root", tag = "agent-server",
    responses(
        (status = 200, description = "It does", body = AgentServerOk, example = json!({"ok": true})),
        (status = 302, description = "To a browser: the console"),
    ),
)]
pub async fn root() -> Response {
    json(&AgentServerOk { ok: true })
}

/// Whether the server answers, and its database
#[utoipa::path(
    get, path = "/ok", operation_id = "agent_server_get_ok", tag = "agent-server",
    params(("check_db" = Option<String>, Query, description = "1: ask the database, too")),
    responses(
        (status = 200, description = "It does", body = AgentServerOk, example = json!({"ok": true})),
        (status = 400, description = "`malformed_body`"),
        (status = 503, description = "`unavailable`"),
    ),
)]
pub async fn ok(State(app): State<Arc<App>>, uri: Uri) -> Answer {
    if flag(&Fields::with_unknown(&uri)?, "check_db")? {
        check_storage(&app).await?;
    }
    Ok(json(&AgentServerOk { ok: true }))
}

/// Get what the server is
///
/// It runs no graph: `threadkeep.runs` is false.
#[utoipa::path(
    get, path = "/info", operation_id = "agent_server_get_info", tag = "agent-server",
    responses((status = 200, description = "The server", body = AgentServerInfo, example = json!({
        "version": "0.16.7", "langgraph_py_version": "",
        "flags": {"assistants": true, "crons": false, "langsmith": false},
        "host": {"kind": "self-hosted", "project_id": null, "host_revision_id": null, "revision_id": null, "tenant_id": null},
        "metadata": {}, "threadkeep": {"version": "0.1.0", "runs": false}
    }))),
)]
pub async fn info() -> Response {
    json(&AgentServerInfo {
        version: WIRE_VERSION,
        langgraph_py_version: "",
        flags: AgentServerFlags { assistants: true, crons: false, langsmith: false },
        host: AgentServerHost {
            kind: "self-hosted",
            project_id: None,
            host_revision_id: None,
            revision_id: None,
            tenant_id: None,
        },
        metadata: crate::http::Empty {},
        threadkeep: AgentServerImplementation { version: env!("CARGO_PKG_VERSION"), runs: false },
    })
}

fn json(answer: &impl Serialize) -> Response {
    let body = serde_json::to_vec(answer).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerOk {
    ok: bool,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerInfo {
    /// Of the wire.
    version: &'static str,
    langgraph_py_version: &'static str,
    flags: AgentServerFlags,
    host: AgentServerHost,
    #[schema(value_type = serde_json::Value)]
    metadata: crate::http::Empty,
    threadkeep: AgentServerImplementation,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerFlags {
    assistants: bool,
    crons: bool,
    langsmith: bool,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerHost {
    kind: &'static str,
    project_id: Option<&'static str>,
    host_revision_id: Option<&'static str>,
    revision_id: Option<&'static str>,
    tenant_id: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerImplementation {
    /// Of threadkeep.
    version: &'static str,
    /// Whether it runs graphs.
    runs: bool,
}
