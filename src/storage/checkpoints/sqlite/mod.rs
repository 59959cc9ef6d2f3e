//! Reads and writes checkpoints on SQLite.

pub(in crate::storage) mod bases;
pub(in crate::storage) mod batch;
pub(super) mod batch_stored;
pub(super) mod batch_values;
pub(super) mod batch_writes;
pub(in crate::storage) mod chunks;
pub(in crate::storage) mod history;
pub(in crate::storage) mod list;
pub(in crate::storage) mod reading;
pub(in crate::storage) mod runs;
pub(in crate::storage) mod values;
pub(in crate::storage) mod views;
