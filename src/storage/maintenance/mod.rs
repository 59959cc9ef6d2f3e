//! Maintains stored rows: doctor, `threadkeep encrypt`, the removal of unreachable rows, and background tasks.

pub(in crate::storage) mod background_tasks;
pub mod doctor;
pub mod encrypting;
pub mod postgres;
pub mod resealing;
pub mod sqlite;
