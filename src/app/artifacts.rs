//! Unpacks artifacts of sandboxes: archives that arrive as streams and become files of a drive. Reading an archive blocks, so it has its
//! own thread. Only a few pieces wait between the two sides.

use std::io::Read;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use crate::content::tar::Piece;
use crate::content::tar::{self, TarError, TarLimits};
use crate::domain::limits::LIMITS;
use crate::domain::scheduling::cpu_threads;
use crate::domain::{Error, Result};

/// Pieces of at most 64 KiB between the two sides.
const WAITING: usize = 8;

/// An archive that is being read.
pub struct Unpacking {
    pieces: mpsc::Receiver<Piece>,
    reader: JoinHandle<Result<(), TarError>>,
}

/// Where its bytes go.
pub struct Feed(mpsc::Sender<Bytes>);

impl Unpacking {
    /// An archive, packed with gzip, zstd or not at all. What comes in goes into the feed.
    pub fn begin() -> (Self, Feed) {
        let (feed, mut arriving) = Feed::open();
        let (leaving, pieces) = mpsc::channel(WAITING);
        let limits = TarLimits {
            members_max: LIMITS.archive_members_max,
            decoded_bytes_max: LIMITS.archive_bytes_max,
            ratio_max: LIMITS.archive_ratio_max,
            path_bytes_max: usize::try_from(LIMITS.item_key_bytes_max).unwrap_or(usize::MAX),
        };
        let reader = cpu_threads::spawn(move || {
            tar::read(&mut arriving, limits, |piece| leaving.blocking_send(piece).is_ok())?;
            // What follows the end of an archive is taken, so that its sender is not cut off.
            while arriving.arriving.blocking_recv().is_some() {}
            Ok(())
        });
        (Self { pieces, reader }, feed)
    }

    /// The next piece; None: the archive has ended, well or not.
    pub async fn next(&mut self) -> Option<Piece> {
        self.pieces.recv().await
    }

    /// Wants no more: the reader ends.
    pub fn close(&mut self) {
        self.pieces.close();
    }

    /// How it ended; well, also where nobody wanted more.
    ///
    /// # Errors
    /// 422 naming the member that is at fault; `TooLarge`.
    pub async fn end(self) -> Result<()> {
        drop(self.pieces);
        let read = self.reader.await.map_err(|error| Error::Internal(error.to_string()))?;
        if matches!(read, Err(TarError::Stopped)) {
            return Ok(());
        }
        read.map_err(|error| refusal(&error))
    }
}

/// Naming the member that is at fault, or the limit.
pub(super) fn refusal(error: &TarError) -> Error {
    match error {
        TarError::Members(limit)
        | TarError::Links(limit)
        | TarError::Decoded(limit)
        | TarError::PathTooLong { limit, .. }
        | TarError::Ratio(limit) => Error::out_of_range("archive", error.to_string(), *limit),
        _ => Error::invalid("archive", error.to_string()),
    }
}

impl Feed {
    pub(super) fn open() -> (Self, Arriving) {
        let (input, arriving) = mpsc::channel(WAITING);
        (Self(input), Arriving { arriving, rest: Bytes::new() })
    }

    /// False: nobody reads any more.
    pub async fn push(&self, bytes: Bytes) -> bool {
        self.0.send(bytes).await.is_ok()
    }
}

/// The other end of the feed, for a reader that blocks.
pub(super) struct Arriving {
    arriving: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.is_empty() {
            match self.arriving.blocking_recv() {
                Some(bytes) => self.rest = bytes,
                None => return Ok(0),
            }
        }
        let taken = self.rest.split_to(self.rest.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
