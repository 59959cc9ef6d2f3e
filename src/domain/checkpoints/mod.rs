//! Defines checkpoints, their values and writes, and runs the calls on them. Commits go through one queue.

pub mod batch;
pub mod channel_rule;
pub mod checkpoint;
pub mod digest;
pub mod group_commit;
pub mod history;
pub mod planner;
pub mod prepared;
pub mod run_states;
pub mod service;
pub mod shown;
pub mod storage;
pub mod timeline;
pub mod value_parts;
pub mod wanted;
