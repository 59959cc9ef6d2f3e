//! Implements the packer's rows on SQLite.

pub(in crate::storage) mod pack_writes;
pub(in crate::storage) mod packs;
