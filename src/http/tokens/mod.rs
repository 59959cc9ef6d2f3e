//! Serves the calls on tokens, and has the wire form of grants.

pub mod grants;
pub(super) mod handlers;
