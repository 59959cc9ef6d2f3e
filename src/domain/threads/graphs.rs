//! Finds out which graphs the threads of a caller name, for lists of assistants.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::details_filter::{ASSISTANT_ID, GRAPH_ID};
use super::service::Threads;
use super::thread::{Thread, ThreadQuery, ThreadSort};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::limits::LIMITS;
use crate::domain::named_uuid::named_uuid;

/// Ids of assistants are made of the names of their graphs in this namespace, as other servers make them.
const NAMESPACE: Uuid = Uuid::from_u128(0x6ba7_b821_9dad_11d1_80b4_00c0_4fd4_30c8);

/// Graphs, and pairs of graph and assistant, that one answer looks at.
const GRAPHS_MAX: usize = 10_000;

/// The id of the assistant that a graph has by itself.
pub fn assistant_id(graph_id: &str) -> String {
    named_uuid(NAMESPACE, graph_id)
}

/// What a thread shows that names no graph; the assistant where it names none either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultGraph {
    pub graph_id: String,
    pub assistant_id: String,
}

impl DefaultGraph {
    pub fn new(graph_id: String) -> Self {
        Self { assistant_id: assistant_id(&graph_id), graph_id }
    }

    /// Whether a thread without a graph shows this label.
    pub fn is_label(&self, name: &str, text: &str) -> bool {
        match name {
            GRAPH_ID => self.graph_id == text,
            ASSISTANT_ID => self.assistant_id == text,
            _ => false,
        }
    }
}

/// A graph that threads name, alone or with an assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub graph_id: String,
    pub assistant_id: Option<String>,
    /// Of the thread of these that was made first.
    pub created_at: Micros,
    /// When the thread of these that was made last was changed, or another one that is known to have changed later.
    pub updated_at: Micros,
}

/// What is asked of an engine.
#[async_trait]
pub trait GraphStorage: Send + Sync {
    /// Graphs and pairs of graph and assistant that checkpoints name of threads that the caller may read, each once, at most `limit`. One
    /// round trip.
    async fn list_named_graphs(&self, caller: &Caller, limit: usize) -> Result<Vec<Graph>>;
}

impl Threads {
    /// Those that checkpoints of any thread name, and those that were set on the newest 1,000 threads, by their names. Two round trips.
    ///
    /// # Errors
    /// As [`Threads::list`].
    pub async fn list_graphs(
        &self,
        caller: &Caller,
        default: Option<&DefaultGraph>,
    ) -> Result<Vec<Graph>> {
        let limit = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let query = ThreadQuery { limit, sort: ThreadSort::Updated, ..ThreadQuery::default() };
        let page = self.list(caller, query).await?;
        let named = self.storage().list_named_graphs(caller, GRAPHS_MAX).await?;
        let mut all = Graphs::default();
        for thread in &page.threads {
            all.add_thread(thread, default);
        }
        for graph in named {
            all.add(graph);
        }
        Ok(all.0.into_values().collect())
    }
}

/// By name and assistant.
#[derive(Default)]
struct Graphs(BTreeMap<(String, Option<String>), Graph>);

impl Graphs {
    fn add_thread(&mut self, thread: &Thread, default: Option<&DefaultGraph>) {
        let (Some(graph_id), assistant_id) = named(thread, default) else { return };
        let Thread { created_at, updated_at, .. } = *thread;
        self.add(Graph { graph_id, assistant_id, created_at, updated_at });
    }

    /// The graph alone, too, whatever assistant threads name.
    fn add(&mut self, named: Graph) {
        if named.assistant_id.is_some() {
            self.add(Graph { assistant_id: None, ..named.clone() });
        }
        let key = (named.graph_id.clone(), named.assistant_id.clone());
        let (created_at, updated_at) = (named.created_at, named.updated_at);
        let known = self.0.entry(key).or_insert(named);
        known.created_at = known.created_at.min(created_at);
        known.updated_at = known.updated_at.max(updated_at);
    }
}

/// Graph and assistant, as the metadata that callers see has them.
fn named(thread: &Thread, default: Option<&DefaultGraph>) -> (Option<String>, Option<String>) {
    let metadata = thread.shown_metadata_with(default).unwrap_or_default();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap_or_default();
    let text = |name: &str| metadata[name].as_str().map(str::to_owned);
    (text("graph_id"), text("assistant_id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_assistant_is_that_of_other_servers() {
        assert_eq!(assistant_id("agent"), "fe096781-5601-53d2-b2f6-0d3403f7e9ca");
    }
}
