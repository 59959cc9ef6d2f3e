//! Finds out which graphs the threads of a caller name, for lists of assistants.

use std::collections::BTreeMap;

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
    pub async fn list_graphs(
        &self,
        caller: &Caller,
        default: Option<&DefaultGraph>,
    ) -> Result<Vec<Graph>> {
        let limit = usize::try_from(LIMITS.list_rows_max).unwrap_or(usize::MAX);
        let query = ThreadQuery { limit, sort: ThreadSort::Updated, ..ThreadQuery::default() };
        let page = self.list(caller, query).await?;
        Ok(graphs_of(&page.threads, default))
    }
}

fn graphs_of(threads: &[Thread], default: Option<&DefaultGraph>) -> Vec<Graph> {
    let mut all: BTreeMap<(String, Option<String>), Graph> = BTreeMap::new();
    for thread in threads {
        let (Some(graph_id), assistant_id) = named(thread, default) else { continue };
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
