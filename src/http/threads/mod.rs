//! Serves the calls on threads: their list, copies, leases, retention and use of storage.

pub mod changes;
pub mod details;
pub mod forks;
pub mod handlers;
pub mod leases;
pub mod order;
pub mod preview;
pub mod retention;
pub mod rewinds;
pub mod short_values;
pub mod shown_state;
pub mod status;
pub mod storage_use;
pub mod titles;
pub mod ttl;
pub mod values;
