//! Serves `POST /v1/files/ls`, `…/read`, `…/download` and `…/stat`: the routes that read files.

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire::{DialectIn, EntryOut, Of, code_of, limit};
use crate::app::App;
use crate::domain::files::dialect::Dialect;
use crate::domain::files::listing::ListDirectory;
use crate::domain::files::reading::{Body, ReadFile, Shown};
use crate::domain::store::item::Key;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor;
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Data, DataOut, Text};
use crate::http::request::wide::{WideIn, WideOut};

const CURSOR: &str = "files:ls";
const LINES_PYTHON: i64 = 2_000;
const LINES_JAVASCRIPT: i64 = 500;

/// List a directory of files
///
/// Files and directories directly below a path, or all files below it, by path. Items that are no files are left out; contents
/// are not read. A path without files has no entries. Pages by cursor miss nothing and repeat nothing while others write.
#[utoipa::path(
    post, path = "/v1/files/ls", operation_id = "list_files", tag = "files",
    request_body(content = LsBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/"})),
    responses((status = 200, description = "A page", body = LsOut, example = json!({"entries": [
        {"path": "/notes/", "is_dir": true, "size": 0, "modified_at": ""},
        {"path": "/plan.md", "is_dir": false, "size": 24, "modified_at": "2026-01-31T12:00:00.000001+00:00",
         "created_at": "2026-01-31T12:00:00+00:00", "media_type": "text/markdown", "version": 1_793_404_800_000_000_i64}]}))),
)]
pub async fn ls(State(app): State<Arc<App>>, call: Call<Ls>) -> Answer {
    let Call { caller, input: Ls { of, query }, reply, .. } = call;
    let page = app.files.list(of.asking(&caller), &query).await?;
    let last = page.entries.last().filter(|_| page.is_cut);
    let next_cursor = last.map(|it| cursor::encode(CURSOR, &it.path.json()));
    let entries = page.entries.into_iter().map(|it| EntryOut::new(it, of.dialect()));
    reply.with(&LsOut { entries: entries.collect(), next_cursor }).await
}

/// Read a file
///
/// A window of the lines of a text, or a file of bytes whole, with the fields that deepagents' `ReadResult` has.
#[utoipa::path(
    post, path = "/v1/files/read", operation_id = "read_file", tag = "files",
    request_body(content = ReadBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/plan.md", "offset": 0,
        "limit": 100})),
    responses(
        (status = 200, description = "The window", body = ReadOut, example = json!({"content": "# Plan\n", "encoding": "utf-8",
            "created_at": "2026-01-31T12:00:00+00:00", "modified_at": "2026-01-31T12:00:00.000001+00:00",
            "media_type": "text/markdown", "version": 1_793_404_800_000_000_i64, "size": 7, "total_lines": 1, "start_line": 1,
            "end_line": 1})),
        (status = 404, description = "`file_not_found`"),
        (status = 422, description = "`offset_past_end` (Python), `not_text`, `not_a_file`"),
    ),
)]
pub async fn read(State(app): State<Arc<App>>, call: Call<Read>) -> Answer {
    let Call { caller, input: Read { of, query }, reply, .. } = call;
    let shown = app.files.read(of.asking(&caller), &query).await?;
    reply.with(&ReadOut::new(shown, of.dialect())).await
}

/// Download files
///
/// The bytes of up to 1,000 files, one result per path, in their order.
#[utoipa::path(
    post, path = "/v1/files/download", operation_id = "download_files", tag = "files",
    request_body(content = DownloadBody, example = json!({"namespace": ["ann", "filesystem"], "paths": ["/plan.md", "/gone"]})),
    responses((status = 200, description = "One result per path", body = DownloadOut, example = json!({"results": [
        {"path": "/plan.md", "bytes": "IyBQbGFuCg==", "media_type": "text/markdown", "version": 1_793_404_800_000_000_i64},
        {"path": "/gone", "error": "file_not_found"}]}))),
)]
pub async fn download(State(app): State<Arc<App>>, call: Call<Download>) -> Answer {
    let Call { caller, input: Download { of, paths }, reply, .. } = call;
    let results = app.files.download(of.asking(&caller), &paths).await?;
    let results = paths.iter().zip(results).map(|(path, result)| match result {
        Ok(file) => DownloadedOut {
            path: path.into(),
            error: None,
            bytes: Some(DataOut(file.bytes.into())),
            media_type: Some(file.media_type),
            version: Some(file.version),
            sha256: Some(hex::encode(file.sha256)),
        },
        Err(error) => DownloadedOut {
            path: path.into(),
            error: Some(code_of(&error)),
            bytes: None,
            media_type: None,
            version: None,
            sha256: None,
        },
    });
    reply.with(&DownloadOut { results: results.collect() }).await
}

/// What is known of a file
///
/// Without its content. A path with files below it is a directory.
#[utoipa::path(
    post, path = "/v1/files/stat", operation_id = "stat_file", tag = "files",
    request_body(content = StatBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/plan.md"})),
    responses(
        (status = 200, description = "The file or directory", body = StatOut, example = json!({"entry": {"path": "/plan.md",
            "is_dir": false, "size": 7, "modified_at": "2026-01-31T12:00:00.000001+00:00", "media_type": "text/markdown",
            "version": 1_793_404_800_000_000_i64}})),
        (status = 404, description = "`file_not_found`"),
    ),
)]
pub async fn stat(State(app): State<Arc<App>>, call: Call<Stat>) -> Answer {
    let Call { caller, input: Stat { of, path }, reply, .. } = call;
    let entry = app.files.stat(of.asking(&caller), &path).await?;
    reply.with(&StatOut { entry: EntryOut::new(entry, of.dialect()) }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListFiles)]
pub struct LsBody<'a> {
    /// Exactly this one: files of namespaces below it are not seen.
    namespace: Vec<Text>,
    /// Default `python`.
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
    /// All files below the path, no directories. Default false.
    recursive: Option<bool>,
    /// Default and at most 10,000.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
    /// `next_cursor` of the page before, with the same arguments.
    cursor: Option<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReadFile)]
pub struct ReadBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
    /// Lines before the window; below 0 is 0.
    offset: Option<i64>,
    /// Lines of the window; below 0 is 0. Default 2,000, in JavaScript 500.
    limit: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DownloadFiles)]
pub struct DownloadBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    paths: Vec<WideIn<'a>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StatFile)]
pub struct StatBody<'a> {
    namespace: Vec<Text>,
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    path: WideIn<'a>,
}

pub struct Ls {
    of: Of,
    query: ListDirectory,
}

pub struct Read {
    of: Of,
    query: ReadFile,
}

pub struct Download {
    of: Of,
    paths: Vec<Key>,
}

pub struct Stat {
    of: Of,
    path: Key,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileList)]
pub struct LsOut {
    entries: Vec<EntryOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// `content` or `bytes`; the lines of a window have their ends as `\n` in Python.
#[derive(Serialize, ToSchema)]
#[schema(as = FileWindow)]
pub struct ReadOut {
    /// Text; with `encoding` base64 a part of the base64 text of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WideIn>)]
    content: Option<WideOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Data>)]
    bytes: Option<DataOut>,
    /// `utf-8` or `base64`: what the value holds.
    encoding: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WideIn>)]
    created_at: Option<WideOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WideIn>)]
    modified_at: Option<WideOut>,
    media_type: String,
    version: i64,
    /// Of the whole file, as the language counts it.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// Of the next window; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// The window had no lines, and nothing was looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_lines_requested: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DownloadedFiles)]
pub struct DownloadOut {
    results: Vec<DownloadedOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DownloadedFile)]
pub struct DownloadedOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    /// `file_not_found`, `value_too_large`, `too_large_for_batch` (the answer has its bytes: ask again), or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Data>)]
    bytes: Option<DataOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    /// Of the bytes, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FileStat)]
pub struct StatOut {
    entry: EntryOut,
}

impl ReadOut {
    fn new(shown: Shown, dialect: Dialect) -> Self {
        let is_text = matches!(
            shown.head.form,
            crate::domain::store::file_head::Form::Text
                | crate::domain::store::file_head::Form::Lines
        );
        let (content, bytes) = match shown.body {
            Body::Text(text) | Body::Base64(text) => (Some(WideOut(text)), None),
            Body::Bytes(bytes) => (None, Some(DataOut(Bytes::from(bytes)))),
        };
        let size = shown.head.size_in(dialect);
        Self {
            content,
            bytes,
            encoding: if is_text { "utf-8" } else { "base64" },
            created_at: shown.head.created_at.map(WideOut),
            modified_at: shown.head.modified_at.map(WideOut),
            media_type: shown.media_type,
            version: shown.version,
            size,
            total_lines: shown.place.map(|it| it.total_lines),
            start_line: shown.place.map(|it| it.start_line),
            end_line: shown.place.map(|it| it.end_line),
            next_offset: shown.place.and_then(|it| it.next_offset),
            no_lines_requested: shown.no_lines_requested,
        }
    }
}

impl Input for Ls {
    type Wire<'a> = LsBody<'a>;

    fn from_wire(wire: LsBody<'_>, _: &Received) -> Result<Self> {
        let after = wire.cursor.map(|it| -> Result<Key> {
            let path: String = cursor::decode(CURSOR, &it.0)?;
            Key::of_json(path.as_bytes())
        });
        Ok(Self {
            of: Of::new(wire.namespace, wire.dialect)?,
            query: ListDirectory {
                path: wire.path.path("path")?,
                is_recursive: wire.recursive.unwrap_or(false),
                limit: limit(wire.limit)?,
                after: after.transpose()?,
            },
        })
    }
}

impl Input for Read {
    type Wire<'a> = ReadBody<'a>;

    fn from_wire(wire: ReadBody<'_>, _: &Received) -> Result<Self> {
        let of = Of::new(wire.namespace, wire.dialect)?;
        let lines = match of.dialect() {
            Dialect::Python => LINES_PYTHON,
            Dialect::JavaScript => LINES_JAVASCRIPT,
        };
        let (offset, limit) = (wire.offset.unwrap_or(0), wire.limit.unwrap_or(lines));
        Ok(Self { of, query: ReadFile { path: wire.path.path("path")?, offset, limit } })
    }
}

impl Input for Download {
    type Wire<'a> = DownloadBody<'a>;

    fn from_wire(wire: DownloadBody<'_>, _: &Received) -> Result<Self> {
        let of = Of::new(wire.namespace, wire.dialect)?;
        let paths = wire.paths.into_iter().map(|it| {
            // No file has such a path.
            let text = it.text("paths")?;
            Ok::<_, Error>(Key::stored(text.into_bytes()))
        });
        Ok(Self { of, paths: paths.collect::<Result<_>>()? })
    }
}

impl Input for Stat {
    type Wire<'a> = StatBody<'a>;

    fn from_wire(wire: StatBody<'_>, _: &Received) -> Result<Self> {
        let of = Of::new(wire.namespace, wire.dialect)?;
        Ok(Self { of, path: wire.path.path("path")? })
    }
}
