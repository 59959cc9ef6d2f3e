//! Checks whether the `-wal` of a running server still has what was written to it.
//!
//! SQLite never reads it again to find out. It continues with a log that was cut, and acknowledges what the next start does not find. The
//! head of the `-shm` tells how much was written (sqlite.org/walformat.html): so many frames, each with the salts of the log and a
//! checksum. A part that was cut off is missing, or is zeros once something was written behind it.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::private_files::sibling;

const VERSION: u32 = 3_007_000;
const INDEX_HEAD_BYTES: usize = 48;
const LOG_HEAD_BYTES: u64 = 32;
const FRAME_HEAD_BYTES: u64 = 24;
/// A head that is being written is another one a moment later.
const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

pub(super) struct LogFile {
    log: PathBuf,
    index: PathBuf,
    open: Option<OpenIndex>,
    /// Frames that were there, and the salts of their log.
    seen: Option<Head>,
}

/// Never closed: that would drop the locks which SQLite has on the file in this process.
struct OpenIndex {
    file: ManuallyDrop<File>,
    identity: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    frames: u64,
    page_bytes: u64,
    salts: [u8; 8],
    /// Of the words that checksums add.
    is_big_endian: bool,
}

impl Head {
    /// Goes on with a checksum, as it stands in the log: each frame's adds to that of the frame before it.
    fn add(&self, sum: [u8; 8], bytes: &[u8]) -> [u8; 8] {
        let word = |at: &[u8], big: bool| {
            let word = [at[0], at[1], at[2], at[3]];
            if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let (mut one, mut two) = (word(&sum, true), word(&sum[4..], true));
        for pair in bytes.chunks_exact(8) {
            one = one.wrapping_add(word(pair, self.is_big_endian)).wrapping_add(two);
            two = two.wrapping_add(word(&pair[4..], self.is_big_endian)).wrapping_add(one);
        }
        let mut sum = [0; 8];
        sum[..4].copy_from_slice(&one.to_be_bytes());
        sum[4..].copy_from_slice(&two.to_be_bytes());
        sum
    }
}

impl LogFile {
    pub(in crate::storage) fn of(database: &Path) -> Self {
        let (log, index) = (sibling(database, "-wal"), sibling(database, "-shm"));
        Self { log, index, open: None, seen: None }
    }

    /// Whether something that was written to the log is not there any more. False also where nobody can say.
    pub(in crate::storage) fn is_cut(&mut self) -> bool {
        let mut is_cut = false;
        for attempt in 0..TRIES {
            if attempt > 0 {
                // Whoever closes the last connection removes both files, one after the other.
                std::thread::sleep(BETWEEN_TRIES);
            }
            let Ok(Some(head)) = self.head() else { return false };
            let is_whole = self.is_whole(head);
            is_cut = match is_whole {
                _ if self.head().ok().flatten() != Some(head) => false,
                Ok(true) => {
                    self.seen = Some(head);
                    return false;
                }
                Ok(false) => true,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
        }
        is_cut
    }

    /// Looks at the frames that came since the last look, and at the last one from before it: a cut takes the end.
    fn is_whole(&self, head: Head) -> io::Result<bool> {
        if head.frames == 0 {
            return Ok(true);
        }
        let log = File::open(&self.log)?;
        let frame_bytes = FRAME_HEAD_BYTES + head.page_bytes;
        if log.metadata()?.len() < LOG_HEAD_BYTES + head.frames * frame_bytes {
            return Ok(false);
        }
        let seen = self.seen.filter(|it| it.salts == head.salts).map_or(1, |it| it.frames.max(1));
        let start = |frame: u64| LOG_HEAD_BYTES + (frame - 1) * frame_bytes;
        let mut sum = [0; 8];
        // Of the frame before it, or of the head of the log.
        log.read_exact_at(&mut sum, if seen == 1 { 24 } else { start(seen - 1) + 16 })?;
        let mut frame = vec![0; usize::try_from(frame_bytes).unwrap_or(0)];
        for number in seen..=head.frames {
            log.read_exact_at(&mut frame, start(number))?;
            let (own, page) = frame.split_at(usize::try_from(FRAME_HEAD_BYTES).unwrap_or(0));
            sum = head.add(head.add(sum, &own[..8]), page);
            if own[8..16] != head.salts || own[16..24] != sum {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What SQLite says that the log has. None: nothing, or it is being changed.
    fn head(&mut self) -> io::Result<Option<Head>> {
        let found = std::fs::metadata(&self.index)?;
        let identity = (found.dev(), found.ino());
        if self.open.as_ref().is_none_or(|it| it.identity != identity) {
            let file = ManuallyDrop::new(File::open(&self.index)?);
            self.open = Some(OpenIndex { file, identity });
        }
        let Some(open) = &self.open else { return Ok(None) };
        let mut heads = [0; 2 * INDEX_HEAD_BYTES];
        open.file.read_exact_at(&mut heads, 0)?;
        let (head, copy) = heads.split_at(INDEX_HEAD_BYTES);
        Ok((head == copy).then(|| parse(head)).flatten())
    }
}

fn parse(head: &[u8]) -> Option<Head> {
    let number = |at: usize| head[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
    let is_made = head[12] == 1;
    let page = u64::from(u16::from_ne_bytes([head[14], head[15]]));
    // 1 stands for 65,536, which two bytes cannot say.
    let page_bytes = (page & 0xfe00) + ((page & 1) << 16);
    if number(0)? != VERSION || !is_made || page_bytes == 0 {
        return None;
    }
    let salts = head[32..40].try_into().ok()?;
    Some(Head { frames: number(16)?.into(), page_bytes, salts, is_big_endian: head[13] == 1 })
}
