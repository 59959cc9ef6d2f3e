//! Maintains stored rows: doctor, `threadkeep encrypt`, the removal of unreachable rows, background tasks, and sizes of tables.

pub(in crate::storage) mod background_tasks;
pub mod doctor;
pub mod encrypting;
pub(in crate::storage) mod inventory;
pub mod postgres;
pub mod resealing;
pub mod sqlite;
