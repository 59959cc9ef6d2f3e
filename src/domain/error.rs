//! Defines the one error of the domain: variants by what the caller can do about it. Knows nothing of HTTP.

use std::time::Duration;

use super::limits::LIMITS;

/// Why an operation did not happen. Absence is not an error here; look-ups return `Option`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The input can never succeed. `field` names the input, `limit` the bound it broke.
    #[error("{detail}")]
    Invalid { field: String, detail: String, limit: Option<u64> },
    /// Larger than a declared limit (bytes, or entries, as `detail` says).
    #[error("{field} is larger than the limit of {limit}")]
    TooLarge { field: String, limit: u64 },
    /// A value of the answer does not fit into a body, and the reader did not ask for parts.
    #[error(
        "a value of the answer has {size_bytes} bytes, more than fit into a body: ask with value_parts = true and read its parts \
         with POST /v1/checkpoints/parts/get"
    )]
    ComesInParts { size_bytes: u64 },
    /// The values of an answer do not fit in memory together. They were not opened.
    #[error(
        "the values of the checkpoint, with its writes and histories, have more than {limit} bytes together: ask with value_parts = true \
         and read the large ones with POST /v1/checkpoints/parts/get, or list checkpoints with values = false"
    )]
    ValuesTooLarge { limit: u64 },
    /// What a removal has to keep of removed checkpoints, for the delta channels of one that stays, does not fit in memory. Nothing was
    /// removed.
    #[error(
        "what the removed checkpoints contributed to the delta channels of one that stays has more than {limit} bytes: keep more \
         checkpoints, or delete the whole thread"
    )]
    BaseTooLarge { limit: u64 },
    /// Other reads hold the memory that there is for stored values.
    #[error(
        "reads that are not answered yet hold as many bytes of stored values in memory as they may; try again"
    )]
    NoRoom { limit: u64 },
    /// The tenant has used up a quota. Deleting makes room.
    #[error("{0}")]
    QuotaExceeded(Full),
    #[error("{whose} may make {limit} requests per second")]
    TooManyRequests { whose: &'static str, limit: u64, retry_after: Duration },
    /// `whose` is the tenant or the server.
    #[error("{whose} may have {limit} followers of the change feed at one time")]
    TooManyFollowers { whose: &'static str, limit: u64 },
    #[error("{whose} has at most {limit} streams that are held open")]
    TooManyStreams { whose: &'static str, limit: u64 },
    /// Its content is no part of the value, because it is too large for one: the files API has it.
    #[error("the item's content is too large for a value; read it as a file")]
    ValueTooLarge,
    /// `detail` is what deepagents' tools say of it, to the letter.
    #[error("{detail}")]
    File { problem: FileProblem, detail: String },
    /// A glob pattern that is larger or more nested than a declared limit.
    #[error("{detail}")]
    Glob { field: &'static str, detail: String, limit: u64 },
    #[error("{0}")]
    Conflict(Conflict),
    /// The caller's grants do not cover this, decided from the token alone.
    #[error("the token does not grant this: {0}")]
    NotGranted(&'static str),
    #[error("{0} not found")]
    NotFound(&'static str),
    /// A position of the change feed that does not lead on any more: list the items anew and follow from now on.
    #[error(
        "the log of changes does not reach back to this position; list the items and follow without one"
    )]
    PositionGone,
    /// A file of an export cannot be imported. What of it was whole before the place may have been.
    #[error("{detail}")]
    Export { fault: FileFault, detail: String },
    /// The same idempotency key was used for another request.
    #[error("this Idempotency-Key was used for another request")]
    IdempotencyMismatch,
    /// The id that a client gave its snapshot belongs to another one.
    #[error("this snapshot_id was used for another snapshot")]
    SnapshotIdTaken,
    /// Nothing happened; the same request may be sent again.
    #[error("not available now: {detail}")]
    Unavailable { detail: String, retry_after: Duration },
    /// The time budget ran out before the write was begun; nothing happened.
    #[error("the time budget ran out before the write was begun")]
    DeadlineExceeded,
    /// A search, list or count was ended.
    #[error(
        "the read took longer than {} seconds and was ended; look in a smaller namespace, or at fewer at a time",
        LIMITS.search_seconds_max
    )]
    ReadTooLong,
    /// The write was broken off while it was being made durable; it may or may not be there. `detail` is for the log.
    #[error("the database connection broke during the commit; send the same request again")]
    CommitUnknown { detail: String },
    /// The key that encrypted the tenant's content was destroyed: nobody can read it again, and nothing more is stored.
    #[error("the tenant's key was destroyed: what was stored cannot be read any more")]
    KeyDestroyed,
    /// A search has to open what is encrypted, and that is more than it may.
    #[error(
        "values are encrypted at rest, so that a search opens every candidate, and there are more than {limit}; look in a \
         smaller namespace, or list without a {field} and decide on what comes back"
    )]
    SearchNeedsPlaintext { field: &'static str, limit: u64 },
    /// A search has to open more threads than it may.
    #[error(
        "more than {limit} threads meet the other conditions, and the search would open each of them for its {field}; add conditions on \
         metadata, status, ids or times"
    )]
    SearchTooWide { field: &'static str, limit: u64 },
    /// The states of more threads have to be derived than one search may.
    #[error(
        "the states, titles and metadata of threads are still being derived, of which a search derives at most {limit}, and for a few seconds; \
         search again in a moment, or without status, q and metadata"
    )]
    ThreadsIndexing { limit: usize, retry_after: Duration },
    #[error(
        "more than {limit} threads have no UUID alias yet; ask again in a moment, or by the thread's own id"
    )]
    AliasesIndexing { limit: usize, retry_after: Duration },
    /// A vector would say what is in an encrypted value: none is kept, so none is compared.
    #[error(
        "values are encrypted at rest, and a vector would say what is in them: none is kept; search by words, filter or \
         namespace"
    )]
    VectorsNeedPlaintext { field: &'static str },
    /// Something outside of the program is in the way of a command, or of a server that starts. `detail` is a sentence for the
    /// person at the terminal.
    #[error("{detail}")]
    Obstacle { kind: Obstacle, detail: String },
    /// Stored bytes do not match their digest. Never answered with data.
    #[error("stored data is damaged: {0}")]
    Integrity(String),
    /// A defect or an unexpected answer of a backend; the cause goes to the log, not to the caller.
    #[error("internal error: {0}")]
    Internal(String),
}

/// What is in the way, by what the person at the terminal can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Another program listens there, or this machine does not have the address.
    AddressTaken,
    FileMissing,
    /// No database of ours is there yet, and this does not make one.
    DatabaseAbsent,
    /// Nothing is stored of the tenant that is named.
    TenantMissing,
    PermissionDenied,
    DiskFull,
    /// A file cannot be read or written for another reason.
    FileFailed,
    /// The database does not answer at its address.
    DatabaseAway,
    /// It does not let this user in.
    DatabaseRefused,
    DatabaseMissing,
    /// Another server uses the embedded database.
    DatabaseTaken,
}

impl Obstacle {
    /// What an error of a file says.
    pub fn of_file(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{
            NotADirectory, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
            StorageFull,
        };
        match error.kind() {
            NotFound | NotADirectory => Self::FileMissing,
            PermissionDenied | ReadOnlyFilesystem => Self::PermissionDenied,
            StorageFull | QuotaExceeded => Self::DiskFull,
            _ => Self::FileFailed,
        }
    }
}

/// A condition that held when the caller last looked and does not hold now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("the thread was restored: its generation is now {current}")]
    ThreadRestored { current: String },
    #[error("the thread's lease is held by another holder")]
    LeaseHeld,
    #[error("the fence is not the current one ({current})")]
    FenceStale { current: i64 },
    #[error("the thread exists and is not empty")]
    ThreadExists,
    /// A restore into another namespace.
    #[error("the namespace has items: {name}")]
    NamespaceExists { name: String },
    /// A restore into another key.
    #[error("the session exists")]
    SessionExists,
    /// Only for callers that reach nothing but what their subject owns: the one answer that tells them that another's
    /// thread is there.
    #[error("the thread belongs to somebody else; choose another id")]
    ThreadTaken,
    /// A value came as a difference that cannot be resolved here: its base is not known, or it does not fit.
    #[error("{field}: the difference cannot be resolved here; send the value whole")]
    ResendWhole { field: String },
    /// A part that was named is not there, or not any more.
    #[error(
        "{field}: a part of the value is not there; put its parts again, or read the checkpoint again"
    )]
    PartsMissing { field: String },
    /// The item or the details of a thread do not have the version that was asked for. 0: there are none.
    #[error("the version is {current}, not the one asked for (0: there is nothing)")]
    VersionConflict { current: i64 },
    /// The stream has moved on since the caller looked. 0: it was never written.
    #[error(
        "the stream's head is {current}, or it was compacted: it is not as it was when it was read"
    )]
    HeadMoved { current: i64 },
    /// As [`Self::ThreadTaken`].
    #[error("the session belongs to somebody else; choose another key")]
    SessionTaken,
    /// Of an import: it is here with other contents than in the file.
    #[error(
        "{noun} {name} is here already, and not as in the file; import with overwrite to replace it"
    )]
    ImportConflict { noun: &'static str, name: String },
}

impl Error {
    /// A refusal of one input field.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), detail: detail.into(), limit: None }
    }

    /// A refusal of one input field that broke a numeric bound.
    pub fn out_of_range(field: impl Into<String>, detail: impl Into<String>, limit: u64) -> Self {
        Self::Invalid { field: field.into(), detail: detail.into(), limit: Some(limit) }
    }

    /// A file that cannot be used. `what` begins the sentence.
    pub fn file(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Self::Obstacle { kind: Obstacle::of_file(error), detail: format!("{what}: {error}") }
    }

    /// The same error of an input that is a part of another one.
    #[must_use]
    pub fn within(self, outer: &str) -> Self {
        match self {
            Self::Invalid { field, detail, limit } => {
                Self::Invalid { field: format!("{outer}.{field}"), detail, limit }
            }
            Self::TooLarge { field, limit } => {
                Self::TooLarge { field: format!("{outer}.{field}"), limit }
            }
            other => other,
        }
    }

    /// Whether sending the same request again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Obstacle { .. }
                | Self::DeadlineExceeded
                | Self::NoRoom { .. }
                | Self::CommitUnknown { .. }
        )
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tenant's quota of {resource} is used up: {used} of {limit}")]
pub struct Full {
    /// One of those that `tenants/quotas.rs` names.
    pub resource: &'static str,
    pub limit: u64,
    pub used: u64,
}

/// Why a call on a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileProblem {
    NotFound,
    InvalidPath,
    OffsetPastEnd,
    /// Text is wanted of bytes.
    NotText,
    OldStringEmpty,
    StringNotFound,
    StringNotUnique,
    InvalidGlob,
    /// The item is there and is no file.
    NotAFile,
    /// An append was made for another content.
    BaseMismatch,
    Exists,
}

/// Why the file of an export is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFault {
    /// Not an export, or not as it was written.
    Damaged,
    /// It ends before its end.
    Truncated,
    /// Written by a later program.
    Version,
    /// Not signed, or not with this key.
    Signature,
}
