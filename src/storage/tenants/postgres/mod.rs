//! Erases subjects and manages SQL roles on PostgreSQL.

pub(in crate::storage) mod erasure;
pub(in crate::storage) mod sql_roles;
