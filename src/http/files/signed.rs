//! Makes signed addresses of files, and serves `GET /api/storage/open`, the one route for them. This file decides the contents of an
//! address. `auth` checks that it is genuine and still valid.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{Extensions, HeaderMap, Uri, header};
use axum::response::IntoResponse as _;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::raw_call::{Raw, Sending, name_of, no_file, send};
use crate::app::App;
use crate::auth::authenticator::Identity;
use crate::auth::signed_url::{Disposition, SignedUrl};
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::domain::tokens::token::Pass;
use crate::domain::{Error, Result};
use crate::http::connections::watch::Watch;
use crate::http::request::call::{Answer, Holder, Reply, count};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::Fields;

const ISOLATED: &str = "isolated";

/// What a query says of an address, beside the file.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the document's; `Wish::of` reads them")]
pub struct AddressParams {
    /// 1 to 86,400; an hour when absent, and no longer than what was presented
    seconds: Option<u64>,
    /// Only this version of the file
    version: Option<i64>,
    /// As an attachment, whatever its type
    download: Option<bool>,
    /// `isolated`: HTML and SVG are shown, too, as they look without scripts, forms and network. Needs `--files-origin`
    show: Option<String>,
}

/// An address to make.
pub struct Wish {
    address: Address,
    subject: Option<String>,
    seconds: Option<u64>,
    version: Option<i64>,
    disposition: Disposition,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileAddress)]
pub struct AddressOut {
    url: String,
    #[schema(format = DateTime)]
    expires_at: String,
}

impl Wish {
    /// What the query says beside the file.
    ///
    /// # Errors
    /// 422 naming the field.
    pub fn of(fields: &Fields, address: Address, subject: Option<String>) -> Result<Self> {
        let version = fields.number("version")?.and_then(|it| i64::try_from(it).ok());
        let seconds = fields.number("seconds")?;
        let disposition = match (fields.one("show")?, disposition(fields)?) {
            (None, found) => found,
            (Some(ISOLATED), Disposition::Inline) => Disposition::Isolated,
            (Some(ISOLATED), _) => {
                let detail = "a file is shown or downloaded: give show or download";
                return Err(Error::invalid("show", detail));
            }
            (Some(_), _) => return Err(Error::invalid("show", "show must be isolated")),
        };
        Ok(Self { address, subject, seconds, version, disposition })
    }
}

/// How a query wants the file: as an attachment, or as its type allows.
///
/// # Errors
/// 422 for what is neither true nor false.
pub fn disposition(fields: &Fields) -> Result<Disposition> {
    Ok(if fields.flag("download")? { Disposition::Attachment } else { Disposition::Inline })
}

/// Get an address of a file in any namespace
///
/// As `GET /api/storage/url`, for a file of exactly the namespace that `ns` names (`ns=a&ns=b`).
#[utoipa::path(
    get, path = "/v1/files/url", operation_id = "get_file_url", tag = "files",
    params(
        ("ns" = Vec<String>, Query, description = "Labels of the namespace, in their order"),
        ("path" = String, Query, description = "The file's path: the exact key of its item"),
        AddressParams,
    ),
    responses(
        (status = 200, description = "The address", body = AddressOut, example = json!({
            "url": "/api/storage/open?u=5f0c1d2e3b4a5968.AQAAAAdkZWZhdWx0…", "expires_at": "2026-01-31T13:00:00.000000Z"
        })),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn url(State(app): State<Arc<App>>, holder: Holder, raw: Raw) -> Answer {
    let fields = raw.fields(&["ns", "path", "seconds", "version", "download", "show"])?;
    let wish = Wish::of(&fields, fields.address()?, raw.caller().subject.clone())?;
    answer(&app, &holder.0, raw.reply(), wish).await
}

/// Answers with the address.
///
/// # Errors
/// As [`address_of`].
pub async fn answer(app: &App, identity: &Identity, reply: Reply, wish: Wish) -> Answer {
    let (url, expires_at) = address_of(app, identity, wish).await?;
    let answer = reply.with(&AddressOut { url, expires_at: rfc3339(expires_at) }).await?;
    // It is as good as a key to this file.
    Ok(([(header::CACHE_CONTROL, "no-store")], answer).into_response())
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
    extensions: Extensions,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    let fields = Fields::of(&uri, &["u"])?;
    let (url, caller) = app.authenticator.open_url(fields.required("u")?).await?;
    if let Some(watch) = extensions.get::<Arc<Watch>>() {
        watch.known();
    }
    count(&extensions, &url.holder())?;
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
    // The server may have had a host of files when the address was made.
    if url.disposition == Disposition::Isolated && app.browsers.files_origin.is_none() {
        return Err(no_file());
    }
    let sending = Sending { file, name: name_of(&url.key), disposition: url.disposition };
    send(&app, (&caller, &account), &headers, sending).await
}

/// The address of a file that is there, and when it expires.
///
/// # Errors
/// `NotFound`; 422 for a life that no address has, and for showing without a host of files.
async fn address_of(
    app: &App,
    identity: &Identity,
    wish: Wish,
) -> Result<(String, Micros), Problem> {
    let Wish { address, subject, seconds, version, disposition } = wish;
    let now = app.clock.now();
    let expires_at = expiry(&identity.pass, seconds, now)?;
    if disposition == Disposition::Isolated && app.browsers.files_origin.is_none() {
        let detail = "show=isolated needs a host of files: this server has no --files-origin";
        return Err(Error::invalid("show", detail).into());
    }
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
