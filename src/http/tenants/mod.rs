//! Serves what a tenant asks about itself: usage, audit log, erasure, export and import; and what operators do for all tenants.

pub mod audit;
pub mod export;
pub mod operator_keys;
pub mod operators;
pub mod refusals;
pub mod subjects;
pub mod usage;
