//! Bytes: the envelope that every stored value passes, its compression and its keyed digest; differences between
//! values, and the values lately seen. Knows no noun, no SQL and no HTTP.

pub mod difference;
pub mod envelope;
pub mod keys;
pub mod recent;
