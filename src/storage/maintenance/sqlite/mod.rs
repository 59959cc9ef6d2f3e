//! Implements the removal of unreachable rows on SQLite.

pub(in crate::storage) mod garbage;
