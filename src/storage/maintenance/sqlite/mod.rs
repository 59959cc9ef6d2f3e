//! Implements examinations and the removal of unreachable rows on SQLite.

pub(in crate::storage) mod doctor;
pub(in crate::storage) mod garbage;
