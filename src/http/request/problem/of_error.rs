//! Gives each error of the domain, and each refusal of a caller, its code.

use std::time::Duration;

use super::{Code, Problem};
use crate::auth::Refusal;
use crate::domain::error::{FileFault, FileProblem};
use crate::domain::limits::LIMITS;
use crate::domain::sessions::{DOCUMENT, SESSION};
use crate::domain::snapshots::SNAPSHOT;
use crate::domain::snapshots::archives::ARCHIVE;
use crate::domain::threads::thread::THREAD;
use crate::domain::{Conflict, Error};

/// A place among the followers of the change feed comes free when one of them leaves.
const FOLLOW_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// A disk may have room again.
const OBSTACLE_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid { field, limit, .. } => {
                Self { limit, ..Self::new(Code::Invalid, text).at(field) }
            }
            Error::TooLarge { field, limit } => {
                Self::new(Code::TooLarge, text).at(field).limited(limit)
            }
            Error::Conflict(conflict) => {
                let problem = Self::new(code_of(&conflict), text);
                match conflict {
                    Conflict::ResendWhole { field } | Conflict::PartsMissing { field } => {
                        problem.at(field)
                    }
                    Conflict::VersionConflict { current } | Conflict::HeadMoved { current } => {
                        Self { current_version: Some(current), ..problem }
                    }
                    _ => problem,
                }
            }
            Error::ComesInParts { .. } => Self::new(Code::TooLarge, text)
                .at("value_parts")
                .limited(LIMITS.value_inline_bytes_max),
            Error::ValuesTooLarge { limit } => {
                Self::new(Code::TooLarge, text).at("value_parts").limited(limit)
            }
            Error::BaseTooLarge { limit } => Self::new(Code::TooLarge, text).limited(limit),
            Error::NoRoom { limit } => Self::new(Code::Overloaded, text).limited(limit),
            Error::QuotaExceeded(full) => {
                Self::new(Code::QuotaExceeded, text).at(full.resource).limited(full.limit)
            }
            Error::TooManyRequests { limit, retry_after, .. } => Self {
                retry_after: Some(retry_after),
                ..Self::new(Code::TooManyRequests, text).limited(limit)
            },
            Error::TooManyFollowers { limit, .. } | Error::TooManyStreams { limit, .. } => Self {
                retry_after: Some(FOLLOW_AGAIN_AFTER),
                ..Self::new(Code::TooManyRequests, text).limited(limit)
            },
            Error::ValueTooLarge => Self::new(Code::ValueTooLarge, text),
            Error::File { problem, .. } => {
                let answer = Self::new(code_of_file(problem), text);
                if problem == FileProblem::InvalidPath { answer.at("path") } else { answer }
            }
            Error::Glob { field, limit, .. } => {
                Self::new(Code::InvalidGlob, text).at(field).limited(limit)
            }
            Error::PositionGone => Self::new(Code::PositionGone, text),
            Error::NotGranted(_) => Self::new(Code::NotGranted, text),
            Error::NotFound(SESSION) => Self::new(Code::SessionNotFound, text),
            Error::NotFound(SNAPSHOT) => Self::new(Code::SnapshotNotFound, text),
            Error::NotFound(ARCHIVE) => Self::new(Code::ArchiveNotFound, text),
            Error::NotFound(THREAD) => Self::new(Code::ThreadNotFound, text),
            Error::NotFound(DOCUMENT) => Self::new(Code::DocumentNotFound, text),
            Error::NotFound(_) => Self::new(Code::NotFound, text),
            Error::Export { fault, .. } => Self::new(code_of_fault(fault), text),
            Error::IdempotencyMismatch => {
                Self::new(Code::IdempotencyMismatch, text).at("Idempotency-Key")
            }
            Error::SnapshotIdTaken => Self::new(Code::IdempotencyMismatch, text).at("snapshot_id"),
            Error::Unavailable { retry_after, .. } => Self {
                retry_after: Some(retry_after),
                cause: Some(text.into()),
                ..Self::new(Code::Unavailable, "the storage is not available now; try again")
            },
            Error::Obstacle { .. } => Self {
                retry_after: Some(OBSTACLE_AGAIN_AFTER),
                is_obstacle: true,
                cause: Some(text.into()),
                ..Self::new(Code::Unavailable, "the storage is not available now; try again")
            },
            Error::DeadlineExceeded | Error::ReadTooLong => Self::new(Code::DeadlineExceeded, text),
            Error::CommitUnknown { detail } => {
                Self { cause: Some(detail.into()), ..Self::new(Code::CommitUnknown, text) }
            }
            Error::SearchNeedsPlaintext { field, limit } => {
                Self::new(Code::SearchNeedsPlaintext, text).at(field).limited(limit)
            }
            Error::SearchTooWide { field, limit } => {
                Self::new(Code::SearchTooWide, text).at(field).limited(limit)
            }
            Error::VectorsNeedPlaintext { field } => {
                Self::new(Code::SearchNeedsPlaintext, text).at(field)
            }
            Error::ThreadsIndexing { retry_after, .. }
            | Error::AliasesIndexing { retry_after, .. } => {
                Self { retry_after: Some(retry_after), ..Self::new(Code::ThreadsIndexing, text) }
            }
            Error::KeyDestroyed => Self::new(Code::KeyDestroyed, text),
            Error::Integrity(_) | Error::Internal(_) => Self::internal(text),
        }
    }
}

fn code_of(conflict: &Conflict) -> Code {
    match conflict {
        Conflict::ThreadRestored { .. } => Code::ThreadRestored,
        Conflict::LeaseHeld => Code::LeaseHeld,
        Conflict::FenceStale { .. } => Code::FenceStale,
        Conflict::ThreadExists => Code::ThreadExists,
        Conflict::NamespaceExists { .. } => Code::NamespaceExists,
        Conflict::SessionExists => Code::SessionExists,
        Conflict::ThreadTaken => Code::ThreadTaken,
        Conflict::ResendWhole { .. } => Code::ResendWhole,
        Conflict::PartsMissing { .. } => Code::PartsMissing,
        Conflict::VersionConflict { .. } => Code::VersionConflict,
        Conflict::HeadMoved { .. } => Code::HeadMoved,
        Conflict::SessionTaken => Code::SessionTaken,
        Conflict::ImportConflict { .. } => Code::ImportConflict,
    }
}

fn code_of_fault(fault: FileFault) -> Code {
    match fault {
        FileFault::Damaged => Code::ExportDamaged,
        FileFault::Truncated => Code::ExportTruncated,
        FileFault::Version => Code::ExportVersion,
        FileFault::Signature => Code::ExportSignature,
    }
}

fn code_of_file(problem: FileProblem) -> Code {
    match problem {
        FileProblem::NotFound => Code::FileNotFound,
        FileProblem::InvalidPath => Code::InvalidPath,
        FileProblem::OffsetPastEnd => Code::OffsetPastEnd,
        FileProblem::NotText => Code::NotText,
        FileProblem::OldStringEmpty => Code::OldStringEmpty,
        FileProblem::StringNotFound => Code::StringNotFound,
        FileProblem::StringNotUnique => Code::StringNotUnique,
        FileProblem::InvalidGlob => Code::InvalidGlob,
        FileProblem::NotAFile => Code::NotAFile,
        FileProblem::BaseMismatch => Code::BaseMismatch,
        FileProblem::Exists => Code::FileExists,
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Unauthorized(_) => Code::Unauthorized,
            Refusal::KeyExpired { .. } => Code::KeyExpired,
            Refusal::TokenExpired { .. } => Code::TokenExpired,
            Refusal::TokenRevoked => Code::TokenRevoked,
            Refusal::ForbiddenHost => Code::ForbiddenHost,
            Refusal::ForbiddenOrigin => Code::ForbiddenOrigin,
            Refusal::ForbiddenForwarding => Code::ForbiddenForwarding,
            Refusal::Stale | Refusal::TooManyLookups | Refusal::IssuerAway => Code::Unavailable,
        };
        Self::new(code, refusal.to_string())
    }
}
