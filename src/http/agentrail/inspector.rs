//! Serves `/__inspector`, the routes of Agentrail's Inspector. Its page sends no header, so its address may contain a token:
//! `/i/{token}/__inspector`. Such a token must be one that only reads.
//!
//! **Invariant:** a token in a path is in no log, no metric and no audit event: those name the route, never the path.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::Uri;
use axum::http::request::Parts;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use utoipa::{IntoParams, ToSchema};

use super::{ExactList, PathIds, document, stream, values};
use crate::app::App;
use crate::domain::agentrail::{
    self, EVENTS, KIND, MESSAGES, SNAPSHOT, TOKENS, TRACE, TURNS, recover,
};
use crate::domain::caller::{Caller, Grants};
use crate::domain::sessions::Session;
use crate::domain::sessions::ledger::Part;
use crate::domain::sessions::loading::{Load, Loaded};
use crate::domain::sessions::name::SessionName;
use crate::domain::sessions::storage::ListSessions;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::request::call::{Reply, caller_of, identify_as, presented_key};
use crate::http::request::problem::Problem;
use crate::http::request::query_fields::query_of;

const SESSIONS_MAX: usize = 1_000;
/// Sessions whose status a listing tells, and how many of them are looked at side by side.
const STATUSES_MAX: usize = 100;
const STATUSES_AT_ONCE: usize = 4;
/// Entries of a trace in which the last beginning of something is looked for.
const STATUS_ENTRIES: u64 = 32;

type Answer = crate::http::request::call::Answer;

/// Who looks: by a header, or by the token in the path.
pub struct Watcher {
    caller: Caller,
    reply: Reply,
    ids: PathIds,
}

impl FromRequestParts<Arc<App>> for Watcher {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        watcher(parts, app).await.map_err(Problem::with_error)
    }
}

async fn watcher(parts: &mut Parts, app: &Arc<App>) -> Result<Watcher, Problem> {
    let ids = PathIds::from_request_parts(parts, app).await?;
    let token = Some(ids.id("token")).filter(|it| !it.is_empty());
    let presented = token.or_else(|| presented_key(&parts.headers));
    let identity = identify_as(parts, app, presented).await?;
    let (caller, account) = caller_of(identity, app);
    if token.is_some() && !only_reads(&caller) {
        let refusal = "an address may have only a token that reads and does nothing else";
        return Err(Error::NotGranted(refusal).into());
    }
    let reply = Reply::to(&parts.headers, account.open())?;
    Ok(Watcher { caller, reply, ids })
}

/// Addresses end up in histories: what is in one must not be able to change anything.
fn only_reads(caller: &Caller) -> bool {
    matches!(&caller.grants, Grants::Scoped(scoped) if scoped.only_reads())
}

impl Watcher {
    /// The session that is looked at.
    fn session(&self, uri: &Uri) -> Result<SessionName, Problem> {
        let tenant = query_of::<TenantParam>(uri)?.tenant_id.unwrap_or_else(|| "default".into());
        Ok(agentrail::session(&tenant, self.ids.id("session"))?)
    }
}

macro_rules! inspect {
    ($name:ident, $by_token:ident, $shown:ident, $path:literal, $id:literal, $id_by_token:literal, $summary:literal, $summary_by_token:literal, $body:ty, [$($param:tt)*]) => {
        #[doc = $summary]
        #[utoipa::path(
            get, path = concat!("/__inspector", $path), operation_id = $id, tag = "agentrail", params($($param)*),
            responses((status = 200, description = "For Agentrail's Inspector", body = $body)),
        )]
        pub async fn $name(State(app): State<Arc<App>>, watcher: Watcher, uri: Uri) -> Answer {
            $shown(&app, watcher, &uri).await.map_err(Problem::with_error)
        }

        #[doc = $summary_by_token]
        #[utoipa::path(
            get, path = concat!("/i/{token}/__inspector", $path), operation_id = $id_by_token, tag = "agentrail",
            params(("token" = String, Path, description = "A token that only reads"), $($param)*),
            responses((status = 200, description = "For Agentrail's Inspector", body = $body)),
        )]
        pub async fn $by_token(State(app): State<Arc<App>>, watcher: Watcher, uri: Uri) -> Answer {
            $shown(&app, watcher, &uri).await.map_err(Problem::with_error)
        }
    };
}

inspect!(
    health,
    health_by_token,
    show_health,
    "/health",
    "inspect_health",
    "inspect_health_by_token",
    "Whether the Inspector is served",
    "Whether the Inspector is served; by an address with a token",
    InspectorHealth,
    []
);
inspect!(
    sessions,
    sessions_by_token,
    show_sessions,
    "/sessions",
    "inspect_sessions",
    "inspect_sessions_by_token",
    "Sessions, newest first",
    "Sessions, newest first; by an address with a token",
    InspectedSessions,
    []
);
inspect!(
    trace,
    trace_by_token,
    show_trace,
    "/sessions/{session}/trace",
    "inspect_trace",
    "inspect_trace_by_token",
    "Trace and orchestration's events, by time",
    "Trace and orchestration's events, by time; by an address with a token",
    InspectedTrace,
    [("session" = String, Path), TenantParam]
);
inspect!(
    messages,
    messages_by_token,
    show_messages,
    "/sessions/{session}/messages",
    "inspect_messages",
    "inspect_messages_by_token",
    "Messages",
    "Messages; by an address with a token",
    InspectedMessages,
    [("session" = String, Path), TenantParam]
);
inspect!(
    orchestration,
    orchestration_by_token,
    show_orchestration,
    "/sessions/{session}/orchestration",
    "inspect_orchestration",
    "inspect_orchestration_by_token",
    "The orchestration as it is recovered",
    "The orchestration as it is recovered; by an address with a token",
    InspectedOrchestration,
    [("session" = String, Path), TenantParam]
);

async fn show_health(_: &App, watcher: Watcher, _: &Uri) -> Answer {
    watcher.reply.with(&InspectorHealth { status: "ok" }).await
}

async fn show_sessions(app: &App, watcher: Watcher, _: &Uri) -> Answer {
    let Watcher { caller, reply, .. } = watcher;
    let query = ListSessions { kind: KIND.into(), limit: SESSIONS_MAX, ..ListSessions::default() };
    let page = app.sessions.list(&caller, query).await?;
    let heads = |part, name| app.sessions.list_heads(&caller, KIND, part, name);
    let turns: HashMap<SessionName, i64> = heads(Part::Stream, TURNS).await?.into_iter().collect();
    let tokens: HashMap<SessionName, i64> =
        heads(Part::Counter, TOKENS).await?.into_iter().collect();
    let count = |of: &HashMap<SessionName, i64>, name: &SessionName| {
        of.get(name).copied().filter(|it| *it != 0)
    };
    let traced = heads(Part::Stream, TRACE).await?.into_iter().map(|it| it.0).collect();
    let mut statuses = statuses(app, &caller, &page.sessions, &traced).await?;
    let sessions = page.sessions.into_iter().filter_map(|it| {
        let [tenant_id, session_id] = it.name.key() else { return None };
        let status = statuses.remove(&it.name);
        Some(Inspected {
            tenant_id: tenant_id.clone(),
            session_id: session_id.clone(),
            user_id: it.user,
            last_active: rfc3339(it.updated_at),
            turns: count(&turns, &it.name),
            tokens: count(&tokens, &it.name),
            status,
        })
    });
    reply.with(&InspectedSessions { sessions: sessions.collect() }).await
}

/// How the newest sessions with a trace fare, told by the ends of their traces.
async fn statuses(
    app: &App,
    caller: &Caller,
    sessions: &[Session],
    traced: &HashSet<SessionName>,
) -> Result<HashMap<SessionName, &'static str>> {
    let traced = sessions.iter().map(|it| &it.name).filter(|it| traced.contains(it));
    let traced: Vec<&SessionName> = traced.take(STATUSES_MAX).collect();
    let mut statuses = HashMap::new();
    for some in traced.chunks(STATUSES_AT_ONCE) {
        let looks = some.iter().map(|it| status_of(app, caller, it));
        statuses.extend(try_join_all(looks).await?.into_iter().flatten());
    }
    Ok(statuses)
}

async fn status_of(
    app: &App,
    caller: &Caller,
    session: &SessionName,
) -> Result<Option<(SessionName, &'static str)>> {
    let load = Load { stream: TRACE.into(), tail: Some(STATUS_ENTRIES), ..Load::default() };
    let found = app.sessions.load(caller, session, &load).await?;
    Ok(found.map(|it| (session.clone(), agentrail::status(&parsed(it)))))
}

async fn show_messages(app: &App, watcher: Watcher, uri: &Uri) -> Answer {
    let session = watcher.session(uri)?;
    let loaded = stream(app, &watcher.caller, &session, MESSAGES).await?;
    watcher.reply.with(&ExactList::of("messages", loaded)).await
}

async fn show_trace(app: &App, watcher: Watcher, uri: &Uri) -> Answer {
    let session = watcher.session(uri)?;
    let trace = parsed(stream(app, &watcher.caller, &session, TRACE).await?);
    let known: HashSet<String> = trace.iter().filter_map(|it| text(it, "id")).collect();
    let events = parsed(stream(app, &watcher.caller, &session, EVENTS).await?);
    let own = events.into_iter().enumerate();
    let own = own.filter(|(_, it)| text(it, "eventId").is_none_or(|id| !known.contains(&id)));
    let own = own.map(|(at, it)| {
        json!({"id": it["eventId"], "timestamp": it["occurredAt"], "sequence": at, "source": "orchestration", "event": it})
    });
    let mut all: Vec<Json> = trace.into_iter().chain(own).collect();
    all.sort_by_key(|it| (text(it, "timestamp"), it["sequence"].as_i64()));
    watcher.reply.with(&InspectedTrace { events: all }).await
}

async fn show_orchestration(app: &App, watcher: Watcher, uri: &Uri) -> Answer {
    let session = watcher.session(uri)?;
    let events = parsed(stream(app, &watcher.caller, &session, EVENTS).await?);
    let checkpoint = match document(app, &watcher.caller, &session, SNAPSHOT).await {
        Ok(found) => serde_json::from_slice::<Json>(&found.text).ok(),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let state = recover(checkpoint, &events);
    let all = |name: &str| {
        let found = state.as_ref().and_then(|it| it["snapshot"][name].as_object());
        found.into_iter().flat_map(|it| it.values().cloned()).collect::<Vec<Json>>()
    };
    // The one that began last.
    let run = all("runs").into_iter().max_by_key(|it| text(it, "createdAt"));
    watcher.reply.with(&InspectedOrchestration { run, agents: all("agents"), events }).await
}

fn parsed(loaded: Loaded) -> Vec<Json> {
    let entries = values(loaded).into_iter();
    entries.filter_map(|it| serde_json::from_slice(&it.0).ok()).collect()
}

fn text(of: &Json, name: &str) -> Option<String> {
    of[name].as_str().map(str::to_owned)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TenantParam {
    /// Of Agentrail. Default `default`.
    #[serde(rename = "tenantId")]
    #[param(rename = "tenantId")]
    tenant_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inspected {
    tenant_id: String,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    last_active: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<i64>,
    /// `error` where something has failed since the session last began something; absent where nothing was traced, and of sessions
    /// behind the newest hundred of the traced ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    status: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
pub struct InspectedSessions {
    sessions: Vec<Inspected>,
}

#[derive(Serialize, ToSchema)]
pub struct InspectorHealth {
    /// `ok`.
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
pub struct InspectedTrace {
    /// As they were appended; those of orchestration with `id`, `timestamp`, `sequence`, `source` and `event`.
    #[schema(value_type = Vec<serde_json::Value>)]
    events: Vec<Json>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub struct InspectedMessages {
    /// As they were appended.
    #[schema(value_type = Vec<serde_json::Value>)]
    messages: Vec<Json>,
}

#[derive(Serialize, ToSchema)]
pub struct InspectedOrchestration {
    /// The one that began last; null without any.
    #[schema(value_type = serde_json::Value)]
    run: Option<Json>,
    #[schema(value_type = Vec<serde_json::Value>)]
    agents: Vec<Json>,
    /// As they were appended.
    #[schema(value_type = Vec<serde_json::Value>)]
    events: Vec<Json>,
}
