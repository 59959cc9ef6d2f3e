//! Serves `GET /v1/limits`, `GET /v1/whoami` and `GET /v1/info`: the limits of the server, the identity of the caller, and what the server is.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::call::{Answer, BodylessCall, Holder, Reply};
use super::tokens::grants::{ActionName, GrantsBody};
use crate::app::App;
use crate::domain::caller::{self, Grants, Permission};
use crate::domain::label::{label, label_with_colons};
use crate::domain::limits::{LIMITS, Limits};
use crate::domain::time::rfc3339;
use crate::domain::tokens::grants::Scoped;

/// The answer of writes that have nothing to tell.
#[derive(Serialize, ToSchema)]
pub(crate) struct Empty {}

/// Get the limits
///
/// Sizes are bytes of decoded UTF-8 or of raw data.
#[utoipa::path(
    get, path = "/v1/limits", operation_id = "get_limits", tag = "service",
    responses((status = 200, description = "Every declared limit", body = Limits)),
)]
pub async fn limits(call: BodylessCall) -> Answer {
    call.reply.with(&LIMITS).await
}

/// Get the caller
#[utoipa::path(
    get, path = "/v1/whoami", operation_id = "whoami", tag = "service",
    responses((status = 200, description = "Whom the key or token speaks for", body = Caller, example = json!({
        "tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest",
        "label_with_colons": "ann@acme~2etest",
        "credential": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6", "expires_at": "2026-01-31T12:15:00.000000Z",
        "grants": {"threads": [{"id": "ann-1", "actions": ["read", "append"]}]},
        "capabilities": {"threads": ["read", "append"], "namespaces": [], "sessions": [], "snapshots": [], "tenant": []}
    }))),
)]
pub async fn whoami(holder: Holder, call: BodylessCall) -> Answer {
    let (caller, pass) = (holder.0.caller, holder.0.pass);
    let grants = match &caller.grants {
        Grants::Tenant => None,
        Grants::Scoped(scoped) => Some(GrantsBody::from(&**scoped)),
        Grants::Operator => Some(GrantsBody::from(&Scoped::default())),
    };
    let operator = caller.require(Permission::Operator).is_ok().then_some(true);
    let capabilities = CapabilitiesOut::of(&caller);
    call.reply
        .with(&Caller {
            tenant: caller.tenant,
            label: caller.subject.as_deref().map(label),
            label_with_colons: caller.subject.as_deref().map(label_with_colons),
            subject: caller.subject,
            credential: caller.credential,
            expires_at: pass.expires_at().map(rfc3339),
            operator,
            grants,
            capabilities,
        })
        .await
}

/// Get the server
///
/// What answers. Without a key or token: its name, its version, and whether local programs need no key.
#[utoipa::path(
    get, path = "/v1/info", operation_id = "get_info", tag = "service",
    responses(
        (status = 200, description = "The server", body = ServerInfo, example = json!({
            "name": "threadkeep", "version": "0.1.0", "keyless": false, "engine": "postgres",
            "started_at": "2026-01-31T12:00:00.000000Z",
            "features": {
                "agent_server": true, "console": true, "embeddings": {"model": "text-embedding-3-small", "dims": 1536},
                "encryption": true, "object_store": false, "redis": false
            }
        })),
    ),
)]
pub async fn info(
    State(app): State<Arc<App>>,
    holder: Option<Holder>,
    headers: HeaderMap,
) -> Answer {
    let is_caller = holder.is_some();
    let told = ServerInfo {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        keyless: app.authenticator.is_keyless(),
        engine: is_caller.then(|| app.storage.name()),
        started_at: is_caller.then(|| rfc3339(app.started_at)),
        features: is_caller.then(|| features(&app)),
    };
    Reply::small(&headers, &told)
}

fn features(app: &App) -> ServerFeatures {
    let embeddings = app
        .items
        .embeddings()
        .map(|it| ServerEmbeddings { model: it.model().as_str().to_owned(), dims: it.dims() });
    ServerFeatures {
        agent_server: !app.agent_server.is_off,
        console: app.browsers.has_console,
        embeddings,
        encryption: app.facts.has_encryption,
        files_origin: app.browsers.files_origin.clone(),
        object_store: app.facts.has_object_store,
        redis: app.facts.has_redis,
    }
}

#[derive(Serialize, ToSchema)]
pub struct ServerInfo {
    /// `threadkeep`.
    name: &'static str,
    version: &'static str,
    /// Whether local programs need no key.
    keyless: bool,
    /// `postgres` or `sqlite`. This and what follows: for callers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'static str>,
    /// When this process began; others may serve the same database.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<ServerFeatures>,
}

/// What this server has been set up with.
#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own")]
pub struct ServerFeatures {
    /// Whether SDKs and UIs of LangGraph find their routes here.
    agent_server: bool,
    /// Whether the page at `/console/` is served.
    console: bool,
    /// What makes vectors of texts. Absent: callers send vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<ServerEmbeddings>,
    /// Whether the server has a master key.
    encryption: bool,
    /// Where signed addresses lead to, if not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_origin: Option<String>,
    /// Whether cold content moves to an object store.
    object_store: bool,
    redis: bool,
}

#[derive(Serialize, ToSchema)]
pub struct ServerEmbeddings {
    model: String,
    /// Numbers of a vector.
    dims: usize,
}

#[derive(Serialize, ToSchema)]
pub struct Caller {
    tenant: String,
    /// Absent for a key of the whole tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// The subject as one legal namespace label.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The subject's former label, which leaves `:` as it is; its namespaces are granted, too. Equal to `label` where the subject has
    /// no colon.
    #[serde(skip_serializing_if = "Option::is_none")]
    label_with_colons: Option<String>,
    /// What was presented: the id of a key (`key_…`) or token (`tok_…`), `issuer:NAME:SUBJECT`, or `local` on a server
    /// without keys. No secret.
    credential: String,
    /// Of a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// True for the key of an operator, who looks after all tenants and reads the contents of none. Absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<bool>,
    /// Absent where the whole tenant is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    grants: Option<GrantsBody>,
    capabilities: CapabilitiesOut,
}

/// What the caller may do with some thing of each kind. An operation whose `x-permission` is `threads:read` can succeed where `threads`
/// has `read`; which things those are stands in `grants`.
#[derive(Serialize, ToSchema)]
#[schema(as = Capabilities)]
pub struct CapabilitiesOut {
    threads: Vec<ActionName>,
    namespaces: Vec<ActionName>,
    sessions: Vec<ActionName>,
    snapshots: Vec<ActionName>,
    /// `read` for what needs `tenant:read`, `write` for what needs `tenant`.
    tenant: Vec<ActionName>,
}

impl CapabilitiesOut {
    fn of(caller: &caller::Caller) -> Self {
        let names = |of| caller.capabilities(of).into_iter().map(ActionName::from).collect();
        let mut tenant: Vec<ActionName> = names(Permission::Tenant);
        // No operation only appends to a tenant.
        tenant.retain(|it| *it != ActionName::Append);
        Self {
            threads: names(Permission::Threads),
            namespaces: names(Permission::Namespaces),
            sessions: names(Permission::Sessions),
            snapshots: names(Permission::Snapshots),
            tenant,
        }
    }
}
