//! Defines threads and their retention, and runs the calls on them.

pub mod alias;
pub mod alias_lookup;
pub mod changes;
pub mod details;
pub mod details_filter;
pub mod graphs;
mod matching;
pub mod retention;
pub mod retention_policies;
pub mod retention_storage;
pub mod run_state;
pub mod service;
pub mod short_values;
pub mod storage;
pub mod sweeper;
pub mod thread;
pub mod title;
pub mod ttl;
