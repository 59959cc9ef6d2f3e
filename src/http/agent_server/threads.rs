//! Serves threads one by one: create, get, change, delete, copy.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse as _;
use serde::Deserialize;
use utoipa::ToSchema;

use super::call::{AskedPath, JsonCall, OptionalJsonCall, PlainCall, ThreadPath, no_thread};
use super::query::list as names_of;
use super::runs::needs_graph;
use super::shown_ids::ShownIds;
use super::thread_view::{AgentServerThread, ThreadFields, ThreadView};
use super::ttl::TtlBody;
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::names::ThreadId;
use crate::domain::threads::alias::canonical;
use crate::domain::threads::details::{Change, NewThread, UpdateThread, check_metadata};
use crate::domain::threads::storage::{CopyThread, DeleteThread};
use crate::domain::threads::thread::Thread;
use crate::domain::threads::ttl::Ttl;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::call::{Answer, Call, Reply};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::problem::{Code, Problem};
use crate::http::request::query_fields::Fields;

/// Create a thread
///
/// Without checkpoints. With `if_exists: do_nothing` a thread that is there is answered as it is.
#[utoipa::path(
    post, path = "/threads", operation_id = "agent_server_create_thread", tag = "agent-server",
    request_body(content = CreateBody, example = json!({"thread_id": "t-1", "metadata": {"customer": "acme"}, "if_exists": "do_nothing"})),
    responses(
        (status = 200, description = "The thread", body = AgentServerThread),
        (status = 409, description = "`thread_exists`, `thread_taken`"),
        (status = 413, description = "`quota_exceeded`, `too_large`"), (status = 422, description = "`invalid`, `needs_graph`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn create(
    State(app): State<Arc<App>>,
    ids: ShownIds,
    call: OptionalJsonCall<CreateThread>,
) -> Answer {
    let Call { caller, deadline, mut input, reply } = call.0;
    if input.has_supersteps {
        return Err(needs_graph(
            "supersteps are written by the graph's reducers; write them in the process that has the graph, with ThreadkeepSaver",
        ));
    }
    if let Some(asked) = input.new.thread_id.take() {
        // Who knows a thread by its alias makes no second one.
        input.new.thread_id = Some(app.threads.resolve_one(&caller, asked).await?);
    }
    let (thread, is_new) = app.threads.create(&caller, input.new, deadline).await?;
    if !is_new && input.if_exists == IfExists::Raise {
        let detail = format!("Thread with ID {} already exists", ids.of(&thread.thread_id));
        return Err(Problem::new(Code::ThreadExists, detail).at("thread_id"));
    }
    show(&app, (&caller, ids), thread, reply).await
}

/// Get a thread
#[utoipa::path(
    get, path = "/threads/{thread_id}", operation_id = "agent_server_get_thread", tag = "agent-server",
    params(
        ("thread_id" = String, Path),
        ("include" = Option<String>, Query, description = "`ttl`: also its ttl, where it has one"),
    ),
    responses(
        (status = 200, description = "The thread", body = AgentServerThread),
        (status = 400, description = "`malformed_body`"), (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    uri: Uri,
    call: PlainCall,
) -> Answer {
    let included = names_of(&Fields::with_unknown(&uri)?, "include")?;
    if let Some(other) = included.iter().find(|it| *it != "ttl") {
        let name: String = other.chars().take(64).collect();
        return Err(Error::invalid("include", format!("{name:?} cannot be included")).into());
    }
    let (threads, caller) = (&app.threads, &call.caller);
    let read = |id: ThreadId| async move { threads.get(caller, &id).await };
    let thread = path.read((&app, caller), read).await?;
    let fields = ThreadFields { ids, has_ttl: !included.is_empty(), ..ThreadFields::default() };
    call.reply.with(&ThreadView::of(&app, caller, thread, &fields).await?).await
}

/// Update a thread
///
/// Fields of `metadata` replace those of the same names, and null is kept as a value. An empty object moves `updated_at`.
#[utoipa::path(
    patch, path = "/threads/{thread_id}", operation_id = "agent_server_update_thread", tag = "agent-server",
    params(
        ("thread_id" = String, Path),
        ("Prefer" = Option<String>, Header, description = "`return=minimal`: no body"),
    ),
    request_body(content = UpdateBody, example = json!({"metadata": {"state": "done"}})),
    responses(
        (status = 200, description = "The thread as it is now", body = AgentServerThread),
        (status = 204, description = "Changed"), (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    path: ThreadPath,
    ids: ShownIds,
    headers: HeaderMap,
    call: JsonCall<Changes>,
) -> Answer {
    let Call { caller, deadline, input: Changes { metadata, ttl }, reply } = call.0;
    let thread_id = readable(&caller, path.0)?;
    let request = UpdateThread {
        thread_id: thread_id.clone(),
        title: Change::Keep,
        metadata,
        replace_metadata: false,
        ttl,
        if_version: None,
        idempotency: None,
    };
    let thread = app.threads.update(&caller, &request, deadline).await;
    let thread = thread.map_err(|error| absent(error, &thread_id))?;
    if headers.get("prefer").is_some_and(|it| it == "return=minimal") {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    show(&app, (&caller, ids), thread, reply).await
}

/// Delete a thread
///
/// With everything in it.
#[utoipa::path(
    delete, path = "/threads/{thread_id}", operation_id = "agent_server_delete_thread", tag = "agent-server",
    params(("thread_id" = String, Path)),
    responses(
        (status = 204, description = "Deleted"), (status = 404, description = "`thread_not_found`"),
        (status = 409, description = "`lease_held`"),
    ),
)]
pub async fn delete(State(app): State<Arc<App>>, path: ThreadPath, call: PlainCall) -> Answer {
    let caller = call.caller;
    let thread_id = visible(&caller, path.0)?;
    let request = DeleteThread { thread_id: thread_id.clone(), generation: None, fence: None };
    if !app.threads.delete(&caller, &request, call.deadline).await? {
        return Err(no_thread(&thread_id));
    }
    app.values.of(&caller, &thread_id).forget();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Copy a thread
///
/// All of it, under a new id.
#[utoipa::path(
    post, path = "/threads/{thread_id}/copy", operation_id = "agent_server_copy_thread", tag = "agent-server",
    params(("thread_id" = String, Path)),
    responses(
        (status = 200, description = "The copy", body = AgentServerThread),
        (status = 409, description = "`thread_absent`, `thread_taken`"), (status = 413, description = "`quota_exceeded`"),
    ),
)]
pub async fn copy(
    State(app): State<Arc<App>>,
    path: ThreadPath,
    ids: ShownIds,
    call: PlainCall,
) -> Answer {
    let PlainCall { caller, deadline, reply } = call;
    let source = path.0;
    let no_source = || {
        let detail = format!("Conflict: there is no thread with ID {source} to copy");
        Problem::new(Code::ThreadAbsent, detail).at("thread_id")
    };
    let found = app.threads.get(&caller, &source).await?.ok_or_else(no_source)?;
    let target = app.threads.new_id(&caller)?;
    if found.checkpoint_count == 0 {
        let metadata = Some(found.details.metadata.clone());
        let (thread_id, title) = (Some(target), found.details.title);
        let new = NewThread { thread_id, title, metadata, ttl: None, idempotency: None };
        let (thread, _) = app.threads.create(&caller, new, deadline).await?;
        return show(&app, (&caller, ids), thread, reply).await;
    }
    let request = CopyThread {
        source: source.clone(),
        target: target.clone(),
        idempotency: None,
        full: None,
    };
    app.threads.copy(&caller, &request, deadline).await?;
    let copy = app.threads.get(&caller, &target).await?.ok_or_else(|| no_thread(&target))?;
    show(&app, (&caller, ids), copy, reply).await
}

async fn show(
    app: &App,
    (caller, ids): (&Caller, ShownIds),
    thread: Thread,
    reply: Reply,
) -> Answer {
    let fields = ThreadFields { ids, ..ThreadFields::default() };
    reply.with(&ThreadView::of(app, caller, thread, &fields).await?).await
}

/// A foreign thread looks absent, also to who may change some thread.
fn readable(caller: &Caller, thread_id: ThreadId) -> Result<ThreadId, Problem> {
    if caller.may_read_thread(&thread_id) { Ok(thread_id) } else { Err(no_thread(&thread_id)) }
}

/// As [`readable`], for who may delete without reading.
fn visible(caller: &Caller, thread_id: ThreadId) -> Result<ThreadId, Problem> {
    use crate::domain::tokens::grants::Action::Write;
    if caller.require_thread(&thread_id, Write).is_ok() {
        return Ok(thread_id);
    }
    readable(caller, thread_id)
}

fn absent(error: Error, thread_id: &ThreadId) -> Problem {
    match error {
        Error::NotFound(_) => no_thread(thread_id),
        other => other.into(),
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerCreateThread)]
pub struct CreateBody<'a> {
    /// Any text. Absent: a new UUID.
    thread_id: Option<Text>,
    /// An object of at most 65,536 bytes.
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    if_exists: Option<IfExists>,
    ttl: Option<TtlBody>,
    /// Is refused: they need the graph.
    #[serde(borrow)]
    supersteps: Option<Exact<'a>>,
}

#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = AgentServerIfExists)]
pub enum IfExists {
    Raise,
    DoNothing,
}

by_name!(IfExists);

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerUpdateThread)]
pub struct UpdateBody<'a> {
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// Takes the place of the one that is set. Absent or null: it stays, and begins anew.
    ttl: Option<TtlBody>,
}

/// A thread that is to be made.
pub struct CreateThread {
    new: NewThread,
    if_exists: IfExists,
    has_supersteps: bool,
}

/// New metadata and ttl.
pub struct Changes {
    metadata: Option<String>,
    ttl: Change<Ttl>,
}

impl Input for CreateThread {
    type Wire<'a> = CreateBody<'a>;

    fn from_wire(wire: CreateBody<'_>, _: &Received) -> Result<Self> {
        let has_supersteps = wire.supersteps.is_some_and(|it| it.0 != b"[]");
        let thread_id = wire
            .thread_id
            .map(|Text(id)| ThreadId::new(canonical(&id).unwrap_or(id)))
            .transpose()?;
        let metadata = wire.metadata.as_ref().map(metadata).transpose()?;
        let ttl = wire.ttl.map(Ttl::try_from).transpose()?;
        let new = NewThread { thread_id, title: None, metadata, ttl, idempotency: None };
        let if_exists = wire.if_exists.unwrap_or(IfExists::Raise);
        Ok(Self { new, if_exists, has_supersteps })
    }
}

impl Input for Changes {
    type Wire<'a> = UpdateBody<'a>;

    fn from_wire(wire: UpdateBody<'_>, _: &Received) -> Result<Self> {
        let metadata = wire.metadata.as_ref().map(metadata).transpose()?;
        let ttl = wire.ttl.map(Ttl::try_from).transpose()?;
        Ok(Self { metadata, ttl: ttl.map_or(Change::Keep, Change::Set) })
    }
}

fn metadata(text: &Exact<'_>) -> Result<String> {
    check_metadata(text.0)?;
    debug_assert!(text.0.len() as u64 <= LIMITS.thread_metadata_bytes_max);
    Ok(String::from_utf8_lossy(text.0).into_owned())
}
