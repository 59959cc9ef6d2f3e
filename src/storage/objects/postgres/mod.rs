//! Implements the packer's rows on PostgreSQL.

pub(in crate::storage) mod pack_writes;
pub(in crate::storage) mod packs;
