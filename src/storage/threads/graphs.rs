//! Lists the graphs that the checkpoints of threads name, with one SQL for both engines. It takes time by the number of graphs, not of threads,
//! for a caller who may read all threads; for others by the number of theirs.

use async_trait::async_trait;
use serde_json::json;

use crate::domain::Result;
use crate::domain::caller::Caller;
use crate::domain::threads::graphs::{Graph, GraphStorage};
use crate::domain::tokens::grants::Action;
use crate::storage::db::access::SqlRow;
use crate::storage::sessions::SessionEngine;
use crate::storage::threads::derived_rows::limit_value;
use crate::storage::threads::thread_filter::{SHOWN, ThreadFilter, Way};

/// $1 tenant, $2 limit. From each graph to the next one in the index, and the same with the assistants of each graph. An empty assistant stands
/// for the threads that name none; it is made of the graph so that it has the collation of the columns. Orders
/// and ranges are such that no other index has them, whatever the statistics say.
const WALK: &str = "
with recursive graphs (graph_id) as (
    select (select min(graph_id) from threads where {tenant_in_index} = $1 and {indexed})
    union all
    select (select min(t.graph_id) from threads t where {tenant_in_index} = $1 and {indexed} and t.graph_id > graphs.graph_id)
    from graphs where graphs.graph_id is not null
), pairs (graph_id, assistant_id) as (
    select graph_id, substr(graph_id, 1, 0) from (select graph_id from graphs where graph_id is not null limit $2) g
    union all
    select pairs.graph_id, (select min(t.assistant_id) from threads t
        where {tenant_in_index} = $1 and {indexed} and t.graph_id = pairs.graph_id and t.assistant_id > pairs.assistant_id)
    from pairs where pairs.assistant_id is not null
), found as (
    select graph_id, assistant_id from pairs where assistant_id is not null limit $2
)
select graph_id, assistant_id,
    case when assistant_id = '' then (select t.created_at from threads t
            where {tenant_in_index} = $1 and {indexed} and t.graph_id = found.graph_id and t.assistant_id is null
            order by t.assistant_id, t.created_at limit 1)
        else (select t.created_at from threads t
            where {tenant_in_index} = $1 and {indexed} and t.graph_id = found.graph_id and t.assistant_id >= found.assistant_id
            order by t.assistant_id, t.created_at limit 1) end,
    case when assistant_id = '' then (select t.updated_at from threads t
            where {tenant_in_index} = $1 and {indexed} and t.graph_id = found.graph_id and t.assistant_id is null
            order by t.assistant_id desc, t.created_at desc limit 1)
        else (select t.updated_at from threads t
            where {tenant_in_index} = $1 and {indexed} and t.graph_id = found.graph_id and t.assistant_id <= found.assistant_id
            order by t.assistant_id desc, t.created_at desc limit 1) end
from found";

/// What the index holds of a tenant.
const INDEXED: &str = "graph_id is not null and {shown}";

/// $1 rows of a way in and what it takes, $2 tenant, $3 owner, $4 limit.
const OF_SOME: &str = "
select graph_id, coalesce(assistant_id, ''), min(created_at), max(updated_at)
from threads where tenant = $2 and graph_id is not null and {shown}{granted}
group by graph_id, coalesce(assistant_id, '') order by 1, 2 limit $4";

#[async_trait]
impl<T: SessionEngine> GraphStorage for T {
    async fn list_named_graphs(&self, caller: &Caller, limit: usize) -> Result<Vec<Graph>> {
        let filter = ThreadFilter::by(caller, Action::Read);
        let (dialect, tenant) = (self.dialect(), caller.tenant.as_str());
        let rows = if filter.ways() == [Way::Everything] {
            let text = WALK.replace("{indexed}", INDEXED).replace("{shown}", SHOWN);
            let binds = [tenant.into(), limit_value(limit)];
            self.search_rows(tenant, &dialect.fill(&text), &binds).await?
        } else {
            let granted = filter.condition(way_in);
            let text = OF_SOME.replace("{granted}", &granted).replace("{shown}", SHOWN);
            let owner = filter.owner.as_deref().unwrap_or_default();
            let ways = ways_json(&filter);
            let binds = [ways.as_str().into(), tenant.into(), owner.into(), limit_value(limit)];
            self.search_rows(tenant, &dialect.fill(&text), &binds).await?
        };
        let graphs = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok(graphs.into_iter().flatten().collect())
    }
}

/// Nobody is the empty subject.
fn way_in(way: Way) -> &'static str {
    match way {
        Way::Everything => "true",
        Way::Owner => "owner = $3 and $3 <> ''",
        Way::Exact => {
            "exists (select 1 {from_each} where j.value ->> 0 = 'id' and threads.thread_id = j.value ->> 1)"
        }
        Way::Prefix => {
            "exists (select 1 {from_each} where j.value ->> 0 = 'prefix' \
             and threads.thread_id >= j.value ->> 1 and threads.thread_id < j.value ->> 2)"
        }
    }
}

fn ways_json(filter: &ThreadFilter) -> String {
    let ids = filter.exact.iter().map(|it| json!(["id", it, ""]));
    let prefixes = filter.firsts.iter().zip(&filter.ends);
    let prefixes = prefixes.map(|(first, end)| json!(["prefix", first, end]));
    json!(ids.chain(prefixes).collect::<Vec<_>>()).to_string()
}

/// None: all threads of the graph name an assistant, so none names it alone.
fn read(row: &SqlRow) -> Result<Option<Graph>> {
    let (Some(created_at), Some(updated_at)) = (row.optional_integer(2)?, row.optional_integer(3)?)
    else {
        return Ok(None);
    };
    let assistant_id = Some(row.text(1)?.to_owned()).filter(|it| !it.is_empty());
    Ok(Some(Graph { graph_id: row.text(0)?.to_owned(), assistant_id, created_at, updated_at }))
}
