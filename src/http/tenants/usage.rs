//! Serves `GET /v1/usage`: the usage and the quota of a tenant.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::domain::tenants::quotas::{Measured, Quota};
use crate::domain::time::rfc3339;
use crate::http::request::call::{Answer, BodylessCall};

/// Get usage and quota
///
/// What the tenant has, at most 10 seconds ago, and what it may have. For credentials that read the whole tenant.
#[utoipa::path(
    get, path = "/v1/usage", operation_id = "get_usage", tag = "administration",
    responses((status = 200, description = "Usage and quota", body = UsageOut, example = json!({
        "bytes": 65_500_000, "threads": 340, "items": 0, "measured_at": "2026-01-31T12:00:00.000000Z",
        "quota": {"bytes_max": 1_000_000_000, "threads_max": 10_000, "requests_per_second": 500}
    }))),
)]
pub async fn get(State(app): State<Arc<App>>, call: BodylessCall) -> Answer {
    let (measured, quota) = app.quotas.usage(&call.caller).await?;
    call.reply.with(&UsageOut::of(measured, quota)).await
}

#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageOut {
    /// Of values, writes, skeletons and metadata, before compression and sharing: the sum of the threads' `size_bytes`.
    bytes: u64,
    threads: u64,
    items: u64,
    /// When it was added up.
    #[schema(format = DateTime)]
    measured_at: String,
    quota: QuotaOut,
}

/// What is absent is unlimited.
#[derive(Serialize, ToSchema)]
#[schema(as = Quota)]
pub struct QuotaOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items_max: Option<u64>,
    /// On each server.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_second: Option<u64>,
    /// Of each key and each token, on each server.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_second_per_token: Option<u64>,
}

impl UsageOut {
    pub fn of(measured: Measured, quota: Quota) -> Self {
        let Quota { bytes_max, threads_max, items_max, rates } = quota;
        Self {
            bytes: measured.usage.bytes,
            threads: measured.usage.threads,
            items: measured.usage.items,
            measured_at: rfc3339(measured.at),
            quota: QuotaOut {
                bytes_max,
                threads_max,
                items_max,
                requests_per_second: rates.per_tenant,
                requests_per_second_per_token: rates.per_token,
            },
        }
    }
}
