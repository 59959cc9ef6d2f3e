//! Implements examinations and the removal of unreachable rows on PostgreSQL.

pub(in crate::storage) mod doctor;
pub(in crate::storage) mod garbage;
