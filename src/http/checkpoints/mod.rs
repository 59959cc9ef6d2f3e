//! Serves the calls on checkpoints, and has their wire forms: views, values, differences.

pub mod channel_values;
pub mod commit;
mod cuts;
pub mod difference;
pub mod expand;
pub mod newest;
pub mod parts_wire;
pub mod pruning;
pub mod reading;
pub mod runs;
pub mod shorten;
pub mod state;
pub mod timeline;
pub mod value_parts;
pub mod views;
