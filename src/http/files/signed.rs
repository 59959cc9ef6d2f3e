//! Makes signed addresses of files, and serves `GET /api/storage/open`, the one route for them. This file decides the contents of an
//! address. `auth` checks that it is genuine and still valid.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};

use super::raw_call::{Sending, name_of, no_file, send};
use crate::app::App;
use crate::auth::authenticator::Identity;
use crate::auth::signed_url::{Disposition, SignedUrl};
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::tokens::token::Pass;
use crate::domain::{Error, Result};
use crate::http::connections::watch::Watch;
use crate::http::request::call::Answer;
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::Fields;

/// An address to make.
pub struct Wish {
    pub address: Address,
    pub subject: Option<String>,
    pub seconds: Option<u64>,
    pub version: Option<i64>,
    pub disposition: Disposition,
}

/// Get a file by its signed address
///
/// Without a key. The address says all there is to say; a changed one opens nothing.
#[utoipa::path(
    get, path = "/api/storage/open", operation_id = "open_signed_file", tag = "drive",
    params(
        ("u" = String, Query, description = "What `GET /api/storage/url` put there"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of what the caller holds"),
    ),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The range", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The caller holds it"),
        (status = 400, description = "`malformed_body`"),
        (status = 401, description = "`unauthorized`, `token_expired`, `token_revoked`"),
        (status = 404, description = "`not_found`"),
        (status = 410, description = "`key_destroyed`"),
        (status = 416, description = "`range_not_satisfiable`"),
        (status = 429, description = "`too_many_requests`"),
        (status = 503, description = "`unavailable`, `overloaded`"),
    ),
)]
pub async fn open(
    State(app): State<Arc<App>>,
    watch: Option<Extension<Arc<Watch>>>,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    let fields = Fields::of(&uri, &["u"])?;
    let (url, caller) = app.authenticator.open_url(fields.required("u")?).await?;
    if let Some(Extension(watch)) = watch {
        watch.known();
    }
    app.quotas.admit(&caller)?;
    let account = app.shares.account(url.holder());
    let address =
        Address { namespace: Namespace::stored(url.namespace), key: Key::of_text(&url.key)? };
    let file = app.raw_files.open(&caller, &address).await?.ok_or_else(no_file)?;
    let is_meant =
        file.created_at == url.created_at && url.version.is_none_or(|it| it == file.version);
    if !is_meant {
        return Err(no_file());
    }
    let as_attachment = url.disposition == Disposition::Attachment;
    let sending = Sending { file, name: name_of(&url.key), as_attachment };
    send(&app, (&caller, &account), &headers, sending).await
}

/// The address of a file that is there, and when it expires.
///
/// # Errors
/// `NotFound`; 422 for a life that no address has.
pub async fn address_of(
    app: &App,
    identity: &Identity,
    wish: Wish,
) -> Result<(String, Micros), Problem> {
    let Wish { address, subject, seconds, version, disposition } = wish;
    let now = app.clock.now();
    let expires_at = expiry(&identity.pass, seconds, now)?;
    let file = app.raw_files.open(&identity.caller, &address).await?.ok_or_else(no_file)?;
    let chain = match &identity.pass {
        Pass::Token(token) => token.chain().copied().collect(),
        _ => Vec::new(),
    };
    let url = SignedUrl {
        tenant: identity.caller.tenant.clone(),
        subject,
        namespace: address.namespace.labels().to_vec(),
        key: address.key.text().unwrap_or_default().to_owned(),
        created_at: file.created_at,
        version,
        disposition,
        expires_at,
        minter: identity.pass.minter(),
        chain,
    };
    let text = app.tokens.sign_url(&url).await?;
    let origin = app.browsers.files_origin.as_deref().unwrap_or_default();
    Ok((format!("{origin}/api/storage/open?u={text}"), expires_at))
}

fn expiry(pass: &Pass, seconds: Option<u64>, now: Micros) -> Result<Micros> {
    let max = LIMITS.signed_url_seconds_max;
    let wanted = seconds.unwrap_or(LIMITS.signed_url_seconds_default);
    if !(1..=max).contains(&wanted) {
        let detail = format!("seconds must be a number from 1 to {max}");
        return Err(Error::out_of_range("seconds", detail, max));
    }
    let wanted = now + i64::try_from(wanted).unwrap_or(0) * 1_000_000;
    Ok(pass.expires_at().map_or(wanted, |it| it.min(wanted)))
}
