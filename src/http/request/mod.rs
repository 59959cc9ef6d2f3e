//! Reads requests within their limits and forms answers and problems.

pub(super) mod blocks;
pub(super) mod body;
pub(super) mod by_name;
pub(super) mod call;
pub(super) mod counts;
pub(super) mod cursor;
pub(super) mod decode;
pub mod decoders;
pub mod entries;
pub(super) mod event_stream;
pub(super) mod exact;
pub(super) mod media;
pub(super) mod meter;
pub(super) mod metered;
pub(super) mod outgoing;
pub(super) mod path_ids;
pub mod problem;
pub(super) mod query_fields;
pub(super) mod wide;
pub(super) mod zstd_window;
