//! Defines the extractors of the wire. Credentials, bodies and answers have other rules here than under `/v1`.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use bytes::Bytes;

use crate::app::App;
use crate::auth::authenticator::Identity;
use crate::domain::Error;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::names::ThreadId;
use crate::domain::scheduling::shares::Held;
use crate::http::request::body;
use crate::http::request::call::{
    Call, Reply, caller_of, deadline, decode_input, identify_as, presented_key,
};
use crate::http::request::decode::{Input, Received};
use crate::http::request::media::Format;
use crate::http::request::path_ids::PathIds;
use crate::http::request::problem::{Code, Problem};

/// A request whose body means nothing. It is taken all the same: else the connection would end with the answer.
pub struct PlainCall {
    pub caller: Caller,
    pub deadline: Micros,
    pub reply: Reply,
}

/// A request that opens a stream. Its body means nothing.
pub struct StreamCall {
    pub identity: Identity,
    /// As it was presented.
    pub key: Option<String>,
    pub held: Held,
}

/// A request with a body in JSON, whatever its content type says.
pub struct JsonCall<T>(pub Call<T>);

/// The same, where no body is an empty object.
pub struct OptionalJsonCall<T>(pub Call<T>);

/// The thread that the path means: by its id, or by its alias. A text that means none stays.
pub struct ThreadPath(pub ThreadId);

/// The text of the path, of a call that only reads.
pub struct AskedPath(ThreadId);

impl FromRequest<Arc<App>> for PlainCall {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let identity = identify(&parts, app).await?;
        let (caller, account) = caller_of(identity, app);
        let deadline = deadline(&parts.headers, app)?;
        drop(body::read(&parts.headers, body, &account).await);
        Ok(Self { caller, deadline, reply: Reply::json(account.open()) })
    }
}

impl FromRequest<Arc<App>> for StreamCall {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let identity = identify(&parts, app).await?;
        let account = app.shares.account(identity.holder());
        drop(body::read(&parts.headers, body, &account).await);
        let key = presented(&parts.headers, app).map(str::to_owned);
        Ok(Self { identity, key, held: account.open() })
    }
}

impl<T: Input> FromRequest<Arc<App>> for JsonCall<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        read(request, app, None).await.map(Self)
    }
}

impl<T: Input> FromRequest<Arc<App>> for OptionalJsonCall<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        read(request, app, Some(b"{}")).await.map(Self)
    }
}

impl FromRequestParts<Arc<App>> for ThreadPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, asked) = asked_thread(parts, app).await?;
        Ok(Self(app.threads.resolve_one(&caller, asked).await?))
    }
}

impl FromRequestParts<Arc<App>> for AskedPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        asked_thread(parts, app).await.map(|(_, asked)| Self(asked))
    }
}

impl AskedPath {
    /// What `read` finds of the thread with this id, as most clients ask; only where there is none, of the thread that the text means. So
    /// an id that is there costs no look-up.
    ///
    /// # Errors
    /// `thread_not_found`; those of `read` and of the look-up.
    pub async fn read<T, R>(
        self,
        (app, caller): (&App, &Caller),
        read: impl Fn(ThreadId) -> R,
    ) -> Result<T, Problem>
    where
        R: Future<Output = Result<Option<T>, Error>>,
    {
        let Self(asked) = self;
        if let Some(found) = read(asked.clone()).await? {
            return Ok(found);
        }
        let meant = app.threads.resolve_one(caller, asked.clone()).await?;
        if meant == asked {
            return Err(no_thread(&asked));
        }
        read(meant.clone()).await?.ok_or_else(|| no_thread(&meant))
    }
}

async fn asked_thread(parts: &mut Parts, app: &Arc<App>) -> Result<(Caller, ThreadId), Problem> {
    // Who may not ask is told nothing about the path.
    let identity = identify(parts, app).await?;
    parts.extensions.insert(identity.clone());
    let ids = PathIds::from_request_parts(parts, app).await?;
    Ok((identity.caller, ThreadId::new(ids.id("thread_id"))?))
}

/// `empty`: what stands for no body.
async fn read<T: Input>(
    request: Request,
    app: &Arc<App>,
    empty: Option<&'static [u8]>,
) -> Result<Call<T>, Problem> {
    let (parts, body) = request.into_parts();
    let (caller, account) = caller_of(identify(&parts, app).await?, app);
    let deadline = deadline(&parts.headers, app)?;
    let whole = body::read(&parts.headers, body, &account).await?;
    let bytes = match empty {
        Some(empty) if whole.bytes.trim_ascii().is_empty() => Bytes::from_static(empty),
        _ => whole.bytes,
    };
    let received = Received { format: Format::Json, body: bytes, idempotency_key: None };
    let input = decode_input(&caller.tenant, received).await.map_err(not_json)?;
    Ok(Call { caller, deadline, input, reply: Reply::json(whole.held) })
}

/// A body that is no JSON breaks a rule of the call here, as for its other servers.
fn not_json(problem: Problem) -> Problem {
    if problem.code != Code::MalformedBody {
        return problem;
    }
    let detail = format!("Invalid JSON in request body: {}", problem.detail);
    Problem::new(Code::Invalid, detail).at("body")
}

async fn identify(parts: &Parts, app: &App) -> Result<Identity, Problem> {
    if let Some(identity) = parts.extensions.get::<Identity>() {
        return Ok(identity.clone());
    }
    identify_as(parts, app, presented(&parts.headers, app)).await
}

/// An empty `x-api-key` is none. SDKs send what their own variables hold without being asked, so on a server without keys only what could
/// be a key or token of ours counts.
fn presented<'a>(headers: &'a HeaderMap, app: &App) -> Option<&'a str> {
    if headers.contains_key("authorization") {
        return presented_key(headers);
    }
    let key = presented_key(headers).filter(|it| !it.is_empty())?;
    let is_ours = ["tk_", "tkr_", "tks_"].iter().any(|it| key.starts_with(it)) || is_jwt(key);
    (is_ours || !app.authenticator.is_keyless()).then_some(key)
}

fn is_jwt(text: &str) -> bool {
    text.starts_with("ey") && text.split('.').count() == 3
}

/// The answer about a thread that is not there, or not the caller's.
pub fn no_thread(thread_id: &ThreadId) -> Problem {
    Problem::new(Code::ThreadNotFound, format!("Thread with ID {thread_id} not found"))
}
