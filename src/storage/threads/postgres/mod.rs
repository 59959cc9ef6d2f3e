//! Reads, copies and removes threads on PostgreSQL, and keeps their leases.

pub(in crate::storage) mod conditions;
pub(in crate::storage) mod copy;
pub(super) mod copy_packed;
pub(in crate::storage) mod known_threads;
pub(in crate::storage) mod labels;
mod leases;
pub(in crate::storage) mod removal;
pub(in crate::storage) mod retention;
pub(in crate::storage) mod retention_estimate;
pub(in crate::storage) mod threads;
pub mod wide_metadata;
