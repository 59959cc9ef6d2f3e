//! Serves `/v1/operator/keys`: an operator looks after the keys of every tenant and of operators, as `threadkeep keys` does.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::Result;
use crate::domain::tenants::operators::{Whose, require_known};
use crate::domain::tokens::key::{CreateKey, RevokeKey};
use crate::http::request::call::{Answer, BodylessCall, Call, Holder};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::query_fields::query_of;
use crate::http::tokens::keys::{
    CreatedKeyOut, KeyPageOut, RevokedKeyOut, checked_key_id, key_query,
};

/// List the keys of a tenant or of operators
///
/// In the order in which they were made, revoked ones too. Never their texts. 404 for a tenant that has nothing here. For operators.
#[utoipa::path(
    get, path = "/v1/operator/keys", operation_id = "list_tenant_keys", tag = "operators",
    params(OperatorKeyParams),
    responses(
        (status = 200, description = "A page", body = KeyPageOut),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn list(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: BodylessCall,
    uri: Uri,
) -> Answer {
    let OperatorKeyParams { tenant, operators, limit, cursor } = query_of(&uri)?;
    let whose = Whose::of(tenant, operators.unwrap_or(false))?;
    let acting = holder.0.acting_for(&whose)?;
    require_known(app.storage.as_ref(), &whose).await?;
    let page = app.keys.list(&acting.caller, key_query(limit, cursor.as_deref())?).await?;
    call.reply.with(&KeyPageOut::of(page)).await
}

/// Make a key for a tenant or an operator
///
/// The first key of a tenant makes the tenant. The text is answered once and kept nowhere. A retry makes another key: look for it in the list
/// and revoke it. For operators.
#[utoipa::path(
    post, path = "/v1/operator/keys", operation_id = "create_tenant_key", tag = "operators",
    request_body(content = CreateTenantKeyBody, example = json!({"tenant": "acme", "name": "deploy"})),
    responses((status = 200, description = "Made", body = CreatedKeyOut)),
)]
pub async fn create(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: Call<CreateTenantKey>,
) -> Answer {
    let CreateTenantKey { whose, request } = call.input;
    let created = app.keys.create(&holder.0.acting_for(&whose)?, request).await?;
    call.reply.with(&CreatedKeyOut::of(created)).await
}

/// Revoke a key of a tenant or of an operator
///
/// With all tokens that were made with it: here at once, on other servers within two seconds. The key that asks is refused unless
/// `own` is true. Can be repeated. 404 for a key that never was. For operators.
#[utoipa::path(
    post, path = "/v1/operator/keys/revoke", operation_id = "revoke_tenant_key", tag = "operators",
    request_body(content = RevokeTenantKeyBody,
        example = json!({"tenant": "acme", "key_id": "key_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
    responses(
        (status = 200, description = "Revoked", body = RevokedKeyOut),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn revoke(
    State(app): State<Arc<App>>,
    holder: Holder,
    call: Call<RevokeTenantKey>,
) -> Answer {
    let RevokeTenantKey { whose, request } = call.input;
    app.keys.revoke(&holder.0.acting_for(&whose)?, &request).await?;
    call.reply.with(&RevokedKeyOut { key_id: request.key_id }).await
}

/// A key to make, and whose it is.
pub struct CreateTenantKey {
    whose: Whose,
    request: CreateKey,
}

/// A key to revoke, and whose it is.
pub struct RevokeTenantKey {
    whose: Whose,
    request: RevokeKey,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OperatorKeyParams {
    /// Whose keys; or send `operators`.
    tenant: Option<String>,
    /// True: the keys of operators.
    operators: Option<bool>,
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateTenantKey)]
pub struct CreateTenantKeyBody {
    /// Whose key; or send `operators`.
    tenant: Option<Text>,
    /// True: the key of another operator.
    #[serde(default)]
    operators: bool,
    /// For people: 1 to 100 bytes without control characters.
    name: Option<Text>,
    /// Whom the key speaks for; absent, it has the whole tenant.
    subject: Option<Text>,
    /// It reads what it would otherwise change.
    #[serde(default)]
    read_only: bool,
    /// 1-315,360,000. Absent: it does not end by itself.
    #[schema(minimum = 1, maximum = 315_360_000_i64)]
    ttl_seconds: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeTenantKey)]
pub struct RevokeTenantKeyBody {
    /// Whose key; or send `operators`.
    tenant: Option<Text>,
    /// True: the key of an operator.
    #[serde(default)]
    operators: bool,
    key_id: Text,
    /// Also where it is the key that asks.
    #[serde(default)]
    own: bool,
}

impl Input for CreateTenantKey {
    type Wire<'a> = CreateTenantKeyBody;

    fn from_wire(wire: CreateTenantKeyBody, _: &Received) -> Result<Self> {
        let whose = Whose::of(wire.tenant.map(|it| it.0), wire.operators)?;
        let (name, subject) = (wire.name.map(|it| it.0), wire.subject.map(|it| it.0));
        let (read_only, ttl_seconds) = (wire.read_only, wire.ttl_seconds);
        Ok(Self { whose, request: CreateKey { name, subject, read_only, ttl_seconds } })
    }
}

impl Input for RevokeTenantKey {
    type Wire<'a> = RevokeTenantKeyBody;

    fn from_wire(wire: RevokeTenantKeyBody, _: &Received) -> Result<Self> {
        let whose = Whose::of(wire.tenant.map(|it| it.0), wire.operators)?;
        let key_id = checked_key_id(wire.key_id)?;
        Ok(Self { whose, request: RevokeKey { key_id, own: wire.own } })
    }
}
