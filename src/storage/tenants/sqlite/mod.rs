//! Erases subjects and creates tenants on SQLite.

pub(in crate::storage) mod erasure;
pub(in crate::storage) mod tenants;
