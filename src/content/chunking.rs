//! Splits values into content-defined chunks. A value that grew by a message keeps the earlier chunks and adds a few new ones.

use fastcdc::v2020::FastCDC;

/// Values up to this many bytes are not split: a chunk's row would cost more than it saves. With 1,024 what is measured
/// below takes 1.54 and 1.52 MB.
pub const WHOLE_BYTES_MAX: usize = 2_048;
/// What a list's count may take at the start of a MessagePack array: it changes with every message, so it stands
/// outside the chunks.
pub const HEAD_BYTES: usize = 5;
/// From this size on a value is cut into larger chunks: a list of four times as many would be read for each state.
/// A value that grows past it is stored anew once.
pub const LARGE_BYTES_MIN: usize = 1 << 20;
/// No chunk is smaller, and none larger.
pub const CHUNK_BYTES_MIN: usize = SMALL.min;
pub const CHUNK_BYTES_MAX: usize = LARGE.max;

/// Measured on disk, everything included, for 200 turns of a chat and 20 turns of an agent in JavaScript (bench
/// README): 512 bytes on average 1.56 and 1.49 MB, 1 KiB 1.49 and 1.49 MB, 2 KiB 1.66 and 1.75 MB. Smaller chunks make
/// more rows and longer lists, larger ones a longer foot, which every version stores again.
const SMALL: Sizes = Sizes { min: 256, average: 1_024, max: 4_096 };
const LARGE: Sizes = Sizes { min: 1_024, average: 4_096, max: 16_384 };

/// Bytes of a chunk.
struct Sizes {
    min: usize,
    average: usize,
    max: usize,
}

/// A value taken apart: `head`, then `chunks`, then `foot`.
#[derive(Debug, PartialEq, Eq)]
pub struct Split<'a> {
    pub head: &'a [u8],
    pub chunks: Vec<&'a [u8]>,
    /// What follows the last boundary: the place where a list grows.
    pub foot: &'a [u8],
}

/// Splits a value; None for one that is kept whole. The same bytes are always split in the same way.
pub fn split(data: &[u8]) -> Option<Split<'_>> {
    if data.len() <= WHOLE_BYTES_MAX {
        return None;
    }
    let (head, rest) = data.split_at(HEAD_BYTES);
    let Sizes { min, average, max } = if data.len() < LARGE_BYTES_MIN { SMALL } else { LARGE };
    let cuts = FastCDC::new(rest, min, average, max);
    let mut chunks: Vec<&[u8]> =
        cuts.map(|cut| &rest[cut.offset..cut.offset + cut.length]).collect();
    let foot = chunks.pop().unwrap_or_default();
    Some(Split { head, chunks, foot })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..length).map(|_| next()).collect()
    }

    proptest! {
        #[test]
        fn the_pieces_in_order_are_the_value(seed: u64, length in 0..60_000_usize) {
            let data = noise(seed, length);
            match split(&data) {
                None => prop_assert!(length <= WHOLE_BYTES_MAX),
                Some(split) => {
                    let joined = [&[split.head][..], &split.chunks, &[split.foot]].concat().concat();
                    prop_assert_eq!(&joined, &data);
                    let bounded = |it: &&[u8]| (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&it.len());
                    prop_assert!(split.chunks.iter().all(bounded));
                    prop_assert!(split.foot.len() <= CHUNK_BYTES_MAX);
                }
            }
        }

        #[test]
        fn a_value_that_grows_keeps_its_chunks(seed: u64, more in 1..5_000_usize) {
            let data = noise(seed, 40_000 + more);
            let before = split(&data[..40_000]).unwrap();
            let after = split(&data).unwrap();
            prop_assert_eq!(&before.chunks[..], &after.chunks[..before.chunks.len()]);
        }
    }

    proptest! {
        // How many are new is a matter of chance. The rule that cuts is what is tried here, not whether there is a worse case.
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn what_is_inserted_changes_few_chunks(seed: u64, at in 1_000..39_000_usize) {
            let data = noise(seed, 40_000);
            let changed = [&data[..at], b"a message", &data[at..]].concat();
            let before: HashSet<&[u8]> = split(&data).unwrap().chunks.into_iter().collect();
            let after = split(&changed).unwrap().chunks;
            let new = after.iter().filter(|it| !before.contains(**it)).count();
            prop_assert!(new <= 12, "{} of {} chunks are new", new, after.len());
        }
    }
}
