//! Finds names in an archive that are equal on file systems without case or with Unicode normalization, as on macOS and Windows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher as _, Hasher as _};

use unicode_normalization::UnicodeNormalization as _;

use super::member::names;
use super::{TarError, TarLimits};

/// Folders that any archive may have.
const FEW_FOLDERS: u64 = 256;

/// Paths of an archive's members and of the folders above them.
#[derive(Default)]
pub struct Names {
    /// By the hash of the folded path: half a hash of the path itself, and the number of the member it came with. Hashes, because
    /// an archive must not decide how much memory it takes to be looked at; with a random key, so that nobody can aim at them.
    known: HashMap<u64, (u32, u32)>,
    key: RandomState,
}

impl Names {
    /// `number`: the member's place in the archive, from 1.
    ///
    /// # Errors
    /// `Twins` where the path or a folder above it was there under another name; `Members` for too many folders.
    pub fn add(&mut self, path: &str, number: u64, limits: TarLimits) -> Result<(), TarError> {
        let (mut alike, mut same) = (self.key.build_hasher(), self.key.build_hasher());
        // Of an honest archive most folders have more than one member.
        let most = limits.members_max.saturating_mul(2).saturating_add(FEW_FOLDERS);
        for name in names(path) {
            alike.write(folded(name).as_bytes());
            alike.write_u8(b'/');
            same.write(name.as_bytes());
            same.write_u8(b'/');
            #[expect(clippy::cast_possible_truncation, reason = "half of the hash is enough")]
            let half = same.finish() as u32;
            let is_full = self.known.len() as u64 >= most;
            match self.known.entry(alike.finish()) {
                Entry::Occupied(found) if found.get().0 == half => {}
                Entry::Occupied(found) => {
                    let (member, other) = (path.to_owned(), found.get().1);
                    return Err(TarError::Twins { member, other });
                }
                Entry::Vacant(_) if is_full => return Err(TarError::Members(limits.members_max)),
                Entry::Vacant(free) => {
                    free.insert((half, u32::try_from(number).unwrap_or(u32::MAX)));
                }
            }
        }
        Ok(())
    }
}

/// The same for names that differ in case or normalization only, or in what has no width.
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        let has_case = name.bytes().any(|it| it.is_ascii_uppercase());
        return if has_case { name.to_ascii_lowercase().into() } else { name.into() };
    }
    let is_seen = |it: &char| !matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    // By way of its capitals a letter comes together with all that share them.
    let letters = name.nfd().filter(is_seen).flat_map(char::to_uppercase);
    letters.flat_map(char::to_lowercase).nfd().collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_or_form_only_are_folded_to_one() {
        for (one, other) in [
            ("README", "readme"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("CAFE\u{301}", "caf\u{e9}"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{3a3}\u{3c2}", "\u{3c3}\u{3c3}"),
            ("\u{212a}", "k"),
            (".g\u{200c}it", ".GIT"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} {other}");
        }
        assert_ne!(folded("a"), folded("b"));
        assert_ne!(folded("e"), folded("\u{e9}"));
    }
}
