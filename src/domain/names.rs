//! Defines the names that callers choose. They are checked once, when they are made; a value that exists is valid.

use std::fmt;

use super::error::{Error, Result};
use super::limits::LIMITS;

/// Declares a validated name: UTF-8, no NUL, a maximal length in bytes, perhaps not empty.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $field:literal, $limit:ident, empty = $empty:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(String);

        impl $type {
            /// # Errors
            /// 422 for NUL, an empty or an over-long text; lone surrogates never get here, as they are not UTF-8.
            pub fn new(text: impl Into<String>) -> Result<Self> {
                let text = text.into();
                check($field, &text, LIMITS.$limit, $empty)?;
                Ok(Self(text))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// One conversation. Any non-empty string, not only UUIDs.
    ThreadId, "thread_id", thread_id_bytes_max, empty = false
);
name!(
    /// Chain of checkpoints inside a thread: `""` is the root graph, `node:task` a subgraph.
    CheckpointNs, "checkpoint_ns", checkpoint_ns_bytes_max, empty = true
);
name!(
    /// Made by the client, usually uuid6: byte order is time order.
    CheckpointId, "checkpoint_id", checkpoint_id_bytes_max, empty = false
);
name!(TaskId, "task_id", task_id_bytes_max, empty = true);
name!(TaskPath, "task_path", task_path_bytes_max, empty = true);
name!(Channel, "channel", channel_bytes_max, empty = true);
name!(
    /// Codec of a value: `msgpack`, `json`, `null`, `empty`, `bytes`, `msgpack+aes`, … The server never acts on
    /// it, but for `empty`, which means "this channel has no value at this version".
    Tag, "tag", tag_bytes_max, empty = true
);
name!(Writer, "writer", writer_bytes_max, empty = true);
name!(LeaseHolder, "holder", lease_holder_bytes_max, empty = false);

impl CheckpointNs {
    /// Of the root graph.
    pub fn root() -> Self {
        Self(String::new())
    }
}

/// What the ids of threads that snapshots keep begin with.
pub const HIDDEN: &str = "\u{1}snapshot:";

impl ThreadId {
    /// Of a thread that a snapshot keeps, by the snapshot's number: longer than any that a caller can send, so that no request
    /// reaches it. Listings leave out what is longer than the limit.
    pub fn hidden(number: i64, part: usize) -> Self {
        Self(format!("{:~<520}", format!("{}{part}:", Self::hidden_range(number).0)))
    }

    /// Before the first and behind the last of these.
    pub fn hidden_range(number: i64) -> (String, String) {
        let of = format!("{HIDDEN}{number:016x}");
        (format!("{of}:"), format!("{of};"))
    }
}

/// What a snapshot is called by its maker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId(String);

impl SnapshotId {
    /// # Errors
    /// 422 for an empty or over-long text and for NUL.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        check("snapshot_id", &text, LIMITS.snapshot_id_bytes_max, false)?;
        Ok(Self(text))
    }

    /// Of a snapshot whose maker gave it no name.
    pub fn made_up() -> Self {
        Self(format!("snap_{}", super::clock::random_hex()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The rule of every name, for texts that have no type of their own (filters, generations).
///
/// # Errors
/// 422 naming the field.
pub fn check(field: &str, text: &str, limit: u64, may_be_empty: bool) -> Result<()> {
    if text.len() as u64 > limit {
        let detail = format!("{field} is {} bytes long, at most {limit} are allowed", text.len());
        return Err(Error::out_of_range(field, detail, limit));
    }
    if text.contains('\0') {
        return Err(Error::invalid(field, format!("{field} must not contain NUL")));
    }
    if text.is_empty() && !may_be_empty {
        return Err(Error::invalid(field, format!("{field} must not be empty")));
    }
    Ok(())
}

/// # Errors
/// 422 when there are more than `limit`.
pub fn at_most(field: &str, count: usize, limit: u64) -> Result<()> {
    if count as u64 <= limit {
        return Ok(());
    }
    let detail = format!("{field} has {count} entries, at most {limit} are allowed");
    Err(Error::out_of_range(field, detail, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_over_its_limit_is_refused_with_field_and_limit() {
        let error = ThreadId::new("x".repeat(513)).unwrap_err();
        let Error::Invalid { field, limit, .. } = error else { panic!("{error}") };
        assert_eq!((field.as_str(), limit), ("thread_id", Some(512)));
    }

    #[test]
    fn what_a_snapshot_keeps_has_a_name_that_nobody_can_send() {
        let (first, end) = ThreadId::hidden_range(7);
        for part in [0, 9, 10, 100_000] {
            let hidden = ThreadId::hidden(7, part).into_string();
            assert!(ThreadId::new(hidden.as_str()).is_err() && hidden.len() < 600);
            assert!(first < hidden && hidden < end);
            assert!(ThreadId::hidden(8, part).as_str() > end.as_str());
        }
        assert_ne!(ThreadId::hidden(7, 1), ThreadId::hidden(7, 10));
    }

    #[test]
    fn empty_and_nul_are_refused_where_they_have_no_meaning() {
        assert!(ThreadId::new("").is_err());
        assert!(ThreadId::new("a\0b").is_err());
        assert!(CheckpointNs::new("").is_ok());
        assert!(ThreadId::new("../a%2Fb ü").is_ok());
    }
}
