//! Serves `/v1/threads`: `get`, `list`, `delete`, `copy`. Never touches values.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::order::{OrderParam, SortParam, cursor_kind, position_of, sorted};
use super::preview::PreviewOut;
use super::status::StatusParam;
use super::titles::TitleFromOut;
use super::ttl::TtlOut;
use crate::app::App;
use crate::decode::Json;
use crate::domain::Result;
use crate::domain::clock::Micros;
use crate::domain::limits::LIMITS;
use crate::domain::names::{self, ThreadId};
use crate::domain::threads::alias::alias;
use crate::domain::threads::storage::{CopyThread, DeleteThread};
use crate::domain::threads::thread::{Thread, ThreadCursor, ThreadPage, ThreadQuery, ThreadSort};
use crate::domain::time::rfc3339;
use crate::http::Empty;
use crate::http::checkpoints::commit::generation;
use crate::http::request::call::{Answer, BodylessCall, Call};
use crate::http::request::cursor::{self, limit};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, ExactOut, Text};
use crate::http::request::query_fields::query_of;

const COPY: &str = "/v1/threads/copy";
pub const PAGE_DEFAULT: i64 = 100;

/// Get a thread
///
/// An absent `thread` means that there is none, and nothing else.
#[utoipa::path(
    post, path = "/v1/threads/get", operation_id = "get_thread", tag = "threads",
    request_body(content = GetThreadBody, example = json!({"thread_id": "t-1"})),
    responses((status = 200, description = "The thread, if there is one", body = GotThread, example = json!({"thread": {
        "thread_id": "t-1", "uuid": "b6f98294-abe5-5f50-9a93-0101a447b521", "created_at": "2026-01-31T12:00:00.000000Z", "updated_at": "2026-01-31T12:00:09.000000Z",
        "last_step": 4, "forks": 0, "checkpoint_count": 6, "size_bytes": 48211, "generation": "9f2b7c",
        "metadata": {"customer": "acme"}, "version": 1_790_000_000_000_000_i64,
        "status": "interrupted", "state_updated_at": "2026-01-31T12:00:09.000000Z"
    }}))),
)]
pub async fn get(State(app): State<Arc<App>>, call: Call<GetThread>) -> Answer {
    let Call { caller, input: GetThread(thread_id), reply, .. } = call;
    let thread = app.threads.get(&caller, &thread_id).await?;
    let forks = match &thread {
        Some(_) => Some(app.snapshots.count_forks(&caller, &thread_id).await?),
        None => None,
    };
    let thread = thread.map(|it| ThreadOut::of(it, app.threads.busy_since())).transpose()?;
    reply.with(&GotThread { thread: thread.map(|it| ThreadOut { forks, ..it }) }).await
}

/// List threads
///
/// Those that the caller may read, if that are more than a few by name. `created` and `thread_id` are stable orders that neither skip nor repeat while others write; `updated`
/// moves.
#[utoipa::path(
    get, path = "/v1/threads", operation_id = "list_threads", tag = "threads",
    params(ThreadsParams),
    responses(
        (status = 200, description = "A page", body = Threads, example = json!({"threads": []})),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn list(State(app): State<Arc<App>>, call: BodylessCall, uri: Uri) -> Answer {
    let query = query_of::<ThreadsParams>(&uri)?.into_domain()?;
    let order = (query.sort, query.ascending);
    let page = app.threads.list(&call.caller, query).await?;
    call.reply.with(&page_of(page, order, app.threads.busy_since())?).await
}

/// Delete a thread
///
/// With everything in it. No error when there is none.
#[utoipa::path(
    post, path = "/v1/threads/delete", operation_id = "delete_thread", tag = "threads",
    request_body(content = DeleteThreadBody, example = json!({"thread_id": "t-1"})),
    responses(
        (status = 200, description = "Deleted, or never there", body = Empty),
        (status = 409, description = "`thread_restored`, `lease_held` or `fence_stale`"),
    ),
)]
pub async fn delete(State(app): State<Arc<App>>, call: Call<DeleteThread>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let is_gone = app.threads.delete(&caller, &input, deadline).await?;
    let values = app.values.of(&caller, &input.thread_id);
    if is_gone {
        values.forget();
    } else {
        values.forget_if_granted();
    }
    reply.done().await
}

/// Copy a thread
///
/// All checkpoints, values and writes, into a thread that is not there or empty. Of a source that is not there, none.
#[utoipa::path(
    post, path = COPY, operation_id = "copy_thread", tag = "threads",
    request_body(content = CopyThreadBody, example = json!({"source_thread_id": "t-1", "target_thread_id": "t-2"})),
    responses(
        (status = 200, description = "Copied", body = Copied, example = json!({"checkpoints": 6})),
        (status = 413, description = "`quota_exceeded`"),
        (status = 409, description = "`thread_exists`, `thread_taken`, `lease_held`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn copy(State(app): State<Arc<App>>, call: Call<CopyThread>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let checkpoints = app.threads.copy(&caller, &input, deadline).await?;
    reply.with(&Copied { checkpoints }).await
}

#[derive(Serialize, ToSchema)]
#[schema(as = Thread)]
pub struct ThreadOut {
    pub thread_id: String,
    /// The id itself where it is a UUID, else the UUID by which clients of the Agent Server wire may name the thread.
    uuid: String,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_step: Option<i64>,
    /// Checkpoints of the root graph with more than one child; absent in listings.
    #[serde(skip_serializing_if = "Option::is_none")]
    forks: Option<i64>,
    pub checkpoint_count: i64,
    /// Before compression and sharing.
    size_bytes: i64,
    generation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assistant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// What was set, else the text in `metadata.title`, else the first human text of the conversation. Absent: none of them is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title_from: Option<TitleFromOut>,
    /// What was set, and what the metadata of checkpoints says under `graph_id`, `assistant_id` and `user_id`.
    #[schema(value_type = Exact<'static>)]
    metadata: ExactOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<TtlOut>,
    /// Of title, metadata and ttl: grows with each change of them, and comes never twice. 0: nothing was ever set.
    version: i64,
    status: StatusParam,
    /// When checkpoints or writes last changed; of a thread without any, when it was made.
    #[schema(format = DateTime)]
    state_updated_at: String,
    /// Where a search asks for it, of threads with checkpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewOut>,
    /// Those of the newest state, where a search asks for them: an object by channel; of a graph with one unnamed value, the value. Absent
    /// without checkpoints, and where they cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub values: Option<Json>,
    /// True: `values` are over 256 KiB, and have the messages that lists show, with texts cut at 4 KiB, and channels up to 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_preview: Option<bool>,
    /// The questions of tasks that have still to run: a list by the id of the task, each an `id` and a `value`. Where a search asks for them,
    /// as `values`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub interrupts: Option<Json>,
}

#[derive(Serialize, ToSchema)]
pub struct GotThread {
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadOut>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ThreadPage)]
pub struct Threads {
    pub threads: Vec<ThreadOut>,
    /// Send it with the same arguments for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Copied {
    checkpoints: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetThread)]
pub struct GetThreadBody {
    thread_id: Text,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteThread)]
pub struct DeleteThreadBody {
    thread_id: Text,
    /// Needed while the thread's lease is held.
    fence: Option<i64>,
    /// What was last read of the thread.
    generation: Option<Text>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CopyThread)]
pub struct CopyThreadBody {
    source_thread_id: Text,
    target_thread_id: Text,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ThreadsParams {
    /// 0-1,000.
    #[param(minimum = 0, default = 100)]
    limit: Option<i64>,
    cursor: Option<String>,
    #[param(inline)]
    sort: Option<SortParam>,
    /// Default: `desc`, for `thread_id` `asc`.
    #[param(inline)]
    order: Option<OrderParam>,
    /// As in the metadata of the thread's checkpoints, like the next two.
    graph_id: Option<String>,
    assistant_id: Option<String>,
    user_id: Option<String>,
    /// Ids that begin with it.
    prefix: Option<String>,
}

pub struct GetThread(ThreadId);

impl ThreadOut {
    /// # Errors
    /// `Integrity` for stored metadata that is no JSON object.
    pub fn of(thread: Thread, busy_since: Micros) -> Result<Self> {
        let status = StatusParam::from(thread.run.status(busy_since));
        let state_updated_at = rfc3339(thread.state_updated_at());
        let metadata = ExactOut(Bytes::from(thread.shown_metadata()?));
        let title = thread.details.shown_title();
        let ttl = thread.details.ttl_of(&thread.thread_id);
        let ttl = ttl.map(|it| TtlOut::of(it, thread.updated_at));
        let (title, title_from) = title.map(|(it, from)| (it.into_owned(), from.into())).unzip();
        Ok(Self {
            uuid: alias(&thread.thread_id),
            thread_id: thread.thread_id,
            created_at: rfc3339(thread.created_at),
            updated_at: rfc3339(thread.updated_at),
            last_step: thread.last_step,
            forks: None,
            checkpoint_count: thread.checkpoint_count,
            size_bytes: thread.size_bytes,
            generation: thread.generation,
            owner: thread.owner,
            graph_id: thread.graph_id,
            assistant_id: thread.assistant_id,
            user_id: thread.user_id,
            title,
            title_from,
            metadata,
            ttl,
            version: thread.details.version,
            status,
            state_updated_at,
            preview: None,
            values: None,
            values_preview: None,
            interrupts: None,
        })
    }
}

/// A page as it is answered.
///
/// # Errors
/// As [`ThreadOut::of`].
pub fn page_of(
    page: ThreadPage,
    (sort, ascending): (ThreadSort, bool),
    busy_since: Micros,
) -> Result<Threads> {
    let shown = page.threads.into_iter().map(|it| ThreadOut::of(it, busy_since));
    let position =
        |it: ThreadCursor| cursor::encode(cursor_kind(sort, ascending), &(it.time, it.thread_id));
    Ok(Threads { threads: shown.collect::<Result<_>>()?, next_cursor: page.next.map(position) })
}

impl Input for GetThread {
    type Wire<'a> = GetThreadBody;

    fn from_wire(wire: GetThreadBody, _: &Received) -> Result<Self> {
        ThreadId::new(wire.thread_id.0).map(Self)
    }
}

impl Input for DeleteThread {
    type Wire<'a> = DeleteThreadBody;

    fn from_wire(wire: DeleteThreadBody, _: &Received) -> Result<Self> {
        Ok(Self {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            generation: wire.generation.map(generation).transpose()?,
            fence: wire.fence,
        })
    }
}

impl Input for CopyThread {
    type Wire<'a> = CopyThreadBody;

    fn from_wire(wire: CopyThreadBody, received: &Received) -> Result<Self> {
        Ok(Self {
            source: thread_id("source_thread_id", wire.source_thread_id.0)?,
            target: thread_id("target_thread_id", wire.target_thread_id.0)?,
            idempotency: received.idempotency(COPY),
            full: None,
        })
    }
}

fn thread_id(field: &str, text: String) -> Result<ThreadId> {
    names::check(field, &text, LIMITS.thread_id_bytes_max, false)?;
    ThreadId::new(text)
}

impl ThreadsParams {
    fn into_domain(self) -> Result<ThreadQuery> {
        let (sort, ascending) = sorted(self.sort, self.order);
        let label = |field: &str, text: Option<String>| match text {
            Some(text) => names::check(field, &text, LIMITS.checkpoint_id_bytes_max, true)
                .map(|()| Some(text)),
            None => Ok(None),
        };
        let after = |text: String| position_of(cursor_kind(sort, ascending), &text);
        if let Some(prefix) = &self.prefix {
            names::check("prefix", prefix, LIMITS.thread_id_bytes_max, true)?;
        }
        Ok(ThreadQuery {
            limit: limit(Some(self.limit.unwrap_or(PAGE_DEFAULT)))?,
            after: self.cursor.map(after).transpose()?,
            sort,
            ascending,
            graph_id: label("graph_id", self.graph_id)?,
            assistant_id: label("assistant_id", self.assistant_id)?,
            user_id: label("user_id", self.user_id)?,
            prefix: self.prefix,
            ..ThreadQuery::default()
        })
    }
}
