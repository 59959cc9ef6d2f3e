//! Reads and writes items of the store on PostgreSQL.

pub(in crate::storage) mod chunks;
pub(in crate::storage) mod declared;
pub(in crate::storage) mod erasure;
pub(in crate::storage) mod feeds;
pub(in crate::storage) mod filter;
pub(in crate::storage) mod history;
pub(in crate::storage) mod items;
pub(in crate::storage) mod namespaces;
pub(in crate::storage) mod near;
pub(in crate::storage) mod puts;
pub(in crate::storage) mod search;
pub(super) mod search_sql;
pub(in crate::storage) mod vector_indexes;
pub(in crate::storage) mod vectors;
pub(in crate::storage) mod words;
pub(in crate::storage) mod writes;
