//! Reads tar archives from a stream and hands out regular files. It skips folders, and refuses any other member, because it could become
//! something else where it is unpacked. The first bytes determine the compression: gzip, zstd or none. Calls block, and keep no more than a
//! step of an archive in memory.
//!
//! **Invariant:** every member passes the checks of `member.rs` before any of it is handed out. The output of a decoder is counted before
//! it is read.

mod decoding;
mod folding;
mod member;
pub mod whole;

use std::io::Read;

use bytes::Bytes;
use tar::Archive;

use self::member::{Extensions, Member, check_global};

/// Bytes that are handed out at a time.
const STEP_BYTES: usize = 64 << 10;
/// Headers in front of a member: its long name and its extensions.
const EXTENSION_BYTES_MAX: u64 = 64 << 10;

/// What an archive may be.
#[derive(Debug, Clone, Copy)]
pub struct TarLimits {
    pub members_max: u64,
    /// Of the archive, unpacked.
    pub decoded_bytes_max: u64,
    /// Unpacked by packed.
    pub ratio_max: u64,
    pub path_bytes_max: usize,
}

/// What is in an archive, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A file begins: its relative path and its size.
    File {
        path: String,
        size_bytes: u64,
    },
    Bytes(Bytes),
    /// The file is whole.
    End,
}

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The member is named, as far as it has a name.
    #[error("member {member:?} of the archive {reason}")]
    Member { member: String, reason: &'static str },
    #[error("member {member:?} of the archive has a path that is too long: at most {limit} bytes")]
    PathTooLong { member: String, limit: u64 },
    /// The number counts members from 1.
    #[error(
        "member {member:?} of the archive has the name of member {other}, or of a folder above it, on file systems without \
         case or with Unicode normalization"
    )]
    Twins { member: String, other: u32 },
    #[error("the archive has more than {0} members")]
    Members(u64),
    #[error("the archive has more than {0} links")]
    Links(u64),
    #[error("the archive has more than {0} bytes when it is unpacked")]
    Decoded(u64),
    #[error("the archive unpacks to more than {0} times its size")]
    Ratio(u64),
    #[error("the archive cannot be read: it is damaged, cut off, or no tar")]
    Damaged,
    /// Whoever takes the pieces wants no more.
    #[error("the archive was not read to its end")]
    Stopped,
}

/// Reads an archive to its end. `take` answers whether it wants more.
///
/// # Errors
/// What is wrong with it; what was taken before it was found stays with `take`.
pub fn read<'i>(
    input: impl Read + 'i,
    limits: TarLimits,
    mut take: impl FnMut(Piece) -> bool,
) -> Result<(), TarError> {
    let (decoded, over) = decoding::decoded(input, limits)?;
    let result = read_members(decoded, limits, &mut take);
    over.found(limits).map_or(result, Err)
}

fn read_members(
    input: impl Read,
    limits: TarLimits,
    take: &mut dyn FnMut(Piece) -> bool,
) -> Result<(), TarError> {
    let mut archive = Archive::new(input);
    let entries = archive.entries().map_err(|_| TarError::Damaged)?;
    let (mut members, mut before) = (0, Extensions::default());
    // Raw: extensions are read here, within limits.
    for entry in entries.raw(true) {
        let mut entry = entry.map_err(|_| TarError::Damaged)?;
        members += 1;
        if members > limits.members_max {
            return Err(TarError::Members(limits.members_max));
        }
        let kind = entry.header().entry_type();
        // Where no link may be, none has a long name.
        if Extensions::are_in(kind) && !kind.is_gnu_longlink() {
            let body = extension(&mut entry)?;
            before.add(kind, &body)?;
            continue;
        }
        if kind.is_pax_global_extensions() {
            check_global(&extension(&mut entry)?)?;
            continue;
        }
        let member = Member::of(entry.header(), std::mem::take(&mut before))?;
        if !member.is_file(entry.header(), limits)? {
            continue;
        }
        let size_bytes = member.size_bytes;
        if !take(Piece::File { path: member.path, size_bytes }) {
            return Err(TarError::Stopped);
        }
        let mut left = size_bytes;
        while left > 0 {
            let mut step = vec![0; usize::try_from(left).unwrap_or(STEP_BYTES).min(STEP_BYTES)];
            entry.read_exact(&mut step).map_err(|_| TarError::Damaged)?;
            left -= step.len() as u64;
            if !take(Piece::Bytes(step.into())) {
                return Err(TarError::Stopped);
            }
        }
        if !take(Piece::End) {
            return Err(TarError::Stopped);
        }
    }
    if before.is_empty() { Ok(()) } else { Err(TarError::Damaged) }
}

fn extension(entry: &mut impl Read) -> Result<Vec<u8>, TarError> {
    let mut body = Vec::new();
    let read = entry.take(EXTENSION_BYTES_MAX + 1).read_to_end(&mut body);
    let length = read.map_err(|_| TarError::Damaged)? as u64;
    let reason = "has a name or extensions that are too long";
    let too_long = || TarError::Member { member: String::new(), reason };
    if length > EXTENSION_BYTES_MAX { Err(too_long()) } else { Ok(body) }
}

#[cfg(test)]
mod tests;
