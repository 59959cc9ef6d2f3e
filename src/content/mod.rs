//! Converts values to stored bytes: envelopes, chunks, lists of chunks, keyed digests, differences and a memory of their bases. Depends on
//! no domain type, no SQL and no HTTP.

pub mod chunking;
pub mod cipher;
pub mod dictionary;
pub mod difference;
pub mod encrypted;
pub mod envelope;
pub mod keys;
pub mod master_key;
pub mod parts;
pub mod recent;
pub mod rights;
pub mod slicing;
pub mod tar;
