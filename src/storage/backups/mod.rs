//! Writes backups of a database and reads them back, and keeps the journal of what a restore does again.

pub mod dump;
pub mod embedded;
pub mod journal;
pub mod manifest;
pub mod place;
pub mod renewal;
