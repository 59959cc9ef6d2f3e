//! Copies everything of a snapshot at one moment on SQLite: threads, items and sessions.

pub(in crate::storage) mod items;
pub(in crate::storage) mod sessions;
pub(in crate::storage) mod snapshots;
