//! Checks that no archive hands out more than its limits allow, or a name that leads out of its folder.
//!
//! Input: 1 byte how it is read, then the archive.

use std::collections::HashSet;

use threadkeep::content::tar::whole::{self, Links};
use threadkeep::content::tar::{self, Piece, TarLimits};

const LIMITS: TarLimits =
    TarLimits { members_max: 20, decoded_bytes_max: 1 << 20, ratio_max: 200, path_bytes_max: 200 };
const LINKS_MAX: u64 = 5;

pub fn check(data: &[u8]) {
    let Some((how, archive)) = data.split_first() else { return };
    match how % 3 {
        0 => check_pieces(archive),
        1 => check_whole(archive, Links::Inside(LINKS_MAX)),
        _ => check_whole(archive, Links::Any),
    }
}

fn check_pieces(archive: &[u8]) {
    let (mut paths, mut bytes) = (HashSet::new(), 0_u64);
    // What is still to come of the file that was begun.
    let mut left: Option<u64> = None;
    let read = tar::read(archive, LIMITS, |piece| {
        match piece {
            Piece::File { path, size_bytes } => {
                assert_eq!(left.replace(size_bytes), None, "a file within a file");
                assert!(path.len() <= LIMITS.path_bytes_max, "{} bytes", path.len());
                assert!(!path.starts_with('/') && path.split('/').all(|it| it != ".."), "{path:?}");
                paths.insert(path);
            }
            Piece::Bytes(part) => {
                bytes += part.len() as u64;
                let before = left.expect("bytes of no file");
                left = Some(before.checked_sub(part.len() as u64).expect("more than its size"));
            }
            Piece::End => assert_eq!(left.take(), Some(0), "a file that is not whole"),
        }
        true
    });
    assert!(bytes <= LIMITS.decoded_bytes_max, "{bytes} bytes");
    assert!(paths.len() as u64 <= LIMITS.members_max);
    assert!(read.is_err() || left.is_none(), "it ended within a file");
}

fn check_whole(archive: &[u8], links: Links) {
    let mut bytes = 0_u64;
    let read = whole::read(archive, LIMITS, links, |part| {
        bytes += part.len() as u64;
        true
    });
    assert!(bytes <= LIMITS.decoded_bytes_max, "{bytes} bytes");
    if let Ok(found) = read {
        assert_eq!(found.size_bytes, bytes);
        assert!(found.file_count <= LIMITS.members_max);
    }
}

/// Whether it is read to its end.
#[allow(dead_code)] // Only tells whether a seed is a good one.
pub fn is_read(data: &[u8]) -> bool {
    let (how, archive) = data.split_first().unwrap();
    match how % 3 {
        0 => tar::read(archive, LIMITS, |_| true).is_ok(),
        1 => whole::read(archive, LIMITS, Links::Inside(LINKS_MAX), |_| true).is_ok(),
        _ => whole::read(archive, LIMITS, Links::Any, |_| true).is_ok(),
    }
}
