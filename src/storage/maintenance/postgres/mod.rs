//! Implements the removal of unreachable rows on PostgreSQL.

pub(in crate::storage) mod garbage;
