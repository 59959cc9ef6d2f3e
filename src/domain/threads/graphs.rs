//! Finds out which graphs the threads of a caller name, for lists of assistants.

use std::collections::BTreeMap;

use super::service::Threads;
use super::thread::{Thread, ThreadQuery, ThreadSort};
use crate::domain::caller::Caller;
use crate::domain::clock::Micros;
use crate::domain::error::Result;
use crate::domain::limits::LIMITS;

/// A graph that threads name, alone or with an assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub graph_id: String,
    pub assistant_id: Option<String>,
    /// Of the oldest of these threads.
    pub created_at: Micros,
    /// Of the newest.
    pub updated_at: Micros,
}

impl Threads {
    /// Those that the newest threads name, by their names. One round trip.
    ///
    /// # Errors
    /// As [`Threads::list`].
    pub async fn list_graphs(&self, caller: &Caller) -> Result<Vec<Graph>> {
        let limit = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let query = ThreadQuery { limit, sort: ThreadSort::Updated, ..ThreadQuery::default() };
        let page = self.list(caller, query).await?;
        Ok(graphs_of(&page.threads))
    }
}

fn graphs_of(threads: &[Thread]) -> Vec<Graph> {
    let mut all: BTreeMap<(String, Option<String>), Graph> = BTreeMap::new();
    for thread in threads {
        let (Some(graph_id), assistant_id) = named(thread) else { continue };
        // The graph alone, too, whatever assistant a thread names.
        for assistant_id in [None].into_iter().chain(assistant_id.map(Some)) {
            let graph = all.entry((graph_id.clone(), assistant_id.clone())).or_insert(Graph {
                graph_id: graph_id.clone(),
                assistant_id,
                created_at: thread.created_at,
                updated_at: thread.updated_at,
            });
            graph.created_at = graph.created_at.min(thread.created_at);
            graph.updated_at = graph.updated_at.max(thread.updated_at);
        }
    }
    all.into_values().collect()
}

/// Graph and assistant, as the metadata that callers see has them.
fn named(thread: &Thread) -> (Option<String>, Option<String>) {
    let metadata = thread.shown_metadata().unwrap_or_default();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap_or_default();
    let text = |name: &str| metadata[name].as_str().map(str::to_owned);
    (text("graph_id"), text("assistant_id"))
}
