//! Serves `POST /v1/sessions/load`, `…/streams`, `…/list` and `…/kinds`: reads entries, streams and listings.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::milliseconds;
use super::wire::{session, text, texts};
use crate::app::App;
use crate::domain::pages::{COUNTED_MAX, COUNTED_ROWS_MAX};
use crate::domain::sessions::loading::Load;
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::storage::{ListKinds, ListSessions, SessionCursor, SessionKind};
use crate::domain::sessions::{Entry, SESSION, Session};
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor;
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{ExactOut, Text};

const LIMIT_DEFAULT: u64 = 500;
const KINDS_CURSOR: &str = "kinds";

/// Load entries
///
/// In the order of their numbers, from the first one, behind `after_seq`, or the last ones (`tail`, `token_budget`). `more` says
/// that entries in the direction of reading were left out: go on with `after_seq`. One answer has at most 10,000 entries and
/// about 16 MiB; a larger entry comes alone.
#[utoipa::path(
    post, path = "/v1/sessions/load", operation_id = "load_entries", tag = "sessions",
    request_body(content = LoadBody, example = json!({"kind": "claude", "key": ["my-project", "3f0c"], "tail": 50})),
    responses(
        (status = 200, description = "Entries", body = Entries, example = json!({"entries": [
            {"seq": 1, "id": "b1", "data": {"type": "user", "uuid": "b1"}, "at_ms": 1_769_860_800_000_i64}], "head": 1, "more": false})),
        (status = 404, description = "`session_not_found`: the stream was never written"),
    ),
)]
pub async fn load(State(app): State<Arc<App>>, call: Call<LoadEntries>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let loaded = app.sessions.load(&caller, &input.session, &input.load).await?;
    let loaded = loaded.ok_or(Error::NotFound(SESSION))?;
    reply
        .with(&Entries {
            entries: loaded.entries.into_iter().map(EntryOut::from).collect(),
            head: loaded.head,
            more: loaded.more,
        })
        .await
}

/// List streams
///
/// By name, of one session. None: there is no such session, or nothing in it.
#[utoipa::path(
    post, path = "/v1/sessions/streams", operation_id = "list_streams", tag = "sessions",
    request_body(content = SessionBody, example = json!({"kind": "claude", "key": ["my-project", "3f0c"]})),
    responses((status = 200, description = "All of them", body = Streams, example = json!({"streams": [
        {"stream": "", "head": 12, "updated_at_ms": 1_769_860_800_000_i64}]}))),
)]
pub async fn streams(State(app): State<Arc<App>>, call: Call<OneSession>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let streams = app.sessions.list_streams(&caller, &input.0).await?;
    let stream = |it: crate::domain::sessions::Stream| StreamOut {
        stream: it.stream,
        head: it.head,
        updated_at_ms: milliseconds(it.updated_at),
    };
    reply.with(&Streams { streams: streams.into_iter().map(stream).collect() }).await
}

/// List sessions
///
/// Of one kind, newest first, those that the caller may read. The order moves with every append: it is a view for people.
#[utoipa::path(
    post, path = "/v1/sessions/list", operation_id = "list_sessions", tag = "sessions",
    request_body(content = ListBody, example = json!({"kind": "claude", "key_prefix": ["my-project"], "stream": ""})),
    responses((status = 200, description = "A page", body = SessionsPage, example = json!({"sessions": [
        {"key": ["my-project", "3f0c"], "created_at_ms": 1_769_860_800_000_i64, "updated_at_ms": 1_769_860_809_000_i64}]}))),
)]
pub async fn list(State(app): State<Arc<App>>, call: Call<ListSessions>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let page = app.sessions.list(&caller, input).await?;
    let position = |it: SessionCursor| cursor::encode("sessions", &(it.updated_at, it.key));
    reply
        .with(&SessionsPage {
            sessions: page.sessions.into_iter().map(SessionOut::from).collect(),
            next_cursor: page.next.map(position),
        })
        .await
}

/// List the kinds of sessions
///
/// Those of which the caller may read sessions, in the order of their names. A page may be short where there is a `next_cursor`.
#[utoipa::path(
    post, path = "/v1/sessions/kinds", operation_id = "list_session_kinds", tag = "sessions",
    request_body(content = KindsBody, example = json!({})),
    responses((status = 200, description = "A page", body = KindsPage, example = json!({"kinds": [
        {"kind": "claude", "sessions": 12, "partial": false, "updated_at_ms": 1_769_860_809_000_i64}]}))),
)]
pub async fn kinds(State(app): State<Arc<App>>, call: Call<ListKinds>) -> Answer {
    let Call { caller, input, reply, .. } = call;
    let page = app.sessions.list_kinds(&caller, input).await?;
    let next_cursor = page.next.map(|it| cursor::encode(KINDS_CURSOR, &it));
    let kinds = page.kinds.into_iter().map(KindOut::from).collect();
    reply.with(&KindsPage { kinds, next_cursor }).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LoadEntries)]
pub struct LoadBody {
    kind: Text,
    key: Vec<Text>,
    stream: Option<Text>,
    /// Only what comes behind this number.
    #[schema(minimum = 0)]
    after_seq: Option<i64>,
    /// At most 10,000.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
    /// The last so many, at most 10,000. Not together with `limit`.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    tail: Option<u64>,
    /// The answer ends before the entry that would go beyond; the first always comes.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    bytes_max: Option<u64>,
    /// The last entries that fit, by the estimate for Agentrail's messages; at least one.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    token_budget: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OneSession)]
pub struct SessionBody {
    kind: Text,
    key: Vec<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListSessions)]
pub struct ListBody {
    kind: Text,
    /// First parts of the keys. Absent: all.
    key_prefix: Option<Vec<Text>>,
    user: Option<Text>,
    /// Only sessions with entries in this stream, and `updated_at_ms` is the stream's.
    stream: Option<Text>,
    /// Default 500, at most 1,000.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
    /// `next_cursor` of the page before, with the same arguments.
    cursor: Option<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListSessionKinds)]
pub struct KindsBody {
    /// At most 100, which is the default.
    #[serde(default, deserialize_with = "crate::http::request::counts::optional")]
    limit: Option<u64>,
    /// `next_cursor` of the page before.
    cursor: Option<Text>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Entry)]
pub struct EntryOut {
    seq: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[schema(value_type = crate::http::request::exact::Exact)]
    data: ExactOut,
    at_ms: i64,
}

#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub struct Entries {
    entries: Vec<EntryOut>,
    /// Number of the stream's last entry.
    head: i64,
    more: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Stream)]
pub struct StreamOut {
    stream: String,
    head: i64,
    updated_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
pub struct Streams {
    streams: Vec<StreamOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionOut {
    key: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    created_at_ms: i64,
    updated_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
pub struct SessionsPage {
    sessions: Vec<SessionOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SessionKind)]
pub struct KindOut {
    kind: String,
    /// That the caller may read, counted up to 10,000.
    sessions: u64,
    /// Whether there may be more than were counted; `updated_at_ms` is of those that were.
    partial: bool,
    /// The newest change of one.
    updated_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SessionKinds)]
pub struct KindsPage {
    kinds: Vec<KindOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub struct LoadEntries {
    session: SessionName,
    load: Load,
}

pub struct OneSession(pub SessionName);

impl From<Entry> for EntryOut {
    fn from(entry: Entry) -> Self {
        let Entry { seq, id, data, at } = entry;
        Self { seq, id, data: ExactOut(data), at_ms: milliseconds(at) }
    }
}

impl From<Session> for SessionOut {
    fn from(session: Session) -> Self {
        Self {
            key: session.name.key().to_vec(),
            user: session.user,
            agent: session.agent,
            title: session.title,
            created_at_ms: milliseconds(session.created_at),
            updated_at_ms: milliseconds(session.updated_at),
        }
    }
}

impl From<SessionKind> for KindOut {
    fn from(it: SessionKind) -> Self {
        Self {
            partial: it.sessions >= COUNTED_MAX.unsigned_abs(),
            kind: it.kind,
            sessions: it.sessions,
            updated_at_ms: milliseconds(it.updated_at.unwrap_or_default()),
        }
    }
}

impl Input for LoadEntries {
    type Wire<'a> = LoadBody;

    fn from_wire(wire: LoadBody, _: &Received) -> Result<Self> {
        let LoadBody { kind, key, stream, after_seq, limit, tail, bytes_max, token_budget } = wire;
        let stream = text(stream).unwrap_or_default();
        let load = Load { stream, after_seq, limit, tail, bytes_max, token_budget };
        Ok(Self { session: session(kind, key)?, load })
    }
}

impl Input for OneSession {
    type Wire<'a> = SessionBody;

    fn from_wire(wire: SessionBody, _: &Received) -> Result<Self> {
        session(wire.kind, wire.key).map(Self)
    }
}

impl Input for ListSessions {
    type Wire<'a> = ListBody;

    fn from_wire(wire: ListBody, _: &Received) -> Result<Self> {
        let after = |it: Text| {
            let (updated_at, key) = cursor::decode("sessions", &it.0)?;
            Ok::<_, Error>(SessionCursor { updated_at, key })
        };
        let limit = wire.limit.unwrap_or(LIMIT_DEFAULT);
        Ok(Self {
            kind: wire.kind.0,
            key_prefix: texts(wire.key_prefix.unwrap_or_default()),
            user: text(wire.user),
            stream: text(wire.stream),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            after: wire.cursor.map(after).transpose()?,
        })
    }
}

impl Input for ListKinds {
    type Wire<'a> = KindsBody;

    fn from_wire(wire: KindsBody, _: &Received) -> Result<Self> {
        let after = |it: Text| cursor::decode(KINDS_CURSOR, &it.0);
        let limit = wire.limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Ok(Self {
            limit: limit.unwrap_or(COUNTED_ROWS_MAX),
            after: wire.cursor.map(after).transpose()?,
        })
    }
}
