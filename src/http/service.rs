//! What a caller can learn about the server and about itself: limits, who it is.

use serde::Serialize;
use utoipa::ToSchema;

use super::call::{Answer, Asks};
use crate::domain::label::label;
use crate::domain::limits::{LIMITS, Limits};

/// Get the limits
///
/// Sizes are bytes of decoded UTF-8 or of raw data.
#[utoipa::path(
    get, path = "/v1/limits", operation_id = "get_limits", tag = "service",
    responses((status = 200, description = "Every declared limit", body = Limits)),
)]
pub async fn limits(asks: Asks) -> Answer {
    asks.reply.with(&LIMITS)
}

/// Get the caller
#[utoipa::path(
    get, path = "/v1/whoami", operation_id = "whoami", tag = "service",
    responses((status = 200, description = "Whom the key speaks for", body = Caller,
        example = json!({"tenant": "acme", "subject": "ann@acme.test", "label": "ann@acme~2etest"}))),
)]
pub async fn whoami(asks: Asks) -> Answer {
    let Asks { caller, reply } = asks;
    let label = caller.subject.as_deref().map(label);
    reply.with(&Caller { tenant: caller.tenant, subject: caller.subject, label })
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
}
