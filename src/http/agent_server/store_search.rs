//! Serves searches in the store, and its namespaces.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::call::JsonCall;
use super::history::limit;
use super::rows::{Envelope, Rows, list};
use super::store::{AgentServerItem, texts, unexpected};
use crate::app::App;
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::json::filter::Filter;
use crate::domain::store::item::{
    Item, ItemOp, ItemSort, ListNamespaces, MatchCondition, MatchKind, OpResult, Scope,
    SearchItems, SearchMode, Select,
};
use crate::domain::store::namespace::Namespace;
use crate::domain::{Error, Result};
use crate::http::request::call::{Answer, Call};
use crate::http::request::decode::{Input, Received};
use crate::http::request::exact::{Exact, Text};
use crate::http::request::problem::{Code, Problem};
use crate::http::store::wire::offset;

const ITEMS: i64 = 10;
const NAMESPACES: i64 = 100;

/// Search items
///
/// Last changed first. With a `query` by the server's vectors, else by declared words; where there is neither it is a listing.
#[utoipa::path(
    post, path = "/store/items/search", operation_id = "agent_server_search_items", tag = "agent-server",
    request_body(content = SearchBody, example = json!({"namespace_prefix": ["ann"], "limit": 10})),
    responses(
        (status = 200, description = "Items", body = AgentServerItems),
        (status = 400, description = "`bad_request`"),
    ),
)]
pub async fn search(State(app): State<Arc<App>>, call: JsonCall<SearchStore>) -> Answer {
    let Call { caller, deadline, input, reply } = call.0;
    let SearchStore { mut search, query, unsupported } = input;
    if let Some(detail) = unsupported {
        return Err(Problem::new(Code::BadRequest, detail).at("filter"));
    }
    if let Some(query) = query {
        search.mode = app.items.mode_of_question(&caller, &search, &query)?;
    }
    if search.mode != SearchMode::List {
        search.sort = ItemSort::Score;
    }
    let items = Items { app, caller, deadline, left: search.limit, search, page: None };
    list(reply, HeaderMap::new(), ENVELOPE, items).await
}

/// List namespaces
///
/// Those that hold items, in the order of their labels.
#[utoipa::path(
    post, path = "/store/namespaces", operation_id = "agent_server_list_namespaces", tag = "agent-server",
    request_body(content = NamespacesBody, example = json!({"prefix": ["ann"], "max_depth": 2})),
    responses((status = 200, description = "Namespaces", body = AgentServerNamespaces)),
)]
pub async fn list_namespaces(
    State(app): State<Arc<App>>,
    call: JsonCall<ListNamespaces>,
) -> Answer {
    let Call { caller, deadline, input, reply } = call.0;
    match app.items.run(&caller, ItemOp::ListNamespaces(input), None, deadline).await? {
        OpResult::Namespaces(found) => {
            reply
                .with(&AgentServerNamespaces {
                    namespaces: found.namespaces.iter().map(|it| it.labels().to_vec()).collect(),
                })
                .await
        }
        _ => Err(unexpected()),
    }
}

const ENVELOPE: Envelope = Envelope { before: "{\"items\":[", after: "]}" };

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerSearchItems)]
pub struct SearchBody<'a> {
    /// Labels that the namespaces begin with. Absent or empty: all that the caller may read.
    namespace_prefix: Option<Vec<Text>>,
    /// Conditions on the values' fields, an object: a value, or `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`.
    #[serde(borrow)]
    filter: Option<Exact<'a>>,
    /// 1-1,000, default 10.
    #[schema(minimum = 1, maximum = 1_000)]
    limit: Option<i64>,
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    query: Option<Text>,
    /// Whether this read extends the lives of the items that it returns. Default true.
    refresh_ttl: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerListNamespaces)]
pub struct NamespacesBody {
    /// `*` stands for any one label.
    prefix: Option<Vec<Text>>,
    suffix: Option<Vec<Text>>,
    /// Longer namespaces are cut to so many labels, and equal ones are one.
    #[schema(minimum = 0)]
    max_depth: Option<i64>,
    /// 1-1,000, default 100.
    #[schema(minimum = 1, maximum = 1_000)]
    limit: Option<i64>,
    #[schema(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerNamespaces {
    namespaces: Vec<Vec<String>>,
}

/// Items that were found, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the document reads it")]
pub struct AgentServerItems {
    items: Vec<AgentServerFoundItem>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentServerFoundItem {
    #[serde(flatten)]
    item: AgentServerItem,
    /// How well it fits; null where nothing was compared.
    score: Option<f64>,
}

/// A search that is to be made.
pub struct SearchStore {
    search: SearchItems,
    query: Option<String>,
    /// An operator that there is not is 400 here.
    unsupported: Option<String>,
}

impl Input for SearchStore {
    type Wire<'a> = SearchBody<'a>;

    fn from_wire(wire: SearchBody<'_>, _: &Received) -> Result<Self> {
        let prefix = Namespace::new(texts(wire.namespace_prefix.unwrap_or_default()))?;
        let (mut filter, mut unsupported) = (None, None);
        match wire.filter.map(|it| Filter::read(it.0)) {
            Some(Err(Error::Invalid { detail, .. })) if detail.starts_with("Unsupported") => {
                unsupported = Some(detail);
            }
            Some(read) => filter = read?,
            None => {}
        }
        let search = SearchItems {
            scope: Scope { prefix, exact: false, filter },
            mode: SearchMode::List,
            limit: limit(wire.limit.unwrap_or(ITEMS))?,
            offset: offset(wire.offset)?,
            sort: ItemSort::Updated,
            after: None,
            select: Select::Whole,
            refresh_ttl: wire.refresh_ttl.unwrap_or(true),
        };
        Ok(Self { search, query: wire.query.map(|it| it.0), unsupported })
    }
}

impl Input for ListNamespaces {
    type Wire<'a> = NamespacesBody;

    fn from_wire(wire: NamespacesBody, _: &Received) -> Result<Self> {
        let depth = |it: i64| {
            let wrong = |_| Error::invalid("max_depth", "max_depth must be 0 or more");
            usize::try_from(it).map_err(wrong)
        };
        let sides = [(MatchKind::Prefix, wire.prefix), (MatchKind::Suffix, wire.suffix)];
        let given = sides.into_iter().filter_map(|(kind, it)| Some((kind, texts(it?))));
        let given = given.filter(|(_, it)| !it.is_empty());
        let conditions = given.map(|(kind, it)| MatchCondition::new(kind, it));
        Ok(Self {
            conditions: conditions.collect::<Result<_>>()?,
            max_depth: wire.max_depth.map(depth).transpose()?,
            limit: limit(wire.limit.unwrap_or(NAMESPACES))?,
            offset: offset(wire.offset)?,
            ..Self::default()
        })
    }
}

/// Items that are still to come.
struct Items {
    app: Arc<App>,
    caller: Caller,
    deadline: Micros,
    /// Of the next page.
    search: SearchItems,
    left: usize,
    /// None: no page was read yet.
    page: Option<VecDeque<Item>>,
}

#[async_trait]
impl Rows for Items {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(item) = self.page.as_mut().and_then(VecDeque::pop_front) {
                let score = item.score;
                let found = AgentServerFoundItem { item: AgentServerItem::of(item), score };
                let row = serde_json::to_vec(&found);
                return row.map(Some).map_err(|error| Error::Internal(error.to_string()));
            }
            if self.left == 0 || self.page.is_some() && self.search.after.is_none() {
                return Ok(None);
            }
            self.search.limit = self.left;
            let op = ItemOp::Search(self.search.clone());
            let OpResult::Found(page) =
                self.app.items.run(&self.caller, op, None, self.deadline).await?
            else {
                return Ok(None);
            };
            self.left -= page.items.len().min(self.left);
            (self.search.after, self.search.offset) = (page.next, 0);
            self.page = Some(page.items.into());
        }
    }
}
