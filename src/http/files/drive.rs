//! Serves `/api/storage/…`, the drive, for front ends: one person's files as one tree. The key or token determines the owner.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::drive_upload::upload_one;
use super::raw_call::{Raw, Sending, deadline, name_of, no_file, send};
use super::signed::{self, AddressOut, AddressParams, Wish};
use crate::app::App;
use crate::auth::signed_url::Disposition;
use crate::domain::caller::Caller;
use crate::domain::files::drive::{Drive, DriveTarget};
use crate::domain::files::drive_files::{
    DriveCursor, Entry, ListDrive, address, drive_of, page_size,
};
use crate::http::request::call::{Answer, Holder};
use crate::http::request::cursor;
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::Fields;

const CURSOR: &str = "drive";

/// List a folder of the drive
///
/// Folders and files right in it, or with `recursive=true` all files below it. `/memories` is the agent's memory, `/threads/{id}` what
/// a thread left aside, everything else the workspace. A path that is no folder has no entries.
#[utoipa::path(
    get, path = "/api/storage/list", operation_id = "list_drive", tag = "drive",
    params(
        ("path" = Option<String>, Query, description = "The folder; absent: the root"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
        ("recursive" = Option<bool>, Query, description = "All files below"),
        ("limit" = Option<u64>, Query, description = "1 to 1,000"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, description = "A page", body = ListingOut, example = json!({
        "path": "/code", "entries": [{
            "path": "/code/main.py", "name": "main.py", "is_dir": false, "size": 120,
            "modified_at": "2026-01-31T12:00:00.000001+00:00", "media_type": "text/plain",
            "etag": "\"2d711642b726b04401627ca9fbac32f5\""
        }]
    }))),
)]
pub async fn list(State(app): State<Arc<App>>, raw: Raw) -> Answer {
    let fields = raw.fields(&["path", "subject", "recursive", "limit", "cursor"])?;
    let path = fields.one("path")?.unwrap_or("/");
    let after = fields.one("cursor")?.map(position).transpose()?;
    let query = ListDrive {
        place: DriveTarget::of_path(path)?,
        is_recursive: fields.flag("recursive")?,
        limit: page_size(fields.number("limit")?)?,
        after,
    };
    let drive = drive(&app, raw.caller(), &fields)?;
    let page = app.drive.list(raw.caller(), &drive, &query).await?;
    raw.reply()
        .with(&ListingOut {
            path: path.to_owned(),
            entries: page.entries.into_iter().map(EntryOut::from).collect(),
            next_cursor: page.next.map(|it| cursor::encode(CURSOR, &(it.area, it.from))),
        })
        .await
}

/// Upload a file into the drive
///
/// As a form (`multipart/form-data`) with the fields `path` and then `file`, or as the raw body with `?path=`. Replaces what is there.
#[utoipa::path(
    post, path = "/api/storage/upload", operation_id = "upload_to_drive", tag = "drive",
    params(
        ("path" = Option<String>, Query, description = "Where to; in a form the field `path`"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
    ),
    request_body(content = UploadForm, content_type = "multipart/form-data",
        description = "A form, or with any other Content-Type the bytes themselves"),
    responses(
        (status = 201, description = "Durable", body = EntryOut),
        (status = 404, description = "`not_found`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 409, description = "`version_conflict`"),
        (status = 503, description = "`commit_unknown`"),
    ),
)]
pub async fn upload(State(app): State<Arc<App>>, mut raw: Raw) -> Answer {
    let answer = take(&app, &mut raw).await;
    raw.end(answer)
}

async fn take(app: &Arc<App>, raw: &mut Raw) -> Answer {
    let fields = raw.fields(&["path", "subject"])?;
    let drive = drive(app, raw.caller(), &fields)?;
    let caller = raw.caller().clone();
    let path = upload_one(app, &drive, fields.one("path")?, raw).await?;
    let spot = DriveTarget::of_file(&path)?;
    let row = app.raw_files.find(&caller, &address(&drive, &spot)?).await?.ok_or_else(no_file)?;
    let namespace = drive.namespace(&spot.area);
    let entry = Entry::of_file(&spot.area, &namespace, &row).ok_or_else(no_file)?;
    raw.reply().created(&EntryOut::from(entry)).await
}

/// Download a file of the drive
///
/// As `GET /v1/files/content`.
#[utoipa::path(
    get, path = "/api/storage/download", operation_id = "download_from_drive", tag = "drive",
    params(
        ("path" = String, Query, description = "The file"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
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
pub async fn download(State(app): State<Arc<App>>, raw: Raw) -> Answer {
    let fields = raw.fields(&["path", "subject"])?;
    let spot = DriveTarget::of_file(fields.required("path")?)?;
    let address = address(&drive(&app, raw.caller(), &fields)?, &spot)?;
    let file = app.raw_files.open(raw.caller(), &address).await?.ok_or_else(no_file)?;
    let sending = Sending { file, name: name_of(&spot.key), disposition: Disposition::Inline };
    send(&app, (raw.caller(), &raw.account()), &raw.headers, sending).await
}

/// Delete a file or folder of the drive
///
/// A folder with all that is in it. What is not there is no error.
#[utoipa::path(
    delete, path = "/api/storage/delete", operation_id = "delete_from_drive", tag = "drive",
    params(
        ("path" = String, Query, description = "The file or folder"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
    ),
    responses(
        (status = 204, description = "Gone"),
        (status = 503, description = "`commit_unknown`"),
    ),
)]
pub async fn delete(State(app): State<Arc<App>>, raw: Raw) -> Answer {
    let fields = raw.fields(&["path", "subject"])?;
    let place = DriveTarget::of_path(fields.required("path")?)?;
    let drive = drive(&app, raw.caller(), &fields)?;
    app.drive.delete(raw.caller(), &drive, &place, deadline(&app)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Get an address of a file
///
/// Whoever has the address may read this file, and nothing else, without a key, until it expires: for `<img>` and previews. It ends
/// with the key or token it was made with, with the file (one that is deleted and made again is another one) and with the subject.
/// `version` ties it to one version of the file. Begins with `--files-origin` where the server has one, else with `/`.
#[utoipa::path(
    get, path = "/api/storage/url", operation_id = "get_drive_url", tag = "drive",
    params(
        ("path" = String, Query, description = "The file"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
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
    let fields = raw.fields(&["path", "subject", "seconds", "version", "download", "show"])?;
    let spot = DriveTarget::of_file(fields.required("path")?)?;
    let drive = drive(&app, raw.caller(), &fields)?;
    let subject = raw.caller().subject.clone().or(fields.one("subject")?.map(str::to_owned));
    let wish = Wish::of(&fields, address(&drive, &spot)?, subject)?;
    signed::answer(&app, &holder.0, raw.reply(), wish).await
}

pub fn drive(app: &App, caller: &Caller, fields: &Fields) -> Result<Drive, Problem> {
    Ok(drive_of(caller, fields.one("subject")?, app.authenticator.is_keyless())?)
}

fn position(text: &str) -> Result<DriveCursor, Problem> {
    let (area, from) = cursor::decode(CURSOR, text)?;
    Ok(DriveCursor { area, from })
}

#[derive(Serialize, ToSchema)]
#[schema(as = DriveListing)]
pub struct ListingOut {
    path: String,
    entries: Vec<EntryOut>,
    /// There may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A file or folder of the drive.
#[derive(Serialize, ToSchema)]
#[schema(as = DriveEntry)]
pub struct EntryOut {
    path: String,
    name: String,
    is_dir: bool,
    /// Bytes; 0 for folders.
    size: u64,
    /// As its writer wrote it; absent for folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// As a download has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

/// For the document.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "forms are read field by field")]
pub struct UploadForm {
    path: String,
    #[schema(format = Binary)]
    file: String,
}

impl From<Entry> for EntryOut {
    fn from(entry: Entry) -> Self {
        let path = match entry.path.trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        Self {
            name: name_of(&path),
            path,
            is_dir: entry.is_dir,
            size: entry.size_bytes,
            modified_at: entry.modified_at,
            media_type: entry.media_type,
            etag: entry.tag.map(|it| format!("\"{it}\"")),
        }
    }
}
