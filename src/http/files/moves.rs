//! Serves `POST /v1/files/delete`, `…/move` and `…/copy`.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire::{DialectIn, OfChange};
use crate::app::App;
use crate::domain::Result;
use crate::domain::files::moving::{DeleteFile, MoveFile};
use crate::domain::store::namespace::Namespace;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::request::wide::{WideIn, WideOut};
use crate::http::store::wire::version;

/// Delete a file or a directory
///
/// The item at the path and everything below it: in one step on PostgreSQL; on the embedded database 500 files at a time, so that other
/// writes go between, and who reads meanwhile may see some gone and others not. With `if_version` the file alone, where it still has
/// this version.
#[utoipa::path(
    post, path = "/v1/files/delete", operation_id = "delete_files", tag = "files",
    request_body(content = DeleteFilesBody, example = json!({"namespace": ["ann", "filesystem"], "path": "/notes"})),
    responses(
        (status = 200, description = "Deleted", body = DeleteOut, example = json!({"deleted": 3})),
        (status = 404, description = "`file_not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<Delete>) -> Answer {
    let Call { caller, deadline, input: Delete { of, delete }, reply } = call;
    let deleted = app.files.delete(of.asked(&caller, deadline), &delete).await?;
    reply.with(&DeleteOut { deleted }).await
}

/// Move a file or a directory
///
/// At once, at most 1,000 files; values stay as they are. Files of any size cost no bytes within one namespace root (the first label); to
/// another root those over 16 MiB are copied, together up to 1 GiB.
#[utoipa::path(
    post, path = "/v1/files/move", operation_id = "move_files", tag = "files",
    request_body(content = MoveBody, example = json!({"namespace": ["ann", "filesystem"], "from": "/plan.md", "to": "/old/plan.md"})),
    responses(
        (status = 200, description = "Moved", body = MoveOut, example = json!({"path": "/old/plan.md",
            "version": 1_793_404_800_000_004_i64, "files": 1})),
        (status = 404, description = "`file_not_found`"),
        (status = 409, description = "`file_exists`, `version_conflict`"),
        (status = 413, description = "`too_large`, `quota_exceeded`"),
        (status = 422, description = "`invalid_path`, `invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn rename(State(app): State<Arc<App>>, call: Call<Transfer<MOVE>>) -> Answer {
    transfer(&app, call).await
}

/// Copy a file or a directory
///
/// At once, at most 1,000 files; values stay as they are. Files of any size cost no bytes within one namespace root (the first label); to
/// another root those over 16 MiB are copied, together up to 1 GiB.
#[utoipa::path(
    post, path = "/v1/files/copy", operation_id = "copy_files", tag = "files",
    request_body(content = MoveBody, example = json!({"namespace": ["ann", "filesystem"], "from": "/plan.md", "to": "/copy.md"})),
    responses(
        (status = 200, description = "Copied", body = MoveOut, example = json!({"path": "/copy.md",
            "version": 1_793_404_800_000_005_i64, "files": 1})),
        (status = 404, description = "`file_not_found`"),
        (status = 409, description = "`file_exists`, `version_conflict`"),
        (status = 413, description = "`too_large`, `quota_exceeded`"),
        (status = 422, description = "`invalid_path`, `invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn copy(State(app): State<Arc<App>>, call: Call<Transfer<COPY>>) -> Answer {
    transfer(&app, call).await
}

pub const MOVE: bool = false;
pub const COPY: bool = true;

async fn transfer<const COPIES: bool>(app: &App, call: Call<Transfer<COPIES>>) -> Answer {
    let Call { caller, deadline, input: Transfer { of, request }, reply } = call;
    let moved = app.files.transfer(of.asked(&caller, deadline), &request).await?;
    let path = (&request.to).into();
    reply.with(&MoveOut { path, version: moved.version, files: moved.files }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteFiles)]
pub struct DeleteFilesBody<'a> {
    namespace: Vec<Text>,
    /// Default `python`.
    dialect: Option<DialectIn>,
    /// `/` is everything.
    #[serde(borrow)]
    path: WideIn<'a>,
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MoveFiles)]
pub struct MoveBody<'a> {
    namespace: Vec<Text>,
    /// Default `python`.
    dialect: Option<DialectIn>,
    #[serde(borrow)]
    from: WideIn<'a>,
    #[serde(borrow)]
    to: WideIn<'a>,
    /// Default the same.
    to_namespace: Option<Vec<Text>>,
    /// Replaces files that are there. Default false.
    overwrite: Option<bool>,
    /// The version that the one file must have.
    if_version: Option<i64>,
}

pub struct Delete {
    of: OfChange,
    delete: DeleteFile,
}

pub struct Transfer<const COPIES: bool> {
    of: OfChange,
    request: MoveFile,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DeletedFiles)]
pub struct DeleteOut {
    /// How many there were.
    deleted: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MovedFiles)]
pub struct MoveOut {
    #[schema(value_type = WideIn)]
    path: WideOut,
    /// Of the first file.
    version: i64,
    files: u64,
}

impl Input for Delete {
    type Wire<'a> = DeleteFilesBody<'a>;

    fn from_wire(wire: DeleteFilesBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            of: OfChange::new(wire.namespace, wire.dialect, (received, "/v1/files/delete"))?,
            delete: DeleteFile {
                path: wire.path.path("path")?,
                if_version: wire.if_version.map(version).transpose()?,
            },
        })
    }
}

impl<const COPIES: bool> Input for Transfer<COPIES> {
    type Wire<'a> = MoveBody<'a>;

    fn from_wire(wire: MoveBody<'_>, received: &Received) -> Result<Self> {
        let route = if COPIES { "/v1/files/copy" } else { "/v1/files/move" };
        let of = OfChange::new(wire.namespace, wire.dialect, (received, route))?;
        let labels = |it: Vec<Text>| Namespace::of_put(it.into_iter().map(|it| it.0).collect());
        let to_namespace = wire.to_namespace.map(labels).transpose()?;
        let request = MoveFile {
            from: wire.from.path("from")?,
            to: wire.to.path("to")?,
            to_namespace: to_namespace.unwrap_or_else(|| of.namespace().clone()),
            overwrites: wire.overwrite.unwrap_or(false),
            if_version: wire.if_version.map(version).transpose()?,
            copies: COPIES,
        };
        Ok(Self { of, request })
    }
}
