//! Stores content: it cuts values into chunks, seals them into envelopes and opens them, and remembers what a scope has. It is the same for
//! every engine.

pub mod associated_data;
pub mod chunk_memory;
pub mod documents;
pub mod opening;
pub(in crate::storage) mod postgres;
pub mod reachability;
pub mod redis;
pub mod scope_memory;
pub mod sealing;
pub mod secret_memory;
pub mod wrapped;
