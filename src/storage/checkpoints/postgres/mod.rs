//! Reads and writes checkpoints on PostgreSQL, one statement per operation.

pub(in crate::storage) mod batch;
pub(in crate::storage) mod batch_sql;
pub(in crate::storage) mod chunks;
pub(in crate::storage) mod list;
pub(super) mod list_details;
pub(in crate::storage) mod read_sql;
pub(in crate::storage) mod reading;
pub(in crate::storage) mod runs;
pub(in crate::storage) mod values;
