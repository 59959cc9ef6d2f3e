//! Serves the wire of the LangGraph Agent Server, as far as it is about what is stored: its SDKs and UIs show threads, states and the store.
//! No graph runs here. Handlers are thin: every call is one of the domain, with its permission.

pub mod assistants;
pub mod call;
pub mod events;
mod extract;
pub mod history;
pub mod meta;
pub mod paths;
mod query;
mod rows;
pub mod runs;
mod select;
pub mod shown_ids;
pub mod state;
pub mod state_update;
mod state_view;
mod state_writer;
pub mod storage_use;
pub mod store;
pub mod store_search;
mod subgraphs;
pub mod thread_prune;
pub mod thread_search;
mod thread_view;
pub mod threads;
mod ttl;
