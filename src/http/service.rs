//! Serves `GET /v1/limits` and `GET /v1/whoami`: the limits of the server, and the identity of the caller.

use serde::Serialize;
use utoipa::ToSchema;

use super::request::call::{Answer, BodylessCall, Holder};
use super::tokens::grants::GrantsBody;
use crate::domain::caller::Grants;
use crate::domain::label::{label, label_with_colons};
use crate::domain::limits::{LIMITS, Limits};
use crate::domain::time::rfc3339;

/// Get the limits
///
/// Sizes are bytes of decoded UTF-8 or of raw data.
#[utoipa::path(
    get, path = "/v1/limits", operation_id = "get_limits", tag = "service",
    responses((status = 200, description = "Every declared limit", body = Limits)),
)]
pub async fn limits(call: BodylessCall) -> Answer {
    call.reply.with(&LIMITS)
}

/// Get the caller
#[utoipa::path(
    get, path = "/v1/whoami", operation_id = "whoami", tag = "service",
    responses((status = 200, description = "Whom the key or token speaks for", body = Caller, example = json!({
        "tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest",
        "label_with_colons": "ann@acme~2etest",
        "credential": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6", "expires_at": "2026-01-31T12:15:00.000000Z",
        "grants": {"threads": [{"id": "ann-1", "actions": ["read", "append"]}]}
    }))),
)]
pub async fn whoami(holder: Holder, call: BodylessCall) -> Answer {
    let (caller, pass) = (holder.0.caller, holder.0.pass);
    let grants = match &caller.grants {
        Grants::Tenant => None,
        Grants::Scoped(scoped) => Some(GrantsBody::from(&**scoped)),
    };
    call.reply.with(&Caller {
        tenant: caller.tenant,
        label: caller.subject.as_deref().map(label),
        label_with_colons: caller.subject.as_deref().map(label_with_colons),
        subject: caller.subject,
        credential: caller.credential,
        expires_at: pass.expires_at().map(rfc3339),
        grants,
    })
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
    /// Absent where the whole tenant is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    grants: Option<GrantsBody>,
}
