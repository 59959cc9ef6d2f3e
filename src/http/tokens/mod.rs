//! Serves the calls on keys and tokens, and has the wire form of grants.

pub mod grants;
pub(super) mod handlers;
pub(super) mod keys;
pub(super) mod listing;
