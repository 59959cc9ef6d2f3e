//! Stores uploads into the drive: a form with a file in it, or the file itself.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header;
use bytes::Bytes;
use futures::{Stream, stream};
use multer::{Constraints, Field, Multipart, SizeLimit};

use super::raw_call::{Raw, Source, store};
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::files::drive::{Drive, DriveTarget};
use crate::domain::files::drive_files::address;
use crate::domain::files::raw_files::{PutFile, Repetition};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::shares::Held;
use crate::domain::{Error, Result};
use crate::http::request::body::Incoming;
use crate::http::request::problem::{Code, Problem};

const FORM: &str = "multipart/form-data";

/// Stores what a request brings. Answers where.
///
/// # Errors
/// Those of bodies and puts; 422 for a form without a path before its file.
pub async fn upload_one(
    app: &Arc<App>,
    drive: &Drive,
    path: Option<&str>,
    raw: &mut Raw,
) -> Result<String, Problem> {
    let sent = raw.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let sent = sent.unwrap_or_default().to_owned();
    if sent.trim_start().to_ascii_lowercase().starts_with(FORM) {
        return upload_form(app, drive, path, (&sent, raw)).await;
    }
    let path = path.ok_or_else(|| Error::invalid("path", "path must be given"))?;
    let put = put_of(drive, path, raw.media_type())?;
    let caller = raw.identity.caller.clone();
    store(app, &caller, put, (&mut raw.held, &mut raw.body)).await?;
    Ok(path.to_owned())
}

async fn upload_form(
    app: &Arc<App>,
    drive: &Drive,
    path: Option<&str>,
    (sent, raw): (&str, &mut Raw),
) -> Result<String, Problem> {
    let caller: Caller = raw.identity.caller.clone();
    let boundary =
        multer::parse_boundary(sent).map_err(|_| malformed("the form has no boundary"))?;
    let limits = SizeLimit::new().for_field("path", LIMITS.item_key_bytes_max + 1);
    let constraints = Constraints::new().size_limit(limits);
    let Raw { body, held, .. } = raw;
    let reading = Reading::default();
    let form = Multipart::with_constraints(reading.chunks(body), boundary, constraints);
    let stored = store_form(app, drive, path, (&caller, held, form, &reading)).await;
    // What reading the body met says more than what the form made of it.
    stored.map_err(|problem| reading.problem().unwrap_or(problem))
}

async fn store_form(
    app: &Arc<App>,
    drive: &Drive,
    path: Option<&str>,
    (caller, held, mut form, reading): (&Caller, &mut Held, Multipart<'_>, &Reading),
) -> Result<String, Problem> {
    let mut path = path.map(str::to_owned);
    while let Some(field) = form.next_field().await.map_err(failed)? {
        match field.name() {
            Some("path") if path.is_none() => path = Some(field.text().await.map_err(failed)?),
            Some("path") => {
                return Err(Error::invalid("path", "path must be given once").into());
            }
            Some("file") => {
                let Some(path) = path else {
                    let detail =
                        "the field path must come before the field file, or be in the query";
                    return Err(Error::invalid("path", detail).into());
                };
                let media_type = field.content_type().map(ToString::to_string);
                let plain = |it: &String| it != "application/octet-stream" && it.len() < 128;
                let put = put_of(drive, &path, media_type.filter(plain))?;
                reading.is_file.store(true, Ordering::Relaxed);
                store(app, caller, put, (held, &mut FileField(field))).await?;
                return Ok(path);
            }
            name => {
                let name: String = name.unwrap_or_default().chars().take(64).collect();
                let detail = format!("{name:?} is not a field of this form: path, then file");
                return Err(Error::invalid("body", detail).into());
            }
        }
    }
    Err(Error::invalid("file", "the form has no field file").into())
}

/// How far the body of a form has been read.
#[derive(Default)]
struct Reading {
    bytes: AtomicU64,
    /// Before the newest chunk, which multer may not have looked at.
    bytes_before: AtomicU64,
    /// From here on every byte is the file's, and is counted where it is stored.
    is_file: AtomicBool,
    problem: Mutex<Option<Problem>>,
}

impl Reading {
    /// The body as multer reads it. Multer keeps all chunks that are ready before it looks at them, and everything that comes before the
    /// file. So one chunk is ready at a time, and there is a limit on what comes before the file.
    fn chunks<'a>(
        &'a self,
        body: &'a mut Incoming,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + 'a {
        stream::unfold(body, move |body| async move {
            tokio::task::yield_now().await;
            let next = match self.check() {
                Ok(()) => body.next().await,
                Err(problem) => Err(problem),
            };
            let next = next.map_err(|problem| {
                *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                io::Error::other("the body cannot be read")
            });
            if let Ok(Some(bytes)) = &next {
                let before = self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                self.bytes_before.store(before, Ordering::Relaxed);
            }
            next.transpose().map(|bytes| (bytes, body))
        })
    }

    fn check(&self) -> Result<(), Problem> {
        let max = LIMITS.form_head_bytes_max;
        if self.is_file.load(Ordering::Relaxed) || self.bytes_before.load(Ordering::Relaxed) < max {
            return Ok(());
        }
        let detail = format!("the form has {max} bytes or more before its field file");
        Err(Error::out_of_range("body", detail, max).into())
    }

    fn problem(&self) -> Option<Problem> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn put_of(drive: &Drive, path: &str, media_type: Option<String>) -> Result<PutFile> {
    let address = address(drive, &DriveTarget::of_file(path)?)?;
    Ok(PutFile {
        address,
        media_type,
        if_version: None,
        deadline: 0,
        repetition: Repetition::Unknown,
    })
}

/// The bytes of a form's file.
struct FileField<'a>(Field<'a>);

impl Source for FileField<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        self.0.chunk().await.map_err(failed)
    }
}

fn failed(error: multer::Error) -> Problem {
    match error {
        multer::Error::FieldSizeExceeded { .. } => {
            let limit = LIMITS.item_key_bytes_max;
            let detail = format!("path is longer than {limit} bytes");
            Error::out_of_range("path", detail, limit).into()
        }
        _ => malformed("the form cannot be read"),
    }
}

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::MalformedBody, detail).at("body")
}
