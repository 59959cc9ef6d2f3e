//! Defines the extractors of handlers: the caller, the input, and the form of the answer. Handlers get their [`Caller`] here, and only this
//! file checks the permission that the route page declares.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::body;
use super::decode::{self, Input, Received};
use super::media::Format;
use super::outgoing::Building;
use super::problem::Problem;
use crate::app::App;
use crate::auth::authenticator::Identity;
use crate::domain::Error;
use crate::domain::caller::{Caller, Permission};
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::asker;
use crate::domain::scheduling::cpu_pool::{self, INLINE_BYTES_MAX};
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::scheduling::shares::{Account, Held, Holder as OfShare};
use crate::domain::tokens::token::Pass;
use crate::http::connections::in_flight::Flight;
use crate::http::connections::watch::Watch;
use crate::http::tenants::refusals::Seen;

/// A request without a body.
pub struct BodylessCall {
    pub caller: Caller,
    pub reply: Reply,
}

/// A request with a body.
pub struct Call<T> {
    pub caller: Caller,
    /// A write must have begun by then.
    pub deadline: Micros,
    pub input: T,
    pub reply: Reply,
}

/// Answers in the form that the caller wants. Keeps the body's bytes accounted for until then, and the answer's from then on.
pub struct Reply {
    format: Format,
    held: Held,
}

/// Who asks, with how he came in: for the calls about tokens. Takes its place before [`Call`].
pub struct Holder(pub Identity);

/// What the route page declares for a route.
#[derive(Debug, Clone, Copy)]
pub struct Needs(pub Permission);

pub type Answer = Result<Response, Problem>;

impl Reply {
    /// # Errors
    /// 406 when neither form is accepted.
    pub fn to(headers: &HeaderMap, held: Held) -> Result<Self, Problem> {
        Ok(Self { format: Format::wanted(headers)?, held })
    }

    /// JSON, whatever the caller accepts.
    pub fn json(held: Held) -> Self {
        Self { format: Format::Json, held }
    }

    /// JSON for who accepts neither form: what was done is told, whatever a browser accepts.
    pub fn or_json(headers: &HeaderMap, held: Held) -> Self {
        Self { format: Format::wanted(headers).unwrap_or(Format::Json), held }
    }

    /// For answers that count something else.
    pub fn into_account(self) -> Account {
        self.held.account()
    }

    /// # Errors
    /// As [`Reply::with`].
    pub async fn created(self, answer: &(impl Serialize + Sync)) -> Answer {
        let mut response = self.with(answer).await?;
        *response.status_mut() = StatusCode::CREATED;
        Ok(response)
    }

    /// A long answer is written at a place of the CPU pool. How long it is shows only when it is written, so it is begun here.
    ///
    /// # Errors
    /// `internal` when what is stored cannot be shown; 503 when there is no room for it.
    pub async fn with(self, answer: &(impl Serialize + Sync)) -> Answer {
        let Self { format, held } = self;
        let mut building = Building::short(held);
        let built = format.write(&mut building, answer);
        let body = match building.unless_short() {
            Ok(building) => building.end(built)?,
            Err(held) => {
                let tenant = held.account();
                let write = || {
                    let mut building = Building::new(held);
                    let built = format.write(&mut building, answer);
                    building.end(built)
                };
                cpu_pool::run_here(tenant.tenant(), INLINE_BYTES_MAX + 1, write).await??
            }
        };
        Ok(([(header::CONTENT_TYPE, format.content_type())], body).into_response())
    }

    /// For answers that are too small to be counted for anybody.
    ///
    /// # Errors
    /// As [`Reply::with`].
    pub fn small(headers: &HeaderMap, answer: &impl Serialize) -> Answer {
        let format = Format::wanted(headers)?;
        let mut body = Vec::new();
        format.write(&mut body, answer).map_err(Problem::internal)?;
        Ok(([(header::CONTENT_TYPE, format.content_type())], body).into_response())
    }

    /// The answer of writes that have nothing to tell.
    ///
    /// # Errors
    /// None; as [`Reply::with`].
    pub async fn done(self) -> Answer {
        self.with(&crate::http::Empty {}).await
    }
}

impl FromRequestParts<Arc<App>> for Holder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let identity = identify(parts, app).await?;
        // What else the handler takes does not ask, and count, a second time.
        parts.extensions.insert(identity.clone());
        Ok(Self(identity))
    }
}

/// For a route that tells everybody something, and callers more. None: nothing was presented to a server with keys.
impl OptionalFromRequestParts<Arc<App>> for Holder {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App>,
    ) -> Result<Option<Self>, Problem> {
        if presented_key(&parts.headers).is_none() && !app.authenticator.is_keyless() {
            return Ok(None);
        }
        let holder = <Self as FromRequestParts<Arc<App>>>::from_request_parts(parts, app).await?;
        Ok(Some(holder))
    }
}

impl FromRequestParts<Arc<App>> for BodylessCall {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let identity = identify(parts, app).await?;
        let (caller, account) = caller_of(identity, app);
        Ok(Self { caller, reply: Reply::to(&parts.headers, account.open())? })
    }
}

impl<T: Input> FromRequest<Arc<App>> for Call<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let headers = &parts.headers;
        let identity = identify(&parts, app).await?;
        let (caller, account) = caller_of(identity, app);
        let answer_format = Format::wanted(headers)?;
        let format = Format::sent(headers)?;
        let deadline = deadline(headers, app)?;
        let idempotency_key = decode::idempotency_key(headers)?;
        let whole = body::read(headers, body, &account).await?;
        let received = Received { format, body: whole.bytes, idempotency_key };
        let input = decode_input(&caller.tenant, received).await?;
        let reply = Reply { format: answer_format, held: whole.held };
        Ok(Self { caller, deadline, input, reply })
    }
}

/// Who asks, with the memory for what it reads, and the account of what it sends and gets.
pub(in crate::http) fn caller_of(identity: Identity, app: &App) -> (Caller, Account) {
    let holder = identity.holder();
    let memory = ReadMemory::of(&app.opened.account(holder.clone()));
    (Caller { memory, ..identity.caller }, app.shares.account(holder))
}

/// Of who asks, by the route's own rules.
///
/// # Errors
/// 422 outside of the limits.
pub(in crate::http) fn deadline(headers: &HeaderMap, app: &App) -> Result<Micros, Problem> {
    Ok(app.clock.now() + budget_micros(headers)?)
}

pub(in crate::http) async fn decode_input<T: Input>(
    tenant: &str,
    received: Received,
) -> Result<T, Problem> {
    cpu_pool::run_sized(tenant, received.body.len(), move || decode::decode(&received)).await?
}

/// Who asks, if not too often, and the route's permission is covered.
async fn identify(parts: &Parts, app: &App) -> Result<Identity, Problem> {
    if let Some(identity) = parts.extensions.get::<Identity>() {
        return Ok(identity.clone());
    }
    identify_as(parts, app, presented_key(&parts.headers)).await
}

/// As [`identify`], with what was presented in another place than a header.
pub(in crate::http) async fn identify_as(
    parts: &Parts,
    app: &App,
    presented: Option<&str>,
) -> Result<Identity, Problem> {
    let seen = parts.extensions.get::<Seen>();
    let identity = app.authenticator.identify(presented).await.inspect_err(|_| {
        // One that is genuine, but expired or revoked, is still known.
        if let (Some(seen), Some((tenant, credential))) =
            (seen, presented.and_then(|it| app.authenticator.name(it)))
        {
            seen.known_as(&tenant, &credential);
        }
    })?;
    if let Some(seen) = seen {
        seen.is(&identity.caller);
    }
    if let Some(watch) = parts.extensions.get::<Arc<Watch>>() {
        watch.known();
    }
    // Without keys there is one caller, who leaves places to nobody.
    if !matches!(identity.pass, Pass::Local) {
        count(&parts.extensions, &identity.holder())?;
    }
    app.quotas.admit(&identity.caller)?;
    let Needs(permission) = parts
        .extensions
        .get()
        .ok_or_else(|| Problem::internal("a route without a permission asks for its caller"))?;
    identity.caller.require(*permission)?;
    Ok(identity)
}

/// Has the request count in the shares of who asks, from here to its answer.
///
/// # Errors
/// 503 where there are too many.
pub(in crate::http) fn count(extensions: &Extensions, holder: &OfShare) -> Result<(), Problem> {
    asker::note(holder);
    extensions.get::<Arc<Flight>>().map_or(Ok(()), |it| it.belongs_to(holder))
}

/// From `Authorization: Bearer` or `x-api-key`; never from the query, which ends up in logs and histories.
pub(in crate::http) fn presented_key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).map(|it| it.to_str().unwrap_or_default());
    let bearer = text("authorization").map(|it| match it.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        // Another scheme is a key that nobody has.
        _ => "",
    });
    bearer.or_else(|| text("x-api-key"))
}

/// Time budget of a write, in microseconds from its arrival.
fn budget_micros(headers: &HeaderMap) -> Result<Micros, Error> {
    const NAME: &str = "Threadkeep-Budget-Ms";
    let max = LIMITS.budget_ms_max;
    let Some(value) = headers.get(NAME) else {
        return Ok(micros(max));
    };
    let milliseconds = value.to_str().ok().and_then(|it| it.parse().ok());
    let legal = milliseconds.filter(|it| (1..=max).contains(it));
    legal.map(micros).ok_or_else(|| {
        Error::out_of_range(NAME, format!("{NAME} must be a whole number from 1 to {max}"), max)
    })
}

fn micros(milliseconds: u64) -> Micros {
    i64::try_from(milliseconds).unwrap_or(i64::MAX / 1_000) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scheduling::shares::{Shares, Sizes};

    #[tokio::test]
    async fn a_long_answer_is_written_beside_the_workers_and_a_short_one_on_them() {
        let shares = Shares::new(Sizes::default());
        let account = shares.account(OfShare::new("acme", "key"));
        for format in [Format::Json, Format::MessagePack] {
            for (length, is_long) in [(INLINE_BYTES_MAX / 2, false), (INLINE_BYTES_MAX * 8, true)] {
                let reply = Reply { format, held: account.open() };
                let text = "a".repeat(length);
                let (answer, long) = cpu_pool::count_long_work(reply.with(&text)).await;
                assert_eq!(long > 0, is_long, "{length}");
                let body = answer.unwrap().into_body();
                let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap();
                assert!(
                    whole.len() > length && whole.windows(2).skip(8).take(9).all(|it| it == b"aa")
                );
                drop(whole);
                assert_eq!(shares.held_bytes(), 0, "what was begun is given back");
            }
        }
    }
}
