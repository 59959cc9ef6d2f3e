//! Serves `/v1/tokens`: scoped tokens are minted by keys, narrowed by their holders, and revoked before they expire.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::grants::GrantsBody;
use crate::app::App;
use crate::auth::tokens::{Minted, Named};
use crate::domain::time::rfc3339;
use crate::domain::tokens::token::{MintRequest, NarrowRequest, TokenId};
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call, Holder};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;

/// Make a token
///
/// Only for keys; tokens narrow themselves. A key of the whole tenant makes tokens for any subject, or without one; a key
/// with a subject for this subject and within its own grants. Without `grants`, the token has what the subject has: its own
/// threads, sessions and snapshots, and the namespaces under its label. With `read_only` it reads this and changes nothing;
/// without a subject it reads everything of the tenant. The text is answered once and kept nowhere. A retry
/// makes another token; the first one expires unused, so this call takes no Idempotency-Key.
#[utoipa::path(
    post, path = "/v1/tokens", operation_id = "mint_token", tag = "tokens",
    request_body(content = MintBody, example = json!({
        "subject": "ann@acme.test", "ttl_seconds": 900,
        "grants": {
            "threads": [{"id": "ann-1", "actions": ["read", "append"]}],
            "namespaces": [{"prefix": ["ann@acme~2etest", "notes"], "actions": ["read"]}]
        }
    })),
    responses((status = 200, description = "Made", body = MintedToken, example = json!({
        "token": "tks_5f0c1d2e3b4a5968.hqF0pGFjbWWhbapr…", "token_id": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6",
        "expires_at": "2026-01-31T12:15:00.000000Z", "subject": "ann@acme.test",
        "grants": {
            "threads": [{"id": "ann-1", "actions": ["read", "append"]}],
            "namespaces": [{"prefix": ["ann@acme~2etest", "notes"], "actions": ["read"]}]
        }
    }))),
)]
pub async fn mint(State(app): State<Arc<App>>, holder: Holder, call: Call<Mint>) -> Answer {
    let minted = app.tokens.mint(&holder.0, call.input.0).await?;
    call.reply.with(&MintedToken::from(minted)).await
}

/// Narrow what the caller holds
///
/// Makes a token that may do no more than the key or token that was presented, has the same subject and expires no later.
/// It dies with the one that it came from. Beyond that: 403 `not_granted`. Without `grants` they stay the same, without
/// `ttl_seconds` it lasts an hour or as long as what was presented. A retry makes another token, as with minting.
#[utoipa::path(
    post, path = "/v1/tokens/narrow", operation_id = "narrow_token", tag = "tokens",
    request_body(content = NarrowBody, example = json!({
        "ttl_seconds": 300, "grants": {"threads": [{"id": "ann-1", "actions": ["read"]}]}
    })),
    responses((status = 200, description = "Made", body = MintedToken, example = json!({
        "token": "tks_5f0c1d2e3b4a5968.hqF0pGFjbWWhbapr…", "token_id": "tok_7a0c5de48b1f4c2e9d3360718293a4b5",
        "expires_at": "2026-01-31T12:05:00.000000Z", "subject": "ann@acme.test",
        "grants": {"threads": [{"id": "ann-1", "actions": ["read"]}]}
    }))),
)]
pub async fn narrow(State(app): State<Arc<App>>, holder: Holder, call: Call<Narrow>) -> Answer {
    let minted = app.tokens.narrow(&holder.0, call.input.0).await?;
    call.reply.with(&MintedToken::from(minted)).await
}

/// Revoke a token
///
/// With all that were narrowed from it: here at once, on other servers within two seconds. A key of the whole tenant
/// revokes any token of the tenant by its id; since ids are not stored, an unknown one is no error. A token revokes itself, by
/// its id or by an empty body, and by their text the tokens that came from it. A key with a subject revokes by their text
/// the tokens that it made. A text that is not one of these is 404, whatever it is. Can be repeated.
#[utoipa::path(
    post, path = "/v1/tokens/revoke", operation_id = "revoke_token", tag = "tokens",
    request_body(content = RevokeBody, example = json!({"token_id": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
    responses(
        (status = 200, description = "Revoked", body = RevokedOut,
            example = json!({"token_id": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn revoke(State(app): State<Arc<App>>, holder: Holder, call: Call<Revoke>) -> Answer {
    let revoked = app.tokens.revoke(&holder.0, call.input.0).await?;
    call.reply.with(&RevokedOut { token_id: revoked.token_id.to_string() }).await
}

/// Also what the command line prints.
#[derive(Serialize, ToSchema)]
pub struct MintedToken {
    /// The secret; in no log and in no table.
    token: String,
    /// Names the token, to revoke it.
    token_id: String,
    #[schema(format = DateTime)]
    expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    grants: GrantsBody,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RevokedToken)]
pub struct RevokedOut {
    pub token_id: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MintToken)]
pub struct MintBody {
    /// For whom the token speaks. Of a key with a subject: this one, also when it is absent.
    subject: Option<Text>,
    /// Needed where there is no subject and no `read_only`.
    grants: Option<GrantsBody>,
    /// Instead of grants: what the subject has, to read; without a subject, the whole tenant.
    #[serde(default)]
    read_only: bool,
    /// 1-86,400; an hour when absent.
    ttl_seconds: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NarrowToken)]
pub struct NarrowBody {
    grants: Option<GrantsBody>,
    /// 1-86,400, and not beyond the end of what was presented.
    ttl_seconds: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeToken)]
pub struct RevokeBody {
    token_id: Option<Text>,
    /// The text of a token, instead of its id.
    token: Option<Text>,
}

pub struct Mint(MintRequest);
pub struct Narrow(NarrowRequest);
pub struct Revoke(Named);

impl From<Minted> for MintedToken {
    fn from(minted: Minted) -> Self {
        let Minted { text, token } = minted;
        Self {
            token: text,
            token_id: token.token_id.to_string(),
            expires_at: rfc3339(token.expires_at),
            grants: GrantsBody::from(&*token.grants),
            subject: token.subject,
        }
    }
}

impl Input for Mint {
    type Wire<'a> = MintBody;

    fn from_wire(wire: MintBody, _: &Received) -> Result<Self> {
        let grants = wire.grants.map(GrantsBody::into_domain).transpose()?;
        let subject = wire.subject.map(|it| it.0);
        let (read_only, ttl_seconds) = (wire.read_only, wire.ttl_seconds);
        Ok(Self(MintRequest { subject, grants, read_only, ttl_seconds }))
    }
}

impl Input for Narrow {
    type Wire<'a> = NarrowBody;

    fn from_wire(wire: NarrowBody, _: &Received) -> Result<Self> {
        let grants = wire.grants.map(GrantsBody::into_domain).transpose()?;
        Ok(Self(NarrowRequest { grants, ttl_seconds: wire.ttl_seconds }))
    }
}

impl Input for Revoke {
    type Wire<'a> = RevokeBody;

    fn from_wire(wire: RevokeBody, _: &Received) -> Result<Self> {
        Ok(Self(match (wire.token_id, wire.token) {
            (None, None) => Named::Own,
            (Some(id), None) => Named::ById(TokenId::parse("token_id", &id.0)?),
            (None, Some(text)) => Named::ByText(text.0),
            (Some(_), Some(_)) => {
                let detail = "token: name the token by its id or by its text, not by both";
                return Err(Error::invalid("token", detail));
            }
        }))
    }
}
