//! Bytes: the envelope that every stored value passes, its compression and its keyed digest. Knows no noun,
//! no SQL and no HTTP.

pub mod dictionary;
pub mod envelope;
pub mod keys;
