//! Serves the history of a thread: its states, newest first, over one shared chain of delta channels.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::call::{AskedPath, JsonCall, PlainCall};
use super::query::list as names_of;
use super::rows::{self, BARE, Rows};
use super::select::Select;
use super::shown_ids::ShownIds;
use super::state::{AgentServerState, CheckpointIn, selected};
use super::state_view::{Rules, StateView};
use super::subgraphs::StateReader;
use crate::app::App;
use crate::decode::Budget;
use crate::domain::caller::Caller;
use crate::domain::checkpoints::checkpoint::{LargeValues, ListQuery, View};
use crate::domain::checkpoints::history::Chain;
use crate::domain::checkpoints::storage::CheckpointTuple;
use crate::domain::json::exact_json;
use crate::domain::limits::LIMITS;
use crate::domain::names::{CheckpointId, CheckpointNs, ThreadId};
use crate::domain::scheduling::cpu_pool;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call, Reply};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::query_fields::Fields;

const LIMIT_OF_QUERY: i64 = 10;
const LIMIT_OF_BODY: i64 = 1;
/// States that are in memory side by side: so many, or of so many bytes.
const TOGETHER: usize = 16;
const TOGETHER_BYTES: u64 = 8 << 20;

/// List states
///
/// Of the root graph, newest first.
#[utoipa::path(
    get, path = "/threads/{thread_id}/history", operation_id = "agent_server_list_states", tag = "agent-server",
    params(
        ("thread_id" = String, Path),
        ("limit" = Option<i64>, Query, description = "1-1,000, default 10"),
        ("before" = Option<String>, Query, description = "Id of a checkpoint: only those before it"),
        ("select" = Option<String>, Query, description = "Fields, or `values.KEY`"),
    ),
    responses(
        (status = 200, description = "States", body = Vec<AgentServerState>),
        (status = 404, description = "`thread_not_found`"), (status = 413, description = "`too_large`"),
    ),
)]
pub async fn get(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    uri: Uri,
    call: PlainCall,
) -> Answer {
    let wanted = HistoryRequest::of_query(&uri)?;
    show(app, call.caller, (path, ids), wanted, call.reply).await
}

/// List states as asked
///
/// Newest first; also of a subgraph, by metadata, or only one.
#[utoipa::path(
    post, path = "/threads/{thread_id}/history", operation_id = "agent_server_find_states", tag = "agent-server",
    params(("thread_id" = String, Path)),
    request_body(content = HistoryBody, example = json!({"limit": 10})),
    responses(
        (status = 200, description = "States", body = Vec<AgentServerState>),
        (status = 404, description = "`thread_not_found`"),
    ),
)]
pub async fn find(
    State(app): State<Arc<App>>,
    path: AskedPath,
    ids: ShownIds,
    call: JsonCall<HistoryRequest>,
) -> Answer {
    let Call { caller, input, reply, .. } = call.0;
    show(app, caller, (path, ids), input, reply).await
}

async fn show(
    app: Arc<App>,
    caller: Caller,
    (path, ids): (AskedPath, ShownIds),
    wanted: HistoryRequest,
    reply: Reply,
) -> Answer {
    let (all, of, wanted) = (&app, &caller, &wanted);
    let read = |thread_id: ThreadId| States::first_page(all, of, (thread_id, ids), wanted);
    let states = path.read((&app, &caller), read).await?;
    rows::list(reply, HeaderMap::new(), BARE, states).await
}

/// What is asked of a history.
#[derive(Clone)]
pub struct HistoryRequest {
    /// Without the thread.
    query: ListQuery,
    select: Select,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerHistoryRequest)]
pub struct HistoryBody<'a> {
    /// 1-1,000, default 1.
    #[schema(minimum = 1, maximum = 1_000)]
    limit: Option<i64>,
    /// Only what is before this checkpoint: its id, or an object with `checkpoint_id`, also inside of `configurable`.
    #[schema(value_type = Option<serde_json::Value>)]
    before: Option<Before>,
    /// An object: states whose metadata contains it.
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// Of a subgraph, or only this one.
    checkpoint: Option<CheckpointIn>,
    /// Fields, or `values.KEY`. Absent or empty: all.
    select: Option<Vec<Text>>,
}

/// A checkpoint in any of the forms in which clients name it.
pub struct Before(Option<Text>);

impl<'de> Deserialize<'de> for Before {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(BeforeVisitor)
    }
}

struct BeforeVisitor;

impl<'de> Visitor<'de> for BeforeVisitor {
    type Value = Before;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a checkpoint, or an object with checkpoint_id")
    }

    fn visit_str<E>(self, id: &str) -> std::result::Result<Before, E> {
        Ok(Before(Some(Text(id.to_owned()))))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Before, A::Error> {
        let named = Named::deserialize(MapAccessDeserializer::new(map))?;
        let inner = named.configurable.and_then(|it| it.checkpoint_id);
        Ok(Before(named.checkpoint_id.or(inner)))
    }
}

#[derive(Deserialize)]
struct Named {
    checkpoint_id: Option<Text>,
    configurable: Option<Configurable>,
}

#[derive(Deserialize)]
struct Configurable {
    checkpoint_id: Option<Text>,
}

impl HistoryRequest {
    fn of_query(uri: &Uri) -> std::result::Result<Self, crate::http::request::problem::Problem> {
        let fields = Fields::with_unknown(uri)?;
        let number = |it: &str| {
            it.parse().map_err(|_| Error::invalid("limit", format!("Invalid limit {it}")))
        };
        let asked = fields.one("limit")?.map(number).transpose()?;
        let before = fields.one("before")?.filter(|it| !it.is_empty());
        let query = ListQuery {
            before: before.map(|it| before_id(it.to_owned())).transpose()?,
            limit: limit(asked.unwrap_or(LIMIT_OF_QUERY))?,
            ..everything()
        };
        Ok(Self { query, select: Select::new(&names_of(&fields, "select")?)? })
    }
}

impl Input for HistoryRequest {
    type Wire<'a> = HistoryBody<'a>;

    fn from_wire(wire: HistoryBody<'_>, _: &Received) -> Result<Self> {
        let at = wire.checkpoint.map(CheckpointIn::into_domain).transpose()?.unwrap_or_default();
        let before = wire.before.and_then(|it| it.0);
        let query = ListQuery {
            ns: Some(at.ns),
            id: at.id,
            before: before.map(|it| before_id(it.0)).transpose()?,
            filter: wire.metadata.as_ref().map(filter).transpose()?,
            limit: limit(wire.limit.unwrap_or(LIMIT_OF_BODY))?,
            ..everything()
        };
        Ok(Self { query, select: selected(wire.select)? })
    }
}

/// Whole checkpoints of the root graph.
fn everything() -> ListQuery {
    ListQuery {
        ns: Some(CheckpointNs::root()),
        values: true,
        large_values: LargeValues::Shown,
        history_channels: Some(Vec::new()),
        ..ListQuery::default()
    }
}

fn before_id(id: String) -> Result<CheckpointId> {
    CheckpointId::new(id).map_err(|error| error.within("before"))
}

fn filter(text: &Exact<'_>) -> Result<serde_json::Value> {
    let wanted = exact_json::read_filter(text.0).map_err(of_metadata)?;
    exact_json::check_wanted("metadata", &wanted)?;
    Ok(wanted)
}

fn of_metadata(error: Error) -> Error {
    match error {
        Error::Invalid { detail, limit, .. } => {
            Error::Invalid { field: "metadata".into(), detail, limit }
        }
        other => other,
    }
}

/// # Errors
/// 422 outside of 1 to 1,000.
pub fn limit(limit: i64) -> Result<usize> {
    let max = LIMITS.list_rows_max;
    let legal = usize::try_from(limit).ok().filter(|it| (1..=max).contains(&(*it as u64)));
    legal.ok_or_else(|| {
        Error::out_of_range("limit", format!("limit must be a whole number from 1 to {max}"), max)
    })
}

/// States that are still to come.
struct States {
    app: Arc<App>,
    caller: Caller,
    thread_id: ThreadId,
    shown_id: String,
    select: Select,
    /// The next page; its limit is what is left.
    query: ListQuery,
    /// No page comes after these views.
    is_last: bool,
    views: VecDeque<View>,
    chain: Chain,
    ready: VecDeque<Vec<u8>>,
}

impl States {
    /// None: there is no such thread.
    async fn first_page(
        app: &Arc<App>,
        caller: &Caller,
        (thread_id, ids): (ThreadId, ShownIds),
        wanted: &HistoryRequest,
    ) -> Result<Option<Self>> {
        let HistoryRequest { query, select } = wanted.clone();
        let wanted = select.channels();
        let mut states = Self {
            app: app.clone(),
            caller: caller.clone(),
            shown_id: ids.of(thread_id.as_str()),
            select,
            query: ListQuery { thread_id: Some(thread_id.clone()), wanted, ..query },
            thread_id,
            is_last: false,
            views: VecDeque::new(),
            chain: Chain::default(),
            ready: VecDeque::new(),
        };
        states.read_page().await?;
        let is_empty = states.views.is_empty() && states.is_last;
        if is_empty && app.threads.get(caller, &states.thread_id).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(states))
    }

    async fn read_page(&mut self) -> Result<()> {
        let page = self.app.checkpoints.list(&self.caller, self.query.clone()).await?;
        self.query.limit -= page.views.len().min(self.query.limit);
        self.is_last = page.next.is_none() || self.query.limit == 0;
        self.query.after = page.next;
        self.views = page.views.into();
        self.chain = page.chain;
        Ok(())
    }

    /// Shows the next views, as many as may be in memory.
    async fn show_some(&mut self) -> Result<()> {
        let (mut views, chain) = (std::mem::take(&mut self.views), std::mem::take(&mut self.chain));
        let (shown_id, select) = (self.shown_id.clone(), self.select.clone());
        // The bytes of a page are bounded, what they are replayed from is not.
        let size = cpu_pool::INLINE_BYTES_MAX + 1;
        let shown = cpu_pool::run_sized(&self.caller.tenant, size, move || {
            let (mut states, mut left, mut chain) = (Vec::new(), TOGETHER_BYTES, chain);
            while states.len() < TOGETHER && left > 0 {
                let Some(view) = views.pop_front() else { break };
                let mut found = with_history(view, chain);
                let mut budget = Budget::new(LIMITS.display_bytes_max);
                let of = (&shown_id, &select);
                let state = StateView::of(&found, of.0, of.1, Rules::Pinned, &mut budget);
                chain = std::mem::take(&mut found.chain);
                states.push(state?);
                left = left.saturating_sub(LIMITS.display_bytes_max - budget.left());
            }
            Ok::<_, Error>((states, views, chain))
        });
        let (mut states, views, chain) = shown.await??;
        (self.views, self.chain) = (views, chain);
        let ns = self.query.ns.as_ref().map_or("", CheckpointNs::as_str);
        let reader = StateReader {
            app: &self.app,
            caller: &self.caller,
            thread_id: &self.thread_id,
            shown_id: &self.shown_id,
        };
        reader.refer_to_subgraphs(&mut states, ns).await?;
        for state in states {
            self.ready.push_back(state.json()?);
        }
        Ok(())
    }
}

/// A checkpoint of a page, which has a chain for all of its checkpoints.
fn with_history(view: View, chain: Chain) -> CheckpointTuple {
    let based = view.bases.iter().map(|it| it.channel.clone());
    let mut history_channels: Vec<String> =
        based.chain(view.delta_channels.iter().cloned()).collect();
    history_channels.sort();
    history_channels.dedup();
    CheckpointTuple { generation: None, history_channels, chain, view: Some(view) }
}

#[async_trait]
impl Rows for States {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Some(row));
            }
            if !self.views.is_empty() {
                self.show_some().await?;
            } else if self.is_last {
                return Ok(None);
            } else {
                self.read_page().await?;
            }
        }
    }
}
