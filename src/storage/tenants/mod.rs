//! Stores what belongs to a tenant as a whole: its keys, quotas, audit log, subjects and erasure.

pub mod audit_rows;
pub mod postgres;
pub mod quota_rows;
pub mod sqlite;
mod subject_rows;
pub mod tenant_keys;
pub(in crate::storage) mod tenant_rows;
