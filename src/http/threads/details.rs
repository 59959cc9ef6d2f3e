//! Serves `/v1/threads`: `create`, `update`, `search` and `count`, by what people set of a thread.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::handlers::{PAGE_DEFAULT, ThreadOut, Threads, page_of};
use super::order::{OrderParam, SortParam, cursor_kind, position_of, sorted};
use super::preview::{INCLUDED_MAX, Included, PartParam};
use super::shown_state::shown_parts;
use super::status::StatusParam;
use super::ttl::TtlBody;
use super::values::{self, ValuesFilter, find};
use crate::app::App;
use crate::domain::Result;
use crate::domain::limits::LIMITS;
use crate::domain::names::at_most;
use crate::domain::names::{self, ThreadId};
use crate::domain::threads::details::{
    Change, METADATA, NewThread, UpdateThread, check_metadata, check_title,
};
use crate::domain::threads::details_filter::{DetailsFilter, Words, contained};
use crate::domain::threads::run_state::{STATUSES_MAX, Status};
use crate::domain::threads::thread::{ThreadQuery, TimeRange};
use crate::domain::threads::ttl::Ttl;
use crate::domain::time::parse_rfc3339;
use crate::http::request::call::{Answer, Call};
use crate::http::request::cursor::limit;
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::store::wire::version;

const CREATE: &str = "/v1/threads/create";
const UPDATE: &str = "/v1/threads/update";

/// Create a thread
///
/// Without checkpoints; its first commit keeps id, title and metadata. Where the thread is there, it is answered as it is. The caller has to be
/// able to read it, too. Without `thread_id` it gets a new UUID, behind the prefix of a caller who may only write below one.
#[utoipa::path(
    post, path = CREATE, operation_id = "create_thread", tag = "threads",
    request_body(content = CreateThreadBody, example = json!({"thread_id": "t-1", "title": "Trip to Rome",
        "metadata": {"customer": "acme"}})),
    responses(
        (status = 200, description = "The thread, and whether it was made now", body = CreatedThread),
        (status = 409, description = "`thread_taken`"),
        (status = 413, description = "`quota_exceeded`, `too_large`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn create(State(app): State<Arc<App>>, call: Call<NewThread>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let (thread, created) = app.threads.create(&caller, input, deadline).await?;
    let thread = ThreadOut::of(thread, app.threads.busy_since())?;
    reply.with(&CreatedThread { thread, created }).await
}

/// Update a thread
///
/// Its title, metadata and ttl. A request without a change moves `updated_at`.
#[utoipa::path(
    post, path = UPDATE, operation_id = "update_thread", tag = "threads",
    request_body(content = UpdateThreadBody, example = json!({"thread_id": "t-1", "metadata": {"state": "done"}})),
    responses(
        (status = 200, description = "The thread as it is now", body = UpdatedThread),
        (status = 404, description = "`thread_not_found`"),
        (status = 409, description = "`version_conflict`"),
        (status = 413, description = "`too_large`"),
        (status = 422, description = "`invalid`, `idempotency_mismatch`"),
    ),
)]
pub async fn update(State(app): State<Arc<App>>, call: Call<UpdateThread>) -> Answer {
    let Call { caller, deadline, input, reply } = call;
    let thread = app.threads.update(&caller, &input, deadline).await?;
    reply.with(&UpdatedThread { thread: ThreadOut::of(thread, app.threads.busy_since())? }).await
}

/// Search threads
///
/// Those that meet all conditions, as far as the caller may read them. `created` and `thread_id` are stable orders that neither skip nor repeat
/// while others write; the others move.
#[utoipa::path(
    post, path = "/v1/threads/search", operation_id = "search_threads", tag = "threads",
    request_body(content = SearchThreadsBody, example = json!({"metadata": {"customer": "acme"}, "limit": 20})),
    responses(
        (status = 200, description = "A page", body = Threads, example = json!({"threads": []})),
        (status = 422, description = "`search_too_wide`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn search(State(app): State<Arc<App>>, call: Call<SearchThreads>) -> Answer {
    let Call { caller, input: SearchThreads { query, values, included }, reply, .. } = call;
    let query = ThreadQuery { busy_since: app.threads.busy_since(), ..query };
    let mut page = find(&app, &caller, query.clone(), &values).await?;
    let parts = if included == Included::default() {
        Vec::new()
    } else {
        shown_parts(&app, &caller, (&mut page, &query), included).await?
    };
    let mut page = page_of(page, (query.sort, query.ascending), query.busy_since)?;
    for (thread, parts) in page.threads.iter_mut().zip(parts) {
        parts.put_into(thread);
    }
    reply.with(&page).await
}

/// Count threads
///
/// Those that meet all conditions, as far as the caller may read them.
#[utoipa::path(
    post, path = "/v1/threads/count", operation_id = "count_threads", tag = "threads",
    request_body(content = CountThreadsBody, example = json!({"metadata": {"customer": "acme"}})),
    responses(
        (status = 200, description = "How many", body = ThreadCount, example = json!({"count": 12})),
        (status = 422, description = "`search_too_wide`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn count(State(app): State<Arc<App>>, call: Call<CountThreads>) -> Answer {
    let Call { caller, input: CountThreads(query, values), reply, .. } = call;
    let count = values::count(&app, &caller, query, &values).await?;
    reply.with(&ThreadCount { count }).await
}

#[derive(Serialize, ToSchema)]
pub struct CreatedThread {
    thread: ThreadOut,
    /// False: it was there.
    created: bool,
}

#[derive(Serialize, ToSchema)]
pub struct UpdatedThread {
    thread: ThreadOut,
}

#[derive(Serialize, ToSchema)]
pub struct ThreadCount {
    count: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateThread)]
pub struct CreateThreadBody<'a> {
    thread_id: Option<Text>,
    /// At most 1,024 bytes.
    title: Option<Text>,
    /// A JSON object of at most 65,536 bytes.
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// What becomes of the thread when nobody changes it for so long. The caller has to be able to delete it.
    ttl: Option<TtlBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateThread)]
pub struct UpdateThreadBody<'a> {
    thread_id: Text,
    /// At most 1,024 bytes; null takes it away, so that the thread shows the text in `metadata.title` or its first message.
    #[serde(default, deserialize_with = "change")]
    #[schema(value_type = Option<String>)]
    title: Change<Text>,
    /// A JSON object: its fields take the place of those of the same names, the others stay. All together take at most 65,536 bytes.
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// True: no other field stays. Default false.
    replace_metadata: Option<bool>,
    /// Takes the place of the one that is set; null takes it away. The caller has to be able to delete the thread.
    #[serde(default, deserialize_with = "change")]
    #[schema(value_type = Option<TtlBody>)]
    ttl: Change<TtlBody>,
    /// The version that the thread must have; 0 where nothing was ever set.
    #[schema(minimum = 0)]
    if_version: Option<i64>,
}

/// Declares the body of an operation that has conditions on threads, with the fields that only this one has behind them.
macro_rules! with_conditions {
    ($(#[$about:meta])* $body:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$about])*
        pub struct $body<'a> {
            /// At most 1,000.
            ids: Option<Vec<Text>>,
            /// Ids that begin with it.
            prefix: Option<Text>,
            /// An object: threads whose metadata contains it. Objects are contained field by field, lists and all else as a whole.
            #[serde(borrow)]
            metadata: Option<Exact<'a>>,
            /// An object: threads whose newest state contains it in its values, in the same way. An index has texts up to 256 bytes, numbers,
            /// booleans and null; for other values each thread that meets the other conditions is opened, at most 10,000.
            #[serde(borrow)]
            values: Option<Exact<'a>>,
            /// Part of the title, in small or large letters, or the beginning of the id.
            q: Option<Text>,
            /// As in the metadata of the thread's checkpoints, like the next two.
            graph_id: Option<Text>,
            assistant_id: Option<Text>,
            user_id: Option<Text>,
            owner: Option<Text>,
            /// From this time on.
            #[schema(format = DateTime)]
            created_after: Option<Text>,
            /// Before this time.
            #[schema(format = DateTime)]
            created_before: Option<Text>,
            #[schema(format = DateTime)]
            updated_after: Option<Text>,
            #[schema(format = DateTime)]
            updated_before: Option<Text>,
            /// Threads that stand as one of these.
            status: Option<Vec<StatusParam>>,
            $($(#[$meta])* $field: $type,)*
        }

        impl $body<'_> {
            fn conditions(&mut self) -> Result<ThreadQuery> {
                let label = |field: &str, text: &mut Option<Text>| {
                    name(field, LIMITS.checkpoint_id_bytes_max, text.take())
                };
                let time = |field: &str, text: &mut Option<Text>| {
                    text.take().map(|it| parse_rfc3339(field, &it.0)).transpose()
                };
                let metadata = self.metadata.take().map(|it| contained(METADATA, it.0));
                let words = self.q.take().map(|it| Words::new(it.0));
                Ok(ThreadQuery {
                    ids: self.ids.take().map(thread_ids).transpose()?,
                    prefix: name("prefix", LIMITS.thread_id_bytes_max, self.prefix.take())?,
                    graph_id: label("graph_id", &mut self.graph_id)?,
                    assistant_id: label("assistant_id", &mut self.assistant_id)?,
                    user_id: label("user_id", &mut self.user_id)?,
                    owner: label("owner", &mut self.owner)?,
                    created: TimeRange {
                        after: time("created_after", &mut self.created_after)?,
                        before: time("created_before", &mut self.created_before)?,
                    },
                    updated: TimeRange {
                        after: time("updated_after", &mut self.updated_after)?,
                        before: time("updated_before", &mut self.updated_before)?,
                    },
                    details: DetailsFilter {
                        metadata: metadata.transpose()?.unwrap_or_default(),
                        words: words.transpose()?, ..DetailsFilter::default() },
                    statuses: statuses(self.status.take())?,
                    ..ThreadQuery::default()
                })
            }
        }
    };
}

with_conditions! {
    #[schema(as = CountThreads)]
    CountThreadsBody {}
}

with_conditions! {
    #[schema(as = SearchThreads)]
    SearchThreadsBody {
        sort: Option<SortParam>,
        /// Default: `desc`, for `thread_id` `asc`.
        order: Option<OrderParam>,
        /// Default 100; at most 1,000, and about 4 MiB of metadata come at one time.
        #[schema(minimum = 0)]
        limit: Option<i64>,
        /// `next_cursor` of the page before, with the same arguments.
        cursor: Option<Text>,
        /// What else comes with each thread that has checkpoints. Each thread's newest checkpoint is read for it. Values come whole up to 256 KiB
        /// a thread, larger ones with `values_preview`; a page ends when its values and interrupts have 8 MiB, and `next_cursor` goes on.
        include: Option<Vec<PartParam>>,
    }
}

pub struct SearchThreads {
    query: ThreadQuery,
    values: ValuesFilter,
    included: Included,
}

pub struct CountThreads(ThreadQuery, ValuesFilter);

impl Input for NewThread {
    type Wire<'a> = CreateThreadBody<'a>;

    fn from_wire(wire: CreateThreadBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            thread_id: wire.thread_id.map(|it| ThreadId::new(it.0)).transpose()?,
            title: wire.title.map(title).transpose()?,
            metadata: wire.metadata.map(|it| metadata(&it)).transpose()?,
            ttl: wire.ttl.map(Ttl::try_from).transpose()?,
            idempotency: received.idempotency(CREATE),
        })
    }
}

impl Input for UpdateThread {
    type Wire<'a> = UpdateThreadBody<'a>;

    fn from_wire(wire: UpdateThreadBody<'_>, received: &Received) -> Result<Self> {
        Ok(Self {
            thread_id: ThreadId::new(wire.thread_id.0)?,
            title: wire.title.try_map(title)?,
            metadata: wire.metadata.map(|it| metadata(&it)).transpose()?,
            replace_metadata: wire.replace_metadata.unwrap_or(false),
            ttl: wire.ttl.try_map(Ttl::try_from)?,
            if_version: wire.if_version.map(version).transpose()?,
            idempotency: received.idempotency(UPDATE),
        })
    }
}

impl Input for CountThreads {
    type Wire<'a> = CountThreadsBody<'a>;

    fn from_wire(mut wire: CountThreadsBody<'_>, _: &Received) -> Result<Self> {
        let values = ValuesFilter::read(wire.values.take())?;
        Ok(Self(wire.conditions()?, values))
    }
}

impl Input for SearchThreads {
    type Wire<'a> = SearchThreadsBody<'a>;

    fn from_wire(mut wire: SearchThreadsBody<'_>, _: &Received) -> Result<Self> {
        let (sort, ascending) = sorted(wire.sort, wire.order);
        let after = wire.cursor.take();
        let after = after.map(|it| position_of(cursor_kind(sort, ascending), &it.0)).transpose()?;
        let limit = limit(Some(wire.limit.unwrap_or(PAGE_DEFAULT)))?;
        let included = wire.include.take().unwrap_or_default();
        at_most("include", included.len(), INCLUDED_MAX)?;
        let values = ValuesFilter::read(wire.values.take())?;
        let query = ThreadQuery { limit, after, sort, ascending, ..wire.conditions()? };
        Ok(Self { query, values, included: Included::of(&included) })
    }
}

fn thread_ids(ids: Vec<Text>) -> Result<Vec<String>> {
    at_most("ids", ids.len(), LIMITS.ids_per_request_max)?;
    let id = |it: Text| ThreadId::new(it.0).map_err(|error| error.within("ids"));
    ids.into_iter().map(|it| id(it).map(ThreadId::into_string)).collect()
}

fn statuses(all: Option<Vec<StatusParam>>) -> Result<Vec<Status>> {
    let all = all.unwrap_or_default();
    at_most("status", all.len(), STATUSES_MAX)?;
    Ok(all.into_iter().map(Status::from).collect())
}

fn name(field: &str, bytes_max: u64, text: Option<Text>) -> Result<Option<String>> {
    let Some(Text(text)) = text else { return Ok(None) };
    names::check(field, &text, bytes_max, true)?;
    Ok(Some(text))
}

fn title(Text(title): Text) -> Result<String> {
    check_title(&title).map(|()| title)
}

fn metadata(text: &Exact<'_>) -> Result<String> {
    check_metadata(text.0)?;
    Ok(String::from_utf8_lossy(text.0).into_owned())
}

/// Of a field that is there.
fn change<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Change<T>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Change::from)
}
