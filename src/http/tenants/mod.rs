//! Serves what a tenant asks about itself: usage, audit log, erasure, export and import.

pub mod audit;
pub mod export;
pub mod refusals;
pub mod subjects;
pub mod usage;
