//! Lists files, which are items of the store, and stores the contents of large ones.

pub mod contents;
pub(in crate::storage) mod postgres;
pub(in crate::storage) mod sqlite;
