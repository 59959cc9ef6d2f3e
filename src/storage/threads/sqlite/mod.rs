//! Reads, copies and removes threads on SQLite, and keeps their leases.

pub(in crate::storage) mod copy;
pub(super) mod copy_answers;
pub(in crate::storage) mod copy_rows;
pub(in crate::storage) mod delete;
pub(in crate::storage) mod leases;
pub(super) mod removal_rows;
pub(in crate::storage) mod retention;
pub(in crate::storage) mod retention_estimate;
pub(in crate::storage) mod thread_row;
pub(in crate::storage) mod threads;
