//! Meaning: types, rules and the storage traits, one file per noun. Imports no other room.

pub mod batch;
pub mod caller;
pub mod checkpoint;
pub mod checkpoints;
pub mod clock;
pub mod decimal;
pub mod doctor;
pub mod error;
pub mod exact_json;
pub mod filter;
pub mod grants;
pub mod group_commit;
pub mod history;
pub mod item;
pub mod item_batch;
pub mod item_commit;
pub mod item_key;
pub mod items;
pub mod key;
pub mod label;
pub mod limits;
pub mod names;
pub mod namespace;
pub mod planner;
pub mod prepared;
pub mod retention;
pub mod retention_policies;
pub mod storage;
pub mod storage_use;
pub mod sweeper;
pub mod thread;
pub mod threads;
pub mod time;

pub use error::{Conflict, Error, Result};
