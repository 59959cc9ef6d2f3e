//! Serves `GET` and `PUT /v1/files/content`: streams a file of any size as raw bytes.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::raw_call::{Raw, Sending, name_of, no_file, send, store};
use super::signed::disposition;
use crate::app::App;
use crate::domain::files::raw_files::{PutFile, Repetition, Stored};
use crate::http::request::call::Answer;
use crate::http::request::decode::idempotency_key;

/// Get a file as raw bytes
///
/// With ranges, `ETag` and `If-None-Match`, of a file of exactly the namespace that `ns` names (`ns=a&ns=b`). Whatever type the
/// file says it is, nothing in it runs: `nosniff`, a sandbox without sources, and as an attachment unless it is PNG, JPEG, GIF,
/// WebP, PDF or plain text.
#[utoipa::path(
    get, path = "/v1/files/content", operation_id = "get_file_content", tag = "files",
    params(
        ("ns" = Vec<String>, Query, description = "Labels of the namespace, in their order"),
        ("path" = String, Query, description = "The file's path: the exact key of its item"),
        ("download" = Option<bool>, Query, description = "As an attachment, whatever its type"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of what the caller holds"),
    ),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The range", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The caller holds it"),
        (status = 404, description = "`not_found`"),
        (status = 416, description = "`range_not_satisfiable`"),
        (status = 503, description = "`overloaded`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, raw: Raw) -> Answer {
    let fields = raw.fields(&["ns", "path", "download"])?;
    let address = fields.address()?;
    let disposition = disposition(&fields)?;
    let file = app.raw_files.open(raw.caller(), &address).await?.ok_or_else(no_file)?;
    let sending = Sending { file, name: name_of(fields.required("path")?), disposition };
    send(&app, (raw.caller(), &raw.account()), &raw.headers, sending).await
}

/// Put a file as raw bytes
///
/// Creates or replaces it. Up to 16 MiB it becomes the value of its item, as deepagents writes it: text where it is UTF-8, else
/// base64. A larger one is kept beside the items: the store answers 413 `value_too_large` for it and leaves it out of searches. The
/// same bytes again cost nothing. Nothing shows before all has arrived; what breaks off is sent again, or in parts
/// (`/v1/files/uploads`).
#[utoipa::path(
    put, path = "/v1/files/content", operation_id = "put_file_content", tag = "files",
    params(
        ("ns" = Vec<String>, Query, description = "Labels of the namespace, in their order"),
        ("path" = String, Query, description = "The file's path: the key of its item"),
        ("if_version" = Option<i64>, Query, description = "The version that the file must have; 0: there must be none"),
        ("Idempotency-Key" = Option<String>, Header, description = "1-255 visible ASCII characters: a put that is sent again \
            with the same key, bytes and parameters within a day is answered as the first was, and done once"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream",
        description = "The bytes. Content-Type is kept, but for application/octet-stream"),
    responses(
        (status = 200, description = "Durable", body = StoredOut, example = json!({
            "path": "/report.pdf", "version": 1_793_404_800_000_000_i64, "size_bytes": 81_234, "created": true, "unchanged": false
        })),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
        (status = 503, description = "`commit_unknown`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, mut raw: Raw) -> Answer {
    let answer = take(&app, &mut raw).await;
    raw.end(answer)
}

async fn take(app: &App, raw: &mut Raw) -> Answer {
    let fields = raw.fields(&["ns", "path", "if_version"])?;
    let put = PutFile {
        address: fields.address()?,
        media_type: raw.media_type(),
        if_version: fields.if_version()?,
        deadline: 0,
        repetition: idempotency_key(&raw.headers)?.map_or(Repetition::Unknown, Repetition::Key),
    };
    let caller = raw.identity.caller.clone();
    let stored = store(app, &caller, put, (&mut raw.held, &mut raw.body)).await?;
    raw.reply().with(&StoredOut::of(fields.required("path")?, stored)).await
}

/// A file that was written.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredFile)]
pub struct StoredOut {
    path: String,
    version: i64,
    size_bytes: u64,
    /// There was none before.
    created: bool,
    /// It had these bytes already: nothing was written.
    unchanged: bool,
}

impl StoredOut {
    pub fn is_unchanged(&self) -> bool {
        self.unchanged
    }

    pub fn of(path: &str, stored: Stored) -> Self {
        let Stored { version, created, unchanged, size_bytes } = stored;
        Self { path: path.to_owned(), version, size_bytes, created, unchanged }
    }
}
