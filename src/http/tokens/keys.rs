//! Serves `/v1/keys`: a key of the whole tenant looks after the keys of its tenant, as `threadkeep keys` does.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::auth::keys::CreatedKey;
use crate::auth::secret;
use crate::domain::Result;
use crate::domain::limits::LIMITS;
use crate::domain::names;
use crate::domain::time::{date, rfc3339};
use crate::domain::tokens::key::{CreateKey, Key, KeyCursor, KeyPage, KeyQuery, RevokeKey};
use crate::http::request::call::{Answer, BodylessCall, Call, Holder};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::query_fields::query_of;

const PAGE_DEFAULT: i64 = 100;
const CURSOR: &str = "keys";

/// List the keys
///
/// Of the tenant, in the order in which they were made, revoked ones too. Never their texts.
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "keys",
    params(KeyParams),
    responses((status = 200, description = "A page", body = KeyPageOut, example = json!({"keys": [
        {"key_id": "key_5b1e0d3c5f0a4ad14c5f9f0b8a6e2c1d", "name": "deploy", "prefix": "tk_h9Qfa", "read_only": false,
            "created_at": "2026-01-31T12:00:00.000000Z", "last_used_on": "2026-02-01"}
    ]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let KeyParams { limit, cursor } = query_of(&uri)?;
    let page = app.keys.list(&call.caller, key_query(limit, cursor.as_deref())?).await?;
    call.reply.with(&KeyPageOut::of(page)).await
}

/// Make a key
///
/// For keys of the whole tenant; a token makes none, because a key may outlive it. With `ttl_seconds` the key ends by itself, and with it
/// all tokens that were made with it; then it is refused with `key_expired`. The text is answered once and kept nowhere. A retry
/// makes another key: look for it in the list and revoke it.
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys",
    request_body(content = CreateKeyBody, example = json!({"name": "dashboard", "read_only": true, "ttl_seconds": 7_776_000})),
    responses((status = 200, description = "Made", body = CreatedKeyOut, example = json!({
        "key": "tkr_1777636800_Zt3vLq…", "key_id": "key_0b9df1c3a2e54d7c8f60718293a4b5c6", "name": "dashboard",
        "prefix": "tkr_1777636800_Zt3vL", "read_only": true, "created_at": "2026-01-31T12:00:00.000000Z",
        "expires_at": "2026-05-01T12:00:00.000000Z"
    }))),
)]
pub async fn create(State(app): State<Arc<App>>, holder: Holder, call: Call<CreateKey>) -> Answer {
    let created = app.keys.create(&holder.0, call.input).await?;
    call.reply.with(&CreatedKeyOut::of(created)).await
}

/// Revoke a key
///
/// With all tokens that were made with it: here at once, on other servers within two seconds. The key that asks is refused unless
/// `own` is true. Can be repeated. 404 for a key that the tenant never had.
#[utoipa::path(
    post, path = "/v1/keys/revoke", operation_id = "revoke_key", tag = "keys",
    request_body(content = RevokeKeyBody, example = json!({"key_id": "key_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
    responses(
        (status = 200, description = "Revoked", body = RevokedKeyOut,
            example = json!({"key_id": "key_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn revoke(State(app): State<Arc<App>>, holder: Holder, call: Call<RevokeKey>) -> Answer {
    app.keys.revoke(&holder.0, &call.input).await?;
    call.reply.with(&RevokedKeyOut { key_id: call.input.key_id }).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct KeyParams {
    /// At most 1,000; default 100.
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Keys)]
pub struct KeyPageOut {
    keys: Vec<KeyOut>,
    /// Send it for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub struct KeyOut {
    key_id: String,
    /// What its maker called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// How its text begins. Absent of a key from before 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Absent for a key of the whole tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// It reads what it would otherwise change.
    read_only: bool,
    #[schema(format = DateTime)]
    created_at: String,
    /// Absent while it is not revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    revoked_at: Option<String>,
    /// When it ends by itself. Absent of a key that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// The day in UTC of its last use, up to a minute late. Absent of a key that was never used since this is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = Date)]
    last_used_on: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CreatedKey)]
pub struct CreatedKeyOut {
    /// The secret; in no log and in no table.
    key: String,
    #[serde(flatten)]
    about: KeyOut,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RevokedKey)]
pub struct RevokedKeyOut {
    pub key_id: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateKey)]
pub struct CreateKeyBody {
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
#[schema(as = RevokeKey)]
pub struct RevokeKeyBody {
    key_id: Text,
    /// Also where it is the key that asks.
    #[serde(default)]
    own: bool,
}

impl KeyPageOut {
    pub fn of(page: KeyPage) -> Self {
        let position = |it: KeyCursor| cursor::encode(CURSOR, &(it.created_at, it.key_id));
        let keys = page.keys.into_iter().map(KeyOut::of).collect();
        Self { keys, next_cursor: page.next.map(position) }
    }
}

impl CreatedKeyOut {
    pub fn of(CreatedKey { secret, key }: CreatedKey) -> Self {
        Self { key: secret.text().to_owned(), about: KeyOut::of(key) }
    }
}

impl KeyOut {
    pub fn of(key: Key) -> Self {
        Self {
            read_only: key.shown.prefix.as_deref().is_some_and(secret::is_read_only),
            key_id: key.key_id,
            name: key.shown.name,
            prefix: key.shown.prefix,
            subject: key.subject,
            created_at: rfc3339(key.created_at),
            revoked_at: key.revoked_at.map(rfc3339),
            expires_at: key.expires_at.map(rfc3339),
            last_used_on: key.shown.last_used_day.map(date),
        }
    }
}

impl Input for CreateKey {
    type Wire<'a> = CreateKeyBody;

    fn from_wire(wire: CreateKeyBody, _: &Received) -> Result<Self> {
        let (name, subject) = (wire.name.map(|it| it.0), wire.subject.map(|it| it.0));
        let (read_only, ttl_seconds) = (wire.read_only, wire.ttl_seconds);
        Ok(Self { name, subject, read_only, ttl_seconds })
    }
}

impl Input for RevokeKey {
    type Wire<'a> = RevokeKeyBody;

    fn from_wire(wire: RevokeKeyBody, _: &Received) -> Result<Self> {
        Ok(Self { key_id: checked_key_id(wire.key_id)?, own: wire.own })
    }
}

/// # Errors
/// 422 for what is no id.
pub fn checked_key_id(Text(key_id): Text) -> Result<String> {
    names::check("key_id", &key_id, LIMITS.key_id_bytes_max, false)?;
    Ok(key_id)
}

/// # Errors
/// 422 for a limit below zero and a text that is no cursor.
pub fn key_query(asked: Option<i64>, after: Option<&str>) -> Result<KeyQuery> {
    let after = cursor::decode_time_and_id(CURSOR, after)?;
    Ok(KeyQuery {
        limit: limit(Some(asked.unwrap_or(PAGE_DEFAULT)))?,
        after: after.map(|(created_at, key_id)| KeyCursor { created_at, key_id }),
    })
}
