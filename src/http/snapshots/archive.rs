//! Serves `/v1/snapshots/archive`: `PUT` stages a workspace's archive for a snapshot that is taken next, `GET` returns that of a snapshot.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::app::archives::{PutArchive, STAGING_BYTES, Staging};
use crate::auth::signed_url::Disposition;
use crate::domain::files::raw_files::{RawBody, RawFile};
use crate::domain::names::SnapshotId;
use crate::domain::snapshots::archives::{Archive, WorkspaceName};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::files::artifacts::forward;
use crate::http::files::raw_call::{Raw, Sending, send};
use crate::http::request::call::Answer;
use crate::http::request::query_fields::Fields;

const MEDIA_TYPE: &str = "application/x-tar";

/// Stage an archive of a workspace
///
/// A tar archive, plain or packed with gzip or zstd as its first bytes say; it is kept as the tar that is in the packing. Take a snapshot with
/// its `archive_id` within a day, or it goes. Archives of one `workspace` share what they have in common: the second one of a workspace that hardly changed
/// stores what is new. Files, folders and links: devices, pipes, sparse files, absolute names and names with `..` are refused by name. Links
/// must lead to something inside of the archive, and nothing may lie behind a link, so that whoever unpacks it is led nowhere else; with `links=any` they
/// are kept whatever they say. Nothing of a refused archive is stored, nor of one that breaks off. The workspace is the caller's own: the same name of
/// another subject is another workspace.
#[utoipa::path(
    put, path = "/v1/snapshots/archive", operation_id = "stage_archive", tag = "snapshots",
    params(
        ("workspace" = String, Query, description = "What the caller calls the workspace: 1 to 256 bytes"),
        ("sha256" = Option<String>, Query, description = "Of the tar without packing, 64 hex digits: refused where it is another"),
        ("links" = Option<String>, Query, description = "`inside` (default) or `any`"),
    ),
    request_body(content = Vec<u8>, content_type = "application/x-tar", description = "The archive"),
    responses(
        (status = 201, description = "Whole, and durable", body = StagedArchive, example = json!({
            "archive_id": "arc_0b9df1c3a2e54d7c8f60718293a4b5c6", "workspace": "sandbox-7", "size_bytes": 10_240,
            "file_count": 3, "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            "staged_at": "2026-01-31T12:00:00.000000Z"
        })),
        (status = 413, description = "`quota_exceeded`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, mut raw: Raw) -> Answer {
    let answer = stage(&app, &mut raw).await;
    raw.end(answer)
}

async fn stage(app: &Arc<App>, raw: &mut Raw) -> Answer {
    let put = wanted(&raw.fields(&["workspace", "sha256", "links"])?)?;
    app.archives.require(raw.caller())?;
    // Who sends nothing has nothing in memory.
    let first = raw.body.next().await?;
    raw.held.grow(STAGING_BYTES)?;
    let held = raw.held.split(STAGING_BYTES as u64);
    let (staging, feed) = Staging::begin(app, raw.caller(), put, held)?;
    let is_wanted = match first {
        Some(first) => feed.push(first).await,
        None => false,
    };
    if is_wanted {
        forward(&mut raw.body, feed).await?;
    } else {
        // The archive ends where its feed does.
        drop(feed);
    }
    let archive = staging.end().await?;
    let archive_id = archive.id.to_string();
    raw.reply().created(&StagedArchive { archive_id, archive: SnapshotArchive::of(archive) }).await
}

/// Get the archive of a snapshot
///
/// The tar as it was staged, without its packing. In whole or, with `Range`, in part. A restore does not touch it: unpack it where the new sandbox
/// works.
#[utoipa::path(
    get, path = "/v1/snapshots/archive", operation_id = "get_archive", tag = "snapshots",
    params(
        ("snapshot_id" = String, Query, description = "Of the snapshot"),
        ("Range" = Option<String>, Header, description = "`bytes=0-1023`"),
        ("If-Range" = Option<String>, Header, description = "An `ETag`: the whole where the archive is another"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that is held already"),
    ),
    responses(
        (status = 200, description = "The archive", body = Vec<u8>, content_type = "application/x-tar", headers(
            ("ETag" = String, description = "SHA-256 of the tar"),
            ("Content-Disposition" = String, description = "`attachment`: nothing is shown"),
            ("Accept-Ranges" = String, description = "`bytes`"),
        )),
        (status = 206, description = "The range", body = Vec<u8>, content_type = "application/x-tar", headers(
            ("Content-Range" = String, description = "Which bytes"),
        )),
        (status = 304, description = "It is held already"),
        (status = 404, description = "`snapshot_not_found`, `archive_not_found`"),
        (status = 416, description = "`range_not_satisfiable`"),
        (status = 503, description = "`overloaded`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, raw: Raw) -> Answer {
    let fields = raw.fields(&["snapshot_id"])?;
    let id = SnapshotId::new(fields.required("snapshot_id")?)?;
    let archive = app.snapshots.archive(raw.caller(), &id).await?;
    let name = format!("{}.tar", archive.workspace);
    let file = RawFile {
        version: 1,
        created_at: archive.staged_at,
        size_bytes: archive.size_bytes,
        media_type: MEDIA_TYPE.to_owned(),
        tag: hex::encode(archive.sha256),
        body: RawBody::Large(archive.id.0),
    };
    let sending = Sending { file, name, disposition: Disposition::Attachment };
    send(&app, (raw.caller(), &raw.account()), &raw.headers, sending).await
}

fn wanted(fields: &Fields) -> Result<PutArchive> {
    let workspace = WorkspaceName::new(fields.required("workspace")?)?;
    let any_links = match fields.one("links")? {
        None | Some("inside") => false,
        Some("any") => true,
        Some(_) => return Err(Error::invalid("links", "links must be `inside` or `any`")),
    };
    let digest = |text: &str| {
        let mut digest = [0; 32];
        let wrong = |_| Error::invalid("sha256", "sha256 must be 64 hex digits");
        hex::decode_to_slice(text, &mut digest).map_err(wrong).map(|()| digest)
    };
    let sha256 = fields.one("sha256")?.map(digest).transpose()?;
    Ok(PutArchive { workspace, any_links, sha256 })
}

/// What was staged.
#[derive(Serialize, ToSchema)]
pub struct StagedArchive {
    /// For `archive` of a snapshot that is taken.
    archive_id: String,
    #[serde(flatten)]
    archive: SnapshotArchive,
}

/// The archive of a snapshot.
#[derive(Serialize, ToSchema)]
pub struct SnapshotArchive {
    workspace: String,
    /// Of the tar, without packing, as `sha256`.
    size_bytes: u64,
    /// Members but for folders.
    file_count: u64,
    sha256: String,
    /// When all of it was there.
    #[schema(format = DateTime)]
    staged_at: String,
}

impl SnapshotArchive {
    pub fn of(archive: Archive) -> Self {
        Self {
            workspace: archive.workspace,
            size_bytes: archive.size_bytes,
            file_count: archive.file_count,
            sha256: hex::encode(archive.sha256),
            staged_at: rfc3339(archive.staged_at),
        }
    }
}
