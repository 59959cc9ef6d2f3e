//! Serves `GET /v1/audit`: the audit log of a tenant.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::tenants::audit::{ActKind, Event, EventCursor, EventQuery};
use crate::domain::time::{parse_rfc3339, rfc3339};
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::cursor::{self, limit};
use crate::http::request::exact::{Exact, ExactOut};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const PAGE_DEFAULT: i64 = 100;
const CURSOR: &str = "audit";

/// List the audit log
///
/// Newest first: administrative acts one by one, and refusals (`refused`), one event per minute, credential, code and
/// route with the `count` of requests. Ids, never values. For credentials that read the whole tenant.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "list_audit_events", tag = "administration",
    params(AuditParams),
    responses((status = 200, description = "A page", body = AuditPage, example = json!({"events": [
        {"event_id": "0d3c5f0a4ad14c5f9f0b8a6e2c1d7e55", "at": "2026-01-31T12:00:07.120000Z", "act": "policy_put",
            "actor": "key_5b1e", "object": "t-1", "details": {"keep_last": 20}, "count": 1},
        {"event_id": "5ad0b6d3e6a94d1d8f3e6a7b9c0d1e2f", "at": "2026-01-31T12:00:00.000000Z", "act": "refused",
            "actor": "key_5b1e", "details": {"code": "too_many_requests", "route": "/v1/threads/get"}, "count": 10_000}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let page = app.audit.list(&call.caller, query(&uri)?).await?;
    let position = |it: EventCursor| cursor::encode(CURSOR, &(it.at, it.event_id));
    let events = page.events.into_iter().map(EventOut::of).collect();
    call.reply.with(&AuditPage { events, next_cursor: page.next.map(position) }).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditParams {
    /// Not before this time. Refusals have the beginning of their minute.
    #[param(format = DateTime)]
    since: Option<String>,
    /// Before this time.
    #[param(format = DateTime)]
    until: Option<String>,
    /// Only these: `key_created`, `key_revoked`, `token_minted`, `token_revoked`, `secrets_rotated`, `policy_put`,
    /// `policy_deleted`, `namespace_setting_put`, `namespace_setting_deleted`, `quota_set`, `role_created`, `role_dropped`,
    /// `subject_erased`, `snapshot_restored`, `snapshot_deleted`, `thread_rewound`, `lease_broken`, `exported`, `imported`, `refused`.
    act: Option<String>,
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditEvents)]
pub struct AuditPage {
    events: Vec<EventOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditEvent)]
pub struct EventOut {
    event_id: String,
    #[schema(format = DateTime)]
    at: String,
    act: String,
    /// Id of the key or token; `cli` for the command line. Absent where it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    actor: String,
    /// Id of what it was done to. Absent for the tenant as a whole, and of refusals.
    #[serde(skip_serializing_if = "String::is_empty")]
    object: String,
    /// Of refusals, `code` and `route`.
    #[schema(value_type = Exact)]
    details: ExactOut,
    /// 1 for acts; for refusals, how many requests. After a connection to the database that broke it may be too high.
    count: i64,
}

impl EventOut {
    pub fn of(event: Event) -> Self {
        Self {
            event_id: event.event_id,
            at: rfc3339(event.at),
            act: event.act,
            actor: event.actor,
            object: event.object,
            details: ExactOut(event.details.into()),
            count: event.count,
        }
    }
}

fn query(uri: &Uri) -> Result<EventQuery, Problem> {
    let params: AuditParams = query_of(uri)?;
    let time =
        |field: &str, text: Option<String>| text.map(|it| parse_rfc3339(field, &it)).transpose();
    let after = cursor::decode_time_and_id(CURSOR, params.cursor.as_deref())?;
    Ok(EventQuery {
        since: time("since", params.since)?,
        until: time("until", params.until)?,
        act: params.act.map(|it| ActKind::parse("act", &it)).transpose()?,
        limit: limit(Some(params.limit.unwrap_or(PAGE_DEFAULT)))?,
        after: after.map(|(at, event_id)| EventCursor { at, event_id }),
    })
}
