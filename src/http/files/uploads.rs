//! Serves `/v1/files/uploads`: uploads in parts, for large files and for connections that break. A client begins one, puts parts in any
//! order, checks what has arrived, and completes it.

use std::sync::Arc;

use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content::StoredOut;
use super::raw_call::{Raw, deadline, receive_part};
use crate::app::App;
use crate::domain::files::contents::{ContentId, Part, Upload};
use crate::domain::files::raw_files::{PutFile, Repetition};
use crate::domain::files::uploads::part_number;
use crate::domain::store::item::{Address, Key};
use crate::domain::store::namespace::Namespace;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, BodylessCall, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::Text;
use crate::http::store::wire::version;

/// Begin an upload
///
/// Nothing shows before it is completed. One to which nothing was added for a day is removed.
#[utoipa::path(
    post, path = "/v1/files/uploads", operation_id = "begin_upload", tag = "files",
    request_body(content = BeginBody, example = json!({"namespace": ["ann", "workspace"], "path": "/film.mp4"})),
    responses(
        (status = 200, description = "Begun", body = BegunOut,
            example = json!({"upload_id": "upl_0b9df1c3a2e54d7c8f60718293a4b5c6"})),
        (status = 413, description = "`quota_exceeded`"),
    ),
)]
pub async fn begin(State(app): State<Arc<App>>, call: Call<Begin>) -> Answer {
    let id = app.uploads.begin(&call.caller, &call.input.0).await?;
    call.reply.with(&BegunOut { upload_id: id.to_string() }).await
}

/// Put a part
///
/// In any order, several at a time. A part that is sent again replaces the earlier one once it has arrived.
#[utoipa::path(
    put, path = "/v1/files/uploads/{upload_id}/parts/{part}", operation_id = "put_upload_part", tag = "files",
    params(
        ("upload_id" = String, Path, description = "Of the upload"),
        ("part" = u32, Path, description = "1 to 10,000: where it comes in the file"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The bytes"),
    responses(
        (status = 200, description = "Durable", body = PartOut,
            example = json!({"part": 1, "size_bytes": 8_388_608, "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"})),
        (status = 404, description = "`not_found`"),
        (status = 413, description = "`quota_exceeded`"),
    ),
)]
pub async fn put_part(
    State(app): State<Arc<App>>,
    Path((id, part)): Path<(String, String)>,
    mut raw: Raw,
) -> Answer {
    let answer = take_part(&app, (&id, &part), &mut raw).await;
    raw.end(answer)
}

async fn take_part(app: &App, (id, part): (&str, &str), raw: &mut Raw) -> Answer {
    raw.fields(&[])?;
    let (id, number) = (ContentId::parse("upload_id", id)?, part_number(part)?);
    let caller = raw.identity.caller.clone();
    app.uploads.get(&caller, id).await?.ok_or_else(unknown)?;
    let part = receive_part(app, &caller, (id, number), (&mut raw.held, &mut raw.body)).await?;
    raw.reply().with(&PartOut::from(&part)).await
}

/// Get an upload
///
/// What has arrived of it, to go on after an interruption.
#[utoipa::path(
    get, path = "/v1/files/uploads/{upload_id}", operation_id = "get_upload", tag = "files",
    params(("upload_id" = String, Path, description = "Of the upload")),
    responses(
        (status = 200, description = "The upload", body = UploadOut),
        (status = 404, description = "`not_found`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    call: BodylessCall,
) -> Answer {
    let id = ContentId::parse("upload_id", &id)?;
    let upload = app.uploads.get(&call.caller, id).await?.ok_or_else(unknown)?;
    call.reply.with(&UploadOut::of(id, &upload)).await
}

/// Complete an upload
///
/// Makes the file out of the parts, in the order of their numbers, from 1 without a gap. With `parts` it must be exactly these. Again, for a day: the
/// same answer, whatever became of the file.
#[utoipa::path(
    post, path = "/v1/files/uploads/{upload_id}/complete", operation_id = "complete_upload", tag = "files",
    params(("upload_id" = String, Path, description = "Of the upload")),
    request_body(content = CompleteBody, example = json!({"media_type": "video/mp4", "if_version": 0})),
    responses(
        (status = 200, description = "Durable", body = StoredOut),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 503, description = "`commit_unknown`"),
    ),
)]
pub async fn complete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    call: Call<Complete>,
) -> Answer {
    let id = ContentId::parse("upload_id", &id)?;
    let Complete { parts, media_type, if_version } = call.input;
    let whole = app.uploads.finish(&call.caller, id, parts.as_deref()).await?;
    let address = whole.address.clone();
    let path = address.key.text().unwrap_or_default().to_owned();
    let (deadline, repetition) = (deadline(&app), Repetition::Upload);
    let put = PutFile { address, media_type, if_version, deadline, repetition };
    let stored = app.raw_files.show(&call.caller, put, &whole).await?;
    call.reply.with(&StoredOut::of(&path, stored)).await
}

/// Abort an upload
///
/// Its parts go. Can be repeated; a completed one stays.
#[utoipa::path(
    delete, path = "/v1/files/uploads/{upload_id}", operation_id = "abort_upload", tag = "files",
    params(("upload_id" = String, Path, description = "Of the upload")),
    responses((status = 200, description = "Gone", body = crate::http::Empty)),
)]
pub async fn abort(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    call: BodylessCall,
) -> Answer {
    app.uploads.abort(&call.caller, ContentId::parse("upload_id", &id)?).await?;
    call.reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BeginUpload)]
pub struct BeginBody {
    /// Labels.
    namespace: Vec<Text>,
    path: Text,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CompleteUpload)]
pub struct CompleteBody {
    /// Those that the caller has sent; absent: whatever has arrived.
    parts: Option<Vec<NamedPart>>,
    /// What the file says it is; absent: what its name says.
    media_type: Option<Text>,
    /// The version that the file must have; 0: there must be none.
    if_version: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedPart {
    part: u32,
    /// Hexadecimal.
    sha256: Text,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BegunUpload)]
pub struct BegunOut {
    upload_id: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UploadPart)]
pub struct PartOut {
    part: u32,
    size_bytes: u64,
    sha256: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Upload)]
pub struct UploadOut {
    upload_id: String,
    namespace: Vec<String>,
    path: String,
    #[schema(format = DateTime)]
    created_at: String,
    /// When it goes, if nothing more arrives.
    #[schema(format = DateTime)]
    expires_at: String,
    is_complete: bool,
    parts: Vec<PartOut>,
}

pub struct Begin(Address);

pub struct Complete {
    parts: Option<Vec<(u32, [u8; 32])>>,
    media_type: Option<String>,
    if_version: Option<i64>,
}

impl Input for Begin {
    type Wire<'a> = BeginBody;

    fn from_wire(wire: BeginBody, _: &Received) -> Result<Self> {
        let labels = wire.namespace.into_iter().map(|it| it.0).collect();
        let key = Key::of_text(&wire.path.0)
            .map_err(|_| Error::invalid("path", "path is longer than a key may be"))?;
        Ok(Self(Address { namespace: Namespace::of_put(labels)?, key }))
    }
}

impl Input for Complete {
    type Wire<'a> = CompleteBody;

    fn from_wire(wire: CompleteBody, _: &Received) -> Result<Self> {
        let named = |it: NamedPart| {
            let mut sha256 = [0; 32];
            let wrong = |_| Error::invalid("parts.sha256", "sha256 must be 64 hexadecimal digits");
            hex::decode_to_slice(&it.sha256.0, &mut sha256).map_err(wrong)?;
            Ok((it.part, sha256))
        };
        let parts = wire.parts.map(|it| it.into_iter().map(named).collect::<Result<_>>());
        let media_type = wire.media_type.map(|it| it.0).filter(|it| it.len() <= 127);
        let if_version = wire.if_version.map(version).transpose()?;
        Ok(Self { parts: parts.transpose()?, media_type, if_version })
    }
}

impl From<&Part> for PartOut {
    fn from(part: &Part) -> Self {
        Self { part: part.number, size_bytes: part.size_bytes, sha256: hex::encode(part.sha256) }
    }
}

impl UploadOut {
    fn of(id: ContentId, upload: &Upload) -> Self {
        Self {
            upload_id: id.to_string(),
            namespace: upload.address.namespace.labels().to_vec(),
            path: upload.address.key.text().unwrap_or_default().to_owned(),
            created_at: rfc3339(upload.created_at),
            expires_at: rfc3339(upload.expires_at),
            is_complete: upload.is_whole,
            parts: upload.parts.iter().map(PartOut::from).collect(),
        }
    }
}

fn unknown() -> Error {
    Error::NotFound("such an upload was")
}
