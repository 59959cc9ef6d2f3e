//! Checks archives that are stored as they are. Every decompressed byte is passed on, and every member is checked meanwhile. Archives that
//! could mislead the program that unpacks them are refused.
//!
//! **Invariant:** with [`Links::Inside`], following the links of an archive never leaves the folder it is unpacked in. No member is below a
//! link. A link target goes up only at its beginning, and at most to the top. This also holds on file systems without case or with Unicode
//! normalization: two names that are equal there are refused.

use std::collections::HashSet;
use std::io::{self, Read};

use tar::{Archive, Entry};

use super::decoding::decoded;
use super::folding::{Names, folded};
use super::member::{Extensions, Kind, Member, check_global, is_absolute, names};
use super::{TarError, TarLimits, extension};

/// Two blocks of zeros end an archive.
const END_BYTES: u64 = 2 * BLOCK_BYTES;
const BLOCK_BYTES: u64 = 512;
/// Folders above a member.
const DEPTH_MAX: usize = 256;
const STEP_BYTES: usize = 64 << 10;

/// Which links an archive may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Those that lead to something inside of it; so many at most.
    Inside(u64),
    /// Whatever they say.
    Any,
}

/// What an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Unpacked.
    pub size_bytes: u64,
    /// Members but for folders.
    pub file_count: u64,
}

/// Reads an archive to its end. `take` gets its bytes without the packing, and answers whether it wants more.
///
/// # Errors
/// What is wrong with it; what was taken before it was found stays with `take`.
pub fn read(
    input: impl Read,
    limits: TarLimits,
    links: Links,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<Whole, TarError> {
    let (inner, over) = decoded(input, limits)?;
    let mut tee = Tee { inner, take: &mut take, size_bytes: 0, stopped: false };
    let result = read_members(&mut tee, limits, links);
    if tee.stopped {
        return Err(TarError::Stopped);
    }
    over.found(limits).map_or(result, Err)
}

fn read_members(
    tee: &mut Tee<'_, impl Read>,
    limits: TarLimits,
    links: Links,
) -> Result<Whole, TarError> {
    let (mut members, mut file_count, mut end) = (0, 0, 0);
    let mut before = Extensions::default();
    let mut seen = Seen { links, known: HashSet::new(), names: Names::default() };
    let mut archive = Archive::new(&mut *tee);
    for entry in archive.entries().map_err(|_| TarError::Damaged)?.raw(true) {
        let mut entry = entry.map_err(|_| TarError::Damaged)?;
        members += 1;
        if members > limits.members_max {
            return Err(TarError::Members(limits.members_max));
        }
        let length = entry.size().checked_next_multiple_of(BLOCK_BYTES);
        let length = length.and_then(|it| it.checked_add(entry.raw_file_position()));
        end = length.ok_or(TarError::Damaged)?;
        let kind = entry.header().entry_type();
        if Extensions::are_in(kind) {
            let body = extension(&mut entry)?;
            before.add(kind, &body)?;
        } else if kind.is_pax_global_extensions() {
            check_global(&extension(&mut entry)?)?;
        } else {
            let member = Member::of(entry.header(), std::mem::take(&mut before))?;
            file_count += u64::from(seen.add(&entry, member, members, limits)?);
        }
    }
    if !before.is_empty() {
        return Err(TarError::Damaged);
    }
    tee.skip_zeros(end)?;
    // Cut off between two members it would look whole.
    if tee.size_bytes < end + END_BYTES || !tee.size_bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(TarError::Damaged);
    }
    Ok(Whole { size_bytes: tee.size_bytes, file_count })
}

/// What came by.
struct Seen {
    links: Links,
    names: Names,
    /// The links.
    /// Digests of their paths: an archive must not decide how much memory it takes to be looked at.
    known: HashSet<[u8; 16]>,
}

impl Seen {
    /// Whether it is more than a folder.
    fn add(
        &mut self,
        entry: &Entry<'_, impl Read>,
        member: Member,
        number: u64,
        limits: TarLimits,
    ) -> Result<bool, TarError> {
        let kind = member.kind(entry.header(), limits)?;
        let Links::Inside(links_max) = self.links else { return Ok(kind != Kind::Folder) };
        let depth = names(&member.path).count();
        if depth > DEPTH_MAX {
            return Err(member.refusal("lies in too many folders"));
        }
        if self.is_behind(&member.path) {
            return Err(member.refusal("lies behind a link"));
        }
        self.names.add(&member.path, number, limits)?;
        match &kind {
            Kind::File => {}
            Kind::Folder => return Ok(false),
            Kind::Symlink(target) if stays_inside(target, depth.saturating_sub(1)) => {
                if self.known.len() as u64 >= links_max {
                    return Err(TarError::Links(links_max));
                }
                self.known.extend(digests(&member.path).last());
            }
            Kind::Symlink(_) => return Err(member.refusal("is a link that leads outside")),
            Kind::HardLink(target) => {
                let is_link = digests(target).last().is_some_and(|it| self.known.contains(&it));
                // Another name of a link would lead from another place.
                if !stays_inside(target, 0) || is_link || self.is_behind(target) {
                    return Err(member.refusal("is a link that leads outside"));
                }
            }
        }
        Ok(true)
    }

    fn is_behind(&self, path: &str) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let above = names(path).count().saturating_sub(1);
        digests(path).take(above).any(|it| self.known.contains(&it))
    }
}

/// Of a path and of all that are above it, the top one first. Paths that are one where case or normalization does not count have
/// the same.
fn digests(path: &str) -> impl Iterator<Item = [u8; 16]> {
    let mut hash = blake3::Hasher::new();
    names(path).map(move |name| {
        hash.update(b"/").update(folded(name).as_bytes());
        let digest = hash.finalize();
        std::array::from_fn(|at| digest.as_bytes()[at])
    })
}

/// Up as far as there are folders, and then only down: what is between two names might be a link, and above that is
/// somewhere else.
fn stays_inside(target: &str, folders: usize) -> bool {
    let up = names(target).take_while(|it| *it == "..").count();
    let legal = |it: &str| it != ".." && !it.contains(['\0', '\\']);
    !target.is_empty()
        && !is_absolute(target)
        && target.len() <= 4_096
        && up <= folders
        && names(target).skip(up).all(legal)
}

/// Hands on what is read.
struct Tee<'t, R> {
    inner: R,
    take: &'t mut dyn FnMut(&[u8]) -> bool,
    size_bytes: u64,
    stopped: bool,
}

impl<R: Read> Tee<'_, R> {
    /// Reads to the end, so that what the packing says of itself is checked; behind `end` there is nothing but zeros.
    fn skip_zeros(&mut self, end: u64) -> Result<(), TarError> {
        let mut step = vec![0; STEP_BYTES];
        loop {
            let before = self.size_bytes;
            let read = self.read(&mut step).map_err(|_| TarError::Damaged)?;
            if read == 0 {
                return Ok(());
            }
            let ignored = usize::try_from(end.saturating_sub(before)).unwrap_or(read).min(read);
            if step[ignored..read].iter().any(|it| *it != 0) {
                return Err(TarError::Damaged);
            }
        }
    }
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.size_bytes += read as u64;
        if read > 0 && !(self.take)(&buffer[..read]) {
            self.stopped = true;
            return Err(io::Error::other("nobody takes it"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
