//! Represents a value as a difference from another one: ranges copied from a base, and bytes inserted between them. It is pure: it knows
//! lengths and digests, and no domain type. It checks every length and range before it allocates memory.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a value: its name between client and server.
pub type Digest = [u8; 32];

/// Compared at once while a common end is looked for.
const STEP_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Part of the base.
    Copy {
        offset: u64,
        length: u64,
    },
    Insert(Bytes),
}

/// How a value comes out of its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub base: Digest,
    pub pieces: Vec<Piece>,
    /// Of the result.
    pub digest: Digest,
    /// Of the result.
    pub size_bytes: u64,
}

/// Why a difference has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    #[error("its pieces do not sum to its length")]
    Length,
    #[error("a copy reaches beyond its base")]
    Range,
    #[error("the result has another digest")]
    Digest,
}

pub fn digest(data: &[u8]) -> Digest {
    Sha256::digest(data).into()
}

impl Difference {
    /// Whether the pieces sum to the length that is promised. Needs no base.
    ///
    /// # Errors
    /// `Length`, also when the sum is more than any length.
    pub fn check_length(&self) -> Result<(), DifferenceError> {
        let sum = self.pieces.iter().try_fold(0_u64, |sum, piece| sum.checked_add(piece.length()));
        if sum == Some(self.size_bytes) { Ok(()) } else { Err(DifferenceError::Length) }
    }

    /// The result. `base` is what `self.base` names.
    ///
    /// # Errors
    /// Lengths, ranges, digest: in that order, and the first two before anything is allocated.
    pub fn apply(&self, base: &[u8]) -> Result<Bytes, DifferenceError> {
        self.check_length()?;
        let parts: Vec<&[u8]> = self
            .pieces
            .iter()
            .map(|piece| piece.part(base))
            .collect::<Option<_>>()
            .ok_or(DifferenceError::Range)?;
        let result = parts.concat();
        if digest(&result) == self.digest {
            Ok(Bytes::from(result))
        } else {
            Err(DifferenceError::Digest)
        }
    }
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Copy { length, .. } => *length,
            Self::Insert(bytes) => bytes.len() as u64,
        }
    }

    fn part<'a>(&'a self, base: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Copy { offset, length } => {
                let end = usize::try_from(offset.checked_add(*length)?).ok()?;
                base.get(usize::try_from(*offset).ok()?..end)
            }
            Self::Insert(bytes) => Some(bytes),
        }
    }
}

/// What two values have in common at both ends, behind the headers of their lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    base_header: usize,
    header: usize,
    prefix: usize,
    suffix: usize,
}

impl Ends {
    pub fn of(base: &[u8], value: &[u8]) -> Self {
        let (base_header, header) = (header_length(base), header_length(value));
        let (old, new) = (&base[base_header..], &value[header..]);
        let prefix = common_prefix(old, new);
        let suffix = common_suffix(&old[prefix..], &new[prefix..]);
        Self { base_header, header, prefix, suffix }
    }

    /// Bytes of the value that need not travel.
    pub fn common(self) -> usize {
        self.prefix + self.suffix
    }

    /// The pieces that make `value` of `base`, the two that these are the ends of.
    pub fn pieces(self, base: &[u8], value: &Bytes) -> Vec<Piece> {
        let middle = self.header + self.prefix..value.len() - self.suffix;
        let copy = |offset: usize, length: usize| Piece::Copy {
            offset: offset as u64,
            length: length as u64,
        };
        let pieces = [
            Piece::Insert(value.slice(..self.header)),
            copy(self.base_header, self.prefix),
            Piece::Insert(value.slice(middle)),
            copy(base.len() - self.suffix, self.suffix),
        ];
        pieces.into_iter().filter(|it| it.length() > 0).collect()
    }
}

/// Length of the header of a MessagePack list or map: it holds the count, so it changes when an entry is added.
/// 0 for other bytes, so that a list and its first entry alone are alike.
pub fn header_length(data: &[u8]) -> usize {
    let length = match data.first() {
        Some(0x80..=0x9f) => 1,
        Some(0xdc | 0xde) => 3,
        Some(0xdd | 0xdf) => 5,
        _ => 0,
    };
    length.min(data.len())
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let steps = a.chunks_exact(STEP_BYTES).zip(b.chunks_exact(STEP_BYTES));
    let whole = steps.take_while(|(a, b)| a == b).count() * STEP_BYTES;
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let steps = a.rchunks_exact(STEP_BYTES).zip(b.rchunks_exact(STEP_BYTES));
    let whole = steps.take_while(|(a, b)| a == b).count() * STEP_BYTES;
    let (a, b) = (&a[..a.len() - whole], &b[..b.len() - whole]);
    whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn of(base: &[u8], pieces: Vec<Piece>, value: &[u8]) -> Difference {
        let size_bytes = value.len() as u64;
        Difference { base: digest(base), pieces, digest: digest(value), size_bytes }
    }

    fn copy(offset: u64, length: u64) -> Piece {
        Piece::Copy { offset, length }
    }

    fn insert(text: &'static [u8]) -> Piece {
        Piece::Insert(Bytes::from_static(text))
    }

    #[test]
    fn pieces_are_joined_in_their_order() {
        let pieces = vec![copy(6, 5), insert(b", "), copy(0, 5), copy(0, 0), insert(b"")];
        let difference = of(b"hello world", pieces, b"world, hello");
        assert_eq!(difference.apply(b"hello world").unwrap(), b"world, hello"[..]);
    }

    #[test]
    fn what_does_not_fit_has_no_result() {
        let good = of(b"base", vec![copy(0, 4), insert(b"!")], b"base!");
        let lying = Difference { size_bytes: 6, ..good.clone() };
        assert_eq!(lying.apply(b"base"), Err(DifferenceError::Length));
        let other = Difference { digest: [0; 32], ..good.clone() };
        assert_eq!(other.apply(b"base"), Err(DifferenceError::Digest));
        assert_eq!(good.apply(b"bass"), Err(DifferenceError::Digest));
        assert_eq!(good.apply(b"bas"), Err(DifferenceError::Range));
        for (offset, length) in [(1, 4), (5, 4), (u64::MAX, 4), (4, u64::MAX)] {
            let far = Difference {
                pieces: vec![copy(offset, length)],
                size_bytes: length,
                ..good.clone()
            };
            assert_eq!(far.apply(b"base"), Err(DifferenceError::Range), "{offset} {length}");
        }
        let endless = Difference { pieces: vec![copy(0, u64::MAX); 2], ..good };
        assert_eq!(endless.apply(b"base"), Err(DifferenceError::Length));
    }

    #[test]
    fn a_list_that_grows_past_the_size_of_its_header_keeps_its_entries() {
        let entries = vec![0xa5; 300];
        let base = [&[0x9f][..], &entries].concat();
        let value = Bytes::from([&[0xdc, 0, 16][..], &entries, b"new"].concat());
        let ends = Ends::of(&base, &value);
        assert_eq!(ends.common(), 300);
        let pieces = ends.pieces(&base, &value);
        assert_eq!(
            pieces,
            [Piece::Insert(value.slice(..3)), copy(1, 300), Piece::Insert(value.slice(303..)),]
        );
        assert_eq!(of(&base, pieces, &value).apply(&base).unwrap(), value);
    }

    proptest! {
        /// Whatever was cut out of a value and put in: the ends give it back.
        #[test]
        fn ends_give_the_value_back(
            base in vec(0_u8..3, 0..400), cut in (0_usize..400, 0_usize..400), new in vec(0_u8..3, 0..100),
            header in prop::sample::select(vec![0x91_u8, 0xdc, 0xdd, 0xc4]),
        ) {
            let base = [&[header][..], &base].concat();
            let (one, two) = (cut.0.min(base.len()), cut.1.min(base.len()));
            let value = [&base[..one.min(two)], &new, &base[one.max(two)..]].concat();
            let value = Bytes::from(value);
            let ends = Ends::of(&base, &value);
            let difference = of(&base, ends.pieces(&base, &value), &value);
            prop_assert!(difference.pieces.len() <= 4);
            prop_assert_eq!(difference.apply(&base).unwrap(), value);
        }

        /// Against the plainest way to do it, for pieces of every kind, legal or not.
        #[test]
        fn apply_does_what_the_pieces_say(
            base in vec(any::<u8>(), 0..200),
            pieces in vec(prop_oneof![
                (0_u64..250, 0_u64..250).prop_map(|(offset, length)| Piece::Copy { offset, length }),
                vec(any::<u8>(), 0..50).prop_map(|it| Piece::Insert(Bytes::from(it))),
            ], 0..8),
        ) {
            let mut expected = Some(Vec::new());
            let mut size_bytes = 0;
            for piece in &pieces {
                size_bytes += piece.length();
                match piece {
                    Piece::Insert(bytes) => expected = expected.map(|it| [&it[..], bytes].concat()),
                    Piece::Copy { offset, length } if offset + length <= base.len() as u64 => {
                        let from = usize::try_from(*offset).unwrap();
                        let count = usize::try_from(*length).unwrap();
                        let part = base.iter().skip(from).take(count);
                        expected = expected.map(|it| it.into_iter().chain(part.copied()).collect());
                    }
                    Piece::Copy { .. } => expected = None,
                }
            }
            let name = digest(expected.as_deref().unwrap_or_default());
            let difference = Difference { base: digest(&base), pieces, digest: name, size_bytes };
            let applied = difference.apply(&base);
            prop_assert_eq!(applied.as_deref(), expected.as_deref().ok_or(&DifferenceError::Range));
        }
    }
}
