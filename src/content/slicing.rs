//! Cuts file contents, which may be larger than memory, into large content-defined chunks. Contents arrive in slices, and each slice is
//! cut. Equal stretches of two files then have equal chunks.

use fastcdc::v2020::FastCDC;

use super::parts::{NAME_BYTES, Name, PART_BYTES};

/// No chunk of a file is larger, unless it is packed badly: also a bound for whoever opens one.
pub const FILE_CHUNK_BYTES_MAX: usize = 256 << 10;
const FILE_CHUNK_BYTES_MIN: usize = 64 << 10;
const FILE_CHUNK_BYTES: usize = 128 << 10;
/// An entry of a list that names a chunk with content; see [`super::parts`].
const LEAF: u8 = 0;

/// The chunks of a slice, in its order. The same bytes are always cut in the same way.
pub fn cut(slice: &[u8]) -> Vec<&[u8]> {
    let cuts = FastCDC::new(slice, FILE_CHUNK_BYTES_MIN, FILE_CHUNK_BYTES, FILE_CHUNK_BYTES_MAX);
    cuts.map(|cut| &slice[cut.offset..cut.offset + cut.length]).collect()
}

/// How many bytes of the beginning of something longer are whole chunks of it. Slices that end there are cut, one after the
/// other, as the whole would be: what is put in or taken out changes the chunks around it, wherever slices begin and end.
pub fn whole_chunks(beginning: &[u8]) -> usize {
    let last = cut(beginning).last().map_or(0, |it| it.len());
    beginning.len() - last
}

/// The stored list of these names. It is short, so it has no nodes.
pub fn list(names: &[Name]) -> Vec<u8> {
    let mut list = Vec::with_capacity(names.len() * PART_BYTES);
    for name in names {
        list.push(LEAF);
        list.extend_from_slice(name);
    }
    debug_assert_eq!(list.len(), names.len() * (1 + NAME_BYTES));
    list
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::content::keys::TenantSecret;
    use crate::content::parts::{Part, read};

    const SLICE_BYTES: usize = 2 << 20;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn chunks_make_the_slice_and_none_is_too_large() {
        for length in [0, 1, FILE_CHUNK_BYTES_MIN, SLICE_BYTES] {
            let slice = noise(length);
            let chunks = cut(&slice);
            assert_eq!(chunks.concat(), slice);
            assert!(chunks.iter().all(|it| it.len() <= FILE_CHUNK_BYTES_MAX));
        }
    }

    #[test]
    fn a_slice_that_changed_at_its_start_keeps_most_chunks() {
        let before = noise(SLICE_BYTES);
        let after = [b"a line more\n", &before[..]].concat();
        let kept: HashSet<&[u8]> = cut(&before).into_iter().collect();
        let chunks = cut(&after);
        let shared = chunks.iter().filter(|it| kept.contains(*it)).count();
        assert!(shared + 3 >= chunks.len(), "{shared} of {}", chunks.len());
    }

    #[test]
    fn slices_of_whole_chunks_are_cut_like_the_whole() {
        let before = noise(5 * SLICE_BYTES / 2);
        let after = [&before[..100_000], b"a line more\n", &before[100_000..]].concat();
        let in_slices = |bytes: &[u8]| {
            let (mut chunks, mut rest) = (Vec::new(), bytes);
            while rest.len() > SLICE_BYTES {
                let (slice, behind) = rest.split_at(whole_chunks(&rest[..SLICE_BYTES]));
                chunks.extend(cut(slice).into_iter().map(<[u8]>::to_vec));
                rest = behind;
            }
            chunks.extend(cut(rest).into_iter().map(<[u8]>::to_vec));
            chunks
        };
        for bytes in [&before, &after] {
            assert_eq!(
                in_slices(bytes),
                cut(bytes).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
            );
        }
        let kept: HashSet<Vec<u8>> = in_slices(&before).into_iter().collect();
        let new = in_slices(&after).iter().filter(|it| !kept.contains(*it)).count();
        assert!(new <= 2, "{new}");
    }

    #[test]
    fn the_list_of_a_slice_is_a_list_like_others() {
        let secret = TenantSecret::new([9; 32]);
        let names: Vec<Name> = (0..20_u32).map(|at| secret.name(&at.to_le_bytes())).collect();
        let parts = read(&list(&names)).unwrap();
        assert_eq!(parts, names.iter().map(|it| Part::Leaf(*it)).collect::<Vec<_>>());
    }
}
