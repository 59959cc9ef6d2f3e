//! Serves `POST /v1/sessions/create`, `…/append` and `…/delete`. Submodules serve the other routes of sessions.

mod compacting;
pub mod documents;
mod loading;
pub mod text;
mod wire;

pub use self::compacting::{add, compact};
pub use self::loading::{kinds, list, load, streams};

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use self::compacting::{__path_add, __path_compact};
pub(crate) use self::loading::{__path_kinds, __path_list, __path_load, __path_streams};
use self::wire::{AboutIn, DocumentIn, EntryIn, entries, session, text};
use super::Empty;
use super::request::call::{Answer, Call};
use super::request::decode::{Input, Received};
use super::request::exact::Text;
use super::request::problem::Problem;
use crate::app::App;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::sessions::change::{About, Append, Change, Done, Step, StepDone};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::service::SessionCall;
use crate::domain::time::rfc3339;

const APPEND: &str = "/v1/sessions/append";

/// Create a session
///
/// Unless it is there: the first user, agent and title stay. Appends and documents make their session too.
#[utoipa::path(
    post, path = "/v1/sessions/create", operation_id = "create_session", tag = "sessions",
    request_body(content = CreateBody, example = json!({"kind": "claude", "key": ["my-project", "3f0c"], "user": "ann"})),
    responses(
        (status = 200, description = "It is there", body = CreatedSession, example = json!({"created": true, "user": "ann",
            "created_at": "2026-01-31T12:00:00.000000Z", "updated_at": "2026-01-31T12:00:00.000000Z", "updated_at_ms": 1_769_860_800_000_i64})),
        (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
    ),
)]
pub async fn create(State(app): State<Arc<App>>, call: Call<CreateSession>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = SessionCall { caller: &caller, idempotency: None, deadline };
    let CreateSession { session, about } = input;
    let (session, created) = app.sessions.create(&asking, session, about).await?;
    reply
        .with(&CreatedSession {
            created,
            user: session.user,
            agent: session.agent,
            title: session.title,
            created_at: rfc3339(session.created_at),
            updated_at: rfc3339(session.updated_at),
            updated_at_ms: milliseconds(session.updated_at),
        })
        .await
}

/// Append entries
///
/// In one transaction, behind what the stream has; numbers are given in the order of commits, so a reader that has seen `n + 1` has
/// seen `n`. Entries with an `id` that the stream has had are left out. A `document` is put with them or nothing happens. No
/// entries and no document: nothing happens, and no session is made. A repetition with the same `Idempotency-Key` is
/// answered like the first.
#[utoipa::path(
    post, path = APPEND, operation_id = "append_entries", tag = "sessions",
    request_body(content = AppendBody, example = json!({"kind": "claude", "key": ["my-project", "3f0c"], "entries": [
        {"id": "b1", "data": {"type": "user", "uuid": "b1", "message": "hello"}}, {"data": {"type": "last-prompt"}}]})),
    responses(
        (status = 200, description = "Durable", body = Appended,
            example = json!({"first_seq": 1, "last_seq": 2, "head": 2, "appended": 2})),
        (status = 409, description = "`head_moved`, `version_conflict`, `session_taken`"),
        (status = 413, description = "`quota_exceeded`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn append(State(app): State<Arc<App>>, call: Call<AppendEntries>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let AppendEntries { change, idempotency } = input;
    let done = app
        .sessions
        .change(&SessionCall { caller: &caller, idempotency, deadline }, change)
        .await?;
    reply.with(&Appended::of(&done)).await
}

/// Delete a session
///
/// With everything in it, or only one stream. No error when there is none.
#[utoipa::path(
    post, path = "/v1/sessions/delete", operation_id = "delete_session", tag = "sessions",
    request_body(content = DeleteBody, example = json!({"kind": "claude", "key": ["my-project", "3f0c"]})),
    responses((status = 200, description = "Deleted, or never there", body = Empty)),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<DeleteSession>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = SessionCall { caller: &caller, idempotency: None, deadline };
    match input.stream {
        None => app.sessions.delete(&asking, &input.session).await?,
        Some(stream) => {
            let steps = vec![Step::DeleteStream { stream }];
            let change = Change { session: input.session, about: None, steps };
            app.sessions.change(&asking, change).await?;
        }
    }
    reply.done().await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateSession)]
pub struct CreateBody {
    /// 1 to 64 of `[a-z0-9_-]`.
    kind: Text,
    /// 1 to 8 parts of any text.
    key: Vec<Text>,
    user: Option<Text>,
    agent: Option<Text>,
    title: Option<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppendEntries)]
pub struct AppendBody<'a> {
    kind: Text,
    key: Vec<Text>,
    /// Default: the stream without a name.
    stream: Option<Text>,
    /// At most 10,000.
    #[serde(borrow)]
    entries: Vec<EntryIn<'a>>,
    /// The number that the last entry must have; 0: the stream must be new.
    #[schema(minimum = 0)]
    if_head: Option<i64>,
    #[serde(borrow)]
    document: Option<DocumentIn<'a>>,
    /// What the session is made with, if it is not there.
    create: Option<AboutIn>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteSession)]
pub struct DeleteBody {
    kind: Text,
    key: Vec<Text>,
    /// Only this one; the session and its documents stay.
    stream: Option<Text>,
}

#[derive(Serialize, ToSchema)]
pub struct CreatedSession {
    /// By this request.
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    updated_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub struct Appended {
    /// Of what was appended; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seq: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seq: Option<i64>,
    /// Number of the stream's last entry, 0 for none.
    head: i64,
    /// Without those that were there.
    appended: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    document_version: Option<i64>,
}

pub struct CreateSession {
    session: SessionName,
    about: About,
}

pub struct AppendEntries {
    change: Change,
    idempotency: Option<(String, [u8; 32])>,
}

pub struct DeleteSession {
    session: SessionName,
    stream: Option<String>,
}

impl Input for CreateSession {
    type Wire<'a> = CreateBody;

    fn from_wire(wire: CreateBody, _: &Received) -> Result<Self> {
        let CreateBody { kind, key, user, agent, title } = wire;
        let about = About { user: text(user), agent: text(agent), title: text(title) };
        Ok(Self { session: session(kind, key)?, about })
    }
}

impl Input for AppendEntries {
    type Wire<'a> = AppendBody<'a>;

    fn from_wire(wire: AppendBody<'_>, received: &Received) -> Result<Self> {
        let session = session(wire.kind, wire.key)?;
        let entries = entries(wire.entries, received);
        // Nothing is made for nothing.
        let writes = !entries.is_empty() || wire.document.is_some();
        let about = wire.create.filter(|_| writes).map(AboutIn::into_domain);
        let stream = text(wire.stream).unwrap_or_default();
        let mut steps = vec![Step::Append(Append { stream, entries, if_head: wire.if_head })];
        if let Some(document) = wire.document {
            steps.push(Step::PutDocument(document.into_domain("document.content")?));
        }
        let idempotency = received.idempotency(APPEND);
        Ok(Self { change: Change { session, about, steps }, idempotency })
    }
}

impl Input for DeleteSession {
    type Wire<'a> = DeleteBody;

    fn from_wire(wire: DeleteBody, _: &Received) -> Result<Self> {
        Ok(Self { session: session(wire.kind, wire.key)?, stream: text(wire.stream) })
    }
}

impl Appended {
    fn of(done: &Done) -> Self {
        let mut answer =
            Self { first_seq: None, last_seq: None, head: 0, appended: 0, document_version: None };
        for step in &done.steps {
            match step {
                StepDone::Appended { first, last, head, appended } => {
                    (answer.first_seq, answer.last_seq) = (*first, *last);
                    (answer.head, answer.appended) = (*head, *appended);
                }
                StepDone::Stored { version, .. } => answer.document_version = Some(*version),
                _ => {}
            }
        }
        answer
    }
}

pub fn milliseconds(at: Micros) -> i64 {
    at.div_euclid(1_000)
}

/// The step of a change that has one.
fn only(done: Done) -> Result<StepDone, Problem> {
    let step = done.steps.into_iter().next();
    step.ok_or_else(|| Problem::internal("a change has no outcome"))
}

/// Who asks to change something.
pub fn asking(
    caller: &Caller,
    deadline: Micros,
    idempotency: Option<(String, [u8; 32])>,
) -> SessionCall<'_> {
    SessionCall { caller, idempotency, deadline }
}
