//! Serves `GET /v1/tokens`: the minted tokens of a tenant that are still valid, as far as the audit log knows them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::domain::tenants::audit::EventCursor;
use crate::domain::time::rfc3339;
use crate::domain::tokens::token::LiveToken;
use crate::http::request::call::{Answer, BodylessCall};
use crate::http::request::cursor::{self, limit};
use crate::http::request::query_fields::query_of;

const PAGE_DEFAULT: i64 = 100;
const CURSOR: &str = "tokens";

/// List the tokens
///
/// That were minted and are still valid, newest first. No token is stored: the audit log knows who made it, when, and its end. Tokens
/// that were narrowed are not in it; they end with the one that they came from. A page may be short, or empty, where the next one has
/// more: follow `next_cursor`.
#[utoipa::path(
    get, path = "/v1/tokens", operation_id = "list_tokens", tag = "tokens",
    params(TokenParams),
    responses((status = 200, description = "A page", body = TokenPageOut, example = json!({"tokens": [
        {"token_id": "tok_0b9df1c3a2e54d7c8f60718293a4b5c6", "minter": "key_5b1e0d3c5f0a4ad14c5f9f0b8a6e2c1d",
            "minted_at": "2026-01-31T12:00:00.000000Z", "expires_at": "2026-01-31T20:00:00.000000Z", "read_only": true}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let params: TokenParams = query_of(&uri)?;
    let after = cursor::decode_time_and_id(CURSOR, params.cursor.as_deref())?;
    let after = after.map(|(at, event_id)| EventCursor { at, event_id });
    let limit = limit(Some(params.limit.unwrap_or(PAGE_DEFAULT)))?;
    let (tokens, next) = app.tokens.list(&call.caller, limit, after).await?;
    let position = |it: EventCursor| cursor::encode(CURSOR, &(it.at, it.event_id));
    let tokens = tokens.into_iter().map(LiveTokenOut::of).collect();
    call.reply.with(&TokenPageOut { tokens, next_cursor: next.map(position) }).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenParams {
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Tokens)]
pub struct TokenPageOut {
    tokens: Vec<LiveTokenOut>,
    /// Send it for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = LiveToken)]
pub struct LiveTokenOut {
    token_id: String,
    /// Id of the key that made it; `cli` for the command line, `local` for a server without keys.
    minter: String,
    #[schema(format = DateTime)]
    minted_at: String,
    #[schema(format = DateTime)]
    expires_at: String,
    /// Absent of a token from before the log said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only: Option<bool>,
}

impl LiveTokenOut {
    fn of(token: LiveToken) -> Self {
        Self {
            token_id: token.token_id.to_string(),
            minter: token.minter,
            minted_at: rfc3339(token.minted_at),
            expires_at: rfc3339(token.expires_at),
            read_only: token.read_only,
        }
    }
}
