//! Defines tenants with their quotas, rates, use of storage, audit log, subjects and erasure.

pub mod audit;
pub mod erasure;
pub mod journal;
pub mod operators;
pub mod quotas;
pub mod rates;
pub mod refusals;
pub mod sql_role;
pub mod storage_use;
pub mod subjects;
pub mod tenant;
