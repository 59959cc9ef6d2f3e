//! Serves the calls on files, the drive of front ends, and raw bytes.

pub mod artifacts;
pub mod changes;
pub mod content;
pub mod drive;
pub mod drive_upload;
pub mod moves;
pub mod raw_bytes;
pub mod raw_call;
pub mod reading;
pub mod searches;
pub mod signed;
pub mod uploads;
pub mod wire;
