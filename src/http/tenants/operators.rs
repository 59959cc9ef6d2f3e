//! Serves what operators do for tenants: `/v1/operator/tenants`, `/v1/operator/quotas` and `/v1/operator/rotate-secrets`. Nothing here reads
//! contents.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::usage::UsageOut;
use crate::app::App;
use crate::domain::Result;
use crate::domain::caller::check_tenant;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::tenants::operators::{Whose, list_tenants, require_known};
use crate::domain::tenants::quotas::Quota;
use crate::domain::tenants::rates::Rates;
use crate::domain::tenants::tenant::TenantUse;
use crate::domain::time::rfc3339;
use crate::http::request::call::{Answer, BodylessCall, Call, Holder};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::query_fields::query_of;

const PAGE_DEFAULT: i64 = 20;
const CURSOR: &str = "tenants";

/// List the tenants
///
/// In the order of their names, with what each has stored. A tenant is there once it has a key, a quota or anything stored. For operators.
#[utoipa::path(
    get, path = "/v1/operator/tenants", operation_id = "list_tenants", tag = "operators",
    params(TenantParams),
    responses((status = 200, description = "A page", body = TenantsOut, example = json!({"tenants": [
        {"tenant": "acme", "bytes": 65_500_000, "threads": 340, "items": 12, "last_write": "2026-01-31T12:00:00.000000Z"}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let TenantParams { limit: asked, cursor: after } = query_of(&uri)?;
    let after: Option<String> = after.map(|it| cursor::decode(CURSOR, &it)).transpose()?;
    let limit = limit(Some(asked.unwrap_or(PAGE_DEFAULT)))?;
    let page = list_tenants(app.storage.as_ref(), &call.caller, after.as_deref(), limit).await?;
    let tenants = page.tenants.into_iter().map(TenantOut::from).collect();
    let next_cursor = page.next.map(|it| cursor::encode(CURSOR, &it));
    call.reply.with(&TenantsOut { tenants, next_cursor }).await
}

/// Get a tenant's usage and quota
///
/// What it has, at most 10 seconds ago, and what it may have. 404 for a tenant that has nothing here. For operators.
#[utoipa::path(
    get, path = "/v1/operator/quotas", operation_id = "get_tenant_quota", tag = "operators",
    params(QuotaParams),
    responses(
        (status = 200, description = "Usage and quota", body = UsageOut),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn quota(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: BodylessCall,
    uri: Uri,
) -> Answer {
    let QuotaParams { tenant } = query_of(&uri)?;
    let whose = Whose::of(Some(tenant), false)?;
    let acting = holder.0.acting_for(&whose)?;
    require_known(app.storage.as_ref(), &whose).await?;
    let (measured, quota) = app.quotas.usage(&acting.caller).await?;
    call.reply.with(&UsageOut::of(measured, quota)).await
}

/// Set a tenant's quota
///
/// It replaces the one before: what is left out is unlimited. This server follows at once, others within ten seconds. With a limit, a
/// tenant that had nothing is there from now on. For operators.
#[utoipa::path(
    post, path = "/v1/operator/quotas/put", operation_id = "put_tenant_quota", tag = "operators",
    request_body(content = PutQuotaBody, example = json!({"tenant": "acme", "bytes_max": 1_000_000_000, "threads_max": 10_000})),
    responses((status = 200, description = "Usage and the new quota", body = UsageOut)),
)]
pub async fn put_quota(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: Call<PutQuota>,
) -> Answer {
    let PutQuota { tenant, quota } = call.input;
    let acting = holder.0.acting_for(&Whose::Tenant(tenant))?.caller;
    quota.check()?;
    let act = Act::of(&acting, ActKind::QuotaSet, "", app.clock.now()).with(&quota);
    app.storage.put_quota(&acting.tenant, &quota, &act).await?;
    app.quotas.poll().await?;
    let (measured, quota) = app.quotas.usage(&acting).await?;
    call.reply.with(&UsageOut::of(measured, quota)).await
}

/// Replace a tenant's signing secrets
///
/// Ends all its tokens and addresses of files within two seconds, here at once; new ones are signed anew. For emergencies: secrets are
/// replaced every 30 days by themselves, and no token notices. 404 for a tenant that has nothing here. For operators.
#[utoipa::path(
    post, path = "/v1/operator/rotate-secrets", operation_id = "rotate_tenant_secrets", tag = "operators",
    request_body(content = RotateSecretsBody, example = json!({"tenant": "acme"})),
    responses(
        (status = 200, description = "Replaced", body = RotatedOut, example = json!({"removed": 1})),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn rotate_secrets(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: Call<RotateSecrets>,
) -> Answer {
    let whose = Whose::Tenant(call.input.tenant);
    let acting = holder.0.acting_for(&whose)?.caller;
    require_known(app.storage.as_ref(), &whose).await?;
    let act = Act::of(&acting, ActKind::SecretsRotated, "", app.clock.now());
    let removed = app.storage.delete_signing_secrets(&acting.tenant, &act).await?;
    app.authenticator.refresh_or_poll().await;
    call.reply.with(&RotatedOut { removed }).await
}

/// A quota to set.
pub struct PutQuota {
    tenant: String,
    quota: Quota,
}

/// Of which tenant.
pub struct RotateSecrets {
    tenant: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TenantParams {
    /// At most 100; default 20.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuotaParams {
    tenant: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Tenants)]
pub struct TenantsOut {
    tenants: Vec<TenantOut>,
    /// Send it for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Tenant)]
pub struct TenantOut {
    tenant: String,
    /// Of values, writes, skeletons and metadata, before compression and sharing.
    bytes: u64,
    threads: u64,
    items: u64,
    /// When a thread, an item or a session was last written; absent where it has none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_write: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RotatedSecrets)]
pub struct RotatedOut {
    /// How many secrets there were.
    pub removed: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutTenantQuota)]
pub struct PutQuotaBody {
    tenant: Text,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_i64)]
    bytes_max: Option<u64>,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_i64)]
    threads_max: Option<u64>,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_i64)]
    items_max: Option<u64>,
    /// On each server. As many may come at once after a pause.
    #[schema(minimum = 1, maximum = 1_000_000)]
    requests_per_second: Option<u64>,
    /// The same for each key and each token.
    #[schema(minimum = 1, maximum = 1_000_000)]
    requests_per_second_per_token: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RotateTenantSecrets)]
pub struct RotateSecretsBody {
    tenant: Text,
}

impl From<TenantUse> for TenantOut {
    fn from(TenantUse { tenant, usage, last_write }: TenantUse) -> Self {
        Self {
            tenant,
            bytes: usage.bytes,
            threads: usage.threads,
            items: usage.items,
            last_write: last_write.map(rfc3339),
        }
    }
}

impl Input for PutQuota {
    type Wire<'a> = PutQuotaBody;

    fn from_wire(wire: PutQuotaBody, _: &Received) -> Result<Self> {
        check_tenant(&wire.tenant.0)?;
        let rates = Rates {
            per_tenant: wire.requests_per_second,
            per_token: wire.requests_per_second_per_token,
        };
        let quota = Quota {
            bytes_max: wire.bytes_max,
            threads_max: wire.threads_max,
            items_max: wire.items_max,
            rates,
        };
        Ok(Self { tenant: wire.tenant.0, quota })
    }
}

impl Input for RotateSecrets {
    type Wire<'a> = RotateSecretsBody;

    fn from_wire(wire: RotateSecretsBody, _: &Received) -> Result<Self> {
        check_tenant(&wire.tenant.0)?;
        Ok(Self { tenant: wire.tenant.0 })
    }
}
