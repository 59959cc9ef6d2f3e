//! Serves `POST /v1/files/write`, `…/append`, `…/edit` and `…/upload`: the routes that change the contents of files.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire::{DialectIn, OfChange, code_of};
use crate::app::App;
use crate::domain::files::changing::{AppendFile, EditFile, UploadFile, WriteFile};
use crate::domain::limits::LIMITS;
use crate::domain::store::item::Key;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Data, Text};
use crate::http::request::wide::{WideIn, WideOut};
use crate::http::store::wire::version;

/// Write a file
///
/// Creates it, or replaces its content and keeps when it was created and what else its value holds. A new file's path begins with a
/// slash and has no empty part, `.`, `..` or NUL. JavaScript takes what is written to a path of bytes (`.png`) for base64.
#[utoipa::path(
    post, path = "/v1/files/write", operation_id = "write_file", tag = "files",
    request_body(content = WriteBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/plan.md", "content": "# Plan\n"})),
    responses(
        (status = 200, description = "Durable", body = WriteOut, example = json!({"path": "/plan.md",
            "version": 1_793_404_800_000_000_i64, "created": true})),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid_path`, `not_a_file`, `invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn write(State(app): State<Arc<App>>, call: Call<Write>) -> Answer {
    let Call { caller, deadline, input: Write { of, write }, reply } = call;
    let (version, created) = app.files.write(of.asked(&caller, deadline), &write).await?;
    reply.with(&WriteOut { path: (&write.path).into(), version, created }).await
}

/// Append to a file
///
/// Makes it where there is none, unless a base is named. With `base_sha256` only to exactly that content, so that a client which has
/// the whole text sends no more than what is new.
#[utoipa::path(
    post, path = "/v1/files/append", operation_id = "append_file", tag = "files",
    request_body(content = AppendBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/log.md", "content": "- tea\n"})),
    responses(
        (status = 200, description = "Durable", body = PathVersionOut, example = json!({"path": "/log.md",
            "version": 1_793_404_800_000_001_i64})),
        (status = 404, description = "`file_not_found`: a base was named"),
        (status = 409, description = "`version_conflict`, `base_mismatch`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`not_text`, `not_a_file`, `invalid_path`, `idempotency_mismatch`"),
    ),
)]
pub async fn append(State(app): State<Arc<App>>, call: Call<Append>) -> Answer {
    let Call { caller, deadline, input: Append { of, append }, reply } = call;
    let version = app.files.append(of.asked(&caller, deadline), &append).await?;
    reply.with(&PathVersionOut { path: (&append.path).into(), version }).await
}

/// Edit a file
///
/// Replaces a text that occurs once, or every occurrence of it. Edits of one file never lose each other's changes. The details of
/// its errors are deepagents' texts.
#[utoipa::path(
    post, path = "/v1/files/edit", operation_id = "edit_file", tag = "files",
    request_body(content = EditBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/plan.md", "old_string": "tea",
        "new_string": "coffee"})),
    responses(
        (status = 200, description = "Durable", body = EditOut, example = json!({"path": "/plan.md", "occurrences": 1,
            "version": 1_793_404_800_000_002_i64})),
        (status = 404, description = "`file_not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`not_text`, `old_string_empty`, `string_not_found`, `string_not_unique`, `not_a_file`, \
            `idempotency_mismatch`"),
    ),
)]
pub async fn edit(State(app): State<Arc<App>>, call: Call<Edit>) -> Answer {
    let Call { caller, deadline, input: Edit { of, edit }, reply } = call;
    let (version, occurrences) = app.files.edit(of.asked(&caller, deadline), &edit).await?;
    reply.with(&EditOut { path: (&edit.path).into(), occurrences, version }).await
}

/// Upload files
///
/// Up to 1,000 files with their whole contents, each for itself, one result per file, in their order. Text where the bytes are UTF-8, for
/// JavaScript by the path.
#[utoipa::path(
    post, path = "/v1/files/upload", operation_id = "upload_files", tag = "files",
    request_body(content = UploadBody, example = json!({"namespace": ["ann", "filesystem"],
        "files": [{"path": "/plan.md", "bytes": "IyBQbGFuCg=="}]})),
    responses((status = 200, description = "One result per file", body = UploadOut, example = json!({"results": [
        {"path": "/plan.md", "version": 1_793_404_800_000_003_i64}]}))),
)]
pub async fn upload(State(app): State<Arc<App>>, call: Call<Upload>) -> Answer {
    let Call { caller, deadline, input: Upload { of, files }, reply } = call;
    let paths: Vec<Key> = files.iter().map(|it| it.path.clone()).collect();
    let results = app.files.upload(of.asked(&caller, deadline), files).await?;
    let results = paths.iter().zip(results).map(|(path, result)| UploadedOut {
        path: path.into(),
        error: result.as_ref().err().map(code_of),
        version: result.ok(),
    });
    reply.with(&UploadOut { results: results.collect() }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WriteFile)]
pub struct WriteBody<'a> {
    namespace: Vec<Text>,
    /// Default `python`.
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
    #[serde(borrow)]
    content: WideIn<'a>,
    /// The version that the file must have; 0: there must be none.
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppendFile)]
pub struct AppendBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
    #[serde(borrow)]
    content: WideIn<'a>,
    /// SHA-256 of the whole present content as UTF-8, in hexadecimal.
    base_sha256: Option<Text>,
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EditFile)]
pub struct EditBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
    #[serde(borrow)]
    old_string: WideIn<'a>,
    #[serde(borrow)]
    new_string: WideIn<'a>,
    /// Default false.
    replace_all: Option<bool>,
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UploadFiles)]
pub struct UploadBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    files: Vec<UploadFileBody<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UploadFile)]
pub struct UploadFileBody<'a> {
    #[serde(borrow)]
    path: WideIn<'a>,
    #[serde(borrow)]
    bytes: Data<'a>,
    /// Kept with the file; without it the path says.
    media_type: Option<Text>,
}

pub struct Write {
    of: OfChange,
    write: WriteFile,
}

pub struct Append {
    of: OfChange,
    append: AppendFile,
}

pub struct Edit {
    of: OfChange,
    edit: EditFile,
}

pub struct Upload {
    of: OfChange,
    files: Vec<UploadFile>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = WrittenFile)]
pub struct WriteOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    version: i64,
    /// There was no such file.
    created: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileVersion)]
pub struct PathVersionOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    version: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = EditedFile)]
pub struct EditOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    /// How many were replaced.
    occurrences: u64,
    version: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UploadedFiles)]
pub struct UploadOut {
    results: Vec<UploadedOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UploadedFile)]
pub struct UploadedOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    /// `invalid_path`, or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
}

impl Input for Write {
    type Wire<'a> = WriteBody<'a>;

    fn from_wire(wire: WriteBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            of: OfChange::new(wire.namespace, wire.dialect, (received, "/v1/files/write"))?,
            write: WriteFile {
                path: wire.path.path("path")?,
                content: wire.content.text("content")?,
                if_version: wire.if_version.map(version).transpose()?,
            },
        })
    }
}

impl Input for Append {
    type Wire<'a> = AppendBody<'a>;

    fn from_wire(wire: AppendBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            of: OfChange::new(wire.namespace, wire.dialect, (received, "/v1/files/append"))?,
            append: AppendFile {
                path: wire.path.path("path")?,
                content: wire.content.text("content")?,
                base_sha256: wire.base_sha256.map(|it| sha256(&it.0)).transpose()?,
                if_version: wire.if_version.map(version).transpose()?,
            },
        })
    }
}

impl Input for Edit {
    type Wire<'a> = EditBody<'a>;

    fn from_wire(wire: EditBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            of: OfChange::new(wire.namespace, wire.dialect, (received, "/v1/files/edit"))?,
            edit: EditFile {
                path: wire.path.path("path")?,
                old: wire.old_string.text("old_string")?,
                new: wire.new_string.text("new_string")?,
                all: wire.replace_all.unwrap_or(false),
                if_version: wire.if_version.map(version).transpose()?,
            },
        })
    }
}

impl Input for Upload {
    type Wire<'a> = UploadBody<'a>;

    fn from_wire(wire: UploadBody<'_>, received: &Received) -> Result<Self> {
        let files = wire.files.into_iter().map(|it| {
            Ok::<_, Error>(UploadFile {
                // What no file can have as its path is that file's result.
                path: Key::stored(it.path.text("files.path")?.into_bytes()),
                bytes: it.bytes.part_of(&received.body).to_vec(),
                media_type: it.media_type.map(|it| media_type(it.0)).transpose()?,
            })
        });
        Ok(Self {
            of: OfChange::new(wire.namespace, wire.dialect, (received, "/v1/files/upload"))?,
            files: files.collect::<Result<_>>()?,
        })
    }
}

fn sha256(text: &str) -> Result<[u8; 32]> {
    let refuse = || Error::invalid("base_sha256", "base_sha256 must be 64 hexadecimal digits");
    hex::decode(text).ok().and_then(|it| it.try_into().ok()).ok_or_else(refuse)
}

/// # Errors
/// 422 for what no header can hold.
pub fn media_type(text: String) -> Result<String> {
    let max = LIMITS.media_type_bytes_max;
    let is_legal = text.bytes().all(|it| (0x20..0x7f).contains(&it)) && text.contains('/');
    if is_legal && text.len() as u64 <= max {
        return Ok(text);
    }
    let detail = format!("media_type must be a media type of at most {max} ASCII characters");
    Err(Error::out_of_range("media_type", detail, max))
}
