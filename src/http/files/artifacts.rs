//! Serves `POST /v1/sandboxes/artifacts`: stores the output of a sandbox as files of a drive, in a folder named by the day of arrival.

use std::sync::Arc;

use axum::extract::State;
use bytes::{Bytes, BytesMut};
use chrono::{DateTime, NaiveDate, Utc};
use futures::future::try_join_all;
use serde::Serialize;
use utoipa::ToSchema;

use super::content::StoredOut;
use super::drive::drive;
use super::raw_call::{Raw, Source, deadline, store};
use crate::app::App;
use crate::app::artifacts::{Feed, Piece, Unpacking};
use crate::domain::caller::Caller;
use crate::domain::files::drive::{Drive, DriveTarget};
use crate::domain::files::drive_files::address;
use crate::domain::files::raw_files::{PutFile, Repetition};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::shares::{Account, Held};
use crate::domain::{Error, Result};
use crate::http::request::call::Answer;
use crate::http::request::problem::Problem;

/// Small files are held till the archive has shown that it is sound, up to so many bytes.
const HELD_BYTES_MAX: usize = 32 << 20;
/// Files that are written at one time.
const TOGETHER: usize = 32;

/// Store what a sandbox made
///
/// A tar archive (plain, gzip or zstd), or with `path` one file, goes to `/workspace/sandbox-output/{date}/` of the drive. Files that are there
/// with the same bytes cost nothing. Regular files and folders only: links, devices, sparse files, absolute names and names with `..` are refused by
/// name. Nothing of a refused archive is stored, but for one with more than 32 MiB before the member that is at fault: send it again.
#[utoipa::path(
    post, path = "/v1/sandboxes/artifacts", operation_id = "store_artifacts", tag = "drive",
    params(
        ("path" = Option<String>, Query, description = "Of one file; absent: the body is an archive"),
        ("date" = Option<String>, Query, description = "`2026-01-31`; absent: today, UTC"),
        ("subject" = Option<String>, Query, description = "Whose drive: for keys without a subject"),
    ),
    request_body(content = Vec<u8>, content_type = "application/x-tar", description = "The archive, or the file"),
    responses(
        (status = 200, description = "Durable", body = ArtifactsOut, example = json!({
            "folder": "/workspace/sandbox-output/2026-01-31", "stored": 1, "unchanged": 0, "files": [{
                "path": "/workspace/sandbox-output/2026-01-31/plot.png", "version": 1_793_404_800_000_000_i64,
                "size_bytes": 81_234, "created": true, "unchanged": false
            }]
        })),
        (status = 404, description = "`not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 503, description = "`commit_unknown`"),
    ),
)]
pub async fn put(State(app): State<Arc<App>>, mut raw: Raw) -> Answer {
    let answer = take(&app, &mut raw).await;
    raw.end(answer)
}

async fn take(app: &Arc<App>, raw: &mut Raw) -> Answer {
    let fields = raw.fields(&["path", "date", "subject"])?;
    let folder = folder(app, fields.one("date")?)?;
    let drive = drive(app, raw.caller(), &fields)?;
    let caller = raw.identity.caller.clone();
    let media_type = raw.media_type();
    let account = raw.account();
    let mut storing = Storing { app, caller: &caller, account, drive, folder, files: Vec::new() };
    match fields.one("path")? {
        Some(path) => {
            let put = PutFile { media_type, ..storing.put_of(path)? };
            storing.store(path, put, (&mut raw.held, &mut raw.body)).await?;
        }
        None => storing.archive(&mut raw.body).await?,
    }
    raw.reply().with(&ArtifactsOut::of(storing)).await
}

/// Where today's artifacts go.
fn folder(app: &App, date: Option<&str>) -> Result<String> {
    let date = match date {
        None => {
            DateTime::<Utc>::from_timestamp_micros(app.clock.now()).unwrap_or_default().date_naive()
        }
        Some(text) => {
            let read = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
            let exact = |it: &NaiveDate| it.format("%Y-%m-%d").to_string() == text;
            read.filter(exact)
                .ok_or_else(|| Error::invalid("date", "date must be like 2026-01-31"))?
        }
    };
    Ok(format!("/workspace/sandbox-output/{}", date.format("%Y-%m-%d")))
}

/// One request.
struct Storing<'a> {
    app: &'a Arc<App>,
    caller: &'a Caller,
    account: Account,
    drive: Drive,
    folder: String,
    files: Vec<StoredOut>,
}

/// A small file that waits.
struct Waiting {
    path: String,
    bytes: Bytes,
    _held: Held,
}

impl Storing<'_> {
    async fn archive(&mut self, body: &mut impl Source) -> Result<(), Problem> {
        let (mut unpacking, feed) = Unpacking::begin();
        let stored = async {
            let stored = self.members(&mut unpacking).await;
            // Nobody waits for somebody who does not read on.
            unpacking.close();
            stored
        };
        let (arrived, stored) = tokio::join!(forward(body, feed), stored);
        // A line that broke makes a damaged archive, and that a file which breaks off.
        arrived?;
        unpacking.end().await?;
        self.flush(stored?).await
    }

    /// Stores what is large; answers what is small and waits.
    async fn members(&mut self, unpacking: &mut Unpacking) -> Result<Vec<Waiting>, Problem> {
        let small_max = LIMITS.file_value_bytes_max;
        let (mut waiting, mut waiting_bytes) = (Vec::new(), 0);
        while let Some(piece) = unpacking.next().await {
            let Piece::File { path, size_bytes } = piece else { continue };
            let path = path.split('/').filter(|it| !it.is_empty() && *it != ".");
            let path = path.collect::<Vec<_>>().join("/");
            let put = self.put_of(&path).map_err(|error| named(&path, error))?;
            if size_bytes > small_max {
                let mut member = Member { unpacking: &mut *unpacking, left: size_bytes };
                let mut held = self.account.open();
                self.store(&path, put, (&mut held, &mut member)).await?;
                continue;
            }
            let size = usize::try_from(size_bytes).unwrap_or(usize::MAX);
            if waiting_bytes + size > HELD_BYTES_MAX {
                self.flush(std::mem::take(&mut waiting)).await?;
                waiting_bytes = 0;
            }
            let mut held = self.account.open();
            held.grow(size)?;
            let mut bytes = BytesMut::with_capacity(size);
            let mut member = Member { unpacking: &mut *unpacking, left: size_bytes };
            while let Some(more) = member.next().await? {
                bytes.extend_from_slice(&more);
            }
            waiting_bytes += size;
            waiting.push(Waiting { path, bytes: bytes.freeze(), _held: held });
        }
        Ok(waiting)
    }

    async fn flush(&mut self, waiting: Vec<Waiting>) -> Result<(), Problem> {
        for some in waiting.chunks(TOGETHER) {
            let puts = some.iter().map(|it| async {
                let put = PutFile { deadline: deadline(self.app), ..self.put_of(&it.path)? };
                self.app.raw_files.put(self.caller, put, it.bytes.clone()).await
            });
            let stored = try_join_all(puts).await?;
            let files = some.iter().zip(stored);
            let files: Vec<StoredOut> =
                files.map(|(it, stored)| StoredOut::of(&self.path_of(&it.path), stored)).collect();
            self.files.extend(files);
        }
        Ok(())
    }

    async fn store(
        &mut self,
        path: &str,
        put: PutFile,
        (held, source): (&mut Held, &mut impl Source),
    ) -> Result<(), Problem> {
        let stored = store(self.app, self.caller, put, (held, source)).await?;
        self.files.push(StoredOut::of(&self.path_of(path), stored));
        Ok(())
    }

    fn put_of(&self, path: &str) -> Result<PutFile> {
        let address = address(&self.drive, &DriveTarget::of_file(&self.path_of(path))?)?;
        Ok(PutFile {
            address,
            media_type: None,
            if_version: None,
            deadline: 0,
            repetition: Repetition::Unknown,
        })
    }

    fn path_of(&self, path: &str) -> String {
        format!("{}/{}", self.folder, path.strip_prefix('/').unwrap_or(path))
    }
}

/// Everything goes into the feed, as long as somebody reads it.
///
/// # Errors
/// A line that breaks.
pub async fn forward(body: &mut impl Source, feed: Feed) -> Result<(), Problem> {
    while let Some(bytes) = body.next().await? {
        if !feed.push(bytes).await {
            break;
        }
    }
    Ok(())
}

/// A file of an archive as it comes out of it.
struct Member<'a> {
    unpacking: &'a mut Unpacking,
    left: u64,
}

impl Source for Member<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        match self.unpacking.next().await {
            Some(Piece::Bytes(bytes)) => {
                self.left = self.left.saturating_sub(bytes.len() as u64);
                Ok(Some(bytes))
            }
            Some(Piece::End) if self.left == 0 => Ok(None),
            // It broke off inside: what the reader found is the answer, but nothing of this file is stored.
            _ => Err(Error::invalid(
                "archive",
                "the archive cannot be read: it is damaged or cut off",
            )
            .into()),
        }
    }
}

fn named(path: &str, error: Error) -> Problem {
    let path: String = path.chars().take(200).collect();
    Error::invalid(
        "archive",
        format!("member {path:?} of the archive has a path that no file has: {error}"),
    )
    .into()
}

/// What was stored.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredArtifacts)]
pub struct ArtifactsOut {
    /// Of the drive.
    folder: String,
    /// Files that were written.
    stored: usize,
    /// Files that were there already.
    unchanged: usize,
    files: Vec<StoredOut>,
}

impl ArtifactsOut {
    fn of(storing: Storing<'_>) -> Self {
        let Storing { folder, files, .. } = storing;
        let unchanged = files.iter().filter(|it| it.is_unchanged()).count();
        Self { folder, stored: files.len() - unchanged, unchanged, files }
    }
}
