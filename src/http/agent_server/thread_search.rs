//! Serves searches of threads, their count, and the removal of many.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use utoipa::ToSchema;

use super::call::JsonCall;
use super::extract::Extract;
use super::history::limit;
use super::rows::{BARE, Rows, list};
use super::select::selected;
use super::shown_ids::ShownIds;
use super::thread_view::{AgentServerThread, FIELDS, ThreadFields, ThreadView};
use crate::app::App;
use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::limits::LIMITS;
use crate::domain::names::{ThreadId, at_most};
use crate::domain::threads::details::METADATA;
use crate::domain::threads::details_filter::{DetailsFilter, contained};
use crate::domain::threads::thread::{Thread, ThreadQuery, ThreadSort, TimeRange};
use crate::domain::time::parse_rfc3339;
use crate::http::request::by_name::by_name;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::problem::{Code, Problem};
use crate::http::store::wire::offset;
use crate::http::threads::short_values::PAGE_BYTES_MAX;
use crate::http::threads::status::StatusParam;
use crate::http::threads::values::{self, ValuesFilter, find};

const ROWS: i64 = 10;

/// Search threads
///
/// Those that meet all conditions, as far as the caller may read them. Large values come as a preview, with `values_preview`. `X-Pagination-Total`
/// is one more than what was passed over and shown where there are more, and `X-Pagination-Next` the offset of the next page.
#[utoipa::path(
    post, path = "/threads/search", operation_id = "agent_server_search_threads", tag = "agent-server",
    request_body(content = SearchBody, example = json!({"metadata": {"customer": "acme"}, "limit": 20, "sort_by": "updated_at"})),
    responses(
        (status = 200, description = "Threads", body = Vec<AgentServerThread>),
        (status = 400, description = "`bad_request`"), (status = 422, description = "`search_too_wide`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn search(
    State(app): State<Arc<App>>,
    ids: ShownIds,
    call: JsonCall<SearchThreads>,
) -> Answer {
    let Call { caller, input: SearchThreads { conditions, values, fields }, reply, .. } = call.0;
    let mut query = resolved(&app, &caller, conditions?).await?;
    let fields = ThreadFields { ids, ..fields };
    let (wanted, passed) = (query.limit, query.offset);
    let mut threads = VecDeque::new();
    loop {
        query.limit = wanted - threads.len();
        let page = find(&app, &caller, query.clone(), &values).await?;
        threads.extend(page.threads);
        (query.after, query.offset) = (page.next, 0);
        if query.after.is_none() || threads.len() >= wanted {
            break;
        }
    }
    let mut headers = HeaderMap::new();
    let (shown, has_more) = (passed + threads.len(), query.after.is_some());
    headers.insert("x-pagination-total", (shown + usize::from(has_more)).into());
    if has_more {
        headers.insert("x-pagination-next", shown.into());
    }
    let rows = Threads { app, caller, left: threads, fields, left_bytes: PAGE_BYTES_MAX };
    list(reply, headers, BARE, rows).await
}

/// Count threads
///
/// Those that meet all conditions, as far as the caller may read them.
#[utoipa::path(
    post, path = "/threads/count", operation_id = "agent_server_count_threads", tag = "agent-server",
    request_body(content = CountBody, example = json!({"metadata": {"customer": "acme"}})),
    responses(
        (status = 200, description = "How many", body = u64, content_type = "application/json", example = json!(12)),
        (status = 400, description = "`bad_request`"), (status = 422, description = "`search_too_wide`"),
        (status = 503, description = "`threads_indexing`"),
    ),
)]
pub async fn count(State(app): State<Arc<App>>, call: JsonCall<CountThreads>) -> Answer {
    let Call { caller, input: CountThreads(conditions, values), reply, .. } = call.0;
    let query = resolved(&app, &caller, conditions?).await?;
    reply.with(&values::count(&app, &caller, query, &values).await?).await
}

/// Ids may be aliases, and threads without a graph count as of the default one.
async fn resolved(app: &App, caller: &Caller, mut query: ThreadQuery) -> Result<ThreadQuery> {
    query.details.default_graph.clone_from(&app.agent_server.default_graph);
    if let Some(ids) = query.ids.take() {
        let ids = ids.into_iter().map(ThreadId::new).collect::<Result<_>>()?;
        let ids = app.threads.resolve(caller, ids).await?;
        query.ids = Some(ids.into_iter().map(ThreadId::into_string).collect());
    }
    Ok(query)
}

macro_rules! with_conditions {
    ($(#[$about:meta])* $body:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Deserialize, ToSchema)]
        $(#[$about])*
        pub struct $body<'a> {
            /// At most 1,000. Absent or empty: no condition.
            ids: Option<Vec<Text>>,
            /// An object that the metadata contains: objects field by field, lists and all else as a whole.
            #[serde(borrow)]
            metadata: Option<Exact<'a>>,
            /// An object that the values of the newest state contain, in the same way. An index has texts up to 256 bytes, numbers, booleans
            /// and null; for other values each thread that meets the other conditions is opened, at most 10,000.
            #[serde(borrow)]
            values: Option<Exact<'a>>,
            status: Option<StatusParam>,
            /// From this time on.
            created_after: Option<Text>,
            created_before: Option<Text>,
            updated_after: Option<Text>,
            updated_before: Option<Text>,
            $($(#[$meta])* $field: $type,)*
        }

        impl $body<'_> {
            fn conditions(&mut self) -> Result<Conditions> {
                let time = |field: &str, text: &mut Option<Text>| {
                    text.take().map(|it| parse_rfc3339(field, &it.0)).transpose()
                };
                let metadata = self.metadata.take().map(|it| contained(METADATA, it.0)).transpose()?;
                let ids = match thread_ids(self.ids.take().unwrap_or_default())? {
                    Ok(ids) => ids,
                    Err(problem) => return Ok(Err(problem)),
                };
                Ok(Ok(ThreadQuery {
                    ids: (!ids.is_empty()).then_some(ids),
                    created: TimeRange {
                        after: time("created_after", &mut self.created_after)?,
                        before: time("created_before", &mut self.created_before)?,
                    },
                    updated: TimeRange {
                        after: time("updated_after", &mut self.updated_after)?,
                        before: time("updated_before", &mut self.updated_before)?,
                    },
                    details: DetailsFilter { metadata: metadata.unwrap_or_default(), ..DetailsFilter::default() },
                    statuses: self.status.take().map(Into::into).into_iter().collect(),
                    ..ThreadQuery::default()
                }))
            }
        }
    };
}

with_conditions! {
    #[schema(as = AgentServerCountThreads)]
    CountBody {}
}

with_conditions! {
    #[schema(as = AgentServerSearchThreads)]
    SearchBody {
        /// 1-1,000, default 10.
        #[schema(minimum = 1, maximum = 1_000)]
        limit: Option<i64>,
        #[schema(minimum = 0, maximum = 1_000_000)]
        offset: Option<i64>,
        /// Default `updated_at`.
        sort_by: Option<SortBy>,
        /// Default `desc`.
        sort_order: Option<SortDirection>,
        /// Fields of the threads. Absent or empty: all.
        select: Option<Vec<Text>>,
        /// An object: paths by names of the answer's own, such as `values.messages[-1].content`; at most 10.
        #[schema(value_type = Option<serde_json::Value>)]
        extract: Option<BTreeMap<String, String>>,
    }
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = AgentServerSortBy)]
pub enum SortBy {
    ThreadId,
    Status,
    CreatedAt,
    UpdatedAt,
    StateUpdatedAt,
}

by_name!(SortBy);

#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = AgentServerSortOrder)]
pub enum SortDirection {
    Asc,
    Desc,
}

by_name!(SortDirection);

/// An id that is none is 400 here.
type Conditions = Result<ThreadQuery, Problem>;

pub struct SearchThreads {
    conditions: Conditions,
    values: ValuesFilter,
    fields: ThreadFields,
}

pub struct CountThreads(Conditions, ValuesFilter);

impl Input for CountThreads {
    type Wire<'a> = CountBody<'a>;

    fn from_wire(mut wire: CountBody<'_>, _: &Received) -> Result<Self> {
        let values = ValuesFilter::read(wire.values.take())?;
        Ok(Self(wire.conditions()?, values))
    }
}

impl Input for SearchThreads {
    type Wire<'a> = SearchBody<'a>;

    fn from_wire(mut wire: SearchBody<'_>, _: &Received) -> Result<Self> {
        let sort = match wire.sort_by {
            None | Some(SortBy::UpdatedAt) => ThreadSort::Updated,
            Some(SortBy::CreatedAt) => ThreadSort::Created,
            Some(SortBy::StateUpdatedAt) => ThreadSort::StateUpdated,
            Some(SortBy::Status) => ThreadSort::Status,
            Some(SortBy::ThreadId) => ThreadSort::ThreadId,
        };
        let fields = ThreadFields {
            names: selected(wire.select.take().unwrap_or_default(), &FIELDS)?,
            extract: extracts(wire.extract.take().unwrap_or_default())?,
            shortens: true,
            ..ThreadFields::default()
        };
        let (limit, offset) = (limit(wire.limit.unwrap_or(ROWS))?, offset(wire.offset)?);
        let ascending = wire.sort_order == Some(SortDirection::Asc);
        let values = ValuesFilter::read(wire.values.take())?;
        let conditions = wire.conditions()?;
        let conditions = conditions.map(|it| ThreadQuery { limit, offset, sort, ascending, ..it });
        Ok(Self { conditions, values, fields })
    }
}

fn thread_ids(ids: Vec<Text>) -> Result<std::result::Result<Vec<String>, Problem>> {
    at_most("ids", ids.len(), LIMITS.ids_per_request_max)?;
    let mut all = Vec::with_capacity(ids.len());
    for Text(id) in ids {
        match ThreadId::new(id) {
            Ok(id) => all.push(id.into_string()),
            Err(error) => {
                let detail = format!("Invalid thread ID: {error}");
                return Ok(Err(Problem::new(Code::BadRequest, detail).at("ids")));
            }
        }
    }
    Ok(Ok(all))
}

fn extracts(paths: BTreeMap<String, String>) -> Result<Vec<Extract>> {
    at_most("extract", paths.len(), LIMITS.extracts_max)?;
    paths.into_iter().map(|(alias, path)| Extract::new(alias, &path)).collect()
}

/// Threads that are still to be shown.
struct Threads {
    app: Arc<App>,
    caller: Caller,
    left: VecDeque<Thread>,
    fields: ThreadFields,
    /// Of whole values.
    left_bytes: usize,
}

#[async_trait]
impl Rows for Threads {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(thread) = self.left.pop_front() else { return Ok(None) };
        let view = ThreadView::of(&self.app, &self.caller, thread, &self.fields).await?;
        let row = view.json(self.left_bytes)?;
        self.left_bytes = self.left_bytes.saturating_sub(row.len());
        Ok(Some(row))
    }
}

/// Distinct ids, in their order.
pub fn distinct(ids: Vec<ThreadId>) -> Vec<ThreadId> {
    let mut seen = HashSet::new();
    ids.into_iter().filter(|it| seen.insert(it.clone())).collect()
}
