//! Serves Agentrail's sessions with their messages, turns and compactions.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ExactList, PathIds, all, change, key, own, session_absent, values};
use crate::app::App;
use crate::domain::agentrail::{ARCHIVES, KIND, MESSAGES, NOTES, TOKENS, TURNS};
use crate::domain::sessions::change::{About, NewEntry, Step, StepDone};
use crate::domain::sessions::loading::Load;
use crate::domain::sessions::service::{CompactStream, append};
use crate::domain::sessions::storage::ListSessions;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, BodylessCall, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, ExactOut, Text};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;
use crate::http::sessions::{asking, milliseconds};

const USER_SESSIONS: u64 = 500;

/// Make a session of Agentrail's
///
/// Unless it is there: its first user and agent stay. Where another user has it, the server's setting `--agentrail-other-user` decides
/// whether it is answered, which is the default, or refused.
#[utoipa::path(
    put, path = "/agentrail/v1/t/{tenant}/s/{session}", operation_id = "agentrail_put_session", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = SessionBody, example = json!({"userId": "ann", "agentId": "helper"})),
    responses((status = 200, description = "It is there", body = SessionAnswer),
        (status = 403, description = "`not_granted`"), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`")),
)]
pub async fn put_session(State(app): State<Arc<App>>, ids: PathIds, call: Call<About>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let (asking, user) = (asking(&caller, deadline, None), input.user.clone());
    let (session, created) = app.sessions.create(&asking, ids.session()?, input).await?;
    app.agentrail_other_user.check(session.user.as_deref(), user.as_deref())?;
    reply
        .with(&SessionAnswer {
            session_id: ids.id("session").to_owned(),
            created,
            created_at: milliseconds(session.created_at),
            updated_at: milliseconds(session.updated_at),
        })
        .await
}

/// List the sessions of a user of Agentrail's
///
/// Newest first.
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/users/{user}/sessions", operation_id = "agentrail_list_sessions", tag = "agentrail",
    params(("tenant" = String, Path), ("user" = String, Path), LimitParam),
    responses((status = 200, description = "Those that the caller may read", body = UserSessions)),
)]
pub async fn list(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: BodylessCall,
    uri: Uri,
) -> Answer {
    let limit = query_of::<LimitParam>(&uri)?.limit.unwrap_or(USER_SESSIONS);
    let query = ListSessions {
        kind: KIND.into(),
        key_prefix: vec![ids.id("tenant").to_owned()],
        user: Some(ids.id("user").to_owned()),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        ..ListSessions::default()
    };
    let page = app.sessions.list(&call.caller, query).await?;
    let sessions = page.sessions.iter().map(|it| UserSession {
        session_id: it.name.key().get(1).cloned().unwrap_or_default(),
        updated_at: milliseconds(it.updated_at),
    });
    call.reply.with(&UserSessions { sessions: sessions.collect() }).await
}

/// Load messages of Agentrail's
///
/// All that are visible, or the last `limit`. `headSeq` and `count` are of all: message `i` of them has the number `headSeq - count + 1 + i`.
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/messages", operation_id = "agentrail_load_messages", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), LimitParam),
    responses((status = 200, description = "In their order", body = Messages), (status = 404, description = "`session_not_found`")),
)]
pub async fn load(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: BodylessCall,
    uri: Uri,
) -> Answer {
    let tail = query_of::<LimitParam>(&uri)?.limit;
    let load = Load { stream: MESSAGES.into(), tail, ..Load::default() };
    let found = all(&app, &call.caller, &ids.session()?, load).await?;
    let loaded = found.ok_or_else(session_absent)?;
    let (head_seq, count) = (loaded.head, loaded.count);
    call.reply.with(&Messages { messages: values(loaded), head_seq, count }).await
}

/// Append messages of Agentrail's
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/messages", operation_id = "agentrail_append_messages", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = MessagesBody, example = json!({"messages": [{"role": "user", "content": "hi", "timestamp": 1}]})),
    responses((status = 200, description = "Durable", body = AppendedMessages), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`invalid`, `idempotency_mismatch`")),
)]
pub async fn append_messages(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: Call<MessagesIn>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    let done = change(&app, &asking, ids.session()?, vec![append(MESSAGES, input.entries)]);
    match done.await?.steps.first() {
        Some(StepDone::Appended { first, last, .. }) => {
            reply.with(&AppendedMessages { first_seq: *first, last_seq: *last }).await
        }
        _ => Err(Problem::internal("an append has another outcome")),
    }
}

/// Record a turn of Agentrail's
///
/// The body is its usage. Turns are numbered from 0 in the order of commits.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/turns", operation_id = "agentrail_record_turn", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = Exact, example = json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15})),
    responses((status = 200, description = "Durable", body = Turn), (status = 409, description = "`session_taken`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`invalid`, `idempotency_mismatch`")),
)]
pub async fn record_turn(State(app): State<Arc<App>>, ids: PathIds, call: Call<TurnIn>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    let count = Step::Count { counter: TOKENS.into(), by: input.tokens };
    let steps = vec![append(TURNS, vec![input.usage]), count];
    match change(&app, &asking, ids.session()?, steps).await?.steps.first() {
        Some(StepDone::Appended { head, .. }) => reply.with(&Turn { turn_index: head - 1 }).await,
        _ => Err(Problem::internal("an append has another outcome")),
    }
}

/// Compact messages of Agentrail's
///
/// In one transaction: the messages up to `throughSeq` become an archive, the placeholder takes their place, and NOTES.md of the session is
/// extended. `{archive_id}` in both is filled in; with an `archiveId` the archive gets that one, or nothing happens.
#[utoipa::path(
    post, path = "/agentrail/v1/t/{tenant}/s/{session}/compact", operation_id = "agentrail_compact_session", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    request_body(content = CompactBody, example = json!({"throughSeq": 20, "expectedHead": 60, "compressedCount": 20,
        "placeholder": {"role": "user", "content": "[Conversation compacted at 2026-01-31T12:00:00Z. …]", "timestamp": 1}, "notesAppend": "\n## Compaction Summary\n"})),
    responses((status = 200, description = "Durable", body = Archived, example = json!({"archiveId": "0001"})),
        (status = 404, description = "`session_not_found`"), (status = 409, description = "`head_moved`, `session_taken`"),
        (status = 413, description = "`quota_exceeded`"), (status = 422, description = "`invalid`, `idempotency_mismatch`")),
)]
pub async fn compact(State(app): State<Arc<App>>, ids: PathIds, call: Call<CompactIn>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let asking = asking(&caller, deadline, input.idempotency);
    let compact = CompactStream {
        session: ids.session()?,
        stream: MESSAGES.into(),
        through_seq: input.through_seq,
        expected_head: input.expected_head,
        expected_count: Some(input.compressed_count),
        archive_stream_prefix: ARCHIVES.into(),
        replacement: vec![input.placeholder],
        document: input.notes.map(|it| (NOTES.into(), it)),
        archive_id: input.archive_id,
    };
    let (archive_id, _) = app.sessions.compact(&asking, &compact).await?;
    reply.with(&Archived { archive_id }).await
}

/// List archives of Agentrail's messages
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/archives", operation_id = "agentrail_list_archives", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path)),
    responses((status = 200, description = "In the order of their ids", body = Archives)),
)]
pub async fn archives(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let streams = app.sessions.list_streams(&call.caller, &ids.session()?).await?;
    let ids = streams.iter().filter_map(|it| it.stream.strip_prefix(ARCHIVES));
    let archives = ids.map(|it| Archived { archive_id: it.to_owned() }).collect();
    call.reply.with(&Archives { archives }).await
}

/// Load an archive of Agentrail's messages
#[utoipa::path(
    get, path = "/agentrail/v1/t/{tenant}/s/{session}/archives/{archive}", operation_id = "agentrail_load_archive", tag = "agentrail",
    params(("tenant" = String, Path), ("session" = String, Path), ("archive" = String, Path)),
    responses((status = 200, description = "In their order", body = ExactList, example = json!({"messages": []})),
        (status = 404, description = "`session_not_found`")),
)]
pub async fn archive(State(app): State<Arc<App>>, ids: PathIds, call: BodylessCall) -> Answer {
    let stream = format!("{ARCHIVES}{}", ids.id("archive"));
    let load = Load { stream, ..Load::default() };
    let found = all(&app, &call.caller, &ids.session()?, load).await?;
    call.reply.with(&ExactList::of("messages", found.ok_or_else(session_absent)?)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = AgentrailSession)]
pub struct SessionBody {
    user_id: Text,
    agent_id: Text,
    title: Option<Text>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LimitParam {
    /// The last so many.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailSessionMade)]
pub struct SessionAnswer {
    session_id: String,
    created: bool,
    /// Milliseconds since 1970, like the others.
    created_at: i64,
    updated_at: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailUserSession)]
pub struct UserSession {
    session_id: String,
    updated_at: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailUserSessions)]
pub struct UserSessions {
    sessions: Vec<UserSession>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailMessages)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub struct Messages {
    #[schema(value_type = Vec<Exact>)]
    messages: Vec<ExactOut>,
    head_seq: i64,
    count: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = AgentrailNewMessages)]
pub struct MessagesBody<'a> {
    #[serde(borrow)]
    messages: Vec<Exact<'a>>,
    /// As the header `Idempotency-Key`: 1-255 bytes without NUL.
    idempotency_key: Option<Text>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailAppended)]
pub struct AppendedMessages {
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seq: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seq: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailTurn)]
pub struct Turn {
    turn_index: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = AgentrailCompaction)]
pub struct CompactBody<'a> {
    through_seq: i64,
    expected_head: i64,
    /// How many messages go to the archive.
    compressed_count: i64,
    #[serde(borrow)]
    placeholder: Exact<'a>,
    notes_append: Option<Text>,
    /// Four digits or more.
    archive_id: Option<Text>,
    /// As the header `Idempotency-Key`: 1-255 bytes without NUL.
    idempotency_key: Option<Text>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentrailArchive)]
pub struct Archived {
    archive_id: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AgentrailArchives)]
pub struct Archives {
    archives: Vec<Archived>,
}

pub struct MessagesIn {
    entries: Vec<NewEntry>,
    idempotency: Option<(String, [u8; 32])>,
}

pub struct TurnIn {
    usage: NewEntry,
    tokens: i64,
    idempotency: Option<(String, [u8; 32])>,
}

pub struct CompactIn {
    through_seq: i64,
    expected_head: i64,
    compressed_count: i64,
    placeholder: NewEntry,
    notes: Option<NewEntry>,
    archive_id: Option<String>,
    idempotency: Option<(String, [u8; 32])>,
}

impl Input for About {
    type Wire<'a> = SessionBody;

    fn from_wire(wire: SessionBody, _: &Received) -> Result<Self> {
        let (user, agent) = (Some(wire.user_id.0), Some(wire.agent_id.0));
        Ok(Self { user, agent, title: wire.title.map(|it| it.0) })
    }
}

impl Input for MessagesIn {
    type Wire<'a> = MessagesBody<'a>;

    fn from_wire(wire: MessagesBody<'_>, received: &Received) -> Result<Self> {
        let entry = |it: &Exact<'_>| NewEntry { id: None, text: own(it, received) };
        let entries = wire.messages.iter().map(entry).collect();
        let idempotency = key(received, wire.idempotency_key, "agentrail messages")?;
        Ok(Self { entries, idempotency })
    }
}

impl Input for TurnIn {
    type Wire<'a> = Exact<'a>;

    fn from_wire(wire: Exact<'_>, received: &Received) -> Result<Self> {
        let usage: serde_json::Value = serde_json::from_slice(wire.0)
            .map_err(|_| Error::invalid("body", "body must be a usage"))?;
        let given = usage["idempotencyKey"].as_str().map(|it| Text(it.to_owned()));
        Ok(Self {
            tokens: usage["totalTokens"].as_i64().unwrap_or(0).clamp(0, 1 << 40),
            usage: NewEntry { id: None, text: own(&wire, received) },
            idempotency: key(received, given, "agentrail turns")?,
        })
    }
}

impl Input for CompactIn {
    type Wire<'a> = CompactBody<'a>;

    fn from_wire(wire: CompactBody<'_>, received: &Received) -> Result<Self> {
        let text = |it: Text| NewEntry { id: None, text: it.0.into() };
        Ok(Self {
            through_seq: wire.through_seq,
            expected_head: wire.expected_head,
            compressed_count: wire.compressed_count,
            placeholder: NewEntry { id: None, text: own(&wire.placeholder, received) },
            notes: wire.notes_append.map(text),
            archive_id: wire.archive_id.map(|it| it.0),
            idempotency: key(received, wire.idempotency_key, "agentrail compact")?,
        })
    }
}
