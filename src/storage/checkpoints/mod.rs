//! Stores checkpoints: what the engines share, and one folder for the statements of each engine.

pub mod base_document;
pub mod channel_map;
pub mod namespaces;
pub mod opened_bytes;
pub mod postgres;
pub mod prepare;
pub mod sqlite;
pub mod timeline;
pub mod value_parts;
pub mod walk;
