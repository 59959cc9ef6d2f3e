//! Serves assistants, which are derived: one for each graph that the caller's threads name or the server was told, and one for each
//! assistant that threads name beside it. Nothing is stored.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::IntoResponse as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::call::{JsonCall, OptionalJsonCall, PlainCall};
use super::history::limit;
use super::runs::needs_graph;
use super::select::{ASSISTANT_FIELDS, selected};
use crate::app::{AgentServer, App};
use crate::domain::caller::Caller;
use crate::domain::json::exact_json;
use crate::domain::json::filter::Filter;
use crate::domain::threads::details::METADATA;
use crate::domain::threads::details_filter::contained;
use crate::domain::threads::graphs::{Graph, assistant_id};
use crate::domain::time::rfc3339_with_offset;
use crate::domain::{Error, Result};
use crate::http::request::by_name::by_name;
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::path_ids::PathIds;
use crate::http::request::problem::{Code, Problem};
use crate::http::store::wire::offset;

const ROWS: i64 = 10;
const GRAPH: &str = "threadkeep keeps threads and has no graph: ask the process that has it";
/// Of assistants that nobody made.
const OF_SYSTEM: &str = r#"{"created_by":"system"}"#;

/// Search assistants
///
/// One for each graph that the checkpoints of the caller's threads name, that was set on one of the newest 1,000 threads or that the server was
/// told, and one for each assistant that threads name beside it. At most 10,000.
#[utoipa::path(
    post, path = "/assistants/search", operation_id = "agent_server_search_assistants", tag = "agent-server",
    request_body(content = SearchBody, example = json!({"graph_id": "agent", "limit": 10})),
    responses((status = 200, description = "Assistants", body = Vec<AgentServerAssistant>)),
)]
pub async fn search(State(app): State<Arc<App>>, call: JsonCall<SearchAssistants>) -> Answer {
    let Call { caller, input, reply, .. } = call.0;
    let mut found = assistants(&app, &caller).await?;
    found.retain(|it| input.matches(it));
    found.sort_by_key(|it| input.order.key(it));
    if !input.ascending {
        found.reverse();
    }
    let end = input.offset.saturating_add(input.limit);
    let mut headers = HeaderMap::new();
    let total = found.len().min(end).max(input.offset) + usize::from(found.len() > end);
    headers.insert("x-pagination-total", HeaderValue::from(total));
    if found.len() > end {
        headers.insert("x-pagination-next", HeaderValue::from(end));
    }
    let page = found.into_iter().skip(input.offset).take(input.limit);
    let page = page.map(|it| it.with(input.fields.as_deref())).collect::<Result<Vec<_>>>()?;
    Ok((headers, reply.with(&page).await?).into_response())
}

/// Count assistants
#[utoipa::path(
    post, path = "/assistants/count", operation_id = "agent_server_count_assistants", tag = "agent-server",
    request_body(content = SearchBody, example = json!({"graph_id": "agent"})),
    responses((status = 200, description = "How many", body = u64, content_type = "application/json", example = json!(1))),
)]
pub async fn count(State(app): State<Arc<App>>, call: JsonCall<SearchAssistants>) -> Answer {
    let Call { caller, input, reply, .. } = call.0;
    let found = assistants(&app, &caller).await?;
    reply.with(&found.iter().filter(|it| input.matches(it)).count()).await
}

/// Get an assistant
///
/// By its id, or by the name of its graph.
#[utoipa::path(
    get, path = "/assistants/{assistant_id}", operation_id = "agent_server_get_assistant", tag = "agent-server",
    params(("assistant_id" = String, Path)),
    responses(
        (status = 200, description = "The assistant", body = AgentServerAssistant, example = json!({
            "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "graph_id": "agent", "name": "agent", "description": null,
            "config": {}, "context": {}, "metadata": {"created_by": "system"}, "version": 1,
            "created_at": "2026-01-31T12:00:00.000000+00:00", "updated_at": "2026-01-31T12:00:09.000000+00:00"
        })),
        (status = 404, description = "`assistant_not_found`"),
    ),
)]
pub async fn get(State(app): State<Arc<App>>, ids: PathIds, call: PlainCall) -> Answer {
    let found = find(&app, &call.caller, &ids).await?;
    call.reply.with(&found).await
}

/// List the versions of an assistant
///
/// There is one.
#[utoipa::path(
    post, path = "/assistants/{assistant_id}/versions", operation_id = "agent_server_list_assistant_versions", tag = "agent-server",
    params(("assistant_id" = String, Path)), request_body(content = VersionsBody, example = json!({"limit": 10})),
    responses(
        (status = 200, description = "The assistant", body = Vec<AgentServerAssistant>, example = json!([{
            "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "graph_id": "agent", "name": "agent", "description": null,
            "config": {}, "context": {}, "metadata": {"created_by": "system"}, "version": 1,
            "created_at": "2026-01-31T12:00:00.000000+00:00"
        }])),
        (status = 404, description = "`assistant_not_found`"),
    ),
)]
pub async fn list_versions(
    State(app): State<Arc<App>>,
    ids: PathIds,
    call: OptionalJsonCall<ListVersions>,
) -> Answer {
    let Call { caller, input, reply, .. } = call.0;
    let found = find(&app, &caller, &ids).await?;
    let is_asked = input.offset == 0 && has_all(&found, &input.metadata);
    let version = AgentServerAssistant { updated_at: None, ..found };
    reply.with(&is_asked.then_some(version).as_slice()).await
}

/// Get the schemas of an assistant
///
/// They are the graph's, so each is null.
#[utoipa::path(
    get, path = "/assistants/{assistant_id}/schemas", operation_id = "agent_server_get_schemas", tag = "agent-server",
    params(("assistant_id" = String, Path)),
    responses(
        (status = 200, description = "None", body = AgentServerSchemas, example = json!({
            "graph_id": "agent", "input_schema": null, "output_schema": null, "state_schema": null, "config_schema": null,
            "context_schema": null
        })),
        (status = 404, description = "`assistant_not_found`"),
    ),
)]
pub async fn get_schemas(State(app): State<Arc<App>>, ids: PathIds, call: PlainCall) -> Answer {
    let graph_id = find(&app, &call.caller, &ids).await?.graph_id;
    call.reply.with(&AgentServerSchemas { graph_id, ..AgentServerSchemas::default() }).await
}

/// Refuses what only the graph can tell of an assistant.
macro_rules! refuse_of_assistant {
    ($($name:ident $method:ident $path:literal $id:literal $summary:literal [$($more:tt)*];)*) => { $(
        #[doc = $summary]
        ///
        /// Always refused: there is no graph here.
        #[utoipa::path(
            $method, path = $path, operation_id = $id, tag = "agent-server",
            params(("assistant_id" = String, Path) $($more)*),
            responses(
                (status = 204, description = "Not answered: there is no graph here"),
                (status = 404, description = "`assistant_not_found`"), (status = 422, description = "`needs_graph`"),
            ),
        )]
        pub async fn $name(State(app): State<Arc<App>>, ids: PathIds, call: PlainCall) -> Answer {
            find(&app, &call.caller, &ids).await?;
            Err(needs_graph(GRAPH))
        }
    )* };
}

refuse_of_assistant! {
    get_graph get "/assistants/{assistant_id}/graph" "agent_server_get_graph" "Get the graph of an assistant" [];
    get_subgraphs get "/assistants/{assistant_id}/subgraphs" "agent_server_get_subgraphs" "Get the subgraphs of an assistant" [];
    get_subgraph get "/assistants/{assistant_id}/subgraphs/{namespace}" "agent_server_get_subgraph" "Get a subgraph of an assistant"
        [, ("namespace" = String, Path)];
    update patch "/assistants/{assistant_id}" "agent_server_update_assistant" "Update an assistant" [];
    delete delete "/assistants/{assistant_id}" "agent_server_delete_assistant" "Delete an assistant" [];
    set_latest post "/assistants/{assistant_id}/latest" "agent_server_restore_assistant" "Set the version of an assistant" [];
}

/// Create an assistant
///
/// Always refused: assistants are derived from threads.
#[utoipa::path(
    post, path = "/assistants", operation_id = "agent_server_create_assistant", tag = "agent-server",
    responses(
        (status = 204, description = "Not answered: there is no graph here"),
        (status = 422, description = "`needs_graph`"),
    ),
)]
pub async fn create(_call: PlainCall) -> Answer {
    Err(needs_graph(GRAPH))
}

async fn assistants(app: &App, caller: &Caller) -> Result<Vec<AgentServerAssistant>> {
    let AgentServer { assistants, default_graph, .. } = &app.agent_server;
    let mut graphs = app.threads.list_graphs(caller, default_graph.as_ref()).await?;
    for graph_id in assistants.iter().chain(default_graph.iter().map(|it| &it.graph_id)) {
        if !graphs.iter().any(|it| it.graph_id == *graph_id) {
            let (graph_id, assistant_id) = (graph_id.clone(), None);
            // No thread tells a time.
            graphs.push(Graph { graph_id, assistant_id, created_at: 0, updated_at: 0 });
        }
    }
    let derived = |it: &Graph| assistant_id(&it.graph_id);
    let own = graphs.iter().filter(|it| {
        // Threads name the derived assistant by its id, or by the name of its graph.
        it.assistant_id.as_ref().is_none_or(|id| *id != derived(it) && *id != it.graph_id)
    });
    Ok(own.map(|it| AgentServerAssistant::of(it, derived(it))).collect())
}

/// # Errors
/// 404.
async fn find(app: &App, caller: &Caller, ids: &PathIds) -> Result<AgentServerAssistant, Problem> {
    let id = ids.id("assistant_id");
    let all = assistants(app, caller).await?;
    let by_id = all.iter().position(|it| it.assistant_id == id);
    let found = by_id.or_else(|| all.iter().position(|it| it.graph_id == id));
    let absent = || {
        let id: String = id.chars().take(64).collect();
        Problem::new(Code::AssistantNotFound, format!("Assistant with ID {id} not found"))
    };
    found.and_then(|at| all.into_iter().nth(at)).ok_or_else(absent)
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerSearchAssistants)]
pub struct SearchBody<'a> {
    graph_id: Option<Text>,
    /// Part of the name.
    name: Option<Text>,
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// 1-1,000, default 10.
    #[schema(minimum = 1, maximum = 1_000)]
    limit: Option<i64>,
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Default `created_at`.
    sort_by: Option<AssistantOrder>,
    /// Default `desc`.
    sort_order: Option<super::thread_search::SortDirection>,
    /// Names of fields; empty for all.
    select: Option<Vec<Text>>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerListVersions)]
pub struct VersionsBody<'a> {
    #[serde(borrow)]
    metadata: Option<Exact<'a>>,
    /// 1-1,000, default 10.
    #[schema(minimum = 1, maximum = 1_000)]
    limit: Option<i64>,
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
}

#[derive(Deserialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = AgentServerAssistantOrder)]
pub enum AssistantOrder {
    AssistantId,
    GraphId,
    Name,
    CreatedAt,
    UpdatedAt,
}

by_name!(AssistantOrder);

pub struct SearchAssistants {
    graph_id: Option<String>,
    name: Option<String>,
    metadata: Vec<Filter>,
    limit: usize,
    offset: usize,
    order: AssistantOrder,
    ascending: bool,
    /// None: all.
    fields: Option<Vec<&'static str>>,
}

pub struct ListVersions {
    metadata: Vec<Filter>,
    offset: usize,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerAssistant {
    assistant_id: String,
    graph_id: String,
    name: String,
    description: Option<String>,
    #[schema(value_type = serde_json::Value)]
    config: crate::http::Empty,
    #[schema(value_type = serde_json::Value)]
    context: crate::http::Empty,
    #[schema(value_type = serde_json::Value)]
    metadata: serde_json::Value,
    version: i64,
    created_at: String,
    /// Absent in lists of versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

#[derive(Serialize, ToSchema, Default)]
pub struct AgentServerSchemas {
    graph_id: String,
    input_schema: Option<String>,
    output_schema: Option<String>,
    state_schema: Option<String>,
    config_schema: Option<String>,
    context_schema: Option<String>,
}

impl AgentServerAssistant {
    fn of(graph: &Graph, derived: String) -> Self {
        let metadata = if graph.assistant_id.is_none() { OF_SYSTEM } else { "{}" };
        Self {
            assistant_id: graph.assistant_id.clone().unwrap_or(derived),
            graph_id: graph.graph_id.clone(),
            name: graph.graph_id.clone(),
            description: None,
            config: crate::http::Empty {},
            context: crate::http::Empty {},
            metadata: exact_json::parse("metadata", metadata.as_bytes()).unwrap_or_default(),
            version: 1,
            created_at: rfc3339_with_offset(graph.created_at),
            updated_at: Some(rfc3339_with_offset(graph.updated_at)),
        }
    }

    /// As JSON, with these fields only.
    fn with(&self, fields: Option<&[&str]>) -> Result<Value> {
        let mut shown =
            serde_json::to_value(self).map_err(|error| Error::Internal(error.to_string()))?;
        if let (Some(fields), Some(shown)) = (fields, shown.as_object_mut()) {
            shown.retain(|name, _| fields.contains(&name.as_str()));
        }
        Ok(shown)
    }
}

fn has_all(it: &AgentServerAssistant, metadata: &[Filter]) -> bool {
    metadata.iter().all(|one| one.matches(&it.metadata))
}

impl SearchAssistants {
    fn matches(&self, it: &AgentServerAssistant) -> bool {
        self.graph_id.as_ref().is_none_or(|graph| it.graph_id == *graph)
            && self.name.as_ref().is_none_or(|name| it.name.contains(name.as_str()))
            && has_all(it, &self.metadata)
    }
}

impl AssistantOrder {
    /// Of equal ones by their ids.
    fn key(self, it: &AgentServerAssistant) -> (String, String) {
        let first = match self {
            Self::AssistantId => "",
            Self::GraphId => &it.graph_id,
            Self::Name => &it.name,
            Self::CreatedAt => &it.created_at,
            Self::UpdatedAt => it.updated_at.as_deref().unwrap_or_default(),
        };
        (first.to_owned(), it.assistant_id.clone())
    }
}

impl Input for SearchAssistants {
    type Wire<'a> = SearchBody<'a>;

    fn from_wire(wire: SearchBody<'_>, _: &Received) -> Result<Self> {
        let metadata = wire.metadata.map(|it| contained(METADATA, it.0)).transpose()?;
        Ok(Self {
            graph_id: wire.graph_id.map(|it| it.0),
            name: wire.name.map(|it| it.0).filter(|it| !it.is_empty()),
            metadata: metadata.unwrap_or_default(),
            limit: limit(wire.limit.unwrap_or(ROWS))?,
            offset: offset(wire.offset)?,
            order: wire.sort_by.unwrap_or(AssistantOrder::CreatedAt),
            ascending: wire.sort_order == Some(super::thread_search::SortDirection::Asc),
            fields: selected(wire.select.unwrap_or_default(), &ASSISTANT_FIELDS)?,
        })
    }
}

impl Input for ListVersions {
    type Wire<'a> = VersionsBody<'a>;

    fn from_wire(wire: VersionsBody<'_>, _: &Received) -> Result<Self> {
        limit(wire.limit.unwrap_or(ROWS))?;
        let metadata = wire.metadata.map(|it| contained(METADATA, it.0)).transpose()?;
        Ok(Self { metadata: metadata.unwrap_or_default(), offset: offset(wire.offset)? })
    }
}
