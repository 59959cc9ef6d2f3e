//! Declares the types, rules and storage traits, one folder per noun. Imports no other room.

pub mod agentrail;
pub mod batch_error;
pub mod caller;
pub mod checkpoints;
pub mod clock;
pub mod doctor;
pub mod engine;
pub mod error;
pub mod export;
pub mod files;
pub mod idempotency;
pub mod json;
pub mod label;
pub mod limits;
pub mod metric_families;
pub mod named_uuid;
pub mod names;
pub mod pages;
pub mod progress;
pub mod scheduling;
pub mod sessions;
pub mod snapshots;
pub mod storage;
pub mod store;
pub mod tenants;
pub mod threads;
pub mod time;
pub mod tokens;

pub use error::{Conflict, Error, Result};
