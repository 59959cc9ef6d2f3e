//! Meaning: types, rules and the storage traits, one file per noun. Imports no other room.

pub mod audit;
pub mod batch;
pub mod caller;
pub mod checkpoint;
pub mod checkpoints;
pub mod clock;
pub mod credential;
pub mod doctor;
pub mod erasure;
pub mod error;
pub mod exact_json;
pub mod grants;
pub mod group_commit;
pub mod history;
pub mod key;
pub mod label;
pub mod limits;
pub mod names;
pub mod planner;
pub mod prepared;
pub mod quotas;
pub mod rates;
pub mod refusals;
pub mod retention;
pub mod retention_policies;
pub mod sql_role;
pub mod storage;
pub mod storage_use;
pub mod sweeper;
pub mod thread;
pub mod threads;
pub mod time;
pub mod token;

pub use error::{Conflict, Error, Result};
