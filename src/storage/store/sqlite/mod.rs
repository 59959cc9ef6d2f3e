//! Reads and writes items of the store on SQLite.

pub(in crate::storage) mod erasure;
pub(in crate::storage) mod feeds;
pub(in crate::storage) mod history;
pub(in crate::storage) mod items;
mod namespaces;
pub(in crate::storage) mod near;
pub(in crate::storage) mod search;
pub(in crate::storage) mod vectors;
pub(in crate::storage) mod words;
pub(in crate::storage) mod writes;
