//! Computes the memory that the frames of a zstd body ask for, from their headers, before any of it is unpacked.

/// The largest window that a frame asks for (RFC 8878, 3.1.1.1), as far as it may have one.
pub fn largest_bytes(mut packed: &[u8], log_max: u32) -> usize {
    let mut largest = 0;
    while !packed.is_empty() {
        largest = largest.max(frame_window_bytes(packed).min(1 << log_max));
        // What is no frame is refused where it is unpacked.
        let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(packed) else { break };
        packed = packed.get(length.max(1)..).unwrap_or_default();
    }
    usize::try_from(largest).unwrap_or(usize::MAX)
}

fn frame_window_bytes(frame: &[u8]) -> u64 {
    let Some(([0x28, 0xb5, 0x2f, 0xfd], [descriptor, rest @ ..])) = frame.split_first_chunk()
    else {
        return 0;
    };
    let (is_single, size_flag) = (descriptor & 0x20 != 0, usize::from(descriptor >> 6));
    if !is_single {
        let Some(window) = rest.first() else { return 0 };
        let base = 1_u64 << (10 + u32::from(window >> 3));
        return base + (base / 8) * u64::from(window & 7);
    }
    // Its window is its content.
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let number = rest.iter().skip(dictionary_bytes).take([1, 2, 4, 8][size_flag]);
    let content = number.rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    content.saturating_add(if size_flag == 1 { 256 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_every_frame_is_known() {
        let largest = |packed: &[u8]| largest_bytes(packed, 23);
        let frame = |log: u32, bytes: usize, is_sized: bool| {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(log).unwrap();
            encoder.include_contentsize(is_sized).unwrap();
            if is_sized {
                encoder.set_pledged_src_size(Some(bytes as u64)).unwrap();
            }
            std::io::Write::write_all(&mut encoder, &vec![b' '; bytes]).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(largest(&frame(20, 3 << 20, false)), 1 << 20);
        assert_eq!(largest(&frame(23, 100, false)), 8 << 20);
        for content in [100, 300, 70_000] {
            assert_eq!(largest(&frame(23, content, true)), content);
        }
        assert_eq!(largest(&frame(27, 100, false)), 8 << 20, "it is refused");
        let both = [frame(10, 5_000, false), frame(22, 5_000, false)].concat();
        assert_eq!(largest(&both), 4 << 20);
        assert_eq!(largest(b"hello"), 0);
    }
}
