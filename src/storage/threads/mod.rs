//! Stores threads: their listing, copies, leases, retention and size.

mod aliases;
mod changes;
mod derived_details;
mod derived_rows;
pub mod details;
pub mod details_document;
mod graphs;
mod order;
pub mod policies;
pub mod policy_rows;
pub mod postgres;
pub mod retention;
pub mod retention_estimate;
pub mod run_states;
pub mod search;
pub mod sqlite;
pub mod status_conditions;
pub mod storage_use;
pub mod thread_filter;
pub mod ttl;
