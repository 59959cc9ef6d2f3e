//! Reads, compares and filters JSON without loss of a digit or a code point.

pub mod decimal;
pub mod exact_fields;
pub mod exact_json;
pub mod field_path;
pub mod filter;
pub mod wide_text;
