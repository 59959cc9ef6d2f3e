//! Defines requests and answers of raw bytes: a body is read as it arrives, and an answer is sent as it is read.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::IntoResponse as _;
use bytes::{Bytes, BytesMut};

use super::raw_bytes::{self, RequestedRange, Span};
use crate::app::App;
use crate::auth::authenticator::Identity;
use crate::auth::signed_url::Disposition;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::files::contents::ContentId;
use crate::domain::files::raw_files::{PutFile, RawBody, RawFile, Stored};
use crate::domain::files::uploads;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::pace::PATIENCE;
use crate::domain::scheduling::shares::{Account, Held};
use crate::domain::scheduling::{asker, room};
use crate::domain::{Error, Result};
use crate::http::request::body::{Drain, Incoming};
use crate::http::request::call::{Answer, Holder, Reply};
use crate::http::request::outgoing;
use crate::http::request::problem::{Code, Problem};
use crate::http::request::query_fields::Fields;

/// A slice as it is read, and the pieces that it is cut into.
const SENDING_BYTES: usize = 2 * (2 << 20);
/// What is stored is in memory a second time, sealed.
const COPIES: usize = 2;

/// A refused body may be as large as one that is taken, and takes as long to arrive.
const UNREAD: Drain =
    Drain { bytes_max: LIMITS.content_bytes_max, time_max: Duration::from_mins(5) };
const UNREAD_OF_STRANGERS: Drain =
    Drain { bytes_max: 256 << 20, time_max: Duration::from_secs(10) };

/// A request whose body was not read.
pub struct Raw {
    pub identity: Identity,
    pub headers: HeaderMap,
    pub uri: Uri,
    pub body: Incoming,
    /// What of the body is in memory.
    pub held: Held,
}

impl FromRequest<Arc<App>> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let body = Incoming::new(&parts.headers, body);
        let identity = match identified(&mut parts, app).await {
            Ok(identity) => identity,
            Err(problem) => {
                let is_known = problem.code != Code::Unauthorized;
                body.drain(if is_known { UNREAD } else { UNREAD_OF_STRANGERS });
                return Err(problem);
            }
        };
        let Parts { headers, uri, .. } = parts;
        let held = app.shares.account(identity.holder()).open();
        let body = body.counted(&held);
        Ok(Self { identity, headers, uri, body, held })
    }
}

async fn identified(parts: &mut Parts, app: &Arc<App>) -> Result<Identity, Problem> {
    let Holder(identity) = Holder::from_request_parts(parts, app).await?;
    if parts.headers.get(header::CONTENT_ENCODING).is_some_and(|it| it != "identity") {
        let detail = "raw bytes come without Content-Encoding";
        return Err(Problem::new(Code::UnsupportedMediaType, detail).at("Content-Encoding"));
    }
    Ok(identity)
}

impl Raw {
    pub fn caller(&self) -> &Caller {
        &self.identity.caller
    }

    pub fn account(&self) -> Account {
        self.held.account()
    }

    /// # Errors
    /// As [`Fields::of`].
    pub fn fields(&self, known: &[&str]) -> Result<Fields, Problem> {
        Fields::of(&self.uri, known)
    }

    /// For answers that are no raw bytes.
    pub fn reply(&self) -> Reply {
        Reply::or_json(&self.headers, self.account().open())
    }

    /// Gives the answer. What it leaves of the body is taken and thrown away, within limits: who sends everything before he reads
    /// would see a reset else, and send it again.
    pub fn end(self, answer: Answer) -> Answer {
        self.body.drain(UNREAD);
        answer
    }

    /// What the body says it is; None: nothing, or nothing in particular.
    pub fn media_type(&self) -> Option<String> {
        let sent = self.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let plain = ["application/octet-stream", "application/x-www-form-urlencoded", ""];
        (!plain.contains(&sent) && sent.len() <= MEDIA_TYPE_BYTES_MAX).then(|| sent.to_owned())
    }
}

/// Longer ones are not noted.
const MEDIA_TYPE_BYTES_MAX: usize = 127;

/// Bytes that arrive one after the other.
pub trait Source: Send {
    /// None: that was all.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Problem>> + Send;
}

impl Source for Incoming {
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        Incoming::next(self).await
    }
}

/// Until when a write that ends a request must have begun: it begins when the body is there.
pub fn deadline(app: &App) -> Micros {
    app.clock.now() + Micros::try_from(LIMITS.budget_ms_max).unwrap_or(Micros::MAX / 1_000) * 1_000
}

/// Stores what arrives as a file: as a value where it is small, else as a content, of which a slice is in memory at one time.
///
/// # Errors
/// Those of bodies and of puts.
pub async fn store(
    app: &App,
    caller: &Caller,
    put: PutFile,
    (held, source): (&mut Held, &mut impl Source),
) -> Result<Stored, Problem> {
    let small_max = usize::try_from(LIMITS.file_value_bytes_max).unwrap_or(usize::MAX);
    let mut first = BytesMut::new();
    while let Some(bytes) = source.next().await? {
        held.grow(bytes.len())?;
        first.extend_from_slice(&bytes);
        if first.len() > small_max {
            return store_large(app, caller, put, first, (held, source)).await;
        }
    }
    let put = PutFile { deadline: deadline(app), ..put };
    let stored = app.raw_files.put(caller, put, first.freeze()).await?;
    held.resize(0)?;
    Ok(stored)
}

async fn store_large(
    app: &App,
    caller: &Caller,
    put: PutFile,
    mut first: BytesMut,
    (held, source): (&mut Held, &mut impl Source),
) -> Result<Stored, Problem> {
    let id = app.uploads.begin(caller, &put.address).await?;
    // Removed at once if this fails, or its sender leaves.
    let mut unfinished = app.uploads.unfinished(caller, id);
    let whole = async {
        let mut incoming = app.uploads.receive(caller, id, 1)?;
        while !first.is_empty() {
            let slice = first.len().min(1 << 20);
            let slice = first.split_to(slice).freeze();
            push(&mut incoming, slice, (held, first.len())).await?;
        }
        drop(first);
        while let Some(bytes) = source.next().await? {
            push(&mut incoming, bytes, (held, 0)).await?;
        }
        incoming.end().await?;
        held.resize(0)?;
        Ok::<_, Problem>(app.uploads.finish(caller, id, None).await?)
    };
    let whole = match whole.await {
        Ok(whole) => whole,
        Err(problem) => {
            unfinished.discard().await;
            return Err(problem);
        }
    };
    // What may yet be shown stays, whoever leaves.
    unfinished.keep();
    let put = PutFile { deadline: deadline(app), ..put };
    let stored = app.raw_files.show(caller, put, &whole).await;
    if stored.as_ref().is_err_and(|it| !matches!(it, Error::CommitUnknown { .. })) {
        app.uploads.unfinished(caller, id).discard().await;
    }
    Ok(stored?)
}

/// Takes a part of an upload.
///
/// # Errors
/// Those of bodies and of uploads.
pub async fn receive_part(
    app: &App,
    caller: &Caller,
    (id, number): (ContentId, u32),
    (held, source): (&mut Held, &mut impl Source),
) -> Result<crate::domain::files::contents::Part, Problem> {
    let mut incoming = app.uploads.receive(caller, id, number)?;
    while let Some(bytes) = source.next().await? {
        push(&mut incoming, bytes, (held, 0)).await?;
    }
    let part = incoming.end().await?;
    held.resize(0)?;
    Ok(part)
}

/// Takes bytes that have arrived. Held is what has arrived and is not durable, beside so many bytes that wait.
async fn push(
    incoming: &mut uploads::Incoming<'_>,
    bytes: Bytes,
    (held, waiting): (&mut Held, usize),
) -> Result<(), Problem> {
    held.resize(waiting + COPIES * (incoming.buffered_bytes() + bytes.len()))?;
    incoming.push(bytes).await?;
    Ok(held.resize(waiting + COPIES * incoming.buffered_bytes())?)
}

/// A file on its way out.
pub struct Sending {
    pub file: RawFile,
    /// The last name of its path.
    pub name: String,
    pub disposition: Disposition,
}

/// Answers with the bytes that the request asks for. The first slice of a large file is read before the head is sent, so that one that
/// cannot be read is an error and no answer without bytes.
///
/// # Errors
/// 416 for a range that is not there; 503 when too much is being sent, or while what the file lies in cannot be read.
pub async fn send(
    app: &Arc<App>,
    (caller, account): (&Caller, &Account),
    request: &HeaderMap,
    sending: Sending,
) -> Answer {
    let Sending { file, name, disposition } = sending;
    let etag = format!("\"{}\"", file.tag);
    let mut headers = raw_bytes::headers(&name, &file.media_type, disposition, &etag);
    if raw_bytes::is_held(request, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let (status, span) = match raw_bytes::wanted(request, file.size_bytes, &etag) {
        RequestedRange::Whole => (StatusCode::OK, Span { start: 0, end: file.size_bytes }),
        RequestedRange::Part(span) => (StatusCode::PARTIAL_CONTENT, span),
        RequestedRange::Unsatisfiable => {
            let detail =
                format!("the file has {} bytes; no byte of the range is there", file.size_bytes);
            return Err(Problem::new(Code::RangeNotSatisfiable, detail).at("Range"));
        }
    };
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{}", span.start, span.end - 1, file.size_bytes);
        headers.insert(header::CONTENT_RANGE, range.parse().expect("digits are legal"));
    }
    let length = (span.end - span.start).to_string();
    headers.insert(header::CONTENT_LENGTH, length.parse().expect("digits are legal"));
    let body = match file.body {
        RawBody::Small(bytes) => {
            let at = |it: u64| usize::try_from(it).unwrap_or(usize::MAX).min(bytes.len());
            outgoing::whole(account.open(), &bytes.slice(at(span.start)..at(span.end)))?
        }
        RawBody::Large(id) => stream_content(app, (caller, account), id, span).await?,
    };
    Ok((status, headers, body).into_response())
}

/// Reads a slice when most of the one before was taken. One that finds no room waits for it: what was begun is not broken off. Where a
/// later slice cannot be read the connection is cut, so that the client sees a short body.
async fn stream_content(
    app: &Arc<App>,
    (caller, account): (&Caller, &Account),
    id: ContentId,
    span: Span,
) -> Result<Body, Problem> {
    let mut held = account.open();
    held.grow(SENDING_BYTES)?;
    let mut content = Content { app: Arc::clone(app), caller: caller.clone(), id, span };
    let first = if content.is_read() { Bytes::new() } else { content.next().await? };
    let (sender, body) = outgoing::channel(&held);
    sender.put(&first, &mut held);
    drop(first);
    asker::spawn(async move {
        while !content.is_read() && held.resize(0).is_ok() && sender.ready().await {
            let room = room::wait_for(&mut held, SENDING_BYTES, PATIENCE, || sender.is_ended());
            if let Err(full) = room.await {
                tracing::info!(?full, "a download ends early: there is no room for it");
                return;
            }
            match content.next().await {
                Ok(slice) => sender.put(&slice, &mut held),
                Err(error) => {
                    tracing::error!(%error, "a download ends early");
                    return;
                }
            }
        }
        if content.is_read() {
            sender.end();
        }
    });
    Ok(body)
}

/// What is left to be read of a content.
struct Content {
    app: Arc<App>,
    caller: Caller,
    id: ContentId,
    span: Span,
}

impl Content {
    fn is_read(&self) -> bool {
        self.span.start >= self.span.end
    }

    /// The next bytes, to the end of their slice.
    async fn next(&mut self) -> Result<Bytes> {
        let Span { start: at, end } = self.span;
        let (start, slice) = self.app.raw_files.read_slice(&self.caller, self.id, at).await?;
        let length = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        let skip = length(at - start).min(slice.len());
        let slice = slice.slice(skip..slice.len().min(skip.saturating_add(length(end - at))));
        self.span.start += slice.len() as u64;
        Ok(slice)
    }
}

/// The answer where there is no such file.
pub fn no_file() -> Problem {
    Error::NotFound("such a file was").into()
}

/// The last name of a path.
pub fn name_of(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}
